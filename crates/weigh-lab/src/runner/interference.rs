//! What disturbed a trial: steal, other processes, waiting for a CPU, pressure.
//!
//! [`HostWatch`] reads the host at both ends of the measured window. [`contamination`] is the rule by
//! which a round is set aside: it was fixed before any run, and no metric of a variant goes into it.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use weigh_collect::{HostDelta, HostSample, OwnSample, ProcessTree, TreeSample};
use weigh_load::LoadReport;
use weigh_results::model::Interference;

use crate::systems::Counters;

/// A round with a trial above this share of stolen CPU time is set aside (docs/methods.md, self checks).
const STEAL_LIMIT: f64 = 0.05;

/// Why the rule sets this trial's round aside, if it does.
pub(crate) fn contamination(seen: &Interference) -> Option<String> {
    (seen.steal > STEAL_LIMIT).then(|| format!("{:.0} % of CPU time was stolen", seen.steal * 100.0))
}

/// The host at the beginning of a window. What cannot be read stays unknown: a trial is never lost to
/// a counter.
pub(crate) struct HostWatch {
    host: Option<HostSample>,
    own: Option<OwnSample>,
    tree: Option<(ProcessTree, TreeSample)>,
}

/// What was seen over a window.
pub(crate) struct Watched {
    /// `server.*` counters over the window.
    pub(crate) counters: Counters,
    seen: Interference,
    window: Duration,
}

impl HostWatch {
    /// Looks at the host, and at the processes of the system under load.
    pub(crate) fn begin(roots: &[u32]) -> HostWatch {
        let tree = (!roots.is_empty()).then(|| ProcessTree::of(roots)).and_then(|mut tree| {
            let sample = tree.sample().ok()?;
            Some((tree, sample))
        });
        HostWatch { host: HostSample::read().ok(), own: OwnSample::read().ok(), tree }
    }

    /// Looks again.
    pub(crate) fn end_with_counters(self) -> Watched {
        let (mut counters, mut server, mut server_wait) = (Counters::new(), Duration::ZERO, 0.0);
        if let Some((mut tree, before)) = self.tree
            && let Ok(after) = tree.sample()
        {
            counters = after.delta(&before);
            server = Duration::from_secs_f64(counters.get("server.cpu_us").copied().unwrap_or(0.0) / 1e6);
            server_wait = after.wait_share(&before).unwrap_or(0.0);
        }
        let own = self
            .own
            .and_then(|before| OwnSample::read().ok().map(|after| after.delta(&before).run))
            .unwrap_or_default();
        let host = self.host.and_then(|before| HostSample::read().ok().map(|after| after.delta(&before)));
        let window = host.as_ref().map_or(Duration::ZERO, |delta| delta.window);
        let mut seen = host.map(|delta| of_host(&delta, server + own)).unwrap_or_default();
        seen.server_wait = server_wait;
        Watched { counters, seen, window }
    }

    /// Looks again; `used_s` is the CPU time that the thing under test used, seconds.
    pub(crate) fn end(self, used_s: f64) -> Interference {
        let host = self.host.and_then(|before| HostSample::read().ok().map(|after| after.delta(&before)));
        host.map(|delta| of_host(&delta, Duration::from_secs_f64(used_s.max(0.0)))).unwrap_or_default()
    }
}

impl Watched {
    /// With what the load and the frozen instances add.
    pub(crate) fn interference(&self, report: &LoadReport, frozen_cpu_s: f64) -> Interference {
        let window_s = self.window.as_secs_f64();
        let client_wait = if window_s > 0.0 { report.client_wait.as_secs_f64() / window_s } else { 0.0 };
        Interference { client_wait, frozen_cpu_s, ..self.seen }
    }
}

fn of_host(delta: &HostDelta, known: Duration) -> Interference {
    Interference {
        steal: delta.steal,
        other_cpu: delta.other_busy(known),
        psi_cpu: delta.cpu_pressure.as_ref().map_or(0.0, |share| share.some),
        psi_io: delta.io_pressure.as_ref().map_or(0.0, |share| share.some),
        ..Interference::default()
    }
}

/// Room left on the host: gauges of a trial.
pub(crate) fn room(work_dir: &Path) -> BTreeMap<String, f64> {
    let mut gauges = BTreeMap::new();
    #[expect(clippy::cast_precision_loss, reason = "sizes of memory and disks are far below 2^52")]
    if let Ok(sample) = HostSample::read() {
        gauges.insert("host.memory_total_bytes".to_owned(), sample.memory.total_bytes as f64);
        for (key, value) in [
            ("host.memory_available_bytes", sample.memory.available_bytes),
            ("host.dirty_bytes", sample.memory.dirty_bytes),
        ] {
            if let Some(value) = value {
                gauges.insert(key.to_owned(), value as f64);
            }
        }
    }
    if let Ok(disk) = nix::sys::statvfs::statvfs(work_dir) {
        #[expect(clippy::cast_precision_loss, reason = "sizes of disks are far below 2^52")]
        for (key, blocks) in
            [("host.disk_free_bytes", disk.blocks_available()), ("host.disk_total_bytes", disk.blocks())]
        {
            gauges.insert(key.to_owned(), blocks as f64 * disk.fragment_size() as f64);
        }
    }
    gauges
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rule_looks_at_steal_only() {
        let busy =
            Interference { server_wait: 3.0, client_wait: 3.0, other_cpu: 0.9, ..Interference::default() };
        assert_eq!(contamination(&busy), None);
        let stolen = Interference { steal: 0.08, ..Interference::default() };
        assert_eq!(contamination(&stolen).as_deref(), Some("8 % of CPU time was stolen"));
    }

    #[test]
    fn a_busy_neighbour_is_seen_and_is_not_us() {
        let watch = HostWatch::begin(&[]);
        let spinner = std::process::Command::new("sh").args(["-c", "while :; do :; done"]).spawn();
        std::thread::sleep(Duration::from_millis(500));
        let watched = watch.end_with_counters();
        let mut spinner = spinner.unwrap();
        spinner.kill().unwrap();
        spinner.wait().unwrap();
        let cpus = std::thread::available_parallelism().unwrap().get() as f64;
        assert!(watched.seen.other_cpu > 0.3 / cpus, "{:?}", watched.seen);
    }
}
