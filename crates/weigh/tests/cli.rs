//! Help, exit codes, stored runs, two real commands: everything that needs no server.

use std::os::unix::process::ExitStatusExt as _;
use std::process::Stdio;
use std::time::{Duration, Instant};

use weigh_results::model::FinishReason;
use weigh_results::store::EVENTS_FILE;

use crate::builder::{Recipe, durability};
use crate::home::Home;

const SUBCOMMANDS: [&str; 11] = [
    "run",
    "commands",
    "load",
    "list",
    "show",
    "compare",
    "resume",
    "selftest",
    "experiments",
    "completions",
    "man",
];

#[test]
fn help_is_a_screen() {
    let home = Home::new();
    insta::assert_snapshot!("help_short", home.run(&["-h"]).ok());
    insta::assert_snapshot!("help_long", home.run(&["--help"]).ok());
    insta::assert_snapshot!("help_run", home.run(&["run", "--help"]).ok());
    insta::assert_snapshot!("help_commands", home.run(&["commands", "-h"]).ok());
    for name in SUBCOMMANDS {
        let (short, long) = (home.run(&[name, "-h"]).ok(), home.run(&[name, "--help"]).ok());
        assert!(short.lines().count() <= long.lines().count(), "{name}");
        assert!(!long.contains("__guard"), "{name}");
    }
    assert!(home.run(&["--version"]).ok().starts_with("weigh 0."));
}

#[test]
fn usage_errors_are_code_2_and_start_nothing() {
    let home = Home::new();
    for args in [
        &["frobnicate"][..],
        &["run"],
        &["run", "x.toml", "--system", "postgres"],
        &["commands"],
        &["commands", "true", "-L", "only-a-name"],
        &["show", "a", "b"],
        &["run", "sqlite/durability", "--goal", "speed"],
    ] {
        assert_eq!(home.run(args).code, 2, "{args:?}");
    }
    let error = home.run(&["run", "sqlite/durabilty"]).fails(2);
    assert!(error.contains("did you mean `sqlite/durability`"), "{error}");
    let error = home.run(&["run", "sqlite/durability", "--budget", "soon"]).fails(2);
    assert!(error.starts_with("error: --budget: bad value `soon`"), "{error}");
    let error = home
        .run(&["run", "--system", "sqlite", "--set", "synchronous=FULL,OFF", "--sql", "nofile.sql"])
        .fails(2);
    assert!(error.starts_with("error: --sql: cannot read `nofile.sql`\n  caused by: "), "{error}");
    for left_behind in ["home", "state", "work"] {
        assert!(!home.path().join(left_behind).exists(), "{left_behind}");
    }
}

#[test]
fn runs_that_are_not_there() {
    let home = Home::new();
    assert_eq!(
        home.run(&["show"]).fails(2),
        "error: `last` asks for run number 1 counted from the newest, but there are 0 runs\nhint: weigh list\n"
    );
    let listed = home.run(&["list"]);
    assert_eq!((listed.code, listed.out.as_str()), (0, ""));
    assert_eq!(listed.err, "no runs in HOME/home/runs; try `weigh run sqlite/durability`\n");
    assert_eq!(home.run(&["list", "--json"]).json()["runs"], serde_json::json!([]));
    home.keep(&durability());
    let error = home.run(&["show", "durabilty"]).fails(2);
    assert!(error.contains("nearest: `20261121-214425-postgres-durability-k3f9`"), "{error}");
}

