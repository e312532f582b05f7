//! TLS with its files read: made once per driver, used by every connection.

use std::path::Path;
use std::sync::Arc;

use rustls::client::Resumption;
use rustls::client::danger::ServerCertVerifier;
use rustls::crypto::ring::default_provider;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use weigh_load::DriverError;

use super::config::{TlsConfig, TlsWords, Verify};
use super::verifier::Verifier;

/// How every connection of a driver is secured.
#[derive(Clone, Debug)]
pub(crate) struct TlsConnector {
    pub(super) config: Arc<ClientConfig>,
    /// Checked instead of the host connected to.
    pub(super) server_name: Option<ServerName<'static>>,
    pub(super) words: TlsWords,
}

impl TlsConnector {
    /// Reads the files of `config`.
    ///
    /// # Errors
    /// A file that cannot be read or holds nothing of use, a key that does not belong to its certificate, a
    /// system without authorities, a name that is none.
    pub(crate) fn new(config: &TlsConfig) -> Result<Self, DriverError> {
        let provider = Arc::new(default_provider());
        let (roots, trusted) = authorities(config)?;
        let algorithms = provider.signature_verification_algorithms;
        let verifier: Arc<dyn ServerCertVerifier> =
            Arc::new(Verifier { verify: config.verify, roots, trusted, algorithms });
        let builder = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| DriverError::caused("TLS cannot be set up", error))?
            .dangerous()
            .with_custom_certificate_verifier(verifier);
        let mut client = match identity(config)? {
            None => builder.with_no_client_auth(),
            Some((chain, key)) => builder.with_client_auth_cert(chain, key).map_err(|error| {
                DriverError::caused("the client certificate and its key cannot be used together", error)
            })?,
        };
        // Every connection of a load costs the server the same.
        client.resumption = Resumption::disabled();
        let server_name = config.server_name.as_deref().map(server_name).transpose()?;
        Ok(Self { config: Arc::new(client), server_name, words: TlsWords::default() })
    }

    /// The same, with a protocol's own spelling in its errors.
    pub(crate) fn with_words(self, words: TlsWords) -> Self {
        Self { words, ..self }
    }
}

/// What `config` asks for, as an ordinary client library takes it: for connections beside the load.
///
/// # Errors
/// As [`TlsConnector::new`].
pub fn rustls_config(config: &TlsConfig) -> Result<ClientConfig, DriverError> {
    TlsConnector::new(config).map(|connector| Arc::unwrap_or_clone(connector.config))
}

/// A host as certificates name it.
pub(super) fn server_name(host: &str) -> Result<ServerName<'static>, DriverError> {
    ServerName::try_from(host.to_owned())
        .map_err(|error| DriverError::caused(format!("`{host}` cannot be the name of a TLS server"), error))
}

/// Who is trusted, and the certificates of the user's file as they are.
fn authorities(config: &TlsConfig) -> Result<(RootCertStore, Vec<CertificateDer<'static>>), DriverError> {
    let mut roots = RootCertStore::empty();
    match (&config.ca_file, config.verify) {
        (_, Verify::Nothing) => Ok((roots, Vec::new())),
        (Some(path), _) => {
            let trusted = certificates(path)?;
            roots.add_parsable_certificates(trusted.iter().cloned());
            Ok((roots, trusted))
        }
        (None, _) => {
            let found = rustls_native_certs::load_native_certs();
            roots.add_parsable_certificates(found.certs);
            if !roots.is_empty() {
                return Ok((roots, Vec::new()));
            }
            let message = "this system has no certificates of authorities: `apt-get install ca-certificates`";
            Err(match found.errors.into_iter().next() {
                Some(error) => DriverError::caused(message, error),
                None => DriverError::new(message),
            })
        }
    }
}

type Identity = (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>);

/// The client's own certificate and key.
fn identity(config: &TlsConfig) -> Result<Option<Identity>, DriverError> {
    let Some(certificate) = &config.certificate_file else {
        return match &config.key_file {
            Some(key) => {
                Err(DriverError::new(format!("key `{}` has no certificate beside it", key.display())))
            }
            None => Ok(None),
        };
    };
    let chain = certificates(certificate)?;
    let key = private_key(config.key_file.as_ref().unwrap_or(certificate))?;
    Ok(Some((chain, key)))
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, DriverError> {
    let read = CertificateDer::pem_file_iter(path).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let certificates = read.map_err(|error| unreadable("certificates", path, error))?;
    if certificates.is_empty() {
        return Err(DriverError::new(format!("`{}` holds no certificate in PEM form", path.display())));
    }
    Ok(certificates)
}

fn private_key(path: &Path) -> Result<PrivateKeyDer<'static>, DriverError> {
    match PrivateKeyDer::from_pem_file(path) {
        Ok(key) => Ok(key),
        Err(pem::Error::NoItemsFound) => {
            let encrypted = std::fs::read_to_string(path).is_ok_and(|text| text.contains("ENCRYPTED"));
            let why = if encrypted {
                "is encrypted; it is needed without a passphrase"
            } else {
                "holds no key in PEM form"
            };
            Err(DriverError::new(format!("`{}` {why}", path.display())))
        }
        Err(error) => Err(unreadable("the key", path, error)),
    }
}

fn unreadable(what: &str, path: &Path, error: pem::Error) -> DriverError {
    let message = format!("cannot read {what} in `{}`", path.display());
    match error {
        pem::Error::Io(error) => DriverError::caused(message, error),
        error => DriverError::caused(message, error),
    }
}
