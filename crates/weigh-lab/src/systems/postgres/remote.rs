//! A server of the user's own, reached by URL.
//!
//! Only what a session sets for itself is varied; the configuration is never touched, nothing is reloaded
//! and no checkpoint is asked for. Without `allow_writes = true` set-up statements are refused before
//! anything connects, operations that write are refused by their text, and every session of the load is
//! read-only, so that the server refuses a write that hides in a function.

use std::time::Instant;

use postgres::Client;
use weigh_load::Driver;
use weigh_results::model::{InstanceRecord, Replication, Slot};

use super::conf::Settings;
use super::counters::{Reader, Scope};
use super::{client, describe, drive, execute, readback, statements};
use crate::host::Cancel;
use crate::plan::{ResolvedPlan, ResolvedVariant};
use crate::systems::description::SettingContext;
use crate::systems::slots::slots;
use crate::systems::{Counters, System, SystemError};

/// Makes a session of the load refuse to write.
const READ_ONLY: &str = "default_transaction_read_only";

/// The user's server.
pub(super) struct Remote {
    url: String,
    variants: Vec<ResolvedVariant>,
    /// Per variant, what its sessions set.
    sessions: Vec<Settings>,
    allow_writes: bool,
    slots: Vec<Slot>,
    admin: Option<(Client, Reader)>,
    cancel: Cancel,
}

impl Remote {
    /// Checks the plan; connects only if its text promises to write nothing, or it may.
    ///
    /// # Errors
    /// Names what is refused.
    pub(super) fn new(plan: &ResolvedPlan, url: &str, cancel: Cancel) -> Result<Remote, SystemError> {
        let allow_writes = plan.experiment.system.allow_writes;
        refuse_writes(plan, allow_writes)?;
        let description = describe::describe(&plan.experiment)?;
        let mut sessions = Vec::new();
        for variant in &plan.variants {
            let mut session = Settings::new();
            for (name, level) in &variant.settings {
                let known = description.settings.iter().find(|setting| setting.name == *name);
                if known.is_some_and(|setting| setting.context != SettingContext::Session) {
                    return Err(SystemError::new(format!(
                        "`settings.{name}` cannot be set in a session, and weigh does not reconfigure a server \
                         it did not start"
                    )));
                }
                session.insert(name.clone(), level.to_text());
            }
            if !allow_writes {
                session.insert(READ_ONLY.to_owned(), "on".to_owned());
            }
            sessions.push(session);
        }
        Ok(Remote {
            url: url.to_owned(),
            variants: plan.variants.clone(),
            sessions,
            allow_writes,
            slots: slots(plan),
            admin: None,
            cancel,
        })
    }

    /// Runs each distinct set of set-up statements once.
    fn set_up(&self) -> Result<(), SystemError> {
        let mut connection = client::connect_url(&self.url)?;
        let mut done: Vec<&[String]> = Vec::new();
        for variant in &self.variants {
            if done.contains(&variant.setup.as_slice()) {
                continue;
            }
            done.push(&variant.setup);
            execute::all(&mut connection, "set-up statement", &variant.setup, &self.cancel)?;
        }
        Ok(())
    }

    fn read_back(&self, variant: usize) -> Result<Settings, SystemError> {
        let mut connection = client::connect_url(&self.url)?;
        client::set_in_session(&mut connection, &self.sessions[variant])?;
        readback::check(&mut connection, &self.sessions[variant])?.map_err(readback::Mismatch::into_error)
    }
}

fn refuse_writes(plan: &ResolvedPlan, allow_writes: bool) -> Result<(), SystemError> {
    if allow_writes {
        return Ok(());
    }
    let refusal = |what: String| {
        let text = format!("{what}, and the server at `system.url` may not be written to");
        Err(SystemError::new(text)
            .hint("allow_writes = true  # below [system], if that server may be changed"))
    };
    for variant in &plan.variants {
        if let Some(statement) = variant.setup.first() {
            return refusal(format!("the set-up statement `{statement}` may write"));
        }
        if let Some(statement) = variant.prepare.first() {
            return refusal(format!("the `prepare` statement `{statement}` may write"));
        }
        for operation in &variant.operations {
            if let Some(word) =
                operation.text.statements().iter().find_map(|sql| statements::writing_word(sql))
            {
                return refusal(format!("operation `{}` may write (`{word}`)", operation.name));
            }
        }
        for name in variant.settings.keys() {
            if name.ends_with("transaction_read_only") {
                return refusal(format!("`settings.{name}` decides whether sessions may write"));
            }
        }
    }
    Ok(())
}

impl System for Remote {
    fn replication(&self) -> Replication {
        Replication::Round
    }

    fn start_epoch(&mut self, _epoch: u32) -> Result<Vec<InstanceRecord>, SystemError> {
        let began = Instant::now();
        if self.allow_writes {
            self.set_up()?;
        }
        let mut admin = client::connect_url(&self.url)?;
        let version = client::version(&mut admin)?;
        let reader = Reader::new(&mut admin, describe::major(&version), Scope::Database)?;
        self.admin = Some((admin, reader));
        let settings = self.read_back(0)?;
        let ready_s = began.elapsed().as_secs_f64();
        Ok(vec![InstanceRecord { slots: self.slots.clone(), version, settings, start: 1, ready_s }])
    }

    fn enter(&mut self, slot: Slot) -> Result<Box<dyn Driver>, SystemError> {
        let prepare = &self.variants[slot.variant].prepare;
        if !prepare.is_empty() {
            // A connection of its own: what it sets or leaves open ends with it. No checkpoint afterwards:
            // that server is not ours.
            let mut connection = client::connect_url(&self.url)?;
            execute::all(&mut connection, "`prepare` statement", prepare, &self.cancel)?;
        }
        self.read_back(slot.variant)?;
        drive::remote(&self.url, &self.sessions[slot.variant], &self.variants[slot.variant])
    }

    fn counters(&mut self, _slot: Slot) -> Result<Counters, SystemError> {
        let (admin, reader) =
            self.admin.as_mut().ok_or_else(|| SystemError::new("the server is not connected"))?;
        reader.read(admin)
    }

    fn processes(&self, _slot: Slot) -> Vec<u32> {
        Vec::new()
    }

    fn frozen_cpu_s(&self, _slot: Slot) -> f64 {
        0.0
    }

    /// Nothing: a checkpoint would be felt by everybody else on that server.
    fn drain(&mut self, _slot: Slot) -> Result<(), SystemError> {
        Ok(())
    }

    fn leave(&mut self, _slot: Slot) -> Result<(), SystemError> {
        Ok(())
    }

    fn stop(&mut self) -> Result<(), SystemError> {
        self.admin = None;
        Ok(())
    }
}
