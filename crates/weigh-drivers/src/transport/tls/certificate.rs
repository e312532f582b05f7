//! A certificate's own words: dates, names, the algorithm that signed it.

use sha2::{Digest, Sha256, Sha384, Sha512};
use x509_cert::Certificate;
use x509_cert::der::asn1::ObjectIdentifier;
use x509_cert::der::{DateTime, Decode};
use x509_cert::ext::pkix::SubjectAltName;

/// Algorithms whose hash is SHA-384 (RFC 8017, RFC 5758).
const WITH_SHA384: [&str; 2] = ["1.2.840.113549.1.1.12", "1.2.840.10045.4.3.3"];
/// Algorithms whose hash is SHA-512.
const WITH_SHA512: [&str; 2] = ["1.2.840.113549.1.1.13", "1.2.840.10045.4.3.4"];
/// Algorithms whose hash is SHA-256, or SHA-1 and MD5, for which SHA-256 stands in.
const WITH_SHA256: [&str; 5] = [
    "1.2.840.113549.1.1.11",
    "1.2.840.10045.4.3.2",
    "1.2.840.113549.1.1.5",
    "1.2.840.113549.1.1.4",
    "1.2.840.10045.4.1",
];

/// The hash that binds a log-in to the server's certificate: `tls-server-end-point` of RFC 5929, section 4.1.
/// `None` where the standard leaves the hash open (RSA-PSS, Ed25519).
pub(super) fn endpoint_digest(der: &[u8]) -> Option<Vec<u8>> {
    let algorithm = Certificate::from_der(der).ok()?.signature_algorithm().oid;
    let is_one_of = |names: &[&str]| names.iter().any(|name| ObjectIdentifier::new(name) == Ok(algorithm));
    if is_one_of(&WITH_SHA256) {
        Some(Sha256::digest(der).to_vec())
    } else if is_one_of(&WITH_SHA384) {
        Some(Sha384::digest(der).to_vec())
    } else if is_one_of(&WITH_SHA512) {
        Some(Sha512::digest(der).to_vec())
    } else {
        None
    }
}

/// From when to when it is valid, in seconds since 1970.
pub(super) fn validity(der: &[u8]) -> Option<(u64, u64)> {
    let certificate = Certificate::from_der(der).ok()?;
    let validity = certificate.tbs_certificate().validity();
    let seconds = |time: &x509_cert::time::Time| time.to_unix_duration().as_secs();
    Some((seconds(&validity.not_before), seconds(&validity.not_after)))
}

/// Whether it is its own issuer.
pub(super) fn is_self_signed(der: &[u8]) -> bool {
    Certificate::from_der(der).is_ok_and(|certificate| {
        let certificate = certificate.tbs_certificate();
        certificate.issuer() == certificate.subject()
    })
}

/// Its subject, if it carries no alternative names: certificates of old say their host only there.
pub(super) fn subject_without_names(der: &[u8]) -> Option<String> {
    let certificate = Certificate::from_der(der).ok()?;
    let certificate = certificate.tbs_certificate();
    match certificate.get_extension::<SubjectAltName>() {
        Ok(None) => Some(certificate.subject().to_string()),
        Ok(Some(_)) | Err(_) => None,
    }
}

/// A moment for people: `2025-01-31T00:00:00Z`.
pub(super) fn date(since_1970: std::time::Duration) -> String {
    DateTime::from_unix_duration(since_1970)
        .map_or_else(|_| format!("{since_1970:?} since 1970"), |date| date.to_string())
}
