//! A decimal length that stands before what it counts.

/// The place for a length, as wide as the last one was: texts of one operation mostly have lengths of equally
/// many digits, so that filling it in moves nothing.
#[derive(Clone, Debug)]
pub(crate) struct LengthField {
    digits: usize,
}

impl Default for LengthField {
    fn default() -> Self {
        Self { digits: 1 }
    }
}

impl LengthField {
    /// Leaves room at the end of `out`; gives its position.
    #[inline]
    pub(crate) fn reserve(&self, out: &mut Vec<u8>) -> usize {
        let at = out.len();
        out.extend_from_slice(&[b'0'; MOST_DIGITS][..self.digits]);
        at
    }

    /// Writes `length` into the room at `at`; what follows is moved if that is too wide or too narrow.
    #[inline]
    pub(crate) fn fill(&mut self, at: usize, length: usize, out: &mut Vec<u8>) {
        let mut buffer = itoa::Buffer::new();
        let text = buffer.format(length).as_bytes();
        if text.len() != self.digits {
            self.resize(at, text.len(), out);
        }
        out[at..at + text.len()].copy_from_slice(text);
    }

    #[cold]
    fn resize(&mut self, at: usize, digits: usize, out: &mut Vec<u8>) {
        let (end, old) = (out.len(), at + self.digits);
        out.resize(end + digits, 0);
        out.copy_within(old..end, at + digits);
        out.truncate(end - self.digits + digits);
        self.digits = digits;
    }
}

/// Digits of the largest 64-bit number.
const MOST_DIGITS: usize = 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_of_any_width_are_filled_in() {
        let mut field = LengthField::default();
        for length in [0, 9, 10, 99, 100, 1234, 100_000, 12, 3] {
            let mut out = b"before ".to_vec();
            let at = field.reserve(&mut out);
            out.extend_from_slice(b" behind");
            field.fill(at, length, &mut out);
            assert_eq!(String::from_utf8(out).unwrap(), format!("before {length} behind"));
        }
    }
}
