//! Parameters in the texts of commands and requests: `user:$1`.
//!
//! The rule is the drivers': a `$` with digits behind it is a parameter, `$$` is a dollar sign, any other `$` is
//! itself.

use std::collections::BTreeSet;

/// The numbers of the parameters a text uses. One beyond all bounds counts as the largest.
pub(super) fn parameters(text: &str) -> BTreeSet<u32> {
    let mut numbers = BTreeSet::new();
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        let behind = &rest[at + 1..];
        let digits = behind.find(|c: char| !c.is_ascii_digit()).unwrap_or(behind.len());
        if digits > 0 {
            numbers.insert(behind[..digits].parse().unwrap_or(u32::MAX));
            rest = &behind[digits..];
        } else {
            rest = behind.strip_prefix('$').unwrap_or(behind);
        }
    }
    numbers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_told_from_dollars() {
        let check = |text: &str, expected: &[u32]| {
            assert_eq!(parameters(text).into_iter().collect::<Vec<_>>(), expected, "{text}");
        };
        check("GET user:$1:$12", &[1, 12]);
        check("{\"$inc\": {\"n\": \"$2\"}}", &[2]);
        check("costs $$1 or $ 1$", &[]);
        check("$0 $99999999999", &[0, u32::MAX]);
    }
}
