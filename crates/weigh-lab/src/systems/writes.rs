//! Which commands and requests only read, as far as their text tells.
//!
//! Used for servers at a URL, where nothing may be written without permission. A list of what is known to read, not of
//! what writes: a command that nobody thought of is refused. SQL has a gate of its own
//! (`postgres/statements.rs`), and a read-only session behind it; the protocols here have no such session.

/// The word for which an operation counts as writing; `None` if it only reads.
pub(crate) fn writing_word(system: &str, text: &str) -> Option<String> {
    let first = text.split_whitespace().next().unwrap_or_default();
    match system {
        "redis" => redis(text),
        "memcached" => memcached(text),
        "mongodb" => mongodb(text),
        "http" => (!["GET", "HEAD", "OPTIONS"].contains(&first)).then(|| first.to_owned()),
        _ => None,
    }
}

/// Commands of Redis that change neither keys nor the server. Sorted.
const REDIS_READS: [&str; 92] = [
    "BITCOUNT",
    "BITFIELD_RO",
    "BITPOS",
    "DBSIZE",
    "DUMP",
    "ECHO",
    "EVALSHA_RO",
    "EVAL_RO",
    "EXISTS",
    "EXPIRETIME",
    "FCALL_RO",
    "GEODIST",
    "GEOHASH",
    "GEOPOS",
    "GEORADIUSBYMEMBER_RO",
    "GEORADIUS_RO",
    "GEOSEARCH",
    "GET",
    "GETBIT",
    "GETRANGE",
    "HEXISTS",
    "HEXPIRETIME",
    "HGET",
    "HGETALL",
    "HKEYS",
    "HLEN",
    "HMGET",
    "HPTTL",
    "HRANDFIELD",
    "HSCAN",
    "HSTRLEN",
    "HTTL",
    "HVALS",
    "INFO",
    "JSON.ARRLEN",
    "JSON.GET",
    "JSON.MGET",
    "JSON.TYPE",
    "KEYS",
    "LASTSAVE",
    "LCS",
    "LINDEX",
    "LLEN",
    "LPOS",
    "LRANGE",
    "MGET",
    "PEXPIRETIME",
    "PING",
    "PTTL",
    "RANDOMKEY",
    "ROLE",
    "SCAN",
    "SCARD",
    "SDIFF",
    "SINTER",
    "SINTERCARD",
    "SISMEMBER",
    "SMEMBERS",
    "SMISMEMBER",
    "SORT_RO",
    "SRANDMEMBER",
    "SSCAN",
    "STRLEN",
    "SUBSTR",
    "SUNION",
    "TIME",
    "TTL",
    "TYPE",
    "XINFO",
    "XLEN",
    "XPENDING",
    "XRANGE",
    "XREAD",
    "XREVRANGE",
    "ZCARD",
    "ZCOUNT",
    "ZDIFF",
    "ZINTER",
    "ZINTERCARD",
    "ZLEXCOUNT",
    "ZMSCORE",
    "ZRANDMEMBER",
    "ZRANGE",
    "ZRANGEBYLEX",
    "ZRANGEBYSCORE",
    "ZRANK",
    "ZREVRANGE",
    "ZREVRANGEBYLEX",
    "ZREVRANGEBYSCORE",
    "ZREVRANK",
    "ZSCAN",
    "ZSCORE",
];
/// The same, where a second word decides.
const REDIS_READS_TWO: [&str; 6] =
    ["CLIENT ID", "COMMAND COUNT", "MEMORY USAGE", "OBJECT ENCODING", "OBJECT FREQ", "OBJECT IDLETIME"];

fn redis(text: &str) -> Option<String> {
    let mut words = text.split_whitespace().map(|word| word.trim_matches(['"', '\'']).to_ascii_uppercase());
    let first = words.next().unwrap_or_default();
    let both = format!("{first} {}", words.next().unwrap_or_default());
    let reads = REDIS_READS.contains(&first.as_str()) || REDIS_READS_TWO.contains(&both.as_str());
    (!reads).then_some(first)
}

/// `mg` reads unless one of its flags makes an item (`N`), or changes when it ends (`T`, `R`).
fn memcached(text: &str) -> Option<String> {
    let mut words = text.split_whitespace();
    let first = words.next().unwrap_or_default();
    let reads = match first {
        "get" | "gets" | "version" | "stats" | "mn" | "me" => true,
        "mg" => !words.skip(1).any(|flag| flag.starts_with(['N', 'T', 'R', 'E'])),
        _ => false,
    };
    (!reads).then(|| first.to_owned())
}

/// Commands of MongoDB that change nothing.
const MONGODB_READS: [&str; 17] = [
    "aggregate",
    "buildInfo",
    "collStats",
    "connectionStatus",
    "count",
    "dataSize",
    "dbStats",
    "distinct",
    "explain",
    "find",
    "getMore",
    "hello",
    "isMaster",
    "listCollections",
    "listIndexes",
    "ping",
    "serverStatus",
];

/// The first key is the command; an aggregation that ends in `$out` or `$merge` writes.
fn mongodb(text: &str) -> Option<String> {
    let command = text.trim_start().strip_prefix('{').unwrap_or_default().trim_start();
    let first: String =
        command.trim_start_matches(['"', '\'']).chars().take_while(|c| c.is_alphanumeric()).collect();
    if !MONGODB_READS.contains(&first.as_str()) {
        return Some(first);
    }
    // `$` may be written as an escape; whoever hides it there means to be refused.
    let stages = ["$out", "$merge", "$$out", "$$merge", "\\u"];
    stages.into_iter().find(|stage| text.contains(stage)).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(system: &str, text: &str, expected: Option<&str>) {
        assert_eq!(writing_word(system, text).as_deref(), expected, "{system}: {text}");
    }

    #[test]
    fn reads_are_told_from_writes() {
        assert!(REDIS_READS.is_sorted());
        check("redis", "get user:$1", None);
        check("redis", "'MGET' a b", None);
        check("redis", "object encoding k", None);
        check("redis", "object help", Some("OBJECT"));
        check("redis", "SET user:$1 x", Some("SET"));
        check("redis", "GETEX k", Some("GETEX"));
        check("redis", "EVAL 'return 1' 0", Some("EVAL"));
        check("redis", "SORT k STORE x", Some("SORT"));
        check("redis", "", Some(""));
        check("memcached", "get a$1 b", None);
        check("memcached", "mg key v s", None);
        check("memcached", "mg key v N30", Some("mg"));
        check("memcached", "gat 10 key", Some("gat"));
        check("memcached", "set a 1", Some("set"));
        check("mongodb", "{\"find\": \"users\", \"filter\": {\"_id\": \"$1\"}}", None);
        check("mongodb", " { aggregate: 't', pipeline: [] }", None);
        check("mongodb", "{\"aggregate\": \"t\", \"pipeline\": [{\"$out\": \"u\"}]}", Some("$out"));
        check("mongodb", "{\"insert\": \"t\"}", Some("insert"));
        check("mongodb", "find", Some(""));
        check("http", "GET /a", None);
        check("http", "POST /a", Some("POST"));
    }
}
