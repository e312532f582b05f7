//! SCRAM (RFC 5802, RFC 7677) as MongoDB uses it: the messages, and the proofs of both sides.
//!
//! The user stands in the messages (PostgreSQL's are without, which is why its library cannot be used here), and with
//! SHA-1 it is not the password that is proved but MongoDB's own digest of user and password.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use md5::{Digest, Md5};
use sha1::Sha1;
use sha2::Sha256;
use weigh_load::DriverError;

use super::config::Mechanism;

/// Fewer iterations than RFC 7677 allows are refused, and more than anybody configures.
const ITERATIONS: std::ops::RangeInclusive<u32> = 4096..=10_000_000;

const NONCE_BYTES: usize = 24;

/// The header without channel binding, and its base64.
const GS2_HEADER: &str = "n,,";
const GS2_HEADER_BASE64: &str = "biws";

/// Which hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hash {
    Sha1,
    Sha256,
}

/// A password that was salted: the expensive part.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Salted {
    hash: Hash,
    salt: Vec<u8>,
    iterations: u32,
    key: Vec<u8>,
}

impl std::fmt::Debug for Salted {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Salted").field("hash", &self.hash).finish_non_exhaustive()
    }
}

/// One conversation.
pub(super) struct Scram {
    hash: Hash,
    secret: String,
    nonce: String,
    first_bare: String,
    /// What the server must prove, known after [`Scram::final_message`].
    server_key: Vec<u8>,
    exchange: String,
}

impl Scram {
    /// A conversation with a fresh nonce.
    ///
    /// # Errors
    /// A password that SASLprep forbids, or no random bytes.
    pub(super) fn new(hash: Hash, user: &str, password: &str) -> Result<Self, DriverError> {
        let mut random = [0; NONCE_BYTES];
        getrandom::fill(&mut random)
            .map_err(|error| DriverError::caused("the operating system has no random bytes", error))?;
        Ok(Self::with_nonce(hash, user, hash.secret(user, password)?, STANDARD.encode(random)))
    }

    fn with_nonce(hash: Hash, user: &str, secret: String, nonce: String) -> Self {
        let user = user.replace('=', "=3D").replace(',', "=2C");
        let first_bare = format!("n={user},r={nonce}");
        Self { hash, secret, nonce, first_bare, server_key: Vec::new(), exchange: String::new() }
    }

    pub(super) fn mechanism(&self) -> Mechanism {
        match self.hash {
            Hash::Sha1 => Mechanism::ScramSha1,
            Hash::Sha256 => Mechanism::ScramSha256,
        }
    }

    /// What the client says first.
    pub(super) fn first_message(&self) -> String {
        format!("{GS2_HEADER}{}", self.first_bare)
    }

    /// The client's proof, in answer to the server's first message.
    ///
    /// # Errors
    /// A message that is not as it must be.
    pub(super) fn final_message(
        &mut self,
        server_first: &str,
        cached: &mut Option<Salted>,
    ) -> Result<String, DriverError> {
        let malformed = || DriverError::new("the server sent a malformed SCRAM message");
        let nonce = attribute(server_first, 'r').ok_or_else(malformed)?;
        let salt = attribute(server_first, 's').and_then(|salt| STANDARD.decode(salt).ok());
        let salt = salt.ok_or_else(malformed)?;
        let iterations: u32 =
            attribute(server_first, 'i').and_then(|i| i.parse().ok()).ok_or_else(malformed)?;
        if !nonce.starts_with(&self.nonce) || nonce.len() == self.nonce.len() {
            return Err(DriverError::new("the server answered another SCRAM conversation"));
        }
        if !ITERATIONS.contains(&iterations) {
            return Err(DriverError::new(format!("the server asks for {iterations} SCRAM iterations")));
        }
        let known =
            cached.as_ref().filter(|s| (s.hash, s.iterations) == (self.hash, iterations) && s.salt == salt);
        let key = match known {
            Some(salted) => salted.key.clone(),
            None => self.hash.salted(self.secret.as_bytes(), &salt, iterations),
        };
        let without_proof = format!("c={GS2_HEADER_BASE64},r={nonce}");
        self.exchange = format!("{},{server_first},{without_proof}", self.first_bare);
        let client_key = self.hash.hmac(&key, b"Client Key");
        let signature = self.hash.hmac(&self.hash.digest(&client_key), self.exchange.as_bytes());
        self.server_key = self.hash.hmac(&key, b"Server Key");
        *cached = Some(Salted { hash: self.hash, salt, iterations, key });
        let proof: Vec<u8> = client_key.iter().zip(&signature).map(|(key, mask)| key ^ mask).collect();
        Ok(format!("{without_proof},p={}", STANDARD.encode(proof)))
    }

    /// Whether the server knows the password too.
    ///
    /// # Errors
    /// It does not, or says why it refuses.
    pub(super) fn check_server(&self, server_final: &str) -> Result<(), DriverError> {
        if let Some(reason) = attribute(server_final, 'e') {
            return Err(DriverError::new(format!("the server refuses SCRAM authentication: {reason}")));
        }
        let signature =
            attribute(server_final, 'v').and_then(|v| STANDARD.decode(v).ok()).unwrap_or_default();
        if self.hash.verify(&self.server_key, self.exchange.as_bytes(), &signature) {
            Ok(())
        } else {
            Err(DriverError::new("the server failed to prove that it knows the password"))
        }
    }
}

