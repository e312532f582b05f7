//! What private servers that speak MongoDB's protocol have in common.

use weigh_drivers::ServerUrl;

use crate::host::Cancel;
use crate::systems::SystemError;
use crate::systems::drivers::{self, DriverOptions};
use crate::systems::private::{Address, Home};
use crate::systems::remote::MongodbAdmin;

/// The database of operations that name none.
const DATABASE: &str = "test";

/// The URL the load's driver takes.
pub(super) fn url(address: &Address) -> String {
    match address {
        Address::Port(port) => format!("mongodb://127.0.0.1:{port}/{DATABASE}"),
        // Its slashes are escaped, as in every URL with a socket for a host.
        Address::Socket(path) => {
            format!("mongodb://{}/{DATABASE}", path.display().to_string().replace('/', "%2F"))
        }
    }
}

/// A session of our own with a running server.
///
/// # Errors
/// When it does not answer.
pub(super) fn open(home: &Home) -> Result<MongodbAdmin, SystemError> {
    let url = ServerUrl::parse(&url(&home.address)).map_err(drivers::failed)?;
    MongodbAdmin::open(&url, &DriverOptions::default())
}

/// Executes one text of a set-up or of `prepare`: a command, or a fill.
///
/// # Errors
/// In the server's words.
pub(super) fn execute(home: &Home, text: &str, cancel: &Cancel) -> Result<(), SystemError> {
    open(home)?.set_up(text, cancel)
}
