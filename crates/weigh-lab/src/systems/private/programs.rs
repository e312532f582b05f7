//! Where a server's program is.

use std::path::{Path, PathBuf};

use crate::systems::SystemError;

/// Where distributions put servers that are not on everybody's `PATH`.
const OTHER_PLACES: [&str; 3] = ["/usr/sbin", "/usr/local/bin", "/usr/local/sbin"];

/// The first of `names` in the experiment's `bin_dir`, else on `PATH` or where distributions put servers. `package` is
/// what installs it.
///
/// # Errors
/// When there is none, with what installs it.
pub(in crate::systems) fn find_program(
    bin_dir: Option<&Path>,
    names: &[&str],
    package: &str,
) -> Result<PathBuf, SystemError> {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    let quoted = quoted.join(" or ");
    if let Some(dir) = bin_dir {
        return in_dir(dir, names).ok_or_else(|| {
            let text = format!("`{}` does not hold {quoted}", dir.display());
            SystemError::missing(text, format!("command -v {}", names.join(" ")))
        });
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let dirs = std::env::split_paths(&path).chain(OTHER_PLACES.iter().map(PathBuf::from));
    dirs.into_iter().find_map(|dir| in_dir(&dir, names)).ok_or_else(|| {
        SystemError::missing(format!("no {quoted} on this host"), install(package))
            .hint("weigh run … --bin-dir DIR  # if it is somewhere else")
    })
}

fn in_dir(dir: &Path, names: &[&str]) -> Option<PathBuf> {
    names.iter().map(|name| dir.join(name)).find(|file| file.is_file())
}

fn install(package: &str) -> String {
    let has = |tool: &str| Path::new("/usr/bin").join(tool).exists();
    match (has("dnf"), Path::new("/sbin/apk").exists()) {
        // Both name the package after the project.
        (true, _) => format!("dnf install {}", package.trim_end_matches("-server")),
        (_, true) => format!("apk add {}", package.trim_end_matches("-server")),
        _ => format!("apt-get install {package}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_program_says_what_installs_it() {
        let error = find_program(None, &["no-such-server"], "no-such-server").unwrap_err();
        assert!(error.missing);
        assert_eq!(error.message, "no `no-such-server` on this host");
        assert!(error.hints[0].contains("install") || error.hints[0].contains("add"), "{:?}", error.hints);
        let error = find_program(Some(Path::new("/usr/share")), &["a", "b"], "a").unwrap_err();
        assert_eq!(error.message, "`/usr/share` does not hold `a` or `b`");
        assert_eq!(find_program(Some(Path::new("/bin")), &["no", "sh"], "sh").unwrap(), Path::new("/bin/sh"));
    }
}
