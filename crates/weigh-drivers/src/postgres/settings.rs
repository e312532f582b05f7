//! Session settings: applied, read back, compared.
//!
//! A server may round a value (`work_mem = '100.3kB'`) or spell it in its own way (`64MB` for `65536`, `on` for
//! `true`). Equal meaning passes; a different value in force is an error that names both.

use weigh_load::DriverError;

use super::dialogue::Dialogue;

/// Applies the settings in order, then reads every one back.
pub(super) fn apply(dialogue: &mut Dialogue, settings: &[(String, String)]) -> Result<(), DriverError> {
    for (name, value) in settings {
        let sql = format!("SELECT set_config({}, {}, false)", literal(name), literal(value));
        dialogue.query(&sql).map_err(|error| DriverError {
            message: format!("setting `{name}` to `{value}` was refused: {}", error.message),
            source: error.source,
        })?;
    }
    // Afterwards, so that a setting that another one changes is noticed.
    settings.iter().try_for_each(|(name, value)| read_back(dialogue, name, value))
}

fn read_back(dialogue: &mut Dialogue, name: &str, asked: &str) -> Result<(), DriverError> {
    let quoted = literal(name);
    let sql = format!(
        "SELECT current_setting({quoted}), s.setting, s.vartype, s.unit FROM (SELECT 1) one \
         LEFT JOIN pg_settings s ON lower(s.name) = lower({quoted})"
    );
    let mut row = dialogue.query(&sql)?.into_iter().next().unwrap_or_default().into_iter();
    let mut field = || row.next().flatten();
    let (shown, raw, kind, unit) = (field().unwrap_or_default(), field(), field(), field());
    let equal = same_text(asked, &shown)
        || match kind.as_deref() {
            Some("bool") => boolean(asked).is_some() && boolean(asked) == boolean(&shown),
            Some("integer" | "real") => {
                let raw = raw.and_then(|raw| raw.parse().ok());
                same_number(asked, raw, unit.as_deref().unwrap_or_default())
            }
            _ => false,
        };
    if equal {
        return Ok(());
    }
    Err(DriverError::new(format!("setting `{name}` is `{shown}` in force, not `{asked}` as asked")))
}

/// A string literal with standard escapes.
fn literal(text: &str) -> String {
    let doubled = text.replace('\'', "''");
    if text.contains('\\') { format!("E'{}'", doubled.replace('\\', "\\\\")) } else { format!("'{doubled}'") }
}

/// Equal but for case, blanks and quotes; a list may have got more members (`ISO` is shown as `ISO, MDY`).
fn same_text(asked: &str, shown: &str) -> bool {
    let plain = |text: &str| -> Vec<String> {
        let letters = text.chars().filter(|c| !matches!(c, '"' | '-'));
        let text: String = letters.flat_map(char::to_lowercase).collect();
        text.split(',').map(|part| part.trim().to_owned()).collect()
    };
    let (asked, shown) = (plain(asked), plain(shown));
    asked == shown || (shown.len() > 1 && asked.iter().all(|part| !part.is_empty() && shown.contains(part)))
}

fn boolean(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "on" | "true" | "yes" | "1" | "t" | "y" => Some(true),
        "off" | "false" | "no" | "0" | "f" | "n" => Some(false),
        _ => None,
    }
}

/// Whether `asked` (with a unit of its own, or in the setting's) is `raw` of the setting's unit.
fn same_number(asked: &str, raw: Option<f64>, unit: &str) -> bool {
    let Some(raw) = raw else { return false };
    let asked = asked.trim();
    let end = asked.find(|c: char| !(c.is_ascii_digit() || "+-.eE".contains(c))).unwrap_or(asked.len());
    let (number, suffix) = (&asked[..end], asked[end..].trim());
    let Ok(number) = number.parse::<f64>() else { return false };
    let factor = if suffix.is_empty() {
        Some(1.0)
    } else {
        base_units(suffix)
            .zip(base_units(unit))
            .and_then(|(asked, own)| (asked.0 == own.0).then_some(asked.1 / own.1))
    };
    factor.is_some_and(|factor| (number * factor - raw).abs() <= raw.abs() * 1e-9)
}

#[derive(Clone, Copy, PartialEq)]
enum Dimension {
    Bytes,
    Time,
}

/// A unit such as `8kB`, `MB`, `min` in bytes or milliseconds.
fn base_units(unit: &str) -> Option<(Dimension, f64)> {
    let digits = unit.find(|c: char| !c.is_ascii_digit()).unwrap_or(unit.len());
    let count = if digits == 0 { 1.0 } else { unit[..digits].parse().ok()? };
    let (dimension, size) = match &unit[digits..] {
        "B" => (Dimension::Bytes, 1.0),
        "kB" => (Dimension::Bytes, 1024.0),
        "MB" => (Dimension::Bytes, 1024.0 * 1024.0),
        "GB" => (Dimension::Bytes, 1024.0 * 1024.0 * 1024.0),
        "TB" => (Dimension::Bytes, 1024.0 * 1024.0 * 1024.0 * 1024.0),
        "us" => (Dimension::Time, 0.001),
        "ms" => (Dimension::Time, 1.0),
        "s" => (Dimension::Time, 1000.0),
        "min" => (Dimension::Time, 60_000.0),
        "h" => (Dimension::Time, 3_600_000.0),
        "d" => (Dimension::Time, 86_400_000.0),
        _ => return None,
    };
    Some((dimension, count * size))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_meaning_is_equal() {
        assert!(same_number("64MB", Some(65536.0), "kB"));
        assert!(same_number("65536", Some(65536.0), "kB"));
        assert!(same_number("1GB", Some(131_072.0), "8kB"));
        assert!(same_number("1.5s", Some(1500.0), "ms"));
        assert!(same_number("1e2", Some(100.0), ""));
        assert!(same_number("-1", Some(-1.0), "kB"));
        assert!(!same_number("100.7kB", Some(101.0), "kB"));
        assert!(!same_number("10s", Some(10.0), "ms"));
        assert!(!same_number("10s", Some(10.0), "kB"));
        assert!(!same_number("ten", Some(10.0), ""));
        assert!(same_text("LOCAL", "local") && same_text("iso", "ISO, MDY") && same_text("utf-8", "UTF8"));
        assert!(same_text("a,  \"b\"", "a, b") && !same_text("a", "b") && !same_text("", "a, b"));
        assert_eq!((boolean("TRUE"), boolean("0"), boolean("local")), (Some(true), Some(false), None));
    }

    #[test]
    fn literals_are_safe() {
        assert_eq!(literal("it's"), "'it''s'");
        assert_eq!(literal("a\\'b"), "E'a\\\\''b'");
    }
}
