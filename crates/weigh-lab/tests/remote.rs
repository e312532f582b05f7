//! Systems at a URL, on real servers: Redis, memcached, MongoDB's protocol, HTTP.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use weigh_lab::events::LabEvent;
use weigh_lab::host::{Cancel, HostChanges, WorkRoot};
use weigh_lab::plan::ResolvedPlan;
use weigh_lab::runner::{self, Execution};
use weigh_results::analysis::{Analysis, analyse};
use weigh_results::doubt::DoubtKind;
use weigh_results::model::{FinishReason, Metric, Run, Trial};

use super::servers;
use super::stage::{Stage, plan, slot};

/// A whole run of a plan, without the binary.
fn run(plan: &ResolvedPlan) -> (Run, Analysis) {
    let dir = tempfile::tempdir_in("/var/tmp").unwrap();
    let root = WorkRoot::open(dir.path()).unwrap();
    let now = std::time::SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000);
    let header = runner::header(plan, "test", Vec::new(), root.path(), now);
    let changes = HostChanges::open_in(&dir.path().join("state"), "test", root, None).unwrap();
    let mut run = Run::new(header);
    let mut sink = |_: &LabEvent| -> Result<(), String> { Ok(()) };
    let execution =
        Execution { sink: &mut sink, cancel: Cancel::new().unwrap(), changes: Arc::clone(&changes) };
    runner::execute(plan, &mut run, execution).unwrap();
    changes.undo_all().unwrap();
    let analysis = analyse(&run);
    (run, analysis)
}

/// Runs an experiment with short trials.
pub(crate) fn short(text: &str) -> (Run, Analysis) {
    let plan = plan(text).unwrap_or_else(|errors| panic!("{errors}"));
    let (run, analysis) = run(&plan);
    let reason = &run.finish.as_ref().unwrap().reason;
    assert!(matches!(reason, FinishReason::Decided | FinishReason::Budget), "{reason:?}");
    (run, analysis)
}

/// The trials of a variant, all rounds.
fn trials(run: &Run, variant: usize) -> impl Iterator<Item = &Trial> {
    run.trials.iter().filter(move |trial| trial.slot.variant == variant)
}

fn ops(run: &Run, variant: usize) -> u64 {
    trials(run, variant).map(|trial| trial.measured.ops).sum()
}

fn errors(run: &Run) -> BTreeMap<&String, u64> {
    let mut all = BTreeMap::new();
    for (message, count) in run.trials.iter().flat_map(|trial| &trial.errors) {
        *all.entry(message).or_default() += count;
    }
    all
}

/// The difference of counters over one entered slot under load, of a system that is built by hand.
fn counted(text: &str, load: impl Fn(&dyn weigh_load::Driver)) -> BTreeMap<String, f64> {
    let stage = Stage::new();
    let mut system = stage.build(&plan(text).unwrap()).unwrap();
    system.start_epoch(0).unwrap();
    let driver = system.enter(slot(0)).unwrap();
    let before = system.counters(slot(0)).unwrap();
    load(driver.as_ref());
    let after = system.counters(slot(0)).unwrap();
    system.leave(slot(0)).unwrap();
    system.stop().unwrap();
    weigh_collect::delta(&before, &after)
}

const SHORT: &str = "trial = \"200ms\"\nsettle = \"50ms\"\n[judge]\nbudget = \"5s\"\ndifference = \"20%\"\n";

