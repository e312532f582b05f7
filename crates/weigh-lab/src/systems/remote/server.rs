//! A server at a URL as a [`System`]: one instance for every slot, and nothing of it is ours to change.

use std::time::Instant;

use weigh_collect::ProcessTree;
use weigh_drivers::ServerUrl;
use weigh_load::Driver;
use weigh_results::model::{InstanceRecord, Replication, Slot};

use super::admin::{self, Admin, Identity};
use super::{local, mongodb, set_up};
use crate::host::Cancel;
use crate::plan::{ResolvedPlan, ResolvedVariant};
use crate::systems::drivers::{self, DriverOptions};
use crate::systems::slots::slots;
use crate::systems::{Counters, System, SystemError, shortened};

/// The user's server.
pub(super) struct Remote {
    system: String,
    url: String,
    options: DriverOptions,
    variants: Vec<ResolvedVariant>,
    slots: Vec<Slot>,
    admin: Option<Box<dyn Admin>>,
    /// Its root processes, if it runs on this host and we may look.
    roots: Vec<u32>,
    tree: Option<ProcessTree>,
    cancel: Cancel,
}

impl Remote {
    /// Of a plan that may be carried out on that server.
    pub(super) fn new(plan: &ResolvedPlan, url: &str, cancel: Cancel) -> Remote {
        Remote {
            system: plan.experiment.system.name.clone(),
            url: url.to_owned(),
            options: DriverOptions::of(&plan.experiment.system),
            variants: plan.variants.clone(),
            slots: slots(plan),
            admin: None,
            roots: Vec::new(),
            tree: None,
            cancel,
        }
    }

    /// Runs each distinct set of set-up commands once.
    fn set_up(&self, url: &ServerUrl) -> Result<(), SystemError> {
        let mut done: Vec<&[String]> = vec![&[]];
        for variant in &self.variants {
            if done.contains(&variant.setup.as_slice()) {
                continue;
            }
            done.push(&variant.setup);
            for (index, text) in variant.setup.iter().enumerate() {
                self.set_up_one(url, text).map_err(|mut error| {
                    let what = format!("set-up command {} `{}` failed", index + 1, shortened(text));
                    error.message = format!("{what}: {}", error.message);
                    error
                })?;
            }
        }
        Ok(())
    }

    fn set_up_one(&self, url: &ServerUrl, text: &str) -> Result<(), SystemError> {
        if self.cancel.is_cancelled() {
            return Err(SystemError::interrupted());
        }
        match self.system.as_str() {
            "mongodb" => mongodb::Session::open(url, &self.options)?.set_up(text, &self.cancel),
            _ => set_up::lines(&self.url, text, &self.options, &self.cancel),
        }
    }
}

impl System for Remote {
    fn replication(&self) -> Replication {
        Replication::Round
    }

    fn start_epoch(&mut self, _epoch: u32) -> Result<Vec<InstanceRecord>, SystemError> {
        let began = Instant::now();
        let url = drivers::with_password(ServerUrl::parse(&self.url).map_err(drivers::failed)?, &self.system);
        self.set_up(&url)?;
        let endpoint = drivers::endpoint(&self.system, &url, &self.options)?;
        self.roots = endpoint.map(|endpoint| local::processes(&endpoint)).unwrap_or_default();
        self.tree = (!self.roots.is_empty()).then(|| ProcessTree::of(&self.roots));
        self.admin = admin::open(&self.system, &url, &self.options, &self.variants)?;
        let identity = match &mut self.admin {
            Some(admin) => admin.identify()?,
            None => Identity::default(),
        };
        Ok(vec![InstanceRecord {
            slots: self.slots.clone(),
            version: identity.version,
            settings: identity.settings,
            start: 1,
            ready_s: began.elapsed().as_secs_f64(),
        }])
    }

    fn enter(&mut self, slot: Slot) -> Result<Box<dyn Driver>, SystemError> {
        let variant = &self.variants[slot.variant];
        drivers::boxed(&self.url, &variant.operations, &self.options).map_err(|mut error| {
            error.message = format!("variant `{}`: {}", variant.name, error.message);
            error
        })
    }

    fn counters(&mut self, _slot: Slot) -> Result<Counters, SystemError> {
        // A process that has gone meanwhile, or that we may not look at, leaves the server's own word.
        let sample = self.tree.as_mut().and_then(|tree| tree.sample().ok());
        let mut counters = sample.map(|sample| sample.counters()).unwrap_or_default();
        if let Some(admin) = &mut self.admin {
            counters.extend(admin.counters()?);
        }
        Ok(counters)
    }

    fn processes(&self, _slot: Slot) -> Vec<u32> {
        self.roots.clone()
    }

    fn frozen_cpu_s(&self, _slot: Slot) -> f64 {
        0.0
    }

    /// Nothing: what is flushed there would be felt by everybody else on that server.
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
