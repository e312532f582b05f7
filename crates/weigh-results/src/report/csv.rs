//! A run for a spreadsheet: [`trials`], one row each, and [`summary`], one row per variant and metric.
//!
//! Figures are as exact as they are stored, in the unit at the end of the column's name; a cell is empty where something is
//! not known, which is never a zero. Percentiles follow the rule of the report: one that fewer than ten operations
//! exceed is not known. Columns are named in `docs/terminal.md`; later versions add some at the end of a group.

use std::collections::{BTreeMap, BTreeSet};

use hdrhistogram::Histogram;
use weigh_stats::Interval;
use weigh_stats::quantiles;
use weigh_stats::verdict::Decision;

use super::words;
use crate::analysis::per_trial::{self, SeenTrial, Standing};
use crate::analysis::{Analysis, Comparison, VariantSummary};
use crate::model::{Metric, Run, Trial, histogram};

/// Percentiles of a trial's latencies: (end of the column's name, fraction).
const QUANTILES: [(&str, f64); 5] =
    [("p50_s", 0.50), ("p90_s", 0.90), ("p95_s", 0.95), ("p99_s", 0.99), ("p999_s", 0.999)];
/// Columns of a trial before its percentiles.
const OF_A_TRIAL: [&str; 14] = [
    "sequence",
    "round",
    "epoch",
    "position",
    "variant",
    "copy",
    "counts",
    "set_aside",
    "started_s",
    "settle_s",
    "measured_s",
    "whole_s",
    "ops",
    "throughput_per_s",
];
/// Columns of a trial between its percentiles and its counters.
const ABOUT_A_TRIAL: [&str; 16] = [
    "errors",
    "item_errors",
    "misses",
    "debt_s",
    "due",
    "never_sent",
    "never_answered",
    "steal",
    "other_cpu",
    "server_wait",
    "client_wait",
    "psi_cpu",
    "psi_io",
    "client_user_s",
    "client_system_s",
    "client_busiest",
];

/// One row per trial in the order they ran, those that do not count among them. Counters are those of the whole
/// trial, drain included; gauges are levels at the end of the measured window.
pub fn trials(run: &Run) -> String {
    let keys = |of: fn(&Trial) -> &BTreeMap<String, f64>| -> BTreeSet<&String> {
        run.trials.iter().flat_map(|trial| of(trial).keys()).collect()
    };
    let (counters, gauges) = (keys(|trial| &trial.whole.counters), keys(|trial| &trial.gauges));
    let mut table = Rows::new();
    let percentiles = ["latency", "service"]
        .into_iter()
        .flat_map(|what| QUANTILES.iter().map(move |(name, _)| format!("{what}_{name}")));
    let fixed = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let heading = fixed(&OF_A_TRIAL).into_iter().chain(percentiles).chain(fixed(&ABOUT_A_TRIAL));
    table.row(heading.chain(counters.iter().chain(&gauges).map(|key| (*key).clone())));
    for seen in &per_trial::trials(run).trials {
        let (trial, levels) = (seen.trial, &seen.trial.gauges);
        let of = |known: &BTreeMap<String, f64>, key: &String| number(known.get(key).copied());
        let row = identity(run, seen)
            .into_iter()
            .chain(percentiles_of(trial.latency.as_deref()))
            .chain(percentiles_of(trial.service.as_deref()))
            .chain(about(trial))
            .chain(counters.iter().map(|key| of(&trial.whole.counters, key)))
            .chain(gauges.iter().map(|key| of(levels, key)));
        table.row(row);
    }
    table.text()
}

fn identity(run: &Run, seen: &SeenTrial<'_>) -> [String; OF_A_TRIAL.len()] {
    let trial = seen.trial;
    let set_aside = match &seen.standing {
        Standing::SetAside(reason) => reason.clone(),
        Standing::Earlier => "earlier sequence".into(),
        Standing::Incomplete => "incomplete round".into(),
        Standing::Counts => String::new(),
    };
    [
        trial.sequence.to_string(),
        trial.round.to_string(),
        trial.epoch.to_string(),
        trial.position.to_string(),
        words::variant_name(&run.header.plan, trial.slot.variant).to_owned(),
        trial.slot.copy.to_string(),
        (seen.standing == Standing::Counts).to_string(),
        set_aside,
        number(Some(trial.started_s)),
        number(Some(trial.settle_s)),
        number(Some(trial.measured.seconds)),
        number(Some(trial.whole.seconds)),
        trial.measured.ops.to_string(),
        number(seen.figure(Metric::Throughput)),
    ]
}

