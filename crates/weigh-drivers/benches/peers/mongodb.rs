//! Find by `_id` over 8 and 50 connections, on a private FerretDB: beside a loop on the official Rust driver
//! (`bench-peers/mongodb-official`, which is built here when it is asked for; it takes a few minutes the first time).
//!
//! Both draw the `_id` uniformly from documents that are all there; one that is not found ends the benchmark. The peer
//! measures its own CPU without connecting, as ours is measured. FerretDB answers a few thousand requests a second, so
//! that both clients mostly wait, for the same server at the same load.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use weigh_drivers::mongodb::MongodbConfig;
use weigh_load::start;

use crate::contest::{Amount, CLIENT_CORE, Contest, Cost, SERVER_CORE, Verdict, cost_of_load};
use crate::support::ferretdb::Server;
use crate::support::keyvalue::{call, commands, load_spec, uniform};
use crate::support::load::ms;

const DATABASE: &str = "bench";
const DOCUMENTS: u32 = 20;

pub fn contests(amount: Amount) -> Vec<Verdict> {
    let Some(peer) = build_peer() else {
        println!("mongodb: the loop on the official driver cannot be built (see above): left out");
        return vec![];
    };
    let server = Server::ferretdb_under(&["taskset", "-c", SERVER_CORE], &[]);
    let documents: Vec<String> =
        (1..=DOCUMENTS).map(|id| format!(r#"{{"_id": {id}, "text": "{id:064}"}}"#)).collect();
    let fill = format!(r#"{{"insert": "c", "documents": [{}]}}"#, documents.join(", "));
    server.session(DATABASE).ask(&fill).unwrap();
    let contest = |clients: usize| {
        let contest = Contest {
            name: &format!("MongoDB find by _id, {clients} clients"),
            peer: "official Rust driver",
            user_bar: 0.3,
            total_bar: None,
            ours: &mut |seconds| ours(&server, clients, seconds),
            theirs: &mut |seconds| theirs(&peer, &server, clients, seconds),
        };
        contest.run(amount)
    };
    [8, 50].map(contest).into()
}

fn ours(server: &Server, clients: usize, seconds: u32) -> Cost {
    // What `find_one` of a driver sends.
    let find = [call(
        "find",
        r#"{"find": "c", "filter": {"_id": {"$numberLong": "$1"}}, "limit": 1, "singleBatch": true}"#,
        vec![uniform(1, i64::from(DOCUMENTS))],
    )];
    let config = MongodbConfig { operations: commands(&find), ..server.config(DATABASE) };
    let mut spec = load_spec(clients, 1, &find);
    (spec.settle, spec.measure) = (ms(500), Duration::from_secs(u64::from(seconds)));
    spec.pin = true;
    let report = start(&spec, Arc::new(config.build().unwrap())).unwrap().finish().unwrap();
    assert_eq!(report.misses, 0);
    cost_of_load(&report)
}

fn theirs(peer: &Path, server: &Server, clients: usize, seconds: u32) -> Cost {
    let mut command = Command::new("taskset");
    command.args(["-c", CLIENT_CORE]).arg(peer);
    command.args([server.port.to_string(), DATABASE.into(), clients.to_string(), seconds.to_string()]);
    let output = command.arg(DOCUMENTS.to_string()).stdin(Stdio::null()).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{command:?}: {text}{}", String::from_utf8_lossy(&output.stderr));
    let figure = |name: &str| -> f64 {
        let mut words = text.split_whitespace().skip_while(|word| *word != name);
        words.nth(1).and_then(|word| word.parse().ok()).unwrap_or_else(|| panic!("no `{name}` in {text}"))
    };
    let operations = figure("operations");
    Cost {
        operations,
        operations_per_s: operations / figure("seconds"),
        user_us: figure("user_us") / operations,
        system_us: figure("system_us") / operations,
    }
}

fn build_peer() -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let target = root.join("target/bench-peers");
    println!("mongodb: building the loop on the official driver");
    let built = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args(["build", "--quiet", "--release", "--locked", "--manifest-path"])
        .arg(root.join("bench-peers/mongodb-official/Cargo.toml"))
        .arg("--target-dir")
        .arg(&target)
        .status();
    built.is_ok_and(|status| status.success()).then(|| target.join("release/mongodb-official"))
}
