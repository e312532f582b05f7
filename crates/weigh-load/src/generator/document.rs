//! JSON documents of an exact size.
//!
//! A document looks like something an application stores: an identifier, a name, numbers, a list, a nested object,
//! and filler that makes up the size. Below [`FULL_BYTES`] it is an identifier and filler only.

use std::fmt::Write;

use rand::{Rng, RngExt};

use super::source::push_text;

/// Smallest document: `{"id":NNNNNNNNN,"filler":"…"}` with room for a few characters.
pub(super) const SMALLEST_BYTES: usize = 32;

/// From this size on a document has all its members.
const FULL_BYTES: usize = 160;

const END: &str = "\"}";

/// Replaces `out` by a fresh document of `size` bytes.
pub(super) fn write(random: &mut impl Rng, size: usize, out: &mut String) {
    out.clear();
    // Writing to a `String` cannot fail; numbers have a fixed width so that the parts below fit.
    write!(out, "{{\"id\":{}", random.random_range(100_000_000..=999_999_999_u32)).ok();
    if size >= FULL_BYTES {
        out.push_str(",\"name\":\"");
        push_text(random, 12, out);
        let (score, first, second) = (
            random.random_range(100..=999_u32),
            random.random_range(1000..=9999_u32),
            random.random_range(1000..=9999_u32),
        );
        let active = random.random_range(0..2_u32) == 1;
        write!(out, "\",\"active\":{active},\"score\":{score}.25,\"tags\":[{first},{second}],").ok();
        out.push_str("\"address\":{\"city\":\"");
        push_text(random, 8, out);
        write!(out, "\",\"zip\":{}}}", random.random_range(10_000..=99_999_u32)).ok();
    }
    out.push_str(",\"filler\":\"");
    let filler = size.saturating_sub(out.len() + END.len());
    push_text(random, filler, out);
    out.push_str(END);
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand_xoshiro::Xoshiro256PlusPlus;

    use super::*;

    #[test]
    fn documents_are_valid_json_of_exactly_the_size() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(3);
        let mut text = String::new();
        for size in (SMALLEST_BYTES..600).chain([1000, 65_536]) {
            for _ in 0..3 {
                write(&mut random, size, &mut text);
                assert_eq!(text.len(), size, "{text}");
                let value: serde_json::Value = serde_json::from_str(&text).unwrap();
                assert!(value["id"].is_u64(), "{text}");
                if size >= FULL_BYTES {
                    assert_eq!(value["name"].as_str().unwrap().len(), 12);
                    assert_eq!(value["tags"].as_array().unwrap().len(), 2);
                    assert!(value["address"]["zip"].is_u64() && value["score"].is_f64(), "{text}");
                }
            }
        }
    }
}
