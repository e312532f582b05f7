//! PostgreSQL as it is, or with caches in front of it.

use std::sync::Arc;

use weigh_results::model::Column;

use super::cache::{Cache, CacheName};
use super::system::Cached;
use crate::experiment::{Experiment, SystemKey};
use crate::plan::ResolvedPlan;
use crate::systems::{BuildContext, System, SystemDescription, SystemError, postgres};

/// What PostgreSQL says about itself, with the columns of a cache where there is one.
///
/// # Errors
/// As PostgreSQL's own.
pub fn describe(experiment: &Experiment) -> Result<SystemDescription, SystemError> {
    let mut description = postgres::describe(experiment)?;
    let is_cached = experiment.workload.operations.iter().any(|operation| operation.cached_as.is_some());
    if is_cached || experiment.system.private.contains_key(&SystemKey::Cache) {
        let column =
            |(heading, counter): (&str, &str)| Column { heading: heading.into(), counter: counter.into() };
        // Instead of what only writes need.
        description.columns = [
            ("cpu", "server.cpu_us"),
            ("cache cpu", "cache.cpu_us"),
            ("hits", "cache.hits"),
            ("misses", "cache.misses"),
        ]
        .map(column)
        .to_vec();
    }
    Ok(description)
}

/// PostgreSQL's own, and caches where variants have some.
///
/// # Errors
/// As PostgreSQL's own; when a cache is missing on this host; when nothing would be kept in it.
pub fn build(plan: &ResolvedPlan, context: BuildContext<'_>) -> Result<Box<dyn System>, SystemError> {
    let operations = || plan.variants.iter().flat_map(|variant| &variant.operations);
    let keeps = operations().any(|operation| operation.cached_as.is_some());
    if !keeps && plan.variants.iter().all(|variant| variant.server.cache.is_none()) {
        return postgres::build(plan, context);
    }
    let names = plan.variants.iter().map(|variant| CacheName::of(&variant.server)).collect::<Vec<_>>();
    if !keeps && names.iter().any(Option::is_some) {
        return Err(SystemError::new("`system.cache` is given and no operation is kept in a cache")
            .hint("cached_as = \"user:$1\"  # below [[workload.operations]]"));
    }
    // The store knows nothing of a cache: variants that differ in it alone share one server.
    let mut store_plan = plan.clone();
    for variant in &mut store_plan.variants {
        variant.server.cache = None;
    }
    let BuildContext { changes, work_dir, cancel, progress } = context;
    let caches = Cache::prepare(&names, &changes, &work_dir, &cancel)?;
    let context = BuildContext { changes: Arc::clone(&changes), work_dir, cancel, progress };
    let store = postgres::build(&store_plan, context)?;
    Ok(Box::new(Cached::new(store, plan, names, caches)))
}
