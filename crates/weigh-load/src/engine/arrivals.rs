//! When the operations of one worker are due in an open loop: one after the other, so that a schedule of any
//! length takes no memory.
//!
//! Constant arrivals of all workers interleave to one even sequence: number i of the whole load, due at i / rate,
//! belongs to client i modulo clients, and so to that client's worker. Poisson arrivals are independent processes,
//! one per worker, each with its clients' share of the rate: together they are a Poisson process of the whole rate.

use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::timeline::Timeline;
use crate::generator::mix;
use crate::spec::{Arrivals, LoadSpec, Schedule};

/// Keeps arrivals apart from every other use of the load's seed.
const ARRIVALS_SEED: u64 = 0x6172_7269_7661_6c73;

/// The schedule of one worker, at one place of it.
#[derive(Clone, Debug)]
pub(super) struct ArrivalCursor {
    gaps: Gaps,
    due_ns: u64,
    window_begins_ns: u64,
    ends_ns: u64,
    /// How many more may be due inside the measured window.
    left: u64,
}

#[derive(Clone, Debug)]
enum Gaps {
    /// Number `base + offset` of the load; the worker's offsets are `first`, `first + step`, … below `clients`.
    Constant {
        gap_ns: f64,
        base: u64,
        offset: u64,
        first: u64,
        step: u64,
        clients: u64,
    },
    Poisson {
        mean_ns: f64,
        at_ns: f64,
        random: Box<Xoshiro256PlusPlus>,
    },
}

/// Which worker, of how many.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) worker: usize,
    pub(super) workers: usize,
}

impl Place {
    /// How many of the things numbered 0 to `count` belong to the worker: those whose client is one of its own.
    pub(super) fn share_of(self, count: u64, clients: usize) -> u64 {
        let (worker, workers, clients) = (self.worker as u64, self.workers as u64, clients as u64);
        let own_below = |limit: u64| limit.saturating_sub(worker).div_ceil(workers);
        (count / clients) * own_below(clients) + own_below(count % clients)
    }
}

impl ArrivalCursor {
    /// The worker's schedule from the start of the load; `None` in a closed loop.
    pub(super) fn new(spec: &LoadSpec, timeline: &Timeline, place: Place) -> Option<Self> {
        let Schedule::Open { rate_per_s, arrivals } = spec.schedule else { return None };
        let (first, step, clients) = (place.worker as u64, place.workers as u64, spec.clients as u64);
        let gap_ns = 1e9 / rate_per_s;
        let gaps = match arrivals {
            Arrivals::Constant => Gaps::Constant { gap_ns, base: 0, offset: first, first, step, clients },
            Arrivals::Poisson => Gaps::Poisson {
                mean_ns: gap_ns * clients as f64 / place.share_of(clients, spec.clients) as f64,
                at_ns: 0.0,
                random: Box::new(Xoshiro256PlusPlus::seed_from_u64(mix(spec.seed ^ ARRIVALS_SEED, first))),
            },
        };
        let mut cursor = Self {
            gaps,
            due_ns: 0,
            window_begins_ns: timeline.measure_begins_ns,
            ends_ns: timeline.measure_ends_ns,
            left: spec.operations_limit.map_or(u64::MAX, |limit| place.share_of(limit, spec.clients)),
        };
        cursor.settle();
        Some(cursor)
    }

    /// When the operation under the cursor is due; `u64::MAX` behind the last.
    #[inline]
    pub(super) fn due_ns(&self) -> u64 {
        self.due_ns
    }

    /// Steps to the next operation.
    #[inline]
    pub(super) fn advance(&mut self) {
        if self.due_ns == u64::MAX {
            return;
        }
        if let Gaps::Constant { base, offset, first, step, clients, .. } = &mut self.gaps {
            *offset += *step;
            if *offset >= *clients {
                (*base, *offset) = (*base + *clients, *first);
            }
        }
        self.settle();
    }

    /// Works out the due time of the place the cursor is at.
    #[inline]
    fn settle(&mut self) {
        self.due_ns = whole_ns(match &mut self.gaps {
            Gaps::Constant { gap_ns, base, offset, .. } => (*base + *offset) as f64 * *gap_ns,
            Gaps::Poisson { mean_ns, at_ns, random } => {
                *at_ns += *mean_ns * exponential(random);
                *at_ns
            }
        });
        if self.due_ns >= self.ends_ns {
            self.due_ns = u64::MAX;
        } else if self.due_ns >= self.window_begins_ns {
            match self.left.checked_sub(1) {
                Some(left) => self.left = left,
                None => self.due_ns = u64::MAX,
            }
        }
    }
}

