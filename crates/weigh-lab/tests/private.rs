//! Private servers of one process on real ones: Redis, memcached, and a cache in front of PostgreSQL.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use weigh_drivers::ServerUrl;
use weigh_drivers::redis::{RedisConfig, RedisSession};
use weigh_lab::plan::ResolvedPlan;
use weigh_lab::systems::{System, SystemError};
use weigh_load::generator::ParameterStream;
use weigh_load::{BlockingClient, Connection, Operation, Outcome};
use weigh_results::model::{Replication, Slot};

use super::stage::{Stage, plan, slot};

const REDIS: &str = "system = \"redis\"\n[workload]\n\
    setup = ['''EVAL \"for i = 1, 100 do redis.call('SET', 'key:' .. i, 'x') end\" 0''']\n\
    [[workload.operations]]\nname = \"set\"\ncommand = \"SET key:$1 y\"\n\
    parameters = [{ kind = \"sequence\" }]\n";

fn redis(rest: &str) -> String {
    format!("{REDIS}{rest}")
}

/// The socket of the server that serves `slot`: beside its data directory, which it runs in.
fn socket(system: &dyn System, slot: Slot) -> PathBuf {
    let cwd = fs::read_link(format!("/proc/{}/cwd", system.processes(slot)[0])).unwrap();
    let home = if cwd.ends_with("data") { cwd.parent().unwrap().to_owned() } else { cwd };
    home.join("s/socket")
}

fn session(system: &dyn System, slot: Slot) -> RedisSession {
    let url = format!("redis://{}", socket(system, slot).display());
    RedisConfig::from_url(&ServerUrl::parse(&url).unwrap()).unwrap().session().unwrap()
}

/// Runs a trial of `count` operations of one client; gives the outcomes and the differences of the counters over it.
fn trial(
    system: &mut dyn System,
    plan: &ResolvedPlan,
    slot: Slot,
    count: usize,
) -> (Vec<Outcome>, BTreeMap<String, f64>) {
    let driver = system.enter(slot).unwrap();
    let operations = plan.variants[slot.variant].operations.iter();
    let operations: Vec<Operation> = operations
        .map(|operation| Operation {
            name: operation.name.clone(),
            weight: operation.weight,
            parameters: operation.parameters.clone(),
        })
        .collect();
    let mut stream = ParameterStream::new(&operations, 1, 0, 1, 0);
    let connection = driver.connect(0).unwrap();
    let mut execute: Box<dyn FnMut() -> Outcome> = match connection {
        Connection::Inline(mut client) => Box::new(move || {
            let operation = stream.choose();
            client.execute(operation, &mut stream.parameters(operation))
        }),
        socket => {
            let mut client = BlockingClient::new(socket, Duration::from_secs(10)).unwrap();
            Box::new(move || {
                let operation = stream.choose();
                client.execute(operation, &mut stream.parameters(operation))
            })
        }
    };
    let before = system.counters(slot).unwrap();
    let outcomes = (0..count).map(|_| execute()).collect();
    drop(execute);
    system.drain(slot).unwrap();
    let after = system.counters(slot).unwrap();
    system.leave(slot).unwrap();
    (outcomes, weigh_collect::delta(&before, &after))
}

fn failure(text: &str) -> SystemError {
    let stage = Stage::new();
    let plan = plan(text).unwrap();
    let mut system = match stage.build(&plan) {
        Ok(system) => system,
        Err(error) => return error,
    };
    system.start_epoch(0).map(|_| ()).unwrap_err()
}

