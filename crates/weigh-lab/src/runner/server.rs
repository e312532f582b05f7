//! A system under the load engine as the thing under test.
//!
//! A trial: enter the slot, connect, warm up, measure while collectors look at both ends of the
//! window, drain the debt, leave. Costs are taken over the whole trial, from the start of the load to
//! the end of the drain, so that work left behind is charged to who left it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use weigh_load::{Limits, LoadReport, LoadSpec};
use weigh_results::model::histogram::HistogramError;
use weigh_results::model::{ClientCost, InstanceRecord, Replication, Trial, Window, histogram};

use super::interference::HostWatch;
use super::subject::{Subject, TrialRequest};
use crate::host::Cancel;
use crate::plan::{ResolvedOperation, ResolvedPlan, ResolvedVariant};
use crate::systems::{Counters, System, SystemError};

/// Longest trial of a given number of operations.
const LIMITED_MAX: Duration = Duration::from_secs(600);
/// How soon its end is noticed.
const PATIENCE: Duration = Duration::from_millis(1);

/// Puts load on a system's variants.
pub struct ServerSubject {
    variants: Vec<ResolvedVariant>,
    system: Box<dyn System>,
    work_dir: PathBuf,
    cancel: Cancel,
}

impl ServerSubject {
    /// A started system with the variants of its plan.
    pub fn new(
        plan: &ResolvedPlan,
        system: Box<dyn System>,
        work_dir: &Path,
        cancel: Cancel,
    ) -> ServerSubject {
        ServerSubject { variants: plan.variants.clone(), system, work_dir: work_dir.to_owned(), cancel }
    }

    fn load_spec(&self, request: &TrialRequest) -> LoadSpec {
        let variant = &self.variants[request.slot.variant];
        // So many operations take as long as they take, from the first one on.
        let (settle, measure) = match variant.operations_limit {
            Some(_) => (Duration::ZERO, LIMITED_MAX),
            None => (request.settle, request.measure),
        };
        LoadSpec {
            clients: variant.clients,
            threads: variant.threads,
            pipeline: variant.pipeline,
            settle,
            measure,
            schedule: variant.schedule,
            operations: variant.operations.iter().map(ResolvedOperation::drawn).collect(),
            seed: request.seed,
            trial_number: request.trial_number,
            operations_limit: variant.operations_limit,
            pin: false,
        }
    }

    fn limits(&self, request: &TrialRequest) -> Limits {
        let limits = Limits::default();
        let variant = &self.variants[request.slot.variant];
        Limits { reply: variant.reply_limit.unwrap_or(limits.reply), ..limits }
    }

    /// Load on an entered slot. `None` when cancelled.
    fn loaded(&mut self, request: &TrialRequest) -> Result<Option<Loaded>, SystemError> {
        let driver = self.system.enter(request.slot)?;
        let frozen_before = self.system.frozen_cpu_s(request.slot);
        let limits = self.limits(request);
        let connected = weigh_load::connect(&self.load_spec(request), Arc::from(driver), limits)
            .map_err(|error| SystemError::new("cannot put load on the system").caused_by(error))?;
        // After connecting: the cost of a connection is not the cost of an operation.
        let before = self.system.counters(request.slot)?;
        let load = connected.begin();
        let began = load.began();
        if self.cancel.sleep(until(load.measure_begins())) {
            return Ok(None);
        }
        let watch = HostWatch::begin(&self.system.processes(request.slot));
        let patience = match self.variants[request.slot.variant].operations_limit {
            Some(_) => PATIENCE,
            None => Duration::MAX,
        };
        while !until(load.measure_ends()).is_zero() && !load.is_over() {
            if self.cancel.sleep(until(load.measure_ends()).min(patience)) {
                return Ok(None);
            }
        }
        let window = watch.end_with_counters();
        let report =
            load.finish().map_err(|error| SystemError::new("the load did not finish").caused_by(error))?;
        let frozen_s = self.system.frozen_cpu_s(request.slot) - frozen_before;
        Ok(Some(Loaded { report, before, began, window, frozen_s }))
    }

    /// Drains the debt; gives its time and the counters at its end.
    fn drained(&mut self, request: &TrialRequest) -> Result<(Option<f64>, Counters), SystemError> {
        let began = Instant::now();
        if request.drain {
            self.system.drain(request.slot)?;
        }
        let debt_s = request.drain.then(|| began.elapsed().as_secs_f64());
        Ok((debt_s, self.system.counters(request.slot)?))
    }
}

impl Subject for ServerSubject {
    fn replication(&self) -> Replication {
        self.system.replication()
    }

    fn settles(&self) -> bool {
        self.variants.iter().all(|variant| variant.operations_limit.is_none())
    }

    fn start_epoch(&mut self, epoch: u32) -> Result<Vec<InstanceRecord>, SystemError> {
        self.system.start_epoch(epoch)
    }

