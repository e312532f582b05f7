//! What a `mongodb://` URL says. Source: MongoDB's "Connection String" specification; an option that would not be
//! honoured is refused and never passed over.

use std::time::Duration;

use weigh_load::DriverError;

use super::config::{Mechanism, MongodbConfig, ReadPreference, WriteConcern};
use crate::transport::{Endpoint, ServerUrl, TlsConfig, Verify};

const PORT: u16 = 27017;

const KNOWN: &str = "appName, authMechanism, authSource, directConnection, journal, readConcernLevel, readPreference, \
                     replicaSet, tls, tlsAllowInvalidCertificates, tlsAllowInvalidHostnames, tlsCAFile, \
                     tlsCertificateKeyFile, tlsInsecure, w, wtimeoutMS";

impl MongodbConfig {
    /// Takes a URL: `mongodb://user:password@host:27017/database?option=value&…`, or with a percent-encoded path of a
    /// unix socket as its host.
    ///
    /// # Errors
    /// Several hosts, `mongodb+srv`, an option that is unknown or would not be honoured, or a value that is none.
    pub fn from_url(url: &ServerUrl) -> Result<Self, DriverError> {
        if url.scheme == "mongodb+srv" {
            return Err(DriverError::new(
                "`mongodb+srv` names servers through DNS; name one of them: `mongodb://host:27017/database`",
            ));
        }
        if url.host.as_ref().is_some_and(|host| !host.starts_with('/') && host.contains(',')) {
            return Err(DriverError::new(
                "a load is put on one server: name one host, not a list (the primary, for writes)",
            ));
        }
        let endpoint = match &url.host {
            // Without one the path would be taken for a socket, and here it is the database.
            None => Endpoint::Tcp { host: "localhost".into(), port: url.port.unwrap_or(PORT) },
            Some(_) => url.endpoint(PORT),
        };
        let mut config = Self::new(endpoint);
        config.user.clone_from(&url.user);
        config.password.clone_from(&url.password);
        let database = url.path.trim_start_matches('/');
        let given = (!database.is_empty()).then(|| database_name(database)).transpose()?;
        let mut auth_source = None;
        for (name, value) in url.options() {
            if name.eq_ignore_ascii_case("authSource") {
                auth_source = Some(value);
            } else {
                config.set_option(&name, &value)?;
            }
        }
        let external = (config.mechanism == Some(Mechanism::Plain)).then(|| "$external".to_owned());
        config.auth_source =
            auth_source.or_else(|| given.clone()).or(external).unwrap_or_else(|| "admin".to_owned());
        if let Some(database) = given {
            config.database = database;
        }
        config.check()?;
        Ok(config)
    }

    fn set_option(&mut self, name: &str, value: &str) -> Result<(), DriverError> {
        match name.to_ascii_lowercase().as_str() {
            "appname" => self.application_name = value.to_owned(),
            "authmechanism" => self.mechanism = Some(mechanism(value)?),
            "replicaset" => self.replica_set = Some(value.to_owned()),
            "readconcernlevel" => self.read_concern = Some(value.to_owned()),
            "readpreference" => {
                let found = ReadPreference::ALL.into_iter().find(|p| p.name().eq_ignore_ascii_case(value));
                self.read_preference =
                    found.ok_or_else(|| wrong(name, value, "primary, secondary, nearest, …"))?;
            }
            // It is what we do; the opposite, finding the other members, we do not.
            "directconnection" if truth(name, value)? => {}
            // What we do: an operation that fails is counted.
            "retrywrites" | "retryreads" if !truth(name, value)? => {}
            "retrywrites" | "retryreads" => {
                return Err(DriverError::new(format!(
                    "`{name}=true` is not honoured: an operation that fails is counted and never repeated; remove it"
                )));
            }
            "w" => self.concern().w = Some(value.to_owned()),
            "journal" => self.concern().journal = Some(truth(name, value)?),
            "wtimeoutms" => {
                let limit_ms = value.parse().map_err(|_| wrong(name, value, "a number of milliseconds"))?;
                self.concern().timeout = Some(Duration::from_millis(limit_ms));
            }
            "tls" | "ssl" if !truth(name, value)? => self.tls = None,
            "tls" | "ssl" => {
                self.tls.get_or_insert_default();
            }
            "tlscafile" => self.tls.get_or_insert_default().ca_file = Some(value.into()),
            "tlscertificatekeyfile" => self.tls.get_or_insert_default().certificate_file = Some(value.into()),
            "tlsinsecure" | "tlsallowinvalidcertificates" => self.relax(truth(name, value)?, Verify::Nothing),
            "tlsallowinvalidhostnames" => self.relax(truth(name, value)?, Verify::Chain),
            _ => {
                return Err(DriverError::new(format!(
                    "the option `{name}` of the URL is unknown or not honoured; these are: {KNOWN}"
                )));
            }
        }
        Ok(())
    }

    fn concern(&mut self) -> &mut WriteConcern {
        self.write_concern.get_or_insert_default()
    }

    fn relax(&mut self, asked: bool, verify: Verify) {
        let tls: &mut TlsConfig = self.tls.get_or_insert_default();
        if asked && tls.verify != Verify::Nothing {
            tls.verify = verify;
        }
    }

