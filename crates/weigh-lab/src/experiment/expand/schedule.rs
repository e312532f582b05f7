//! When a variant's operations are sent: closed loop, or open at a rate.

use weigh_load::{Arrivals, Schedule};

use super::super::Level;
use super::super::keys::Key;
use super::super::read::{ARRIVALS_NAMES, RATE_EXPECTED, arrivals_from_name, rate_of_level};
use super::variant::Expander;

impl Expander<'_> {
    /// The schedule of this variant.
    pub(super) fn schedule(&mut self) -> Schedule {
        let load = &self.experiment.load;
        let rate = match self.level_of(Key::Rate) {
            None => load.rate_per_s,
            Some((key, level)) => {
                let rate = rate_of_level(&level);
                if rate.is_none() {
                    self.bad_level(&key, &level, RATE_EXPECTED);
                }
                rate
            }
        };
        let arrivals = match self.level_of(Key::Arrivals) {
            None => load.arrivals,
            Some((key, level)) => {
                let arrivals = arrivals_from_name(&level.to_text());
                if arrivals.is_none() {
                    self.bad_level(&key, &level, ARRIVALS_NAMES);
                } else if rate.is_none() && self.level_of(Key::Rate).is_none() {
                    self.bad_level(&key, &level, "`load.rate` besides: a closed loop has no arrivals");
                }
                arrivals
            }
        };
        match rate {
            Some(rate_per_s) => {
                Schedule::Open { rate_per_s, arrivals: arrivals.unwrap_or(Arrivals::Constant) }
            }
            None => Schedule::Closed,
        }
    }

    /// The level this variant sets for a key.
    fn level_of(&self, wanted: Key<'_>) -> Option<(String, Level)> {
        let levels = &self.combination.levels;
        let found = levels.iter().find(|(key, _)| Key::parse(key) == Some(wanted))?;
        Some((found.0.clone(), found.1.clone()))
    }
}
