//! A private cache: memcached or Redis with as much memory as each other, prepared or running.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use weigh_drivers::cache_aside::CacheServer;

use crate::host::{Cancel, HostChanges};
use crate::plan::ServerPlan;
use crate::systems::memcached::MemcachedKind;
use crate::systems::private::{Home, Instance, Kind, Order, Settings, Shop};
use crate::systems::redis::RedisKind;
use crate::systems::{Counters, SystemError};

/// Which cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum CacheName {
    Memcached,
    Redis,
}

impl CacheName {
    /// The cache a variant has; `None` if it has none.
    pub(super) fn of(server: &ServerPlan) -> Option<CacheName> {
        match server.cache.as_deref() {
            Some("memcached") => Some(CacheName::Memcached),
            Some("redis") => Some(CacheName::Redis),
            _ => None,
        }
    }

    pub(super) fn text(self) -> &'static str {
        match self {
            CacheName::Memcached => "memcached",
            CacheName::Redis => "redis",
        }
    }

    fn kind(self) -> Result<Box<dyn Kind>, SystemError> {
        Ok(match self {
            CacheName::Memcached => Box::new(MemcachedKind::find(None)?),
            CacheName::Redis => Box::new(RedisKind::find(None, None, vec!["GET".into(), "SET".into()])?),
        })
    }

    /// A cache of 64 MB that forgets what was not used for longest: memcached's own defaults, said to both.
    fn settings(self) -> Settings {
        let pairs: &[(&str, &str)] = match self {
            CacheName::Memcached => &[("memory-limit", "64")],
            CacheName::Redis => &[("maxmemory", "64mb"), ("maxmemory-policy", "allkeys-lru"), ("save", "")],
        };
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    /// Its own counters of hits and misses.
    fn figures(self) -> [(&'static str, &'static str); 2] {
        match self {
            CacheName::Memcached => {
                [("memcached.get_hits", "cache.hits"), ("memcached.get_misses", "cache.misses")]
            }
            CacheName::Redis => {
                [("redis.keyspace_hits", "cache.hits"), ("redis.keyspace_misses", "cache.misses")]
            }
        }
    }
}

/// One cache.
pub(super) struct Cache {
    name: CacheName,
    kind: Box<dyn Kind>,
    shop: Shop,
    home: Home,
    running: Option<Instance>,
}

impl Cache {
    /// One of each kind that is named.
    ///
    /// # Errors
    /// When one is missing on this host.
    pub(super) fn prepare(
        names: &[Option<CacheName>],
        changes: &Arc<HostChanges>,
        work_dir: &Path,
        cancel: &Cancel,
    ) -> Result<BTreeMap<CacheName, Cache>, SystemError> {
        let mut caches = BTreeMap::new();
        for name in names.iter().copied().flatten() {
            if caches.contains_key(&name) {
                continue;
            }
            let shop = Shop::new(Arc::clone(changes), work_dir.to_owned(), cancel.clone())?;
            let kind = name.kind()?;
            let home = Home::make(&shop, name.text(), kind.listens())?;
            caches.insert(name, Cache { name, kind, shop, home, running: None });
        }
        Ok(caches)
    }

    /// Starts it, empty.
    ///
    /// # Errors
    /// With the server's own message.
    pub(super) fn start(&mut self) -> Result<(), SystemError> {
        self.stop()?;
        let settings = self.name.settings();
        let order = Order::for_trials(&settings);
        let mut instance = Instance::start(&self.shop, self.kind.as_ref(), &self.home, order)?;
        let read = instance.read_back(self.kind.as_ref(), &settings).map(|_| ());
        self.running = Some(instance);
        read?;
        self.freeze()
    }

    pub(super) fn title(&self) -> String {
        self.kind.title()
    }

    /// Where the drivers find it.
    pub(super) fn server(&self) -> Result<CacheServer, SystemError> {
        let endpoint = self.instance()?.home.address.endpoint();
        Ok(match self.name {
            CacheName::Memcached => CacheServer::Memcached(endpoint),
            CacheName::Redis => CacheServer::Redis(endpoint),
        })
    }

    pub(super) fn pid(&self) -> Option<u32> {
        self.running.as_ref().map(Instance::pid)
    }

    pub(super) fn cpu_seconds(&self) -> f64 {
        self.running.as_ref().map_or(0.0, Instance::cpu_seconds)
    }

    pub(super) fn freeze(&mut self) -> Result<(), SystemError> {
        match &mut self.running {
            Some(instance) => instance.freeze(),
            None => Ok(()),
        }
    }

    pub(super) fn thaw(&mut self) -> Result<(), SystemError> {
        match &mut self.running {
            Some(instance) => instance.thaw(),
            None => Err(not_running(self.name)),
        }
    }

    /// Its own, what of them every cache has (`cache.hits`, `cache.misses`, `cache.cpu_us`), and its share of `server.…`.
    pub(super) fn counters(&mut self) -> Result<Counters, SystemError> {
        let Some(instance) = &mut self.running else { return Err(not_running(self.name)) };
        let read = instance.counters(None);
        let mut counters = read.map_err(|error| instance.explain(self.kind.as_ref(), error))?;
        for (own, common) in self.name.figures().into_iter().chain([("server.cpu_us", "cache.cpu_us")]) {
            if let Some(value) = counters.get(own).copied() {
                counters.insert(common.to_owned(), value);
            }
        }
        Ok(counters)
    }

    /// An error because the cache is gone says so.
    pub(super) fn explain(&mut self, error: SystemError) -> SystemError {
        match &mut self.running {
            Some(instance) => instance.explain(self.kind.as_ref(), error),
            None => error,
        }
    }

    pub(super) fn stop(&mut self) -> Result<(), SystemError> {
        self.running.take().map_or(Ok(()), |instance| instance.discard(&self.shop.changes))
    }

    fn instance(&self) -> Result<&Instance, SystemError> {
        self.running.as_ref().ok_or_else(|| not_running(self.name))
    }
}

fn not_running(name: CacheName) -> SystemError {
    SystemError::new(format!("the private {} is not running", name.text()))
}
