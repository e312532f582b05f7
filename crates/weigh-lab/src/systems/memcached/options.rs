//! memcached's options: how each is said on the command line, and what `stats settings` calls it.
//!
//! From `memcached --help` and `stats settings` of 1.6.18. What cannot be read back is not offered: it could not be told
//! from a value that was ignored.

use crate::systems::SystemError;
use crate::systems::description::{SettingContext, SettingFacts, SettingKind};
use crate::systems::private::Settings;

/// How an option is said.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Form {
    /// `--name=value`.
    Long,
    /// `--name`, or nothing; in force it is the given word.
    Flag(&'static str),
    /// `-o name=value`.
    Extended,
    /// `-o name` or `-o no_name`.
    ExtendedFlag,
    /// Decided by weigh.
    Ours,
}

use Form::{Extended, ExtendedFlag, Flag, Long, Ours};

/// Name, name in `stats settings`, form, and what one unit of it is there (`memory-limit` is in MB, `maxbytes` in bytes).
const OPTIONS: [(&str, &str, Form, f64); 34] = [
    ("conn-limit", "maxconns", Long, 1.0),
    ("disable-cas", "cas_enabled", Flag("no"), 1.0),
    ("disable-evictions", "evictions", Flag("off"), 1.0),
    ("hash_algorithm", "hash_algorithm", Extended, 1.0),
    ("hashpower", "hashpower_init", Extended, 1.0),
    ("hot_lru_pct", "hot_lru_pct", Extended, 1.0),
    ("hot_max_factor", "hot_max_factor", Extended, 1.0),
    ("idle_timeout", "idle_timeout", Extended, 1.0),
    ("listen", "inter", Ours, 1.0),
    ("listen-backlog", "tcp_backlog", Long, 1.0),
    ("lru_crawler", "lru_crawler", ExtendedFlag, 1.0),
    ("lru_crawler_sleep", "lru_crawler_sleep", Extended, 1.0),
    ("lru_crawler_tocrawl", "lru_crawler_tocrawl", Extended, 1.0),
    ("lru_maintainer", "lru_maintainer_thread", ExtendedFlag, 1.0),
    ("max-item-size", "item_size_max", Long, 1.0),
    ("max-reqs-per-event", "reqs_per_event", Long, 1.0),
    ("maxconns_fast", "maxconns_fast", ExtendedFlag, 1.0),
    ("memory-limit", "maxbytes", Long, 1024.0 * 1024.0),
    ("port", "tcpport", Ours, 1.0),
    ("protocol", "binding_protocol", Long, 1.0),
    ("read_buf_mem_limit", "read_buf_mem_limit", Extended, 1024.0 * 1024.0),
    ("slab-growth-factor", "growth_factor", Long, 1.0),
    ("slab-min-size", "chunk_size", Long, 1.0),
    ("slab_automove", "slab_automove", Extended, 1.0),
    ("slab_chunk_max", "slab_chunk_max", Extended, 1024.0),
    ("slab_reassign", "slab_reassign", ExtendedFlag, 1.0),
    ("temporary_ttl", "temporary_ttl", Extended, 1.0),
    ("threads", "num_threads", Long, 1.0),
    ("track_sizes", "track_sizes", ExtendedFlag, 1.0),
    ("udp-port", "udpport", Ours, 1.0),
    ("unix-mask", "umask", Ours, 1.0),
    ("unix-socket", "domain_socket", Ours, 1.0),
    ("warm_lru_pct", "warm_lru_pct", Extended, 1.0),
    ("warm_max_factor", "warm_max_factor", Extended, 1.0),
];

fn option(name: &str) -> Option<&'static (&'static str, &'static str, Form, f64)> {
    OPTIONS.iter().find(|(known, ..)| *known == name)
}

