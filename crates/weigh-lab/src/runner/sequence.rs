//! The loop: rounds until every comparison is decided or the budget is spent.

use std::time::{Duration, Instant};

use weigh_results::analysis::{self, Analysis, Rounds};
use weigh_results::model::{Event, Finish, FinishReason, Replication, Run, SequenceRecord};

use weigh_stats::verdict::Decision;

use super::error::RunError;
use super::horizon::{self, PILOT_ROUNDS};
use super::order;
use super::subject::{Subject, TrialRequest};
use crate::events::{LabEvent, Progress};
use crate::host::Cancel;
use crate::systems::chain;

/// How often a sequence may be restarted because its warm-up was too short.
const MOST_RESTARTS: u32 = 2;
/// Longest warm-up, seconds: what takes longer is not a warm-up but a different state.
const LONGEST_SETTLE_S: f64 = 10.0;
/// Beyond this multiple of its budget a run ends as soon as there is anything to judge.
const OVERRUN: f64 = 1.5;

/// Where a run's events go, and what may end it.
pub struct RunContext<'a> {
    /// Takes every event as it happens; an error ends the run.
    pub sink: &'a mut dyn FnMut(&LabEvent) -> Result<(), String>,
    /// Set by a signal.
    pub cancel: Cancel,
    /// When the run began: before the systems were started.
    pub began: Instant,
}

/// Runs rounds until every comparison is decided, the budget is spent, or the run is cancelled.
///
/// `run` holds what is already measured (only the header for a new run) and gets everything that
/// is measured now. A [`Event::Finished`] is recorded in every case, an error included.
pub(super) fn run(run: &mut Run, subject: &mut dyn Subject, cx: RunContext<'_>) -> Result<(), RunError> {
    let spent_before_s = spent(run);
    let mut session =
        Session { run, subject, cx, spent_before_s, restarts: 0, epoch_rounds: 0, restart_s: 0.0 };
    let outcome = session.rounds();
    let reason = match &outcome {
        Ok(reason) => reason.clone(),
        Err(error) => FinishReason::Failed(chain(error)),
    };
    let elapsed_s = session.elapsed_s();
    let recorded = session.record(Event::Finished(Finish { reason, elapsed_s }));
    outcome.and(recorded)
}

/// What an earlier, interrupted stretch of the run has used of the budget, seconds.
fn spent(run: &Run) -> f64 {
    run.trials
        .iter()
        .map(|trial| trial.started_s + trial.whole.seconds + trial.debt_s.unwrap_or(0.0))
        .fold(0.0, f64::max)
}

struct Session<'a, 'b> {
    run: &'a mut Run,
    subject: &'a mut dyn Subject,
    cx: RunContext<'b>,
    spent_before_s: f64,
    restarts: u32,
    epoch_rounds: u32,
    restart_s: f64,
}

impl Session<'_, '_> {
    fn rounds(&mut self) -> Result<FinishReason, RunError> {
        if self.run.sequences.is_empty() {
            let settle_s = if self.subject.settles() { self.run.header.plan.settle_s } else { 0.0 };
            let measure_s = self.run.header.plan.measure_s;
            self.begin_sequence(0, settle_s, measure_s)?;
        }
        let mut epoch = self.run.trials.iter().map(|trial| trial.epoch + 1).max().unwrap_or(0);
        if self.subject.replication() == Replication::Round {
            epoch = 0;
        }
        self.begin_epoch(epoch)?;
        loop {
            let round = self.next_round();
            let Some(seconds) = self.round(round, epoch)? else { return Ok(FinishReason::Interrupted) };
            let sequence = self.sequence().sequence;
            self.record(Event::Round { sequence, round, seconds })?;
            self.epoch_rounds += 1;
            if let Some(reason) = self.after_round()? {
                return Ok(reason);
            }
            if self.epoch_is_over() {
                epoch += 1;
                self.begin_epoch(epoch)?;
            }
        }
    }

    fn sequence(&self) -> SequenceRecord {
        self.run.sequences[self.run.sequences.len() - 1]
    }

