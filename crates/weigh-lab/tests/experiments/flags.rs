//! Experiments from the command line.

use weigh_lab::experiment::{
    self, CommandFlags, Experiment, FlagExperiment, Level, OperationText, SqlSource, from_commands,
    from_flags,
};
use weigh_lab::plan::{ResolveOptions, resolve};
use weigh_lab::systems::description::SystemDescription;
use weigh_load::{Arrivals, Schedule};
use weigh_results::model::Metric;

fn sql(name: &str, text: &str) -> SqlSource {
    SqlSource { name: name.to_owned(), text: text.to_owned() }
}

fn strings(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|&text| text.to_owned()).collect()
}

fn flags() -> FlagExperiment {
    FlagExperiment {
        system: "postgres".to_owned(),
        set: strings(&["synchronous_commit=on,off,local", "shared_buffers=64MB"]),
        sql: vec![sql(
            "sql/insert.sql",
            "-- parameters: [{ kind = \"string\", size = 100 }]\nINSERT INTO t VALUES ($1);\n",
        )],
        setup: vec![sql("setup.sql", "CREATE TABLE t (a text); -- the table\nANALYZE t;")],
        clients: Some("4".to_owned()),
        ..FlagExperiment::default()
    }
}

fn survives(experiment: &Experiment) {
    assert_eq!(&experiment::parse("x.toml", &experiment.to_toml()).unwrap(), experiment);
}

fn refused(flags: FlagExperiment) -> String {
    from_flags(&flags).unwrap_err().to_string()
}

#[test]
fn flags_say_what_a_file_says() {
    let experiment = from_flags(&flags()).unwrap();
    assert_eq!(experiment.name, "postgres/synchronous_commit");
    assert_eq!(experiment.factors.len(), 1);
    assert_eq!(experiment.settings["shared_buffers"], Level::Text("64MB".to_owned()));
    assert_eq!(experiment.workload.setup, ["CREATE TABLE t (a text)", "ANALYZE t"]);
    assert_eq!(experiment.workload.operations[0].name, "insert");
    assert_eq!(experiment.load.clients, 4);
    survives(&experiment);
    let plan = resolve(&experiment, &super::postgres(), ResolveOptions::new(1)).unwrap();
    assert_eq!(plan.plan.variants[1].name, "off");
}

#[test]
fn a_rate_makes_an_open_loop() {
    let flags = FlagExperiment {
        rate: Some("300/min".to_owned()),
        arrivals: Some("poisson".to_owned()),
        timeout: Some("2s".to_owned()),
        ..flags()
    };
    let experiment = from_flags(&flags).unwrap();
    assert_eq!((experiment.load.rate_per_s, experiment.load.arrivals), (Some(5.0), Some(Arrivals::Poisson)));
    assert_eq!(experiment.judge.metrics, [Metric::LatencyP99], "throughput is the rate");
    survives(&experiment);
    let plan = resolve(&experiment, &super::postgres(), ResolveOptions::new(1)).unwrap();
    let schedule = Schedule::Open { rate_per_s: 5.0, arrivals: Arrivals::Poisson };
    assert_eq!(plan.variants[0].schedule, schedule);
    assert_eq!(plan.variants[0].reply_limit, Some(std::time::Duration::from_secs(2)));
    assert_eq!(plan.plan.load_summary, "insert · 4 clients · 5/s, poisson arrivals");
    // Several rates are a factor.
    let varied = FlagExperiment {
        rate: Some("100/s,200/s".to_owned()),
        set: vec![],
        ..FlagExperiment { arrivals: None, ..flags }
    };
    let experiment = from_flags(&varied).unwrap();
    assert_eq!((experiment.factors[0].key.as_str(), experiment.load.rate_per_s), ("load.rate", None));
    assert_eq!(experiment.judge.metrics, [Metric::LatencyP99]);
    survives(&experiment);
}