/// Exact for more than a hundred days, and saturating after that.
#[expect(clippy::cast_possible_truncation, reason = "the fraction of a nanosecond is what is cut off")]
#[inline]
fn whole_ns(ns: f64) -> u64 {
    ns as u64
}

/// An exponential variate of mean 1, by inversion: −ln(u), u uniform in (0, 1] with 53 bits (Devroye 1986, II.2).
#[inline]
fn exponential(random: &mut impl Rng) -> f64 {
    let u = ((random.next_u64() >> 11) + 1) as f64 * (1.0 / (1_u64 << 53) as f64);
    -u.ln()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::engine::Limits;
    use crate::spec::Operation;

    fn spec(rate_per_s: f64, arrivals: Arrivals, clients: usize) -> LoadSpec {
        LoadSpec {
            clients,
            threads: 1,
            pipeline: 1,
            settle: Duration::from_secs(1),
            measure: Duration::from_secs(9),
            operations_limit: None,
            schedule: Schedule::Open { rate_per_s, arrivals },
            operations: vec![Operation { name: "one".into(), weight: 1, parameters: vec![] }],
            seed: 7,
            trial_number: 0,
            pin: false,
        }
    }

    fn all(spec: &LoadSpec, workers: usize) -> Vec<u64> {
        let timeline = Timeline::new(Duration::ZERO, spec, &Limits::default());
        let mut due: Vec<u64> = (0..workers)
            .flat_map(|worker| {
                let mut cursor = ArrivalCursor::new(spec, &timeline, Place { worker, workers }).unwrap();
                std::iter::from_fn(move || {
                    let due = cursor.due_ns();
                    cursor.advance();
                    (due != u64::MAX).then_some(due)
                })
            })
            .collect();
        due.sort_unstable();
        due
    }

    #[test]
    fn constant_arrivals_of_all_workers_are_one_even_sequence() {
        for (clients, workers) in [(1, 1), (4, 2), (5, 3), (7, 7)] {
            let due = all(&spec(1000.0, Arrivals::Constant, clients), workers);
            assert_eq!(due.len(), 10_000, "{clients} clients of {workers} workers");
            assert!(
                due.iter().enumerate().all(|(n, due)| *due == n as u64 * 1_000_000),
                "{clients} {workers}"
            );
        }
    }

    #[test]
    fn an_odd_rate_does_not_drift() {
        let due = all(&spec(2999.7, Arrivals::Constant, 3), 2);
        assert_eq!(due.len(), 29_997);
        assert!(due.windows(2).all(|pair| (pair[1] - pair[0]).abs_diff(333_366) <= 1));
    }

    #[test]
    fn poisson_arrivals_of_all_workers_are_one_poisson_process() {
        let due = all(&spec(20_000.0, Arrivals::Poisson, 3), 2);
        let n = due.len() as f64;
        // Five standard deviations of a Poisson count.
        assert!((n - 200_000.0).abs() < 5.0 * 200_000_f64.sqrt(), "{n}");
        let mut gaps: Vec<f64> = due.windows(2).map(|pair| (pair[1] - pair[0]) as f64 / 50_000.0).collect();
        gaps.sort_unstable_by(f64::total_cmp);
        // Kolmogorov–Smirnov distance to the exponential distribution; 1.95 / √n has probability 0.001.
        let distance =
            gaps.iter().enumerate().map(|(i, gap)| ((i as f64 + 0.5) / n - (1.0 - (-gap).exp())).abs());
        let distance = distance.fold(0.0, f64::max);
        assert!(distance < 1.95 / n.sqrt(), "{distance}");
    }

    #[test]
    fn equal_seeds_give_equal_arrivals_and_others_differ() {
        let mut spec = spec(1000.0, Arrivals::Poisson, 2);
        let first = all(&spec, 1);
        assert_eq!(first, all(&spec, 1));
        spec.seed = 8;
        assert_ne!(first, all(&spec, 1));
    }

    #[test]
    fn a_limit_counts_what_is_due_in_the_window() {
        for workers in [1, 2, 3] {
            let mut spec = spec(1000.0, Arrivals::Constant, 3);
            spec.operations_limit = Some(100);
            let due = all(&spec, workers);
            // The worker that is done first stops first; together they have exactly the limit.
            assert_eq!(due.iter().filter(|ns| **ns >= 1_000_000_000).count(), 100, "{workers} workers");
        }
    }

    #[test]
    fn shares_add_up() {
        for (clients, workers) in [(1, 1), (3, 2), (10, 4), (8, 8)] {
            for count in [0, 1, 7, 1000] {
                let shares = (0..workers).map(|worker| Place { worker, workers }.share_of(count, clients));
                assert_eq!(shares.sum::<u64>(), count, "{clients} {workers} {count}");
            }
        }
    }
}
