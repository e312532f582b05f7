//! Flags beside an experiment file: they change what the file says, and the changed experiment is what is stored.

use weigh_lab::experiment::Experiment;
use weigh_results::model::{Goal, Metric};

use super::run::RunArgs;
use crate::args::{duration, duration_or_none, share};
use crate::exit;
use crate::failure::Failure;

/// Applies every flag that was typed.
pub(super) fn apply(experiment: &mut Experiment, args: &RunArgs) -> Result<(), Failure> {
    system(experiment, args);
    load(experiment, args)?;
    judge(experiment, args)?;
    schedule(experiment, args)
}

/// After the metrics: an open loop is judged by another metric unless one was named.
fn schedule(experiment: &mut Experiment, args: &RunArgs) -> Result<(), Failure> {
    if let Some(text) = &args.arrivals {
        let why = "must be `constant` or `poisson` beside a file; a factor goes into the file";
        let arrivals = Experiment::arrivals(text).ok_or_else(|| bad("--arrivals", text, why))?;
        experiment.load.arrivals = Some(arrivals);
    }
    if let Some(text) = &args.rate {
        let why = "must be one rate like `5000/s` beside a file; a factor goes into the file";
        let rate_per_s = Experiment::rate(text).ok_or_else(|| bad("--rate", text, why))?;
        if args.judge.metric.is_empty() {
            experiment.open_loop(rate_per_s);
        } else {
            experiment.load.rate_per_s = Some(rate_per_s);
        }
    }
    Ok(())
}

fn system(experiment: &mut Experiment, args: &RunArgs) {
    let system = &mut experiment.system;
    system.url = args.url.clone().or(system.url.take());
    system.bin_dir = args.bin_dir.clone().or(system.bin_dir.take());
    system.allow_writes |= args.allow_writes;
    system.ca_file = args.ca_file.clone().or(system.ca_file.take());
    system.insecure |= args.insecure;
    system.connect_to = args.connect_to.clone().or(system.connect_to.take());
}

fn load(experiment: &mut Experiment, args: &RunArgs) -> Result<(), Failure> {
    let load = &mut experiment.load;
    if let Some(clients) = &args.clients {
        let number = clients.parse::<u32>().ok().filter(|number| *number > 0);
        load.clients = number.ok_or_else(|| {
            bad("--clients", clients, "must be one number beside a file; a factor goes into the file")
        })?;
    }
    load.threads = args.threads.or(load.threads);
    load.pipeline = args.pipeline.unwrap_or(load.pipeline);
    if let Some(text) = &args.timeout {
        load.timeout = Some(duration(text).map_err(|why| bad("--timeout", text, &why))?);
    }
    if let Some(text) = &args.judge.trial {
        load.trial = duration(text).map_err(|why| bad("--trial", text, &why))?;
    }
    if let Some(text) = &args.settle {
        load.settle = duration_or_none(text).map_err(|why| bad("--settle", text, &why))?;
    }
    Ok(())
}

fn judge(experiment: &mut Experiment, args: &RunArgs) -> Result<(), Failure> {
    let (judge, typed) = (&mut experiment.judge, &args.judge);
    if let Some(text) = &typed.budget {
        judge.budget = duration(text).map_err(|why| bad("--budget", text, &why))?;
    }
    if let Some(text) = &typed.difference {
        judge.difference = share(text).map_err(|why| bad("--difference", text, &why))?;
    }
    if !typed.metric.is_empty() {
        judge.metrics = metrics(&typed.metric)?;
    }
    match typed.goal.as_deref() {
        Some("sign") => judge.goal = Goal::Sign,
        Some(_) => judge.goal = Goal::Size,
        None => {}
    }
    judge.baseline = typed.baseline.clone().or(judge.baseline.take());
    judge.drain &= !args.no_drain;
    Ok(())
}

fn metrics(names: &[String]) -> Result<Vec<Metric>, Failure> {
    let of = |name: &String| {
        Metric::from_name(name).ok_or_else(|| {
            let known = Metric::ALL.map(Metric::name).join(", ");
            bad("--metric", name, &format!("must be one of {known}"))
        })
    };
    names.iter().map(of).collect()
}

fn bad(flag: &str, value: &str, why: &str) -> Failure {
    Failure::new(exit::USAGE, format!("{flag}: bad value `{value}`: {why}"))
}
