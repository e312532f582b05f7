//! The directives of `redis.conf`: which there are, when a change comes into force, and what their values mean.
//!
//! The names are those of `CONFIG GET *` of Redis 7.0.15, where each was also tried with `CONFIG SET`, and the ones that
//! later versions of Redis and Valkey have added. A server that does not know one says so when it starts. Left out:
//! TLS, old spellings (`slave-…`, `…-ziplist-…`), what a cluster announces.

use crate::systems::SystemError;
use crate::systems::description::{SettingContext, SettingFacts, SettingKind};

/// Changed on the running server by `CONFIG SET`.
const LIVE: [&str; 121] = [
    "acl-pubsub-default",
    "acllog-max-len",
    "active-defrag-cycle-max",
    "active-defrag-cycle-min",
    "active-defrag-cycle-us",
    "active-defrag-ignore-bytes",
    "active-defrag-max-scan-fields",
    "active-defrag-threshold-lower",
    "active-defrag-threshold-upper",
    "active-expire-effort",
    "activedefrag",
    "activerehashing",
    "aof-disable-auto-gc",
    "aof-load-truncated",
    "aof-rewrite-incremental-fsync",
    "aof-timestamp-enabled",
    "aof-use-rdb-preamble",
    "appendfsync",
    "appendonly",
    "auto-aof-rewrite-min-size",
    "auto-aof-rewrite-percentage",
    "busy-reply-threshold",
    "client-output-buffer-limit",
    "client-query-buffer-limit",
    "cluster-allow-pubsubshard-when-down",
    "cluster-allow-reads-when-down",
    "cluster-allow-replica-migration",
    "cluster-link-sendbuf-limit",
    "cluster-migration-barrier",
    "cluster-node-timeout",
    "cluster-preferred-endpoint-type",
    "cluster-replica-no-failover",
    "cluster-replica-validity-factor",
    "cluster-require-full-coverage",
    "cluster-slot-stats-enabled",
    "commandlog-execution-slower-than",
    "crash-log-enabled",
    "crash-memcheck-enabled",
    "dual-channel-replication-enabled",
    "dynamic-hz",
    "events-per-io-thread",
    "extended-redis-compatibility",
    "hash-max-listpack-entries",
    "hash-max-listpack-value",
    "hll-sparse-max-bytes",
    "hz",
    "import-mode",
    "jemalloc-bg-thread",
    "latency-monitor-threshold",
    "latency-tracking",
    "latency-tracking-info-percentiles",
    "lazyexpire-nested-arbitrary-keys",
    "lazyfree-lazy-eviction",
    "lazyfree-lazy-expire",
    "lazyfree-lazy-server-del",
    "lazyfree-lazy-user-del",
    "lazyfree-lazy-user-flush",
    "lfu-decay-time",
    "lfu-log-factor",
    "list-compress-depth",
    "list-max-listpack-size",
    "locale-collate",
    "loglevel",
    "lua-time-limit",
    "max-new-connections-per-cycle",
    "maxclients",
    "maxmemory",
    "maxmemory-clients",
    "maxmemory-eviction-tenacity",
    "maxmemory-policy",
    "maxmemory-samples",
    "min-replicas-max-lag",
    "min-replicas-to-write",
    "min-string-size-avoid-copy-reply",
    "no-appendfsync-on-rewrite",
    "notify-keyspace-events",
    "oom-score-adj",
    "oom-score-adj-values",
    "propagation-error-behavior",
    "proto-max-bulk-len",
    "rdb-del-sync-files",
    "rdb-save-incremental-fsync",
    "rdb-version-check",
    "rdbcompression",
    "repl-backlog-size",
    "repl-backlog-ttl",
    "repl-disable-tcp-nodelay",
    "repl-diskless-load",
    "repl-diskless-sync",
    "repl-diskless-sync-delay",
    "repl-diskless-sync-max-replicas",
    "repl-ping-replica-period",
    "repl-timeout",
    "replica-announce-ip",
    "replica-announce-port",
    "replica-announced",
    "replica-full-sync-buffer-limit",
    "replica-ignore-disk-write-errors",
    "replica-ignore-maxmemory",
    "replica-lazy-flush",
    "replica-priority",
    "replica-read-only",
    "replica-serve-stale-data",
    "sanitize-dump-payload",
    "save",
    "set-max-intset-entries",
    "set-max-listpack-entries",
    "set-max-listpack-value",
    "shutdown-on-sigint",
    "shutdown-on-sigterm",
    "shutdown-timeout",
    "slowlog-log-slower-than",
    "slowlog-max-len",
    "stop-writes-on-bgsave-error",
    "stream-node-max-bytes",
    "stream-node-max-entries",
    "tcp-keepalive",
    "timeout",
    "tracking-table-max-keys",
    "zset-max-listpack-entries",
    "zset-max-listpack-value",
];

