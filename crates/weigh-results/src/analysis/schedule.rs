//! How open loops kept their schedule, and by whose fault they did not.
//!
//! A client that sends late where it could have sent in time ([`DoubtKind::ScheduleNotKept`]) is told from a system that
//! does less than is asked of it ([`DoubtKind::RateAboveCapacity`]). Both are seen in the stored trials alone.

use super::rounds::{Rounds, median, whole_bins};
use super::summary::VariantSummary;
use crate::doubt::{Doubt, DoubtKind};
use crate::model::{Metric, Trial, histogram};

/// A client that sends one operation in a hundred later than this by its own fault does not keep its schedule, seconds.
const CLIENT_LAG_S: f64 = 1e-3;
/// The same as a share of the response times' p99, of which it is a part.
const CLIENT_LAG_SHARE: f64 = 0.05;
/// Below this a lag is the kernel's way of waking a sleeper, seconds.
const LEAST_CLIENT_LAG_S: f64 = 100e-6;
/// A system that does this share less than was due cannot keep up: a backlog grows.
const BEHIND: f64 = 0.02;
/// How open loops kept their schedule, by whose fault.
pub(super) fn doubts(rounds: &Rounds<'_>, variants: &[VariantSummary], doubts: &mut Vec<Doubt>) {
    let (mut late, mut overloaded) = (Vec::new(), Vec::new());
    for summary in variants {
        let kept = Kept::of(rounds.trials_of(summary.variant));
        if kept.is_late(summary.medians.get(&Metric::LatencyP99).copied()) {
            late.push((summary.variant, kept));
        }
        if kept.is_overloaded() {
            overloaded.push((summary.variant, kept));
        }
    }
    let of = |found: &[(usize, Kept)]| found.iter().map(|(variant, _)| *variant).collect::<Vec<_>>();
    let worst = late.iter().filter_map(|(_, kept)| kept.client_lag_p99_s).reduce(f64::max);
    if let Some(worst) = worst {
        let evidence =
            format!("one operation in a hundred was sent {:.2} ms late by the client itself", worst * 1e3);
        doubts.push(Doubt { kind: DoubtKind::ScheduleNotKept, evidence, variants: of(&late) });
    }
    let worst = overloaded.iter().max_by(|a, b| a.1.missing().total_cmp(&b.1.missing()));
    if let Some((_, kept)) = worst {
        let mut evidence = format!("it did {:.1} % of what was due", 100.0 * (1.0 - kept.missing().max(0.0)));
        if kept.lost > 0 {
            evidence.push_str(&format!("; {} operations were never sent or never answered", kept.lost));
        }
        doubts.push(Doubt { kind: DoubtKind::RateAboveCapacity, evidence, variants: of(&overloaded) });
    }
}

/// How the schedule of one variant's trials was kept, all trials together.
#[derive(Clone, Copy, Debug, Default)]
struct Kept {
    /// Operations due while completions were counted.
    due: f64,
    /// Completed or failed in that time.
    done: f64,
    /// Of those due in the measured windows, never sent, or neither answered nor failed.
    lost: u64,
    /// Median over trials of the client's own p99 lag, seconds.
    client_lag_p99_s: Option<f64>,
}

impl Kept {
    fn of<'t>(trials: impl Iterator<Item = &'t Trial>) -> Kept {
        let (mut kept, mut lags) = (Kept::default(), Vec::new());
        for trial in trials {
            let Some(schedule) = &trial.schedule else { continue };
            kept.lost += schedule.never_sent + schedule.never_answered;
            kept.count(trial, schedule.due);
            if let Ok(lag) = histogram::decode(&schedule.client_lag) {
                #[expect(clippy::cast_precision_loss, reason = "nanoseconds up to one hour are exact")]
                lags.push(lag.value_at_quantile(0.99) as f64 / 1e9);
            }
        }
        kept.client_lag_p99_s = median(lags);
        kept
    }

    /// Counts completions by whole 100 ms: `ops` of the window may be items. Failures are of the whole trial; they
    /// were dealt with in time too.
    #[expect(clippy::cast_precision_loss, reason = "operation counts are far below 2^52")]
    fn count(&mut self, trial: &Trial, due: u64) {
        let (begin, end) = (whole_bins(trial.settle_s), whole_bins(trial.settle_s + trial.measured.seconds));
        let Some(bins) = trial.bins_100ms.get(begin..end).filter(|bins| !bins.is_empty()) else { return };
        let completed: u64 = bins.iter().sum();
        let failed: u64 = trial.errors.values().sum();
        self.done += (completed + failed) as f64;
        self.due += due as f64 * bins.len() as f64 / 10.0 / trial.measured.seconds;
    }

    /// The client's own lag is large by itself, or beside the response times it is part of.
    fn is_late(&self, p99_s: Option<f64>) -> bool {
        let Some(lag_s) = self.client_lag_p99_s else { return false };
        let beside = p99_s.is_some_and(|p99_s| lag_s > CLIENT_LAG_SHARE * p99_s);
        lag_s > CLIENT_LAG_S || (lag_s > LEAST_CLIENT_LAG_S && beside)
    }

    /// Share of what was due that was not done in its time.
    fn missing(&self) -> f64 {
        if self.due > 0.0 { 1.0 - self.done / self.due } else { 0.0 }
    }

    fn is_overloaded(&self) -> bool {
        self.missing() > BEHIND || self.lost > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_late_is_told_from_who_is_overloaded() {
        let kept =
            |done: f64, lost, lag_s: f64| Kept { due: 1000.0, done, lost, client_lag_p99_s: Some(lag_s) };
        assert!(!kept(990.0, 0, 50e-6).is_overloaded() && !kept(990.0, 0, 50e-6).is_late(Some(200e-6)));
        assert!(kept(970.0, 0, 50e-6).is_overloaded() && kept(1000.0, 1, 50e-6).is_overloaded());
        assert!(kept(1000.0, 0, 150e-6).is_late(Some(2e-3)), "a part of the response time that matters");
        assert!(!kept(1000.0, 0, 150e-6).is_late(Some(4e-3)) && kept(1000.0, 0, 2e-3).is_late(Some(9.0)));
        assert!(!Kept::default().is_late(None) && !Kept::default().is_overloaded());
    }

    #[test]
    fn completions_are_counted_over_whole_bins() {
        let mut trial = Trial { settle_s: 0.2, bins_100ms: vec![7, 7, 10, 9, 10, 8], ..Trial::default() };
        trial.measured.seconds = 0.45;
        let mut kept = Kept::default();
        kept.count(&trial, 45);
        assert_eq!((kept.done, kept.due), (37.0, 40.0));
    }
}
