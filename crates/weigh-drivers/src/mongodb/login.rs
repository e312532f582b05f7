//! Greeting the server and logging in.

use std::sync::Mutex;

use bson::spec::BinarySubtype;
use bson::{Binary, Bson, Document, doc};
use weigh_load::DriverError;

use super::config::{Mechanism, MongodbConfig};
use super::dialogue::{Dialogue, integer};
use super::scram::{Hash, Salted, Scram};

/// The first version of the protocol with OP_MSG (server 3.6).
const OLDEST_WIRE_VERSION: i64 = 6;

/// The server does not know the command (before 4.4 it is `isMaster`).
const COMMAND_NOT_FOUND: i64 = 59;

/// The user or the password is wrong.
const AUTHENTICATION_FAILED: i64 = 18;

/// The last password that was salted: every client of a load has the same.
pub(super) type SaltedCache = Mutex<Option<Salted>>;

/// Greets the server, checks what it is, and logs in if the config has a user.
pub(super) fn log_in(
    dialogue: &mut Dialogue,
    config: &MongodbConfig,
    salted: &SaltedCache,
) -> Result<(), DriverError> {
    let hello = greet(dialogue, config)?;
    let newest = hello.get("maxWireVersion").map_or(0, integer);
    if newest < OLDEST_WIRE_VERSION {
        return Err(DriverError::new(format!(
            "the server speaks version {newest} of the protocol; {OLDEST_WIRE_VERSION} (MongoDB 3.6) is the oldest that \
             is spoken here"
        )));
    }
    if let Some(wanted) = &config.replica_set {
        let found = hello.get_str("setName").unwrap_or("none");
        if found != wanted {
            return Err(DriverError::new(format!("the server's replica set is `{found}`, not `{wanted}`")));
        }
    }
    match &config.user {
        None => Ok(()),
        Some(user) => authenticate(dialogue, config, user, &hello, salted),
    }
}

fn greet(dialogue: &mut Dialogue, config: &MongodbConfig) -> Result<Document, DriverError> {
    let mut command = doc! {
        "hello": 1,
        "client": {
            "application": {"name": &config.application_name},
            "driver": {"name": "weigh", "version": env!("CARGO_PKG_VERSION")},
            "os": {"type": std::env::consts::OS},
        },
    };
    if let Some(user) = &config.user {
        command.insert("saslSupportedMechs", format!("{}.{user}", config.auth_source));
    }
    let mut answer = dialogue.run("admin", command.clone())?;
    if answer.as_ref().is_err_and(|refusal| refusal.code == COMMAND_NOT_FOUND) {
        let mut old = doc! {"isMaster": 1};
        old.extend(command.into_iter().skip(1));
        answer = dialogue.run("admin", old)?;
    }
    answer
        .map_err(|refusal| DriverError::new(format!("the server refuses the greeting: {}", refusal.words())))
}

fn authenticate(
    dialogue: &mut Dialogue,
    config: &MongodbConfig,
    user: &str,
    hello: &Document,
    salted: &SaltedCache,
) -> Result<(), DriverError> {
    let Some(password) = &config.password else {
        return Err(DriverError::new(format!("no password is given for `{user}`")));
    };
    match config.mechanism.unwrap_or_else(|| choose(hello)) {
        Mechanism::Plain => plain(dialogue, config, user, password),
        Mechanism::ScramSha1 => scram(dialogue, config, Scram::new(Hash::Sha1, user, password)?, salted),
        Mechanism::ScramSha256 => scram(dialogue, config, Scram::new(Hash::Sha256, user, password)?, salted),
    }
}

/// The better of what the server has for the user; SCRAM-SHA-1 if it does not say (MongoDB's "Authentication"
/// specification).
fn choose(hello: &Document) -> Mechanism {
    let offered = hello.get_array("saslSupportedMechs").map(Vec::as_slice).unwrap_or_default();
    let best = Mechanism::ALL.into_iter().find(|m| offered.iter().any(|o| o.as_str() == Some(m.name())));
    best.unwrap_or(Mechanism::ScramSha1)
}

fn plain(
    dialogue: &mut Dialogue,
    config: &MongodbConfig,
    user: &str,
    password: &str,
) -> Result<(), DriverError> {
    let payload = format!("\0{user}\0{password}").into_bytes();
    let start = doc! {"saslStart": 1, "mechanism": Mechanism::Plain.name(), "payload": binary(payload)};
    step(dialogue, config, start).map(drop)
}

fn scram(
    dialogue: &mut Dialogue,
    config: &MongodbConfig,
    mut scram: Scram,
    salted: &SaltedCache,
) -> Result<(), DriverError> {
    let broke_off = || DriverError::new("the server broke off SCRAM authentication");
    let start = doc! {
        "saslStart": 1,
        "mechanism": scram.mechanism().name(),
        "payload": binary(scram.first_message().into_bytes()),
        "options": {"skipEmptyExchange": true},
    };
    let mut answer = step(dialogue, config, start)?;
    let conversation = answer.get("conversationId").cloned().unwrap_or(Bson::Int32(1));
    let resume = |payload: Vec<u8>| {
        doc! {"saslContinue": 1, "conversationId": conversation.clone(), "payload": binary(payload)}
    };
    let server_first = payload(&answer).ok_or_else(broke_off)?;
    let proof = {
        // Held while hashing: whoever comes next finds it done.
        let mut cached = salted.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        scram.final_message(&server_first, &mut cached)?
    };
    answer = step(dialogue, config, resume(proof.into_bytes()))?;
    scram.check_server(&payload(&answer).ok_or_else(broke_off)?)?;
    // Servers that do not skip the empty exchange.
    if !answer.get_bool("done").unwrap_or(false) {
        answer = step(dialogue, config, resume(Vec::new()))?;
    }
    if answer.get_bool("done").unwrap_or(false) { Ok(()) } else { Err(broke_off()) }
}

fn step(dialogue: &mut Dialogue, config: &MongodbConfig, command: Document) -> Result<Document, DriverError> {
    let answer = dialogue.run(&config.auth_source, command)?;
    answer.map_err(|refusal| {
        let user = config.user.as_deref().unwrap_or_default();
        let source = &config.auth_source;
        DriverError::new(match refusal.code {
            AUTHENTICATION_FAILED => {
                format!("authentication of `{user}` (authSource `{source}`) failed: {}", refusal.words())
            }
            _ => {
                format!("the server refuses to log in `{user}` (authSource `{source}`): {}", refusal.words())
            }
        })
    })
}

fn binary(bytes: Vec<u8>) -> Binary {
    Binary { subtype: BinarySubtype::Generic, bytes }
}

fn payload(answer: &Document) -> Option<String> {
    let bytes = answer.get_binary_generic("payload").ok()?;
    String::from_utf8(bytes.clone()).ok()
}
