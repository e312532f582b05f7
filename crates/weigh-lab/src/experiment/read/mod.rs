//! Text → [`Experiment`]: a walk over the spanned TOML table.
//!
//! - [`parse`], [`read_workload`]: the doors. Syntax first, then keys and types (all mistakes of a file at once), then meaning
//!   (`check`).
//! - `section`: a table with its known keys; typed getters that report and go on.
//! - `parts`: one function per section of the file; `workload`: its operations; `variation`: factors and variants.
//!
//! The walk fills in defaults and remembers where everything stands. It never substitutes and never
//! decides whether things fit together.

mod parse;
mod parts;
mod section;
mod variation;
mod workload;

pub(super) use parse::TEXT_BYTES_MAX;
pub use parse::{parse, read_workload};
pub(super) use parts::{
    ARRIVALS_NAMES, DURATION_EXPECTED, GOAL_NAMES, MEMORY_EXPECTED, PERCENTAGE_EXPECTED, RATE_EXPECTED,
    arrivals_from_name, default_judge, default_load, goal_from_name, is_open_loop, parse_duration,
    parse_percentage, parse_settle, rate_of_level, system_names,
};
pub(crate) use parts::{parse_memory, parse_rate};
pub(super) use variation::factor_from_toml;
