//! What TLS a user asks for.

use std::path::PathBuf;

use weigh_load::DriverError;

use crate::transport::ServerUrl;

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

impl TlsConfig {
    /// What the options of a URL say: `tls_ca`, `tls_cert`, `tls_key` (files), `tls_verify` (`full`, `chain`, `none`)
    /// and `tls_name`. Other options are passed over.
    ///
    /// # Errors
    /// A value that none of them can have.
    pub fn from_options(url: &ServerUrl) -> Result<Self, DriverError> {
        let mut config = Self::default();
        for (name, value) in url.options() {
            config.take_option(&name, &value)?;
        }
        Ok(config)
    }

    /// Takes one option of a URL; says whether it is one of TLS's, see [`TlsConfig::from_options`].
    ///
    /// # Errors
    /// A value that it cannot have.
    pub fn take_option(&mut self, name: &str, value: &str) -> Result<bool, DriverError> {
        if !matches!(name, "tls_ca" | "tls_cert" | "tls_key" | "tls_verify" | "tls_name") {
            return Ok(false);
        }
        if value.is_empty() {
            return Err(DriverError::new(format!("option `{name}` is empty")));
        }
        match name {
            "tls_ca" => self.ca_file = Some(value.into()),
            "tls_cert" => self.certificate_file = Some(value.into()),
            "tls_key" => self.key_file = Some(value.into()),
            "tls_name" => self.server_name = Some(value.to_owned()),
            _ => self.verify = verify(value)?,
        }
        Ok(true)
    }
}

fn verify(value: &str) -> Result<Verify, DriverError> {
    match value {
        "full" => Ok(Verify::Full),
        "chain" => Ok(Verify::Chain),
        "none" => Ok(Verify::Nothing),
        other => Err(DriverError::new(format!("`tls_verify` is `full`, `chain` or `none`, not `{other}`"))),
    }
}

/// How a protocol's URLs spell what a user has to say when a handshake fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TlsWords {
    /// Trusts an authority.
    pub(crate) ca: &'static str,
    /// Shows a certificate of our own.
    pub(crate) certificate: &'static str,
    /// Leaves the name unchecked.
    pub(crate) chain: &'static str,
}

impl Default for TlsWords {
    fn default() -> Self {
        Self { ca: "tls_ca=FILE", certificate: "tls_cert=FILE", chain: "tls_verify=chain" }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn from(query: &str) -> Result<TlsConfig, String> {
        let url = ServerUrl::parse(&format!("rediss://h/?{query}")).unwrap();
        TlsConfig::from_options(&url).map_err(|error| error.to_string())
    }

    #[test]
    fn options_are_read_and_others_passed_over() {
        assert_eq!(from("db=3"), Ok(TlsConfig::default()));
        let all =
            from("tls_ca=/a%20b.pem&x=1&tls_cert=c.pem&tls_key=k.pem&tls_verify=chain&tls_name=db.example");
        let expected = TlsConfig {
            verify: Verify::Chain,
            ca_file: Some("/a b.pem".into()),
            certificate_file: Some("c.pem".into()),
            key_file: Some("k.pem".into()),
            server_name: Some("db.example".into()),
        };
        assert_eq!(all, Ok(expected));
        assert_eq!(from("tls_verify=none").unwrap().verify, Verify::Nothing);
    }

    #[test]
    fn what_an_option_cannot_be_is_refused() {
        assert_eq!(
            from("tls_verify=maybe").unwrap_err(),
            "`tls_verify` is `full`, `chain` or `none`, not `maybe`"
        );
        assert_eq!(from("tls_ca=").unwrap_err(), "option `tls_ca` is empty");
    }
}
