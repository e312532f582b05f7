//! From samples to percentiles: known durations through the whole recording path.
//!
//! Two clients in threads of their own spend durations from a long-tailed distribution and keep every one of them. The
//! engine times the same operations, merges its workers' histograms, and the result goes through the text that runs
//! are stored as. Its percentiles must be the exact order statistics of what the clients kept, within the three
//! digits of the histogram and the moments between the two readings of the clock.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use weigh_load::generator::Parameters;
use weigh_load::{Connection, Driver, DriverError, InlineClient, Outcome};
use weigh_results::model::histogram;
use weigh_results::model::selftest::{Figure, FigureUnit, Right};

use super::error::SelftestError;
use super::load::{self, planned};
use super::order::{Ordered, bracketed};
use super::run::{Measured, Stage};
use super::server::nanoseconds;
use super::watch::Watch;

const MEASURE: Duration = Duration::from_millis(1200);
const CLIENTS: usize = 2;
/// Shortest and longest operation, nanoseconds.
const SHORTEST_NS: f64 = 2_000.0;
const LONGEST_NS: f64 = 5_000_000.0;
/// Room for the spans of one client.
const MOST: usize = 1 << 18;

const WHY: &str = "the exact order statistics of what the clients themselves timed; the histogram has three digits, a \
                   reading of the clock takes under 1 µs";

/// When an operation was begun and ended, nanoseconds.
type Span = (u64, u64);

/// The check.
pub(super) fn check(stage: &Stage<'_>) -> Result<Measured, SelftestError> {
    let kept = Arc::new(Mutex::new(Vec::new()));
    let driver = SpendingDriver { epoch: Instant::now(), kept: Arc::clone(&kept) };
    let (epoch, mut watch) = (driver.epoch, Watch::begin());
    let ran = load::run(&load::spec(CLIENTS, MEASURE), driver, stage.cancel)?;
    watch.load(&ran.report);
    let ends_ns = nanoseconds(ran.measure_ends.saturating_duration_since(epoch));
    let began_ns = nanoseconds(ran.began.saturating_duration_since(epoch));
    let clients = std::mem::take(&mut *kept.lock().unwrap_or_else(PoisonError::into_inner));
    let (low, high) = bounds(&clients, began_ns, ends_ns);
    let stored = histogram::encode(&ran.report.latency).and_then(|text| histogram::decode(&text));
    let stored = stored.map_err(|error| SelftestError::Figures(error.to_string()))?;
    let counted = Figure::always(
        "samples",
        stored.len() as f64,
        FigureUnit::Count,
        Right::Near { truth: low.len() as f64, tolerance: CLIENTS as f64 },
        "as many as the clients kept; one each may have ended on the window's last edge",
    );
    let mut figures = vec![counted];
    figures.extend(bracketed("", &stored, (&low, &high), &[0.01, 0.5, 0.9, 0.99, 0.999], WHY));
    let setup =
        format!("{CLIENTS} clients spend 2 µs to 5 ms per operation, long-tailed, for {}", planned(MEASURE));
    Ok(Measured { setup, figures, disturbance: watch.end() })
}

/// Lower and upper bounds of every latency in the window: what the client timed itself, and from the end of the
/// operation before to the beginning of the one after.
fn bounds(clients: &[Vec<Span>], began_ns: u64, ends_ns: u64) -> (Ordered, Ordered) {
    let (mut low, mut high) = (Vec::new(), Vec::new());
    for spans in clients {
        let mut before_ns = began_ns;
        for (index, (begun_ns, ended_ns)) in spans.iter().copied().enumerate() {
            if ended_ns < ends_ns {
                let after_ns = spans.get(index + 1).map_or(ended_ns, |next| next.0);
                low.push(ended_ns - begun_ns);
                high.push(after_ns.saturating_sub(before_ns));
            }
            before_ns = ended_ns;
        }
    }
    (Ordered::new(low), Ordered::new(high))
}

/// Makes clients that spend time.
struct SpendingDriver {
    epoch: Instant,
    kept: Arc<Mutex<Vec<Vec<Span>>>>,
}

impl Driver for SpendingDriver {
    fn connect(&self, client: usize) -> Result<Connection, DriverError> {
        Ok(Connection::Inline(Box::new(SpendingClient {
            epoch: self.epoch,
            random: Xoshiro256PlusPlus::seed_from_u64(client as u64),
            spans: Vec::with_capacity(MOST),
            kept: Arc::clone(&self.kept),
        })))
    }

    fn blocks_its_thread(&self) -> bool {
        true
    }
}

struct SpendingClient {
    epoch: Instant,
    random: Xoshiro256PlusPlus,
    spans: Vec<Span>,
    kept: Arc<Mutex<Vec<Vec<Span>>>>,
}

impl SpendingClient {
    /// Log-uniform, pressed towards the short end: many short ones and a long tail.
    fn length_ns(&mut self) -> f64 {
        let uniform = (self.random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
        SHORTEST_NS * (LONGEST_NS / SHORTEST_NS).powf(uniform.powi(3))
    }
}

impl InlineClient for SpendingClient {
    fn execute(&mut self, _operation: usize, _parameters: &mut Parameters<'_>) -> Outcome {
        let length_ns = self.length_ns();
        let begun_ns = nanoseconds(self.epoch.elapsed());
        let ended_ns = loop {
            let now_ns = nanoseconds(self.epoch.elapsed());
            if (now_ns - begun_ns) as f64 >= length_ns {
                break now_ns;
            }
        };
        if self.spans.len() < MOST {
            self.spans.push((begun_ns, ended_ns));
        }
        Outcome::Success
    }
}

impl Drop for SpendingClient {
    fn drop(&mut self) {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).push(std::mem::take(&mut self.spans));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_reach_from_the_operation_before_to_the_one_after() {
        let clients = [vec![(110, 200), (230, 300), (305, 900)]];
        let (low, high) = bounds(&clients, 100, 500);
        assert_eq!((low.len(), low.at(1.0), high.at(1.0)), (2, 90.0, 130.0));
        assert_eq!((low.at(0.1), high.at(0.1)), (70.0, 105.0));
    }
}
