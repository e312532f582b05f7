//! From a resolved plan to servers that can be started.

use std::rc::Rc;
use std::sync::Arc;

use super::describe::describe;
use super::ferretdb::{self, FerretDb};
use super::make::Make;
use super::mongod::Mongod;
use crate::plan::{ResolvedPlan, ServerPlan};
use crate::systems::private::{Kind, PrivateServers};
use crate::systems::{BuildContext, System, SystemError, remote};

/// Prepares private servers, with FerretDB built first where it is needed, or a server at a URL.
///
/// # Errors
/// When something is missing, a setting is refused, or a set-up command fails.
pub fn build(plan: &ResolvedPlan, context: BuildContext<'_>) -> Result<Box<dyn System>, SystemError> {
    let section = &plan.experiment.system;
    if section.url.is_some() {
        return remote::build(plan, context);
    }
    let description = describe(&plan.experiment)?;
    let BuildContext { changes, work_dir, cancel, progress } = context;
    let makes = Make::all(&plan.experiment)?;
    let ferretdb = match makes.iter().any(|make| matches!(make, Make::FerretDb(_))) {
        true => {
            if plan.variants.iter().any(|variant| says_nothing(&variant.server)) {
                progress(format!("no `mongod` here: FerretDB {} serves instead", ferretdb::VERSION));
            }
            let asked = section.bin_dir.as_deref();
            Some(ferretdb::program(asked, &changes, &work_dir, &cancel, progress)?)
        }
        false => None,
    };
    let kind = |server: &ServerPlan| -> Result<Rc<dyn Kind>, SystemError> {
        match (Make::of(section, server)?, &ferretdb) {
            (Make::FerretDb(backend), Some(program)) => {
                Ok(Rc::new(FerretDb::new(program.clone(), backend, Arc::clone(&changes))?))
            }
            _ => Ok(Rc::new(Mongod::find(section.bin_dir.as_deref())?)),
        }
    };
    let context =
        BuildContext { changes: Arc::clone(&changes), work_dir: work_dir.clone(), cancel, progress };
    Ok(Box::new(PrivateServers::build(plan, &description, context, &kind)?))
}

/// Whether the experiment leaves it to us which program serves.
fn says_nothing(server: &ServerPlan) -> bool {
    server.server.is_none() && server.backend.is_none()
}
