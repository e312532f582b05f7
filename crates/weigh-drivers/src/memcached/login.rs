//! Everything before the load: connecting, logging in, and seeing that the server answers.

use weigh_load::DriverError;

use super::config::MemcachedConfig;
use crate::keyvalue::open;
use crate::transport::{TlsConnector, Wire};

/// Longest answer while connecting.
const LONGEST_ANSWER: usize = 4096;

/// A connection on which the server takes commands.
///
/// # Errors
/// One line, in the server's own words where it has some.
pub(super) fn log_in(config: &MemcachedConfig, tls: Option<&TlsConnector>) -> Result<Wire, DriverError> {
    let mut wire = open(&config.endpoint, tls)?;
    let asks_for_password = match ask(&mut wire, b"version\r\n")?.as_str() {
        answer if answer.starts_with("VERSION ") => false,
        "CLIENT_ERROR unauthenticated" => true,
        other => return Err(DriverError::new(format!("the server does not take commands: {other}"))),
    };
    match (&config.user, &config.password, asks_for_password) {
        (None, None, false) => Ok(wire),
        // To a server that does not ask, a log-in is a value like any other, and every client could read it.
        (_, _, false) => Err(DriverError::new(
            "a user or password is given and the server does not ask for them (it was started without `-Y`)",
        )),
        (Some(user), Some(password), true) => {
            let answer = ask(&mut wire, log_in_request(user, password).as_bytes())?;
            if answer == "STORED" { Ok(wire) } else { Err(refused(user, &answer)) }
        }
        (_, _, true) => Err(DriverError::new(
            "the server asks for user and password and they are not given: CLIENT_ERROR unauthenticated",
        )),
    }
}

/// The text protocol's log-in: a `set` of any key, whose value is user and password.
fn log_in_request(user: &str, password: &str) -> String {
    let length = user.len() + 1 + password.len();
    format!("set login 0 0 {length}\r\n{user} {password}\r\n")
}

fn refused(user: &str, answer: &str) -> DriverError {
    DriverError::new(format!("the server refuses the log-in of `{user}`: {answer}"))
}

/// Sends a request whose answer is one line; gives that.
fn ask(wire: &mut Wire, request: &[u8]) -> Result<String, DriverError> {
    // A server that takes no more clients says so and hangs up: then its words are there though ours are lost.
    let sent = wire.say(request);
    match (read_line(wire), sent) {
        (Err(_), Err(error)) => Err(error),
        (answer, _) => answer,
    }
}

fn read_line(wire: &mut Wire) -> Result<String, DriverError> {
    let mut received: Vec<u8> = Vec::new();
    loop {
        let end = received.iter().position(|byte| *byte == b'\n');
        if let Some(line) = received.strip_suffix(b"\r\n")
            && end == Some(line.len() + 1)
        {
            return Ok(String::from_utf8_lossy(line).into_owned());
        }
        if received.len() > LONGEST_ANSWER || end.is_some() {
            return Err(DriverError::new("the server does not speak memcached's text protocol"));
        }
        wire.hear(&mut received)?;
    }
}
