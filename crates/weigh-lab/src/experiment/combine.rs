//! Which variants an experiment has, and what they are called.
//!
//! The product of all factors, the explicit variants, or every command times the factors it uses.
//! Names are short when they can be (`off`, `clients=8`) and always unique.

use std::collections::{BTreeMap, BTreeSet};

use super::keys::Key;
use super::vars::{self, Vars};
use super::{CommandSection, CommandsSection, Experiment, Factor, Level};

/// One variant before anything is filled in.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Combination {
    /// Unique name.
    pub(crate) name: String,
    /// Factor key to level.
    pub(crate) levels: BTreeMap<String, Level>,
    /// Where each level was written, by factor key (a path for `Origin`).
    pub(crate) paths: BTreeMap<String, String>,
    /// Index of the command, for the system `commands`.
    pub(crate) command: Option<usize>,
}

/// How many variants there would be; saturates.
pub(super) fn count(experiment: &Experiment) -> usize {
    let product = |factors: &mut dyn Iterator<Item = &Factor>| {
        factors.fold(1usize, |product, factor| product.saturating_mul(factor.levels.len()))
    };
    match &experiment.commands {
        Some(commands) => commands.list.iter().fold(0usize, |sum, command| {
            let used = used_vars(experiment, commands, command);
            sum.saturating_add(product(&mut experiment.factors.iter().filter(|factor| uses(&used, factor))))
        }),
        None if !experiment.variants.is_empty() => experiment.variants.len(),
        None => product(&mut experiment.factors.iter()),
    }
}

/// Every variant, in order. Only to be called when [`count`] is reasonable.
pub(crate) fn combinations(experiment: &Experiment) -> Vec<Combination> {
    if let Some(commands) = &experiment.commands {
        return command_combinations(experiment, commands);
    }
    if !experiment.variants.is_empty() {
        return experiment.variants.iter().map(explicit).collect();
    }
    let factors: Vec<&Factor> = experiment.factors.iter().collect();
    let picks = product(&factors);
    let names = factor_names(&factors, &picks);
    let combine = |(pick, name): (Vec<usize>, String)| combination(&factors, &pick, name, None);
    picks.into_iter().zip(names).map(combine).collect()
}

fn explicit(variant: &super::VariantSection) -> Combination {
    let path = |key: &String| (key.clone(), format!("variants.{}.{key}", variant.name));
    Combination {
        name: variant.name.clone(),
        levels: variant.levels.clone(),
        paths: variant.levels.keys().map(path).collect(),
        command: None,
    }
}

fn combination(factors: &[&Factor], pick: &[usize], name: String, command: Option<usize>) -> Combination {
    let mut made = Combination { name, levels: BTreeMap::new(), paths: BTreeMap::new(), command };
    for (factor, &index) in factors.iter().zip(pick) {
        made.levels.insert(factor.key.clone(), factor.levels[index].clone());
        made.paths.insert(factor.key.clone(), format!("factors.{}[{index}]", factor.key));
    }
    made
}

/// Every choice of one level index per factor; the last factor varies fastest.
fn product(factors: &[&Factor]) -> Vec<Vec<usize>> {
    let mut picks = vec![Vec::new()];
    for factor in factors {
        picks = picks
            .into_iter()
            .flat_map(|pick: Vec<usize>| {
                (0..factor.levels.len()).map(move |index| pick.iter().copied().chain([index]).collect())
            })
            .collect();
    }
    picks
}

/// The level alone where it says enough (`off`), else with the end of its key (`clients=8`), else with
/// the whole key. The first of these ways that gives unique names is used.
fn factor_names(factors: &[&Factor], picks: &[Vec<usize>]) -> Vec<String> {
    let varied: Vec<usize> = (0..factors.len()).filter(|&index| factors[index].levels.len() > 1).collect();
    let named = |style: Style| -> Vec<String> {
        let name = |pick: &Vec<usize>| {
            let part = |&index: &usize| style.part(factors, index, &factors[index].levels[pick[index]]);
            varied.iter().map(part).collect::<Vec<_>>().join("/")
        };
        picks.iter().map(name).collect()
    };
    let mut names = named(Style::Level);
    for style in [Style::Short, Style::Whole] {
        if is_unique(&names) {
            break;
        }
        names = named(style);
    }
    unique(names)
}

