//! From an experiment to a description, and from a resolved plan to servers that can be started.

use std::path::{Path, PathBuf};
use std::rc::Rc;

use weigh_results::model::Column;

use super::kind::RedisKind;
use super::settings;
use crate::experiment::{Experiment, SystemKey};
use crate::host::run_tool;
use crate::plan::{ResolvedPlan, ResolvedText, ServerPlan};
use crate::systems::private::{Kind, PrivateServers, find_program};
use crate::systems::{BuildContext, System, SystemDescription, SystemError, remote};

/// What Redis says about itself.
///
/// # Errors
/// When no server is installed.
pub fn describe(experiment: &Experiment) -> Result<SystemDescription, SystemError> {
    let section = &experiment.system;
    if section.url.is_some() {
        return remote::describe(experiment);
    }
    // A server that is a factor may be any of its levels: none of their versions is that of the run.
    let varied = ["system.server", "system.version"];
    let is_varied = experiment.factors.iter().any(|factor| varied.contains(&factor.key.as_str()))
        || experiment
            .variants
            .iter()
            .any(|variant| varied.iter().any(|key| variant.levels.contains_key(*key)));
    let version = match is_varied {
        true => String::new(),
        false => {
            let server = section.private.get(&SystemKey::Server).map(String::as_str);
            version_of(&program(server, section.bin_dir.as_deref())?)?
        }
    };
    Ok(SystemDescription {
        version,
        settings: settings::all(),
        columns: columns(),
        ..SystemDescription::default()
    })
}

/// Prepares private servers (templates are made here), or a server at a URL.
///
/// # Errors
/// When the server is missing, a setting is refused, or a set-up command fails.
pub fn build(plan: &ResolvedPlan, context: BuildContext<'_>) -> Result<Box<dyn System>, SystemError> {
    if plan.experiment.system.url.is_some() {
        return remote::build(plan, context);
    }
    let description = describe(&plan.experiment)?;
    let bin_dir = plan.experiment.system.bin_dir.as_deref();
    let commands = commands(plan);
    let kind = |make: &ServerPlan| -> Result<Rc<dyn Kind>, SystemError> {
        Ok(Rc::new(RedisKind::find(make.server.as_deref(), bin_dir, commands.clone())?))
    };
    Ok(Box::new(PrivateServers::build(plan, &description, context, &kind)?))
}

impl RedisKind {
    /// The program on this host: `redis`, `valkey`, or whichever there is.
    ///
    /// # Errors
    /// When it is missing, with what installs it.
    pub(in crate::systems) fn find(
        server: Option<&str>,
        bin_dir: Option<&Path>,
        commands: Vec<String>,
    ) -> Result<RedisKind, SystemError> {
        let program = program(server, bin_dir)?;
        let version = version_of(&program)?;
        let is_valkey = program.file_name().is_some_and(|name| name.to_string_lossy().contains("valkey"));
        let title = format!("{} {version}", if is_valkey { "valkey" } else { "redis" });
        Ok(RedisKind { program, title, commands })
    }
}

fn program(server: Option<&str>, bin_dir: Option<&Path>) -> Result<PathBuf, SystemError> {
    match server {
        Some("valkey") => find_program(bin_dir, &["valkey-server"], "valkey-server"),
        Some("redis") => find_program(bin_dir, &["redis-server"], "redis-server"),
        _ => find_program(bin_dir, &["redis-server", "valkey-server"], "redis-server"),
    }
}

/// `Redis server v=7.0.15 sha=00000000:0 malloc=jemalloc-5.3.0 bits=64 build=…` → `7.0.15`.
fn version_of(program: &Path) -> Result<String, SystemError> {
    let output = run_tool(program, &["--version".into()], Path::new("/"), None)?;
    let word = output.stdout.split_whitespace().find_map(|word| word.strip_prefix("v="));
    word.map(str::to_owned)
        .ok_or_else(|| SystemError::new(format!("cannot read a version out of `{}`", output.stdout.trim())))
}

/// First words of what the load will send: their statistics begin at nothing.
fn commands(plan: &ResolvedPlan) -> Vec<String> {
    let operations = plan.variants.iter().flat_map(|variant| &variant.operations);
    let texts = operations.filter_map(|operation| match &operation.text {
        ResolvedText::Command(text) => Some(text.command.clone()),
        _ => None,
    });
    texts.collect()
}

fn columns() -> Vec<Column> {
    let column =
        |(heading, counter): (&str, &str)| Column { heading: heading.into(), counter: counter.into() };
    [("cpu", "server.cpu_us"), ("written", "disk.write_bytes"), ("flushes", "disk.flushes")]
        .map(column)
        .to_vec()
}