impl Hash {
    /// What is salted. SHA-1: MongoDB's digest; SHA-256: the password after SASLprep.
    fn secret(self, user: &str, password: &str) -> Result<String, DriverError> {
        match self {
            Self::Sha1 => {
                let digest = Md5::digest(format!("{user}:mongo:{password}"));
                Ok(digest.iter().map(|byte| format!("{byte:02x}")).collect())
            }
            Self::Sha256 => {
                stringprep::saslprep(password).map(std::borrow::Cow::into_owned).map_err(|error| {
                    DriverError::caused("the password holds a character that SASLprep forbids", error)
                })
            }
        }
    }

    fn salted(self, secret: &[u8], salt: &[u8], iterations: u32) -> Vec<u8> {
        match self {
            Self::Sha1 => pbkdf2::pbkdf2_hmac_array::<Sha1, 20>(secret, salt, iterations).to_vec(),
            Self::Sha256 => pbkdf2::pbkdf2_hmac_array::<Sha256, 32>(secret, salt, iterations).to_vec(),
        }
    }

    fn digest(self, data: &[u8]) -> Vec<u8> {
        match self {
            Self::Sha1 => Sha1::digest(data).to_vec(),
            Self::Sha256 => Sha256::digest(data).to_vec(),
        }
    }

    fn hmac(self, key: &[u8], data: &[u8]) -> Vec<u8> {
        match self {
            Self::Sha1 => mac::<Hmac<Sha1>>(key, data).map(|mac| mac.finalize().into_bytes().to_vec()),
            Self::Sha256 => mac::<Hmac<Sha256>>(key, data).map(|mac| mac.finalize().into_bytes().to_vec()),
        }
        .unwrap_or_default()
    }

    /// Compares in constant time.
    fn verify(self, key: &[u8], data: &[u8], signature: &[u8]) -> bool {
        match self {
            Self::Sha1 => mac::<Hmac<Sha1>>(key, data).is_some_and(|mac| mac.verify_slice(signature).is_ok()),
            Self::Sha256 => {
                mac::<Hmac<Sha256>>(key, data).is_some_and(|mac| mac.verify_slice(signature).is_ok())
            }
        }
    }
}

/// HMAC takes a key of any length, so there is always one.
fn mac<M: Mac + KeyInit>(key: &[u8], data: &[u8]) -> Option<M> {
    <M as KeyInit>::new_from_slice(key).ok().map(|mut mac| {
        mac.update(data);
        mac
    })
}

/// The value of `name=` in a message.
fn attribute(message: &str, name: char) -> Option<&str> {
    message.split(',').find_map(|part| part.strip_prefix(name)?.strip_prefix('='))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 7677, section 3.
    #[test]
    fn sha_256_gives_the_rfcs_proofs() {
        let nonce = "rOprNGfwEbeRWgbNEkqO".to_owned();
        let mut scram = Scram::with_nonce(Hash::Sha256, "user", "pencil".into(), nonce);
        assert_eq!(scram.first_message(), "n,,n=user,r=rOprNGfwEbeRWgbNEkqO");
        let server_first =
            "r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096";
        let mut cached = None;
        let expected = "c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,\
                        p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=";
        assert_eq!(scram.final_message(server_first, &mut cached).unwrap(), expected);
        // The same again, from what was salted before.
        assert!(cached.is_some());
        assert_eq!(scram.final_message(server_first, &mut cached).unwrap(), expected);
        scram.check_server("v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=").unwrap();
        assert!(scram.check_server("v=7rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=").is_err());
        assert!(scram.check_server("v=").is_err());
        let error = scram.check_server("e=other-error").unwrap_err().to_string();
        assert!(error.ends_with("other-error"), "{error}");
    }

    /// RFC 5802, section 5.
    #[test]
    fn sha_1_gives_the_rfcs_proofs() {
        let nonce = "fyko+d2lbbFgONRv9qkxdawL".to_owned();
        let mut scram = Scram::with_nonce(Hash::Sha1, "user", "pencil".into(), nonce);
        let server_first = "r=fyko+d2lbbFgONRv9qkxdawL3rfcNHYJY1ZVvWVs7j,s=QSXCR+Q6sek8bf92,i=4096";
        let message = scram.final_message(server_first, &mut None).unwrap();
        assert!(message.ends_with(",p=v0X8v3Bz2T0CJGbJQyF0X+HI4Ts="), "{message}");
        scram.check_server("v=rmF9pqV8S7suAoZWja4dJRkFsKQ=").unwrap();
    }

    #[test]
    fn what_a_wrong_server_says_is_refused() {
        let scram = || Scram::with_nonce(Hash::Sha256, "a=b,c", "x".into(), "abc".into());
        assert_eq!(scram().first_message(), "n,,n=a=3Db=2Cc,r=abc");
        for (message, expected) in [
            ("", "malformed"),
            ("r=abcd,s=!,i=4096", "malformed"),
            ("r=abcd,s=QSXC,i=x", "malformed"),
            ("r=abc,s=QSXC,i=4096", "another"),
            ("r=xyz,s=QSXC,i=4096", "another"),
            ("r=abcd,s=QSXC,i=1", "1 SCRAM iterations"),
            ("r=abcd,s=QSXC,i=4000000000", "iterations"),
        ] {
            let error = scram().final_message(message, &mut None).unwrap_err().to_string();
            assert!(error.contains(expected), "{message}: {error}");
        }
        assert!(Hash::Sha256.secret("u", "a\u{7}b").is_err());
        assert_eq!(Hash::Sha256.secret("u", "I\u{AD}X").unwrap(), "IX");
    }
}
