//! The search for the highest rate that is kept: which rate to try next, and when it is known.
//!
//! [`Search`] is told how every step ended and names the next rate; it runs nothing and knows no clock. Three parts:
//! bracket (up from the first rate until one fails, down until one is kept), bisect on the logarithmic scale until
//! the two ends are within [`SearchLimits::precision`], confirm. A machine is noisy, so neither end is believed
//! after one step: each is repeated until it has two votes more alike than not (2 of 3), and a vote that turns an
//! end over moves the bracket.
//!
//! The answer is conservative: the highest rate kept *below every rate that was not*.

/// Votes for an end before it is believed.
const VOTES: u32 = 2;
/// How much further the next rate is while nothing has failed, or nothing was kept.
const UP: f64 = 1.4;
const DOWN: f64 = 2.0;
/// Two rates closer than this are the same.
const SAME: f64 = 1e-9;

/// Where a search may look.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct SearchLimits {
    /// First rate, per second.
    pub(super) first_per_s: f64,
    /// Lowest rate worth trying.
    pub(super) least_per_s: f64,
    /// Highest rate allowed.
    pub(super) most_per_s: f64,
    /// The ends are close enough when the upper is at most this much above the lower (0.05: 5 %).
    pub(super) precision: f64,
    /// Most steps.
    pub(super) steps: usize,
}

/// How a rate did in all its steps.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Tried {
    rate_per_s: f64,
    kept: u32,
    failed: u32,
}

impl Tried {
    /// `None` when votes are equal.
    fn is_kept(&self) -> Option<bool> {
        (self.kept != self.failed).then_some(self.kept > self.failed)
    }

    fn is_confirmed(&self) -> bool {
        self.kept.max(self.failed) >= VOTES
    }
}

/// A search under way.
#[derive(Clone, Debug)]
pub(super) struct Search {
    limits: SearchLimits,
    /// By rate.
    tried: Vec<Tried>,
    steps: usize,
}

/// What a search has found so far.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Found {
    /// Highest rate that was kept, below every one that was not.
    pub(super) kept_per_s: Option<f64>,
    /// Lowest rate that was not kept.
    pub(super) failed_per_s: Option<f64>,
    /// Whether every end there is has two votes.
    pub(super) confirmed: bool,
}

impl Search {
    /// A search that has tried nothing.
    pub(super) fn new(limits: SearchLimits) -> Search {
        Search { limits, tried: Vec::new(), steps: 0 }
    }

    /// The rate to try next; `None` when it is known, or the steps are used up.
    pub(super) fn next_rate(&self) -> Option<f64> {
        if self.steps >= self.limits.steps {
            return None;
        }
        if self.tried.is_empty() {
            return Some(self.limits.first_per_s.clamp(self.limits.least_per_s, self.limits.most_per_s));
        }
        // Votes that are equal say nothing: one more decides.
        if let Some(tie) = self.tried.iter().find(|tried| tried.is_kept().is_none()) {
            return Some(tie.rate_per_s);
        }
        match self.ends() {
            (Some(kept), None) if is_below(kept.rate_per_s, self.limits.most_per_s) => {
                Some((kept.rate_per_s * UP).min(self.limits.most_per_s))
            }
            (None, Some(failed)) if is_below(self.limits.least_per_s, failed.rate_per_s) => {
                Some((failed.rate_per_s / DOWN).max(self.limits.least_per_s))
            }
            (Some(kept), Some(failed))
                if is_below(kept.rate_per_s * (1.0 + self.limits.precision), failed.rate_per_s) =>
            {
                Some((kept.rate_per_s * failed.rate_per_s).sqrt())
            }
            (kept, failed) => self.unconfirmed(kept, failed),
        }
    }

    /// The end with fewer votes, if it has too few.
    fn unconfirmed(&self, kept: Option<Tried>, failed: Option<Tried>) -> Option<f64> {
        let ends = [kept, failed].into_iter().flatten().filter(|end| !end.is_confirmed());
        ends.min_by_key(|end| end.kept.max(end.failed)).map(|end| end.rate_per_s)
    }

    /// Takes the outcome of a step.
    pub(super) fn record(&mut self, rate_per_s: f64, kept: bool) {
        self.steps += 1;
        let at = self.tried.iter().position(|tried| is_same(tried.rate_per_s, rate_per_s));
        let at = at.unwrap_or_else(|| {
            let place = self.tried.partition_point(|tried| tried.rate_per_s < rate_per_s);
            self.tried.insert(place, Tried { rate_per_s, kept: 0, failed: 0 });
            place
        });
        let votes = &mut self.tried[at];
        if kept {
            votes.kept += 1;
        } else {
            votes.failed += 1;
        }
    }

    /// The highest kept below the lowest that failed, and that.
    fn ends(&self) -> (Option<Tried>, Option<Tried>) {
        let failed = self.tried.iter().find(|tried| tried.is_kept() == Some(false)).copied();
        let below = |tried: &&Tried| failed.is_none_or(|failed| tried.rate_per_s < failed.rate_per_s);
        let kept = self.tried.iter().filter(below).rfind(|tried| tried.is_kept() == Some(true)).copied();
        (kept, failed)
    }

