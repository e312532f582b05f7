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
    /// What it cannot do, and why. Nothing is known of a server at a URL.
    pub lacks: Vec<Lack>,
}

/// Something systems of one kind can do and some of them cannot. An experiment names what it needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Capability {
    /// An acknowledgement means what the write concern says.
    WriteConcern,
    /// Reads use the indexes there are.
    IndexedReads,
    /// Figures about locks.
    LockFigures,
}

impl Capability {
    /// Every one.
    pub const ALL: [Capability; 3] =
        [Capability::WriteConcern, Capability::IndexedReads, Capability::LockFigures];

    /// As typed in `needs`.
    pub fn name(self) -> &'static str {
        match self {
            Capability::WriteConcern => "write concern",
            Capability::IndexedReads => "indexed reads",
            Capability::LockFigures => "lock figures",
        }
    }
}

/// Something a system cannot do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lack {
    /// What.
    pub capability: Capability,
    /// A fragment that explains it: `FerretDB takes w and j and ignores them`.
    pub why: String,
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
