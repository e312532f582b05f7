//! What earlier runs have fetched: `<cache>/postgres-<version>`, each a whole installation.

use std::path::{Path, PathBuf};

use super::release::{matches, numbers_of};
use crate::host::cache_dir;

const PREFIX: &str = "postgres-";

/// Where a version goes.
pub(super) fn directory(version: &str) -> PathBuf {
    cache_dir().join(format!("{PREFIX}{version}"))
}

/// Whether a directory is one of ours.
pub(in crate::systems::postgres) fn is_cached(dir: &Path) -> bool {
    // The programs' own directory has no symbolic links in it any more.
    let cache = cache_dir();
    dir.starts_with(cache.canonicalize().unwrap_or(cache))
}

/// The newest version that `asked` stands for, and its directory; `None` when none was fetched before.
pub(in crate::systems::postgres) fn cached(asked: &str) -> Option<(String, PathBuf)> {
    let entries = std::fs::read_dir(cache_dir()).ok()?;
    let versions = entries.flatten().filter_map(|entry| {
        let version = entry.file_name().to_str()?.strip_prefix(PREFIX)?.to_owned();
        (matches(asked, &version) && entry.path().is_dir()).then(|| (version, entry.path()))
    });
    versions.max_by_key(|(version, _)| numbers_of(version))
}
