//! One running private server: started, asked, toggled, stopped.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use weigh_collect::{BlockDevice, DiskSample, ProcessTree};

use super::home::{Address, Home, Shop};
use super::kind::{Kind, Purpose, Session, Settings};
use crate::host::{Freezer, HostChanges, ServerCommand, ServerProcess, copy_template, sync_changed_since};
use crate::systems::remote::{Identity, processes_at};
use crate::systems::{Counters, SystemError};

/// Loading a big data set takes a while.
const READY_LIMIT: Duration = Duration::from_secs(120);
/// How often a port may be taken by somebody else between being found free and being bound.
const PORT_TRIES: usize = 5;
const LOG_LINES: usize = 12;

/// What is asked of a start.
#[derive(Clone, Copy, Debug)]
pub(in crate::systems) struct Order<'a> {
    /// Everything asked of the instance.
    pub(in crate::systems) settings: &'a Settings,
    /// What it is started for.
    pub(in crate::systems) purpose: Purpose,
    /// Most memory it may use, page cache included.
    pub(in crate::systems) memory_bytes: Option<u64>,
}

impl Order<'_> {
    /// To be put under load, with as much memory as there is.
    pub(in crate::systems) fn for_trials(settings: &Settings) -> Order<'_> {
        Order { settings, purpose: Purpose::Trials, memory_bytes: None }
    }
}

/// A running server.
pub(in crate::systems) struct Instance {
    /// Where it lives.
    pub(in crate::systems) home: Home,
    /// Our session with it.
    pub(in crate::systems) session: Box<dyn Session>,
    freezer: Freezer,
    pub(super) ready_s: f64,
    process: ServerProcess,
    /// The cgroup that limits its memory.
    memory: Option<PathBuf>,
    tree: ProcessTree,
    entered: SystemTime,
}

impl Instance {
    /// Puts a fresh copy of a template's data into a home, or nothing.
    ///
    /// # Errors
    /// When the copy fails.
    pub(super) fn furnish(home: &Home, template: Option<&Path>) -> Result<(), SystemError> {
        match template {
            Some(template) => {
                home.remove_data()?;
                Ok(copy_template(template, &home.data())?)
            }
            None => home.empty_data(),
        }
    }

    /// Starts a server on a furnished home and waits until it answers.
    ///
    /// # Errors
    /// With the server's own message and the last lines of its log.
    pub(in crate::systems) fn start(
        shop: &Shop,
        kind: &dyn Kind,
        home: &Home,
        order: Order<'_>,
    ) -> Result<Instance, SystemError> {
        let mut home = home.clone();
        let mut tries = 0;
        loop {
            tries += 1;
            home.before_start()?;
            match Instance::try_start(shop, kind, &home, order) {
                Err(Refused { port_taken: true, .. }) if tries < PORT_TRIES => {}
                Err(refused) => return Err(refused.error),
                Ok(instance) => return Ok(instance),
            }
        }
    }

    fn try_start(shop: &Shop, kind: &dyn Kind, home: &Home, order: Order<'_>) -> Result<Instance, Refused> {
        let launch = kind.launch(home, order.settings, order.purpose)?;
        let changes = &shop.changes;
        let cgroup = changes.make_cgroup(&home.name).map_err(SystemError::from)?;
        let limited = |bytes| changes.make_memory_group(&home.name, bytes).map_err(SystemError::from);
        let memory = order.memory_bytes.map(limited).transpose()?;
        let command = ServerCommand {
            program: launch.program,
            args: launch.args,
            env: launch.env,
            dir: home.dir.clone(),
            log: home.log(),
            user: shop.user.clone(),
            cgroup,
            polite_signal: launch.polite_signal,
        };
        let began = Instant::now();
        let mut process = command.start_limited(changes, memory.as_ref()).map_err(SystemError::from)?;
        let memory = memory.map(|group| group.path().to_owned());
        let begun = wait_until_ready(shop, kind, home, &mut process).and_then(|mut session| {
            if order.purpose == Purpose::Trials {
                session.begin(order.settings, &shop.cancel)?;
            }
            Ok(session)
        });
        let session = match begun {
            Ok(session) => session,
            Err(refused) => {
                end(process, memory.as_deref(), changes)?;
                return Err(refused);
            }
        };
        let ready_s = began.elapsed().as_secs_f64();
        let freezer = Freezer::new(&process);
        let tree = match process.cgroup() {
            Some(group) => ProcessTree::in_cgroup(group),
            None => ProcessTree::of(&[process.pid().cast_unsigned()]),
        };
        let (home, entered) = (home.clone(), SystemTime::now());
        Ok(Instance { home, session, freezer, ready_s, process, memory, tree, entered })
    }

