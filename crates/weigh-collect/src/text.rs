//! The few forms in which the kernel writes numbers: fields, `key value` and `key: value` lines.
//!
//! Works on bytes, since names of processes and paths need not be UTF-8. Nothing here allocates,
//! panics, or takes a number that does not fit for one that does.

/// The lines, without their ends.
pub(crate) fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|&byte| byte == b'\n').filter(|line| !line.is_empty())
}

/// The fields between blanks.
pub(crate) fn fields(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(u8::is_ascii_whitespace).filter(|field| !field.is_empty())
}

/// A whole number in decimal; nothing else, no sign.
pub(crate) fn whole(field: &[u8]) -> Option<u64> {
    if field.is_empty() {
        return None;
    }
    field.iter().try_fold(0u64, |sum, byte| {
        let digit = byte.is_ascii_digit().then(|| u64::from(byte - b'0'))?;
        sum.checked_mul(10)?.checked_add(digit)
    })
}

/// A whole number that fits 32 bits.
pub(crate) fn whole_u32(field: &[u8]) -> Option<u32> {
    whole(field).and_then(|number| u32::try_from(number).ok())
}

/// A decimal fraction (`0.27`).
pub(crate) fn fraction(field: &[u8]) -> Option<f64> {
    std::str::from_utf8(field).ok()?.parse().ok().filter(|number: &f64| number.is_finite())
}

/// The first field as a number.
pub(crate) fn first_whole(text: &[u8]) -> Option<u64> {
    whole(fields(text).next()?)
}

/// The number on the line that begins with the word `key`, with or without a colon after it.
pub(crate) fn keyed(text: &[u8], key: &str) -> Option<u64> {
    lines(text).find_map(|line| {
        let (name, value) = key_and_value(line)?;
        (name == key.as_bytes()).then(|| whole(value)).flatten()
    })
}

/// The first two fields of a line, without the colon after the first.
pub(crate) fn key_and_value(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let mut fields = fields(line);
    let name = fields.next()?;
    Some((name.strip_suffix(b":").unwrap_or(name), fields.next()?))
}

/// The text without blanks at its ends; what is not UTF-8 is replaced.
pub(crate) fn trimmed(text: &[u8]) -> String {
    String::from_utf8_lossy(text.trim_ascii()).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_exact_or_absent() {
        assert_eq!(whole(b"18446744073709551615"), Some(u64::MAX));
        assert_eq!(whole(b"18446744073709551616"), None);
        assert_eq!(whole(b"-1"), None);
        assert_eq!(whole(b""), None);
        assert_eq!(whole_u32(b"4294967296"), None);
        assert_eq!(fraction(b"inf"), None);
        assert_eq!(fraction(b"0.27"), Some(0.27));
    }

    #[test]
    fn a_key_is_a_whole_word() {
        let text = b"pgfault 5\npgfault_x 7\nMemFree:   12 kB\n";
        assert_eq!(keyed(text, "pgfault"), Some(5));
        assert_eq!(keyed(text, "pgfaul"), None);
        assert_eq!(keyed(text, "MemFree"), Some(12));
    }
}
