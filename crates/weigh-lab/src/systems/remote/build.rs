//! From a resolved plan to a server that can be put under load.

use weigh_results::model::Column;

use super::admin;
use super::server::Remote;
use crate::experiment::{Experiment, SystemSection};
use crate::plan::ResolvedPlan;
use crate::systems::{BuildContext, System, SystemDescription, SystemError, table, writing_word};

/// What is known of a server before it is reached: it has no settings to vary. Nothing connects.
///
/// # Errors
/// Without a URL.
pub fn describe(experiment: &Experiment) -> Result<SystemDescription, SystemError> {
    let section = &experiment.system;
    url_of(section)?;
    let column = |heading: &str, counter: &str| Column { heading: heading.into(), counter: counter.into() };
    let columns = admin::columns(&section.name).iter().map(|(heading, counter)| column(heading, counter));
    Ok(SystemDescription { columns: columns.collect(), ..SystemDescription::default() })
}

/// Checks that the plan writes nothing it may not write. Nothing connects yet.
///
/// # Errors
/// Names what is refused.
pub fn build(plan: &ResolvedPlan, context: BuildContext<'_>) -> Result<Box<dyn System>, SystemError> {
    let section = &plan.experiment.system;
    let url = url_of(section)?;
    if !section.allow_writes {
        refuse_writes(plan)?;
    }
    Ok(Box::new(Remote::new(plan, url, context.cancel)))
}

fn url_of(section: &SystemSection) -> Result<&str, SystemError> {
    let name = &section.name;
    section.url.as_deref().ok_or_else(|| {
        let example = table::example_url(name).unwrap_or_default();
        SystemError::new(format!("weigh starts no {name} of its own: it needs the URL of a server"))
            .hint(format!("weigh run --system {name} --url {example} …"))
    })
}

fn refuse_writes(plan: &ResolvedPlan) -> Result<(), SystemError> {
    let refusal = |what: String| {
        let text = format!("{what}, and the server at `system.url` may not be written to");
        Err(SystemError::new(text)
            .hint("allow_writes = true  # below [system], if that server may be changed"))
    };
    let system = &plan.experiment.system.name;
    for variant in &plan.variants {
        if let Some(command) = variant.setup.first() {
            return refusal(format!("the set-up command `{command}` may write"));
        }
        for operation in &variant.operations {
            if let Some(word) = writing_word(system, &operation.text.summary()) {
                return refusal(format!("operation `{}` may write (`{word}`)", operation.name));
            }
        }
    }
    Ok(())
}