#[test]
fn a_rate_beside_a_file_changes_what_it_is_judged_by() {
    let mut experiment = experiment::find("postgres/hot-row").unwrap();
    let (mut named, metrics) = (experiment.clone(), experiment.judge.metrics.clone());
    assert_eq!(metrics, [Metric::Throughput]);
    experiment.open_loop(50.0);
    // That file names its metric: the contradiction is for its author to resolve.
    assert!(experiment.check().unwrap_err().to_string().contains("metric `throughput` of an open loop"));
    named.judge.metrics = vec![Metric::LatencyP95];
    named.open_loop(50.0);
    assert!(named.check().is_ok());
    let text = "system = \"postgres\"\n[[workload.operations]]\nsql = \"SELECT 1\"\n[factors]\n\"load.clients\" = [1, 2]\n";
    let mut unnamed = experiment::parse("u.toml", text).unwrap();
    unnamed.open_loop(50.0);
    assert_eq!(unnamed.judge.metrics, [Metric::LatencyP99]);
}

#[test]
fn operations_are_typed_in_the_words_of_their_system() {
    let redis = FlagExperiment {
        system: "redis".to_owned(),
        url: Some("redis://h".to_owned()),
        allow_writes: true,
        set: strings(&["load.pipeline=1,16"]),
        operations: strings(&["GET user:$1"]),
        setup: vec![sql("--setup", "FLUSHALL")],
        parameters: strings(&["kind=uniform,min=1,max=9"]),
        ..FlagExperiment::default()
    };
    let experiment = from_flags(&redis).unwrap();
    assert_eq!(experiment.workload.operations[0].name, "GET user:$1");
    assert_eq!(experiment.workload.setup, ["FLUSHALL"]);
    survives(&experiment);
    let http = FlagExperiment {
        system: "http".to_owned(),
        url: Some("https://h/".to_owned()),
        insecure: true,
        set: strings(&["load.clients=1,16"]),
        operations: strings(&["/a", "HEAD /b"]),
        ..FlagExperiment::default()
    };
    let experiment = from_flags(&http).unwrap();
    let requests = experiment.workload.operations.iter().map(|operation| match &operation.text {
        OperationText::Request(request) => request.request.as_str(),
        other => panic!("{other:?}"),
    });
    assert_eq!(requests.collect::<Vec<_>>(), ["GET /a", "HEAD /b"]);
    survives(&experiment);
    let said = refused(FlagExperiment { url: None, insecure: false, ..http });
    assert!(said.starts_with("--system: the system `http` without `url`"), "{said}");
    let said = refused(FlagExperiment { allow_writes: false, ..redis.clone() });
    assert!(said.contains("--setup: set-up would write"), "{said}");
    let private = FlagExperiment { url: None, allow_writes: false, ..redis.clone() };
    let experiment = from_flags(&private).unwrap();
    assert_eq!((experiment.system.url.as_ref(), experiment.judge.drain), (None, true));
    survives(&experiment);
    let said = refused(FlagExperiment { operations: strings(&["GET $2"]), ..redis.clone() });
    assert!(said.starts_with("--operation GET $2: the command takes `$2`"), "{said}");
    let said = refused(FlagExperiment { operations: vec![], parameters: vec![], ..redis });
    assert!(said.starts_with("--operation: no operations"), "{said}");
    let said = refused(FlagExperiment { rate: Some("fast".to_owned()), ..flags() });
    assert!(said.starts_with("--rate: bad value `fast`"), "{said}");
    let said = refused(FlagExperiment { arrivals: Some("poisson".to_owned()), ..flags() });
    assert!(said.starts_with("--arrivals: `arrivals` without `rate`"), "{said}");
}

#[test]
fn several_statements_are_one_transaction() {
    let text = "BEGIN;\nINSERT INTO t VALUES ($1); UPDATE u SET a = 'x;y';\nCOMMIT;";
    let flags = FlagExperiment {
        sql: vec![sql("--sql", text)],
        parameters: strings(&["kind=choice,values=a|b"]),
        clients: Some("1,8".to_owned()),
        set: strings(&["vars.x=1"]),
        ..flags()
    };
    let experiment = from_flags(&flags).unwrap();
    let operation = &experiment.workload.operations[0];
    assert_eq!((operation.name.as_str(), operation.text.statements().len()), ("operation", 2));
    assert_eq!(experiment.factors[0].key, "load.clients");
    assert_eq!(experiment.workload.vars["x"], Level::Integer(1));
    survives(&experiment);
}

