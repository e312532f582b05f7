//! What went wrong in TLS, in a line a user can act on.

use std::io;

use rustls::{AlertDescription, CertificateError, Error};
use weigh_load::DriverError;

use super::certificate;
use super::config::TlsWords;
use super::verifier::NamesNoHost;

/// Whom we talk to and how its URLs spell things, for messages.
#[derive(Clone, Debug)]
pub(super) struct Peer {
    pub(super) host: String,
    pub(super) words: TlsWords,
}

impl Peer {
    /// What a failure of TLS means.
    pub(super) fn explain(&self, error: &Error) -> DriverError {
        let Self { host, .. } = self;
        match error {
            Error::InvalidCertificate(reason) => self.explain_certificate(reason),
            Error::AlertReceived(alert) => self.explain_alert(*alert),
            Error::InvalidMessage(_) => {
                DriverError::new(format!("what answers at `{host}` does not speak TLS on this port"))
            }
            Error::PeerIncompatible(_) => DriverError::caused(
                format!("`{host}` and this client have no version or cipher of TLS (1.2, 1.3) in common"),
                error.clone(),
            ),
            _ => DriverError::caused(format!("TLS with `{host}` failed"), error.clone()),
        }
    }

    fn explain_certificate(&self, reason: &CertificateError) -> DriverError {
        let Self { host, words } = self;
        let message = match reason {
            // The second when the authority was made anew under its old name.
            CertificateError::UnknownIssuer | CertificateError::BadSignature => format!(
                "the certificate of `{host}` is signed by nobody trusted here: name the authority's file with `{}`",
                words.ca
            ),
            CertificateError::ExpiredContext { not_after, .. } => format!(
                "the certificate of `{host}`, or one above it, expired on {}",
                certificate::date(std::time::Duration::from_secs(not_after.as_secs()))
            ),
            CertificateError::NotValidYetContext { not_before, .. } => format!(
                "the certificate of `{host}`, or one above it, is valid only from {}",
                certificate::date(std::time::Duration::from_secs(not_before.as_secs()))
            ),
            CertificateError::NotValidForNameContext { presented, .. } => {
                let names: Vec<String> = presented.iter().map(|name| format!("`{}`", plain(name))).collect();
                let names = names.join(", ");
                format!("the certificate is made out to {names}, not to `{host}`{}", self.or_chain())
            }
            CertificateError::Other(reason) if reason.0.is::<NamesNoHost>() => {
                format!("{}, so it is not made out to `{host}`{}", reason.0, self.or_chain())
            }
            other => {
                let message = format!("the certificate of `{host}` is refused");
                return DriverError::caused(message, Error::InvalidCertificate(other.clone()));
            }
        };
        DriverError::new(message)
    }

    fn or_chain(&self) -> String {
        format!("; `{}` leaves the name unchecked", self.words.chain)
    }

    fn explain_alert(&self, alert: AlertDescription) -> DriverError {
        let Self { host, words } = self;
        let message = match alert {
            AlertDescription::CertificateRequired | AlertDescription::NoCertificate => {
                format!("`{host}` wants a client certificate: give one with `{}`", words.certificate)
            }
            // What a server of TLS 1.2 says where 1.3 has words for a missing certificate.
            AlertDescription::HandshakeFailure => format!(
                "`{host}` broke off the TLS handshake: it wants a client certificate (`{}`) or other ciphers",
                words.certificate
            ),
            AlertDescription::UnknownCA
            | AlertDescription::BadCertificate
            | AlertDescription::UnsupportedCertificate
            | AlertDescription::CertificateExpired
            | AlertDescription::CertificateRevoked
            | AlertDescription::CertificateUnknown
            | AlertDescription::DecryptError => format!(
                "`{host}` does not accept our client certificate ({}): check `{}`",
                words_of(alert),
                words.certificate
            ),
            AlertDescription::UnrecognisedName => format!("`{host}` serves no TLS under that name"),
            AlertDescription::ProtocolVersion => format!("`{host}` speaks neither TLS 1.2 nor 1.3"),
            other => format!("`{host}` ended TLS ({})", words_of(other)),
        };
        DriverError::new(message)
    }

    /// For reads and writes: the explanation inside an I/O error.
    pub(super) fn io_error(&self, error: &Error) -> io::Error {
        let explained = self.explain(error);
        io::Error::new(io::ErrorKind::InvalidData, one_line(&explained))
    }

    /// For the engine, which counts by message.
    pub(super) fn one_line(&self, error: &Error) -> String {
        one_line(&self.explain(error))
    }
}

fn one_line(error: &DriverError) -> String {
    match &error.source {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    }
}

/// `HandshakeFailure` as `handshake failure`.
fn words_of(alert: AlertDescription) -> String {
    let mut words = String::new();
    for letter in format!("{alert:?}").chars() {
        if letter.is_uppercase() && !words.is_empty() && !words.ends_with(|c: char| c.is_uppercase()) {
            words.push(' ');
        }
        words.push(letter);
    }
    words.to_lowercase()
}

/// `DnsName("a.example")` as `a.example`.
fn plain(name: &str) -> &str {
    let inner = name.split_once('(').and_then(|(_, rest)| rest.strip_suffix(')'));
    inner.map_or(name, |inner| inner.trim_matches('"'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_alerts_read_as_words() {
        assert_eq!(plain("DnsName(\"a.example\")"), "a.example");
        assert_eq!(plain("IpAddress(10.0.0.1)"), "10.0.0.1");
        assert_eq!(words_of(AlertDescription::HandshakeFailure), "handshake failure");
        assert_eq!(words_of(AlertDescription::UnknownCA), "unknown ca");
    }
}
