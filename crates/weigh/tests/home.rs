//! A home of its own for every test: nothing of the user's is read or written.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use weigh_results::model::Run;
use weigh_results::store::{RunStore, StoreError};

use crate::builder::Recipe;

/// A home that goes away with the test.
pub struct Home {
    dir: tempfile::TempDir,
}

/// The home's runs, by what a user types (`last`).
pub struct Stored(RunStore);

impl Stored {
    pub fn load(&self, selector: &str) -> Result<Run, StoreError> {
        self.0.load(&self.0.find(selector)?)
    }
}

/// What a command printed and how it ended.
pub struct Done {
    pub code: i32,
    pub out: String,
    pub err: String,
}

impl Home {
    pub fn new() -> Home {
        Home { dir: tempfile::tempdir().unwrap() }
    }

    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    /// `weigh`, hermetic, with an output of 100 columns in UTF-8 and no colour.
    pub fn weigh(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_weigh"));
        command
            .args(args)
            .current_dir(self.path())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.path())
            .env("WEIGH_HOME", self.path().join("home"))
            .env("WEIGH_STATE_DIR", self.path().join("state"))
            .env("WEIGH_WORK_DIR", self.path().join("work"))
            .env("LANG", "C.UTF-8")
            .stdin(Stdio::null());
        command
    }

    /// The same with the user's own cache, where servers that were fetched or built once are kept.
    pub fn weigh_with_cache(&self, args: &[&str]) -> Command {
        let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let cache = variable("XDG_CACHE_HOME").or_else(|| Some(variable("HOME")?.join(".cache"))).unwrap();
        let mut command = self.weigh(args);
        command.env("XDG_CACHE_HOME", cache);
        command
    }

    /// Runs it to its end. The home's path is shown as `HOME`.
    pub fn run(&self, args: &[&str]) -> Done {
        self.done(self.weigh(args).output().unwrap())
    }

    pub fn done(&self, output: Output) -> Done {
        let text = |bytes: &[u8]| {
            String::from_utf8(bytes.to_vec()).unwrap().replace(&self.path().display().to_string(), "HOME")
        };
        Done {
            code: output.status.code().unwrap_or(-1),
            out: text(&output.stdout),
            err: text(&output.stderr),
        }
    }

    pub fn store(&self) -> Stored {
        Stored(RunStore::at(self.path().join("home/runs")))
    }

    /// Stores a synthetic run.
    pub fn keep(&self, recipe: &Recipe) -> PathBuf {
        let mut recorder = self.store().0.create(&recipe.header()).unwrap();
        recipe.events()[1..].iter().for_each(|event| recorder.append(event).unwrap());
        recorder.path().parent().unwrap().to_path_buf()
    }
}

impl Done {
    /// Standard output, after checking how it ended and that nothing else was said.
    pub fn ok(self) -> String {
        assert_eq!((self.code, self.err.as_str()), (0, ""), "{}", self.out);
        self.out
    }

    /// Standard error, after checking the exit code and that nothing was printed.
    pub fn fails(self, code: i32) -> String {
        assert_eq!((self.code, self.out.as_str()), (code, ""), "{}", self.err);
        self.err
    }

    pub fn json(self) -> serde_json::Value {
        assert_eq!(self.code, 0, "{}", self.err);
        serde_json::from_str(&self.out).unwrap()
    }
}
