//! Operations against the server's own count: closed and open, one at a time and in a pipeline, on one thread and two.
//!
//! Every load runs without a warm-up and waits for its last reply, so that the two counts must be the same number.

use std::time::Duration;

use weigh_load::{Arrivals, LoadSpec, Schedule};
use weigh_results::model::selftest::{Figure, FigureUnit, Right};

use super::client::BuiltInDriver;
use super::error::SelftestError;
use super::load::{self, planned};
use super::run::{Measured, Stage};
use super::server::{BuiltInServer, ServerPlan, Waiting};
use super::watch::Watch;

const MEASURE: Duration = Duration::from_millis(400);

/// The check.
pub(super) fn check(stage: &Stage<'_>) -> Result<Measured, SelftestError> {
    let mut watch = Watch::begin();
    let base = load::spec(1, MEASURE);
    let pipelined = LoadSpec { clients: 8, threads: 2, pipeline: 16, ..base.clone() };
    let arrivals = Arrivals::Poisson;
    let open = LoadSpec { schedule: Schedule::Open { rate_per_s: 5000.0, arrivals }, ..pipelined.clone() };
    let loads = [
        ("1 client", base),
        ("8 clients, 2 threads, 16 deep", pipelined),
        ("the same, open loop at 5,000/s", open),
    ];
    let mut figures = Vec::new();
    for (name, spec) in loads {
        figures.push(counted(stage, &mut watch, name, &spec)?);
    }
    let setup = format!("the built-in server, {} each", planned(MEASURE));
    Ok(Measured { setup, figures, disturbance: watch.end() })
}

fn counted(
    stage: &Stage<'_>,
    watch: &mut Watch,
    name: &str,
    spec: &LoadSpec,
) -> Result<Figure, SelftestError> {
    let plan = ServerPlan { delays: vec![Duration::ZERO], log_limit: 0, waiting: Waiting::Sleeping };
    let server = BuiltInServer::start(plan)?;
    let ran = load::run(spec, BuiltInDriver::new(&server), stage.cancel)?;
    let log = server.finish()?;
    watch.load(&ran.report);
    Ok(Figure::always(
        format!("{name}: operations"),
        ran.report.operations_total as f64,
        FigureUnit::Count,
        Right::Exactly(log.answered as f64),
        "exactly as many as the server answered",
    ))
}
