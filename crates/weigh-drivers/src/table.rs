//! The static table of drivers.

/// One driver that is built in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DriverEntry {
    /// Name, as in `system = "…"`.
    pub name: &'static str,
    /// What it speaks, in a line.
    pub summary: &'static str,
    /// Where its clients run.
    pub kind: Kind,
    /// Schemes of URLs it takes, the usual one first; none for an in-process system.
    pub schemes: &'static [&'static str],
}

/// Where a driver's clients run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// On the engine's event loop, many to a thread.
    Socket,
    /// In a thread of their own.
    Inline,
}

/// Every driver that is built in, by name.
pub static DRIVERS: &[DriverEntry] = &[
    #[cfg(feature = "http")]
    DriverEntry {
        name: "http",
        summary: "HTTP/1.1 with keep-alive, over TCP, TLS and unix sockets",
        kind: Kind::Socket,
        schemes: &["http", "https"],
    },
    #[cfg(feature = "memcached")]
    DriverEntry {
        name: "memcached",
        summary: "memcached's text and meta commands, over unix sockets, TCP and TLS",
        kind: Kind::Socket,
        schemes: &["memcached", "memcacheds"],
    },
    #[cfg(feature = "mongodb")]
    DriverEntry {
        name: "mongodb",
        summary: "MongoDB's protocol: any command, bulk writes, SCRAM, TLS",
        kind: Kind::Socket,
        schemes: &["mongodb", "mongodb+srv"],
    },
    #[cfg(feature = "postgres")]
    DriverEntry {
        name: "postgres",
        summary: "PostgreSQL's extended protocol, prepared, over unix sockets, TCP and TLS",
        kind: Kind::Socket,
        schemes: &["postgres", "postgresql"],
    },
    #[cfg(feature = "redis")]
    DriverEntry {
        name: "redis",
        summary: "Redis and Valkey, RESP2 and RESP3, any command, over unix sockets, TCP and TLS",
        kind: Kind::Socket,
        schemes: &["redis", "rediss", "valkey", "valkeys"],
    },
    #[cfg(feature = "sqlite")]
    DriverEntry {
        name: "sqlite",
        summary: "SQLite, embedded, prepared statements",
        kind: Kind::Inline,
        schemes: &[],
    },
];

/// The driver for URLs of a scheme (`rediss`), in lower case.
#[must_use]
pub fn driver_of_scheme(scheme: &str) -> Option<&'static DriverEntry> {
    DRIVERS.iter().find(|entry| entry.schemes.contains(&scheme))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_sorted_and_unique() {
        assert!(DRIVERS.windows(2).all(|pair| pair[0].name < pair[1].name), "{DRIVERS:?}");
    }
}
