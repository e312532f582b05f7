//! What a system does for the runner.

use std::collections::BTreeMap;

use weigh_load::Driver;
use weigh_results::model::{InstanceRecord, Replication, Slot};

use super::SystemError;

/// Counters by key; monotone within one instance's life. Keys end in their unit (`server.cpu_us`).
pub type Counters = BTreeMap<String, f64>;

/// A system that is up and serves every slot of the run, in one instance or in several.
///
/// The runner calls, per trial: `enter` → load → `drain` (if asked) → `leave`. Instances that serve
/// other slots are frozen in between.
pub trait System {
    /// What the unit of replication is: `Round` when every slot is served by one instance (or none).
    fn replication(&self) -> Replication;

    /// Starts epoch `epoch`: 0 is the first start; later ones stop every instance, restore the bytes
    /// every variant started from, and start it again. With `Replication::Round` it is called once.
    fn start_epoch(&mut self, epoch: u32) -> Result<Vec<InstanceRecord>, SystemError>;

    /// Makes the slot's instance ready for its trial: thawed, every other one frozen, live settings
    /// applied, read back and compared with what was asked. Gives the driver for the load.
    fn enter(&mut self, slot: Slot) -> Result<Box<dyn Driver>, SystemError>;

    /// Reads every counter of the slot's instance: process tree, cgroup, the service's own. Must be
    /// cheap (a few ms); called at both ends of the measured window and around the drain.
    fn counters(&mut self, slot: Slot) -> Result<Counters, SystemError>;

    /// Root processes of the slot's instance, for collectors; empty for an in-process system.
    fn processes(&self, slot: Slot) -> Vec<u32>;

    /// CPU seconds used so far by all frozen instances together.
    fn frozen_cpu_s(&self, slot: Slot) -> f64;

    /// Works off what the trial left behind (checkpoint, sync of dirty pages). The runner times it.
    fn drain(&mut self, slot: Slot) -> Result<(), SystemError>;

    /// Undoes what `enter` applied and freezes the instance if there are others.
    fn leave(&mut self, slot: Slot) -> Result<(), SystemError>;

    /// Stops everything that was started. Also happens on drop and through the undo registry.
    fn stop(&mut self) -> Result<(), SystemError>;
}
