//! Where PostgreSQL's programs are, and which version they are of.
//!
//! Searched: the experiment's `system.bin_dir`; `PATH`, through symbolic links; `pg_config --bindir`; the places
//! of the distributions, newest version first. A directory counts only if it holds both `postgres` and
//! `initdb`, since Debian keeps the latter off `PATH`.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::host::run_tool;
use crate::systems::SystemError;

/// Parents of `<major>/bin` or `<prefix><major>/bin` where packages put servers.
const PACKAGE_PLACES: [&str; 3] = ["/usr/lib/postgresql", "/usr", "/opt/pgsql"];

/// A PostgreSQL installation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Programs {
    dir: PathBuf,
    /// As `postgres --version` says: `15.18`, `17beta1`.
    pub(super) version: String,
}

impl Programs {
    /// Finds one.
    ///
    /// # Errors
    /// When there is none (with what installs it), or it does not run.
    pub(super) fn find(bin_dir: Option<&Path>) -> Result<Programs, SystemError> {
        let dir = match bin_dir {
            Some(asked) => resolved(asked).ok_or_else(|| {
                let text = format!("`{}` does not hold `postgres` and `initdb`", asked.display());
                SystemError::missing(text, "ls /usr/lib/postgresql/*/bin")
            })?,
            None => on_path().or_else(from_pg_config).or_else(in_package_places).ok_or_else(missing)?,
        };
        let output = run_tool(&dir.join("postgres"), &["--version".into()], Path::new("/"), None)?;
        let version = parse_version(&output.stdout).ok_or_else(|| {
            SystemError::new(format!("cannot read a version out of `{}`", output.stdout.trim()))
        })?;
        Ok(Programs { dir, version })
    }

    /// The server.
    pub(super) fn postgres(&self) -> PathBuf {
        self.dir.join("postgres")
    }

    /// What makes a cluster.
    pub(super) fn initdb(&self) -> PathBuf {
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

fn in_package_places() -> Option<PathBuf> {
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
    found.into_iter().max().map(|(_, dir)| dir)
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
        let error = Programs::find(Some(Path::new("/usr/share"))).unwrap_err();
        assert!(error.missing);
        assert_eq!(error.message, "`/usr/share` does not hold `postgres` and `initdb`");
    }
}
