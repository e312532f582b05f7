//! Templates: the bytes every variant starts from.
//!
//! `initdb` runs once; each distinct set of set-up statements gets a copy of its result, a server without
//! fsync to run them, and a clean shutdown. Autovacuum is off meanwhile and everything is vacuumed at the
//! end, so that the bytes do not depend on when a background worker happened to wake up.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use postgres::Client;

use super::conf::{self, Settings};
use super::design::Design;
use super::instance::{Home, Instance, Shop, fatal_message};
use super::{client, execute, warm};
use crate::host::{Cancel, HostError, Tool, UndoId};
use crate::systems::SystemError;

/// The last checkpoint of a big set-up writes everything.
const SHUT_DOWN_LIMIT: Duration = Duration::from_secs(600);

/// Makes an empty cluster in `<work_dir>/c`, to be copied and then undone.
///
/// # Errors
/// With `initdb`'s last lines.
pub(super) fn init(shop: &Shop, work_dir: &Path) -> Result<(PathBuf, UndoId), SystemError> {
    let dir = work_dir.join("c");
    let undo = shop.make_dir(&dir)?;
    let data = dir.join("data");
    let mut args = vec!["-D".into(), data.clone().into_os_string()];
    args.extend(["-U", client::USER, "-A", "trust", "-E", "UTF8", "--locale=C", "-N"].map(Into::into));
    let (program, starts) = (shop.programs.initdb(), [shop.programs.postgres()]);
    let user = shop.user.as_ref();
    Tool { program: &program, starts: &starts, args: &args, dir: &dir, user }.run(&shop.changes)?;
    let conf = data.join("postgresql.conf");
    OpenOptions::new()
        .append(true)
        .open(&conf)
        .and_then(|mut file| writeln!(file, "\ninclude = '{}'", conf::FILE))
        .map_err(|error| SystemError::new(format!("cannot write `{}`", conf.display())).caused_by(error))?;
    Ok((data, undo))
}

/// Has the server itself judge settings, without starting it (`postgres -C`); gives the bytes its buffers
/// would take.
///
/// # Errors
/// What the server says about the first setting it refuses.
pub(super) fn judge(shop: &Shop, cluster: &Path, who: &str, settings: &Settings) -> Result<u64, SystemError> {
    let number = |name| {
        let text = ask(shop, cluster, who, settings, name)?;
        text.trim().parse::<u64>().map_err(|error| {
            SystemError::new(format!("cannot read `{name}` out of `{}`", text.trim())).caused_by(error)
        })
    };
    Ok(number("shared_buffers")?.saturating_mul(number("block_size")?))
}

fn ask(
    shop: &Shop,
    cluster: &Path,
    who: &str,
    settings: &Settings,
    name: &str,
) -> Result<String, SystemError> {
    let mut args = vec!["-D".into(), cluster.as_os_str().to_owned()];
    args.extend(["-C".into(), name.into()]);
    for (name, value) in settings {
        args.extend(["-c".into(), format!("{name}={value}").into()]);
    }
    // The file that `postgresql.conf` includes is written later; the server misses it otherwise.
    let empty =
        Home { name: String::new(), dir: cluster.parent().unwrap_or(cluster).into(), socket_dir: "/".into() };
    empty.write_conf(shop, &[])?;
    let (program, user) = (shop.programs.postgres(), shop.user.as_ref());
    let judged = Tool { program: &program, starts: &[], args: &args, dir: cluster, user };
    match judged.run(&shop.changes) {
        Ok(output) => Ok(output.stdout),
        Err(HostError::Tool { log, .. }) => {
            let why = fatal_message(&log).unwrap_or_else(|| log.join(" "));
            let error = SystemError::new(format!("the server refuses the settings of {who}: {why}"));
            let hint = log.iter().find_map(|line| line.split_once("HINT:")).map(|(_, text)| text.trim());
            Err(match hint {
                Some(hint) => error.hint(hint),
                None => error,
            })
        }
        Err(other) => Err(other.into()),
    }
}

/// Runs the set-up statements on a copy of `cluster`; gives the directory every instance is copied from.
///
/// # Errors
/// Names the statement that failed, with the server's message.
pub(super) fn prepare(
    shop: &Shop,
    work_dir: &Path,
    cluster: &Path,
    number: usize,
    setup: &[String],
    design: &Design,
) -> Result<PathBuf, SystemError> {
    let common = &design.common;
    let home = Home::make(shop, work_dir, &format!("t{number}"))?;
    Instance::copy_and_configure(shop, &home, cluster, &[common])?;
    // VACUUM marks no page visible whose last commit is not in the log yet: none may be late, whatever the trials do.
    let quick = ["-c", "fsync=off", "-c", "autovacuum=off", "-c", "synchronous_commit=on"];
    let mut template = Instance::start(shop, &home, &quick, None)?;
    execute::all(&mut template.admin, "set-up statement", setup, &shop.cancel)?;
    if design.warms {
        warm::install(&mut template.admin)?;
    }
    let settled = settle(&mut template.admin, common, &shop.cancel);
    settled.map_err(|error| client::failed("cannot settle the data after the set-up", &error))?;
    refuse_tablespaces(&mut template.admin)?;
    template.shut_down(&shop.changes, SHUT_DOWN_LIMIT)?;
    // What only the template has.
    for leftover in ["postmaster.opts", conf::FILE] {
        fs::remove_file(home.data().join(leftover)).ok();
    }
    Ok(home.data())
}

/// Hint bits, visibility map and statistics as they would be a minute later in any live server;
/// statistics only where autovacuum would gather them.
fn settle(admin: &mut Client, common: &Settings, cancel: &Cancel) -> Result<(), postgres::Error> {
    let off =
        common.get("autovacuum").is_some_and(|value| matches!(value.as_str(), "off" | "false" | "no" | "0"));
    execute::one(admin, if off { "VACUUM" } else { "VACUUM (ANALYZE)" }, cancel)?;
    execute::one(admin, "CHECKPOINT", cancel)
}

/// A tablespace is a link to a directory elsewhere: all copies would share it.
fn refuse_tablespaces(admin: &mut Client) -> Result<(), SystemError> {
    let row = admin
        .query_opt("SELECT spcname FROM pg_tablespace WHERE spcname NOT LIKE 'pg\\_%' LIMIT 1", &[])
        .map_err(|error| client::failed("cannot look for tablespaces", &error))?;
    match row {
        None => Ok(()),
        Some(row) => Err(SystemError::new(format!(
            "the set-up makes tablespace `{}`, which all variants would share",
            row.get::<_, &str>(0)
        ))),
    }
}