#[derive(Clone, Copy, PartialEq)]
enum Style {
    Level,
    Short,
    Whole,
}

impl Style {
    fn part(self, factors: &[&Factor], index: usize, level: &Level) -> String {
        let factor = factors[index];
        let text = one_line(&level.to_text());
        let clear = |level: &Level| matches!(level, Level::Text(text) if !text.trim().is_empty());
        // All levels of a factor are written the same way, and a word two factors share says nothing alone.
        let others = factors.iter().enumerate().filter(|(other, _)| *other != index);
        let shared = others.flat_map(|(_, factor)| &factor.levels).any(|other| factor.levels.contains(other));
        if self == Style::Level && factor.levels.iter().all(clear) && !shared {
            return text;
        }
        let short = Key::short(&factor.key);
        let ambiguous = factors.iter().filter(|factor| Key::short(&factor.key) == short).count() > 1;
        if self == Style::Whole || ambiguous {
            format!("{}={text}", factor.key)
        } else {
            format!("{short}={text}")
        }
    }
}

/// As it can be printed in a table: one line, no control characters.
fn one_line(text: &str) -> String {
    let words: Vec<&str> =
        text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|w| !w.is_empty()).collect();
    words.join(" ")
}

fn is_unique(names: &[String]) -> bool {
    names.iter().collect::<BTreeSet<_>>().len() == names.len()
}

/// Numbers what is still the same: `x`, `x (2)`.
fn unique(names: Vec<String>) -> Vec<String> {
    let mut taken: BTreeSet<String> = BTreeSet::new();
    let mut made = Vec::with_capacity(names.len());
    for name in names {
        let mut candidate = name.clone();
        let mut number = 2;
        while !taken.insert(candidate.clone()) {
            candidate = format!("{name} ({number})");
            number += 1;
        }
        made.push(candidate);
    }
    made
}

/// Commands times the factors each of them uses.
fn command_combinations(experiment: &Experiment, commands: &CommandsSection) -> Vec<Combination> {
    let mut made = Vec::new();
    for (index, command) in commands.list.iter().enumerate() {
        let used = used_vars(experiment, commands, command);
        let factors: Vec<&Factor> = experiment.factors.iter().filter(|factor| uses(&used, factor)).collect();
        for pick in product(&factors) {
            let mut one = combination(&factors, &pick, String::new(), Some(index));
            one.name = command_name(experiment, command, &factors, &one);
            made.push(one);
        }
    }
    let names = unique(made.iter().map(|one| one.name.clone()).collect());
    made.into_iter().zip(names).map(|(one, name)| Combination { name, ..one }).collect()
}

/// The command's name or text, filled in; levels that do not show in it are added.
fn command_name(
    experiment: &Experiment,
    command: &CommandSection,
    factors: &[&Factor],
    one: &Combination,
) -> String {
    let template = command.name.as_deref().unwrap_or(&command.run);
    let vars = raw_vars(experiment, &one.levels);
    let filled = Vars::resolve(&vars).ok().and_then(|vars| vars.fill(template).ok());
    let mut name = one_line(&filled.unwrap_or_else(|| template.to_owned()));
    let shown = reachable(&vars, [template]);
    for factor in factors {
        if let Some(level) = one.levels.get(&factor.key).filter(|_| !uses(&shown, factor)) {
            name.push_str(&format!("/{}={}", Key::short(&factor.key), one_line(&level.to_text())));
        }
    }
    name
}