#[test]
fn levels_may_be_toml() {
    let set = strings(&["search_path=[\"a,b\", \"c\"]", "load.clients={ from = 1, to = 4, times = 2 }"]);
    let experiment = from_flags(&FlagExperiment { set, clients: None, ..flags() }).unwrap();
    assert_eq!(experiment.factors[0].levels[0], Level::Text("a,b".to_owned()));
    assert!(experiment.factors[1].sweep);
    survives(&experiment);
}

#[test]
fn mistakes_name_the_flag() {
    let check = |flags: FlagExperiment, parts: &[&str]| {
        let said = refused(flags);
        for part in parts {
            assert!(said.contains(part), "`{part}` is not in:\n{said}");
        }
    };
    let set = |texts: &[&str]| FlagExperiment { set: strings(texts), ..flags() };
    check(set(&["fsync"]), &["--set fsync: no value"]);
    check(set(&["fsync="]), &["--set fsync: no levels for `fsync`"]);
    check(set(&["fsync=on,on"]), &["--set fsync: level `on` of `settings.fsync` twice"]);
    check(set(&["fsync=on,off", "fsync=on"]), &["--set fsync: `settings.fsync` twice"]);
    check(set(&["fsync=on"]), &["--set: only one variant"]);
    check(set(&["load.clients=1,8"]), &["--set load.clients: `load.clients` twice"]);
    check(
        FlagExperiment { clients: Some("0,1".to_owned()), ..flags() },
        &["--clients: `load.clients` is `0`"],
    );
    check(
        FlagExperiment { clients: None, ..set(&["load.clients=0,1"]) },
        &["--set load.clients: `load.clients` is `0`"],
    );
    check(set(&["fsync={ from = 1, to = 2, step = 0 }"]), &["--set fsync: a sweep that never ends"]);
    check(FlagExperiment { clients: Some("0".to_owned()), ..flags() }, &["--clients: bad value `0`"]);
    check(
        FlagExperiment { budget: Some("5 mn".to_owned()), ..flags() },
        &["--budget: bad value `5 mn`", "5min"],
    );
    check(FlagExperiment { difference: Some("200%".to_owned()), ..flags() }, &["--difference: bad value"]);
    check(FlagExperiment { metrics: strings(&["p99"]), ..flags() }, &["--metric: unknown metric `p99`"]);
    check(FlagExperiment { metrics: strings(&["latency_p9"]), ..flags() }, &["did you mean `latency_p9"]);
    check(
        FlagExperiment { baseline: Some("onn".to_owned()), ..flags() },
        &["--baseline: ", "did you mean `on`?"],
    );
    check(
        FlagExperiment { system: "postgre".to_owned(), ..flags() },
        &["--system: ", "did you mean `postgres`?"],
    );
    check(FlagExperiment { sql: vec![], ..flags() }, &["--sql: no operations"]);
    check(
        FlagExperiment { sql: vec![sql("q.sql", "SELECT\n  'x")], ..flags() },
        &["q.sql:2:3: a string that is not closed"],
    );
    check(
        FlagExperiment { sql: vec![sql("q.sql", "\\set a 1\nSELECT 1")], ..flags() },
        &["q.sql:1:1: a client command"],
    );
    check(FlagExperiment { sql: vec![sql("q.sql", "SELECT $1")], ..flags() }, &["q.sql: the SQL takes `$1`"]);
    check(
        FlagExperiment { sql: vec![sql("q.sql", "-- rows: x\nSELECT 1")], ..flags() },
        &["q.sql: `rows` is `x`"],
    );
    check(
        FlagExperiment { sql: vec![sql("q.sql", "-- weight: x\nSELECT 1")], ..flags() },
        &["q.sql:1:1: `weight` is `x`"],
    );
    check(
        FlagExperiment {
            sql: vec![sql("q.sql", "SELECT $1")],
            parameters: strings(&["kind=unifrm"]),
            ..flags()
        },
        &["--param: unknown kind of generator `unifrm`", "did you mean `uniform`?"],
    );
    check(
        FlagExperiment { allow_writes: true, ..flags() },
        &["--allow-writes: `allow_writes` without `url`"],
    );
    check(
        FlagExperiment { url: Some("postgres://h/d".to_owned()), ..flags() },
        &["--setup: set-up would write", "q.sql: `INSERT` would write"]
            .map(|part| part.replace("q.sql", "sql/insert.sql"))
            .each_ref()
            .map(String::as_str),
    );
    // Found when the system is known, and still says where it was typed.
    let experiment = from_flags(&set(&["sync_commit=on,off"])).unwrap();
    let error = resolve(&experiment, &super::postgres(), ResolveOptions::new(1)).unwrap_err().to_string();
    assert!(error.starts_with("--set sync_commit: `postgres` 15.18 has no setting"), "{error}");
}