    fn next_round(&self) -> u32 {
        let sequence = self.sequence().sequence;
        self.run
            .rounds
            .iter()
            .filter(|(of, _, _)| *of == sequence)
            .map(|(_, round, _)| round + 1)
            .max()
            .unwrap_or(0)
    }

    fn begin_sequence(&mut self, sequence: u32, settle_s: f64, measure_s: f64) -> Result<(), RunError> {
        let replication = self.subject.replication();
        let record = SequenceRecord { sequence, settle_s, measure_s, replication };
        self.record(Event::Sequence(record))
    }

    fn begin_epoch(&mut self, epoch: u32) -> Result<(), RunError> {
        let began = Instant::now();
        if epoch > 0 {
            self.tell(Progress::Step(format!("restarting every instance (epoch {})", epoch + 1)))?;
        }
        for record in self.subject.start_epoch(epoch)? {
            self.record(Event::Instance(record))?;
        }
        self.restart_s = began.elapsed().as_secs_f64();
        self.epoch_rounds = 0;
        Ok(())
    }

    fn epoch_is_over(&self) -> bool {
        self.subject.replication() == Replication::Epoch
            && self.run.horizon.is_some_and(|(_, _, per_unit)| self.epoch_rounds >= per_unit)
    }

    /// Every slot once, in random order. `None` when cancelled; its trials stay recorded but an
    /// incomplete round is never judged.
    fn round(&mut self, round: u32, epoch: u32) -> Result<Option<f64>, RunError> {
        let began = Instant::now();
        let plan = self.run.header.plan.clone();
        let record = self.sequence();
        let before_s = self.run.rounds.last().map_or(0.0, |(_, _, seconds)| *seconds);
        self.cx.cancel.sleep(order::pause(plan.seed, record.sequence, round, before_s));
        // What factors do together needs every variant in every round.
        let may_leave = |of: u32| of == record.sequence && !plan.judge.factorial;
        let decided: Vec<usize> = self
            .run
            .decided
            .iter()
            .filter(|(of, _, _)| may_leave(*of))
            .map(|(_, variant, _)| *variant)
            .collect();
        let slots = order::slots(plan.variants.len(), plan.baseline, &decided);
        for (position, slot) in (0_u32..).zip(order::of_round(plan.seed, record.sequence, round, &slots)) {
            if self.cx.cancel.is_cancelled() {
                return Ok(None);
            }
            let elapsed_s = self.elapsed_s();
            self.tell(Progress::Trial { round, slot, elapsed_s, budget_s: plan.judge.budget_s })?;
            let request = TrialRequest {
                slot,
                sequence: record.sequence,
                round,
                epoch,
                position,
                trial_number: self.run.trials.len() as u64,
                seed: order::data_seed(plan.seed, record.sequence, round),
                settle: Duration::from_secs_f64(record.settle_s),
                measure: Duration::from_secs_f64(record.measure_s),
                drain: plan.drain,
                run_began: self.cx.began,
            };
            let Some(mut trial) = self.subject.trial(&request)? else { return Ok(None) };
            trial.started_s += self.spent_before_s;
            trial.contaminated = super::interference::contamination(&trial.interference);
            self.record(Event::Trial(Box::new(trial)))?;
        }
        Ok(Some(began.elapsed().as_secs_f64()))
    }

    /// Fixes the horizon after the pilot, lengthens a warm-up that is too short, judges at looks.
    fn after_round(&mut self) -> Result<Option<FinishReason>, RunError> {
        let record = self.sequence();
        let done = self.next_round();
        if self.run.horizon.is_none() {
            if done < PILOT_ROUNDS {
                return Ok(None);
            }
            if self.lengthen_warm_up(record)? {
                return Ok(None);
            }
            self.fix_horizon(record.sequence, done)?;
        }
        let at_look = {
            let rounds = Rounds::of(self.run);
            analysis::judge::is_look(self.run, &rounds)
        };
        if at_look {
            let analysis = analysis::analyse(self.run);
            if analysis.self_checks.unsettled() && self.lengthen_warm_up(record)? {
                return Ok(None);
            }
            if let Some(reason) = self.conclude(record.sequence, &analysis)? {
                return Ok(Some(reason));
            }
        }
        // Rounds that were set aside are no reason to end with nothing to judge.
        let overrun = self.elapsed_s() > OVERRUN * self.run.header.plan.judge.budget_s
            && Rounds::of(self.run).units() >= analysis::judge::first_look(record.replication);
        Ok(overrun.then_some(FinishReason::Budget))
    }

