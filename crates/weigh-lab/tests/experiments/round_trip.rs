//! What is written reads back to the same experiment.

use proptest::prelude::*;
use weigh_lab::experiment::{self, Experiment};

fn round_trip(experiment: &Experiment) {
    let text = experiment.to_toml();
    match experiment::parse("again.toml", &text) {
        Ok(again) => assert_eq!(&again, experiment, "{text}"),
        Err(errors) => panic!("{errors}\n\n{text}"),
    }
}

#[test]
fn shipped_experiments_survive() {
    for shipped in experiment::shipped() {
        round_trip(&shipped.parse().unwrap());
    }
}

#[test]
fn a_printed_experiment_reads_well() {
    let text = experiment::find("postgres/hot-row").unwrap().to_toml();
    insta::with_settings!({ prepend_module_to_snapshot => false, omit_expression => true }, {
        insta::assert_snapshot!("printed-hot-row", text);
    });
}

/// A name or text with anything in it that TOML might mind.
fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z_]{1,8}",
        "\\PC{1,12}",
        Just("it's \"quoted\"\\".to_owned()),
        Just("two\nlines\t🦀".to_owned())
    ]
    .prop_filter("blank", |text| !text.trim().is_empty())
    .prop_map(|text| text.replace(['{', '}', ';', '$', '\'', '"', '\\'], "_"))
}

fn scalar() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<i64>().prop_map(|number| number.to_string()),
        (-1e12..1e12f64).prop_map(|number| format!("{number:?}")),
        any::<bool>().prop_map(|value| value.to_string()),
        text().prop_map(|text| toml::Value::String(text).to_string()),
    ]
}

prop_compose! {
    /// The text of a sound experiment with factors.
    fn sound()(
        name in text(),
        question in text(),
        settings in prop::collection::btree_map("[a-z_]{1,8}", scalar(), 0..4),
        vars in prop::collection::btree_map("[a-z_]{1,8}", scalar(), 0..4),
        setup in prop::collection::vec("[a-z ]{1,20}", 0..3),
        (weight, repeat, items) in (1..9u32, 1..9u32, 1..999u32),
        (clients, pipeline) in (1..99u32, 1..9u32),
        (trial_ms, settle_ms, budget_s) in (10..9_999u64, 1..9_999u64, 60..100_000u64),
        levels in prop::collection::btree_set("[a-zA-Z0-9 _/=.-]{1,6}", 2..6),
        sweep in prop::option::of((1..3i64, 4..30i64, 2..5i64)),
        difference in prop_oneof![(1..99u32).prop_map(|p| format!("\"{p}%\"")), (0.001..0.9f64).prop_map(|d| format!("{d:?}"))],
        goal in prop_oneof![Just("size"), Just("sign")],
        drain in any::<bool>(),
    ) -> String {
        let string = |text: &str| toml::Value::String(text.to_owned()).to_string();
        let pairs = |pairs: &std::collections::BTreeMap<String, String>| {
            pairs.iter().map(|(name, value)| format!("{name} = {value}\n")).collect::<String>()
        };
        let levels: Vec<String> = levels.iter().map(|level| string(level)).collect();
        let sweep = sweep.map(|(from, to, times)| {
            format!("\"load.clients\" = {{ from = {from}, to = {to}, times = {times} }}\n")
        });
        format!(
            "name = {}\nquestion = {}\nneeds = [\"lock figures\"]\nsystem = {{ name = \"postgres\", version = 16, memory = \"{clients}MB\", \
             start = \"cold\" }}\n[settings]\n{}[workload]\nsetup = {}\nprepare = \"TRUNCATE t\"\n[workload.vars]\n{}\n\
             [[workload.operations]]\nname = \"op\"\nweight = {weight}\nsql = \"SELECT $1, {{{{x}}}}\"\nrepeat = {repeat}\n\
             items = \"{items}\"\nparameters = [{{ kind = \"choice\", values = [\"a\", 1] }}]\n\
             [load]\nclients = {clients}\npipeline = {pipeline}\noperations = {weight}\ntrial = \"{trial_ms}ms\"\nsettle = \"{settle_ms}ms\"\n\
             [factors]\n\"settings.level\" = [{}]\n{}[judge]\ndifference = {difference}\ngoal = \"{goal}\"\n\
             budget = \"{budget_s}s\"\ndrain = {drain}\n",
            string(&name), string(&question), pairs(&settings), toml::Value::from(setup), pairs(&vars),
            levels.join(", "), sweep.unwrap_or_default(),
        )
    }
}

