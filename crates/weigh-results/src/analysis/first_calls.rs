//! The first operations of a trial against its usual ones: connections, caches and plans that are made once.
//!
//! - [`FirstCalls`]: by call number, and in [`CallBand`]s, medians over trials.
//! - [`FirstCalls::ramp_up`]: how much longer the first call takes, where that is worth a word.
//!
//! For information: it decides nothing, and what is measured for the verdict begins after the warm-up all the same.

use super::rounds::median;
use crate::model::Trial;

/// Numbers of the calls of each band, from 1, both ends included.
const BANDS: [(usize, usize); 6] = [(1, 1), (2, 2), (3, 5), (6, 10), (11, 20), (21, 50)];
/// A first call is worth a word from this factor above the usual one on, and calls are usual again below it.
pub const NOTABLE: f64 = 1.5;
/// Trials below which nothing is said of the first calls: one first call that had bad luck is no ramp-up.
const MIN_TRIALS: usize = 3;

/// What the first operations of a variant's trials took.
#[derive(Clone, Debug, PartialEq)]
pub struct FirstCalls {
    /// Seconds by call number, from the first on: the median over trials that have the call, as long as half of them do.
    pub by_call_s: Vec<f64>,
    /// The same in stretches that grow.
    pub bands: Vec<CallBand>,
    /// The variant's median latency, seconds, if it is known.
    pub usual_s: Option<f64>,
    /// Trials it rests on.
    pub trials: u32,
}

/// Calls that are told together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CallBand {
    /// Number of the first one, from 1.
    pub from: usize,
    /// Number of the last one.
    pub to: usize,
    /// Seconds: median within a trial, then over trials.
    pub median_s: f64,
}

impl FirstCalls {
    /// How many times as long as a usual call the first one takes, where that is [`NOTABLE`].
    #[must_use]
    pub fn ramp_up(&self) -> Option<f64> {
        let factor = self.by_call_s.first()? / self.usual_s.filter(|usual| *usual > 0.0)?;
        (factor >= NOTABLE).then_some(factor)
    }

    /// Number of the call from which on calls are usual; `None` where they are not within those that were kept.
    #[must_use]
    pub fn usual_from(&self) -> Option<usize> {
        let limit = NOTABLE * self.usual_s?;
        let last_long = self.bands.iter().rposition(|band| band.median_s >= limit);
        let next = last_long.map_or(0, |place| place + 1);
        self.bands.get(next).map(|band| band.from)
    }
}

/// The first calls of a variant's trials; `None` where too few trials carry them.
pub(super) fn of<'a>(trials: impl Iterator<Item = &'a Trial>, usual_s: Option<f64>) -> Option<FirstCalls> {
    let calls: Vec<&[f64]> =
        trials.map(|trial| &trial.first_calls_us[..]).filter(|calls| !calls.is_empty()).collect();
    if calls.len() < MIN_TRIALS {
        return None;
    }
    let enough = |known: usize| 2 * known >= calls.len();
    let longest = calls.iter().map(|calls| calls.len()).max().unwrap_or(0);
    let of_call = |number: usize| {
        let seen: Vec<f64> = calls.iter().filter_map(|calls| calls.get(number)).copied().collect();
        enough(seen.len()).then(|| median(seen))?.map(|micros| micros / 1e6)
    };
    let of_band = |&(from, to): &(usize, usize)| {
        let within = |calls: &&&[f64]| {
            calls.get(from - 1..to.min(calls.len())).and_then(|calls| median(calls.to_vec()))
        };
        let seen: Vec<f64> = calls.iter().filter_map(|calls| within(&calls)).collect();
        let median_s = enough(seen.len()).then(|| median(seen))?? / 1e6;
        Some(CallBand { from, to: to.min(longest), median_s })
    };
    let by_call_s: Vec<f64> = (0..longest).map_while(of_call).collect();
    let bands: Vec<CallBand> = BANDS.iter().map_while(of_band).collect();
    let trials = u32::try_from(calls.len()).unwrap_or(u32::MAX);
    Some(FirstCalls { by_call_s, bands, usual_s, trials })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trial(calls: &[f64]) -> Trial {
        Trial { first_calls_us: calls.to_vec(), ..Trial::default() }
    }

    #[test]
    fn calls_are_told_in_stretches_and_against_the_usual_one() {
        let mut calls = vec![900.0, 300.0, 160.0, 160.0, 160.0];
        calls.extend([100.0; 20]);
        let trials: Vec<Trial> = [0.9, 1.0, 1.1]
            .iter()
            .map(|factor| trial(&calls.iter().map(|call| call * factor).collect::<Vec<_>>()))
            .collect();
        let found = of(trials.iter(), Some(100e-6)).unwrap();
        assert_eq!((found.by_call_s.len(), found.trials), (25, 3));
        let bands: Vec<(usize, usize)> = found.bands.iter().map(|band| (band.from, band.to)).collect();
        assert_eq!(bands, [(1, 1), (2, 2), (3, 5), (6, 10), (11, 20), (21, 25)]);
        assert!((found.ramp_up().unwrap() - 9.0).abs() < 1e-9);
        assert_eq!(found.usual_from(), Some(6));
        assert_eq!(FirstCalls { usual_s: None, ..found.clone() }.ramp_up(), None);
        assert_eq!(FirstCalls { usual_s: Some(1.0), ..found.clone() }.usual_from(), Some(1));
        assert_eq!(FirstCalls { usual_s: Some(1e-6), ..found }.usual_from(), None);
    }

    #[test]
    fn few_trials_and_few_calls_say_nothing() {
        assert_eq!(of([trial(&[1.0]), trial(&[1.0])].iter(), None), None);
        assert_eq!(of([trial(&[]), trial(&[]), trial(&[])].iter(), None), None);
        let uneven = [trial(&[5.0, 4.0, 3.0]), trial(&[5.0]), trial(&[5.0])];
        let found = of(uneven.iter(), Some(1e-6)).unwrap();
        assert_eq!((found.by_call_s.len(), found.bands.len()), (1, 1), "one trial in three is no median");
    }
}