/// Every option.
pub(super) fn all() -> Vec<SettingFacts> {
    let facts = |(name, _, form, _): &(&str, &str, Form, f64)| SettingFacts {
        name: (*name).to_owned(),
        context: if *form == Ours { SettingContext::Fixed } else { SettingContext::Restart },
        kind: match form {
            Flag(_) | ExtendedFlag => SettingKind::Boolean,
            _ => SettingKind::Text,
        },
    };
    OPTIONS.iter().map(facts).collect()
}

/// What `stats settings` calls it.
pub(super) fn name_in_stats(name: &str) -> Option<&'static str> {
    option(name).map(|(_, stat, ..)| *stat)
}

/// The arguments that ask for settings.
///
/// # Errors
/// When a value cannot be said behind `-o`.
pub(super) fn arguments(settings: &Settings) -> Result<Vec<String>, SystemError> {
    let (mut arguments, mut extended) = (Vec::new(), Vec::new());
    for (name, value) in settings {
        match option(name).map(|(_, _, form, _)| *form) {
            Some(Long) => arguments.push(format!("--{name}={value}")),
            Some(Flag(_)) if is_on(value) => arguments.push(format!("--{name}")),
            Some(Extended) if value.contains(',') => {
                return Err(SystemError::new(format!("the value of `{name}` has a comma in it")));
            }
            Some(Extended) => extended.push(format!("{name}={value}")),
            Some(ExtendedFlag) if name == "track_sizes" && !is_on(value) => {}
            Some(ExtendedFlag) if is_on(value) => extended.push(name.clone()),
            Some(ExtendedFlag) => extended.push(format!("no_{name}")),
            Some(Flag(_) | Ours) | None => {}
        }
    }
    if !extended.is_empty() {
        arguments.extend(["-o".to_owned(), extended.join(",")]);
    }
    Ok(arguments)
}

/// Whether what was asked for is what `stats settings` shows.
pub(super) fn is_same(name: &str, asked: &str, in_force: &str) -> bool {
    let Some((_, _, form, unit)) = option(name) else { return false };
    match form {
        Flag(word) => is_on(asked) == (in_force == *word),
        ExtendedFlag => is_on(asked) == (in_force == "yes"),
        _ => match (number(asked), in_force.parse::<f64>()) {
            (Some(asked), Ok(found)) => (asked * unit - found).abs() <= found.abs() * 1e-6,
            _ => in_force.to_lowercase().starts_with(&asked.to_lowercase()),
        },
    }
}

fn is_on(value: &str) -> bool {
    matches!(value.to_ascii_lowercase().as_str(), "on" | "true" | "yes" | "1")
}

/// `2m`, `512k`: only `max-item-size` has such units.
fn number(text: &str) -> Option<f64> {
    let text = text.trim().to_ascii_lowercase();
    match text.strip_suffix(['k', 'm']) {
        Some(digits) if text.ends_with('k') => Some(digits.parse::<f64>().ok()? * 1024.0),
        Some(digits) => Some(digits.parse::<f64>().ok()? * 1024.0 * 1024.0),
        None => text.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_said_and_read_back() {
        let settings = [
            ("disable-cas", "on"),
            ("disable-evictions", "off"),
            ("hot_lru_pct", "30"),
            ("lru_crawler", "no"),
            ("memory-limit", "128"),
        ];
        let settings: Settings =
            settings.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let expected = ["--disable-cas", "--memory-limit=128", "-o", "hot_lru_pct=30,no_lru_crawler"];
        assert_eq!(arguments(&settings).unwrap(), expected);
        let same = |name: &str, asked: &str, found: &str| is_same(name, asked, found);
        assert!(same("memory-limit", "128", "134217728") && !same("memory-limit", "64", "134217728"));
        assert!(same("disable-cas", "on", "no") && same("disable-evictions", "off", "on"));
        assert!(same("max-item-size", "2m", "2097152") && same("lru_crawler", "no", "no"));
        assert!(same("protocol", "auto", "auto-negotiate") && !same("protocol", "ascii", "auto-negotiate"));
    }

    #[test]
    fn names_are_sorted() {
        assert!(OPTIONS.windows(2).all(|pair| pair[0].0 < pair[1].0));
    }
}