#[test]
fn durability_is_toggled_in_one_redis() {
    let stage = Stage::new();
    let plan = plan(&redis(
        "[settings]\nsave = \"\"\n[variants.always]\n\"settings.appendonly\" = \"yes\"\n\
         \"settings.appendfsync\" = \"always\"\n[variants.memory]\n\"settings.appendonly\" = \"no\"\n",
    ))
    .unwrap();
    let mut system = stage.build(&plan).unwrap();
    assert_eq!(system.replication(), Replication::Round);
    let records = system.start_epoch(0).unwrap();
    assert_eq!((records.len(), records[0].slots.len()), (1, 3));
    assert_eq!(records[0].settings["save"], "");
    let (outcomes, durable) = trial(system.as_mut(), &plan, slot(0), 100);
    assert!(outcomes.iter().all(|outcome| *outcome == Outcome::Success), "{outcomes:?}");
    assert_eq!(durable["redis.set_calls"], 100.0, "{durable:?}");
    assert!(durable["disk.flushes"] >= 100.0, "every SET is flushed: {durable:?}");
    assert!(durable["server.cpu_us"] > 0.0);
    let (_, memory) = trial(system.as_mut(), &plan, slot(1), 100);
    assert_eq!(memory["redis.set_calls"], 100.0);
    // What others of this machine flush meanwhile is in it.
    assert!(memory["disk.flushes"] < durable["disk.flushes"], "{memory:?}");
    system.enter(slot(0)).unwrap();
    let mut redis = session(system.as_ref(), slot(0));
    assert_eq!(redis.ask_list(&["CONFIG", "GET", "appendfsync"]).unwrap(), ["appendfsync", "always"]);
    assert_eq!(redis.ask(&["GET", "key:100"]).unwrap(), "y");
    let dir = socket(system.as_ref(), slot(0)).parent().unwrap().parent().unwrap().join("data");
    let manifest = fs::read_to_string(dir.join("appendonlydir/appendonly.aof.manifest")).unwrap();
    assert!(manifest.contains("type i"), "rewritten when it was switched on: {manifest}");
    system.stop().unwrap();
}

#[test]
fn instances_of_redis_start_from_the_same_data_again_and_again() {
    let stage = Stage::new();
    let plan =
        plan(&redis("[settings]\nappendonly = \"yes\"\n[factors]\n\"settings.io-threads\" = [1, 2]\n"))
            .unwrap();
    let mut system = stage.build(&plan).unwrap();
    assert_eq!(system.replication(), Replication::Epoch);
    let records = system.start_epoch(0).unwrap();
    assert_eq!(records.len(), 3);
    let version = system_version(&plan);
    assert!(records.iter().all(|record| record.version == version && record.ready_s < 10.0), "{records:?}");
    trial(system.as_mut(), &plan, slot(1), 150);
    system.enter(slot(1)).unwrap();
    let mut redis = session(system.as_ref(), slot(1));
    assert_eq!(redis.ask_list(&["CONFIG", "GET", "io-threads"]).unwrap(), ["io-threads", "2"]);
    assert_eq!(redis.ask_list(&["CONFIG", "GET", "appendonly"]).unwrap(), ["appendonly", "yes"]);
    assert_eq!(redis.ask(&["DBSIZE"]).unwrap(), "150", "100 of the set-up, 50 more of the trial");
    let frozen = system.frozen_cpu_s(slot(1));
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(system.frozen_cpu_s(slot(1)), frozen, "the others stand still");
    system.leave(slot(1)).unwrap();
    system.start_epoch(1).unwrap();
    system.enter(slot(1)).unwrap();
    let mut redis = session(system.as_ref(), slot(1));
    assert_eq!(
        (redis.ask(&["DBSIZE"]).unwrap(), redis.ask(&["GET", "key:7"]).unwrap()),
        ("100".into(), "x".into())
    );
    let pids: Vec<u32> = (0..2).flat_map(|variant| system.processes(slot(variant))).collect();
    drop(system);
    assert!(pids.iter().all(|pid| !PathBuf::from(format!("/proc/{pid}")).exists()), "{pids:?}");
}

fn system_version(plan: &ResolvedPlan) -> String {
    weigh_lab::systems::describe(&plan.experiment).unwrap().version
}