    /// What is known so far.
    pub(super) fn found(&self) -> Found {
        let (kept, failed) = self.ends();
        let ends = [kept, failed];
        let mut known = ends.iter().flatten();
        Found {
            kept_per_s: kept.map(|end| end.rate_per_s),
            failed_per_s: failed.map(|end| end.rate_per_s),
            confirmed: known.clone().next().is_some() && known.all(Tried::is_confirmed),
        }
    }
}

fn is_below(a: f64, b: f64) -> bool {
    a < b * (1.0 - SAME)
}

fn is_same(a: f64, b: f64) -> bool {
    !is_below(a, b) && !is_below(b, a)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits(first_per_s: f64) -> SearchLimits {
        SearchLimits { first_per_s, least_per_s: 1.0, most_per_s: 1e7, precision: 0.05, steps: 40 }
    }

    /// Runs a search against a system; gives what was found and the number of steps.
    fn run(limits: SearchLimits, mut is_kept: impl FnMut(f64) -> bool) -> (Found, usize) {
        let mut search = Search::new(limits);
        let mut steps = 0;
        while let Some(rate) = search.next_rate() {
            search.record(rate, is_kept(rate));
            steps += 1;
            assert!(steps <= limits.steps);
        }
        (search.found(), steps)
    }

    #[test]
    fn a_known_capacity_is_found_within_the_precision() {
        for capacity in [3.0, 97.0, 2_000.0, 41_234.5, 3e6] {
            for first in [0.3 * capacity, 0.8 * capacity, capacity, 1.2 * capacity, 20.0 * capacity] {
                let (found, steps) = run(limits(first), |rate| rate <= capacity);
                let (kept, failed) = (found.kept_per_s.unwrap(), found.failed_per_s.unwrap());
                assert!(kept <= capacity && capacity < failed, "{capacity} from {first}: {found:?}");
                assert!(failed / kept <= 1.05 + 1e-9, "{capacity} from {first}: {found:?}");
                assert!(found.confirmed && steps <= 16, "{capacity} from {first}: {steps} steps, {found:?}");
            }
        }
    }

    /// xorshift: a test needs no better.
    fn random(state: &mut u64) -> f64 {
        *state ^= *state << 13;
        *state ^= *state >> 7;
        *state ^= *state << 17;
        (*state >> 11) as f64 / (1_u64 << 53) as f64
    }

    #[test]
    fn one_wrong_step_in_ten_does_not_mislead_it_far() {
        let (capacity, mut state, mut far) = (2_000.0, 88_172_645_463_325_252, 0);
        for _ in 0..500 {
            let (found, _) =
                run(limits(0.8 * capacity), |rate| (rate <= capacity) ^ (random(&mut state) < 0.1));
            let kept = found.kept_per_s.unwrap_or(0.0);
            far += usize::from(!(0.85 * capacity..=1.1 * capacity).contains(&kept));
        }
        assert!(far <= 50, "{far} of 500 searches were far off");
    }

    #[test]
    fn a_soft_boundary_is_found_where_it_is_even() {
        let (capacity, mut state, mut far) = (5_000.0, 1_234_567, 0);
        for _ in 0..500 {
            // Kept with a probability that falls from 1 to 0 between 90 % and 110 % of the capacity.
            let (found, _) = run(limits(0.8 * capacity), |rate| {
                random(&mut state) < ((1.1 * capacity - rate) / (0.2 * capacity)).clamp(0.0, 1.0)
            });
            let kept = found.kept_per_s.unwrap_or(0.0);
            far += usize::from(!(0.88 * capacity..=1.08 * capacity).contains(&kept));
        }
        assert!(far <= 25, "{far} of 500 searches were far off");
    }

    #[test]
    fn a_fluke_at_either_end_is_found_out() {
        // The first look at every rate lies, later ones do not.
        for lie in [true, false] {
            let mut seen: Vec<f64> = Vec::new();
            let (found, _) = run(limits(900.0), |rate| {
                let first = !seen.contains(&rate);
                seen.push(rate);
                if first && (900.0..1_100.0).contains(&rate) { lie } else { rate <= 1_000.0 }
            });
            assert!(found.confirmed, "{found:?}");
            assert!((900.0..=1_050.0).contains(&found.kept_per_s.unwrap()), "{found:?}");
        }
    }

    #[test]
    fn an_end_that_is_not_there_is_not_made_up() {
        let (found, steps) = run(SearchLimits { most_per_s: 5_000.0, ..limits(1_000.0) }, |_| true);
        assert_eq!(found, Found { kept_per_s: Some(5_000.0), failed_per_s: None, confirmed: true });
        assert!(steps < 10, "{steps}");
        let (found, steps) = run(SearchLimits { least_per_s: 10.0, ..limits(1_000.0) }, |_| false);
        assert_eq!(found, Found { kept_per_s: None, failed_per_s: Some(10.0), confirmed: true });
        assert!(steps < 12, "{steps}");
    }

    #[test]
    fn it_ends_whatever_it_is_told() {
        let mut state = 42;
        for _ in 0..200 {
            let (found, steps) = run(limits(100.0), |_| random(&mut state) < 0.5);
            assert!(steps <= 40, "{found:?}");
        }
        assert_eq!(Search::new(limits(5.0)).found(), Found::default());
    }
}
