//! How it stands, for a screen while the run goes on.
//!
//! - [`Live`]: a run that is folded event by event, with what its latest look has found.
//! - [`lines`]: what is redrawn in place on a terminal, for a [`Moment`] and a [`Style`](super::Style); never more
//!   lines than fit. [`plain_line`]: the same in one line, where nothing can be redrawn.
//! - [`Ahead`]: when it will end, as far as the rounds seen so far tell.
//! - [`Standing`]: one comparison in words.
//!
//! The same judgement as in the report, at the same looks. All of it is meant to be asked between trials: during one,
//! every bit of CPU time belongs to what is being measured. Nothing here knows a clock or a terminal.

mod ahead;
mod bar;
mod fold;
mod lines;
mod plain;
mod rows;
mod standing;

pub use ahead::Ahead;
pub use fold::Live;
pub use lines::{Doing, Moment, lines};
pub use plain::{decided_line, doubt_line, plain_line};
pub use standing::{Standing, standings};
