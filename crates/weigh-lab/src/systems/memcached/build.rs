//! From an experiment to a description, and from a resolved plan to servers that can be started.

use std::path::Path;
use std::rc::Rc;

use weigh_results::model::Column;

use super::kind::MemcachedKind;
use super::options;
use crate::experiment::Experiment;
use crate::host::run_tool;
use crate::plan::{ResolvedPlan, ServerPlan};
use crate::systems::private::{Kind, PrivateServers, find_program};
use crate::systems::{BuildContext, System, SystemDescription, SystemError, remote};

/// What memcached says about itself.
///
/// # Errors
/// When it is not installed.
pub fn describe(experiment: &Experiment) -> Result<SystemDescription, SystemError> {
    if experiment.system.url.is_some() {
        return remote::describe(experiment);
    }
    let kind = MemcachedKind::find(experiment.system.bin_dir.as_deref())?;
    let column =
        |(heading, counter): (&str, &str)| Column { heading: heading.into(), counter: counter.into() };
    let columns = [
        ("cpu", "server.cpu_us"),
        ("received", "memcached.net_in_bytes"),
        ("sent", "memcached.net_out_bytes"),
    ];
    Ok(SystemDescription {
        version: kind.version,
        settings: options::all(),
        columns: columns.map(column).to_vec(),
        ..SystemDescription::default()
    })
}

/// Prepares private servers, or a server at a URL.
///
/// # Errors
/// When the server is missing, a setting is refused, or a set-up command fails.
pub fn build(plan: &ResolvedPlan, context: BuildContext<'_>) -> Result<Box<dyn System>, SystemError> {
    if plan.experiment.system.url.is_some() {
        return remote::build(plan, context);
    }
    let description = describe(&plan.experiment)?;
    let bin_dir = plan.experiment.system.bin_dir.as_deref();
    let kind =
        |_: &ServerPlan| -> Result<Rc<dyn Kind>, SystemError> { Ok(Rc::new(MemcachedKind::find(bin_dir)?)) };
    Ok(Box::new(PrivateServers::build(plan, &description, context, &kind)?))
}

impl MemcachedKind {
    /// The program on this host.
    ///
    /// # Errors
    /// When it is missing, with what installs it.
    pub(in crate::systems) fn find(bin_dir: Option<&Path>) -> Result<MemcachedKind, SystemError> {
        let program = find_program(bin_dir, &["memcached"], "memcached")?;
        let output = run_tool(&program, &["-V".into()], Path::new("/"), None)?;
        // `memcached 1.6.18`
        let version = output.stdout.split_whitespace().nth(1).map(str::to_owned).ok_or_else(|| {
            SystemError::new(format!("cannot read a version out of `{}`", output.stdout.trim()))
        })?;
        Ok(MemcachedKind { program, version })
    }
}
