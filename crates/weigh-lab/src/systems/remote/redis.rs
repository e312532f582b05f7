//! Redis and Valkey: `INFO`.
//!
//! Counters are those of the whole server: what others ask of it meanwhile is in them, and so is our own `INFO`. Calls
//! and times of single commands (`commandstats`) appear in it once a command has been called; those the load will
//! call are known from the beginning, so that a trial in which one is first called has a difference to show.

use std::collections::{BTreeMap, BTreeSet};

use weigh_drivers::ServerUrl;
use weigh_drivers::redis::RedisSession;

use super::admin::{Admin, Identity};
use crate::systems::drivers::{self, DriverOptions};
use crate::systems::{Counters, SystemError};

/// Heading and counter of the columns in the table.
pub(in crate::systems) const COLUMNS: [(&str, &str); 2] =
    [("received", "redis.net_in_bytes"), ("sent", "redis.net_out_bytes")];

/// Field of `INFO`, and the counter it becomes.
const FIGURES: [(&str, &str); 13] = [
    ("total_commands_processed", "redis.commands"),
    ("total_connections_received", "redis.connections"),
    ("total_net_input_bytes", "redis.net_in_bytes"),
    ("total_net_output_bytes", "redis.net_out_bytes"),
    ("total_reads_processed", "redis.reads"),
    ("total_writes_processed", "redis.writes"),
    ("total_error_replies", "redis.error_replies"),
    ("keyspace_hits", "redis.keyspace_hits"),
    ("keyspace_misses", "redis.keyspace_misses"),
    ("expired_keys", "redis.expired_keys"),
    ("evicted_keys", "redis.evicted_keys"),
    ("total_forks", "redis.forks"),
    ("aof_delayed_fsync", "redis.aof_delayed_syncs"),
];

/// Fields that most often explain a result, kept with the run.
const SETTINGS: [&str; 8] = [
    "redis_mode",
    "role",
    "io_threads_active",
    "maxmemory_human",
    "maxmemory_policy",
    "mem_allocator",
    "aof_enabled",
    "multiplexing_api",
];

/// A session of our own.
pub(in crate::systems) struct Session {
    session: RedisSession,
    /// Lower case, as in `commandstats`.
    commands: BTreeSet<String>,
}

impl Session {
    /// Logs in as the load does; `commands` are the texts it will send.
    ///
    /// # Errors
    /// In the driver's words.
    pub(in crate::systems) fn open<'t>(
        url: &ServerUrl,
        options: &DriverOptions,
        commands: impl Iterator<Item = &'t str>,
    ) -> Result<Session, SystemError> {
        let session = drivers::redis(url, options)?.session().map_err(drivers::failed)?;
        let first_word = |text: &str| {
            let word = text.split_whitespace().next().unwrap_or_default();
            word.trim_matches(['"', '\'']).to_ascii_lowercase()
        };
        Ok(Session { session, commands: commands.map(first_word).collect() })
    }

    /// The session itself.
    pub(in crate::systems) fn raw(&mut self) -> &mut RedisSession {
        &mut self.session
    }

    /// Every field of `INFO`.
    ///
    /// # Errors
    /// In the server's words.
    pub(in crate::systems) fn info(&mut self) -> Result<BTreeMap<String, String>, SystemError> {
        Ok(fields(&self.session.ask(&["INFO", "everything"]).map_err(drivers::failed)?))
    }
}

impl Admin for Session {
    fn identify(&mut self) -> Result<Identity, SystemError> {
        let info = self.info()?;
        let version = match (info.get("valkey_version"), info.get("redis_version")) {
            (Some(valkey), _) => format!("{valkey} (Valkey)"),
            (None, version) => version.cloned().unwrap_or_default(),
        };
        let kept = |name: &&str| Some(((*name).to_owned(), info.get(*name)?.clone()));
        Ok(Identity { version, settings: SETTINGS.iter().filter_map(kept).collect() })
    }

    fn counters(&mut self) -> Result<Counters, SystemError> {
        Ok(counters(&self.info()?, &self.commands))
    }
}

/// `name:value` lines.
fn fields(info: &str) -> BTreeMap<String, String> {
    let pairs = info.lines().filter(|line| !line.starts_with('#')).filter_map(|line| line.split_once(':'));
    pairs.map(|(name, value)| (name.to_owned(), value.trim_end().to_owned())).collect()
}

fn counters(info: &BTreeMap<String, String>, commands: &BTreeSet<String>) -> Counters {
    let number = |name: &str| info.get(name)?.parse::<f64>().ok();
    let mut counters: Counters =
        FIGURES.iter().filter_map(|(field, key)| Some(((*key).to_owned(), number(field)?))).collect();
    // Of all its threads; children that save are not in it, and so not in the price of an operation either.
    if let (Some(user), Some(system)) = (number("used_cpu_user"), number("used_cpu_sys")) {
        counters.insert("server.cpu_us".to_owned(), (user + system) * 1e6);
        counters.insert("server.cpu_user_us".to_owned(), user * 1e6);
        counters.insert("server.cpu_system_us".to_owned(), system * 1e6);
    }
    for command in commands {
        for end in ["calls", "us"] {
            counters.insert(format!("redis.{command}_{end}"), 0.0);
        }
    }
    for (name, facts) in info {
        let Some(command) = name.strip_prefix("cmdstat_") else { continue };
        // `calls=21,usec=175,usec_per_call=8.33`
        for (field, value) in facts.split(',').filter_map(|pair| pair.split_once('=')) {
            let end = match field {
                "calls" => "calls",
                "usec" => "us",
                _ => continue,
            };
            if let Ok(value) = value.parse() {
                counters.insert(format!("redis.{}_{end}", command.replace('|', "_")), value);
            }
        }
    }
    counters
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines of a real reply of Redis 7.0.15.
    const INFO: &str = "# Server\r\nredis_version:7.0.15\r\nredis_mode:standalone\r\nmultiplexing_api:epoll\r\n\r\n\
        # Stats\r\ntotal_commands_processed:7\r\ntotal_net_input_bytes:210\r\nkeyspace_hits:3\r\n\r\n\
        # CPU\r\nused_cpu_sys:0.250000\r\nused_cpu_user:0.500000\r\nused_cpu_sys_children:9.0\r\n\r\n\
        # Commandstats\r\ncmdstat_set:calls=2,usec=30,usec_per_call=15.00,rejected_calls=0,failed_calls=0\r\n\
        cmdstat_config|get:calls=1,usec=44,usec_per_call=44.00,rejected_calls=0,failed_calls=0\r\n";

    #[test]
    fn figures_are_read_and_expected_commands_begin_at_nothing() {
        let commands = BTreeSet::from(["get".to_owned(), "set".to_owned()]);
        let found = counters(&fields(INFO), &commands);
        assert_eq!(found["server.cpu_us"], 750_000.0);
        assert_eq!((found["redis.commands"], found["redis.keyspace_hits"]), (7.0, 3.0));
        assert_eq!((found["redis.set_calls"], found["redis.set_us"]), (2.0, 30.0));
        assert_eq!((found["redis.get_calls"], found["redis.config_get_calls"]), (0.0, 1.0));
        assert!(!found.contains_key("redis.keyspace_misses"));
    }
}
