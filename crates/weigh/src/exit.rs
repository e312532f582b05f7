//! Exit codes. They are part of the interface: scripts and pipelines depend on them.
//!
//! [`INTERRUPTED_BASE`] plus the signal's number is what shells expect of a program that a signal ended:
//! 130 for Ctrl-C, 143 for SIGTERM, 129 for SIGHUP.

/// Everything that was asked for was done.
pub(crate) const OK: u8 = 0;
/// Something went wrong while doing it.
pub(crate) const FAILED: u8 = 1;
/// The experiment or the command line is wrong; nothing was started. (Also what clap uses.)
pub(crate) const USAGE: u8 = 2;
/// Something is missing on this host; the message says how to install it.
pub(crate) const MISSING: u8 = 3;
/// The run is complete, but a self-check failed and the verdict is withheld.
pub(crate) const NO_VERDICT: u8 = 4;
/// `weigh load`: not one operation was completed without error.
pub(crate) const NOTHING_DONE: u8 = 5;
/// `weigh selftest`: a check failed.
pub(crate) const SELFTEST_FAILED: u8 = 6;
/// `weigh selftest`: nothing failed, but the machine was too busy to judge some of it.
pub(crate) const SELFTEST_NOT_JUDGED: u8 = 7;
/// What `--fail-if` names is so.
pub(crate) const FAIL_IF: u8 = 10;
/// A signal ended the run; what was measured is kept. Added to the signal's number.
pub(crate) const INTERRUPTED_BASE: u8 = 128;

/// What `weigh --help` says about them.
pub(crate) const HELP: &str = "\
Exit codes:
  0    done
  1    failed
  2    the experiment or the command line is wrong; nothing was started
  3    something is missing on this host; the message says how to install it
  4    the run is complete, but a self-check failed: no verdict
  5    weigh load: not one operation was completed without error
  6    weigh selftest: a check failed
  7    weigh selftest: nothing failed, but the machine was too busy to judge some of it
  10   what --fail-if names is so
  129, 130, 143   ended by SIGHUP, Ctrl-C, SIGTERM; the run is kept and can be resumed";
