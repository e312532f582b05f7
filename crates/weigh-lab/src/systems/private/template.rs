//! Templates: the bytes every instance starts from.
//!
//! Each distinct [`Seed`] gets a server of its own to execute the set-up, is saved and stopped; instances get copies of its
//! data directory. A seed without a set-up, or of a kind that keeps no data, has no template.

use std::path::PathBuf;

use super::home::{Home, Shop};
use super::instance::{Instance, Order};
use super::kind::{Kind, Purpose, Settings};
use super::layout::Seed;
use crate::host::Cancel;
use crate::systems::{SystemError, shortened};

/// Makes the template of a seed; gives the directory to copy.
///
/// # Errors
/// Names the set-up text that failed, with the server's message.
pub(super) fn make(
    shop: &Shop,
    kind: &dyn Kind,
    seed: &Seed,
    number: usize,
) -> Result<Option<PathBuf>, SystemError> {
    if seed.setup.is_empty() || !kind.keeps_data() {
        return Ok(None);
    }
    let home = Home::make(shop, &format!("t{number}"), kind.listens())?;
    let order = Order { purpose: Purpose::Template, ..Order::for_trials(&seed.settings) };
    let mut template = Instance::start(shop, kind, &home, order)?;
    let made = execute(kind, &template.home, &seed.setup, "set-up command", &shop.cancel)
        .and_then(|()| template.session.save(&shop.cancel))
        .map_err(|error| template.explain(kind, error));
    let ended = template.discard(&shop.changes);
    made.and(ended)?;
    Ok(Some(home.data()))
}

/// Executes the texts of a set-up or of `prepare`, which `what` names.
///
/// # Errors
/// Names the text that failed.
pub(super) fn execute(
    kind: &dyn Kind,
    home: &Home,
    texts: &[String],
    what: &str,
    cancel: &Cancel,
) -> Result<(), SystemError> {
    for (index, text) in texts.iter().enumerate() {
        if cancel.is_cancelled() {
            return Err(SystemError::interrupted());
        }
        kind.execute(home, text, cancel).map_err(|error| match cancel.is_cancelled() {
            true => SystemError::interrupted(),
            false => error.of(format_args!("{what} {} `{}` failed", index + 1, shortened(text))),
        })?;
    }
    Ok(())
}

/// Has the server itself judge what is asked of it, on no data: an hour of set-up followed by "invalid value" is rude.
///
/// # Errors
/// What the server says.
pub(super) fn judge(shop: &Shop, kind: &dyn Kind, home: &Home, asked: &Settings) -> Result<(), SystemError> {
    home.empty_data()?;
    let mut instance = Instance::start(shop, kind, home, Order::for_trials(asked))?;
    let read = instance.read_back(kind, asked).map(|_| ());
    let ended = instance.discard(&shop.changes);
    read.and(ended)
}