#[test]
fn stored_runs_are_listed_shown_and_compared() {
    let home = Home::new();
    home.keep(&durability());
    home.keep(&Recipe {
        run_id: "20261122-080000-postgres-durability-zzzz",
        hostname: "rack8",
        rounds: 12,
        finish: None,
        ..durability()
    });
    insta::assert_snapshot!("list", home.run(&["list"]).ok());
    insta::assert_snapshot!("show", home.run(&["show", "k3f9"]).ok());
    insta::assert_snapshot!("compare", home.run(&["compare", "k3f9", "zzzz"]).ok());
    let list = home.run(&["list", "--json"]).json();
    let states: Vec<_> =
        list["runs"].as_array().unwrap().iter().map(|run| run["state"].as_str().unwrap()).collect();
    assert_eq!(states, ["killed", "budget"]);
    assert_eq!(home.run(&["show", "k3f9", "--json"]).json()["report"], "run");
    assert_eq!(
        home.run(&["compare", "k3f9", "zzzz", "--json"]).json()["doubts"][0]["kind"],
        "machine_changed"
    );
    // By path, as after copying a run from another machine.
    let by_path = home.run(&["show", "home/runs/20261121-214425-postgres-durability-k3f9"]).ok();
    assert!(by_path.contains("off is 11.6 times faster than on"));
}

#[test]
fn a_run_of_a_newer_weigh_is_refused_and_hides_no_other() {
    let home = Home::new();
    let dir = home.keep(&durability());
    home.keep(&Recipe { run_id: "20261101-000000-postgres-old-aaaa", rounds: 1, ..durability() });
    let file = dir.join(EVENTS_FILE);
    let newer = std::fs::read_to_string(&file).unwrap().replacen("\"format\":1", "\"format\":2", 1);
    std::fs::write(&file, newer).unwrap();
    assert_eq!(
        home.run(&["show", "k3f9"]).fails(1),
        "error: run `20261121-214425-postgres-durability-k3f9` is in format 2; this weigh reads up to format 1\n"
    );
    let listed = home.run(&["list"]);
    assert_eq!(listed.code, 0);
    assert!(
        listed.out.contains("postgres-old") && listed.err.contains("in format 2"),
        "{}{}",
        listed.out,
        listed.err
    );
}

