//! Text → [`Experiment`]: a walk over the spanned TOML table.
//!
//! - [`parse`]: the door. Syntax first, then keys and types (all mistakes of a file at once), then meaning
//!   (`check`).
//! - `section`: a table with its known keys; typed getters that report and go on.
//! - `parts`: one function per section of the file; `variation`: factors and variants.
//!
//! The walk fills in defaults and remembers where everything stands. It never substitutes and never
//! decides whether things fit together.

mod parse;
mod parts;
mod section;
mod variation;

pub(super) use parse::TEXT_BYTES_MAX;
pub use parse::parse;
pub(super) use parts::{
    DURATION_EXPECTED, GOAL_NAMES, PERCENTAGE_EXPECTED, default_judge, default_load, goal_from_name,
    parse_duration, parse_percentage, parse_settle, system_names,
};
pub(super) use variation::factor_from_toml;
