//! Identifiers for documents that come without one, as clients make them.

use std::time::{SystemTime, UNIX_EPOCH};

use weigh_load::DriverError;

use super::embed::OBJECT_ID;

/// Makes ObjectIds that no other connection makes: seconds, five random bytes of the connection's own, and a counter that
/// starts anywhere. Source: MongoDB's "ObjectID format" specification.
#[derive(Clone, Debug)]
pub(super) struct ObjectIds {
    own: [u8; 5],
    counter: u32,
}

/// Type, key and value of an `_id`.
pub(super) const ID_ELEMENT_BYTES: usize = 17;

impl ObjectIds {
    /// For one connection.
    ///
    /// # Errors
    /// The operating system has no random bytes.
    pub(super) fn new() -> Result<Self, DriverError> {
        let mut random = [0; 8];
        getrandom::fill(&mut random)
            .map_err(|error| DriverError::caused("the operating system has no random bytes", error))?;
        let [own @ .., a, b, c] = random;
        Ok(Self { own, counter: u32::from_le_bytes([a, b, c, 0]) })
    }

    /// The next one.
    pub(super) fn next(&mut self) -> [u8; 12] {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        // Four bytes of seconds, by definition: they wrap in 2106.
        let [.., s0, s1, s2, s3] = since.as_secs().to_be_bytes();
        self.counter = self.counter.wrapping_add(1);
        let [_, c0, c1, c2] = self.counter.to_be_bytes();
        let [o0, o1, o2, o3, o4] = self.own;
        [s0, s1, s2, s3, o0, o1, o2, o3, o4, c0, c1, c2]
    }

    /// The next one as the element `_id`.
    pub(super) fn next_element(&mut self) -> [u8; ID_ELEMENT_BYTES] {
        let mut element = [OBJECT_ID, b'_', b'i', b'd', 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        element[5..].copy_from_slice(&self.next());
        element
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn connections_never_make_the_same() {
        let mut seen = HashSet::new();
        for _ in 0..20 {
            let mut ids = ObjectIds::new().unwrap();
            assert!((0..1000).all(|_| seen.insert(ids.next())));
        }
    }
}
