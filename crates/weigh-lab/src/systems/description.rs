//! What a system says about itself before anything is started: enough to resolve a plan.
//!
//! Every system makes one [`SystemDescription`]; `plan::resolve` checks settings against it. It holds
//! names and kinds only: nothing in here reads a server or decides anything.

use weigh_results::model::Column;

/// What a system says about itself. The default says nothing: that of commands, which are no system.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SystemDescription {
    /// Version as the system reports it (`15.18`).
    pub version: String,
    /// Every setting it has.
    pub settings: Vec<SettingFacts>,
    /// Counters it wants to see as columns of the table.
    pub columns: Vec<Column>,
}

/// One setting.
#[derive(Clone, Debug, PartialEq)]
pub struct SettingFacts {
    /// Its name.
    pub name: String,
    /// When a change comes into force.
    pub context: SettingContext,
    /// Which values it takes.
    pub kind: SettingKind,
}

/// When a change of a setting comes into force.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SettingContext {
    /// At the next start.
    Restart,
    /// When the configuration is read again.
    Reload,
    /// In the session that sets it.
    Session,
    /// Never: it is only shown.
    Fixed,
}

/// Which values a setting takes.
#[derive(Clone, Debug, PartialEq)]
pub enum SettingKind {
    /// `on`, `off` and their usual spellings.
    Boolean,
    /// An integer, with a unit of the system's own if it has one.
    Integer,
    /// A number.
    Real,
    /// Text.
    Text,
    /// One of these.
    Choice(Vec<String>),
}
