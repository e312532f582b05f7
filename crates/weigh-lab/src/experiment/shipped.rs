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
    "sqlite/durability": "What does durability cost in an embedded database?",
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
