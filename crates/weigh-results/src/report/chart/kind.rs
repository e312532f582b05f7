//! The closed set of charts and their names.

use crate::model::Metric;

/// Which times a latency chart is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    /// What a user waits: in an open loop from the intended start of an operation, in a closed loop from its sending.
    Response,
    /// From when an operation was really sent; only an open loop keeps it apart.
    Service,
}

/// One chart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChartKind {
    /// Every variant's ratio to the baseline with its interval, per metric, the A/A check among them.
    Forest,
    /// Latency by quantile, the tail stretched.
    Quantiles(Clock),
    /// Share of operations that took at most so long.
    Ecdf(Clock),
    /// Every trial in the order of time, by one metric.
    Trials(Metric),
    /// Costs per operation beside the baseline's.
    Costs,
    /// A sweep: a metric over the levels of an ordered numeric factor, with the fitted growth.
    Growth(Metric),
    /// Shares of a metric's variation that factors and pairs of them explain.
    Factors(Metric),
    /// Latency by call number, from the start of a trial on.
    FirstCalls,
}

impl ChartKind {
    /// As typed: `forest`, `quantiles`, `quantiles-service`, `ecdf`, `ecdf-service`, `costs`, `trials`,
    /// `trials-latency_p99`, `growth`, `growth-throughput`, `factors`, `factors-time`, `first-calls`. `trials`, `growth` and
    /// `factors` alone mean `by`.
    #[must_use]
    pub fn from_name(name: &str, by: Metric) -> Option<ChartKind> {
        let metric = |rest: &str| match rest.strip_prefix('-') {
            None if rest.is_empty() => Some(by),
            None => None,
            Some(name) => Metric::from_name(name),
        };
        match name {
            "forest" => Some(ChartKind::Forest),
            "quantiles" => Some(ChartKind::Quantiles(Clock::Response)),
            "quantiles-service" => Some(ChartKind::Quantiles(Clock::Service)),
            "ecdf" => Some(ChartKind::Ecdf(Clock::Response)),
            "ecdf-service" => Some(ChartKind::Ecdf(Clock::Service)),
            "costs" => Some(ChartKind::Costs),
            "first-calls" => Some(ChartKind::FirstCalls),
            _ => {
                type Of = fn(Metric) -> ChartKind;
                let by_metric: [(&str, Of); 3] = [
                    ("trials", ChartKind::Trials),
                    ("growth", ChartKind::Growth),
                    ("factors", ChartKind::Factors),
                ];
                by_metric.into_iter().find_map(|(kind, of)| metric(name.strip_prefix(kind)?).map(of))
            }
        }
    }

    /// Its full name.
    #[must_use]
    pub fn name(self) -> String {
        match self {
            ChartKind::Forest => "forest".into(),
            ChartKind::Quantiles(Clock::Response) => "quantiles".into(),
            ChartKind::Quantiles(Clock::Service) => "quantiles-service".into(),
            ChartKind::Ecdf(Clock::Response) => "ecdf".into(),
            ChartKind::Ecdf(Clock::Service) => "ecdf-service".into(),
            ChartKind::Costs => "costs".into(),
            ChartKind::Trials(metric) => format!("trials-{}", metric.name()),
            ChartKind::Growth(metric) => format!("growth-{}", metric.name()),
            ChartKind::Factors(metric) => format!("factors-{}", metric.name()),
            ChartKind::FirstCalls => "first-calls".into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back() {
        let clocks = [Clock::Response, Clock::Service];
        let kinds = Metric::ALL
            .into_iter()
            .flat_map(|metric| {
                [ChartKind::Trials(metric), ChartKind::Growth(metric), ChartKind::Factors(metric)]
            })
            .chain(clocks.into_iter().flat_map(|clock| [ChartKind::Quantiles(clock), ChartKind::Ecdf(clock)]))
            .chain([ChartKind::Forest, ChartKind::Costs, ChartKind::FirstCalls]);
        for kind in kinds {
            assert_eq!(ChartKind::from_name(&kind.name(), Metric::Time), Some(kind));
        }
        let by = Metric::LatencyP99;
        assert_eq!(ChartKind::from_name("trials", by), Some(ChartKind::Trials(by)));
        for wrong in ["", "forests", "trialsx", "trials-", "trials-speed", "quantiles-x"] {
            assert_eq!(ChartKind::from_name(wrong, by), None, "{wrong}");
        }
    }
}