#[test]
fn redis_is_weighed_with_its_set_up_counters_and_misses() {
    let server = servers::redis(&[]);
    let text = format!(
        "[system]\nname = \"redis\"\nurl = \"redis://127.0.0.1:{}\"\nallow_writes = true\n\
         [workload]\nsetup = [\"FLUSHALL\\nSET user:1 'a b'\", \"EVAL \\\"for i = 2, 100 do redis.call('SET', 'user:' .. i, i) end\\\" 0\"]\n\
         [workload.vars]\nkeys = 100\n\
         [[workload.operations]]\nname = \"get\"\ncommand = \"GET user:$1\"\n\
         parameters = [{{ kind = \"uniform\", min = 1, max = \"{{keys}}\" }}]\n\
         [factors]\n\"load.pipeline\" = [1, 16]\n\"vars.keys\" = [100, 200]\n\
         [load]\nclients = 4\n{SHORT}",
        server.port
    );
    let (run, analysis) = short(&text);
    assert_eq!(errors(&run), BTreeMap::new());
    assert_eq!(run.instances[0].version, "7.0.15");
    assert_eq!(run.instances[0].settings["redis_mode"], "standalone");
    assert_eq!(run.header.plan.load_summary, "get · 4 clients · 1–16 in flight");
    // Half of 200 keys are there: a miss is counted apart and is no error.
    let misses = |variant: usize| analysis.variants[variant].misses;
    assert_eq!((misses(0), misses(2)), (None, None));
    assert!((0.4..0.6).contains(&misses(1).unwrap()), "{:?}", misses(1));
    let whole: Vec<&Trial> = trials(&run, 0).collect();
    for trial in &whole {
        let calls = trial.whole.counters["redis.get_calls"];
        assert!((calls - trial.whole.ops as f64).abs() <= 4.0, "{calls} {}", trial.whole.ops);
        assert!(trial.whole.counters["redis.keyspace_hits"] >= calls, "{:?}", trial.whole.counters);
        assert!(trial.whole.counters["server.cpu_us"] > 0.0);
    }
    assert!(ops(&run, 2) > 2 * ops(&run, 0), "16 in flight do more: {} {}", ops(&run, 2), ops(&run, 0));
    assert!(analysis.variants[0].medians.contains_key(&Metric::CpuPerOp));
}

#[test]
fn a_redis_that_is_not_ours_is_not_written_to() {
    let text = |command: &str, rest: &str| {
        format!(
            "[system]\nname = \"redis\"\nurl = \"redis://127.0.0.1:1\"\n{rest}[[workload.operations]]\nname = \"op\"\n\
             command = \"{command}\"\n[factors]\n\"load.clients\" = [1, 2]\n"
        )
    };
    let refused = |command: &str, rest: &str| plan(&text(command, rest)).unwrap_err();
    let error = refused("SET a 1", "");
    assert!(error.starts_with("test.toml:6:11: `SET` would write to the server at `url`"), "{error}");
    let error = refused("GET a", "[workload]\nsetup = [\"SET a 1\"]\n");
    assert!(error.contains("set-up would write to the server at `url`"), "{error}");
    // A verb that only a variable names is seen once it is filled in.
    let error = refused("{verb} a", "[workload.vars]\nverb = \"DEL\"\n");
    assert!(error.contains("`DEL` would write to the server at `url`"), "{error}");
    assert!(plan(&text("GET a", "")).is_ok(), "nothing connects while planning");
}

#[test]
fn a_wrong_password_is_one_clear_line_and_no_url() {
    let server = servers::redis(&["--requirepass", "sesame"]);
    let text = |password: &str| {
        format!(
            "[system]\nname = \"redis\"\nurl = \"redis://:{password}@127.0.0.1:{}\"\n[[workload.operations]]\n\
             command = \"GET a\"\n[factors]\n\"load.clients\" = [1, 2]\n",
            server.port
        )
    };
    let begin = |text: &str| {
        let stage = Stage::new();
        let mut system = stage.build(&plan(text).unwrap()).unwrap();
        system.start_epoch(0).map(|records| records[0].version.clone())
    };
    let error = begin(&text("wrong")).unwrap_err();
    assert!(error.to_string().contains("WRONGPASS"), "{error}");
    assert!(!error.to_string().contains(":wrong@"), "{error}");
    assert_eq!(begin(&text("sesame")).unwrap(), "7.0.15");
}

#[test]
fn a_failing_set_up_command_is_named() {
    let server = servers::redis(&[]);
    let text = format!(
        "[system]\nname = \"redis\"\nurl = \"redis://127.0.0.1:{}\"\nallow_writes = true\n\
         [workload]\nsetup = [\"SET a x\", \"INCR a\"]\n[[workload.operations]]\ncommand = \"GET a\"\n\
         [factors]\n\"load.clients\" = [1, 2]\n",
        server.port
    );
    let mut system = Stage::new().build(&plan(&text).unwrap()).unwrap();
    let error = system.start_epoch(0).unwrap_err();
    let expected = "set-up command 2 `INCR a` failed: ERR value is not an integer or out of range";
    assert_eq!(error.to_string(), expected);
}

