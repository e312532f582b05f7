//! Settings against what the system has: name, when it can change, which values it takes.

use crate::experiment::{Combination, Experiment, ExperimentError, Half, Level};
use crate::plan::ResolvedVariant;
use crate::systems::description::{SettingContext, SettingFacts, SettingKind, SystemDescription};

/// Checks the settings of one variant and gives them the system's own spelling.
pub(super) fn check(
    experiment: &Experiment,
    combination: &Combination,
    description: &SystemDescription,
    variant: &mut ResolvedVariant,
) -> Vec<ExperimentError> {
    let mut errors = Vec::new();
    let asked = std::mem::take(&mut variant.settings);
    for (name, level) in asked {
        let facts = description.settings.iter().find(|facts| facts.name.eq_ignore_ascii_case(&name));
        let place = Place { experiment, combination, name: &name };
        match facts {
            Some(facts) => {
                errors.extend(place.check(facts, &level));
                variant.settings.insert(facts.name.clone(), level);
            }
            None if is_open_setting(experiment, &name) => {
                variant.settings.insert(name, level);
            }
            None => errors.push(place.unknown(description)),
        }
    }
    errors
}

/// PostgreSQL takes any `extension.name` and knows what it means once the extension is loaded; MongoDB has hundreds of
/// parameters that differ by version. Reading the setting back finds out.
fn is_open_setting(experiment: &Experiment, name: &str) -> bool {
    match experiment.system.name.as_str() {
        "postgres" => name.contains('.'),
        "mongodb" => name.starts_with("setParameter."),
        _ => false,
    }
}

struct Place<'a> {
    experiment: &'a Experiment,
    combination: &'a Combination,
    name: &'a str,
}

impl Place<'_> {
    /// At its key: the factor's, the variant's, or in `[settings]`.
    fn error(&self, half: Half, what: String) -> ExperimentError {
        let key = format!("settings.{}", self.name);
        let path = match self.combination.paths.get(&key) {
            // A factor's key stands before its list of levels.
            Some(level) if half == Half::Key && level.starts_with("factors.") => format!("factors.{key}"),
            Some(level) => level.clone(),
            None => key,
        };
        self.experiment.origin.error(half, &path, what)
    }

    fn unknown(&self, description: &SystemDescription) -> ExperimentError {
        let system = &self.experiment.system.name;
        let version =
            if description.version.is_empty() { String::new() } else { format!(" {}", description.version) };
        let what = format!("`{system}`{version} has no setting `{}`", self.name);
        let names: Vec<&str> = description.settings.iter().map(|facts| facts.name.as_str()).collect();
        let error = self.error(Half::Key, what).nearest_of(self.name, names.iter().copied());
        // A short list helps; a server's hundreds of settings do not.
        if names.len() <= 40 && !names.is_empty() {
            error.one_of(self.name, names.iter().copied())
        } else {
            error
        }
    }

    fn check(&self, facts: &SettingFacts, level: &Level) -> Option<ExperimentError> {
        let name = &facts.name;
        if facts.context == SettingContext::Fixed {
            return Some(
                self.error(Half::Key, format!("`{name}` cannot be changed: the system only shows it")),
            );
        }
        if self.experiment.system.url.is_some() && facts.context != SettingContext::Session {
            let what = format!("`{name}` cannot be changed in a session of the server at `url`");
            return Some(
                self.error(Half::Key, what)
                    .expected("a setting of the session, or a private server (no `url`)"),
            );
        }
        let expected = misfit(&facts.kind, level)?;
        let what = format!("`{name}` does not take `{level}`");
        let error = self.error(Half::Value, what).expected(expected);
        Some(match &facts.kind {
            SettingKind::Choice(values) => {
                error.nearest_of(&level.to_text(), values.iter().map(String::as_str))
            }
            _ => error,
        })
    }
}

/// What would have been right, if the level does not fit. Ranges and units are the system's to judge.
fn misfit(kind: &SettingKind, level: &Level) -> Option<String> {
    let text = level.to_text().trim().to_lowercase();
    let starts_as_number = |text: &str| {
        let digits = text.trim_start_matches(['-', '+']);
        digits.starts_with(|c: char| c.is_ascii_digit() || c == '.')
    };
    match kind {
        SettingKind::Boolean => (!is_switch(&text)).then(|| "`on` or `off`".to_owned()),
        SettingKind::Integer => {
            (!starts_as_number(&text)).then(|| "an integer, with a unit where it has one".to_owned())
        }
        SettingKind::Real => {
            (!starts_as_number(&text)).then(|| "a number, with a unit where it has one".to_owned())
        }
        SettingKind::Text => None,
        SettingKind::Choice(values) => {
            let listed = values.iter().any(|value| value.eq_ignore_ascii_case(&text));
            // A choice that began as a switch still takes the switch's other spellings.
            let switch = is_switch(&text) && values.iter().any(|value| value.eq_ignore_ascii_case("on"));
            let list = || crate::experiment::list_names(values.iter().map(String::as_str));
            (!listed && !switch).then(list)
        }
    }
}

fn is_switch(text: &str) -> bool {
    matches!(text, "on" | "off" | "true" | "false" | "yes" | "no" | "1" | "0")
}
