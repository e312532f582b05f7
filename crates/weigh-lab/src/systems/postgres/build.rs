//! From a resolved plan to a system that can be started.

use std::path::Path;
use std::sync::Arc;

use super::design::Design;
use super::instance::Shop;
use super::private::Private;
use super::programs::Programs;
use super::remote::Remote;
use super::{cluster, describe};
use crate::host::unprivileged_user;
use crate::plan::ResolvedPlan;
use crate::systems::{BuildContext, System, SystemError};

/// Prepares private clusters (templates are made here), or a server at a URL (checked here).
///
/// # Errors
/// When PostgreSQL is missing, a setting is refused, a set-up statement fails, or the experiment wants
/// something a server at a URL is not asked for.
pub fn build(plan: &ResolvedPlan, context: BuildContext<'_>) -> Result<Box<dyn System>, SystemError> {
    let description = describe::describe(&plan.experiment);
    match &plan.experiment.system.url {
        Some(url) => Ok(Box::new(Remote::new(plan, url, context.cancel)?)),
        None => {
            let design = Design::new(plan, &description?);
            Ok(Box::new(prepare(plan, design, context)?))
        }
    }
}

fn prepare(plan: &ResolvedPlan, design: Design, context: BuildContext<'_>) -> Result<Private, SystemError> {
    let BuildContext { changes, work_dir, cancel, progress } = context;
    let programs = Programs::find(plan.experiment.system.bin_dir.as_deref())?;
    let user = unprivileged_user()?;
    if let Some(user) = &user {
        changes.work_root().check_reachable(user)?;
    }
    let clients_max = design.clients_max;
    let shop = Shop { programs, changes: Arc::clone(&changes), user, cancel, clients_max };
    progress(format!("making a postgres {} cluster", shop.programs.version));
    let (cluster, undo) = cluster::init(&shop, &work_dir)?;
    judge_all(&shop, &cluster, plan, &design)?;
    let mut templates = Vec::new();
    for (number, setup) in design.setups.iter().enumerate() {
        if !setup.is_empty() {
            progress(format!("running {} set-up statements", setup.len()));
        }
        templates.push(cluster::prepare(&shop, &work_dir, &cluster, number, setup, &design.common)?);
    }
    changes.undo(undo)?;
    Private::new(shop, plan, design, &work_dir, templates)
}

/// The server judges every variant's settings before any time is spent on the set-up.
fn judge_all(shop: &Shop, cluster: &Path, plan: &ResolvedPlan, design: &Design) -> Result<(), SystemError> {
    for (slot, asked) in design.slots.iter().map(|(slot, design)| (slot, &design.asked)) {
        if slot.copy == 0 && !asked.is_empty() {
            let who = format!("variant `{}`", plan.variants[slot.variant].name);
            cluster::judge(shop, cluster, &who, asked)?;
        }
    }
    Ok(())
}
