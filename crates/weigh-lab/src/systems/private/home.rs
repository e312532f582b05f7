//! Where an instance lives and listens.
//!
//! Layout of an instance's directory: `data/` (what is copied from the template), `s/` (its unix socket), `log`, and what
//! [`Kind::launch`](super::Kind::launch) writes. The socket's directory goes elsewhere when its path would not fit into a
//! socket address.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::chown;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use weigh_drivers::Endpoint;

use crate::host::{Cancel, HostChanges, UndoId, User, WorkRoot, unprivileged_user};
use crate::systems::SystemError;

/// Bytes a socket address holds (`sun_path` is 108 with its terminator).
const SOCKET_PATH_BYTES_MAX: usize = 107;
const SOCKET: &str = "socket";

/// What every instance of a run shares.
#[derive(Clone)]
pub(in crate::systems) struct Shop {
    pub(in crate::systems) changes: Arc<HostChanges>,
    /// Who runs the servers; `None`: the user weigh runs as.
    pub(in crate::systems) user: Option<User>,
    pub(in crate::systems) cancel: Cancel,
    pub(in crate::systems) work_dir: PathBuf,
}

impl Shop {
    /// Of a run whose servers live below `work_dir`.
    ///
    /// # Errors
    /// When there is no unprivileged user for servers, or that user cannot reach the directory.
    pub(in crate::systems) fn new(
        changes: Arc<HostChanges>,
        work_dir: PathBuf,
        cancel: Cancel,
    ) -> Result<Shop, SystemError> {
        let user = unprivileged_user()?;
        if let Some(user) = &user {
            changes.work_root().check_reachable(user)?;
        }
        Ok(Shop { changes, user, cancel, work_dir })
    }

    fn make_dir(&self, path: &Path) -> Result<UndoId, SystemError> {
        let owner = self.user.clone().unwrap_or_else(User::own);
        Ok(self.changes.make_dir(path, Some(&owner))?)
    }
}

/// How a kind of server listens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::systems) enum Listens {
    /// At a unix socket: nothing else of the host can be in the way.
    Socket,
    /// At a port of the loopback interface, a free one at every start.
    Port,
}

/// Where an instance listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::systems) enum Address {
    /// A unix socket.
    Socket(PathBuf),
    /// A port of 127.0.0.1.
    Port(u16),
}

impl Address {
    /// As the drivers take it.
    pub(in crate::systems) fn endpoint(&self) -> Endpoint {
        match self {
            Address::Socket(path) => Endpoint::Unix(path.clone()),
            Address::Port(port) => Endpoint::Tcp { host: "127.0.0.1".to_owned(), port: *port },
        }
    }
}

/// Where an instance lives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::systems) struct Home {
    /// `i0`, `t0`: also the name of its cgroup.
    pub(in crate::systems) name: String,
    /// Its directory.
    pub(in crate::systems) dir: PathBuf,
    /// Where it listens.
    pub(in crate::systems) address: Address,
    user: Option<User>,
}

impl Home {
    /// Makes the directories of a new instance.
    ///
    /// # Errors
    /// When they cannot be made.
    pub(in crate::systems) fn make(shop: &Shop, name: &str, listens: Listens) -> Result<Home, SystemError> {
        let dir = shop.work_dir.join(name);
        shop.make_dir(&dir)?;
        let address = match listens {
            Listens::Port => Address::Port(0),
            Listens::Socket => {
                let socket_dir = socket_dir(&dir, name, SOCKET)?;
                shop.make_dir(&socket_dir)?;
                Address::Socket(socket_dir.join(SOCKET))
            }
        };
        let home = Home { name: name.to_owned(), dir, address, user: shop.user.clone() };
        home.make_owned_dir(&home.data())?;
        Ok(home)
    }

    /// The data directory.
    pub(in crate::systems) fn data(&self) -> PathBuf {
        self.dir.join("data")
    }

    /// The log.
    pub(in crate::systems) fn log(&self) -> PathBuf {
        self.dir.join("log")
    }

