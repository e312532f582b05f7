//! From a resolved plan to database files that can be put under load.

use std::collections::BTreeMap;
use std::path::PathBuf;

use weigh_results::model::Column;

use super::embedded::{Embedded, SlotPlan};
use super::pragmas::{self, Moment, PRAGMAS};
use super::template::{self, Recipe};
use crate::experiment::Experiment;
use crate::host::User;
use crate::plan::{ResolvedPlan, ResolvedVariant};
use crate::systems::slots::slots;
use crate::systems::{BuildContext, System, SystemDescription, SystemError};

/// What SQLite says about itself.
///
/// # Errors
/// When the experiment asks for something an embedded database does not have.
pub fn describe(experiment: &Experiment) -> Result<SystemDescription, SystemError> {
    if experiment.system.url.is_some() {
        return Err(SystemError::new("sqlite is embedded: there is no server at a `system.url`"));
    }
    let column = |heading: &str, counter: &str| Column { heading: heading.into(), counter: counter.into() };
    Ok(SystemDescription {
        version: rusqlite::version().to_owned(),
        settings: PRAGMAS.iter().map(pragmas::Pragma::facts).collect(),
        columns: vec![
            column("cpu", "server.cpu_us"),
            column("written", "disk.write_bytes"),
            column("flushes", "disk.flushes"),
        ],
        ..SystemDescription::default()
    })
}

/// Makes the templates of a plan.
///
/// # Errors
/// When a setting is refused or a set-up statement fails.
pub fn build(plan: &ResolvedPlan, context: BuildContext<'_>) -> Result<Box<dyn System>, SystemError> {
    let BuildContext { changes, work_dir, cancel, progress } = context;
    let own = User::own();
    let mut templates: Vec<(Recipe, PathBuf)> = Vec::new();
    let mut planned = Vec::new();
    for slot in slots(plan) {
        let variant = &plan.variants[slot.variant];
        let (pragmas, recipe) = recipe(variant)?;
        let template = match templates.iter().find(|(known, _)| *known == recipe) {
            Some((_, dir)) => dir.clone(),
            None => {
                progress("making the database file".to_owned());
                let dir = work_dir.join(format!("t{}", templates.len()));
                changes.make_dir(&dir, Some(&own))?;
                template::make(&dir, &recipe, &cancel)?;
                templates.push((recipe, dir.clone()));
                dir
            }
        };
        let dir = work_dir.join(format!("v{}-{}", slot.variant, slot.copy));
        changes.make_dir(&dir, Some(&own))?;
        planned.push(SlotPlan { slot, variant: variant.clone(), template, dir, pragmas });
    }
    Ok(Box::new(Embedded::new(planned, &work_dir)?))
}

/// Every pragma a variant asks for, in one spelling, and what its template is made from.
fn recipe(variant: &ResolvedVariant) -> Result<(BTreeMap<String, String>, Recipe), SystemError> {
    let (mut asked, mut creation) = (BTreeMap::new(), BTreeMap::new());
    for (name, level) in &variant.settings {
        let (pragma, value) = pragmas::resolve(name, &level.to_text())?;
        if pragma.moment == Moment::Creation {
            creation.insert(name.clone(), value.clone());
        }
        asked.insert(name.clone(), value);
    }
    if asked.get("locking_mode").is_some_and(|mode| mode == "exclusive") && variant.clients > 1 {
        let text = format!("variant `{}`: `locking_mode = exclusive` admits one client only", variant.name);
        return Err(SystemError::new(text));
    }
    Ok((asked, Recipe { pragmas: creation, setup: variant.setup.clone() }))
}
