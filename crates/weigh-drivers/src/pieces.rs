//! Tests of decoders: replies that arrive in pieces.

use weigh_load::{Decoded, Outcome};

/// Feeds the bytes in pieces, as the engine does: what is left over is shown again. Everything must be dealt with in
/// the end.
pub(crate) fn feed<'a>(
    mut decode: impl FnMut(&[u8]) -> Decoded,
    pieces: impl Iterator<Item = &'a [u8]>,
) -> Vec<Outcome> {
    let (mut pending, mut outcomes) = (Vec::new(), Vec::new());
    for piece in pieces {
        pending.extend_from_slice(piece);
        while !pending.is_empty() {
            let decoded = decode(&pending);
            pending.drain(..decoded.consumed);
            match decoded.finished {
                Some(outcome) => outcomes.push(outcome),
                None => break,
            }
        }
    }
    assert!(pending.is_empty(), "{}", pending.escape_ascii());
    outcomes
}
