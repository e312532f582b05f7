//! Commands one by one, for setting up and looking, never for load.
//!
//! [`MongodbSession::ask`] sends one and gives the reply; [`MongodbSession::execute`] takes a text of a set-up, which may
//! also be a fill: an `insert` that is sent many times over (`fill.rs`).

use std::time::Duration;

use bson::{Bson, Document};
use weigh_load::generator::ParameterStream;
use weigh_load::{DriverError, Operation};

use super::command::CommandTemplate;
use super::config::MongodbConfig;
use super::dialogue::{Dialogue, Refusal};
use super::fill::Fill;
use super::object_id::ObjectIds;
use super::template::Scratch;
use crate::command::CommandOperation;

/// How long a command may take: an index over everything, say.
const LIMIT: Duration = Duration::from_secs(600);

/// A logged-in connection that takes one command at a time.
#[derive(Debug)]
pub struct MongodbSession {
    config: MongodbConfig,
    dialogue: Dialogue,
    scratch: Scratch,
}

impl MongodbConfig {
    /// Connects and logs in as the load does; the operations do not matter.
    ///
    /// # Errors
    /// As connecting for the load.
    pub fn session(&self) -> Result<MongodbSession, DriverError> {
        let tls = self.connector()?;
        let dialogue = self.open(tls.as_ref(), &super::login::SaltedCache::default(), LIMIT)?;
        let config = Self { operations: Vec::new(), ..self.clone() };
        Ok(MongodbSession { config, dialogue, scratch: Scratch::new(ObjectIds::new()?) })
    }
}

impl MongodbSession {
    /// Runs a command, written as in an operation, and gives the reply as extended JSON. Of a cursor that is the first
    /// batch.
    ///
    /// # Errors
    /// What is wrong with the command; the server's own words; a write error of any item.
    pub fn ask(&mut self, command: &str) -> Result<String, DriverError> {
        let reply = self.run(command)?;
        serde_json::to_string(&reply)
            .map_err(|error| DriverError::caused("the reply cannot be written as JSON", error))
    }

    /// Executes a text of a set-up: a command, or an `insert` with `$times`, the number of documents to insert in all,
    /// and `$parameters`, the generators of its parameters. Such a fill asks `is_cancelled` between two batches. The
    /// same text gives the same documents every time.
    ///
    /// # Errors
    /// As [`ask`](Self::ask); `interrupted` when cancelled.
    pub fn execute(&mut self, text: &str, is_cancelled: &dyn Fn() -> bool) -> Result<(), DriverError> {
        let Some(fill) = Fill::read(text)? else { return self.run(text).map(drop) };
        let mut stream = ParameterStream::new(&fill.drawn(), 0, 0, 1, 0);
        for (operation, batches) in fill.batches() {
            let template = self.acknowledged(&operation)?;
            for _ in 0..batches {
                if is_cancelled() {
                    return Err(DriverError::new("interrupted"));
                }
                self.send(&template, &mut stream)?;
            }
        }
        Ok(())
    }

    fn run(&mut self, command: &str) -> Result<Document, DriverError> {
        let operation = CommandOperation {
            name: "ask".to_owned(),
            command: command.to_owned(),
            ..CommandOperation::default()
        };
        let template = self.acknowledged(&operation)?;
        let nothing = [Operation { name: operation.name, weight: 1, parameters: Vec::new() }];
        self.send(&template, &mut ParameterStream::new(&nothing, 0, 0, 1, 0))
    }

    fn acknowledged(&self, operation: &CommandOperation) -> Result<CommandTemplate, DriverError> {
        let template = CommandTemplate::unnamed(operation, &self.config)?;
        match template.shape.acknowledged {
            true => Ok(template),
            false => Err(DriverError::new("a command with `w: 0` has no reply")),
        }
    }

    fn send(
        &mut self,
        template: &CommandTemplate,
        stream: &mut ParameterStream,
    ) -> Result<Document, DriverError> {
        let mut message = Vec::new();
        let request = self.dialogue.next_request();
        template.request.encode(request, &mut stream.parameters(0), &mut self.scratch, &mut message);
        if let Some(fault) = self.scratch.fault.take() {
            return Err(DriverError::new(fault));
        }
        let answer = self.dialogue.exchange(&message)?;
        let reply = answer.map_err(|refusal| DriverError::new(refusal.words()))?;
        let first_error = reply.get_array("writeErrors").ok().and_then(|errors| errors.first().cloned());
        let concern_error = reply.get("writeConcernError").cloned();
        match first_error.or(concern_error) {
            Some(Bson::Document(error)) => Err(DriverError::new(Refusal::read(&error).words())),
            _ => Ok(reply),
        }
    }
}