/// The variables of one variant: those of the workload, and those its levels set.
pub(super) fn raw_vars(experiment: &Experiment, levels: &BTreeMap<String, Level>) -> BTreeMap<String, Level> {
    let mut vars = experiment.workload.vars.clone();
    for (key, level) in levels {
        if let Some(Key::Var(name)) = Key::parse(key) {
            vars.insert(name.to_owned(), level.clone());
        }
    }
    vars
}

/// Whether a factor makes a difference to any command; always, where there are none.
pub(super) fn is_used(experiment: &Experiment, factor: &Factor) -> bool {
    let Some(commands) = &experiment.commands else { return true };
    // A key that is none of a command's is reported as such.
    !matches!(Key::parse(&factor.key), Some(Key::Var(_)))
        || commands.list.iter().any(|command| uses(&used_vars(experiment, commands, command), factor))
}

fn uses(names: &BTreeSet<String>, factor: &Factor) -> bool {
    matches!(Key::parse(&factor.key), Some(Key::Var(name)) if names.contains(name))
}

/// The variables a command depends on, directly or through other variables.
fn used_vars(
    experiment: &Experiment,
    commands: &CommandsSection,
    command: &CommandSection,
) -> BTreeSet<String> {
    let texts =
        [Some(&command.run), command.name.as_ref(), command.prepare.as_ref(), command.conclude.as_ref()];
    let texts = texts.into_iter().flatten().chain(&commands.setup).chain(&commands.cleanup);
    reachable(&experiment.workload.vars, texts.map(String::as_str))
}

fn reachable<'a>(
    vars: &BTreeMap<String, Level>,
    texts: impl IntoIterator<Item = &'a str>,
) -> BTreeSet<String> {
    let mut open: Vec<String> = texts.into_iter().flat_map(vars::names_in).collect();
    let mut seen = BTreeSet::new();
    while let Some(name) = open.pop() {
        if let Some(level) = vars.get(&name).filter(|_| !seen.contains(&name)) {
            open.extend(vars::names_in(&level.to_text()));
        }
        seen.insert(name);
    }
    seen
}

#[cfg(test)]
mod tests {
    use super::*;

    fn factor(key: &str, levels: &[&str]) -> Factor {
        let levels = levels.iter().map(|text| Level::from_text(text)).collect();
        Factor { key: key.to_owned(), levels, sweep: false }
    }

    fn names(factors: &[Factor]) -> Vec<String> {
        let factors: Vec<&Factor> = factors.iter().collect();
        factor_names(&factors, &product(&factors))
    }

    #[test]
    fn names_are_as_short_as_they_can_be() {
        let commit = factor("settings.synchronous_commit", &["on", "off"]);
        assert_eq!(names(std::slice::from_ref(&commit)), ["on", "off"]);
        assert_eq!(names(&[factor("load.clients", &["1", "8"])]), ["clients=1", "clients=8"]);
        assert_eq!(
            names(&[
                factor("settings.journal_mode", &["WAL", "DELETE"]),
                factor("load.clients", &["1", "8"])
            ]),
            ["WAL/clients=1", "WAL/clients=8", "DELETE/clients=1", "DELETE/clients=8"]
        );
        assert_eq!(
            names(&[commit.clone(), factor("settings.fsync", &["on", "off"])])[1],
            "synchronous_commit=on/fsync=off"
        );
        // A factor with a single level distinguishes nothing.
        assert_eq!(
            names(&[commit, factor("settings.fsync", &["on"])]),
            ["synchronous_commit=on", "synchronous_commit=off"]
        );
        assert_eq!(names(&[factor("vars.x", &["a\n b", ""])]), ["x=a b", "x="]);
    }

    #[test]
    fn names_are_always_unique() {
        let tricky = [factor("vars.a", &["x/y", "x"]), factor("vars.b", &["z", "y/z"])];
        let made = names(&tricky);
        assert!(is_unique(&made), "{made:?}");
        let spaces = [factor("vars.a", &["x y", "x  y"])];
        assert_eq!(names(&spaces), ["a=x y", "a=x y (2)"].map(|n| n.replace("a=", "vars.a=")));
    }
}
