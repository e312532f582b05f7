//! Checks of a server's certificate: chain and name, the chain alone, or nothing.
//!
//! Chains and names are `webpki`'s work. Added to it is what administrators do and OpenSSL allows: a certificate
//! that signed itself and stands in the file of trusted ones is trusted, though it is no authority.

use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{verify_server_cert_signed_by_trust_anchor, verify_server_name};
use rustls::crypto::{WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};

use super::certificate;
use super::config::Verify;

/// Checks what [`Verify`] says.
#[derive(Debug)]
pub(super) struct Verifier {
    pub(super) verify: Verify,
    /// Authorities.
    pub(super) roots: RootCertStore,
    /// The certificates of the user's file themselves.
    pub(super) trusted: Vec<CertificateDer<'static>>,
    pub(super) algorithms: WebPkiSupportedAlgorithms,
}

impl Verifier {
    fn verify_chain(
        &self,
        end_entity: &CertificateDer<'_>,
        parsed: &ParsedCertificate<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<(), Error> {
        if self.trusted.contains(end_entity) {
            return verify_dates(end_entity, now);
        }
        if certificate::is_self_signed(end_entity) {
            return Err(CertificateError::UnknownIssuer.into());
        }
        let Self { roots, algorithms, .. } = self;
        verify_server_cert_signed_by_trust_anchor(parsed, roots, intermediates, now, algorithms.all)
    }
}

fn verify_dates(certificate: &CertificateDer<'_>, now: UnixTime) -> Result<(), Error> {
    let (begin, end) = certificate::validity(certificate).ok_or(CertificateError::BadEncoding)?;
    let moment = |seconds| UnixTime::since_unix_epoch(std::time::Duration::from_secs(seconds));
    if now.as_secs() < begin {
        Err(CertificateError::NotValidYetContext { time: now, not_before: moment(begin) }.into())
    } else if now.as_secs() > end {
        Err(CertificateError::ExpiredContext { time: now, not_after: moment(end) }.into())
    } else {
        Ok(())
    }
}

/// A certificate without alternative names: certificates of old name their host in the subject only, where it is not
/// looked for (RFC 9525).
#[derive(Debug, thiserror::Error)]
#[error("the certificate names no host in a subjectAltName, only `{subject}` as its subject")]
pub(super) struct NamesNoHost {
    subject: String,
}

/// Says what the certificate names instead, if that is why the name does not fit.
fn with_subject(error: Error, certificate: &CertificateDer<'_>) -> Error {
    match certificate::subject_without_names(certificate) {
        Some(subject) => {
            let reason = rustls::OtherError(Arc::new(NamesNoHost { subject }));
            Error::InvalidCertificate(CertificateError::Other(reason))
        }
        None => error,
    }
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        if self.verify == Verify::Nothing {
            return Ok(ServerCertVerified::assertion());
        }
        let parsed = ParsedCertificate::try_from(end_entity)?;
        self.verify_chain(end_entity, &parsed, intermediates, now)?;
        if self.verify == Verify::Full {
            verify_server_name(&parsed, server_name).map_err(|error| with_subject(error, end_entity))?;
        }
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        if self.verify == Verify::Nothing {
            // Proves possession of a key nobody knows; `webpki` would refuse old certificates here.
            return Ok(HandshakeSignatureValid::assertion());
        }
        verify_tls12_signature(message, certificate, signature, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        if self.verify == Verify::Nothing {
            return Ok(HandshakeSignatureValid::assertion());
        }
        verify_tls13_signature(message, certificate, signature, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}
