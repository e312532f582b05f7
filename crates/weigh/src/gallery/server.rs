//! The socket, from the first byte to the signal that ends it.
//!
//! [`Listener`] is bound to loopback before anything is printed, so that the address that a reader sees is one that
//! answers; [`serve`] answers on one thread, and works pages out on others.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use tokio::signal::unix::{SignalKind, signal};

use super::Catalogue;
use super::gallery::Gallery;
use super::guard::Guard;
use super::routes;

/// How long requests that are being answered may still take after the signal.
const PATIENCE: Duration = Duration::from_secs(1);

/// A bound socket.
#[derive(Debug)]
pub(crate) struct Listener {
    socket: TcpListener,
    port: u16,
}

impl Listener {
    /// On 127.0.0.1, at a port (0: one that is free).
    pub(crate) fn bind(port: u16) -> io::Result<Listener> {
        let socket = TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, port)))?;
        socket.set_nonblocking(true)?;
        let port = socket.local_addr()?.port();
        Ok(Listener { socket, port })
    }

    /// The address of a page; `path` begins with a slash.
    pub(crate) fn address(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }
}

/// Answers until SIGINT, SIGTERM or SIGHUP; `ready` is called when everything is in place.
pub(crate) fn serve(listener: Listener, catalogue: Catalogue, ready: impl FnOnce()) -> io::Result<()> {
    let guard = Guard::new(listener.port).map_err(io::Error::other)?;
    let gallery = Arc::new(Gallery::new(catalogue, guard));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let served = runtime.block_on(async {
        let mut interrupt = signal(SignalKind::interrupt())?;
        let mut terminate = signal(SignalKind::terminate())?;
        let mut hangup = signal(SignalKind::hangup())?;
        let socket = tokio::net::TcpListener::from_std(listener.socket)?;
        // The first look at the list then finds it worked out, or nearly.
        let warms = Arc::clone(&gallery);
        tokio::task::spawn_blocking(move || warms.list(&[]).is_ok());
        ready();
        tokio::select! {
            served = axum::serve(socket, routes::router(gallery)) => served,
            _ = interrupt.recv() => Ok(()),
            _ = terminate.recv() => Ok(()),
            _ = hangup.recv() => Ok(()),
        }
    });
    runtime.shutdown_timeout(PATIENCE);
    served
}
