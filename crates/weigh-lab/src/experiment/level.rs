//! Levels as text, levels from text, and numeric sweeps.
//!
//! A [`Level`] is a typed TOML scalar; systems and reports see its text ([`Level::to_text`]). A [`Sweep`]
//! makes levels from `{ from, to, step | times }` and refuses one that never ends before making any.

use std::fmt;

use super::Level;

/// More variants than this are refused: a verdict shared among them would take for ever.
pub const VARIANTS_MAX: usize = 64;

impl Level {
    /// As a system is told and as a reader sees it: `128MB`, `8`, `0.5`, `true`.
    pub fn to_text(&self) -> String {
        self.to_string()
    }

    /// The level somebody means who types `text` without quotes: a number, `true`, `false`, else text.
    pub fn from_text(text: &str) -> Level {
        // `+5`, `007` and `1e3` stay text: their spelling may be meant.
        if let Ok(number) = text.parse::<i64>()
            && number.to_string() == text
        {
            return Level::Integer(number);
        }
        if let Ok(number) = text.parse::<f64>()
            && number.is_finite()
            && Level::Float(number).to_text() == text
        {
            return Level::Float(number);
        }
        match text {
            "true" => Level::Boolean(true),
            "false" => Level::Boolean(false),
            _ => Level::Text(text.to_owned()),
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Level::Text(text) => f.write_str(text),
            Level::Integer(number) => write!(f, "{number}"),
            Level::Float(number) => write!(f, "{number:?}"),
            Level::Boolean(value) => write!(f, "{value}"),
        }
    }
}

/// A numeric sweep as written. Both ends are included when they are hit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Sweep {
    pub(super) from: Number,
    pub(super) to: Number,
    pub(super) pace: Pace,
}

/// An integer or a number with a fraction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Number {
    Integer(i64),
    Float(f64),
}

/// How a sweep goes on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Pace {
    Step(Number),
    Times(Number),
}

impl Number {
    fn value(self) -> f64 {
        match self {
            // Exact up to 2^53; the check on the direction needs no more.
            Number::Integer(number) => number as f64,
            Number::Float(number) => number,
        }
    }
}

impl Sweep {
    /// Its levels, or why there are none: a lowercase fragment.
    pub(super) fn levels(&self) -> Result<Vec<Level>, String> {
        self.check()?;
        let levels = match (self.from, self.to, self.pace) {
            (Number::Integer(from), Number::Integer(to), Pace::Step(Number::Integer(step))) => {
                sweep(from, |&at| at.checked_add(step), |&at| if step > 0 { at <= to } else { at >= to })
                    .map(|all| all.into_iter().map(Level::Integer).collect())
            }
            (Number::Integer(from), Number::Integer(to), Pace::Times(Number::Integer(times))) => {
                sweep(from, |&at| at.checked_mul(times), |&at| at <= to)
                    .map(|all| all.into_iter().map(Level::Integer).collect())
            }
            (from, to, Pace::Step(step)) => {
                let (from, to, step) = (from.value(), to.value(), step.value());
                // 0.1 + 0.2 must not fall off the end.
                let slack = step.abs() * 1e-9;
                let within = |at: &f64| if step > 0.0 { *at <= to + slack } else { *at >= to - slack };
                let mut index = 0.0;
                let next = |_: &f64| {
                    index += 1.0;
                    Some(tidy(from + index * step))
                };
                sweep(from, next, within).map(|all| self.typed(all))
            }
            (from, to, Pace::Times(times)) => {
                let (from, to, times) = (from.value(), to.value(), times.value());
                sweep(from, |at| Some(tidy(at * times)), |at| *at <= to * (1.0 + 1e-9))
                    .map(|all| self.typed(all))
            }
        };
        levels.ok_or_else(|| format!("a sweep of {} levels, more than {VARIANTS_MAX}", self.count()))
    }

    /// About how many levels there would be.
    fn count(&self) -> f64 {
        let (from, to) = (self.from.value(), self.to.value());
        match self.pace {
            Pace::Step(step) => ((to - from) / step.value()).floor() + 1.0,
            Pace::Times(times) => ((to / from).ln() / times.value().ln()).floor() + 1.0,
        }
    }

    /// Refuses what would never arrive.
    fn check(&self) -> Result<(), String> {
        let (from, to) = (self.from.value(), self.to.value());
        match self.pace {
            Pace::Step(step) if step.value() == 0.0 => Err("a sweep that never ends: `step` is 0".to_owned()),
            Pace::Step(step) if (to - from) * step.value() < 0.0 => {
                Err(format!("a sweep that never ends: `step` {} leads away from `to`", self.show(step)))
            }
            Pace::Times(times) if times.value() <= 1.0 => {
                Err(format!("a sweep that never ends: `times` is {}, not above 1", self.show(times)))
            }
            Pace::Times(_) if from <= 0.0 => {
                Err("a sweep that never ends: `times` needs `from` above 0".to_owned())
            }
            Pace::Times(_) if to < from => {
                Err("a sweep that never ends: `times` leads away from `to`".to_owned())
            }
            _ => Ok(()),
        }
    }

