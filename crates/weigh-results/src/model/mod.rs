//! The words of a stored run, as they are written to disk (see `docs/formats.md`).
//!
//! - [`Event`]: one line of the event file; [`Run`]: all of them, folded.
//! - [`Plan`]: what was going to be done, enough to judge and to report without the experiment file.
//! - [`Trial`]: one variant under load for one slice of time.
//! - [`load`]: one load by itself.
//! - [`selftest`]: whether the engine measures right on this machine.
//!
//! Fields may be added with a default; nothing is renamed or removed without raising [`FORMAT_VERSION`].

mod event;
pub mod histogram;
pub mod load;
mod metric;
mod plan;
mod run;
pub mod selftest;
mod trial;

pub use event::{Event, Finish, FinishReason, HostSummary, InstanceRecord, RunHeader, SequenceRecord};
pub use metric::{Direction, Metric};
pub use plan::{Column, Goal, JudgeRule, Plan, Replication, VariantPlan};
pub use run::Run;
pub use trial::{ClientCost, Interference, Slot, Trial, Window};

/// Version of the event file. A reader refuses a newer one.
pub const FORMAT_VERSION: u32 = 1;
