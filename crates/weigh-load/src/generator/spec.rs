//! What an experiment says about one parameter, and what can be wrong with it.

use serde::{Deserialize, Serialize};

use super::document;

/// Longest generated string, byte string or document.
pub const SIZE_LIMIT_BYTES: usize = 16 << 20;

/// Most values a zipf range may hold: above it ranks are no longer exact in a double.
const ZIPF_RANGE_LIMIT: u128 = 1 << 53;

/// What an experiment says about one parameter.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum GeneratorSpec {
    /// 64-bit integers that never repeat within a run: unique over clients, trials and parameters of equal
    /// `start`. The clients of one trial take turns (so a b-tree grows at its right edge, as with a real
    /// sequence); each trial starts 2^40 higher than the one before.
    Sequence {
        /// Every value is greater than this. A table that holds keys 1 to N says N.
        #[serde(default)]
        start: i64,
    },
    /// A sequence in which every so many-th value is the one before it once more: what shows how a store reports
    /// duplicates of a key.
    Repeats {
        /// Every value is at least this; as that of a sequence.
        #[serde(default)]
        start: i64,
        /// Of so many values one is a repetition; at least 2.
        every: u32,
    },
    /// Integers, each equally likely.
    Uniform {
        /// Smallest value.
        min: i64,
        /// Largest value, included.
        max: i64,
    },
    /// Integers where rank k is drawn in proportion to 1 / k^exponent; ranks are scattered over the range
    /// unless `scatter = false`.
    Zipf {
        /// Smallest value.
        min: i64,
        /// Largest value, included.
        max: i64,
        /// Skew, above 0; 1 is Zipf's law.
        exponent: f64,
        /// Scatter the ranks over the range.
        #[serde(default = "yes")]
        scatter: bool,
    },
    /// Text of letters and digits.
    String {
        /// Length, characters.
        size: usize,
    },
    /// Random bytes.
    Bytes {
        /// Length, bytes.
        size: usize,
    },
    /// A JSON object of exactly this many bytes: id, name, numbers, a nested object and filler.
    Json {
        /// Length of its text, bytes.
        size: usize,
    },
    /// One of the values, each equally likely.
    Choice {
        /// The values, as text.
        values: Vec<String>,
    },
    /// The wall clock, microseconds since 1970, when the request was encoded: that is one operation ahead
    /// of when it is sent.
    Time {},
}

fn yes() -> bool {
    true
}

/// What is wrong with a [`GeneratorSpec`].
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum GeneratorError {
    /// The range holds no value.
    #[error("`min` ({min}) is greater than `max` ({max})")]
    EmptyRange {
        /// As given.
        min: i64,
        /// As given.
        max: i64,
    },
    /// The range is too large for exact ranks.
    #[error("a zipf range may hold at most 2^53 values; `{min}` to `{max}` holds more")]
    RangeTooLarge {
        /// As given.
        min: i64,
        /// As given.
        max: i64,
    },
    /// The skew is not a number above 0.
    #[error("`exponent` must be a number above 0, not `{0}`")]
    Exponent(f64),
    /// A length outside what can be made.
    #[error("`size` must be {smallest} to {SIZE_LIMIT_BYTES}, not `{size}`")]
    Size {
        /// As given.
        size: usize,
        /// Smallest length of this kind.
        smallest: usize,
    },
    /// A choice without values.
    #[error("`values` must name at least one value")]
    NoValues,
    /// A sequence that would repeat everything.
    #[error("`every` must be 2 or more, not `{0}`")]
    Every(u32),
    /// A start that leaves no room for a run's values.
    #[error("`start` must be 0 to 2^62, not `{0}`")]
    Start(i64),
}

impl GeneratorSpec {
    /// Says what makes the spec impossible, if anything does.
    pub fn validate(&self) -> Result<(), GeneratorError> {
        let sized = |size: usize, smallest: usize| {
            let fits = (smallest..=SIZE_LIMIT_BYTES).contains(&size);
            fits.then_some(()).ok_or(GeneratorError::Size { size, smallest })
        };
        match *self {
            Self::Sequence { start } | Self::Repeats { start, .. } if !(0..=1 << 62).contains(&start) => {
                Err(GeneratorError::Start(start))
            }
            Self::Repeats { every, .. } if every < 2 => Err(GeneratorError::Every(every)),
            Self::Uniform { min, max } | Self::Zipf { min, max, .. } if min > max => {
                Err(GeneratorError::EmptyRange { min, max })
            }
            Self::Zipf { exponent, .. } if !(exponent.is_finite() && exponent > 0.0) => {
                Err(GeneratorError::Exponent(exponent))
            }
            Self::Zipf { min, max, .. } if i128::from(max) - i128::from(min) >= ZIPF_RANGE_LIMIT as i128 => {
                Err(GeneratorError::RangeTooLarge { min, max })
            }
            Self::String { size } | Self::Bytes { size } => sized(size, 0),
            Self::Json { size } => sized(size, document::SMALLEST_BYTES),
            Self::Choice { ref values } if values.is_empty() => Err(GeneratorError::NoValues),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(spec: &GeneratorSpec) -> String {
        spec.validate().unwrap_err().to_string()
    }

    #[test]
    fn impossible_specs_say_what_is_wrong() {
        assert_eq!(
            message(&GeneratorSpec::Uniform { min: 2, max: 1 }),
            "`min` (2) is greater than `max` (1)"
        );
        let zipf = |exponent| GeneratorSpec::Zipf { min: 1, max: 9, exponent, scatter: true };
        assert_eq!(message(&zipf(0.0)), "`exponent` must be a number above 0, not `0`");
        assert_eq!(message(&zipf(f64::NAN)), "`exponent` must be a number above 0, not `NaN`");
        let wide = GeneratorSpec::Zipf { min: i64::MIN, max: i64::MAX, exponent: 1.0, scatter: true };
        assert!(message(&wide).starts_with("a zipf range may hold at most 2^53 values"));
        assert_eq!(message(&GeneratorSpec::Json { size: 3 }), "`size` must be 32 to 16777216, not `3`");
        assert_eq!(
            message(&GeneratorSpec::Bytes { size: usize::MAX }),
            "`size` must be 0 to 16777216, not `18446744073709551615`"
        );
        assert_eq!(
            message(&GeneratorSpec::Choice { values: vec![] }),
            "`values` must name at least one value"
        );
        assert_eq!(message(&GeneratorSpec::Sequence { start: -1 }), "`start` must be 0 to 2^62, not `-1`");
        assert_eq!(
            message(&GeneratorSpec::Repeats { start: 0, every: 1 }),
            "`every` must be 2 or more, not `1`"
        );
    }

    #[test]
    fn possible_specs_pass() {
        assert_eq!(GeneratorSpec::Uniform { min: i64::MIN, max: i64::MAX }.validate(), Ok(()));
        assert_eq!(GeneratorSpec::Time {}.validate(), Ok(()));
        assert_eq!(GeneratorSpec::String { size: 0 }.validate(), Ok(()));
    }
}
