//! A session of our own with a private Redis: what is in force, live changes, background work.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use weigh_drivers::ServerUrl;

use crate::host::Cancel;
use crate::systems::drivers::{self, DriverOptions};
use crate::systems::private::{Session, Settings};
use crate::systems::remote::{Admin, Identity, RedisAdmin};
use crate::systems::{Counters, SystemError};

/// A rewrite or save of gigabytes takes a while.
const BACKGROUND_LIMIT: Duration = Duration::from_secs(600);
const PATIENCE: Duration = Duration::from_millis(2);

/// Fields of `INFO` that are 0 unless something is going on or about to.
const BUSY: [&str; 6] = [
    "loading",
    "aof_rewrite_in_progress",
    "aof_rewrite_scheduled",
    "rdb_bgsave_in_progress",
    "aof_pending_bio_fsync",
    "aof_pending_rewrite",
];

pub(super) struct PrivateSession {
    admin: RedisAdmin,
}

impl PrivateSession {
    /// Connects; a server that still loads its data refuses.
    ///
    /// # Errors
    /// In the server's words.
    pub(super) fn open<'t>(
        url: &ServerUrl,
        commands: impl Iterator<Item = &'t str>,
    ) -> Result<PrivateSession, SystemError> {
        let mut admin = RedisAdmin::open(url, &DriverOptions::default(), commands)?;
        // `LOADING Redis is loading the dataset in memory` is an answer, and not the one that is awaited.
        admin.raw().ask(&["PING"]).map_err(drivers::failed)?;
        Ok(PrivateSession { admin })
    }

    /// Waits until nothing runs in the background; gives the last `INFO`.
    fn settled(&mut self, cancel: &Cancel) -> Result<BTreeMap<String, String>, SystemError> {
        let began = Instant::now();
        loop {
            let info = self.admin.info()?;
            let busy = BUSY.iter().find(|field| info.get(**field).is_some_and(|value| value != "0"));
            let Some(busy) = busy else { return Ok(info) };
            if began.elapsed() > BACKGROUND_LIMIT {
                let text = format!("the server has not finished within {} s", BACKGROUND_LIMIT.as_secs());
                return Err(SystemError::new(format!("{text}: `{busy}` in INFO")));
            }
            if cancel.sleep(PATIENCE) {
                return Err(SystemError::interrupted());
            }
        }
    }

    fn set(&mut self, name: &str, value: &str) -> Result<(), SystemError> {
        let set = self.admin.raw().ask(&["CONFIG", "SET", name, value]);
        set.map(|_| ()).map_err(drivers::failed)
    }
}

impl Admin for PrivateSession {
    fn identify(&mut self) -> Result<Identity, SystemError> {
        self.admin.identify()
    }

    fn counters(&mut self) -> Result<Counters, SystemError> {
        self.admin.counters()
    }
}

impl Session for PrivateSession {
    fn in_force(&mut self, names: &[&str]) -> Result<Settings, SystemError> {
        let mut found = Settings::new();
        for name in names {
            let pair = self.admin.raw().ask_list(&["CONFIG", "GET", name]).map_err(drivers::failed)?;
            if let [_, value] = pair.as_slice() {
                found.insert((*name).to_owned(), value.clone());
            }
        }
        Ok(found)
    }

    /// One after the other, for the server's message then is about one of them. A rewrite that this sets off is awaited:
    /// until it is done the append-only file is not what writes wait for.
    fn apply(&mut self, settings: &Settings, cancel: &Cancel) -> Result<(), SystemError> {
        for (name, value) in settings {
            self.set(name, value).map_err(|error| error.of(format_args!("`{name} {value}`")))?;
        }
        let info = self.settled(cancel)?;
        match info.get("aof_last_bgrewrite_status").map(String::as_str) {
            Some("ok") | None => Ok(()),
            Some(status) => {
                Err(SystemError::new(format!("the append-only file was not rewritten: {status}")))
            }
        }
    }

    fn begin(&mut self, settings: &Settings, cancel: &Cancel) -> Result<(), SystemError> {
        let append_only = settings.get_key_value("appendonly");
        let late = append_only.map(|(name, value)| (name.clone(), value.clone())).into_iter().collect();
        self.apply(&late, cancel)
    }

    /// What the server has buffered is written within its next cycle; a rewrite or save that a trial set off is its debt.
    fn drain(&mut self, cancel: &Cancel) -> Result<(), SystemError> {
        let began = Instant::now();
        loop {
            let info = self.settled(cancel)?;
            let buffered = info.get("aof_buffer_length").is_some_and(|bytes| bytes != "0");
            if !buffered || began.elapsed() > BACKGROUND_LIMIT {
                return Ok(());
            }
            if cancel.sleep(PATIENCE) {
                return Err(SystemError::interrupted());
            }
        }
    }

    /// In the background: a save in the foreground would answer nobody for as long as it takes.
    fn save(&mut self, cancel: &Cancel) -> Result<(), SystemError> {
        self.settled(cancel)?;
        self.admin.raw().ask(&["BGSAVE"]).map_err(drivers::failed)?;
        let info = self.settled(cancel)?;
        match info.get("rdb_last_bgsave_status").map(String::as_str) {
            Some("ok") => Ok(()),
            status => {
                let status = status.unwrap_or("unknown");
                Err(SystemError::new(format!("the data set could not be saved: {status}")))
            }
        }
    }
}