    /// What does not go together.
    fn check(&self) -> Result<(), DriverError> {
        let unacknowledged = |concern: &WriteConcern| concern.w.as_deref() == Some("0");
        let journaled = |concern: &WriteConcern| concern.journal == Some(true);
        if self.write_concern.as_ref().is_some_and(|c| unacknowledged(c) && journaled(c)) {
            return Err(DriverError::new("`w=0` and `journal=true` contradict each other"));
        }
        if self.user.is_none() && self.password.is_some() {
            return Err(DriverError::new("the URL has a password and no user"));
        }
        if self.user.is_none() && self.mechanism.is_some() {
            return Err(DriverError::new("the URL says `authMechanism` and no user"));
        }
        Ok(())
    }
}

fn database_name(path: &str) -> Result<String, DriverError> {
    let name = percent_encoding::percent_decode_str(path).decode_utf8();
    let name = name.map_err(|error| DriverError::caused("the database of the URL is not UTF-8", error))?;
    if name.contains(['/', '\\', '.', ' ', '"', '$', '\0']) {
        return Err(DriverError::new(format!("`{name}` is no name of a database")));
    }
    Ok(name.into_owned())
}

fn mechanism(value: &str) -> Result<Mechanism, DriverError> {
    let found = Mechanism::ALL.into_iter().find(|mechanism| mechanism.name() == value);
    found.ok_or_else(|| wrong("authMechanism", value, "SCRAM-SHA-256, SCRAM-SHA-1 or PLAIN"))
}

fn truth(name: &str, value: &str) -> Result<bool, DriverError> {
    match value {
        "true" => Ok(true),
        "false" => Ok(false),
        _ => Err(wrong(name, value, "true or false")),
    }
}

fn wrong(name: &str, value: &str, expected: &str) -> DriverError {
    DriverError::new(format!("`{name}={value}` in the URL: expected {expected}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<MongodbConfig, DriverError> {
        MongodbConfig::from_url(&ServerUrl::parse(text).unwrap())
    }

    #[test]
    fn everything_a_url_says_is_taken() {
        let config = parse(
            "mongodb://me:p%40ss@db.example:27018/shop?authSource=admin&authMechanism=SCRAM-SHA-1&tls=true\
             &tlsCAFile=/ca.pem&w=majority&journal=true&wtimeoutMS=250&appName=x&readPreference=nearest\
             &readConcernLevel=local&replicaSet=rs0&directConnection=true&retryWrites=false",
        )
        .unwrap();
        assert_eq!(config.endpoint.to_string(), "db.example:27018");
        assert_eq!((config.user.as_deref(), config.password.as_deref()), (Some("me"), Some("p@ss")));
        assert_eq!((config.auth_source.as_str(), config.database.as_str()), ("admin", "shop"));
        assert_eq!(config.mechanism, Some(Mechanism::ScramSha1));
        let tls = config.tls.clone().unwrap();
        assert_eq!((tls.verify, tls.ca_file), (Verify::Full, Some("/ca.pem".into())));
        let concern = WriteConcern {
            w: Some("majority".into()),
            journal: Some(true),
            timeout: Some(Duration::from_millis(250)),
        };
        assert_eq!(config.write_concern, Some(concern));
        assert_eq!(config.read_preference, ReadPreference::Nearest);
        assert_eq!(
            (config.read_concern.as_deref(), config.replica_set.as_deref()),
            (Some("local"), Some("rs0"))
        );
        assert_eq!(config.application_name, "x");
        assert!(!format!("{config:?}").contains("p@ss"));
    }

    #[test]
    fn what_is_not_said_has_its_usual_value() {
        let config = parse("mongodb://h").unwrap();
        assert_eq!(config, MongodbConfig::new(Endpoint::Tcp { host: "h".into(), port: 27017 }));
        let config = parse("mongodb://u:p@h/shop").unwrap();
        assert_eq!((config.auth_source.as_str(), config.database.as_str()), ("shop", "shop"));
        assert_eq!(parse("mongodb://u:p@h/?authMechanism=PLAIN").unwrap().auth_source, "$external");
        assert_eq!(parse("mongodb://%2Frun%2Fm.sock/shop").unwrap().endpoint.to_string(), "/run/m.sock");
        assert_eq!(parse("mongodb:///shop").unwrap().endpoint.to_string(), "localhost:27017");
        assert_eq!(parse("mongodb://h/?tlsInsecure=true").unwrap().tls.unwrap().verify, Verify::Nothing);
    }

    #[test]
    fn what_would_not_be_honoured_is_refused() {
        let refused = [
            ("mongodb+srv://h/", "through DNS"),
            ("mongodb://a,b/", "one host"),
            ("mongodb://h/?compressors=zstd", "`compressors`"),
            ("mongodb://h/?retryWrites=true", "never repeated"),
            ("mongodb://h/?directConnection=false", "`directConnection`"),
            ("mongodb://h/?w=0&journal=true", "contradict"),
            ("mongodb://h/?journal=yes", "true or false"),
            ("mongodb://h/?wtimeoutMS=soon", "milliseconds"),
            ("mongodb://u:p@h/?authMechanism=GSSAPI", "SCRAM-SHA-256"),
            ("mongodb://h/a.b", "no name of a database"),
            ("mongodb://:p@h/", "no user"),
        ];
        for (text, expected) in refused {
            let error = parse(text).unwrap_err().to_string();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }
}
