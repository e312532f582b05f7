//! Where PostgreSQL's programs are, and which version they are of.
//!
//! Searched: the experiment's `system.bin_dir`; `PATH`, through symbolic links; `pg_config --bindir`; the places
//! of the distributions, newest version first. A directory counts only if it holds both `postgres` and
//! `initdb`, since Debian keeps the latter off `PATH`. Where a version is asked for, whatever of that is of
//! another version is passed over, and what was fetched before or can be fetched now comes last
//! ([`versions`](super::versions)).

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::versions;
use crate::host::{HostChanges, User, is_reachable, link_tree, run_tool};
use crate::systems::SystemError;

/// Parents of `<major>/bin` or `<prefix><major>/bin` where packages put servers.
const PACKAGE_PLACES: [&str; 3] = ["/usr/lib/postgresql", "/usr", "/opt/pgsql"];

/// A PostgreSQL installation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::systems) struct Programs {
    dir: PathBuf,
    /// As `postgres --version` says: `15.18`, `17beta1`.
    pub(in crate::systems) version: String,
}

impl Programs {
    /// Finds one: of the version asked for (`16`, `16.4`), or the first there is.
    ///
    /// # Errors
    /// When there is none (with what installs it), it does not run, or a version cannot be fetched.
    pub(in crate::systems) fn find(
        bin_dir: Option<&Path>,
        version: Option<&str>,
    ) -> Result<Programs, SystemError> {
        let asked_dir = bin_dir.map(|asked| {
            resolved(asked).ok_or_else(|| {
                let text = format!("`{}` does not hold `postgres` and `initdb`", asked.display());
                SystemError::missing(text, "ls /usr/lib/postgresql/*/bin")
            })
        });
        let asked_dir = asked_dir.transpose()?;
        let Some(version) = version else {
            let dir = match asked_dir {
                Some(dir) => dir,
                None => installed().into_iter().next().ok_or_else(missing)?,
            };
            return Programs::in_dir(dir);
        };
        for dir in asked_dir.into_iter().chain(installed()) {
            // One that does not run is not the one that is meant.
            match Programs::in_dir(dir) {
                Ok(found) if versions::matches(version, &found.version) => return Ok(found),
                _ => {}
            }
        }
        Programs::fetched(version)
    }

    fn fetched(version: &str) -> Result<Programs, SystemError> {
        let tree = match versions::cached(version) {
            Some((_, tree)) => tree,
            None => versions::fetch(version)?,
        };
        let dir = resolved(&tree.join("bin")).ok_or_else(|| {
            let text = format!("`{}` does not hold `postgres` and `initdb`", tree.display());
            SystemError::new(text).hint(format!("rm -r {}  # it is fetched again then", tree.display()))
        })?;
        Programs::in_dir(dir)
    }

    /// The same programs where `user` can execute them: as they are, or, from a cache below a closed home
    /// directory, under a second name below `work_dir`.
    ///
    /// # Errors
    /// When that cannot be made.
    pub(super) fn reachable(
        self,
        user: Option<&User>,
        changes: &HostChanges,
        work_dir: &Path,
    ) -> Result<Programs, SystemError> {
        let Some(user) = user else { return Ok(self) };
        let Some(tree) = self.dir.parent().filter(|tree| versions::is_cached(tree)) else { return Ok(self) };
        if is_reachable(&self.dir, user) {
            return Ok(self);
        }
        let parent = work_dir.join("programs");
        if !parent.exists() {
            changes.make_dir(&parent, None)?;
        }
        let second = parent.join(&self.version);
        if !second.exists() {
            link_tree(tree, &second)?;
        }
        Ok(Programs { dir: second.join("bin"), version: self.version })
    }

    fn in_dir(dir: PathBuf) -> Result<Programs, SystemError> {
        let output = run_tool(&dir.join("postgres"), &["--version".into()], Path::new("/"), None)?;
        let version = parse_version(&output.stdout).ok_or_else(|| {
            SystemError::new(format!("cannot read a version out of `{}`", output.stdout.trim()))
        })?;
        Ok(Programs { dir, version })
    }

    /// The server.
    pub(in crate::systems) fn postgres(&self) -> PathBuf {
        self.dir.join("postgres")
    }

    /// What makes a cluster.
    pub(in crate::systems) fn initdb(&self) -> PathBuf {
        self.dir.join("initdb")
    }
}

fn missing() -> SystemError {
    let install = if Path::new("/usr/bin/dnf").exists() {
        "dnf install postgresql-server postgresql-contrib"
    } else if Path::new("/usr/bin/apk").exists() {
        "apk add postgresql"
    } else {
        "apt-get install postgresql"
    };
    SystemError::missing("no PostgreSQL server on this host", install)
        .hint("weigh run … --bin-dir DIR  # if it is somewhere else")
}

/// The directory itself, or where its `postgres` really is.
fn resolved(dir: &Path) -> Option<PathBuf> {
    let complete = |dir: &Path| dir.join("postgres").is_file() && dir.join("initdb").is_file();
    // A link's own directory may hold links to two versions; the target's holds one.
    let target = dir.join("postgres").canonicalize().ok()?.parent()?.to_owned();
    [target, dir.to_owned()].into_iter().find(|dir| complete(dir))
}

fn on_path() -> Option<PathBuf> {
    std::env::split_paths(&std::env::var_os("PATH")?).find_map(|dir| resolved(&dir))
}

fn from_pg_config() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let program =
        std::env::split_paths(&path).map(|dir| dir.join("pg_config")).find(|file| file.is_file())?;
    let output = run_tool(&program, &[OsString::from("--bindir")], Path::new("/"), None).ok()?;
    resolved(Path::new(output.stdout.trim()))
}

/// Every installation on the host, in the order of preference.
fn installed() -> Vec<PathBuf> {
    on_path().into_iter().chain(from_pg_config()).chain(in_package_places()).collect()
}

fn in_package_places() -> Vec<PathBuf> {
    let mut found: Vec<(u32, PathBuf)> = Vec::new();
    for place in PACKAGE_PLACES {
        let Ok(entries) = std::fs::read_dir(place) else { continue };
        for entry in entries.flatten() {
            let name = entry.file_name();
            let major = name.to_str().and_then(|name| name.trim_start_matches("pgsql-").parse().ok());
            if let (Some(major), Some(dir)) = (major, resolved(&entry.path().join("bin"))) {
                found.push((major, dir));
            }
        }
    }
    found.sort();
    found.into_iter().rev().map(|(_, dir)| dir).collect()
}

/// `postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)` → `15.18`.
fn parse_version(text: &str) -> Option<String> {
    let after = text.split("PostgreSQL) ").nth(1)?;
    after.split_whitespace().next().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_as_the_servers_print_them() {
        // Captured from Debian 12, and from a build without a package version.
        let debian = "postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)\n";
        assert_eq!(parse_version(debian).as_deref(), Some("15.18"));
        assert_eq!(parse_version("postgres (PostgreSQL) 9.6.24\n").as_deref(), Some("9.6.24"));
        assert_eq!(parse_version("something else"), None);
    }

    #[test]
    fn a_directory_without_a_server_is_named() {
        let error = Programs::find(Some(Path::new("/usr/share")), None).unwrap_err();
        assert!(error.missing);
        assert_eq!(error.message, "`/usr/share` does not hold `postgres` and `initdb`");
    }
}
