//! Experiment + description → plan.

use std::time::Duration;

use weigh_lab::experiment::{self, Level};
use weigh_lab::plan::{ResolveOptions, ResolvedPlan, resolve};
use weigh_lab::systems::description::SystemDescription;
use weigh_load::generator::GeneratorSpec;
use weigh_results::model::Metric;

fn snapshot(name: &str, text: String) {
    insta::with_settings!({ prepend_module_to_snapshot => false, omit_expression => true }, {
        insta::assert_snapshot!(name, text);
    });
}

const HEAD: &str = "system = \"postgres\"\n[[workload.operations]]\nname = \"read\"\nsql = \"SELECT 1\"\n";

fn options() -> ResolveOptions {
    ResolveOptions { cpus: 4, ..ResolveOptions::new(7) }
}

fn plan(text: &str) -> Result<ResolvedPlan, String> {
    let experiment = experiment::parse("my.toml", text).map_err(|errors| errors.to_string())?;
    resolve(&experiment, &super::postgres(), options()).map_err(|errors| errors.to_string())
}

fn names(plan: &ResolvedPlan) -> Vec<&str> {
    plan.plan.variants.iter().map(|variant| variant.name.as_str()).collect()
}

#[test]
fn durability_resolves_to_its_variants() {
    let experiment = experiment::find("postgres/durability").unwrap();
    let plan = resolve(&experiment, &super::postgres(), options()).unwrap();
    assert_eq!(names(&plan), ["on", "local", "off", "fsync=off"]);
    assert_eq!((plan.plan.baseline, plan.plan.seed), (0, 7));
    assert_eq!(plan.plan.load_summary, "1-row INSERT · 4 clients");
    assert_eq!(plan.plan.judge.budget_s, 100.0);
    assert_eq!(plan.plan.columns, super::postgres().columns);
    assert!(plan.plan.drain && !plan.plan.in_process);
    assert!(plan.plan.field_figures.contains_key("off"));
    let unsafe_control = &plan.variants[3];
    assert_eq!(unsafe_control.settings["fsync"], Level::Text("off".to_owned()));
    assert_eq!(unsafe_control.settings["synchronous_commit"], Level::Text("on".to_owned()));
    assert_eq!((unsafe_control.clients, unsafe_control.threads), (4, 2));
    assert_eq!(plan.plan.variants[3].levels["settings.fsync"], "off");
    assert_eq!(unsafe_control.operations[0].parameters, [GeneratorSpec::String { size: 100 }]);
}

#[test]
fn bulk_counts_rows() {
    let experiment = experiment::find("postgres/bulk").unwrap();
    let plan = resolve(&experiment, &super::postgres(), options()).unwrap();
    let shapes: Vec<_> = plan
        .variants
        .iter()
        .map(|variant| {
            let operation = &variant.operations[0];
            (variant.name.as_str(), operation.parameters.len(), operation.repeat, operation.items)
        })
        .collect();
    assert_eq!(
        shapes,
        [
            ("single", 1, 1, 1),
            ("100 rows", 100, 1, 100),
            ("1000 statements", 1, 1000, 1000),
            ("10 x 100 rows", 100, 10, 1000)
        ]
    );
    let sql = &plan.variants[1].operations[0].text.statements()[0];
    assert!(
        sql.starts_with("INSERT INTO event (payload) VALUES ($1), ($2), ") && sql.ends_with("($100)"),
        "{sql}"
    );
}

#[test]
fn hot_row_varies_the_rows_and_the_clients() {
    let experiment = experiment::find("postgres/hot-row").unwrap();
    let plan = resolve(&experiment, &super::postgres(), options()).unwrap();
    let max = |index: usize| match plan.variants[index].operations[0].parameters[0] {
        GeneratorSpec::Uniform { min: 1, max } => max,
        ref other => panic!("{other:?}"),
    };
    assert_eq!([0, 1, 2, 3, 4, 5].map(max), [1000, 1, 10, 1, 1000, 1]);
    assert_eq!(plan.variants.iter().map(|variant| variant.clients).collect::<Vec<_>>(), [8, 8, 8, 8, 1, 1]);
    assert_eq!(plan.plan.load_summary, "increment, append · 1–8 clients");
}

#[test]
fn commands_become_variants() {
    let text = "system = \"commands\"\n[commands]\nsetup = [\"seq {n} > input\"]\nshell = \"none\"\n\
        [[commands.command]]\nrun = \"gzip -{level} input\"\nprepare = \"rm -f input.gz\"\n\
        [[commands.command]]\nname = \"xz\"\nrun = \"xz input\"\n[workload.vars]\nn = 10\n[factors]\n\"vars.level\" = [1, 9]\n";
    let experiment = experiment::parse("c.toml", text).unwrap();
    let plan = resolve(&experiment, &SystemDescription::default(), options()).unwrap();
    // `level` is not used by xz, so there is one of it.
    assert_eq!(names(&plan), ["gzip -1 input", "gzip -9 input", "xz"]);
    assert_eq!(plan.plan.judge.decide, [Metric::Time]);
    assert_eq!(plan.plan.load_summary, "3 commands · without a shell");
    assert!(plan.plan.in_process && !plan.plan.drain);
    let command = plan.variants[1].command.as_ref().unwrap();
    assert_eq!((command.run.as_str(), command.prepare.as_deref()), ("gzip -9 input", Some("rm -f input.gz")));
    assert_eq!(plan.variants[1].setup, ["seq 10 > input"]);
    assert_eq!(plan.plan.variants[1].levels["command"], "gzip -9 input");
}

