//! Pressure stall information: for how long somebody waited for a CPU, for I/O or for memory.
//!
//! The format of `/proc/pressure/*` and of a control group's `*.pressure`
//! (`Documentation/accounting/psi.rst` of the kernel).

use crate::counters::Tally;
use crate::error::ParseError;
use crate::text::{fields, lines, whole};

/// Time for which tasks waited, since boot or since the group was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pressure {
    /// At least one task waited, microseconds.
    pub some_us: u64,
    /// Every task that was not idle waited, microseconds. Not there for CPU before Linux 5.13.
    pub full_us: Option<u64>,
}

/// Reads a pressure file.
///
/// # Errors
/// If there is no `some` line with a `total`.
pub fn pressure(text: &[u8]) -> Result<Pressure, ParseError> {
    let total = |kind: &[u8]| {
        lines(text).find_map(|line| {
            let mut parts = fields(line);
            (parts.next() == Some(kind))
                .then(|| whole(parts.find_map(|part| part.strip_prefix(b"total="))?))?
        })
    };
    let some_us = total(b"some").ok_or(ParseError { format: "/proc/pressure", missing: "some total=" })?;
    Ok(Pressure { some_us, full_us: total(b"full") })
}

impl Pressure {
    /// Adds `psi_NAME_some_us` and `psi_NAME_full_us`.
    pub(crate) fn tally(&self, tally: &mut Tally, name: &str) {
        tally.add(&format!("psi_{name}_some_us"), self.some_us);
        tally.add_known(&format!("psi_{name}_full_us"), self.full_us);
    }
}
