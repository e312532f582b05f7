//! The experiments that come with the tool, embedded.
//!
//! One static table; every entry is run for real by a test.

use super::{Experiment, ExperimentErrors, parse};

/// An experiment that comes with the tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shipped {
    /// As typed: `postgres/durability`.
    pub name: &'static str,
    /// Its question, the same as in its text.
    pub question: &'static str,
    /// The file.
    pub text: &'static str,
}

impl Shipped {
    /// Reads it.
    ///
    /// # Errors
    ///
    /// None: a test reads every one. The type is that of [`parse`].
    pub fn parse(&self) -> Result<Experiment, ExperimentErrors> {
        let experiment = parse(&format!("{}.toml", self.name), self.text)?;
        Ok(Experiment { name: self.name.to_owned(), ..experiment })
    }
}

/// Every experiment that comes with the tool.
pub fn shipped() -> &'static [Shipped] {
    SHIPPED
}

macro_rules! shipped {
    ($($name:literal: $question:literal),* $(,)?) => {
        &[$(Shipped {
            name: $name,
            question: $question,
            text: include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../experiments/", $name, ".toml")),
        }),*]
    };
}

static SHIPPED: &[Shipped] = shipped! {
    "postgres/durability": "What does durability cost?",
    "postgres/hot-row": "What does one hot row cost?",
    "postgres/open-loop": "What does synchronous_commit cost at a fixed rate?",
    "postgres/bulk": "What does writing in bulk gain per row?",
    "postgres/durability-settings": "Which of the settings of durability matters?",
    "postgres/existence": "Does it matter how one asks whether a document exists?",
    "postgres/shape-grow": "Does a row that grows cost more than one that was made large enough?",
    "postgres/shape-names": "What do long field names cost?",
    "postgres/shape-set": "Is it cheaper to set one field than to write the document?",
    "postgres/covered": "What does a covering index save?",
    "postgres/composite-key": "A natural composite key, or a number of its own and one index more?",
    "postgres/drop-day": "What does it cost to get rid of the rows of a day?",
    "postgres/upsert": "Which settings make upserts fast?",
    "postgres/upsert-batch": "How large should a batch of upserts be?",
    "postgres/upsert-settings": "Which settings of the server make upserts fast?",
    "postgres/full-page-writes": "What do checkpoints cost that come too often?",
    "postgres/matview": "Eight live indexes, or a materialized view that is refreshed?",
    "postgres/distinct": "How does finding the distinct values of an index's first column grow?",
    "postgres/match-sort": "Does the planner pick the right index for a match with a sort?",
    "postgres/functional-index": "Does a condition use the functional index?",
    "postgres/bulk-duplicates": "What does bulk gain when a row in it is a duplicate?",
    "postgres/faulting": "Does a write throttle readers when the data exceed memory?",
    "postgres/versions": "Do newer versions fault better?",
    "sqlite/durability": "What does durability cost in an embedded database?",
    "sqlite/existence": "Does it matter how one asks whether a document exists, in an embedded database?",
    "sqlite/bulk": "What does writing in bulk gain in an embedded database?",
    "memcached/threads": "How many threads does memcached need here?",
    "postgres/cache": "Does a cache in front of PostgreSQL pay for lookups by primary key?",
    "postgres/cache-expensive": "Does a cache in front of PostgreSQL pay for an expensive query?",
    "redis/durability": "What does durability cost in Redis?",
    "redis/pipeline": "How deep a pipeline pays in Redis?",
    "mongodb/durability": "What does a write concern cost?",
    "mongodb/existence": "Is it cheaper to test whether a document exists than to fetch it?",
    "mongodb/shape": "What does it cost to let a document grow, or to send it whole?",
    "mongodb/names": "What do long field names cost?",
    "mongodb/upsert": "What do upserts gain by being sent in bulk?",
    "mongodb/hot-document": "What does one hot document cost?",
    "mongodb/bulk": "What does inserting in bulk gain, and what is reported back?",
    "mongodb/match-sort": "Does the planner take the right index for match and sort?",
    "commands/compress": "Which compressor is faster on the same file?",
};

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use super::*;

    #[test]
    fn every_shipped_experiment_is_sound() {
        for shipped in shipped() {
            let experiment = shipped.parse().unwrap_or_else(|errors| panic!("{errors}"));
            assert_eq!(experiment.question, shipped.question, "{}", shipped.name);
            assert!(shipped.name.starts_with(&format!("{}/", experiment.system.name)), "{}", shipped.name);
        }
    }

    #[test]
    fn no_experiment_file_is_forgotten() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments");
        let mut files: Vec<PathBuf> = Vec::new();
        for folder in std::fs::read_dir(&root).unwrap().flatten().filter(|entry| entry.path().is_dir()) {
            files.extend(std::fs::read_dir(folder.path()).unwrap().flatten().map(|entry| entry.path()));
        }
        for file in files.iter().filter(|file| file.extension().is_some_and(|ending| ending == "toml")) {
            let name = file.strip_prefix(&root).unwrap().with_extension("");
            let known = shipped().iter().any(|shipped| Path::new(shipped.name) == name);
            assert!(known, "`{}` is not in the table", name.display());
        }
        assert!(files.len() >= shipped().len());
    }
}
