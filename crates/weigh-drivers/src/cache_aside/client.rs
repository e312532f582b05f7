//! One client: a session with the cache and a connection to the store, asked in turn.

use std::sync::Arc;

use weigh_load::generator::Parameters;
use weigh_load::{BlockingClient, InlineClient, Outcome};

use super::reply::first_value;
use super::session::CacheSession;
use crate::text::TextTemplate;

pub(super) struct CacheAsideClient {
    store: BlockingClient,
    cache: Option<CacheSession>,
    /// By operation.
    keys: Arc<[Option<TextTemplate>]>,
    key: Vec<u8>,
}

impl CacheAsideClient {
    pub(super) fn new(
        store: BlockingClient,
        cache: Option<CacheSession>,
        keys: Arc<[Option<TextTemplate>]>,
    ) -> Self {
        Self { store, cache, keys, key: Vec::new() }
    }
}

impl InlineClient for CacheAsideClient {
    /// A hit is a success. A miss is one too, with the store's answer, and counted as [`Outcome::Miss`].
    fn execute(&mut self, operation: usize, parameters: &mut Parameters<'_>) -> Outcome {
        let (Some(cache), Some(template)) =
            (&mut self.cache, self.keys.get(operation).and_then(Option::as_ref))
        else {
            return self.store.execute(operation, parameters);
        };
        self.key.clear();
        template.render(parameters.draw(), &mut self.key);
        match cache.get(&self.key) {
            Ok(true) => return Outcome::Success,
            Ok(false) => {}
            Err(error) => return Outcome::Broken(format!("cache: {}", error.message)),
        }
        parameters.again();
        let outcome = self.store.execute(operation, parameters);
        if outcome != Outcome::Success {
            return outcome;
        }
        let Some(value) = first_value(self.store.reply()) else { return Outcome::Miss };
        match cache.set(&self.key, value) {
            Ok(()) => Outcome::Miss,
            Err(error) => Outcome::Broken(format!("cache: {}", error.message)),
        }
    }
}