    /// The values in force of everything asked, compared with what was asked.
    ///
    /// # Errors
    /// Names the setting that is not in force, and what is.
    pub(in crate::systems) fn read_back(
        &mut self,
        kind: &dyn Kind,
        asked: &Settings,
    ) -> Result<Settings, SystemError> {
        let names: Vec<&str> = asked.keys().map(String::as_str).collect();
        let in_force = self.session.in_force(&names)?;
        for (name, value) in asked {
            let Some(found) = in_force.get(name) else {
                return Err(SystemError::new(format!("{} has no setting `{name}`", kind.title())));
            };
            if !kind.is_same(name, value, found) {
                let text = format!("`{name}` is `{found}`, where `{value}` was asked for");
                return Err(SystemError::new(text).with_log(self.process.log_tail(LOG_LINES)));
            }
        }
        Ok(in_force)
    }

    /// What the server says about itself.
    ///
    /// # Errors
    /// In the server's words.
    pub(super) fn identify(&mut self) -> Result<Identity, SystemError> {
        self.session.identify()
    }

    /// Stops it from using any CPU time.
    ///
    /// # Errors
    /// When its processes do not stand still in time.
    pub(in crate::systems) fn freeze(&mut self) -> Result<(), SystemError> {
        Ok(self.freezer.freeze()?)
    }

    /// Lets it run again.
    ///
    /// # Errors
    /// When its processes do not run in time.
    pub(in crate::systems) fn thaw(&mut self) -> Result<(), SystemError> {
        Ok(self.freezer.thaw()?)
    }

    /// CPU time it has used so far, seconds.
    pub(in crate::systems) fn cpu_seconds(&self) -> f64 {
        self.freezer.cpu_seconds()
    }

    /// Pid of the root process.
    pub(in crate::systems) fn pid(&self) -> u32 {
        self.process.pid().cast_unsigned()
    }

    /// From now on files that change are the trial's.
    pub(in crate::systems) fn note_entered(&mut self) {
        self.entered = SystemTime::now();
    }

    /// Everything counted: by the server, of its processes, of the disk.
    ///
    /// # Errors
    /// When the server does not answer or the kernel cannot be asked.
    pub(in crate::systems) fn counters(
        &mut self,
        device: Option<&BlockDevice>,
    ) -> Result<Counters, SystemError> {
        let mut counters = self.session.counters()?;
        let tree = self
            .tree
            .sample()
            .map_err(|error| SystemError::new("cannot read the server's processes").caused_by(error))?;
        // The kernel's word counts: children that save are in it.
        counters.extend(tree.counters());
        if let Some(device) = device {
            let disk = DiskSample::read(device)
                .map_err(|error| SystemError::new("cannot read the disk's counters").caused_by(error))?;
            counters.extend(disk.counters());
        }
        Ok(counters)
    }

    /// Works off what runs in the background, and what the operating system still has to write.
    ///
    /// # Errors
    /// When the server does not answer or a file cannot be synced.
    pub(in crate::systems) fn drain(&mut self, shop: &Shop) -> Result<(), SystemError> {
        self.session.drain(&shop.cancel)?;
        sync_changed_since(&self.home.data(), self.entered)?;
        Ok(())
    }

