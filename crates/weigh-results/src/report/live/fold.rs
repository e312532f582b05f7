//! A run while it goes on: its events so far, and what the latest look has found.

use std::collections::{BTreeMap, BTreeSet};

use super::ahead::{self, Ahead};
use super::bar::Reach;
use crate::analysis::{AaCheck, Analysis, Comparison, Rounds, VariantSummary, analyse, judge, per_trial};
use crate::doubt::{Doubt, DoubtKind};
use crate::model::{Event, Metric, Run, Trial};

/// What tells a doubt from another: its kind and whom it concerns. The evidence changes from look to look.
type DoubtKey = (DoubtKind, Vec<usize>);

/// A run while it goes on. Folding the same events gives the same value.
#[derive(Clone, Debug)]
pub struct Live {
    run: Run,
    /// One value per trial of the sequence that counts, by decision metric and variant.
    values: BTreeMap<(Metric, usize), Vec<f64>>,
    /// Medians of the latest look, for metrics that one trial alone does not know.
    medians: BTreeMap<(Metric, usize), f64>,
    comparisons: Vec<Comparison>,
    aa: Vec<AaCheck>,
    /// In the order they arose.
    doubts: Vec<Doubt>,
    known: BTreeSet<DoubtKey>,
    ahead: Ahead,
    reach: Option<Reach>,
    set_aside: u32,
    /// Trials since the last complete round.
    in_round: u32,
}

impl Live {
    /// A new run, or one that goes on: what it has already is looked at once.
    pub fn new(run: Run) -> Live {
        let mut live = Live {
            values: BTreeMap::new(),
            medians: BTreeMap::new(),
            comparisons: Vec::new(),
            aa: Vec::new(),
            doubts: Vec::new(),
            known: BTreeSet::new(),
            ahead: Ahead::default(),
            reach: None,
            set_aside: 0,
            in_round: 0,
            run,
        };
        let sequence = live.sequence();
        let trials: Vec<Trial> =
            live.run.trials.iter().filter(|trial| trial.sequence == sequence).cloned().collect();
        trials.iter().for_each(|trial| live.count(trial));
        if !live.run.rounds.is_empty() {
            let analysis = analyse(&live.run);
            live.look(analysis);
            live.look_ahead();
        }
        live
    }

    /// Takes an event; gives the doubts that it has raised. At a look of the boundary everything is judged, as the
    /// runner does itself; in between only what a trial adds is added.
    pub fn apply(&mut self, event: &Event) -> Vec<Doubt> {
        self.run.apply(event.clone());
        match event {
            Event::Trial(trial) => {
                self.in_round += 1;
                self.count(trial);
            }
            Event::Round { .. } => {
                self.in_round = 0;
                let is_look = judge::is_look(&self.run, &Rounds::of(&self.run));
                let analysis = is_look.then(|| analyse(&self.run));
                let raised = analysis.map(|analysis| self.look(analysis)).unwrap_or_default();
                self.look_ahead();
                return raised;
            }
            Event::Horizon { .. } => self.look_ahead(),
            Event::Sequence(_) => self.begin_sequence(),
            Event::Resumed { .. } => self.in_round = 0,
            Event::Doubt(doubt) => return self.notice(vec![doubt.clone()], false),
            _ => {}
        }
        Vec::new()
    }

    /// The run so far.
    pub fn run(&self) -> &Run {
        &self.run
    }

    /// Median so far of a decision metric.
    pub(super) fn median(&self, metric: Metric, variant: usize) -> Option<f64> {
        let values = self.values.get(&(metric, variant)).cloned().and_then(crate::analysis::median);
        values.or_else(|| self.medians.get(&(metric, variant)).copied())
    }

    /// The latest look's comparison.
    pub(super) fn comparison(&self, metric: Metric, variant: usize) -> Option<&Comparison> {
        self.comparisons.iter().find(|found| found.metric == metric && found.variant == variant)
    }

    /// The latest look's A/A check by a metric.
    pub(super) fn aa(&self, metric: Metric) -> Option<&AaCheck> {
        self.aa.iter().find(|check| check.metric == metric)
    }

    /// The latest look's comparisons.
    pub(super) fn comparisons(&self) -> &[Comparison] {
        &self.comparisons
    }