    /// Writes a file of the server's, to be owned by its user and nobody else's to read.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(in crate::systems) fn write(&self, name: &str, text: &str) -> Result<PathBuf, SystemError> {
        let path = self.dir.join(name);
        fs::write(&path, text)
            .and_then(|()| fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o600)))
            .and_then(|()| self.own(&path))
            .map_err(|error| {
                SystemError::new(format!("cannot write `{}`", path.display())).caused_by(error)
            })?;
        Ok(path)
    }

    /// An empty data directory in place of what was there.
    ///
    /// # Errors
    /// When it cannot be removed or made.
    pub(super) fn empty_data(&self) -> Result<(), SystemError> {
        self.remove_data()?;
        self.make_owned_dir(&self.data())
    }

    /// Without a data directory.
    ///
    /// # Errors
    /// When it cannot be removed.
    pub(super) fn remove_data(&self) -> Result<(), SystemError> {
        match fs::remove_dir_all(self.data()) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                let text = format!("cannot remove `{}`", self.data().display());
                Err(SystemError::new(text).caused_by(error))
            }
            _ => Ok(()),
        }
    }

    /// Ready for another start: a port that is free now, no socket file of an earlier server, no earlier log, whose lines
    /// would be taken for those of this start.
    ///
    /// # Errors
    /// When no port is free.
    pub(super) fn before_start(&mut self) -> Result<(), SystemError> {
        fs::remove_file(self.log()).ok();
        match &mut self.address {
            Address::Socket(path) => {
                fs::remove_file(path).ok();
            }
            Address::Port(port) => *port = free_port()?,
        }
        Ok(())
    }

    /// Below the instance's directory, whose undo removes it.
    fn make_owned_dir(&self, path: &Path) -> Result<(), SystemError> {
        fs::create_dir(path)
            .and_then(|()| self.own(path))
            .map_err(|error| SystemError::new(format!("cannot create `{}`", path.display())).caused_by(error))
    }

    fn own(&self, path: &Path) -> std::io::Result<()> {
        match &self.user {
            Some(user) => chown(path, Some(user.uid), Some(user.gid)),
            None => Ok(()),
        }
    }
}

/// A port nobody listens at now. Somebody may take it before the server does: the start is tried again then.
fn free_port() -> Result<u16, SystemError> {
    let bound = TcpListener::bind(("127.0.0.1", 0)).and_then(|listener| listener.local_addr());
    let failed = |error| SystemError::new("no port of the loopback interface is free").caused_by(error);
    bound.map(|address| address.port()).map_err(failed)
}

/// Where an instance called `name` that lives in `dir` has its socket `file`: below `dir`, or in a short directory where
/// the path would not fit into a socket address. It is still to be made.
///
/// # Errors
/// When there is no short directory either.
pub(in crate::systems) fn socket_dir(dir: &Path, name: &str, file: &str) -> Result<PathBuf, SystemError> {
    match fits(&dir.join("s"), file) {
        true => Ok(dir.join("s")),
        false => short_dir(name, file),
    }
}

fn fits(socket_dir: &Path, file: &str) -> bool {
    socket_dir.as_os_str().len() + 1 + file.len() <= SOCKET_PATH_BYTES_MAX
}

/// A short directory for a socket, in a work root of its own below `/tmp`.
fn short_dir(name: &str, file: &str) -> Result<PathBuf, SystemError> {
    let root = WorkRoot::open(Path::new("/tmp"))?;
    let pid = std::process::id();
    // Another system of this process may have instances of the same name.
    let free = (0..1000).map(|n| root.path().join(format!("{pid}-{n}-{name}"))).find(|dir| !dir.exists());
    free.filter(|dir| fits(dir, file)).ok_or_else(|| {
        SystemError::new(format!("no short directory for a socket below `{}`", root.path().display()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_are_free_and_differ() {
        let (one, other) = (free_port().unwrap(), free_port().unwrap());
        assert!(one > 0 && other > 0);
        let held = TcpListener::bind(("127.0.0.1", one)).unwrap();
        assert_ne!(free_port().unwrap(), held.local_addr().unwrap().port());
    }

    #[test]
    fn long_paths_do_not_fit_a_socket() {
        let fits = |dir: &str| fits(Path::new(dir), ".s.PGSQL.5432");
        assert!(fits("/var/tmp/weigh-0/20261121-214425-postgres-durability-k3f9/i0/s"));
        assert!(!fits(&format!("/{}", "x".repeat(93))));
        assert!(fits(&format!("/{}", "x".repeat(92))));
    }
}
