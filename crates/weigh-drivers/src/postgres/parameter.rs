//! One parameter as bytes: binary where the type is known and the value fits it, else text.

use postgres_protocol::Oid;
use weigh_load::generator::Value;

/// Microseconds from 1970 to 2000, where the server's timestamps begin.
const EPOCH_2000_US: i64 = 946_684_800_000_000;

/// What is known of a parameter's type (OIDs of `pg_type.dat`, the same in every version).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Bool,
    Int2,
    Int4,
    Int8,
    Float8,
    /// text, varchar, bpchar, name, json, xml, unknown: binary and text form are the same.
    Text,
    Jsonb,
    Bytea,
    Uuid,
    /// timestamp and timestamptz, from microseconds since 1970.
    Timestamp,
    Other,
}

impl From<Oid> for Kind {
    fn from(oid: Oid) -> Self {
        match oid {
            16 => Self::Bool,
            17 => Self::Bytea,
            20 => Self::Int8,
            21 => Self::Int2,
            23 => Self::Int4,
            19 | 25 | 114 | 142 | 705 | 1042 | 1043 => Self::Text,
            701 => Self::Float8,
            1114 | 1184 => Self::Timestamp,
            2950 => Self::Uuid,
            3802 => Self::Jsonb,
            _ => Self::Other,
        }
    }
}

/// Format codes of the protocol.
pub(super) const TEXT: u8 = 0;
pub(super) const BINARY: u8 = 1;

impl Kind {
    /// The format its values usually have.
    pub(super) fn usual_format(self) -> u8 {
        if self == Self::Other { TEXT } else { BINARY }
    }

    /// Appends length and bytes of `value`; says the format it has.
    #[inline]
    pub(super) fn write(self, value: Value<'_>, out: &mut Vec<u8>) -> u8 {
        match (self, value) {
            (Self::Int8, Value::Integer(n)) => fixed(out, n.to_be_bytes()),
            (Self::Int4, Value::Integer(n)) => match i32::try_from(n) {
                Ok(n) => fixed(out, n.to_be_bytes()),
                // The server says that it is out of range.
                Err(_) => decimal(out, n),
            },
            (Self::Int2, Value::Integer(n)) => match i16::try_from(n) {
                Ok(n) => fixed(out, n.to_be_bytes()),
                Err(_) => decimal(out, n),
            },
            #[expect(clippy::cast_precision_loss, reason = "a double is what the statement asked for")]
            (Self::Float8, Value::Integer(n)) => fixed(out, (n as f64).to_be_bytes()),
            (Self::Bool, Value::Integer(n)) => fixed(out, [u8::from(n != 0)]),
            (Self::Timestamp, Value::Integer(us)) => {
                fixed(out, us.saturating_sub(EPOCH_2000_US).to_be_bytes())
            }
            (Self::Jsonb, Value::Text(text)) => {
                // Version 1 of the binary form is the text itself.
                length_of(out, text.len() + 1);
                out.push(1);
                out.extend_from_slice(text.as_bytes());
                BINARY
            }
            (Self::Text | Self::Bytea, Value::Text(text)) => bytes(out, text.as_bytes(), BINARY),
            (Self::Bytea, Value::Bytes(raw)) => bytes(out, raw, BINARY),
            (Self::Uuid, Value::Bytes(raw)) if raw.len() == 16 => bytes(out, raw, BINARY),
            (_, Value::Integer(n)) => decimal(out, n),
            (_, Value::Text(text)) => bytes(out, text.as_bytes(), TEXT),
            (_, Value::Bytes(raw)) => hexadecimal(out, raw),
        }
    }
}

/// NULL: length -1.
pub(super) fn write_null(out: &mut Vec<u8>) -> u8 {
    out.extend_from_slice(&(-1_i32).to_be_bytes());
    BINARY
}

fn length_of(out: &mut Vec<u8>, length: usize) {
    // Generated values are at most 16 MiB.
    out.extend_from_slice(&i32::try_from(length).unwrap_or(i32::MAX).to_be_bytes());
}

#[inline]
fn fixed<const N: usize>(out: &mut Vec<u8>, value: [u8; N]) -> u8 {
    length_of(out, N);
    out.extend_from_slice(&value);
    BINARY
}

fn bytes(out: &mut Vec<u8>, value: &[u8], format: u8) -> u8 {
    length_of(out, value.len());
    out.extend_from_slice(value);
    format
}

/// Decimal digits, without allocating.
fn decimal(out: &mut Vec<u8>, number: i64) -> u8 {
    let mut digits = [0_u8; 20];
    let mut at = digits.len();
    let mut rest = number.unsigned_abs();
    loop {
        at -= 1;
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    if number < 0 {
        at -= 1;
        digits[at] = b'-';
    }
    bytes(out, &digits[at..], TEXT)
}

/// `\x…`, the text form of bytea.
fn hexadecimal(out: &mut Vec<u8>, raw: &[u8]) -> u8 {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    length_of(out, 2 + 2 * raw.len());
    out.extend_from_slice(b"\\x");
    out.extend(raw.iter().flat_map(|byte| [DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]));
    TEXT
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(kind: Kind, value: Value<'_>, format: u8, expected: &[u8]) {
        let mut out = Vec::new();
        assert_eq!(kind.write(value, &mut out), format, "{kind:?} {value:?}");
        let (length, rest) = out.split_at(4);
        assert_eq!(i32::from_be_bytes(length.try_into().unwrap()), i32::try_from(rest.len()).unwrap());
        assert_eq!(rest, expected, "{kind:?} {value:?}");
    }

    #[test]
    fn values_are_binary_where_they_fit() {
        check(Kind::Int8, Value::Integer(-2), BINARY, &(-2_i64).to_be_bytes());
        check(Kind::Int4, Value::Integer(7), BINARY, &[0, 0, 0, 7]);
        check(Kind::Int2, Value::Integer(-1), BINARY, &[255, 255]);
        check(Kind::Int4, Value::Integer(1 << 40), TEXT, b"1099511627776");
        check(Kind::Int2, Value::Integer(-40_000), TEXT, b"-40000");
        check(Kind::Bool, Value::Integer(3), BINARY, &[1]);
        check(Kind::Float8, Value::Integer(1), BINARY, &1.0_f64.to_be_bytes());
        check(Kind::Timestamp, Value::Integer(EPOCH_2000_US + 5), BINARY, &5_i64.to_be_bytes());
        check(Kind::Jsonb, Value::Text("{}"), BINARY, b"\x01{}");
        check(Kind::Text, Value::Text("é"), BINARY, "é".as_bytes());
        check(Kind::Bytea, Value::Bytes(&[0, 255]), BINARY, &[0, 255]);
        check(Kind::Uuid, Value::Bytes(&[9; 16]), BINARY, &[9; 16]);
    }

    #[test]
    fn everything_else_is_text() {
        check(Kind::Other, Value::Integer(i64::MIN), TEXT, b"-9223372036854775808");
        check(Kind::Other, Value::Integer(0), TEXT, b"0");
        check(Kind::Text, Value::Integer(12), TEXT, b"12");
        check(Kind::Int4, Value::Text("5"), TEXT, b"5");
        check(Kind::Uuid, Value::Bytes(&[0xab]), TEXT, b"\\xab");
        check(Kind::Text, Value::Bytes(&[0x01, 0xfe]), TEXT, b"\\x01fe");
    }
}
