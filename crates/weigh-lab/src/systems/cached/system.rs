//! A store with caches in front of it, as a [`System`].

use std::collections::BTreeMap;
use std::sync::Arc;

use weigh_drivers::cache_aside::{CacheAsideConfig, CachedOperation};
use weigh_load::Driver;
use weigh_results::model::{InstanceRecord, Replication, Slot};

use super::cache::{Cache, CacheName};
use crate::plan::{ResolvedPlan, ResolvedVariant};
use crate::systems::{Counters, System, SystemError, drivers};

/// The store and its caches.
pub(super) struct Cached {
    store: Box<dyn System>,
    variants: Vec<ResolvedVariant>,
    /// By variant.
    names: Vec<Option<CacheName>>,
    caches: BTreeMap<CacheName, Cache>,
}

impl Cached {
    pub(super) fn new(
        store: Box<dyn System>,
        plan: &ResolvedPlan,
        names: Vec<Option<CacheName>>,
        caches: BTreeMap<CacheName, Cache>,
    ) -> Cached {
        Cached { store, variants: plan.variants.clone(), names, caches }
    }

    fn name(&self, slot: Slot) -> Option<CacheName> {
        self.names.get(slot.variant).copied().flatten()
    }

    /// The cache of a slot, if it has one.
    fn cache(&mut self, slot: Slot) -> Option<&mut Cache> {
        let name = self.name(slot)?;
        self.caches.get_mut(&name)
    }

    fn driver(&mut self, slot: Slot, store: Box<dyn Driver>) -> Result<Box<dyn Driver>, SystemError> {
        let cache = self.cache(slot).map(|cache| cache.server()).transpose()?;
        let variant = &self.variants[slot.variant];
        let operations = variant.operations.iter().map(|operation| CachedOperation {
            name: operation.name.clone(),
            key: operation.cached_as.clone(),
            parameters: operation.parameters.len(),
        });
        let config = CacheAsideConfig { store: Arc::from(store), cache, operations: operations.collect() };
        let driver = config.build().map_err(drivers::failed);
        let driver = driver.map_err(|error| error.of(format_args!("variant `{}`", variant.name)))?;
        Ok(Box::new(driver))
    }
}

impl System for Cached {
    fn replication(&self) -> Replication {
        self.store.replication()
    }

    /// Caches begin every epoch empty, as their store begins it with the same bytes.
    fn start_epoch(&mut self, epoch: u32) -> Result<Vec<InstanceRecord>, SystemError> {
        let mut records = self.store.start_epoch(epoch)?;
        for cache in self.caches.values_mut() {
            cache.start()?;
        }
        for record in &mut records {
            for name in record.slots.iter().filter_map(|slot| self.names.get(slot.variant).copied().flatten())
            {
                if let Some(cache) = self.caches.get(&name) {
                    record.settings.insert(format!("cache.{}", name.text()), cache.title());
                }
            }
        }
        Ok(records)
    }

    fn enter(&mut self, slot: Slot) -> Result<Box<dyn Driver>, SystemError> {
        let own = self.name(slot);
        for (name, cache) in &mut self.caches {
            match Some(*name) == own {
                true => cache.thaw()?,
                false => cache.freeze()?,
            }
        }
        let store = self.store.enter(slot)?;
        self.driver(slot, store)
    }

    /// What both use is added up under the names of the server; the cache's share is `cache.…` besides.
    fn counters(&mut self, slot: Slot) -> Result<Counters, SystemError> {
        let mut counters = self.store.counters(slot)?;
        let Some(cache) = self.cache(slot) else { return Ok(counters) };
        for (key, value) in cache.counters()? {
            *counters.entry(key).or_insert(0.0) += value;
        }
        Ok(counters)
    }

    fn processes(&self, slot: Slot) -> Vec<u32> {
        let cache = self.name(slot).and_then(|name| self.caches.get(&name)).and_then(Cache::pid);
        self.store.processes(slot).into_iter().chain(cache).collect()
    }

    fn frozen_cpu_s(&self, slot: Slot) -> f64 {
        let own = self.name(slot);
        let others = self.caches.iter().filter(|(name, _)| Some(**name) != own);
        self.store.frozen_cpu_s(slot) + others.map(|(_, cache)| cache.cpu_seconds()).sum::<f64>()
    }

    /// A cache leaves nothing behind: it writes nothing to disk.
    fn drain(&mut self, slot: Slot) -> Result<(), SystemError> {
        let drained = self.store.drain(slot);
        match self.cache(slot) {
            Some(cache) => drained.map_err(|error| cache.explain(error)),
            None => drained,
        }
    }

    fn leave(&mut self, slot: Slot) -> Result<(), SystemError> {
        self.store.leave(slot)?;
        self.cache(slot).map_or(Ok(()), Cache::freeze)
    }

    fn stop(&mut self) -> Result<(), SystemError> {
        let mut result = self.store.stop();
        for cache in self.caches.values_mut() {
            result = result.and(cache.stop());
        }
        result
    }
}

impl Drop for Cached {
    fn drop(&mut self) {
        // The undo registry reports and retries what fails here.
        self.stop().ok();
    }
}
