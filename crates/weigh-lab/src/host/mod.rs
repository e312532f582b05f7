//! Every change to the host, and its undo.
//!
//! Nothing outside this room starts a server, makes a directory for one or a cgroup. Each change is
//! registered before it is made, and undone on success, error, panic, Ctrl-C and SIGTERM; after
//! `kill -9` of weigh the guard process does it, and the next run clears whatever is still left.
//!
//! - [`HostChanges`]: the registry of one run; dropping it undoes everything. [`Undo`]: one change.
//! - [`guard_main`]: the process that outlives a killed run. [`sweep`]: what the next run does first.
//! - [`ServerCommand`], [`ServerProcess`], [`run_tool`]: processes, under an unprivileged user when root.
//! - [`Freezer`]: stops an instance that is not under load from using any CPU time.
//! - [`MemoryGroup`]: a limit of the memory an instance may use. [`forget_files`]: its files out of memory.
//! - [`WorkRoot`], [`copy_template`]: where instances live, and how each starts from the same bytes.
//! - [`Cancel`]: Ctrl-C, SIGTERM and SIGHUP as a flag that wakes sleepers.
//!
//! It must never touch a process, directory or cgroup that no run of weigh registered, nor those of a
//! run whose owner is alive.

mod cache;
mod cancel;
mod cgroup;
mod changes;
mod copy;
mod error;
mod freeze;
mod guard;
mod journal;
mod marked;
mod memory;
mod page_cache;
mod process;
mod shared_memory;
mod spawn;
mod spawner;
mod sweep;
mod sys;
mod undo;
mod work;

pub use cache::cache_dir;
pub(crate) use cache::link_tree;
pub use cancel::Cancel;
pub use changes::{HostChanges, UndoId};
pub(crate) use copy::sync_file_system;
pub use copy::{copy_template, sync_changed_since, tree_bytes};
pub use error::HostError;
pub use freeze::{FreezeMethod, Freezer};
pub use guard::guard_main;
pub use journal::{Owner, state_dir};
pub use marked::MARK;
pub use memory::MemoryGroup;
pub use page_cache::{cached_bytes, forget_files};
pub use process::{cpu_seconds, members, start_ticks};
pub use shared_memory::SharedMemory;
pub use spawn::{ServerCommand, ServerProcess, Tool, ToolOutput, run_tool};
pub use sweep::{Cleared, sweep, sweep_in};
pub use sys::{User, unprivileged_user};
pub use undo::Undo;
pub(crate) use work::is_reachable;
pub use work::{WorkRoot, free_bytes, in_memory};
