//! The last request of an operation, changed into the next one.
//!
//! Most parameters are numbers of equally many digits, and then two requests differ in nothing but these digits: they are
//! overwritten in place, and the whole request is appended with one copy. Encoding a GET that way takes about a third
//! of rendering it part by part.

use weigh_load::generator::{Row, Value};

use super::word::Word;

/// Longer requests are not worth a second copy.
const LONGEST: usize = 112;

/// Most numbers in a request that is remembered.
const MOST_SLOTS: usize = 4;

/// The last request of an operation and where its parameters stand. In one piece: what one connection needs was last
/// touched when all the others had their turn, and every other place in memory would be waited for.
#[derive(Clone, Debug)]
pub(crate) struct LastRequest {
    /// 0: there is none that could be changed.
    length: usize,
    slot_count: usize,
    slots: [Slot; MOST_SLOTS],
    bytes: [u8; LONGEST],
}

/// A number in the request.
#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    at: u8,
    width: u8,
    parameter: u16,
}

impl Default for LastRequest {
    fn default() -> Self {
        Self { length: 0, slot_count: 0, slots: [Slot::default(); MOST_SLOTS], bytes: [0; LONGEST] }
    }
}

impl LastRequest {
    /// Appends the request with the values of `row`, if it is like the last one but for digits.
    #[inline]
    pub(crate) fn append_like(&mut self, row: Row<'_>, out: &mut Vec<u8>) -> bool {
        for Slot { at, width, parameter } in self.slots.iter().take(self.slot_count) {
            let Some(Value::Integer(number)) = row.get(usize::from(*parameter)) else {
                return self.give_up();
            };
            let at = usize::from(*at);
            if !overwrite(&mut self.bytes[at..at + usize::from(*width)], number) {
                return self.give_up();
            }
        }
        out.extend_from_slice(&self.bytes[..self.length]);
        self.length > 0
    }

    #[cold]
    fn give_up(&mut self) -> bool {
        (self.length, self.slot_count) = (0, 0);
        false
    }

    /// Remembers a request, whose words with parameters begin where `words` says.
    pub(crate) fn remember<'a>(
        &mut self,
        request: &[u8],
        words: impl Iterator<Item = (usize, &'a Word)>,
        row: Row<'_>,
    ) {
        self.give_up();
        let Some(bytes) = self.bytes.get_mut(..request.len()) else { return };
        bytes.copy_from_slice(request);
        for (begin, word) in words {
            let Word::Template(template) = word else { continue };
            for (place, width, parameter) in template.places(row) {
                let is_number = matches!(row.get(parameter), Some(Value::Integer(_)));
                let slot = slot(begin + place, width, parameter).filter(|_| is_number);
                let (Some(slot), Some(free)) = (slot, self.slots.get_mut(self.slot_count)) else {
                    self.give_up();
                    return;
                };
                *free = slot;
                self.slot_count += 1;
            }
        }
        self.length = request.len();
    }
}

/// The two digits of every number below 100.
const PAIRS: [[u8; 2]; 100] = {
    let (mut pairs, mut number) = ([*b"00"; 100], 0_u8);
    while number < 100 {
        pairs[number as usize] = [b'0' + number / 10, b'0' + number % 10];
        number += 1;
    }
    pairs
};

/// Writes the digits of `number` into `place`; `false` if they are not exactly as many, or there is a sign.
#[inline]
fn overwrite(place: &mut [u8], number: i64) -> bool {
    let Ok(mut rest) = u64::try_from(number) else { return false };
    let mut fours = place.rchunks_exact_mut(4);
    for four in &mut fours {
        let low = (rest % 10_000) as usize;
        rest /= 10_000;
        four[..2].copy_from_slice(&PAIRS[low / 100]);
        four[2..].copy_from_slice(&PAIRS[low % 100]);
    }
    for digit in fours.into_remainder().iter_mut().rev() {
        *digit = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    rest == 0 && (place.len() == 1 || place.first() != Some(&b'0'))
}

fn slot(at: usize, width: usize, parameter: usize) -> Option<Slot> {
    Some(Slot {
        at: at.try_into().ok()?,
        width: width.try_into().ok()?,
        parameter: parameter.try_into().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn digits_are_overwritten_by_as_many() {
        let numbers = (0..30_000).chain([99_999, 123_456_789, 100_000_000_000, i64::MAX, i64::MAX / 10]);
        for number in numbers {
            let digits = number.to_string();
            let mut place = vec![b'#'; digits.len()];
            assert!(overwrite(&mut place, number));
            assert_eq!(place, digits.as_bytes());
        }
    }

    proptest! {
        #[test]
        fn only_as_many_digits_will_do(number in any::<i64>(), shift in 0_u32..63, width in 1_usize..21) {
            let number = number >> shift;
            let mut place = vec![b'#'; width];
            let fits = number >= 0 && number.to_string().len() == width;
            prop_assert_eq!(overwrite(&mut place, number), fits);
        }
    }
}