/// The operation of a server at a URL, with its system.
fn remote_operation() -> impl Strategy<Value = String> {
    let string = |text: &str| toml::Value::String(text.to_owned()).to_string();
    let command = ("[a-z ]{0,8}", prop::option::of(text())).prop_map(move |(key, expect)| {
        let expect = expect.map(|text| format!("expect = {}\n", string(&text))).unwrap_or_default();
        format!("command = {}\n{expect}", string(&format!("GET \"{key}$1\"")))
    });
    let redis = command.prop_map(|text| (r#"name = "redis", url = "redis://u@h:1/2?protocol=3""#, text));
    let memcached =
        Just((r#"name = "memcached", url = "memcached://h""#, "command = \"get k$1\"\n".to_owned()));
    let mongodb = (1..9u32).prop_map(|rows| {
        let command = r#"command = '{"insert": "t", "documents": [{"_id": "$1"}]}'"#;
        (r#"name = "mongodb", url = "mongodb://h/db""#, format!("{command}\nrows = {rows}\n"))
    });
    let expect = prop_oneof![Just("204"), Just("\"2xx\""), Just("\"any\""), Just("\"{code}\"")];
    let request = (expect, prop::option::of(text()), prop::option::of(text()), text());
    let http = request.prop_map(move |(expect, body, reply, header)| {
        let some = |key: &str, text: Option<String>| {
            text.map(|text| format!("{key} = {}\n", string(&text))).unwrap_or_default()
        };
        let header: String = header.chars().filter(|letter| !letter.is_control()).collect();
        let parts = [some("body", body), some("expect_body", reply)].concat();
        let headers = format!("headers = {{ X-A = {}, \"X-B\" = \"$1\" }}\n", string(&header));
        let text = format!("request = \"PUT /a/$1\"\nexpect = {expect}\n{parts}{headers}");
        (
            r#"name = "http", url = "https://h/x", ca_file = "ca.pem", insecure = true, connect_to = "h:1""#,
            text,
        )
    });
    prop_oneof![redis, memcached, mongodb, http].prop_map(|(system, text)| {
        format!("system = {{ {system}, allow_writes = true }}\n[[workload.operations]]\n{text}")
    })
}

prop_compose! {
    /// The text of a sound experiment on a server at a URL, as an open loop or not.
    fn sound_remote()(
        operation in remote_operation(),
        rate in prop::option::of(prop_oneof![
            (1..9_999u32).prop_map(|rate| rate.to_string()),
            (1..9_999u32).prop_map(|rate| format!("\"{rate}/min\"")),
            (0.1..1e7f64).prop_map(|rate| format!("{rate:?}")),
        ]),
        arrivals in prop_oneof![Just(""), Just("arrivals = \"constant\"\n"), Just("arrivals = \"poisson\"\n")],
        timeout in prop::option::of(1..99_999u64),
        rates in any::<bool>(),
    ) -> String {
        let arrivals = if rate.is_some() || rates { arrivals } else { "" };
        let rate = rate.map(|rate| format!("rate = {rate}\n")).unwrap_or_default();
        let timeout = timeout.map(|ms| format!("timeout = \"{ms}ms\"\n")).unwrap_or_default();
        let factor = if rates { "\"load.rate\" = [\"9/s\", 100]" } else { "\"load.clients\" = [1, 2]" };
        format!(
            "{operation}parameters = [{{ kind = \"sequence\" }}]\n[workload.vars]\ncode = 201\n\
             [load]\n{rate}{arrivals}{timeout}[factors]\n{factor}\n"
        )
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn arbitrary_experiments_survive(text in sound()) {
        match experiment::parse("sound.toml", &text) {
            Ok(experiment) => round_trip(&experiment),
            Err(errors) => panic!("{errors}\n\n{text}"),
        }
    }

    #[test]
    fn arbitrary_experiments_on_servers_survive(text in sound_remote()) {
        match experiment::parse("sound.toml", &text) {
            Ok(experiment) => round_trip(&experiment),
            Err(errors) => panic!("{errors}\n\n{text}"),
        }
    }
}