#[test]
fn memcached_is_weighed() {
    let server = servers::memcached();
    let text = format!(
        "[system]\nname = \"memcached\"\nurl = \"memcached://127.0.0.1:{}\"\nallow_writes = true\n\
         [workload]\nsetup = \"set k1 value\"\n\
         [[workload.operations]]\nname = \"get\"\ncommand = \"get k1\"\nexpect = \"value\"\nweight = 9\n\
         [[workload.operations]]\nname = \"set\"\ncommand = \"set k$1 $2\"\n\
         parameters = [{{ kind = \"uniform\", min = 2, max = 99 }}, {{ kind = \"string\", size = 20 }}]\n\
         [factors]\n\"operations.set.weight\" = [0, 9]\n\
         [load]\nclients = 2\n{SHORT}",
        server.port
    );
    let (run, analysis) = short(&text);
    assert_eq!(errors(&run), BTreeMap::new());
    assert_eq!(run.instances[0].version, "1.6.18");
    assert_eq!(run.instances[0].settings["threads"], "1");
    let counters = &trials(&run, 0).next().unwrap().whole;
    assert!((counters.counters["memcached.get_hits"] - counters.ops as f64).abs() <= 2.0, "{counters:?}");
    let sets = trials(&run, 1).next().unwrap().whole.counters["memcached.sets"];
    assert!(sets > 100.0, "{sets}");
    assert!(analysis.variants.iter().all(|variant| variant.misses.is_none()));
    assert!(server.ask("get k1\r\n", "END").contains("value"));
}

#[test]
fn mongodb_is_weighed_in_bulks_that_count_documents() {
    let server = servers::ferretdb();
    let text = format!(
        "[system]\nname = \"mongodb\"\nurl = \"mongodb://127.0.0.1:{}/shop\"\nallow_writes = true\n\
         [workload]\nunit = \"document\"\nsetup = ['{{\"drop\": \"items\"}}', '{{\"insert\": \"items\", \"documents\": [{{\"_id\": 0}}]}}']\n\
         [workload.vars]\ndocuments = 1\n\
         [[workload.operations]]\nname = \"insert\"\nrows = \"{{documents}}\"\nitems = \"{{documents}}\"\n\
         command = '{{\"insert\": \"items\", \"documents\": [{{\"_id\": \"$1\", \"text\": \"$2\"}}]}}'\n\
         parameters = [{{ kind = \"sequence\", start = 1 }}, {{ kind = \"string\", size = 20 }}]\n\
         [factors]\n\"vars.documents\" = [1, 20]\n\
         [load]\nclients = 1\n{SHORT}",
        server.port
    );
    let (run, _) = short(&text);
    assert_eq!(errors(&run), BTreeMap::new());
    assert!(run.instances[0].version.contains("FerretDB"), "{}", run.instances[0].version);
    let trial = trials(&run, 1).next().unwrap();
    assert_eq!(trial.whole.ops % 20, 0, "documents, not bulks");
    let calls = trial.whole.counters["mongodb.insert_calls"];
    assert!((calls - trial.whole.ops as f64 / 20.0).abs() <= 1.0, "{calls} {}", trial.whole.ops);
    assert!(ops(&run, 1) > ops(&run, 0), "bulks write more: {} {}", ops(&run, 1), ops(&run, 0));
}

#[test]
fn http_is_weighed_and_a_bad_status_is_an_error() {
    let server = servers::nginx();
    let text = format!(
        "[system]\nname = \"http\"\nurl = \"http://shop.example/\"\nconnect_to = \"127.0.0.1:{}\"\n\
         [workload.vars]\npath = \"/64\"\n\
         [[workload.operations]]\nname = \"get\"\nrequest = \"GET {{path}}\"\nexpect = \"2xx\"\n\
         [[workload.operations]]\nname = \"item\"\nrequest = \"GET /items/$1\"\nexpect = 200\nexpect_body = \"a\"\n\
         headers = {{ X-Kind = \"a\" }}\nparameters = [{{ kind = \"uniform\", min = 1, max = 9 }}]\n\
         [factors]\n\"vars.path\" = [\"/64\", \"/fails\"]\n\
         [load]\nclients = 2\n{SHORT}",
        server.port
    );
    let (run, analysis) = short(&text);
    assert!(analysis.variants[0].errors.is_empty(), "{:?}", analysis.variants[0].errors);
    // The server runs on this host: its processes are found by its socket.
    let used_us = trials(&run, 0).next().unwrap().whole.counters["server.cpu_us"];
    assert!(used_us > 0.0 && analysis.variants[0].medians.contains_key(&Metric::CpuPerOp));
    let failed = analysis.variants[1].errors.iter().next().unwrap();
    assert!(failed.0.contains("500") && *failed.1 > 100, "{failed:?}");
    let done = run.trials.iter().map(|trial| trial.whole.ops).sum::<u64>();
    let failed = run.trials.iter().flat_map(|trial| trial.errors.values()).sum::<u64>();
    // ` accepted handled requests `, and the question itself.
    let page = server.ask("GET /counters HTTP/1.0\r\n\r\n", "Waiting");
    let line = page.lines().skip_while(|line| !line.starts_with("server accepts")).nth(1).unwrap();
    let served: u64 = line.split_whitespace().nth(2).unwrap().parse().unwrap();
    assert!(served > done + failed && served <= done + failed + 1 + 2 * run.trials.len() as u64, "{page}");
}

