//! What TLS a user asks for.

use std::path::PathBuf;

/// TLS to a server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TlsConfig {
    /// What is checked of the server's certificate.
    pub verify: Verify,
    /// Certificates of authorities to trust (PEM) instead of the system's.
    pub ca_file: Option<PathBuf>,
    /// The client's own certificate chain (PEM), if the server wants one; the key may be in the same file.
    pub certificate_file: Option<PathBuf>,
    /// Key of `certificate_file` (PEM).
    pub key_file: Option<PathBuf>,
    /// Name the certificate must be made out to, instead of the host connected to.
    pub server_name: Option<String>,
}

/// What is checked of a server's certificate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Verify {
    /// That an authority we trust signed it, and that it is made out to the host.
    #[default]
    Full,
    /// That an authority we trust signed it.
    Chain,
    /// Nothing: encrypted, and anybody may be at the other end.
    Nothing,
}