#[test]
fn a_factor_on_a_setting_the_system_does_not_have_points_at_its_line() {
    let text = format!("{HEAD}[factors]\n\"settings.sychronous_commit\" = [\"on\", \"off\"]\n");
    snapshot("unknown-setting", plan(&text).unwrap_err());
}

#[test]
fn values_and_contexts_are_checked() {
    let text = format!(
        "{HEAD}[settings]\nblock_size = 16384\nfsync = \"maybe\"\n[variants.a]\n\"settings.synchronous_commit\" = \"of\"\n[variants.b]\nsettings.work_mem = \"lots\"\n"
    );
    snapshot("values-and-contexts", plan(&text).unwrap_err());
}

#[test]
fn a_server_of_the_users_own_only_has_session_settings_varied() {
    let head = HEAD
        .replace("system = \"postgres\"\n", "system = { name = \"postgres\", url = \"postgres://h/db\" }\n");
    let error = plan(&format!("{head}[factors]\n\"settings.fsync\" = [\"on\", \"off\"]\n")).unwrap_err();
    assert!(error.contains("`fsync` cannot be changed in a session"), "{error}");
    let sound = plan(&format!("{head}[factors]\n\"settings.work_mem\" = [\"4MB\", \"64MB\"]\n")).unwrap();
    assert!(!sound.plan.drain, "nothing is flushed on a server that is not ours");
}

#[test]
fn names_of_settings_take_the_systems_spelling() {
    let plan = plan(&format!(
        "{HEAD}[factors]\n\"settings.timezone\" = [\"UTC\", \"CET\"]\n\"settings.auto_explain.x\" = [1, 2]\n"
    ))
    .unwrap();
    let settings: Vec<&String> = plan.variants[0].settings.keys().collect();
    assert_eq!(settings, ["TimeZone", "auto_explain.x"]);
    assert_eq!(names(&plan)[0], "UTC/auto_explain.x=1");
    assert_eq!(plan.plan.question, "What do timezone and auto_explain.x cost?");
}

#[test]
fn the_same_options_give_the_same_plan_also_from_the_stored_text() {
    let description = weigh_lab::systems::describe(&experiment::find("postgres/bulk").unwrap()).unwrap();
    for shipped in experiment::shipped().iter().filter(|shipped| shipped.name.starts_with("postgres/")) {
        let experiment = shipped.parse().unwrap();
        let options = ResolveOptions { budget: Some(Duration::from_secs(33)), ..options() };
        let first = resolve(&experiment, &description, options).unwrap();
        assert_eq!(first.plan.judge.budget_s, 33.0);
        let stored = experiment::parse("stored.toml", &first.experiment.to_toml()).unwrap();
        let again = resolve(&stored, &description, super::resolve::options()).unwrap();
        assert_eq!(again, first);
    }
}

#[test]
fn weights_switch_operations_off() {
    let text = "system = \"postgres\"\n[[workload.operations]]\nname = \"read\"\nsql = \"SELECT 1\"\nweight = 9\n\
        [[workload.operations]]\nname = \"write\"\nsql = \"UPDATE t SET a = 1\"\n\
        [factors]\n\"operations.write.weight\" = [0, 1, 3]\n";
    let plan = plan(text).unwrap();
    assert_eq!(names(&plan), ["write.weight=0", "write.weight=1", "write.weight=3"]);
    assert_eq!(plan.variants.iter().map(|variant| variant.operations.len()).collect::<Vec<_>>(), [1, 2, 2]);
    assert_eq!(plan.plan.load_summary, "read, write · 1 client");
}

#[test]
fn shipped_experiments_fit_the_real_systems() {
    for shipped in experiment::shipped() {
        let experiment = shipped.parse().unwrap();
        let description = match experiment.system.name.as_str() {
            "commands" => SystemDescription::default(),
            _ => weigh_lab::systems::describe(&experiment).unwrap(),
        };
        let lacking = |need: &weigh_lab::systems::Capability| {
            description.lacks.iter().find(|lack| lack.capability == *need)
        };
        if let Some(lack) = experiment.needs.iter().find_map(lacking) {
            let refused = resolve(&experiment, &description, options()).unwrap_err().to_string();
            assert!(refused.contains(&lack.why), "{}: {refused}", shipped.name);
            continue;
        }
        let plan = resolve(&experiment, &description, options()).unwrap_or_else(|errors| panic!("{errors}"));
        assert!(plan.variants.len() >= 2, "{}", shipped.name);
    }
}
