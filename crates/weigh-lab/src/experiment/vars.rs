//! Variables: `{name}` in statements, commands and generator fields.
//!
//! `{{name}}` is a literal `{name}`, `${name}` belongs to the shell, and braces around anything that is not
//! a name (`{1,2}`, `{"a": 1}`) are left alone. Variables may use variables; a cycle is an error that shows it.

use std::collections::{BTreeMap, BTreeSet};

use super::Level;

/// Why a text could not be filled in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum VarError {
    /// `{name}` is not defined.
    Undefined(String),
    /// The names around the cycle, the first one again at the end.
    Cycle(Vec<String>),
    /// Filled in, the text would be longer than [`TEXT_BYTES_MAX`].
    TooLong,
    /// More than [`DEPTH_MAX`] variables inside each other.
    TooDeep,
}

/// Longest text substitution may make; a few nested variables can otherwise double it for ever.
pub(super) const TEXT_BYTES_MAX: usize = 1 << 20;

/// Variables inside variables; deeper is a mistake that would exhaust the stack.
pub(super) const DEPTH_MAX: usize = 100;

/// A piece of a text.
#[derive(Debug, PartialEq)]
enum Piece<'a> {
    Plain(&'a str),
    Var(&'a str),
}

/// Whether `text` can be the name of a variable.
pub(super) fn is_name(text: &str) -> bool {
    let mut chars = text.chars();
    chars.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && chars.all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// Splits a text at its variables.
fn pieces(text: &str) -> Vec<Piece<'_>> {
    let mut found = Vec::new();
    let mut plain_from = 0;
    let mut at = 0;
    while let Some(open) = text[at..].find('{').map(|found| at + found) {
        let literal = text[open..].strip_prefix("{{").and_then(|rest| {
            let name = &rest[..rest.find("}}")?];
            is_name(name).then_some(name.len() + 4)
        });
        let name = text[open + 1..]
            .find('}')
            .map(|len| &text[open + 1..open + 1 + len])
            .filter(|name| is_name(name));
        at = open + 1;
        if let Some(length) = literal {
            // Keep the inner pair of braces.
            found.push(Piece::Plain(&text[plain_from..open]));
            found.push(Piece::Plain(&text[open + 1..open + length - 1]));
            at = open + length;
            plain_from = at;
        } else if let Some(name) = name.filter(|_| !text[..open].ends_with('$')) {
            found.push(Piece::Plain(&text[plain_from..open]));
            found.push(Piece::Var(name));
            at = open + name.len() + 2;
            plain_from = at;
        }
    }
    found.push(Piece::Plain(&text[plain_from..]));
    found
}

/// The variables a text names, in order of their names.
pub(super) fn names_in(text: &str) -> BTreeSet<String> {
    pieces(text)
        .into_iter()
        .filter_map(|piece| match piece {
            Piece::Var(name) => Some(name.to_owned()),
            Piece::Plain(_) => None,
        })
        .collect()
}

/// The variables of one variant, each value filled in.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Vars {
    values: BTreeMap<String, String>,
}

impl Vars {
    /// Fills in variables that use variables. The error names the variable it is about.
    pub(super) fn resolve(raw: &BTreeMap<String, Level>) -> Result<Vars, (String, VarError)> {
        let mut vars = Vars::default();
        for name in raw.keys() {
            let mut path = Vec::new();
            vars.resolve_one(name, raw, &mut path).map_err(|error| (name.clone(), error))?;
        }
        Ok(vars)
    }

    fn resolve_one(
        &mut self,
        name: &str,
        raw: &BTreeMap<String, Level>,
        path: &mut Vec<String>,
    ) -> Result<(), VarError> {
        if self.values.contains_key(name) {
            return Ok(());
        }
        if let Some(start) = path.iter().position(|seen| seen == name) {
            let mut cycle = path.split_off(start);
            cycle.push(name.to_owned());
            return Err(VarError::Cycle(cycle));
        }
        if path.len() >= DEPTH_MAX {
            return Err(VarError::TooDeep);
        }
        let text = raw.get(name).ok_or_else(|| VarError::Undefined(name.to_owned()))?.to_text();
        path.push(name.to_owned());
        for inner in names_in(&text) {
            self.resolve_one(&inner, raw, path)?;
        }
        path.pop();
        let value = self.fill(&text)?;
        self.values.insert(name.to_owned(), value);
        Ok(())
    }

    /// The text with every variable replaced.
    pub(super) fn fill(&self, text: &str) -> Result<String, VarError> {
        let mut filled = String::with_capacity(text.len());
        for piece in pieces(text) {
            match piece {
                Piece::Plain(plain) => filled.push_str(plain),
                Piece::Var(name) => {
                    let value = self.values.get(name).ok_or_else(|| VarError::Undefined(name.to_owned()))?;
                    if filled.len() + value.len() > TEXT_BYTES_MAX {
                        return Err(VarError::TooLong);
                    }
                    filled.push_str(value);
                }
            }
        }
        Ok(filled)
    }

    /// Every name that may be used.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> + Clone {
        self.values.keys().map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vars(pairs: &[(&str, &str)]) -> Result<Vars, (String, VarError)> {
        Vars::resolve(&pairs.iter().map(|(k, v)| ((*k).to_owned(), Level::Text((*v).to_owned()))).collect())
    }

    #[test]
    fn braces_that_are_not_variables_stay() {
        let vars = vars(&[("n", "7"), ("twice", "{n}{n}")]).unwrap();
        for (text, filled) in [
            ("SELECT {n}", "SELECT 7"),
            ("{twice}!", "77!"),
            ("'{1,2}'", "'{1,2}'"),
            ("'{\"a\": 1}' {n}", "'{\"a\": 1}' 7"),
            ("{{n}}", "{n}"),
            ("'{{1,2},{3,4}}'", "'{{1,2},{3,4}}'"),
            ("${n} $ {n}", "${n} $ 7"),
            ("{", "{"),
            ("{n", "{n"),
            ("}{n}{", "}7{"),
            ("{ä}{n}ä", "{ä}7ä"),
            ("", ""),
        ] {
            assert_eq!(vars.fill(text).unwrap(), filled, "{text}");
        }
        assert_eq!(vars.fill("{m}"), Err(VarError::Undefined("m".to_owned())));
    }

    #[test]
    fn cycles_are_shown() {
        let (_, error) = vars(&[("a", "{b}"), ("b", "{c}"), ("c", "{a}")]).unwrap_err();
        assert_eq!(error, VarError::Cycle(["a", "b", "c", "a"].map(str::to_owned).to_vec()));
        let (_, error) = vars(&[("a", "{a}")]).unwrap_err();
        assert_eq!(error, VarError::Cycle(["a", "a"].map(str::to_owned).to_vec()));
        let (name, error) = vars(&[("a", "{b}")]).unwrap_err();
        assert_eq!((name.as_str(), error), ("a", VarError::Undefined("b".to_owned())));
    }

    #[test]
    fn growth_is_bounded() {
        let mut pairs = vec![("v0".to_owned(), "x".repeat(1000))];
        for n in 1..40 {
            let before = format!("{{v{}}}", n - 1);
            pairs.push((format!("v{n}"), before.repeat(4)));
        }
        let raw = pairs.into_iter().map(|(k, v)| (k, Level::Text(v))).collect();
        assert!(matches!(Vars::resolve(&raw), Err((_, VarError::TooLong))));
        let chain = |n: usize| (format!("v{n:05}"), Level::Text(format!("{{v{:05}}}", n + 1)));
        assert!(matches!(Vars::resolve(&(0..9_999).map(chain).collect()), Err((_, VarError::TooDeep))));
    }
}