    fn trial(&mut self, request: &TrialRequest) -> Result<Option<Trial>, SystemError> {
        let mut trial = request.empty_trial();
        let Some(loaded) = self.loaded(request)? else { return Ok(None) };
        let (debt_s, after) = self.drained(request)?;
        let whole_s = loaded.began.elapsed().as_secs_f64();
        self.system.leave(request.slot)?;
        let items = stored_per_operation(&self.variants[request.slot.variant], &loaded.report);
        trial.whole = Window {
            seconds: whole_s,
            ops: scaled(loaded.report.operations_total, items),
            counters: weigh_collect::delta(&loaded.before, &after),
        };
        trial.measured = Window {
            seconds: loaded.report.measured.as_secs_f64(),
            ops: scaled(loaded.report.operations_measured, items),
            counters: loaded.window.counters.clone(),
        };
        trial.settle_s = loaded.report.settled.as_secs_f64();
        trial.debt_s = debt_s;
        trial.errors = loaded.report.errors.clone();
        trial.bins_100ms = loaded.report.bins_100ms.clone();
        trial.first_calls_us = loaded.report.first_calls.iter().copied().map(tenths_us).collect();
        trial.interference = loaded.window.interference(&loaded.report, loaded.frozen_s);
        trial.client = client_cost(&loaded.report);
        trial.gauges = super::interference::room(&self.work_dir);
        trial.misses = loaded.report.misses;
        trial.item_errors = loaded.report.item_errors.clone();
        distributions(&mut trial, &loaded.report)
            .map_err(|error| SystemError::new("cannot store latencies").caused_by(error))?;
        Ok(Some(trial))
    }

    fn stop(&mut self) -> Result<(), SystemError> {
        self.system.stop()
    }
}

/// Latencies, and how the schedule of an open loop was kept.
fn distributions(trial: &mut Trial, report: &LoadReport) -> Result<(), HistogramError> {
    trial.latency = Some(histogram::encode(&report.latency)?);
    trial.service = report.service.as_ref().map(histogram::encode).transpose()?;
    trial.schedule = report.schedule.as_ref().map(crate::load::schedule).transpose()?;
    Ok(())
}

/// What a load left to look at.
struct Loaded {
    report: LoadReport,
    before: Counters,
    began: Instant,
    window: super::interference::Watched,
    frozen_s: f64,
}

/// Microseconds, to a tenth.
fn tenths_us(latency: Duration) -> f64 {
    (latency.as_secs_f64() * 1e7).round() / 10.0
}

fn until(instant: Instant) -> Duration {
    instant.saturating_duration_since(Instant::now())
}

/// What one operation counts for on average, without the items of it that failed: a bulk that stored nine of its ten rows
/// counts for nine. Items are told by message for a whole load, so those of the warm-up count like the others.
fn stored_per_operation(variant: &ResolvedVariant, report: &LoadReport) -> f64 {
    let items = items_per_operation(variant, report);
    // Of an operation that counts for itself, whatever it does inside, nothing is taken away.
    if items <= 1.0 || report.operations_total == 0 {
        return items;
    }
    #[expect(clippy::cast_precision_loss, reason = "operation counts are far below 2^52")]
    let failed = report.item_errors.values().sum::<u64>() as f64 / report.operations_total as f64;
    (items - failed).max(0.0)
}

/// What one operation counts for on average: rows of a batch, say. By what was measured; by the weights where nothing
/// was, so that a slow trial's operations outside its window still count for what they did.
fn items_per_operation(variant: &ResolvedVariant, report: &LoadReport) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "operation counts are far below 2^52")]
    let measured = report.operations.iter().map(|operation| operation.operations_measured as f64);
    let weights = variant.operations.iter().map(|operation| f64::from(operation.weight));
    let items = || variant.operations.iter().map(|operation| f64::from(operation.items));
    mean(items(), measured).or_else(|| mean(items(), weights)).unwrap_or(1.0)
}

/// The weighted mean; `None` where nothing has a weight.
fn mean(values: impl Iterator<Item = f64>, weights: impl Iterator<Item = f64>) -> Option<f64> {
    let (mut sum, mut total) = (0.0, 0.0);
    for (value, weight) in values.zip(weights) {
        sum += value * weight;
        total += weight;
    }
    (total > 0.0).then(|| sum / total)
}

#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "operation counts are far below 2^52 and not negative"
)]
fn scaled(operations: u64, items: f64) -> u64 {
    (operations as f64 * items).round() as u64
}

fn client_cost(report: &LoadReport) -> ClientCost {
    ClientCost {
        user_s: report.client_user.as_secs_f64(),
        system_s: report.client_system.as_secs_f64(),
        busiest_thread: report.busiest_thread,
    }
}
