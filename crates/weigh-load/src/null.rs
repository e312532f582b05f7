//! A driver whose operations do nothing: what is left is the engine's own cost per operation.

use crate::driver::{Connection, Driver, DriverError, InlineClient, Outcome};
use crate::generator::Parameters;

/// Draws the parameters of an operation and reports success.
#[derive(Clone, Copy, Debug, Default)]
pub struct NullDriver;

impl Driver for NullDriver {
    fn connect(&self, _client: usize) -> Result<Connection, DriverError> {
        Ok(Connection::Inline(Box::new(NullClient)))
    }

    fn blocks_its_thread(&self) -> bool {
        true
    }
}

struct NullClient;

impl InlineClient for NullClient {
    fn execute(&mut self, _operation: usize, parameters: &mut Parameters<'_>) -> Outcome {
        std::hint::black_box(parameters.draw());
        Outcome::Success
    }
}
