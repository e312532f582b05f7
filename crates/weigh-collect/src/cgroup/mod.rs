//! Control groups, version 2 and version 1.
//!
//! - [`CgroupFacts`]: which hierarchies are mounted, which controllers they have, and whether we may make groups.
//! - [`CgroupSample`]: what one group has used and how it was held back.
//! - [`parse`]: the formats of `cpu.stat`, `io.stat` and others, as pure functions.
//!
//! Nothing here makes a group, moves a process or sets a limit. Hosts differ: many have everything on v2,
//! some everything on v1 with v2 mounted beside it (`/sys/fs/cgroup/unified`) and almost empty. Even an
//! empty v2 hierarchy has `cpu.stat` and pressure for each group, without any controller.

mod facts;
pub mod parse;
mod sample;

pub use facts::{CgroupFacts, V1Facts, V2Facts};
pub use sample::CgroupSample;
pub(crate) use sample::usage;
