//! Which bytes may stand where in a request (RFC 9110 5.5, 5.6.2; RFC 9112 3.2).
//!
//! Texts of operations are checked when the driver is built; values of parameters are made to fit while they are
//! written, because a byte out of place would end the line and turn the rest into another request.

/// Whether a text can name a method or a header field.
pub(super) fn is_token(text: &str) -> bool {
    let sign = |byte: u8| b"!#$%&'*+-.^_`|~".contains(&byte);
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || sign(byte))
}

/// The first character of a path and query that cannot stand in a request line.
pub(super) fn bad_in_path(text: &str) -> Option<char> {
    text.chars().find(|c| !u8::try_from(*c).is_ok_and(stands_in_path))
}

/// Whether a text can be the value of a header field.
pub(super) fn is_field_value(text: &str) -> bool {
    text.bytes().all(stands_in_field)
}

/// Unreserved and reserved characters of RFC 3986 and `%`, without `#`, which would begin a fragment.
const fn stands_in_path(byte: u8) -> bool {
    matches!(byte,
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'%'
        | b':' | b'/' | b'?' | b'[' | b']' | b'@'
        | b'!' | b'$' | b'&' | b'\'' | b'(' | b')' | b'*' | b'+' | b',' | b';' | b'=')
}

/// Everything but control characters; a tab is none here.
const fn stands_in_field(byte: u8) -> bool {
    byte == b'\t' || (byte >= b' ' && byte != 0x7f)
}

/// Percent-encodes from `begin` on what could not stand in a request line. Most values have nothing of the kind.
pub(super) fn make_path(out: &mut Vec<u8>, begin: usize) {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    let bad = out[begin..].iter().filter(|byte| !stands_in_path(**byte)).count();
    if bad == 0 {
        return;
    }
    let mut from = out.len();
    out.resize(from + 2 * bad, 0);
    let mut to = out.len();
    // From the end, so that nothing is overwritten before it is moved.
    while from < to {
        from -= 1;
        let byte = out[from];
        if stands_in_path(byte) {
            to -= 1;
            out[to] = byte;
        } else {
            to -= 3;
            out[to..to + 3].copy_from_slice(&[
                b'%',
                HEX[usize::from(byte >> 4)],
                HEX[usize::from(byte & 15)],
            ]);
        }
    }
}

/// Replaces what cannot stand in the value of a header field by a space: what RFC 9110 5.5 tells recipients to do.
pub(super) fn make_field_value(bytes: &mut [u8]) {
    for byte in bytes {
        if !stands_in_field(*byte) {
            *byte = b' ';
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn tokens_paths_and_fields_are_told_from_what_would_break_a_request() {
        assert!(is_token("GET") && is_token("X-Request-Id") && is_token("M-SEARCH"));
        assert!(!is_token("") && !is_token("GE T") && !is_token("a:b") && !is_token("é"));
        assert_eq!(bad_in_path("/a/$1?b=%20&c=[1]"), None);
        assert_eq!(bad_in_path("/a b"), Some(' '));
        assert_eq!(bad_in_path("/é"), Some('é'));
        assert_eq!(bad_in_path("/a\r\nX: y"), Some('\r'));
        assert!(is_field_value("a\tb é \"x\"") && !is_field_value("a\r\nX: y") && !is_field_value("\0"));
    }

    fn written(value: &[u8]) -> String {
        let mut out = [b"\0 ", value].concat();
        make_path(&mut out, 2);
        assert!(out.starts_with(b"\0 "), "what was there before is not touched");
        String::from_utf8(out[2..].to_vec()).unwrap()
    }

    #[test]
    fn values_are_percent_encoded_where_needed() {
        assert_eq!(written(b"-7"), "-7");
        assert_eq!(written(b"/a/b?c=d%20"), "/a/b?c=d%20");
        assert_eq!(written("a b#{é}\r\nz".as_bytes()), "a%20b%23%7B%C3%A9%7D%0D%0Az");
        assert_eq!(written(&[0, 255]), "%00%FF");
        assert_eq!(written(b""), "");
    }

    proptest! {
        #[test]
        fn no_value_breaks_a_line(mut bytes in prop::collection::vec(any::<u8>(), 0..50)) {
            let path = written(&bytes);
            prop_assert!(path.bytes().all(|byte| byte.is_ascii_graphic()));
            // `%` itself stays, so a value with one decodes to something else, as it should.
            if !bytes.contains(&b'%') {
                let decoded: Vec<u8> = percent_encoding::percent_decode_str(&path).collect();
                prop_assert_eq!(&decoded, &bytes);
            }
            make_field_value(&mut bytes);
            prop_assert!(!bytes.iter().any(|byte| matches!(byte, b'\r' | b'\n' | 0)));
        }
    }
}
