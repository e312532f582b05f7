//! Operations as one command text: what the drivers of key-value and document stores take.

/// One operation of Redis, memcached or MongoDB. `$1`, `$2`, … in the texts stand for its parameters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommandOperation {
    /// Name, for messages.
    pub name: String,
    /// Redis: words, quoted as in redis-cli (`SET user:$1 "a b"`). memcached: `get KEY…`, `set KEY VALUE`, ….
    /// MongoDB: the command as a JSON document (`{"find": "users", "filter": {"_id": "$1"}}`).
    pub command: String,
    /// How many parameters the operation draws.
    pub parameters: usize,
    /// MongoDB: how many times the only element of `documents`, `updates` or `deletes` stands in the request,
    /// each time with fresh parameters (a bulk). 1 everywhere else.
    pub rows: u32,
    /// The reply must be this text; parameters may occur in it. `None`: any reply that is no error will do.
    pub expect: Option<String>,
}

/// As messages name it.
impl std::fmt::Display for CommandOperation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "operation `{}`", self.name)
    }
}
