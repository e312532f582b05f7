//! Factors and variants: keys that exist, levels once, a number of variants that can be weighed.

use super::super::combine::{self, Combination};
use super::super::error::list_names;
use super::super::keys::{Key, LOAD_KEYS, SystemKey};
use super::super::level::VARIANTS_MAX;
use super::super::origin::Half;
use super::checker::Checker;
use crate::systems;

impl Checker<'_> {
    /// Every factor and every level of a variant names something that exists.
    pub(super) fn keys(&mut self) -> bool {
        let before = self.errors.len();
        let experiment = self.experiment;
        if let (Some(_), Some(_)) = (experiment.factors.first(), experiment.variants.first()) {
            self.key_error("variants", "both `factors` and `variants`", "one of them");
        }
        for factor in &experiment.factors {
            let path = format!("factors.{}", factor.key);
            self.key(&path, &factor.key);
            if !combine::is_used(experiment, factor) {
                let what = format!("no command uses `{}`", factor.key);
                self.key_error(&path, what, "its name in braces in at least one command");
            }
            if factor.levels.is_empty() {
                self.value_error(&path, format!("no levels for `{}`", factor.key), "at least one level");
            }
            // A longer list is too many variants anyway.
            for (index, level) in factor.levels.iter().enumerate().take(VARIANTS_MAX) {
                // Compared as the system will see them: `1` and `"1"` are the same.
                if factor.levels[..index].iter().any(|other| other.to_text() == level.to_text()) {
                    let what = format!("level `{level}` of `{}` twice", factor.key);
                    self.value_error(&format!("{path}[{index}]"), what, "each level once");
                }
            }
        }
        for variant in &experiment.variants {
            if variant.name.trim().is_empty() {
                self.key_error(
                    &format!("variants.{}", variant.name),
                    "a variant without a name",
                    "`[variants.NAME]`",
                );
            }
            for key in variant.levels.keys() {
                self.key(&format!("variants.{}.{key}", variant.name), key);
            }
        }
        self.errors.len() == before
    }

    fn key(&mut self, path: &str, key: &str) {
        let experiment = self.experiment;
        let operations: Vec<String> =
            experiment.workload.operations.iter().map(|op| op.name.clone()).collect();
        let has_settings = !self.is_commands() && self.has_settings();
        let private = systems::private_keys(&experiment.system.name).iter().map(|(key, _)| *key);
        let private: Vec<SystemKey> = private.filter(|_| experiment.system.url.is_none()).collect();
        let known = match Key::parse(key) {
            Some(Key::Setting(_)) => has_settings,
            Some(Key::Load(_) | Key::Rate | Key::Arrivals) => !self.is_commands(),
            Some(Key::Var(_)) => true,
            Some(Key::System(key)) => private.contains(&key),
            Some(Key::Weight(name)) => operations.iter().any(|operation| operation == name),
            None => false,
        };
        if known {
            return;
        }
        let mut valid: Vec<String> =
            experiment.workload.vars.keys().map(|name| format!("vars.{name}")).collect();
        let mut expected = "`vars.NAME`".to_owned();
        if !self.is_commands() {
            valid.extend(operations.iter().map(|name| format!("operations.{name}.weight")));
            if has_settings {
                valid.push(format!("settings.{key}"));
            }
            valid.extend(LOAD_KEYS.map(str::to_owned));
            valid.extend(private.iter().map(|key| key.name().to_owned()));
            let weights: Vec<String> =
                operations.iter().map(|name| format!("operations.{name}.weight")).collect();
            let mut keys: Vec<&str> = has_settings.then_some("settings.NAME").into_iter().collect();
            keys.extend(LOAD_KEYS);
            keys.push("vars.NAME");
            keys.extend(private.iter().map(|key| key.name()));
            keys.extend(weights.iter().map(String::as_str));
            expected = list_names(keys);
        }
        let error = experiment.origin.error(Half::Key, path, format!("unknown key `{key}`"));
        self.errors.push(error.expected(expected).nearest_of(key, valid.iter().map(String::as_str)));
    }

    /// At least two, at most 64.
    pub(super) fn variant_count(&mut self) -> bool {
        let experiment = self.experiment;
        let path = if experiment.commands.is_some() {
            "commands"
        } else if !experiment.factors.is_empty() {
            "factors"
        } else {
            "variants"
        };
        if experiment.factors.iter().any(|factor| factor.levels.is_empty()) {
            return false;
        }
        let count = combine::count(experiment);
        if count > VARIANTS_MAX {
            let what = format!("{count} variants");
            self.key_error(path, what, &format!("at most {VARIANTS_MAX}: each needs a trial in every round"));
        } else if count < 2 {
            let expected = match path {
                "commands" => "at least two commands, or a factor `vars.NAME` that they use",
                _ => "at least two: a factor with two levels, or two `[variants.NAME]`",
            };
            let what = if count == 0 { "no variant" } else { "only one variant" };
            self.key_error(path, what, expected);
        }
        (2..=VARIANTS_MAX).contains(&count)
    }

    /// The baseline and the field's figures name variants.
    pub(super) fn names(&mut self, combinations: &[Combination]) {
        let experiment = self.experiment;
        let names: Vec<&str> = combinations.iter().map(|one| one.name.as_str()).collect();
        if let Some(baseline) = experiment.judge.baseline.as_deref().filter(|name| !names.contains(name)) {
            let what = format!("the baseline `{baseline}` is not a variant");
            let error = experiment.origin.error(Half::Value, "judge.baseline", what);
            self.errors.push(error.one_of(baseline, names.iter().copied()));
        }
        for name in experiment.field_figures.keys().filter(|name| !names.contains(&name.as_str())) {
            let what = format!("`{name}` in `field` is not a variant");
            let error = experiment.origin.error(Half::Key, &format!("field.{name}"), what);
            self.errors.push(error.one_of(name, names.iter().copied()));
        }
    }
}