#[test]
fn an_open_loop_is_judged_by_its_response_times() {
    let server = servers::redis(&[]);
    // A script that counts to so many takes the only thread of the server that long.
    let text = format!(
        "[system]\nname = \"redis\"\nurl = \"redis://127.0.0.1:{}\"\nallow_writes = true\n\
         [workload.vars]\nturns = 1\n\
         [[workload.operations]]\nname = \"count\"\ncommand = \"EVAL 'for i = 1, tonumber(ARGV[1]) do end' 0 {{turns}}\"\n\
         [factors]\n\"vars.turns\" = [1, 50000]\n\
         [load]\nclients = 8\nrate = \"500/s\"\narrivals = \"poisson\"\ntimeout = \"5s\"\n\
         trial = \"500ms\"\nsettle = \"100ms\"\n[judge]\nbudget = \"12s\"\n",
        server.port
    );
    let (run, analysis) = short(&text);
    assert_eq!(run.header.plan.judge.decide, [Metric::LatencyP99]);
    assert_eq!(run.header.plan.load_summary, "count · 8 clients · 500/s, poisson arrivals");
    assert_eq!(errors(&run), BTreeMap::new());
    for trial in &run.trials {
        let schedule = trial.schedule.as_ref().unwrap();
        assert_eq!(schedule.due, schedule.sent + schedule.never_sent);
        assert!(trial.service.is_some() && trial.latency.is_some());
    }
    let due: u64 = trials(&run, 0).map(|trial| trial.schedule.as_ref().unwrap().due).sum();
    let seconds: f64 = trials(&run, 0).map(|trial| trial.measured.seconds).sum();
    let rate = due as f64 / seconds;
    assert!((rate - 500.0).abs() < 5.0 * (500.0 / seconds).sqrt(), "{rate} over {seconds} s");
    let median = |variant: usize, metric: Metric| {
        let medians = &analysis.variants[variant].medians;
        *medians
            .get(&metric)
            .unwrap_or_else(|| panic!("{metric:?} of {} rounds: {medians:?}", analysis.rounds))
    };
    assert!(median(0, Metric::ServiceP50) <= median(0, Metric::LatencyP50));
    // Others wait for their turn, which shows in the response and not in the service.
    assert!(median(1, Metric::LatencyP95) > median(1, Metric::ServiceP50));
    assert!(median(1, Metric::LatencyP50) > median(0, Metric::LatencyP50));
}

#[test]
fn a_rate_above_what_the_system_can_do_is_a_doubt() {
    let server = servers::redis(&[]);
    let text = format!(
        "[system]\nname = \"redis\"\nurl = \"redis://127.0.0.1:{}\"\nallow_writes = true\n\
         [[workload.operations]]\nname = \"count\"\ncommand = \"EVAL 'for i = 1, 300000 do end' 0\"\n\
         [factors]\n\"load.rate\" = [20, \"4000/s\"]\n\
         [load]\nclients = 2\ntrial = \"300ms\"\nsettle = \"50ms\"\n[judge]\nbudget = \"8s\"\n",
        server.port
    );
    let (_, analysis) = short(&text);
    let doubt = analysis.doubts.iter().find(|doubt| doubt.kind == DoubtKind::RateAboveCapacity);
    assert_eq!(doubt.unwrap().variants, [1], "{:?}", analysis.doubts);
}

#[test]
fn counters_of_a_server_are_differences_over_the_load() {
    let server = servers::redis(&[]);
    let text = format!(
        "[system]\nname = \"redis\"\nurl = \"redis://127.0.0.1:{}\"\n[[workload.operations]]\ncommand = \"strlen a\"\n\
         [factors]\n\"load.clients\" = [1, 2]\n",
        server.port
    );
    let used = counted(&text, |driver| {
        assert!(matches!(driver.connect(0).unwrap(), weigh_load::Connection::Socket(_)));
        server.ask("STRLEN a\r\nSTRLEN a\r\n", ":0\r\n:0\r\n");
    });
    assert_eq!(used["redis.strlen_calls"], 2.0, "{used:?}");
}