#[test]
fn every_trial_begins_with_what_prepares_it() {
    let stage = Stage::new();
    let text = redis("[factors]\n\"load.clients\" = [1, 2]\n")
        .replace("[workload]\n", "[workload]\nprepare = [\"DEL key:1\\nSET other 1\"]\n");
    let plan = plan(&text).unwrap();
    let mut system = stage.build(&plan).unwrap();
    system.start_epoch(0).unwrap();
    for _ in 0..2 {
        system.enter(slot(0)).unwrap();
        let mut redis = session(system.as_ref(), slot(0));
        assert_eq!(redis.ask(&["EXISTS", "key:1", "other"]).unwrap(), "1");
        redis.ask(&["SET", "key:1", "again"]).unwrap();
        redis.ask(&["DEL", "other"]).unwrap();
        system.leave(slot(0)).unwrap();
    }
}

#[test]
fn what_redis_refuses_is_told_in_its_words() {
    let factors = "[factors]\n\"load.clients\" = [1, 2]\n";
    let error = failure(&redis(&format!("[settings]\nmaxmemory = \"lots\"\n{factors}")));
    let expected = "'maxmemory \"lots\"': argument must be a memory value";
    assert!(
        error.message.contains("did not start") && error.message.ends_with(expected),
        "{}",
        error.message
    );
    assert!(error.message.starts_with("variant `"), "{}", error.message);
    assert!(error.log.iter().any(|line| line.contains("FATAL CONFIG FILE ERROR")), "{:?}", error.log);
    let error = failure(&redis("[factors]\n\"settings.hz\" = [\"10\", \"fast\"]\n"));
    assert!(error.message.contains("fast`") && error.message.contains("hz"), "{}", error.message);
    let error = failure(&redis(factors).replace("EVAL", "EVIL"));
    assert!(error.message.starts_with("set-up command 1 `EVIL "), "{}", error.message);
    assert!(error.message.contains("unknown command"), "{}", error.message);
    let refused = |rest: &str| plan(&redis(&format!("{rest}{factors}"))).unwrap_err();
    let typo = refused("[settings]\nappendfsyncs = \"no\"\n");
    assert!(typo.contains("has no setting `appendfsyncs`") && typo.contains("`appendfsync`"), "{typo}");
    let ours = refused("[settings]\nport = 7000\n");
    assert!(ours.contains("`port` cannot be changed"), "{ours}");
    let choice = refused("[settings]\nappendfsync = \"often\"\n");
    assert!(choice.contains("`always`"), "{choice}");
    let text = redis(factors)
        .replace("system = \"redis\"", "system = { name = \"redis\", bin_dir = \"/usr/share\" }");
    assert!(plan(&text).unwrap_err().contains("`/usr/share` does not hold `redis-server`"));
}

#[test]
fn a_redis_that_dies_is_named_with_its_last_words() {
    let stage = Stage::new();
    let plan = plan(&redis("[factors]\n\"load.clients\" = [1, 2]\n")).unwrap();
    let mut system = stage.build(&plan).unwrap();
    system.start_epoch(0).unwrap();
    system.enter(slot(0)).unwrap();
    let pid = system.processes(slot(0))[0];
    kill(Pid::from_raw(pid.cast_signed()), Signal::SIGKILL).unwrap();
    let error = system.counters(slot(0)).unwrap_err();
    assert!(error.message.starts_with("the private redis "), "{}", error.message);
    assert!(error.message.contains("has ended (signal: 9"), "{}", error.message);
    assert!(error.log.iter().any(|line| line.contains("ready to accept connections")), "{:?}", error.log);
    system.stop().unwrap();
}

#[test]
fn memory_is_limited_where_it_is_asked_for() {
    let stage = Stage::new();
    let text = redis("[factors]\n\"load.clients\" = [1, 2]\n")
        .replace("system = \"redis\"", "system = { name = \"redis\", memory = \"64MB\" }");
    let plan = plan(&text).unwrap();
    let mut system = stage.build(&plan).unwrap();
    system.start_epoch(0).unwrap();
    let groups = fs::read_to_string(format!("/proc/{}/cgroup", system.processes(slot(0))[0])).unwrap();
    assert!(groups.lines().any(|line| line.contains("memory") && line.contains("weigh-")), "{groups}");
    system.stop().unwrap();
}

