//! What the tests of systems share: a plan from the text of an experiment, and a place to run it.

use std::path::Path;
use std::sync::{Arc, Mutex};

use weigh_lab::experiment;
use weigh_lab::host::{Cancel, HostChanges, WorkRoot};
use weigh_lab::plan::{ResolveOptions, ResolvedPlan, resolve};
use weigh_lab::systems::{self, BuildContext, System, SystemError};
use weigh_results::model::Slot;

/// A slot of a variant.
pub(crate) fn slot(variant: usize) -> Slot {
    Slot { variant, copy: 0 }
}

/// The plan of an experiment.
pub(crate) fn plan(text: &str) -> Result<ResolvedPlan, String> {
    let experiment = experiment::parse("test.toml", text).map_err(|errors| errors.to_string())?;
    let description = systems::describe(&experiment).map_err(|error| error.to_string())?;
    resolve(&experiment, &description, ResolveOptions::new(1)).map_err(|errors| errors.to_string())
}

/// A run's directory and registry; everything is undone when it is dropped.
pub(crate) struct Stage {
    pub(crate) changes: Arc<HostChanges>,
    pub(crate) cancel: Cancel,
    pub(crate) steps: Mutex<Vec<String>>,
    /// Removed last, with whatever is left in it.
    _dir: tempfile::TempDir,
}

impl Stage {
    pub(crate) fn new() -> Stage {
        Stage::below(Path::new("/var/tmp"))
    }

    /// With its work root below `parent`, which every user may enter.
    pub(crate) fn below(parent: &Path) -> Stage {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir_in(parent).unwrap();
        std::fs::set_permissions(dir.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
        let root = WorkRoot::open(dir.path()).unwrap();
        let changes = HostChanges::open_in(&dir.path().join("state"), "test", root, None).unwrap();
        Stage { changes, cancel: Cancel::new().unwrap(), steps: Mutex::default(), _dir: dir }
    }

    /// Prepares a system.
    pub(crate) fn build(&self, plan: &ResolvedPlan) -> Result<Box<dyn System>, SystemError> {
        let mut progress = |text: String| self.steps.lock().unwrap().push(text);
        let context = BuildContext {
            changes: Arc::clone(&self.changes),
            work_dir: self.changes.run_dir().unwrap(),
            cancel: self.cancel.clone(),
            progress: &mut progress,
        };
        systems::build(plan, context)
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        let failed = self.changes.undo_all();
        if !std::thread::panicking() {
            failed.unwrap();
        }
    }
}
