//! memcached: `stats`.
//!
//! Counters are those of the whole server: what others ask of it meanwhile is in them.

use std::collections::BTreeMap;

use weigh_drivers::ServerUrl;
use weigh_drivers::memcached::MemcachedSession;

use super::admin::{Admin, Identity};
use crate::systems::drivers::{self, DriverOptions};
use crate::systems::{Counters, SystemError};

/// Heading and counter of the columns in the table.
pub(in crate::systems) const COLUMNS: [(&str, &str); 2] =
    [("received", "memcached.net_in_bytes"), ("sent", "memcached.net_out_bytes")];

/// Name in `stats`, and the counter it becomes.
const FIGURES: [(&str, &str); 15] = [
    ("cmd_get", "memcached.gets"),
    ("cmd_set", "memcached.sets"),
    ("cmd_touch", "memcached.touches"),
    ("cmd_meta", "memcached.metas"),
    ("get_hits", "memcached.get_hits"),
    ("get_misses", "memcached.get_misses"),
    ("get_expired", "memcached.get_expired"),
    ("delete_hits", "memcached.delete_hits"),
    ("incr_hits", "memcached.incr_hits"),
    ("bytes_read", "memcached.net_in_bytes"),
    ("bytes_written", "memcached.net_out_bytes"),
    ("total_items", "memcached.items"),
    ("total_connections", "memcached.connections"),
    ("evictions", "memcached.evictions"),
    ("conn_yields", "memcached.yields"),
];

/// A session of our own.
pub(in crate::systems) struct Session {
    session: MemcachedSession,
}

impl Session {
    /// Logs in as the load does.
    ///
    /// # Errors
    /// In the driver's words.
    pub(in crate::systems) fn open(url: &ServerUrl, options: &DriverOptions) -> Result<Session, SystemError> {
        let session = drivers::memcached(url, options)?.session().map_err(drivers::failed)?;
        Ok(Session { session })
    }

    /// A group of `stats` by name; the empty group holds the counters.
    ///
    /// # Errors
    /// In the server's words.
    pub(in crate::systems) fn stats(&mut self, group: &str) -> Result<BTreeMap<String, String>, SystemError> {
        Ok(fields(&self.session.stats(group).map_err(drivers::failed)?))
    }
}

impl Admin for Session {
    fn identify(&mut self) -> Result<Identity, SystemError> {
        let stats = self.stats("")?;
        let kept = |name: &&str| Some(((*name).to_owned(), stats.get(*name)?.clone()));
        let settings = ["threads", "limit_maxbytes", "max_connections"].iter().filter_map(kept).collect();
        Ok(Identity { version: stats.get("version").cloned().unwrap_or_default(), settings })
    }

    fn counters(&mut self) -> Result<Counters, SystemError> {
        Ok(counters(&self.stats("")?))
    }
}

/// `name value` lines.
fn fields(stats: &str) -> BTreeMap<String, String> {
    let pairs = stats.lines().filter_map(|line| line.split_once(' '));
    pairs.map(|(name, value)| (name.to_owned(), value.trim_end().to_owned())).collect()
}

fn counters(stats: &BTreeMap<String, String>) -> Counters {
    let number = |name: &str| stats.get(name)?.parse::<f64>().ok();
    let mut counters: Counters =
        FIGURES.iter().filter_map(|(name, key)| Some(((*key).to_owned(), number(name)?))).collect();
    if let (Some(user), Some(system)) = (number("rusage_user"), number("rusage_system")) {
        counters.insert("server.cpu_us".to_owned(), (user + system) * 1e6);
        counters.insert("server.cpu_user_us".to_owned(), user * 1e6);
        counters.insert("server.cpu_system_us".to_owned(), system * 1e6);
    }
    counters
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_read() {
        let stats =
            "pid 7\nversion 1.6.18\nrusage_user 0.500000\nrusage_system 0.250000\ncmd_get 5\nget_hits 3\n";
        let found = counters(&fields(stats));
        assert_eq!(found["server.cpu_us"], 750_000.0);
        assert_eq!((found["memcached.gets"], found["memcached.get_hits"]), (5.0, 3.0));
        assert!(!found.contains_key("memcached.sets"));
    }
}
