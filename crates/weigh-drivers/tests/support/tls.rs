//! A private authority and the certificates it signs, right and wrong ones.
//!
//! Everything lies in a directory of its own, readable by everybody (test servers run as other users), and goes
//! with the [`Authority`].

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    date_time_ymd,
};
use tempfile::TempDir;

/// Authorities made by this process.
static NUMBER: AtomicU32 = AtomicU32::new(1);

/// Signs certificates.
pub struct Authority {
    dir: TempDir,
    issuer: CertifiedIssuer<'static, KeyPair>,
    ca: PathBuf,
}

/// The files of one certificate, PEM.
#[derive(Clone, Debug)]
pub struct Pair {
    pub certificate: PathBuf,
    pub key: PathBuf,
    /// Certificate and key in one file.
    pub together: PathBuf,
}

impl Authority {
    pub fn new() -> Self {
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        Self::named(&format!("weigh test authority {number}"))
    }

    /// Another key under the same name is another authority.
    pub fn named(name: &str) -> Self {
        let dir = tempfile::Builder::new().prefix("weigh-tls-").tempdir_in("/var/tmp").unwrap();
        std::fs::set_permissions(dir.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
        let mut params = CertificateParams::new([]).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, name);
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let ca = dir.path().join("ca.pem");
        std::fs::write(&ca, issuer.pem()).unwrap();
        Self { dir, issuer, ca }
    }

    /// The authority's own certificate: what a client must trust.
    pub fn ca_file(&self) -> &Path {
        &self.ca
    }

    /// A server's: for `localhost`, `127.0.0.1` and `::1`.
    pub fn right(&self) -> Pair {
        self.sign("right", params(&["localhost", "127.0.0.1", "::1"]))
    }

    /// The same, and it is over.
    pub fn expired(&self) -> Pair {
        let mut params = params(&["localhost", "127.0.0.1"]);
        params.not_before = date_time_ymd(2019, 1, 1);
        params.not_after = date_time_ymd(2020, 1, 1);
        self.sign("expired", params)
    }

    /// A server's, made out to `elsewhere.example`.
    pub fn wrong_name(&self) -> Pair {
        self.sign("wrong-name", params(&["elsewhere.example"]))
    }

    /// A server's with its host in the common name only, as of old.
    pub fn common_name_only(&self) -> Pair {
        let mut params = params(&[]);
        params.distinguished_name.push(DnType::CommonName, "localhost");
        self.sign("common-name", params)
    }

    /// A client's, for a user of that name.
    pub fn client(&self, user: &str) -> Pair {
        let mut params = CertificateParams::new([]).unwrap();
        params.distinguished_name.push(DnType::CommonName, user);
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        self.sign(user, params)
    }

    /// Signed by itself, as `openssl req -x509` does it: an authority and a server in one, for `127.0.0.1`.
    pub fn self_signed(&self) -> Pair {
        let mut params = params(&["127.0.0.1"]);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.extended_key_usages.clear();
        let key = KeyPair::generate().unwrap();
        let certificate = params.self_signed(&key).unwrap().pem();
        self.write("self-signed", &certificate, &key)
    }

    fn sign(&self, name: &str, params: CertificateParams) -> Pair {
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap().pem();
        self.write(name, &certificate, &key)
    }

    fn write(&self, name: &str, certificate: &str, key: &KeyPair) -> Pair {
        let file = |suffix: &str, text: &str| {
            let path = self.dir.path().join(format!("{name}{suffix}"));
            std::fs::write(&path, text).unwrap();
            path
        };
        let key = key.serialize_pem();
        Pair {
            certificate: file(".crt", certificate),
            key: file(".key", &key),
            together: file(".pem", &format!("{certificate}{key}")),
        }
    }
}

fn params(names: &[&str]) -> CertificateParams {
    let names: Vec<String> = names.iter().map(ToString::to_string).collect();
    let mut params = CertificateParams::new(names).unwrap();
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    params
}
