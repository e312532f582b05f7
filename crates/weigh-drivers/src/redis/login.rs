//! Everything before the load: connecting, logging in, choosing protocol and database.

use weigh_load::DriverError;

use super::config::{RedisConfig, RespVersion};
use super::resp::{Progress, Reply, ReplyParser};
use crate::keyvalue::open;
use crate::transport::{TlsConnector, Wire};

/// A connection on which the server takes commands as asked.
///
/// # Errors
/// One line, in the server's own words where it has some.
pub(super) fn log_in(config: &RedisConfig, tls: Option<&TlsConnector>) -> Result<Wire, DriverError> {
    let mut dialogue = Dialogue { wire: open(&config.endpoint, tls)?, received: Vec::new() };
    let user = config.user.as_deref();
    let password = config.password.as_deref().or(user.map(|_| ""));
    match (config.protocol, password) {
        (RespVersion::Two, None) => {}
        (RespVersion::Two, Some(password)) => {
            let words = ["AUTH"].into_iter().chain(user).chain([password]);
            dialogue.ask(&words.collect::<Vec<_>>()).map_err(|refusal| refusal.explain("log-in"))?;
        }
        (RespVersion::Three, password) => {
            let mut words = vec!["HELLO", "3"];
            if let Some(password) = password {
                words.extend(["AUTH", user.unwrap_or("default"), password]);
            }
            dialogue.ask(&words).map_err(|refusal| refusal.explain("RESP3"))?;
        }
    }
    if config.database > 0 {
        let database = config.database.to_string();
        let what = format!("database {database}");
        dialogue.ask(&["SELECT", &database]).map_err(|refusal| refusal.explain(&what))?;
    }
    match dialogue.ask(&["PING"]) {
        // A user without the right to PING may have others.
        Err(Refusal::Answer(text)) if text.starts_with("NOPERM") => {}
        other => other.map_err(|refusal| refusal.explain("PING"))?,
    }
    if !dialogue.received.is_empty() {
        return Err(DriverError::new("the server said more than it was asked while connecting"));
    }
    Ok(dialogue.wire)
}

/// Why a request of ours was not fulfilled.
enum Refusal {
    /// The server's words.
    Answer(String),
    Broken(DriverError),
}

impl Refusal {
    /// A line for the user, about `what` was refused.
    fn explain(self, what: &str) -> DriverError {
        let text = match self {
            Self::Broken(error) => return error,
            Self::Answer(text) => text,
        };
        DriverError::new(match text.split(' ').next().unwrap_or_default() {
            "NOAUTH" => format!("the server asks for a password and none is given: {text}"),
            // These say it all; the code word is for programs.
            "WRONGPASS" => text,
            _ => format!("the server refuses {what}: {text}"),
        })
    }
}

struct Dialogue {
    wire: Wire,
    received: Vec<u8>,
}

impl Dialogue {
    /// Sends one command and waits for its reply.
    fn ask(&mut self, words: &[&str]) -> Result<(), Refusal> {
        let mut request = format!("*{}\r\n", words.len());
        for word in words {
            request.push_str(&format!("${}\r\n{word}\r\n", word.len()));
        }
        // A server that takes no more clients says so and hangs up: then its words are there though ours are lost.
        let sent = self.wire.say(request.as_bytes());
        match (self.reply(), sent) {
            (Ok(Reply::Error(text)), _) => Err(Refusal::Answer(String::from_utf8_lossy(&text).into_owned())),
            (Err(_), Err(error)) => Err(Refusal::Broken(error)),
            (other, _) => other.map(|_| ()).map_err(Refusal::Broken),
        }
    }

    fn reply(&mut self) -> Result<Reply, DriverError> {
        let mut parser = ReplyParser::default();
        loop {
            let used = match parser.parse(&self.received, None) {
                Progress::More(used) => used,
                Progress::Done(used, reply) => {
                    self.received.drain(..used);
                    return Ok(reply);
                }
                Progress::Malformed(message) => {
                    return Err(DriverError::new(format!("{message}: it does not speak Redis's protocol")));
                }
            };
            self.received.drain(..used);
            self.wire.hear(&mut self.received)?;
        }
    }
}
