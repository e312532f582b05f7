//! How busy the machine was during a check.

use std::time::{Duration, Instant};

use weigh_collect::{HostSample, OwnSample};
use weigh_load::LoadReport;
use weigh_results::model::selftest::Disturbance;

use super::server::ServerLog;

/// Watches the calling thread and the hypervisor from now on.
#[derive(Debug)]
pub(super) struct Watch {
    begun: Instant,
    wait_ns: Option<u64>,
    host: Option<HostSample>,
    /// Largest share of waiting of any other thread.
    others: f64,
    /// Share of the time at which somebody due then would have waited too long for the witness or the server.
    stalls: f64,
}

impl Watch {
    pub(super) fn begin() -> Watch {
        Watch {
            begun: Instant::now(),
            wait_ns: OwnSample::current_thread().ok().map(|thread| thread.wait_ns),
            host: HostSample::read().ok(),
            others: 0.0,
            stalls: 0.0,
        }
    }

    /// Adds what a load's workers waited.
    pub(super) fn load(&mut self, report: &LoadReport) {
        self.thread(report.client_wait, report.measured);
    }

    /// Adds what the built-in server waited.
    pub(super) fn server(&mut self, log: &ServerLog) {
        self.thread(log.wait, log.lived);
    }

    /// Adds a thread that waited so long during `window`.
    pub(super) fn thread(&mut self, waited: Duration, window: Duration) {
        if !window.is_zero() {
            self.others = self.others.max(waited.div_duration_f64(window));
        }
    }

    /// Adds that somebody due in `stalled` out of `window` would have waited too long. Shares are added up: each keeps
    /// a schedule from being met by itself.
    pub(super) fn stalled(&mut self, stalled: Duration, window: Duration) {
        if !window.is_zero() {
            self.stalls += stalled.div_duration_f64(window);
        }
    }

    /// What came of it.
    pub(super) fn end(self) -> Disturbance {
        let window_s = self.begun.elapsed().as_secs_f64();
        let waited = self.wait_ns.zip(OwnSample::current_thread().ok());
        let own = waited.map(|(before, now)| now.wait_ns.saturating_sub(before) as f64 / 1e9 / window_s);
        let steal = self.host.zip(HostSample::read().ok()).map(|(before, now)| now.delta(&before).steal);
        Disturbance {
            window_s,
            wait_share: own.unwrap_or(0.0).max(self.others),
            steal_share: steal.unwrap_or(0.0),
            stall_share: self.stalls,
            known: own.is_some(),
        }
    }
}
