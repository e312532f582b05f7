//! Levels as numbers: `8`, `0.5`, `128MB`, `10k`, `200ms`, `5%`.

/// What the levels of a factor measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Dimension {
    /// A bare number; `k`, `M`, `G` are thousands.
    Number,
    /// Bytes. `kB`, `MB`, `GB`, `TB` are decimal, as in every report, `KiB` … binary; a system that reads `MB` as 2^20 bytes shifts a
    /// curve and leaves its shape as it is.
    Bytes,
    /// Seconds.
    Seconds,
    /// A share of one, written in per cent.
    Share,
}

/// Suffix, factor, dimension. A bare `m` could be minutes, metres or thousandths: it is none of them here.
const UNITS: [(&str, f64, Dimension); 25] = [
    ("k", 1e3, Dimension::Number),
    ("K", 1e3, Dimension::Number),
    ("M", 1e6, Dimension::Number),
    ("G", 1e9, Dimension::Number),
    ("B", 1.0, Dimension::Bytes),
    ("kB", 1e3, Dimension::Bytes),
    ("KB", 1e3, Dimension::Bytes),
    ("kb", 1e3, Dimension::Bytes),
    ("MB", 1e6, Dimension::Bytes),
    ("mb", 1e6, Dimension::Bytes),
    ("GB", 1e9, Dimension::Bytes),
    ("gb", 1e9, Dimension::Bytes),
    ("TB", 1e12, Dimension::Bytes),
    ("KiB", 1_024.0, Dimension::Bytes),
    ("MiB", 1_048_576.0, Dimension::Bytes),
    ("GiB", 1_073_741_824.0, Dimension::Bytes),
    ("ns", 1e-9, Dimension::Seconds),
    ("us", 1e-6, Dimension::Seconds),
    ("µs", 1e-6, Dimension::Seconds),
    ("ms", 1e-3, Dimension::Seconds),
    ("s", 1.0, Dimension::Seconds),
    ("min", 60.0, Dimension::Seconds),
    ("h", 3_600.0, Dimension::Seconds),
    ("d", 86_400.0, Dimension::Seconds),
    ("%", 0.01, Dimension::Share),
];

/// The level as a number with what it measures; `None` for anything that is more than a number and a unit.
pub(super) fn parse(text: &str) -> Option<(f64, Dimension)> {
    let text = text.trim();
    // Exponents first: the `e` of `1e3` begins no unit.
    if let Some(value) = finite(text) {
        return Some((value, Dimension::Number));
    }
    let unit_at = text.find(|letter: char| !(letter.is_ascii_digit() || "+-._".contains(letter)))?;
    let (number, unit) = text.split_at(unit_at);
    let (_, factor, dimension) = UNITS.iter().find(|(name, _, _)| *name == unit.trim())?;
    Some((finite(number)? * factor, *dimension)).filter(|(value, _)| value.is_finite())
}

fn finite(text: &str) -> Option<f64> {
    // `inf` and `nan` are numbers to the parser and words to everybody else.
    let digits = text.contains(|letter: char| letter.is_ascii_digit());
    text.replace('_', "").parse::<f64>().ok().filter(|value| digits && value.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_numbers_with_or_without_a_unit() {
        let cases = [
            ("8", 8.0, Dimension::Number),
            ("0.5", 0.5, Dimension::Number),
            ("-1", -1.0, Dimension::Number),
            ("1e3", 1_000.0, Dimension::Number),
            ("1_000", 1_000.0, Dimension::Number),
            ("10k", 10_000.0, Dimension::Number),
            ("128MB", 128e6, Dimension::Bytes),
            ("4 KiB", 4_096.0, Dimension::Bytes),
            ("200ms", 0.2, Dimension::Seconds),
            ("5min", 300.0, Dimension::Seconds),
        ];
        for (text, value, dimension) in cases {
            assert_eq!(parse(text), Some((value, dimension)), "{text}");
        }
        assert_eq!(parse("10%").map(|(_, dimension)| dimension), Some(Dimension::Share));
        for text in ["", "on", "inf", "NaN", "1.2.3", "8 apples", "5m", "--1", "k", "1e999", "v15"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
