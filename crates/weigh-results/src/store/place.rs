//! Where runs are kept.

use std::ffi::OsString;
use std::path::PathBuf;

use super::StoreError;

/// The directory of runs: `$WEIGH_HOME/runs`, else `$XDG_DATA_HOME/weigh/runs`, else
/// `$HOME/.local/share/weigh/runs`. `variable` reads the environment: this room does not.
pub fn runs_dir(variable: impl Fn(&str) -> Option<OsString>) -> Result<PathBuf, StoreError> {
    let set = |name| variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    if let Some(home) = set("WEIGH_HOME") {
        return Ok(home.join("runs"));
    }
    if let Some(data) = set("XDG_DATA_HOME").filter(|data| data.is_absolute()) {
        return Ok(data.join("weigh/runs"));
    }
    let home = set("HOME").ok_or(StoreError::NoPlace)?;
    Ok(home.join(".local/share/weigh/runs"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(variables: &[(&str, &str)]) -> Option<PathBuf> {
        runs_dir(|name| variables.iter().find(|(key, _)| *key == name).map(|(_, value)| value.into())).ok()
    }

    #[test]
    fn the_first_variable_that_is_set_decides() {
        let all = [("WEIGH_HOME", "/w"), ("XDG_DATA_HOME", "/x"), ("HOME", "/h")];
        assert_eq!(place(&all), Some("/w/runs".into()));
        assert_eq!(place(&all[1..]), Some("/x/weigh/runs".into()));
        assert_eq!(place(&all[2..]), Some("/h/.local/share/weigh/runs".into()));
        assert_eq!(place(&[("WEIGH_HOME", ""), ("HOME", "/h")]), Some("/h/.local/share/weigh/runs".into()));
        assert_eq!(place(&[]), None);
    }
}
