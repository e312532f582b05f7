//! The keys a factor or a variant may name.

use super::vars;

/// What a factor varies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Key<'a> {
    /// `settings.NAME`
    Setting(&'a str),
    /// `load.clients`, `load.threads`, `load.pipeline`
    Load(LoadKey),
    /// `load.rate`
    Rate,
    /// `load.arrivals`
    Arrivals,
    /// `system.version`, …
    System(SystemKey),
    /// `vars.NAME`
    Var(&'a str),
    /// `operations.NAME.weight`
    Weight(&'a str),
}

/// What a private server is made of, besides its settings. Each may be common to all variants, or vary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SystemKey {
    /// Which program serves, where there is a choice (`valkey`, `ferretdb`).
    Server,
    /// Its version, fetched if it is not on this host (`16`).
    Version,
    /// What a server keeps its data in, where there is a choice (FerretDB: `sqlite`, `postgres`).
    Backend,
    /// Most memory it may use, page cache included (`256MB`).
    Memory,
    /// What answers in front of it (`none`, `memcached`, `redis`).
    Cache,
    /// How every trial starts: `cold` (restarted, its files in no cache) or `warm` (everything read once).
    Start,
}

impl SystemKey {
    /// Every one, in the order they are written.
    pub const ALL: [SystemKey; 6] = [
        SystemKey::Server,
        SystemKey::Version,
        SystemKey::Backend,
        SystemKey::Memory,
        SystemKey::Cache,
        SystemKey::Start,
    ];

    /// As typed in a factor: `system.version`.
    pub fn name(self) -> &'static str {
        match self {
            SystemKey::Server => "system.server",
            SystemKey::Version => "system.version",
            SystemKey::Backend => "system.backend",
            SystemKey::Memory => "system.memory",
            SystemKey::Cache => "system.cache",
            SystemKey::Start => "system.start",
        }
    }

    /// As typed in `[system]`: `version`.
    pub fn short(self) -> &'static str {
        self.name().trim_start_matches("system.")
    }
}

/// The numbers of the load that may vary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LoadKey {
    Clients,
    Threads,
    Pipeline,
}

/// Every key of the load that may vary, as typed.
pub(crate) const LOAD_KEYS: [&str; 5] =
    ["load.clients", "load.threads", "load.pipeline", "load.rate", "load.arrivals"];

impl LoadKey {
    /// As typed.
    pub(crate) fn name(self) -> &'static str {
        match self {
            LoadKey::Clients => "load.clients",
            LoadKey::Threads => "load.threads",
            LoadKey::Pipeline => "load.pipeline",
        }
    }

    /// The largest value that is taken seriously.
    pub(crate) fn max(self) -> u32 {
        match self {
            LoadKey::Clients => 10_000,
            LoadKey::Threads => 1_000,
            LoadKey::Pipeline => 10_000,
        }
    }
}

impl<'a> Key<'a> {
    /// The key a text names, if it is one.
    pub(crate) fn parse(text: &'a str) -> Option<Key<'a>> {
        if let Some(name) = text.strip_prefix("settings.") {
            return (!name.is_empty()).then_some(Key::Setting(name));
        }
        if let Some(name) = text.strip_prefix("vars.") {
            return vars::is_name(name).then_some(Key::Var(name));
        }
        if let Some(name) = text.strip_prefix("operations.").and_then(|rest| rest.strip_suffix(".weight")) {
            return (!name.is_empty()).then_some(Key::Weight(name));
        }
        match text {
            "load.clients" => Some(Key::Load(LoadKey::Clients)),
            "load.threads" => Some(Key::Load(LoadKey::Threads)),
            "load.pipeline" => Some(Key::Load(LoadKey::Pipeline)),
            "load.rate" => Some(Key::Rate),
            "load.arrivals" => Some(Key::Arrivals),
            _ => SystemKey::ALL.into_iter().find(|key| key.name() == text).map(Key::System),
        }
    }

    /// The short name in a variant's name: `fsync`, `clients`, `insert.weight`.
    pub(crate) fn short(text: &str) -> &str {
        match Key::parse(text) {
            Some(Key::Setting(name) | Key::Var(name)) => name,
            Some(Key::Load(_) | Key::Rate | Key::Arrivals) => text.trim_start_matches("load."),
            Some(Key::Weight(_)) => text.trim_start_matches("operations."),
            Some(Key::System(key)) => key.short(),
            None => text,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_told_apart() {
        assert_eq!(
            Key::parse("settings.auto_explain.log_nested"),
            Some(Key::Setting("auto_explain.log_nested"))
        );
        assert_eq!(Key::parse("load.clients"), Some(Key::Load(LoadKey::Clients)));
        assert_eq!(Key::parse("load.rate"), Some(Key::Rate));
        for key in LOAD_KEYS {
            assert!(Key::parse(key).is_some() && Key::short(key) != key, "{key}");
        }
        for key in SystemKey::ALL {
            assert_eq!(Key::parse(key.name()), Some(Key::System(key)));
        }
        assert_eq!(Key::short("system.version"), "version");
        assert_eq!(Key::parse("vars.rows"), Some(Key::Var("rows")));
        assert_eq!(Key::parse("operations.read.one.weight"), Some(Key::Weight("read.one")));
        for text in
            ["fsync", "settings.", "load.client", "vars.a b", "operations.weight", "operations.a.wait", ""]
        {
            assert_eq!(Key::parse(text), None, "{text}");
        }
        assert_eq!(Key::short("operations.a.weight"), "a.weight");
    }
}
