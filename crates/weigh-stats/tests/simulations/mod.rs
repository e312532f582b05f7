//! Seeded simulations: the rates that `docs/methods.md` promises, measured on thousands of experiments.
//!
//! - [`noise`]: what a machine does to trials; [`design`]: rounds in random order, the stopping rule.
//! - One module per promise; each prints what it measured and asserts a bound with its Monte Carlo margin.
//!
//! Every experiment has its own seed: the rates are the same on every machine, whatever the threads.

mod carry_over;
mod costs;
mod design;
mod ending;
mod factorial;
mod growth;
mod many;
mod noise;
mod order;
mod percentiles;
mod restarts;
mod verdicts;
mod warm_up;