#[test]
fn memcached_takes_its_options_and_its_data_at_every_start() {
    let stage = Stage::new();
    let plan = plan(
        "system = \"memcached\"\n[settings]\nmemory-limit = 32\nhot_lru_pct = 30\n[workload]\n\
         setup = [\"set key:1 abc\"]\n[[workload.operations]]\nname = \"get\"\ncommand = \"get key:$1\"\n\
         parameters = [{ kind = \"uniform\", min = 1, max = 2 }]\n[factors]\n\"settings.threads\" = [1, 2]\n",
    )
    .unwrap();
    let mut system = stage.build(&plan).unwrap();
    for epoch in 0..2 {
        let records = system.start_epoch(epoch).unwrap();
        assert_eq!(records.len(), 3);
        assert_eq!(records[1].settings["threads"], "2", "{:?}", records[1]);
        assert_eq!(records[1].settings["memory-limit"], (32 << 20).to_string());
        let (outcomes, used) = trial(system.as_mut(), &plan, slot(1), 100);
        let hits = outcomes.iter().filter(|outcome| **outcome == Outcome::Success).count();
        assert!((20..80).contains(&hits), "one key of two is there: {hits}");
        assert_eq!(used["memcached.get_hits"], hits as f64);
    }
    let error = failure(
        "system = \"memcached\"\n[[workload.operations]]\nname = \"get\"\ncommand = \"get key\"\n\
         [factors]\n\"settings.threads\" = [1, \"many\"]\n",
    );
    assert!(error.message.starts_with("variant `threads=many`: the private memcached "), "{}", error.message);
    assert!(error.message.ends_with("Number of threads must be greater than 0"), "{}", error.message);
}

#[test]
fn a_cache_answers_what_it_has_and_keeps_what_it_had_not() {
    let stage = Stage::new();
    let plan = plan(
        "system = \"postgres\"\n[workload]\nsetup = [\"CREATE TABLE t AS SELECT n AS id, 'row ' || n AS body \
         FROM generate_series(1, 100) AS n\"]\n[[workload.operations]]\nname = \"read\"\n\
         sql = \"SELECT body FROM t WHERE id = 1 + $1 % 10\"\nparameters = [{ kind = \"uniform\", min = 1, max = 10 }]\n\
         cached_as = \"body:$1\"\n[factors]\n\"system.cache\" = [\"none\", \"memcached\", \"redis\"]\n",
    )
    .unwrap();
    let mut system = stage.build(&plan).unwrap();
    assert_eq!(system.replication(), Replication::Round, "one store serves all");
    let records = system.start_epoch(0).unwrap();
    assert!(records[0].settings["cache.memcached"].starts_with("memcached 1."), "{:?}", records[0].settings);
    let (outcomes, used) = trial(system.as_mut(), &plan, slot(0), 100);
    assert!(outcomes.iter().all(|outcome| *outcome == Outcome::Success));
    assert!(!used.contains_key("cache.hits"), "{used:?}");
    for variant in [1, 2] {
        let (outcomes, used) = trial(system.as_mut(), &plan, slot(variant), 100);
        let misses = outcomes.iter().filter(|outcome| **outcome == Outcome::Miss).count();
        assert_eq!(misses, 10, "each key once: {outcomes:?}");
        assert_eq!((used["cache.hits"], used["cache.misses"]), (90.0, 10.0), "variant {variant}: {used:?}");
        assert!(used["server.cpu_us"] > used["cache.cpu_us"], "{used:?}");
        let (_, again) = trial(system.as_mut(), &plan, slot(variant), 100);
        assert_eq!((again["cache.hits"], again["cache.misses"]), (100.0, 0.0), "it keeps them");
    }
    system.stop().unwrap();
}