    /// Records variants that are decided now; gives a reason to end if all are or the horizon is reached.
    fn conclude(&mut self, sequence: u32, analysis: &Analysis) -> Result<Option<FinishReason>, RunError> {
        let plan = self.run.header.plan.clone();
        let mut all = true;
        for variant in (0..plan.variants.len()).filter(|variant| *variant != plan.baseline) {
            let own: Vec<_> =
                analysis.comparisons.iter().filter(|comparison| comparison.variant == variant).collect();
            let is_final = own.iter().all(|comparison| comparison.is_final);
            all &= is_final;
            let decided = own.iter().all(|comparison| comparison.decision != Decision::Undecided);
            let known = self.run.decided.iter().any(|(of, other, _)| *of == sequence && *other == variant);
            if is_final && decided && !known {
                self.record(Event::Decided { sequence, variant, rounds: analysis.rounds })?;
            }
        }
        let spent = analysis.horizon.is_some_and(|units| analysis.units >= units);
        let undecided =
            analysis.comparisons.iter().any(|comparison| comparison.decision == Decision::Undecided);
        Ok(match (all, spent && undecided) {
            (_, true) => Some(FinishReason::Budget),
            (true, false) => Some(FinishReason::Decided),
            (false, false) => None,
        })
    }

    fn fix_horizon(&mut self, sequence: u32, done: u32) -> Result<(), RunError> {
        let mut times: Vec<f64> = self
            .run
            .rounds
            .iter()
            .filter(|(of, _, _)| *of == sequence)
            .map(|(_, _, seconds)| *seconds)
            .collect();
        times.sort_by(f64::total_cmp);
        let remaining_s = self.run.header.plan.judge.budget_s - self.elapsed_s();
        let fits = horizon::horizon(
            self.subject.replication(),
            remaining_s,
            times[times.len() / 2].max(1e-3),
            done,
            self.restart_s,
        );
        self.record(Event::Horizon { sequence, units: fits.units, rounds_per_unit: fits.rounds_per_unit })
    }

    /// Begins a new sequence with a longer warm-up if the switches seen so far ask for one.
    /// The warm-up only ever grows; a sequence is restarted at most [`MOST_RESTARTS`] times.
    fn lengthen_warm_up(&mut self, record: SequenceRecord) -> Result<bool, RunError> {
        if !self.subject.settles() || self.restarts >= MOST_RESTARTS {
            return Ok(false);
        }
        let Some(fit) = analysis::warm_up_fit(self.run) else { return Ok(false) };
        let needed_s = fit.discard_s.min(LONGEST_SETTLE_S);
        if needed_s <= record.settle_s + 0.1 {
            return Ok(false);
        }
        self.restarts += 1;
        self.tell(Progress::Step(format!(
            "trials settle in {needed_s:.1} s, not {:.1} s: starting over with a longer warm-up",
            record.settle_s
        )))?;
        // At most half of a trial is warm-up: beyond that the measured window grows with it.
        let settle_s = (needed_s * 10.0).ceil() / 10.0;
        self.begin_sequence(record.sequence + 1, settle_s, record.measure_s.max(settle_s))?;
        Ok(true)
    }

    fn elapsed_s(&self) -> f64 {
        self.spent_before_s + self.cx.began.elapsed().as_secs_f64()
    }

    fn record(&mut self, event: Event) -> Result<(), RunError> {
        (self.cx.sink)(&LabEvent::Recorded(event.clone())).map_err(RunError::Record)?;
        self.run.apply(event);
        Ok(())
    }

    fn tell(&mut self, progress: Progress) -> Result<(), RunError> {
        (self.cx.sink)(&LabEvent::Progress(progress)).map_err(RunError::Record)
    }
}
