//! What needs the C library directly: the moment between fork and exec, users, pages, System V memory.
//!
//! The only module of this crate with unsafe code, and each use is one call. Everything here may be
//! called by any other module of this room; it keeps no state.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

use nix::libc;
use nix::sys::prctl;
use nix::sys::signal::Signal;
use nix::unistd;

use super::HostError;

/// A user that processes can be started as.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    /// Login name.
    pub name: String,
    /// User id.
    pub uid: u32,
    /// Primary group id.
    pub gid: u32,
}

/// The user servers run as when weigh is root: `postgres` if there is one, else `nobody`. `None` when
/// weigh is not root (servers then run as the same user).
pub fn unprivileged_user() -> Result<Option<User>, HostError> {
    if !unistd::geteuid().is_root() {
        return Ok(None);
    }
    for name in ["postgres", "nobody"] {
        let found = unistd::User::from_name(name)
            .map_err(|errno| HostError::System { what: "looking up a user", source: errno.into() })?;
        if let Some(user) = found {
            return Ok(Some(User { name: user.name, uid: user.uid.as_raw(), gid: user.gid.as_raw() }));
        }
    }
    Err(HostError::System {
        what: "looking for an unprivileged user (`postgres`, `nobody`)",
        source: io::Error::from(io::ErrorKind::NotFound),
    })
}

impl User {
    /// The user weigh runs as; named by its number when it has no name.
    pub fn own() -> User {
        let (uid, gid) = (unistd::geteuid(), unistd::getegid());
        let known = unistd::User::from_uid(uid).ok().flatten();
        let name = known.map_or_else(|| uid.to_string(), |user| user.name);
        User { name, uid: uid.as_raw(), gid: gid.as_raw() }
    }
}

/// What a child does to itself before it becomes the program.
pub(crate) struct BeforeExec {
    /// Leave the terminal's session: Ctrl-C is for weigh, which then stops servers in order.
    pub(crate) new_session: bool,
    /// Join these cgroups first, one of each hierarchy, while still privileged.
    pub(crate) cgroups: Vec<PathBuf>,
    /// Become this user for good.
    pub(crate) user: Option<User>,
    /// Be killed when the thread that started it ends.
    pub(crate) die_with_parent: bool,
}

/// Makes `command` do `steps` in the child.
///
/// The order is fixed: the cgroup needs privileges; changing the user clears the parent-death signal,
/// so that one comes last.
#[expect(unsafe_code, reason = "pre_exec is the only way to act between fork and exec")]
pub(crate) fn before_exec(command: &mut Command, steps: BeforeExec) {
    let parent = unistd::getpid();
    let join: Vec<PathBuf> = steps.cgroups.iter().map(|dir| dir.join("cgroup.procs")).collect();
    // SAFETY: the closure runs in the forked child of a process with threads. It takes no lock that
    // another thread may hold: everything in it is a plain system call on values made before the fork
    // (`fs::write` of a path of fewer than 384 bytes converts it on the stack).
    unsafe {
        command.pre_exec(move || {
            if steps.new_session {
                unistd::setsid()?;
            }
            for path in &join {
                std::fs::write(path, "0")?;
            }
            if let Some(user) = &steps.user {
                let gid = unistd::Gid::from_raw(user.gid);
                unistd::setgroups(&[gid])?;
                unistd::setgid(gid)?;
                unistd::setuid(unistd::Uid::from_raw(user.uid))?;
            }
            if steps.die_with_parent {
                prctl::set_pdeathsig(Signal::SIGKILL)?;
                // The parent may have died before the call above.
                if unistd::getppid() != parent {
                    return Err(io::Error::from_raw_os_error(libc::ESRCH));
                }
            }
            Ok(())
        });
    }
}

/// How many of a file's first `bytes` are in the page cache, in whole pages. The file is mapped, not read.
#[expect(unsafe_code, reason = "no safe wrapper of mincore exists among the dependencies")]
pub(crate) fn resident_bytes(file: &File, bytes: u64) -> io::Result<u64> {
    let length = usize::try_from(bytes).map_err(io::Error::other)?;
    let nothing = std::ptr::null_mut();
    // SAFETY: a new read-only mapping at an address of the kernel's choice; nothing ever reads through it.
    let start =
        unsafe { libc::mmap(nothing, length, libc::PROT_READ, libc::MAP_SHARED, file.as_raw_fd(), 0) };
    if start == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    let page = page_bytes();
    let mut pages = vec![0_u8; length.div_ceil(page)];
    // SAFETY: the mapping is `length` bytes long and `pages` has a byte for each of its pages.
    let asked = unsafe { libc::mincore(start, length, pages.as_mut_ptr()) };
    let failed = (asked != 0).then(io::Error::last_os_error);
    // SAFETY: unmaps exactly what was mapped above; no reference into it exists.
    unsafe { libc::munmap(start, length) };
    if let Some(error) = failed {
        return Err(error);
    }
    let resident = pages.iter().filter(|state| **state & 1 == 1).count();
    Ok(bytes.min((resident * page) as u64))
}

fn page_bytes() -> usize {
    let found = unistd::sysconf(unistd::SysconfVar::PAGE_SIZE).ok().flatten();
    found.and_then(|bytes| usize::try_from(bytes).ok()).unwrap_or(4096)
}

/// Removes a System V shared memory segment that no process is attached to; `Ok` if it is gone.
#[expect(unsafe_code, reason = "no safe wrapper of shmctl exists among the dependencies")]
pub(crate) fn remove_sysv_segment(id: i32, key: i32) -> io::Result<()> {
    // SAFETY: shmid_ds is plain data for which all-zero bytes are valid; shmctl fills it.
    let mut state: libc::shmid_ds = unsafe { std::mem::zeroed() };
    // SAFETY: `state` is a valid, exclusively borrowed shmid_ds.
    if unsafe { libc::shmctl(id, libc::IPC_STAT, &raw mut state) } != 0 {
        return match io::Error::last_os_error() {
            error if matches!(error.raw_os_error(), Some(libc::EINVAL | libc::EIDRM)) => Ok(()),
            error => Err(error),
        };
    }
    // The id may have been given to somebody else since; the key and the attach count tell.
    if state.shm_perm.__key != key || state.shm_nattch != 0 {
        return Ok(());
    }
    // SAFETY: IPC_RMID ignores the buffer.
    match unsafe { libc::shmctl(id, libc::IPC_RMID, std::ptr::null_mut()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
