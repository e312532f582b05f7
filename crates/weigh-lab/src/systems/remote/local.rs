//! The processes of a server at a URL, where it happens to run on this host.
//!
//! Then what they use of the CPUs is the server's and nobody else's, and a web server, which tells nothing about itself,
//! has a price per operation too. Found by the listening socket; only read. A server elsewhere, one behind a proxy of a
//! container, or one whose owner does not let us look has no processes here, and nothing else changes.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, ToSocketAddrs, UdpSocket};
use std::path::Path;

use weigh_drivers::Endpoint;

/// Stands before servers in containers: the socket is its own, the work is not.
const PROXIES: [&str; 2] = ["docker-proxy", "rootlessport"];

/// Root processes of the server that listens at `endpoint`; empty when they cannot be seen.
pub(in crate::systems) fn processes(endpoint: &Endpoint) -> Vec<u32> {
    let inodes = match endpoint {
        Endpoint::Tcp { host, port } => listening(host, *port),
        Endpoint::Unix(path) => unix_sockets(&read("/proc/net/unix"), path),
    };
    if inodes.is_empty() {
        return Vec::new();
    }
    let owners = owners(&inodes);
    if owners.keys().any(|pid| PROXIES.contains(&read(&format!("/proc/{pid}/comm")).trim())) {
        return Vec::new();
    }
    // Workers hold their master's socket, and are found below it.
    owners.iter().filter(|(_, parent)| !owners.contains_key(parent)).map(|(pid, _)| *pid).collect()
}

fn read(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

/// Sockets of this host that listen at a name and port.
fn listening(host: &str, port: u16) -> BTreeSet<u64> {
    let addresses: Vec<IpAddr> = (host, port)
        .to_socket_addrs()
        .map(|found| found.map(|address| address.ip()).collect())
        .unwrap_or_default();
    let mut inodes = BTreeSet::new();
    for address in addresses.into_iter().filter(|address| is_ours(*address)) {
        inodes.extend(tcp_sockets(&read("/proc/net/tcp"), address, port));
        inodes.extend(tcp_sockets(&read("/proc/net/tcp6"), address, port));
        if !inodes.is_empty() {
            break;
        }
    }
    inodes
}

/// Whether an address is one of this host's: only then can something be bound to it.
fn is_ours(address: IpAddr) -> bool {
    address.is_loopback() || UdpSocket::bind(SocketAddr::new(address, 0)).is_ok()
}

/// Inodes of listening sockets in a `/proc/net/tcp` or `tcp6` that an address and port lead to.
fn tcp_sockets(table: &str, address: IpAddr, port: u16) -> Vec<u64> {
    let row = |line: &str| -> Option<u64> {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let (local, state, inode) = (fields.get(1)?, fields.get(3)?, fields.get(9)?);
        let (bound, bound_port) = local.split_once(':')?;
        let leads =
            *state == "0A" && u16::from_str_radix(bound_port, 16).ok()? == port && takes(bound, address);
        leads.then(|| inode.parse().ok()).flatten()
    };
    table.lines().skip(1).filter_map(row).collect()
}

/// Whether a socket bound to an address, in the kernel's hexadecimal words of the host's byte order, is reached by
/// another. What is bound to all addresses is; IPv6 takes IPv4 besides.
fn takes(bound: &str, address: IpAddr) -> bool {
    if bound.bytes().all(|digit| digit == b'0') {
        return true;
    }
    match (bound.len(), address) {
        (8, IpAddr::V4(address)) => {
            let word = u32::from_str_radix(bound, 16).unwrap_or_default();
            Ipv4Addr::from(word.to_ne_bytes()) == address
        }
        (32, IpAddr::V6(address)) => {
            let words = (0..4).map(|word| u32::from_str_radix(&bound[8 * word..8 * word + 8], 16));
            let bytes: Vec<u8> = words.flatten().flat_map(u32::to_ne_bytes).collect();
            bytes == address.octets()
        }
        _ => false,
    }
}

/// Inodes of listening unix sockets with a path in a `/proc/net/unix`.
fn unix_sockets(table: &str, path: &Path) -> BTreeSet<u64> {
    let row = |line: &str| -> Option<u64> {
        let fields: Vec<&str> = line.split_whitespace().collect();
        // The flag of a socket that listens.
        let listens = u32::from_str_radix(fields.get(3)?, 16).ok()? & 0x1_0000 != 0;
        (listens && Path::new(fields.get(7)?) == path).then(|| fields[6].parse().ok()).flatten()
    };
    table.lines().skip(1).filter_map(row).collect()
}

/// Processes that hold one of the sockets, each with its parent.
fn owners(inodes: &BTreeSet<u64>) -> BTreeMap<u32, u32> {
    let sockets: BTreeSet<String> = inodes.iter().map(|inode| format!("socket:[{inode}]")).collect();
    let holds = |pid: u32| {
        let files = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
        let mut targets = files.filter_map(|file| fs::read_link(file.path()).ok());
        targets.any(|target| target.to_str().is_some_and(|text| sockets.contains(text)))
    };
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    pids.filter(|pid| holds(*pid)).map(|pid| (pid, parent(pid))).collect()
}

fn parent(pid: u32) -> u32 {
    let status = read(&format!("/proc/{pid}/status"));
    let line = status.lines().find_map(|line| line.strip_prefix("PPid:"));
    line.and_then(|text| text.trim().parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::os::unix::net::UnixListener;

    use super::*;

    #[test]
    fn our_own_sockets_are_ours() {
        let own = [std::process::id()];
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let at = |host: &str, port| processes(&Endpoint::Tcp { host: host.to_owned(), port });
        assert_eq!(at("127.0.0.1", port), own);
        assert_eq!(at("localhost", port), own);
        assert!(at("127.0.0.2", port).is_empty(), "another address of the host");
        drop(listener);
        assert!(at("127.0.0.1", port).is_empty(), "nobody listens any more");
        let every = TcpListener::bind("0.0.0.0:0").unwrap();
        assert_eq!(at("127.0.0.2", every.local_addr().unwrap().port()), own);
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("s");
        let listener = UnixListener::bind(&path).unwrap();
        assert_eq!(processes(&Endpoint::Unix(path.clone())), own);
        drop(listener);
        assert!(processes(&Endpoint::Unix(path)).is_empty());
    }

    #[test]
    fn a_server_elsewhere_has_no_processes_here() {
        // An address for documentation (RFC 5737): nobody's.
        assert!(processes(&Endpoint::Tcp { host: "192.0.2.1".to_owned(), port: 80 }).is_empty());
        assert!(tcp_sockets("", Ipv4Addr::LOCALHOST.into(), 80).is_empty());
        assert!(tcp_sockets("head\n 0: garbage\n", Ipv4Addr::LOCALHOST.into(), 80).is_empty());
    }
}
