//! Values of settings compared by their meaning.
//!
//! A server shows `128MB` as 16384 pages of 8 kB, `true` as `on`, and rounds what does not fit its unit. [`same`]
//! decides whether what was asked is what is in force; it never calls two different values the same.

/// A setting as `pg_settings` shows it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Shown {
    /// Value, in `unit`.
    pub(super) setting: String,
    /// `8kB`, `kB`, `ms`, …; empty for none.
    pub(super) unit: String,
    /// `bool`, `integer`, `real`, `enum`, `string`.
    pub(super) kind: String,
    /// Built-in default, in `unit`.
    pub(super) boot: String,
}

/// Whether `asked`, as an experiment writes it, is what `shown` shows. `None` when it cannot be told from
/// the texts (an alias of an enumeration, a list).
pub(super) fn same(asked: &str, shown: &Shown) -> Option<bool> {
    let asked = asked.trim();
    match shown.kind.as_str() {
        "bool" => Some(boolean(asked)? == boolean(&shown.setting)?),
        "integer" | "real" => Some(same_number(asked, shown)),
        "enum" => (asked.eq_ignore_ascii_case(&shown.setting)).then_some(true).or_else(|| {
            // Aliases of on and off; anything else could be a name only the server knows.
            match (boolean(asked), boolean(&shown.setting)) {
                (Some(one), Some(two)) => Some(one == two),
                _ => None,
            }
        }),
        _ => (list(asked) == list(&shown.setting)).then_some(true),
    }
}

/// Every spelling the server takes: unambiguous beginnings of the words, and digits.
fn boolean(text: &str) -> Option<bool> {
    let text = text.to_ascii_lowercase();
    let begins = |word: &str, least: usize| text.len() >= least && word.starts_with(text.as_str());
    if begins("on", 2) || begins("true", 1) || begins("yes", 1) || text == "1" {
        return Some(true);
    }
    (begins("off", 2) || begins("false", 1) || begins("no", 1) || text == "0").then_some(false)
}

/// Lists are compared without the space after commas and without quotes.
fn list(text: &str) -> String {
    text.chars().filter(|letter| !letter.is_whitespace() && *letter != '"').collect::<String>()
}

fn same_number(asked: &str, shown: &Shown) -> bool {
    let Ok(effective) = shown.setting.parse::<f64>() else { return false };
    let Some(wanted) = in_unit(asked, &shown.unit) else { return false };
    // -1 mostly means "choose yourself": the server then shows what it chose.
    if wanted == -1.0 && shown.boot == "-1" {
        return true;
    }
    let tolerance = match shown.kind.as_str() {
        // The server rounds to the nearest whole unit.
        "integer" => 0.5,
        // Shown with six significant digits.
        _ => 1e-5 * wanted.abs().max(1e-9),
    };
    (wanted - effective).abs() <= tolerance
}

/// A number with an optional unit, converted to the unit of the setting.
fn in_unit(asked: &str, unit: &str) -> Option<f64> {
    let digits = |letter: char| letter.is_ascii_digit() || "+-.".contains(letter);
    if let Some(hex) = asked.strip_prefix("0x").or_else(|| asked.strip_prefix("0X")) {
        return Some(i64::from_str_radix(hex, 16).ok()? as f64);
    }
    let mut end = asked.find(|letter| !digits(letter)).unwrap_or(asked.len());
    // An exponent: `1e-3`, but not the first letter of a unit.
    let rest = &asked[end..];
    if let Some(exponent) = rest.strip_prefix(['e', 'E'])
        && exponent.starts_with(digits)
    {
        end += 1 + exponent.find(|letter| !digits(letter)).unwrap_or(exponent.len());
    }
    let number: f64 = asked[..end].parse().ok()?;
    let written = asked[end..].trim();
    if written.is_empty() {
        return Some(number);
    }
    Some(number * size(written)? / size(unit)?)
}

/// Bytes or microseconds in one unit, which may itself have a factor (`8kB`, `16MB`).
fn size(unit: &str) -> Option<f64> {
    let split = unit.find(|letter: char| !letter.is_ascii_digit())?;
    let factor: f64 = if split == 0 { 1.0 } else { unit[..split].parse().ok()? };
    let base = match &unit[split..] {
        "B" => 1.0,
        "kB" => 1024.0,
        "MB" => 1024.0 * 1024.0,
        "GB" => 1024.0 * 1024.0 * 1024.0,
        "TB" => 1024.0 * 1024.0 * 1024.0 * 1024.0,
        "us" => 1.0,
        "ms" => 1e3,
        "s" => 1e6,
        "min" => 60e6,
        "h" => 3600e6,
        "d" => 86_400e6,
        _ => return None,
    };
    Some(factor * base)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(asked: &str, kind: &str, setting: &str, unit: &str, expected: Option<bool>) {
        let shown =
            Shown { setting: setting.into(), unit: unit.into(), kind: kind.into(), boot: "-1".into() };
        assert_eq!(same(asked, &shown), expected, "{asked} against {setting} {unit}");
    }

    #[test]
    fn numbers_with_units() {
        check("128MB", "integer", "16384", "8kB", Some(true));
        check("16384", "integer", "16384", "8kB", Some(true));
        check("129MB", "integer", "16384", "8kB", Some(false));
        check("1GB", "integer", "1024", "MB", Some(true));
        check("1001kB", "integer", "125", "8kB", Some(true));
        check("5min", "integer", "300", "s", Some(true));
        check("5 min", "integer", "300", "s", Some(true));
        check("200", "integer", "200", "ms", Some(true));
        check("0.5s", "integer", "500", "ms", Some(true));
        check("-1", "integer", "512", "8kB", Some(true));
        check("64MB", "integer", "4", "16MB", Some(true));
        check("1.1", "real", "1.1", "", Some(true));
        check("1e-1", "real", "0.1", "", Some(true));
        check("0.123456789", "real", "0.123457", "", Some(true));
        check("0.2", "real", "0.21", "", Some(false));
        check("lots", "integer", "1", "", Some(false));
        check("0x10", "integer", "16", "", Some(true));
    }

    #[test]
    fn words() {
        for asked in ["on", "true", "TRUE", "t", "yes", "1"] {
            check(asked, "bool", "on", "", Some(true));
            check(asked, "bool", "off", "", Some(false));
        }
        check("of", "bool", "off", "", Some(true));
        check("maybe", "bool", "off", "", None);
        check("Off", "enum", "off", "", Some(true));
        check("false", "enum", "off", "", Some(true));
        check("off", "enum", "on", "", Some(false));
        check("hot_standby", "enum", "replica", "", None);
        check("on", "enum", "pglz", "", None);
        check("a, b", "string", "a,b", "", Some(true));
        check("a", "string", "b", "", None);
    }
}
