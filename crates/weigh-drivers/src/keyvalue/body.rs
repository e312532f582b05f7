//! A value whose length is known: counted off and compared as it arrives, never kept.

/// What follows every body.
const END: &[u8; 2] = b"\r\n";

/// A body that is coming in.
#[derive(Clone, Debug, Default)]
pub(crate) struct Body {
    /// Bytes still to come, its CRLF among them; 0: there is none.
    left: u64,
    /// Bytes in front of the value still to come.
    prefix: usize,
    /// Bytes of the value that have come.
    come: usize,
    /// What has come is not what was expected.
    differs: bool,
}

impl Body {
    /// A body of `length` bytes comes next; the first `prefix` of them do not belong to the value.
    pub(crate) fn begin(&mut self, length: u64, prefix: usize) {
        *self = Self { left: length.saturating_add(END.len() as u64), prefix, come: 0, differs: false };
    }

    /// Whether more bytes of it must come.
    #[inline]
    pub(crate) fn is_open(&self) -> bool {
        self.left > 0
    }

    /// Takes what it can of `rest`; says how much. The value is compared with `expected`, the same in all calls.
    ///
    /// # Errors
    /// It does not end where it should.
    pub(crate) fn pass(&mut self, rest: &[u8], expected: Option<&[u8]>) -> Result<usize, String> {
        let content = self.left.saturating_sub(END.len() as u64);
        let passed = usize::try_from(content).unwrap_or(usize::MAX).min(rest.len());
        let prefix = self.prefix.min(passed);
        self.prefix -= prefix;
        self.compare(&rest[prefix..passed], expected);
        self.left -= passed as u64;
        let mut used = passed;
        while (1..=END.len() as u64).contains(&self.left)
            && let Some(byte) = rest.get(used)
        {
            if *byte != END[usize::from(self.left == 1)] {
                return Err("the server sent a value that is longer than it said".into());
            }
            self.left -= 1;
            used += 1;
        }
        Ok(used)
    }

    /// A piece of a value that has come.
    #[inline]
    pub(crate) fn compare(&mut self, piece: &[u8], expected: Option<&[u8]>) {
        if let Some(expected) = expected {
            let until = self.come + piece.len();
            self.differs |= expected.get(self.come..until) != Some(piece);
            self.come = until;
        }
    }

    /// Whether the value, now complete, was the expected one. The next one starts afresh.
    pub(crate) fn end(&mut self, expected: Option<&[u8]>) -> bool {
        let (come, differs) = (std::mem::take(&mut self.come), std::mem::take(&mut self.differs));
        expected.is_none_or(|expected| !differs && come == expected.len())
    }
}
