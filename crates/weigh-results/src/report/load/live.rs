//! What is seen of a load while it goes on: one line per interval.

use super::{number, per};
use crate::model::histogram::decode;
use crate::model::load::LoadInterval;
use crate::report::layout::cut;
use crate::report::units;

/// `4.0 s of 11 s: 47,100/s · p50 812 µs, p99 4.10 ms · 3 errors, most `…` · 120 wait to be sent · client 62 % of a core`
///
/// Percentiles are of the interval, and only the known ones are told.
pub fn line(interval: &LoadInterval, planned_s: f64) -> String {
    let length_s = interval.end_s - interval.begin_s;
    let mut parts = vec![format!(
        "{} of {}{}: {}/s",
        units::elapsed(interval.end_s),
        units::planned(planned_s),
        if interval.settling { ", warming up" } else { "" },
        units::significant(per(number(interval.operations), length_s), 3),
    )];
    parts.extend(percentiles(interval));
    if interval.errors > 0 {
        let most = interval.commonest_error.as_deref().map(|text| format!(", most `{}`", cut(text, 60)));
        let errors = plural(interval.errors, "error", "errors");
        parts.push(errors + &most.unwrap_or_default());
    }
    if interval.reconnects > 0 {
        parts.push(plural(interval.reconnects, "connection made again", "connections made again"));
    }
    // One is due at every moment that somebody looks.
    if interval.backlog > 1 {
        parts.push(format!("{} wait to be sent", units::count(interval.backlog)));
    }
    parts.push(format!("client {:.0} % of a core", 100.0 * per(interval.client_cpu_s, length_s)));
    parts.join(" · ")
}

fn plural(count: u64, one: &str, many: &str) -> String {
    format!("{} {}", units::count(count), if count == 1 { one } else { many })
}

fn percentiles(interval: &LoadInterval) -> Option<String> {
    let histogram = decode(interval.response.as_deref()?).ok()?;
    let times = super::summary::Distribution::new(histogram, 0);
    let known = [("p50", 500_000), ("p99", 990_000)]
        .into_iter()
        .filter_map(|(name, ppm)| Some(format!("{name} {}", units::seconds(times.known_s(ppm)?))));
    let known: Vec<String> = known.collect();
    (!known.is_empty()).then(|| known.join(", "))
}