    /// Doubts that stand, in the order they arose.
    pub(super) fn doubts(&self) -> &[Doubt] {
        &self.doubts
    }

    /// When it will end.
    pub fn ahead(&self) -> Ahead {
        self.ahead
    }

    /// How far the axis of intervals reaches: it never shrinks, so that intervals are seen to.
    pub(super) fn reach(&self) -> Option<Reach> {
        self.reach
    }

    /// Complete rounds that count, and those set aside.
    pub(super) fn rounds(&self) -> (u32, u32) {
        let sequence = self.sequence();
        let complete = self.run.rounds.iter().filter(|(of, _, _)| *of == sequence).count();
        let complete = u32::try_from(complete).unwrap_or(u32::MAX);
        (complete.saturating_sub(self.set_aside), self.set_aside)
    }

    /// Trials finished in the round that goes on.
    pub(super) fn in_round(&self) -> u32 {
        self.in_round
    }

    /// Rounds after which a variant dropped out, if it has.
    pub(super) fn dropped_out(&self, variant: usize) -> Option<u32> {
        let sequence = self.sequence();
        let of_it = |(of, who, _): &&(u32, usize, u32)| *of == sequence && *who == variant;
        self.run.decided.iter().find(of_it).map(|(_, _, rounds)| *rounds)
    }

    fn sequence(&self) -> u32 {
        self.run.current_sequence().map_or(0, |record| record.sequence)
    }

    fn count(&mut self, trial: &Trial) {
        if trial.contaminated.is_some() {
            return;
        }
        for metric in self.run.header.plan.judge.decide.clone() {
            let value = per_trial::figure(metric, trial);
            self.values.entry((metric, trial.slot.variant)).or_default().extend(value);
        }
    }

    /// What was measured before no longer counts.
    fn begin_sequence(&mut self) {
        self.values.clear();
        self.medians.clear();
        self.comparisons.clear();
        self.aa.clear();
        self.ahead = Ahead::default();
        self.reach = None;
        (self.set_aside, self.in_round) = (0, 0);
    }

    fn look(&mut self, analysis: Analysis) -> Vec<Doubt> {
        self.medians = medians(&analysis);
        self.set_aside = analysis.rounds_set_aside;
        let difference = self.run.header.plan.judge.difference;
        let intervals = analysis.comparisons.iter().filter_map(|comparison| comparison.interval);
        for interval in intervals.chain(analysis.aa.iter().filter_map(|check| check.interval)) {
            let reach = self.reach.unwrap_or_else(|| Reach::around(difference));
            self.reach = Some(reach.widened(&interval));
        }
        self.comparisons = analysis.comparisons;
        self.aa = analysis.aa;
        self.notice(analysis.doubts, true)
    }

    fn look_ahead(&mut self) {
        let rounds = Rounds::of(&self.run);
        self.set_aside = rounds.set_aside;
        self.ahead = ahead::look(&self.run, &rounds, &self.comparisons);
    }

    /// Adds doubts, or takes the latest look's for `all` of them; gives those that nobody has heard of.
    fn notice(&mut self, found: Vec<Doubt>, all: bool) -> Vec<Doubt> {
        // A run that goes on has no end yet, which is no reason to doubt it.
        let found: Vec<Doubt> = found.into_iter().filter(|doubt| doubt.kind != DoubtKind::CutShort).collect();
        if all {
            let stands = |doubt: &Doubt| found.iter().any(|other| key(other) == key(doubt));
            self.doubts.retain(stands);
        }
        let mut raised = Vec::new();
        for doubt in found {
            match self.doubts.iter_mut().find(|known| key(known) == key(&doubt)) {
                Some(known) => known.evidence.clone_from(&doubt.evidence),
                None => self.doubts.push(doubt.clone()),
            }
            if self.known.insert(key(&doubt)) {
                raised.push(doubt);
            }
        }
        raised
    }
}

fn medians(analysis: &Analysis) -> BTreeMap<(Metric, usize), f64> {
    let of = |summary: &VariantSummary| -> Vec<((Metric, usize), f64)> {
        summary.medians.iter().map(|(metric, value)| ((*metric, summary.variant), *value)).collect()
    };
    analysis.variants.iter().flat_map(of).collect()
}

fn key(doubt: &Doubt) -> DoubtKey {
    (doubt.kind, doubt.variants.clone())
}
