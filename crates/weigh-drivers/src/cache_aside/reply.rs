//! What of a store's reply is kept: PostgreSQL's `DataRow`.
//!
//! <https://www.postgresql.org/docs/current/protocol-message-formats.html>

/// The first column of the first row; `None` without a row, or where it is null.
pub(super) fn first_value(reply: &[u8]) -> Option<&[u8]> {
    let mut rest = reply;
    loop {
        let (kind, length) = (*rest.first()?, length_at(rest, 1)?);
        let body = rest.get(5..1 + length)?;
        if kind == b'D' {
            // Number of columns, then the first one's length; −1 is null.
            let length = length_at(body, 2)?;
            return body.get(6..6 + length);
        }
        rest = &rest[1 + length..];
    }
}

/// A length of four bytes; `None` for a negative one.
fn length_at(bytes: &[u8], at: usize) -> Option<usize> {
    let field: [u8; 4] = bytes.get(at..at + 4)?.try_into().ok()?;
    usize::try_from(i32::from_be_bytes(field)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(kind: u8, body: &[u8]) -> Vec<u8> {
        let length = u32::try_from(body.len() + 4).unwrap();
        [&[kind], &length.to_be_bytes()[..], body].concat()
    }

    fn reply(row: &[u8]) -> Vec<u8> {
        [message(b'2', b""), message(b'D', row), message(b'C', b"SELECT 1\0"), message(b'Z', b"I")].concat()
    }

    #[test]
    fn the_first_column_is_found() {
        let row = [&[0, 2], &3_i32.to_be_bytes()[..], b"abc", &1_i32.to_be_bytes()[..], b"x"].concat();
        assert_eq!(first_value(&reply(&row)), Some(&b"abc"[..]));
        let null = [&[0, 1], &(-1_i32).to_be_bytes()[..]].concat();
        assert_eq!(first_value(&reply(&null)), None);
        let none = [message(b'2', b""), message(b'C', b"SELECT 0\0"), message(b'Z', b"I")].concat();
        assert_eq!(first_value(&none), None);
        assert_eq!(first_value(&reply(&row)[..12]), None, "cut short");
    }
}