/// Read when the server starts (immutable to `CONFIG SET`). Which they are depends on the version; a restart is right for all.
const RESTART: [&str; 15] = [
    "always-show-logo",
    "aof_rewrite_cpulist",
    "bgsave_cpulist",
    "bio_cpulist",
    "databases",
    "disable-thp",
    "enable-debug-command",
    "enable-module-command",
    "hash-seed",
    "io-threads",
    "io-threads-do-reads",
    "prefetch-batch-max-size",
    "rdbchecksum",
    "server_cpulist",
    "tcp-backlog",
];

/// Decided by weigh for a private server.
const OURS: [&str; 31] = [
    "aclfile",
    "appenddirname",
    "appendfilename",
    "bind",
    "bind-source-addr",
    "cluster-config-file",
    "cluster-enabled",
    "cluster-port",
    "daemonize",
    "dbfilename",
    "dir",
    "enable-protected-configs",
    "ignore-warnings",
    "logfile",
    "masterauth",
    "masteruser",
    "pidfile",
    "port",
    "proc-title-template",
    "protected-mode",
    "replicaof",
    "requirepass",
    "set-proc-title",
    "socket-mark-id",
    "supervised",
    "syslog-enabled",
    "syslog-facility",
    "syslog-ident",
    "tls-port",
    "unixsocket",
    "unixsocketperm",
];

/// `yes` or `no`.
const SWITCHES: [&str; 44] = [
    "activedefrag",
    "activerehashing",
    "always-show-logo",
    "aof-disable-auto-gc",
    "aof-load-truncated",
    "aof-rewrite-incremental-fsync",
    "aof-timestamp-enabled",
    "aof-use-rdb-preamble",
    "appendonly",
    "cluster-allow-pubsubshard-when-down",
    "cluster-allow-reads-when-down",
    "cluster-allow-replica-migration",
    "cluster-replica-no-failover",
    "cluster-require-full-coverage",
    "crash-log-enabled",
    "crash-memcheck-enabled",
    "disable-thp",
    "dynamic-hz",
    "enable-debug-command",
    "enable-module-command",
    "io-threads-do-reads",
    "jemalloc-bg-thread",
    "latency-tracking",
    "lazyfree-lazy-eviction",
    "lazyfree-lazy-expire",
    "lazyfree-lazy-server-del",
    "lazyfree-lazy-user-del",
    "lazyfree-lazy-user-flush",
    "no-appendfsync-on-rewrite",
    "oom-score-adj",
    "rdb-del-sync-files",
    "rdb-save-incremental-fsync",
    "rdbchecksum",
    "rdbcompression",
    "repl-disable-tcp-nodelay",
    "repl-diskless-sync",
    "replica-announced",
    "replica-ignore-disk-write-errors",
    "replica-ignore-maxmemory",
    "replica-lazy-flush",
    "replica-read-only",
    "replica-serve-stale-data",
    "sanitize-dump-payload",
    "stop-writes-on-bgsave-error",
];

/// Those that take one of a few words.
const CHOICES: [(&str, &[&str]); 5] = [
    ("appendfsync", &["always", "everysec", "no"]),
    ("loglevel", &["debug", "notice", "nothing", "verbose", "warning"]),
    (
        "maxmemory-policy",
        &[
            "allkeys-lfu",
            "allkeys-lru",
            "allkeys-random",
            "noeviction",
            "volatile-lfu",
            "volatile-lru",
            "volatile-random",
            "volatile-ttl",
        ],
    ),
    ("repl-diskless-load", &["disabled", "on-empty-db", "swapdb"]),
    ("sanitize-dump-payload", &["clients", "no", "yes"]),
];

/// Those that take several words in a line of the file.
const SEVERAL_WORDS: [&str; 5] = [
    "client-output-buffer-limit",
    "latency-tracking-info-percentiles",
    "oom-score-adj-values",
    "save",
    "shutdown-on-sigterm",
];