#[test]
fn colour_and_letters_follow_the_environment() {
    let home = Home::new();
    home.keep(&durability());
    let show = |variables: &[(&str, &str)], args: &[&str]| {
        let mut command = home.weigh(&[&["show"][..], args].concat());
        command.envs(variables.iter().copied());
        home.done(command.output().unwrap()).ok()
    };
    assert!(!show(&[], &[]).contains('\u{1b}'), "a pipe gets no colour");
    assert!(show(&[("CLICOLOR_FORCE", "1")], &[]).contains('\u{1b}'));
    assert!(show(&[], &["--color", "always"]).contains('\u{1b}'));
    assert!(!show(&[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")], &["--color", "never"]).contains('\u{1b}'));
    assert!(show(&[("LC_ALL", "C")], &[]).is_ascii());
    assert!(show(&[("LC_ALL", "en_US.UTF-8")], &[]).contains('µ'));
    for columns in ["60", "80", "120"] {
        let text = show(&[("COLUMNS", columns)], &[]);
        let widest =
            text.lines().filter(|line| !line.starts_with("stored")).map(|line| line.chars().count()).max();
        assert!(widest.unwrap() <= columns.parse().unwrap(), "{columns}:\n{text}");
    }
}

#[test]
fn a_closed_pipe_is_not_an_error() {
    let home = Home::new();
    home.keep(&durability());
    let mut child = home.weigh(&["show"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let done = home.done(child.wait_with_output().unwrap());
    assert_eq!((done.code, done.err.as_str()), (0, ""));
}

#[test]
fn what_comes_with_weigh_can_be_listed_and_printed() {
    let home = Home::new();
    let list = home.run(&["experiments"]).ok();
    assert!(list.contains("sqlite/durability"), "{list}");
    let text = home.run(&["experiments", "sqlite/durability"]).ok();
    std::fs::write(home.path().join("mine.toml"), &text).unwrap();
    let plan =
        home.run(&["run", "mine.toml", "--dry-run", "--json", "--seed", "7", "--budget", "10s"]).json();
    assert_eq!(plan["plan"]["seed"], 7);
    assert_eq!(plan["plan"]["judge"]["budget_s"], 10.0);
    assert!(home.run(&["experiments", "nonsense"]).fails(2).contains("hint: weigh experiments"));
    assert_eq!(home.run(&["experiments", "--json"]).json()["report"], "experiments");
}

/// The last of two wins, so that a script's defaults can be overridden.
#[test]
fn a_flag_typed_twice_counts_once() {
    let home = Home::new();
    let twice = ["run", "sqlite/durability", "--dry-run", "--json", "--budget", "10s", "--budget", "20s"];
    assert_eq!(home.run(&twice).json()["plan"]["judge"]["budget_s"], 20.0);
}

/// Every mistake is told with its place, and nothing is started.
#[test]
fn a_bad_experiment_file_is_told_with_line_and_column() {
    let home = Home::new();
    let text = home.run(&["experiments", "sqlite/durability"]).ok();
    let text = text.replace("journal_mode", "jurnal_mode").replace("clients = 1", "clients = 0");
    std::fs::write(home.path().join("bad.toml"), text).unwrap();
    let error = home.run(&["run", "bad.toml"]).fails(2);
    assert!(error.contains("bad.toml:") && error.contains("clients"), "{error}");
    assert!(!home.path().join("home").exists());
}

/// A file made from flags says the same as the flags.
#[test]
fn print_gives_a_file_that_gives_the_same_plan() {
    let home = Home::new();
    let flags = [
        "run",
        "--system",
        "sqlite",
        "--set",
        "synchronous=FULL,OFF",
        "--setup-sql",
        "CREATE TABLE t (v TEXT)",
        "--sql",
        "INSERT INTO t VALUES ($1)",
        "--param",
        "kind=string,size=100",
        "--clients",
        "2",
        "--budget",
        "30s",
        "--seed",
        "5",
    ];
    let printed = home.run(&[&flags[..], &["--print"]].concat()).ok();
    std::fs::write(home.path().join("printed.toml"), printed).unwrap();
    let from_flags = home.run(&[&flags[..], &["--dry-run", "--json"]].concat()).json();
    let from_file = home.run(&["run", "printed.toml", "--dry-run", "--json", "--seed", "5"]).json();
    for key in ["variants", "judge", "load_summary", "measure_s", "baseline"] {
        assert_eq!(from_flags["plan"][key], from_file["plan"][key], "{key}");
    }
    assert!(!home.path().join("home").exists(), "nothing was started");
}

#[test]
fn completions_and_the_manual_come_from_the_same_definition() {
    let home = Home::new();
    for shell in ["bash", "zsh", "fish"] {
        let text = home.run(&["completions", shell]).ok();
        for name in SUBCOMMANDS {
            assert!(text.contains(name), "{shell}: {name}");
        }
        assert!(text.contains("allow-writes"), "{shell}");
    }
    assert!(home.run(&["man"]).ok().contains(".TH weigh 1"));
    home.run(&["man", "pages"]).ok();
    for name in SUBCOMMANDS {
        assert!(home.path().join(format!("pages/weigh-{name}.1")).is_file(), "{name}");
    }
}

#[test]
fn two_commands_are_weighed_stored_and_shown_again() {
    let home = Home::new();
    let ran = home.run(&[
        "commands",
        "true",
        "sleep 0.03",
        "--budget",
        "20s",
        "--goal",
        "sign",
        "--difference",
        "20%",
    ]);
    assert!([0, 4].contains(&ran.code), "{}{}", ran.out, ran.err);
    let shown = home.run(&["show", "last"]).ok();
    assert_eq!(shown, ran.out, "show prints what the run printed");
    if ran.code == 0 {
        assert!(shown.contains("`sleep 0.03` is ") && shown.contains(" times slower than true"), "{shown}");
    }
    assert_eq!(home.run(&["list", "--json"]).json()["runs"].as_array().unwrap().len(), 1);
    let error = home.run(&["resume", "last"]).fails(2);
    assert!(error.contains("is complete"), "{error}");
    // Nothing is left where servers would have been.
    let left = std::fs::read_dir(home.path().join("state/live")).map_or(0, |entries| entries.count());
    assert_eq!(left, 0);
}

#[test]
fn a_difference_can_be_made_a_failure() {
    let home = Home::new();
    let args = ["commands", "true", "sleep 0.05", "-q", "--budget", "20s", "--goal", "sign", "--fail-if"];
    let worse = home.run(&[&args[..], &["worse"]].concat());
    assert!([10, 4].contains(&worse.code), "{}{}", worse.out, worse.err);
    assert_eq!(worse.err, "", "--quiet says nothing");
}

#[test]
fn a_command_that_fails_is_an_error_with_a_hint() {
    let home = Home::new();
    let ran = home.run(&["commands", "true", "exit 3", "--budget", "5s", "-q"]);
    assert_eq!(ran.code, 1, "{}{}", ran.out, ran.err);
    assert!(ran.err.contains("`exit 3`") && ran.err.contains("--ignore-failure"), "{}", ran.err);
    assert_eq!(home.run(&["list", "--json"]).json()["runs"][0]["state"], "failed");
}

/// Ctrl-C keeps the run, says how to go on, and `resume` finishes it with the same plan.
#[test]
fn an_interrupted_run_can_be_finished() {
    let home = Home::new();
    let child = home
        .weigh(&["commands", "sleep 0.05", "sleep 0.06", "--budget", "12s", "--difference", "0.1%", "-q"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    wait_for(|| home.store().load("last").is_ok_and(|run| run.rounds.len() >= 2));
    kill(child.id(), "INT");
    let done = home.done(child.wait_with_output().unwrap());
    assert_eq!(done.code, 130, "{}{}", done.out, done.err);
    assert!(done.err.contains("interrupted; `weigh resume "), "{}", done.err);
    let store = home.store();
    let before = store.load("last").unwrap();
    assert_eq!(before.finish.as_ref().unwrap().reason, FinishReason::Interrupted);
    let resumed = home.run(&["resume", "-q"]);
    assert!([0, 4].contains(&resumed.code), "{}{}", resumed.out, resumed.err);
    let after = store.load("last").unwrap();
    assert_eq!(after.header, before.header);
    assert!(after.rounds.len() > before.rounds.len() && after.trials.starts_with(&before.trials));
}

/// `kill -9` leaves a readable run, and it can be resumed.
#[test]
fn a_killed_run_is_readable_to_its_last_trial() {
    let home = Home::new();
    let mut child = home
        .weigh(&["commands", "sleep 0.05", "sleep 0.06", "--budget", "10s", "--difference", "0.1%", "-q"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    wait_for(|| home.store().load("last").is_ok_and(|run| run.trials.len() >= 4));
    assert_eq!(home.run(&["list", "--json"]).json()["runs"][0]["state"], "running");
    let busy = home.run(&["resume"]).fails(1);
    assert!(busy.contains("another weigh is recording to it"), "{busy}");
    kill(child.id(), "KILL");
    assert_eq!(child.wait().unwrap().signal(), Some(9));
    assert_eq!(home.run(&["list", "--json"]).json()["runs"][0]["state"], "killed");
    let shown = home.run(&["show"]).ok();
    assert!(shown.contains("the run was cut short"), "{shown}");
    let resumed = home.run(&["resume", "-q"]);
    assert!([0, 4].contains(&resumed.code), "{}{}", resumed.out, resumed.err);
}

fn kill(pid: u32, signal: &str) {
    assert!(
        std::process::Command::new("kill")
            .args([&format!("-{signal}"), &pid.to_string()])
            .status()
            .unwrap()
            .success()
    );
}

fn wait_for(ready: impl Fn() -> bool) {
    let begun = Instant::now();
    while !ready() {
        assert!(begun.elapsed() < Duration::from_secs(60), "nothing happened for a minute");
        std::thread::sleep(Duration::from_millis(50));
    }
}
