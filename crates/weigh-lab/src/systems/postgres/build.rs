//! From a resolved plan to a system that can be started.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use super::design::Design;
use super::instance::Shop;
use super::private::Private;
use super::programs::Programs;
use super::remote::Remote;
use super::{cluster, describe};
use crate::host::{HostChanges, unprivileged_user};
use crate::plan::ResolvedPlan;
use crate::systems::{BuildContext, System, SystemError};

/// Before it, activity does not tell clients from background processes.
const OLDEST_MAJOR: u32 = 10;

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
    let user = unprivileged_user()?;
    if let Some(user) = &user {
        changes.work_root().check_reachable(user)?;
    }
    check_memory(&changes, &design)?;
    let mut shops = Vec::new();
    for version in &design.versions {
        let programs = Programs::find(plan.experiment.system.bin_dir.as_deref(), version.as_deref())?;
        if describe::major(&programs.version) < OLDEST_MAJOR {
            let text =
                format!("postgres {} is too old: weigh starts {OLDEST_MAJOR} and newer", programs.version);
            return Err(SystemError::new(text));
        }
        let programs = programs.reachable(user.as_ref(), &changes, &work_dir)?;
        let (changes, user, cancel) = (Arc::clone(&changes), user.clone(), cancel.clone());
        shops.push(Shop { programs, changes, user, cancel, clients_max: design.clients_max });
    }
    let mut templates = BTreeMap::new();
    for (version, shop) in shops.iter().enumerate() {
        progress(format!("making a postgres {} cluster", shop.programs.version));
        let (cluster, undo) = cluster::init(shop, &work_dir)?;
        judge_all(shop, version, &cluster, plan, &design)?;
        for (number, template) in design.templates.iter().enumerate() {
            if template.version != version {
                continue;
            }
            if !template.setup.is_empty() {
                progress(format!("running {} set-up statements", template.setup.len()));
            }
            let made = cluster::prepare(shop, &work_dir, &cluster, number, &template.setup, &design)?;
            templates.insert(number, made);
        }
        changes.undo(undo)?;
    }
    Private::new(shops, changes, cancel, plan, design, &work_dir, templates.into_values().collect())
}

/// Memory can be limited here, or nothing is started.
fn check_memory(changes: &HostChanges, design: &Design) -> Result<(), SystemError> {
    let Some(bytes) = design.instances.iter().find_map(|instance| instance.memory_bytes) else {
        return Ok(());
    };
    let group = changes.make_memory_group("probe", bytes).map_err(|error| {
        let error = SystemError::from(error);
        SystemError { message: format!("`system.memory`: {}", error.message), ..error }
            .hint("sudo weigh run …")
            .hint("systemd-run --user --scope weigh run …  # in a group that is yours")
    })?;
    Ok(changes.remove_cgroup(group.path())?)
}

/// The server judges every variant's settings before any time is spent on the set-up.
fn judge_all(
    shop: &Shop,
    version: usize,
    cluster: &Path,
    plan: &ResolvedPlan,
    design: &Design,
) -> Result<(), SystemError> {
    for (slot, slot_design) in design.slots.iter().filter(|(slot, _)| slot.copy == 0) {
        let instance = &design.instances[slot_design.instance];
        let is_trivial = slot_design.asked.is_empty() && instance.memory_bytes.is_none();
        if is_trivial || design.templates[instance.template].version != version {
            continue;
        }
        let who = format!("variant `{}`", plan.variants[slot.variant].name);
        let buffers_bytes = cluster::judge(shop, cluster, &who, &slot_design.asked)?;
        if let Some(memory_bytes) = instance.memory_bytes.filter(|bytes| *bytes <= buffers_bytes) {
            let (buffers, memory) = (buffers_bytes >> 20, memory_bytes >> 20);
            let text = format!(
                "{who}: `shared_buffers` of {buffers} MiB does not fit into `system.memory` of {memory} MiB"
            );
            return Err(SystemError::new(text)
                .hint("shared_buffers = \"…\"  # below [settings]: a quarter of it, say"));
        }
    }
    Ok(())
}