/// Every directive.
pub(super) fn all() -> Vec<SettingFacts> {
    let of = |names: &'static [&'static str], context| {
        names.iter().map(move |name| SettingFacts { name: (*name).to_owned(), context, kind: kind(name) })
    };
    let mut all: Vec<SettingFacts> = of(&LIVE, SettingContext::Reload)
        .chain(of(&RESTART, SettingContext::Restart))
        .chain(of(&OURS, SettingContext::Fixed))
        .collect();
    all.sort_by(|one, two| one.name.cmp(&two.name));
    all
}

fn kind(name: &str) -> SettingKind {
    let words = |words: &[&str]| SettingKind::Choice(words.iter().map(|word| (*word).to_owned()).collect());
    match CHOICES.iter().find(|(known, _)| *known == name) {
        Some((_, choices)) => words(choices),
        None if SWITCHES.contains(&name) => words(&["yes", "no"]),
        None => SettingKind::Text,
    }
}

/// A value as a line of the file has it.
///
/// # Errors
/// When it has a line break in it.
pub(super) fn in_file(name: &str, value: &str) -> Result<String, SystemError> {
    if value.contains(['\n', '\r', '\0']) {
        return Err(SystemError::new(format!("the value of `{name}` has a line break in it")));
    }
    let several = SEVERAL_WORDS.contains(&name) && !value.trim().is_empty();
    Ok(if several { value.to_owned() } else { quoted(value) })
}

/// In quotation marks, as the file takes them.
pub(super) fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// Whether two spellings mean the same: `64mb` and `67108864`, `Always` and `always`.
pub(super) fn is_same(name: &str, asked: &str, in_force: &str) -> bool {
    let words = |text: &str| text.split_whitespace().map(value).collect::<Vec<_>>();
    let (asked, found) = (words(asked), words(in_force));
    // Only the class that was named is changed; the answer lists all of them.
    if name == "client-output-buffer-limit" {
        return found.windows(asked.len().max(1)).any(|part| part == asked);
    }
    asked == found
}

#[derive(Debug, PartialEq)]
enum Value {
    Bytes(f64),
    Word(String),
}

/// A word of a value: a number with a unit of `redis.conf` (`k` is 1000, `kb` 1024) or text.
fn value(word: &str) -> Value {
    let word = word.trim_matches('"').to_ascii_lowercase();
    let digits = word.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let unit = match &word[digits.len()..] {
        "" | "b" => 1.0,
        "k" => 1e3,
        "kb" => 1024.0,
        "m" => 1e6,
        "mb" => 1024.0 * 1024.0,
        "g" => 1e9,
        "gb" => 1024.0 * 1024.0 * 1024.0,
        _ => return Value::Word(word),
    };
    match digits.parse::<f64>() {
        Ok(number) => Value::Bytes(number * unit),
        Err(_) => Value::Word(word),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_contexts_are_right() {
        let all = all();
        assert!(all.windows(2).all(|pair| pair[0].name < pair[1].name));
        let context = |name: &str| all.iter().find(|facts| facts.name == name).map(|facts| facts.context);
        assert_eq!(context("appendonly"), Some(SettingContext::Reload));
        assert_eq!(context("io-threads"), Some(SettingContext::Restart));
        assert_eq!(context("port"), Some(SettingContext::Fixed));
        assert_eq!(context("slave-read-only"), None);
    }

    #[test]
    fn values_are_compared_by_what_they_mean() {
        let check = |name: &str, asked: &str, found: &str, same: bool| {
            assert_eq!(is_same(name, asked, found), same, "{name}: {asked} / {found}");
        };
        check("maxmemory", "64mb", "67108864", true);
        check("maxmemory", "64m", "64000000", true);
        check("maxmemory", "64m", "67108864", false);
        check("appendfsync", "Always", "always", true);
        check("save", "", "", true);
        check("save", "3600 1  300 100", "3600 1 300 100", true);
        check("save", "3600 1", "3600 1 300 100", false);
        let limits = "normal 0 0 0 slave 268435456 67108864 60 pubsub 33554432 8388608 60";
        check("client-output-buffer-limit", "pubsub 32mb 8mb 60", limits, true);
        check("client-output-buffer-limit", "pubsub 16mb 8mb 60", limits, false);
        assert_eq!(in_file("save", "3600 1").unwrap(), "3600 1");
        assert_eq!(in_file("save", "").unwrap(), "\"\"");
        assert_eq!(in_file("maxmemory", "a \"b").unwrap(), "\"a \\\"b\"");
        assert!(in_file("save", "1\n2").is_err());
    }
}