#[test]
fn commands_are_compared() {
    let flags = CommandFlags {
        commands: strings(&["gzip -{level} <f", "sleep {t}", "sleep {t}"]),
        names: strings(&["", "nap"]),
        prepare: strings(&["sync"]),
        setup: Some("seq 9 > f".to_owned()),
        parameter_lists: vec![("level".to_owned(), "1,9".to_owned()), ("t".to_owned(), "0.1".to_owned())],
        warmup: Some(2),
        ..CommandFlags::default()
    };
    let experiment = from_commands(&flags).unwrap();
    survives(&experiment);
    let plan = resolve(&experiment, &SystemDescription::default(), ResolveOptions::new(1)).unwrap();
    let names: Vec<&str> = plan.variants.iter().map(|variant| variant.name.as_str()).collect();
    assert_eq!(names, ["gzip -1 <f", "gzip -9 <f", "nap", "sleep 0.1"]);
    assert_eq!(plan.variants[2].command.as_ref().unwrap().prepare.as_deref(), Some("sync"));
}

#[test]
fn the_same_command_twice_is_an_aa_run() {
    let flags = CommandFlags { commands: strings(&["true", "true"]), ..CommandFlags::default() };
    let plan =
        resolve(&from_commands(&flags).unwrap(), &SystemDescription::default(), ResolveOptions::new(1))
            .unwrap();
    assert_eq!(plan.variants.iter().map(|v| v.name.as_str()).collect::<Vec<_>>(), ["true", "true (2)"]);
}

#[test]
fn mistakes_in_commands_name_the_argument() {
    let base = || CommandFlags { commands: strings(&["a", "b"]), ..CommandFlags::default() };
    let check = |flags: CommandFlags, part: &str| {
        let said = from_commands(&flags).unwrap_err().to_string();
        assert!(said.contains(part), "`{part}` is not in:\n{said}");
    };
    check(CommandFlags { commands: strings(&["a"]), ..base() }, "COMMAND: only one variant");
    check(CommandFlags { commands: vec![], ..base() }, "COMMAND: no commands");
    check(CommandFlags { commands: strings(&["a", " "]), ..base() }, "COMMAND 2: an empty command");
    check(
        CommandFlags { commands: strings(&["a {x}", "b"]), ..base() },
        "COMMAND 1: variable `{x}` is not defined",
    );
    check(CommandFlags { prepare: strings(&["1", "2", "3"]), ..base() }, "--prepare: `--prepare` 3 times");
    check(CommandFlags { names: strings(&["1", "2", "3"]), ..base() }, "--name: 3 names for 2 commands");
    let list = |name: &str, values: &str| vec![(name.to_owned(), values.to_owned())];
    check(CommandFlags { parameter_lists: list("1x", "a"), ..base() }, "-L 1x: `1x` is not a name");
    check(CommandFlags { parameter_lists: list("x", ""), ..base() }, "-L x: no values");
    check(CommandFlags { metrics: strings(&["throughput"]), ..base() }, "--metric: metric `throughput`");
    check(
        CommandFlags { baseline: Some("c".to_owned()), ..base() },
        "--baseline: the baseline `c` is not a variant",
    );
}
