//! The load, and the metrics to judge by.

use std::time::Duration;

use weigh_results::model::Metric;

use super::super::error::list_names;
use super::super::keys::LoadKey;
use super::super::read::is_open_loop;
use super::checker::Checker;

const RATE: &str = "load.rate";
/// Longest limit of a reply.
const TIMEOUT_MAX: Duration = Duration::from_secs(3_600);

impl Checker<'_> {
    /// Numbers that fit together.
    pub(super) fn load(&mut self) {
        let load = &self.experiment.load;
        if let Some(threads) = load.threads.filter(|threads| *threads > load.clients)
            && !self.experiment.factors.iter().any(|factor| factor.key == LoadKey::Clients.name())
            && self.experiment.variants.is_empty()
        {
            let what = format!("{threads} threads for {} clients", load.clients);
            self.value_error("load.threads", what, "at most one thread per client");
        }
        if load.trial < Duration::from_millis(10) {
            self.value_error("load.trial", "a trial shorter than 10 ms", "`1s`, or what the workload needs");
        }
        let budget = self.experiment.judge.budget;
        if budget <= load.trial + load.settle {
            let shown = humantime::format_duration(budget);
            self.value_error("judge.budget", format!("a budget of {shown} that no trial fits in"), "`5min`");
        }
        if self.is_commands() && (load.clients, load.pipeline) != (1, 1) {
            self.key_error(
                "load.clients",
                "`load.clients` for the system `commands`",
                "1: commands run one at a time",
            );
        }
        self.rate();
    }

    fn rate(&mut self) {
        let experiment = self.experiment;
        let load = &experiment.load;
        if self.is_commands() && load.rate_per_s.is_some() {
            let what = "`load.rate` for the system `commands`";
            self.key_error("load.rate", what, "none: a command begins when the one before has ended");
        }
        let varies_rate = experiment.factors.iter().any(|factor| factor.key == RATE)
            || experiment.variants.iter().any(|variant| variant.levels.contains_key(RATE));
        if load.arrivals.is_some() && load.rate_per_s.is_none() && !varies_rate {
            let expected = "`rate = \"…/s\"` besides: a closed loop has no arrivals";
            self.key_error("load.arrivals", "`arrivals` without `rate`", expected);
        }
        if load.timeout.is_some_and(|timeout| timeout > TIMEOUT_MAX) {
            let what = "a `timeout` of more than an hour";
            self.value_error("load.timeout", what, "a limit that a reply may well exceed, such as `5s`");
        }
    }

    /// Metrics this kind of run has.
    pub(super) fn metrics(&mut self) {
        let commands = self.is_commands();
        let experiment = self.experiment;
        let open_loop = is_open_loop(&experiment.load, &experiment.factors, &experiment.variants);
        let fits = |metric: &Metric| match metric {
            Metric::Time => commands,
            Metric::CpuPerOp => true,
            // The throughput of an open loop is its rate, and the service time of a closed loop its latency.
            Metric::Throughput => !commands && !open_loop,
            Metric::ServiceP50 | Metric::ServiceP95 | Metric::ServiceP99 => !commands && open_loop,
            _ => !commands,
        };
        let valid = list_names(Metric::ALL.into_iter().filter(|metric| fits(metric)).map(Metric::name));
        for metric in self.experiment.judge.metrics.iter().filter(|metric| !fits(metric)) {
            let path =
                if self.experiment.origin.has("judge.metrics") { "judge.metrics" } else { "judge.metric" };
            let what = match (metric, commands) {
                (Metric::Throughput, false) => {
                    "metric `throughput` of an open loop, which is its rate".to_owned()
                }
                (_, false) if *metric != Metric::Time => {
                    format!("metric `{}` of a closed loop, where it is the latency", metric.name())
                }
                _ => format!("metric `{}` for the system `{}`", metric.name(), experiment.system.name),
            };
            self.value_error(path, what, &valid);
        }
    }
}
