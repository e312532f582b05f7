//! The frame of every message: OP_MSG, the only kind servers since 3.6 need.
//!
//! A message is a header of four little-endian integers (length, request number, number of the request it answers, kind),
//! flags, and sections: one document, and any number of named document sequences. Source: MongoDB's "Wire Protocol" and
//! "OP_MSG" specifications.

/// Kind of message.
pub(super) const OP_MSG: i32 = 2013;

/// Header, flags, and the kind byte of the first section.
pub(super) const PREFIX_BYTES: usize = 21;

/// Where the number of the request that is answered stands.
pub(super) const ANSWERED_AT: usize = 8;

/// Longest message either side may send (`maxMessageSizeBytes` of every server so far).
pub(super) const LONGEST_MESSAGE: usize = 48_000_000;

/// Flag: the message ends in a CRC-32C.
pub(super) const CHECKSUM_PRESENT: u32 = 1;

/// Flag: another message follows without a request; in a request: do not answer.
pub(super) const MORE_TO_COME: u32 = 1 << 1;

/// Flags a receiver must know; it must refuse others.
pub(super) const REQUIRED_FLAGS: u32 = 0xFFFF;

/// Section kinds.
pub(super) const SECTION_BODY: u8 = 0;
pub(super) const SECTION_SEQUENCE: u8 = 1;

/// Appends everything before the first document; the length is patched later ([`finish`]).
pub(super) fn begin(request: i32, flags: u32, out: &mut Vec<u8>) {
    out.extend_from_slice(&[0; 4]);
    out.extend_from_slice(&request.to_le_bytes());
    out.extend_from_slice(&[0; 4]);
    out.extend_from_slice(&OP_MSG.to_le_bytes());
    out.extend_from_slice(&flags.to_le_bytes());
    out.push(SECTION_BODY);
}

/// Patches the little-endian length at `at`: everything from there to the end of `out`.
#[inline]
pub(super) fn finish(at: usize, out: &mut [u8]) {
    // A message above 48 MB is refused by the server whatever its length says.
    let length = u32::try_from(out.len() - at).unwrap_or(u32::MAX);
    out[at..at + 4].copy_from_slice(&length.to_le_bytes());
}

/// A little-endian integer of `bytes`, which holds at least `at + 4`.
#[inline]
pub(super) fn read_i32(bytes: &[u8], at: usize) -> Option<i32> {
    bytes.get(at..)?.first_chunk().map(|chunk| i32::from_le_bytes(*chunk))
}
