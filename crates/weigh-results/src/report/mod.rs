//! Reports: pure functions from a run and its analysis to what a reader sees.
//!
//! - [`terminal`]: the table, the verdict and the reasons, for a [`Style`] (width, colour, letters).
//! - [`html`]: the page, one file, with everything above in it and the raw data.
//! - [`json`]: everything, for programs; described in `docs/formats.md`. [`csv`]: trials or summary, for a spreadsheet.
//! - [`markdown`]: for a pull request.
//! - [`chart`]: what is drawn, as data and as pictures.
//! - [`growth`]: what a sweep grows like, in sentences.
//! - [`compare`]: two runs side by side, never without the doubt that belongs to it.
//! - [`plan`]: what a run would do.
//! - [`selftest`]: whether weigh measures right on a machine.
//! - [`factors`], [`growth`], [`first_calls`]: sentences about what a run shows besides its verdicts.
//! - [`list`]: stored runs, one line each.
//! - [`live`]: how it stands after a round, for a screen while the run goes on.
//! - [`load`]: one load by itself.
//! - [`units`] and [`words`]: figures and sentences, the same in every report.
//!
//! Nothing here reads a clock, a file or the terminal, and nothing here decides: what is *different*
//! was decided in [`crate::analysis`]. Colour never carries meaning alone.

pub mod chart;
pub mod compare;
mod counters;
pub mod csv;
mod distribution;
pub mod factors;
mod field;
pub mod first_calls;
pub mod growth;
pub mod html;
pub mod json;
mod layout;
pub mod list;
pub mod live;
pub mod load;
pub mod markdown;
pub mod plan;
mod reported;
pub mod selftest;
mod table;
pub mod terminal;
pub mod units;
pub mod words;

pub use layout::Style;
