//! What an open loop must report when a server stood still for a while: arithmetic, from the schedule and the clock.
//!
//! Operations are due at a constant rate, one every 1/r seconds, in a window in which `n` of them fall. The server
//! stops at some moment and goes on after `d` seconds. Whoever was due in between is answered when it has gone
//! on, the one due first first. The one due `t` after the stop has then waited `d − t`, plus the time the server
//! took for those before it, `r·t` operations at its capacity of `c` per second: it is answered after
//!
//! ```text
//! w(t) = d − t + r·t / c          (one due right at the stop waited longest; c > r)
//! ```
//!
//! Everybody else is answered at once. So the quantile `q` over all `n` is the wait of the operation that has
//! `n − ⌈q·n⌉` others waiting longer, which is the one due `t = (n − ⌈q·n⌉)/r` after the stop, give or take
//! the one interval by which the schedule may be shifted against the stop.
//!
//! [`Stall::response`] gives bounds, because the stop is known to lie between the clock readings before and after
//! the signal was sent, the drain lasts between nothing at all and what the measured capacity allows, and nothing
//! is assumed about the shift. It uses no figure of the load it judges. Both `weigh selftest` and the tests of
//! the drivers judge by it.

use std::time::{Duration, Instant};

/// When a server stood still: each moment lies between the readings before and after its signal.
#[derive(Clone, Copy, Debug)]
pub struct Stall {
    /// Around the signal that stopped it.
    pub stopped: (Instant, Instant),
    /// Around the signal that let it go on.
    pub went_on: (Instant, Instant),
}

/// A constant schedule.
#[derive(Clone, Copy, Debug)]
pub struct Constant {
    /// Operations due per second.
    pub rate_per_s: f64,
    /// How many were due in the measured window.
    pub due: u64,
    /// How many per second the server can do, as measured beforehand in a closed loop.
    pub capacity_per_s: f64,
}

/// Where the truth lies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    /// At least, seconds.
    pub low_s: f64,
    /// At most, seconds.
    pub high_s: f64,
}

impl Stall {
    /// How long the server stood still, at least and at most.
    pub fn length(&self) -> (Duration, Duration) {
        let between = |from: Instant, to: Instant| to.saturating_duration_since(from);
        (between(self.stopped.1, self.went_on.0), between(self.stopped.0, self.went_on.1))
    }

    /// The response time at `quantile`, of an open loop that charges a stalled server for all who would have waited.
    /// `None` when so few operations were due during the stall that the quantile is not among them, or when the
    /// server cannot keep up with the rate anyway.
    pub fn response(&self, schedule: &Constant, quantile: f64) -> Option<Bounds> {
        let Constant { rate_per_s, due, capacity_per_s } = *schedule;
        let due = due as f64;
        let longer = due - (quantile * due).ceil();
        let (shortest, longest) = self.length();
        let (shortest_s, longest_s) = (shortest.as_secs_f64(), longest.as_secs_f64());
        // The last of them must have been due while the server stood still.
        if capacity_per_s <= rate_per_s || (longer + 1.0) / rate_per_s >= shortest_s {
            return None;
        }
        let (earliest_s, latest_s) = (longer / rate_per_s, (longer + 1.0) / rate_per_s);
        let drain_s = (longer + 1.0) / capacity_per_s;
        Some(Bounds { low_s: shortest_s - latest_s, high_s: longest_s - earliest_s + drain_s })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stall(length_s: f64, doubt_s: f64) -> Stall {
        let at = |s: f64| Instant::now() + Duration::from_secs_f64(10.0 + s);
        let base = at(0.0);
        let after = |s: f64| base + Duration::from_secs_f64(s);
        Stall { stopped: (base, after(doubt_s)), went_on: (after(length_s), after(length_s + doubt_s)) }
    }

    /// Every operation of the schedule, one by one: what each waits, then the order statistic.
    fn simulated(length_s: f64, rate: f64, due: u64, capacity: f64, shift: f64, quantile: f64) -> f64 {
        let (stop_s, mut free_s) = (1.0, 0.0_f64);
        let mut waits: Vec<f64> = (0..due)
            .map(|number| {
                let due_s = (number as f64 + shift) / rate;
                let stalled = (stop_s..stop_s + length_s).contains(&due_s);
                let begins_s = free_s.max(if stalled { stop_s + length_s } else { due_s });
                free_s = begins_s + 1.0 / capacity;
                free_s - due_s
            })
            .collect();
        waits.sort_by(f64::total_cmp);
        let rank = waits.iter().zip(1_u64..).find(|(_, number)| *number as f64 >= quantile * due as f64);
        *rank.unwrap().0
    }

    #[test]
    fn the_formula_is_what_a_simulation_gives() {
        for (length_s, rate, due, capacity) in
            [(1.0, 1000.0, 8000, 50_000.0), (0.5, 1000.0, 3000, 8000.0), (1.0, 200.0, 1600, 1000.0)]
        {
            let schedule = Constant { rate_per_s: rate, due, capacity_per_s: capacity };
            for quantile in [0.95, 0.99, 0.999] {
                let Bounds { low_s, high_s } = stall(length_s, 0.0).response(&schedule, quantile).unwrap();
                for shift in [0.0, 0.3, 0.7] {
                    let truth = simulated(length_s, rate, due, capacity, shift, quantile);
                    // Its own service time is in the bounds by the last term's one.
                    assert!(
                        (low_s..=1.001 * high_s).contains(&truth),
                        "{truth} at {quantile}, shift {shift}"
                    );
                }
                assert!(high_s / low_s < 1.3, "{low_s} {high_s}");
            }
        }
    }

    #[test]
    fn what_a_closed_loop_says_is_far_outside() {
        let schedule = Constant { rate_per_s: 1000.0, due: 8000, capacity_per_s: 50_000.0 };
        let bounds = stall(1.0, 0.002).response(&schedule, 0.99).unwrap();
        assert!(bounds.low_s > 0.9 && bounds.high_s < 0.93, "{bounds:?}");
    }

    #[test]
    fn a_quantile_that_the_stall_does_not_reach_has_no_truth() {
        let short = Constant { rate_per_s: 1000.0, due: 8000, capacity_per_s: 50_000.0 };
        assert!(stall(0.05, 0.0).response(&short, 0.99).is_none());
        let slow = Constant { capacity_per_s: 900.0, ..short };
        assert!(stall(1.0, 0.0).response(&slow, 0.99).is_none());
    }
}
