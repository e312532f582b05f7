//! Connecting, with or without TLS.

use weigh_load::DriverError;

use crate::transport::{Endpoint, ServerUrl, TlsConfig, TlsConnector, Wire};

/// A connection that nothing has been said on yet.
///
/// # Errors
/// Names the endpoint, or what is wrong with the server's certificate.
pub(crate) fn open(endpoint: &Endpoint, tls: Option<&TlsConnector>) -> Result<Wire, DriverError> {
    let wire = Wire::connect(endpoint)?;
    let Some(connector) = tls else { return Ok(wire) };
    let host = match endpoint {
        Endpoint::Tcp { host, .. } => host,
        Endpoint::Unix(_) => "localhost",
    };
    wire.secure(connector, host, &[])
}

/// Reads the options of a URL: those of TLS go into `tls` if there is one, the others to `other`, which says whether
/// it knows them; `known` names those in the message about one that it does not.
///
/// # Errors
/// An option that is unknown or has an impossible value.
pub(crate) fn take_options(
    url: &ServerUrl,
    tls: &mut Option<TlsConfig>,
    known: &str,
    mut other: impl FnMut(&str, &str) -> Result<bool, DriverError>,
) -> Result<(), DriverError> {
    for (name, value) in url.options() {
        let taken = match tls {
            Some(tls) => tls.take_option(&name, &value)?,
            None if name.starts_with("tls_") => {
                let message = format!("option `{name}` needs TLS: `{}s://`", url.scheme);
                return Err(DriverError::new(message));
            }
            None => false,
        };
        if !taken && !other(&name, &value)? {
            return Err(DriverError::new(format!("`{name}` is not an option of this URL; {known} are")));
        }
    }
    Ok(())
}
