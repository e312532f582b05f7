//! Nothing a file can hold makes the reader panic, and every mistake it reports can be shown.

use proptest::prelude::*;
use weigh_lab::experiment;
use weigh_lab::plan::{ResolveOptions, resolve};

fn read(text: &str) {
    match experiment::parse("fuzz.toml", text) {
        Err(errors) => {
            assert!(!errors.errors.is_empty());
            assert!(!errors.to_string().is_empty());
        }
        Ok(experiment) => {
            let again = experiment::parse("fuzz.toml", &experiment.to_toml());
            assert_eq!(again.as_ref(), Ok(&experiment), "{}", experiment.to_toml());
            drop(
                resolve(&experiment, &super::postgres(), ResolveOptions::new(1))
                    .map_err(|errors| errors.to_string()),
            );
        }
    }
}

/// Lines that look like those of an experiment.
fn line() -> impl Strategy<Value = String> {
    let key = prop_oneof![
        Just("system"),
        Just("question"),
        Just("name"),
        Just("settings"),
        Just("workload"),
        Just("vars"),
        Just("operations"),
        Just("load"),
        Just("clients"),
        Just("factors"),
        Just("variants"),
        Just("judge"),
        Just("baseline"),
        Just("sql"),
        Just("parameters"),
        Just("repeat"),
        Just("rows"),
        Just("from"),
        Just("to"),
        Just("step"),
        Just("times"),
        Just("levels"),
        Just("commands"),
        Just("command"),
        Just("run"),
        Just("\"settings.fsync\""),
        Just("\"vars.a\""),
        Just("field"),
        Just("\"load.clients\""),
        Just("\"operations.a.weight\""),
        Just("budget"),
        Just("difference"),
        Just("metrics"),
        Just("command"),
        Just("request"),
        Just("headers"),
        Just("body"),
        Just("expect"),
        Just("expect_length"),
        Just("rate"),
        Just("arrivals"),
        Just("timeout"),
        Just("\"load.rate\""),
        Just("url"),
        Just("allow_writes"),
    ];
    let value = prop_oneof![
        Just("\"postgres\"".to_owned()),
        Just("\"commands\"".to_owned()),
        Just("\"redis\"".to_owned()),
        Just("\"http\"".to_owned()),
        Just("{ name = \"mongodb\", url = \"mongodb://h/d\" }".to_owned()),
        Just("{ name = \"redis\", url = \"redis://h\", allow_writes = true }".to_owned()),
        Just("\"5000/s\"".to_owned()),
        Just("\"poisson\"".to_owned()),
        Just("\"GET /a$1\"".to_owned()),
        Just("\"2xx\"".to_owned()),
        Just("{ A = \"b\" }".to_owned()),
        Just("1".to_owned()),
        Just("-1".to_owned()),
        Just("9999999999999999999999".to_owned()),
        Just("1e999".to_owned()),
        Just("nan".to_owned()),
        Just("inf".to_owned()),
        Just("0.1".to_owned()),
        Just("true".to_owned()),
        Just("1979-05-27".to_owned()),
        Just("[]".to_owned()),
        Just("{}".to_owned()),
        Just("[1, 2]".to_owned()),
        Just("[\"a\", \"b\"]".to_owned()),
        Just("\"{a}\"".to_owned()),
        Just("\"{a}{a}\"".to_owned()),
        Just("\"SELECT $1; '\"".to_owned()),
        Just("\"SELECT $99999999999\"".to_owned()),
        Just("{ from = 1, to = 9, step = 2 }".to_owned()),
        Just("{ from = 1, to = 9.5, times = 1.0000001 }".to_owned()),
        Just("[{ kind = \"zipf\" }]".to_owned()),
        Just("[[[[]]]]".to_owned()),
        Just("\"\"".to_owned()),
        "\\PC{0,10}".prop_map(|text| text),
    ];
    prop_oneof![
        (key.clone(), value).prop_map(|(key, value)| format!("{key} = {value}")),
        key.clone().prop_map(|key| format!("[{key}]")),
        key.clone().prop_map(|key| format!("[[{key}]]")),
        (key.clone(), key.clone()).prop_map(|(a, b)| format!("[{a}.{b}]")),
        (key.clone(), key).prop_map(|(a, b)| format!("[[{a}.{b}]]")),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn arbitrary_text_never_panics(text in "\\PC*|[\\x00-\\x7f]{0,80}") {
        read(&text);
    }

    #[test]
    fn lines_of_an_experiment_in_any_order_never_panic(lines in prop::collection::vec(line(), 0..12)) {
        read(&lines.join("\n"));
    }

    #[test]
    fn a_damaged_experiment_never_panics(
        which in 0..experiment::shipped().len(),
        cuts in prop::collection::vec((any::<prop::sample::Index>(), 0..30usize, "[\\]\\[{}=\"'0-9a-z$;\n.,-]{0,4}"), 1..4),
    ) {
        let mut text: Vec<char> = experiment::shipped()[which].text.chars().collect();
        for (at, length, new) in cuts {
            let at = at.index(text.len());
            let end = (at + length).min(text.len());
            text.splice(at..end, new.chars());
        }
        read(&text.into_iter().collect::<String>());
    }
}

#[test]
fn a_file_full_of_mistakes_is_refused_in_time() {
    let many = |line: &str| line.repeat((250 << 10) / line.len());
    let started = std::time::Instant::now();
    for text in [
        format!("system = \"postgres\"\n[factors]\nx = [{}]", many("1,")),
        format!(
            "system = \"postgres\"\n[load]\n{}",
            (0..20_000).map(|n| format!("k{n} = 1\n")).collect::<String>()
        ),
        many("[[workload.operations]]\n"),
        many("[[workload.operations]]\nsql=\"SELECT $1\"\n"),
        format!("a = {}", "[".repeat(100_000)),
        "a.".repeat(100_000),
        "x".repeat(300 << 10),
        format!(
            "system=\"postgres\"\n[workload.vars]\n{}",
            (0..10_000).map(|n| format!("v{n} = \"{{v{}}}\"\n", n + 1)).collect::<String>()
        ),
    ] {
        let errors = experiment::parse("many.toml", &text).unwrap_err();
        assert!(errors.errors.len() <= 50);
    }
    assert!(started.elapsed().as_secs() < 60, "{:?}", started.elapsed());
}