    /// An error because the server is gone says so, with its last words.
    pub(in crate::systems) fn explain(&mut self, kind: &dyn Kind, error: SystemError) -> SystemError {
        // The connection breaks a moment before the process is gone.
        let Ok(Some(status)) = self.process.wait(Duration::from_millis(500)) else { return error };
        let log = self.process.log_tail(LOG_LINES);
        let text = format!("the private {} has ended ({status})", kind.title());
        let text = match kind.last_words(&log) {
            Some(words) => format!("{text}: {words}"),
            None => text,
        };
        SystemError::new(text).with_log(log).caused_by(error)
    }

    /// Stops at once, for data that are thrown away or saved already.
    ///
    /// # Errors
    /// When a process survives even SIGKILL.
    pub(in crate::systems) fn discard(mut self, changes: &HostChanges) -> Result<(), SystemError> {
        // A frozen server's session is closed without a word; thawed first where it can be.
        let thawed = self.freezer.thaw().map_err(SystemError::from);
        let Instance { process, session, home, memory, .. } = self;
        drop(session);
        let ended = end(process, memory.as_deref(), changes);
        if let Address::Socket(path) = &home.address {
            fs::remove_file(path).ok();
        }
        thawed.and(ended)
    }
}

/// Why a server did not start.
struct Refused {
    error: SystemError,
    /// Somebody else took its port: another one may do.
    port_taken: bool,
}

impl From<SystemError> for Refused {
    fn from(error: SystemError) -> Refused {
        Refused { error, port_taken: false }
    }
}

/// Ends a server and removes its groups.
fn end(process: ServerProcess, memory: Option<&Path>, changes: &HostChanges) -> Result<(), SystemError> {
    let cgroup = process.cgroup().map(Path::to_owned);
    changes.undo(process.undo_id())?;
    drop(process);
    for group in cgroup.as_deref().into_iter().chain(memory) {
        changes.remove_cgroup(group)?;
    }
    Ok(())
}

fn wait_until_ready(
    shop: &Shop,
    kind: &dyn Kind,
    home: &Home,
    process: &mut ServerProcess,
) -> Result<Box<dyn Session>, Refused> {
    let began = Instant::now();
    let mut pause = Duration::from_millis(2);
    loop {
        let refusal = match kind.connect(home) {
            Ok(session) if is_ours(home, process) => return Ok(session),
            Ok(_) => SystemError::new("somebody else's server answers there"),
            Err(error) => error,
        };
        if let Some(status) = process.try_wait().map_err(SystemError::from)? {
            return Err(did_not_start(kind, process, &status.to_string()));
        }
        if began.elapsed() > READY_LIMIT {
            let text =
                format!("the private {} did not answer within {} s", kind.title(), READY_LIMIT.as_secs());
            let error = SystemError::new(text).with_log(process.log_tail(LOG_LINES)).caused_by(refusal);
            return Err(error.into());
        }
        if shop.cancel.sleep(pause) {
            return Err(SystemError::interrupted().into());
        }
        pause = (pause * 2).min(Duration::from_millis(50));
    }
}

fn did_not_start(kind: &dyn Kind, process: &ServerProcess, status: &str) -> Refused {
    let log = process.log_tail(LOG_LINES);
    let port_taken = log.iter().any(|line| line.to_lowercase().contains("address already in use"));
    let why = kind.last_words(&log).unwrap_or_else(|| status.to_owned());
    let text = format!("the private {} did not start: {why}", kind.title());
    Refused { error: SystemError::new(text).with_log(log), port_taken }
}

/// Whether it is our own process that listens where the session was made: a port may have been taken by somebody
/// whose server speaks the same protocol.
fn is_ours(home: &Home, process: &ServerProcess) -> bool {
    match home.address {
        Address::Socket(_) => true,
        Address::Port(_) => {
            let members = process.members();
            let found = processes_at(&home.address.endpoint());
            found.iter().any(|pid| members.contains(&pid.cast_signed()))
        }
    }
}