fn percentiles_of(text: Option<&str>) -> [String; QUANTILES.len()] {
    let known = text.and_then(|text| histogram::decode(text).ok());
    #[expect(clippy::cast_precision_loss, reason = "nanoseconds up to one hour are exact")]
    let value = |seen: &Histogram<u64>, quantile| seen.value_at_quantile(quantile) as f64 / 1e9;
    QUANTILES.map(|(_, quantile)| {
        let seen = known.as_ref().filter(|seen| quantiles::is_known(quantile, seen.len()));
        number(seen.map(|seen| value(seen, quantile)))
    })
}

fn about(trial: &Trial) -> [String; ABOUT_A_TRIAL.len()] {
    let total = |errors: &BTreeMap<String, u64>| errors.values().sum::<u64>().to_string();
    let of_schedule = |of: fn(&crate::model::load::ScheduleRecord) -> u64| {
        trial.schedule.as_ref().map(|schedule| of(schedule).to_string()).unwrap_or_default()
    };
    let (disturbed, client) = (&trial.interference, &trial.client);
    [
        total(&trial.errors),
        total(&trial.item_errors),
        trial.misses.to_string(),
        number(trial.debt_s),
        of_schedule(|schedule| schedule.due),
        of_schedule(|schedule| schedule.never_sent),
        of_schedule(|schedule| schedule.never_answered),
        number(Some(disturbed.steal)),
        number(Some(disturbed.other_cpu)),
        number(Some(disturbed.server_wait)),
        number(Some(disturbed.client_wait)),
        number(Some(disturbed.psi_cpu)),
        number(Some(disturbed.psi_io)),
        number(Some(client.user_s)),
        number(Some(client.system_s)),
        number(Some(client.busiest_thread)),
    ]
}

/// One row per variant and metric that is known: the median, and for all but the baseline the ratio to it with its
/// interval. Of metrics that do not decide the interval is for information, at 95 % each; it has no decision.
pub fn summary(run: &Run, analysis: &Analysis) -> String {
    let plan = &run.header.plan;
    let mut table = Rows::new();
    let heading = [
        "run",
        "variant",
        "is_baseline",
        "metric",
        "unit",
        "decides",
        "median",
        "ratio",
        "ratio_low",
        "ratio_high",
        "decision",
        "is_final",
        "trials",
    ];
    table.row(heading.map(str::to_owned));
    for summary in &analysis.variants {
        for (metric, median) in &summary.medians {
            let place = plan.judge.decide.contains(metric);
            let own = |found: &&Comparison| found.variant == summary.variant && found.metric == *metric;
            let comparison = analysis.comparisons.iter().find(own);
            let interval =
                if place { comparison.and_then(|found| found.interval) } else { informed(summary, *metric) };
            let [ratio, low, high] = ratio_cells(interval.as_ref());
            table.row([
                run.header.run_id.clone(),
                words::variant_name(plan, summary.variant).to_owned(),
                (summary.variant == plan.baseline).to_string(),
                metric.name().to_owned(),
                if *metric == Metric::Throughput { "per_s" } else { "s" }.to_owned(),
                place.to_string(),
                number(Some(*median)),
                ratio,
                low,
                high,
                comparison.map(|found| decision(analysis, found)).unwrap_or_default().to_owned(),
                comparison.map(|found| found.is_final.to_string()).unwrap_or_default(),
                summary.trials.to_string(),
            ]);
        }
    }
    table.text()
}

fn informed(summary: &VariantSummary, metric: Metric) -> Option<Interval> {
    summary.information.iter().find(|known| known.metric == metric).map(|known| known.interval)
}

fn decision(analysis: &Analysis, comparison: &Comparison) -> &'static str {
    match (analysis.verdict_withheld, comparison.decision) {
        (Some(_), _) => "withheld",
        (None, Decision::Different) => "different",
        (None, Decision::Same) => "same",
        (None, Decision::Undecided) => "undecided",
    }
}

fn ratio_cells(interval: Option<&Interval>) -> [String; 3] {
    let Some((ratio, low, high)) = interval.map(Interval::ratio) else { return Default::default() };
    [ratio, low, high].map(|value| number(Some(value)))
}

/// The shortest text that is read back as the same number.
fn number(value: Option<f64>) -> String {
    value.filter(|value| value.is_finite()).map(|value| value.to_string()).unwrap_or_default()
}

/// Rows of RFC 4180, lines ending with a line feed alone.
struct Rows(::csv::Writer<Vec<u8>>);

impl Rows {
    fn new() -> Rows {
        Rows(::csv::Writer::from_writer(Vec::new()))
    }

    fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        // Writing to memory does not fail, and every row has the cells of the heading.
        self.0.write_record(cells).unwrap_or_default();
    }

    fn text(self) -> String {
        let bytes = self.0.into_inner().unwrap_or_default();
        String::from_utf8(bytes).unwrap_or_default()
    }
}