    fn show(&self, number: Number) -> String {
        match number {
            Number::Integer(number) => number.to_string(),
            Number::Float(number) => format!("{number:?}"),
        }
    }

    /// Whole numbers stay whole when both ends are: `{ from = 1, to = 10, times = 1.5 }` is 1, 2, 3, 5, 8.
    fn typed(&self, values: Vec<f64>) -> Vec<Level> {
        let whole = matches!((self.from, self.to), (Number::Integer(_), Number::Integer(_)));
        let fractional_step = matches!(self.pace, Pace::Step(_));
        let mut levels: Vec<Level> = Vec::with_capacity(values.len());
        for value in values {
            let level = if whole && !fractional_step {
                #[expect(clippy::cast_possible_truncation, reason = "rounded, and between two i64")]
                Level::Integer(value.round() as i64)
            } else {
                Level::Float(value)
            };
            if levels.last() != Some(&level) {
                levels.push(level);
            }
        }
        levels
    }
}

/// Values from `from` on while they are within; `None` when there are too many.
fn sweep<T>(from: T, mut next: impl FnMut(&T) -> Option<T>, within: impl Fn(&T) -> bool) -> Option<Vec<T>> {
    let mut all = Vec::new();
    let mut at = Some(from);
    while let Some(value) = at.filter(&within) {
        at = next(&value);
        all.push(value);
        if all.len() > VARIANTS_MAX {
            return None;
        }
    }
    Some(all)
}

/// Without the last digits that only binary fractions have: 0.30000000000000004 is 0.3.
fn tidy(value: f64) -> f64 {
    format!("{value:.12e}").parse().unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(sweep: Sweep) -> Result<String, String> {
        Ok(sweep.levels()?.iter().map(Level::to_text).collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn sweeps_include_both_ends() {
        use Number::{Float, Integer};
        let ok = |from, to, pace, expected: &str| {
            assert_eq!(texts(Sweep { from, to, pace }).unwrap(), expected);
        };
        ok(Integer(1), Integer(64), Pace::Times(Integer(2)), "1 2 4 8 16 32 64");
        ok(Integer(1), Integer(10), Pace::Times(Integer(3)), "1 3 9");
        ok(Integer(1), Integer(10), Pace::Times(Float(1.5)), "1 2 3 5 8");
        ok(Integer(1), Integer(1), Pace::Step(Integer(5)), "1");
        ok(Integer(10), Integer(0), Pace::Step(Integer(-5)), "10 5 0");
        ok(Float(0.1), Float(0.5), Pace::Step(Float(0.1)), "0.1 0.2 0.3 0.4 0.5");
        ok(Integer(0), Integer(1), Pace::Step(Float(0.5)), "0.0 0.5 1.0");
        ok(
            Integer(i64::MAX - 1),
            Integer(i64::MAX),
            Pace::Step(Integer(1)),
            "9223372036854775806 9223372036854775807",
        );
    }

    #[test]
    fn endless_sweeps_are_refused() {
        use Number::{Float, Integer};
        let bad = |from, to, pace, part: &str| {
            let said = texts(Sweep { from, to, pace }).unwrap_err();
            assert!(said.contains(part), "{said}");
        };
        bad(Integer(1), Integer(9), Pace::Step(Integer(0)), "`step` is 0");
        bad(Integer(1), Integer(9), Pace::Step(Integer(-1)), "leads away");
        bad(Integer(9), Integer(1), Pace::Step(Float(0.5)), "leads away");
        bad(Integer(1), Integer(9), Pace::Times(Integer(1)), "not above 1");
        bad(Integer(1), Integer(9), Pace::Times(Float(0.5)), "not above 1");
        bad(Integer(0), Integer(9), Pace::Times(Integer(2)), "`from` above 0");
        bad(Integer(9), Integer(1), Pace::Times(Integer(2)), "leads away");
        bad(Integer(1), Integer(1_000_000), Pace::Step(Integer(1)), "a sweep of 1000000 levels");
        bad(Float(0.0), Float(1e300), Pace::Step(Float(1e-300)), "more than 64");
    }

    #[test]
    fn text_means_what_its_spelling_says() {
        assert_eq!(Level::from_text("8"), Level::Integer(8));
        assert_eq!(Level::from_text("0.5"), Level::Float(0.5));
        assert_eq!(Level::from_text("true"), Level::Boolean(true));
        for text in ["on", "007", "128MB", "", "1e3", "inf", "NaN"] {
            assert_eq!(Level::from_text(text), Level::Text(text.to_owned()), "{text}");
        }
    }
}
