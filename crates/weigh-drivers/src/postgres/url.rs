//! `postgres://` URLs, read as libpq reads them (PostgreSQL's documentation, sections 34.1.1.2, 34.1.2 and 34.15).
//!
//! Options of the URL win over the environment, which wins over defaults. The environment is only looked at where
//! the caller hands it in: [`PostgresConfig::from_url_and_environment`].

use std::path::{Path, PathBuf};
use std::time::Duration;

use percent_encoding::percent_decode_str;
use weigh_load::DriverError;

use super::config::{ChannelBinding, DEFAULT_PORT, Encryption, PostgresConfig, socket_in};
use super::password_file::{self, Wanted};
use crate::transport::{Endpoint, ServerUrl, TlsConfig, Verify};

/// Options that are understood, and the variables that stand in for them.
const OPTIONS: [(&str, &str); 16] = [
    ("host", "PGHOST"),
    ("hostaddr", "PGHOSTADDR"),
    ("port", "PGPORT"),
    ("user", "PGUSER"),
    ("password", "PGPASSWORD"),
    ("passfile", "PGPASSFILE"),
    ("dbname", "PGDATABASE"),
    ("application_name", "PGAPPNAME"),
    ("options", "PGOPTIONS"),
    ("connect_timeout", "PGCONNECT_TIMEOUT"),
    ("channel_binding", "PGCHANNELBINDING"),
    ("sslmode", "PGSSLMODE"),
    ("sslrootcert", "PGSSLROOTCERT"),
    ("sslcert", "PGSSLCERT"),
    ("sslkey", "PGSSLKEY"),
    ("client_encoding", "PGCLIENTENCODING"),
];

/// Options that change nothing for a load.
const WITHOUT_EFFECT: [&str; 10] = [
    "fallback_application_name",
    "gssencmode",
    "keepalives",
    "keepalives_count",
    "keepalives_idle",
    "keepalives_interval",
    "krbsrvname",
    "sslcompression",
    "sslsni",
    "tcp_user_timeout",
];

/// Looks a variable of the environment up.
type Variables<'a> = &'a dyn Fn(&str) -> Option<String>;

impl PostgresConfig {
    /// What a URL says, and defaults for the rest; the environment is not looked at. Without operations and settings.
    ///
    /// # Errors
    /// A URL without a role, an option that is not known, a value that an option cannot have.
    pub fn from_url(url: &ServerUrl) -> Result<Self, DriverError> {
        Self::from_url_and_environment(url, &|_| None)
    }

    /// The same, and what `psql` takes from the environment: `PGHOST`, `PGUSER`, `PGPASSWORD`, `PGSSLMODE` and so on,
    /// the user's name, `~/.pgpass` and the files in `~/.postgresql`. `variable` looks a variable up.
    ///
    /// # Errors
    /// As [`PostgresConfig::from_url`]; a password file that others may read.
    pub fn from_url_and_environment(url: &ServerUrl, variable: Variables<'_>) -> Result<Self, DriverError> {
        let given = Given::new(url, variable)?;
        let port = given.port()?;
        let host = given.get("host");
        let user = given.get("user").or_else(|| variable("USER")).ok_or_else(|| {
            DriverError::new("the URL names no role to log in as: `postgres://ROLE@HOST/DATABASE`")
        })?;
        let database = given.get("dbname").unwrap_or_else(|| user.clone());
        let wanted =
            Wanted { host: host.as_deref().unwrap_or("localhost"), port, database: &database, user: &user };
        let password = match given.get("password") {
            Some(password) => Some(password),
            None => given.stored_password(wanted)?,
        };
        Ok(Self {
            endpoint: endpoint(given.get("hostaddr").or_else(|| host.clone()), port),
            encryption: given.encryption(host.filter(|_| given.get("hostaddr").is_some()))?,
            channel_binding: given.channel_binding()?,
            connect_limit: given.connect_limit()?,
            application_name: given
                .get("application_name")
                .unwrap_or_else(|| Self::default().application_name),
            options: given.get("options"),
            user,
            password,
            database,
            ..Self::default()
        })
    }
}

/// A host that is a path is the directory of a unix socket.
fn endpoint(host: Option<String>, port: u16) -> Endpoint {
    match host {
        Some(directory) if directory.starts_with('/') => socket_in(Path::new(&directory), port),
        host => Endpoint::Tcp { host: host.unwrap_or_else(|| "localhost".into()), port },
    }
}

/// The options of a URL, its other parts among them, and the environment behind them.
struct Given<'a> {
    options: Vec<(String, String)>,
    variable: Variables<'a>,
}

impl<'a> Given<'a> {
    fn new(url: &ServerUrl, variable: Variables<'a>) -> Result<Self, DriverError> {
        let database = percent_decode_str(url.path.trim_start_matches('/'))
            .decode_utf8()
            .map_err(|error| DriverError::caused("the database's name in the URL is not UTF-8", error))?;
        let parts = [
            ("user", url.user.clone()),
            ("password", url.password.clone()),
            ("host", url.host.clone()),
            ("port", url.port.map(|port| port.to_string())),
            ("dbname", Some(database.into_owned())),
        ];
        let mut options: Vec<_> =
            parts.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect();
        for (name, value) in url.options() {
            // What JDBC and others write.
            let (name, value) = match (name.as_str(), value.as_str()) {
                ("ssl", "true") => ("sslmode".to_owned(), "verify-full".to_owned()),
                _ => (name, value),
            };
            if OPTIONS.iter().any(|(known, _)| *known == name) {
                options.push((name, value));
            } else if !WITHOUT_EFFECT.contains(&name.as_str()) {
                return Err(DriverError::new(format!("`{name}` is no option of a `postgres://` URL here")));
            }
        }
        Ok(Self { options, variable })
    }

    /// The last one given, then the environment's. Empty is not given.
    fn get(&self, name: &str) -> Option<String> {
        let option = self.options.iter().rev().find(|(known, value)| known == name && !value.is_empty());
        let variable = || {
            let (_, variable) = OPTIONS.iter().find(|(known, _)| *known == name)?;
            (self.variable)(variable).filter(|value| !value.is_empty())
        };
        option.map(|(_, value)| value.clone()).or_else(variable)
    }

    fn port(&self) -> Result<u16, DriverError> {
        match self.get("port") {
            None => Ok(DEFAULT_PORT),
            Some(port) => {
                port.parse().map_err(|error| DriverError::caused(format!("`{port}` is no port"), error))
            }
        }
    }

    /// Whole seconds; 0 is for ever in libpq, and as long as usual here.
    fn connect_limit(&self) -> Result<Option<Duration>, DriverError> {
        let Some(text) = self.get("connect_timeout") else { return Ok(None) };
        let seconds: u64 = text.parse().map_err(|error| {
            DriverError::caused(format!("`connect_timeout` is a number of seconds, not `{text}`"), error)
        })?;
        Ok((seconds > 0).then(|| Duration::from_secs(seconds)))
    }

    fn channel_binding(&self) -> Result<ChannelBinding, DriverError> {
        match self.get("channel_binding").as_deref() {
            Some("disable") => Ok(ChannelBinding::Never),
            None | Some("prefer") => Ok(ChannelBinding::IfOffered),
            Some("require") => Ok(ChannelBinding::Always),
            Some(other) => Err(DriverError::new(format!(
                "`channel_binding` is `disable`, `prefer` or `require`, not `{other}`"
            ))),
        }
    }

    /// `name`: what the certificate must be made out to, where that is not the host connected to.
    fn encryption(&self, name: Option<String>) -> Result<Encryption, DriverError> {
        let mode = self.get("sslmode").unwrap_or_else(|| "prefer".to_owned());
        let ca_file = self.get("sslrootcert").map(PathBuf::from).or_else(|| self.home_file("root.crt"));
        let of_system = ca_file.as_deref() == Some(Path::new("system"));
        let ca_file = ca_file.filter(|_| !of_system);
        let certificate_file =
            self.get("sslcert").map(PathBuf::from).or_else(|| self.home_file("postgresql.crt"));
        let key_file = self.get("sslkey").map(PathBuf::from).or_else(|| self.home_file("postgresql.key"));
        let tls = |verify| TlsConfig {
            verify,
            ca_file: ca_file.clone(),
            key_file: key_file.filter(|_| certificate_file.is_some()),
            certificate_file: certificate_file.clone(),
            server_name: name,
        };
        // An authority that is named is checked, as libpq does it.
        let usual = if ca_file.is_some() { Verify::Chain } else { Verify::Nothing };
        match mode.as_str() {
            "disable" => Ok(Encryption::Never),
            "allow" => Ok(Encryption::IfDemanded(tls(usual))),
            "prefer" => Ok(Encryption::IfOffered(tls(usual))),
            _ if of_system && mode != "verify-full" => {
                Err(DriverError::new("`sslrootcert=system` goes with `sslmode=verify-full` only"))
            }
            "require" => Ok(Encryption::Always(tls(usual))),
            "verify-ca" => Ok(Encryption::Always(tls(Verify::Chain))),
            "verify-full" => Ok(Encryption::Always(tls(Verify::Full))),
            other => Err(DriverError::new(format!(
                "`sslmode` is `disable`, `allow`, `prefer`, `require`, `verify-ca` or `verify-full`, not `{other}`"
            ))),
        }
    }

    /// A file of `~/.postgresql`, if it is there.
    fn home_file(&self, name: &str) -> Option<PathBuf> {
        let path = Path::new(&(self.variable)("HOME")?).join(".postgresql").join(name);
        path.exists().then_some(path)
    }

    /// From the password file that is named, or from `~/.pgpass`.
    fn stored_password(&self, wanted: Wanted<'_>) -> Result<Option<String>, DriverError> {
        use std::os::unix::fs::MetadataExt;
        let of_home = || Some(Path::new(&(self.variable)("HOME")?).join(".pgpass"));
        let Some(path) = self.get("passfile").map(PathBuf::from).or_else(of_home) else { return Ok(None) };
        // A file that is not there holds no password.
        let Ok(facts) = std::fs::metadata(&path) else { return Ok(None) };
        let shown = path.display();
        if facts.is_file() && facts.mode() & 0o077 != 0 {
            let message = format!("others may read the password file `{shown}`: `chmod 600 {shown}`");
            return Err(DriverError::new(message));
        }
        let file = std::fs::read_to_string(&path).map_err(|error| {
            DriverError::caused(format!("cannot read the password file `{shown}`"), error)
        })?;
        Ok(password_file::find(&file, wanted))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(url: &str, variables: &[(&str, &str)]) -> Result<PostgresConfig, String> {
        let variable = |name: &str| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        };
        PostgresConfig::from_url_and_environment(&ServerUrl::parse(url).unwrap(), &variable)
            .map_err(|error| error.to_string())
    }

    fn tcp(host: &str, port: u16) -> Endpoint {
        Endpoint::Tcp { host: host.into(), port }
    }

    #[test]
    fn a_url_is_read_as_libpq_reads_it() {
        let config =
            read("postgres://ann:p%40ss@db:5433/shop?application_name=a%20b&connect_timeout=3", &[]).unwrap();
        let expected = PostgresConfig {
            endpoint: tcp("db", 5433),
            user: "ann".into(),
            password: Some("p@ss".into()),
            database: "shop".into(),
            application_name: "a b".into(),
            encryption: Encryption::IfOffered(TlsConfig { verify: Verify::Nothing, ..TlsConfig::default() }),
            connect_limit: Some(Duration::from_secs(3)),
            ..PostgresConfig::default()
        };
        assert_eq!(config, expected);
        let config = read("postgresql://ann@h/?host=/run/postgresql&port=5434&sslmode=disable", &[]).unwrap();
        assert_eq!(config.endpoint.to_string(), "/run/postgresql/.s.PGSQL.5434");
        assert_eq!((config.database.as_str(), config.encryption), ("ann", Encryption::Never));
        let config = read("postgres://ann@%2Frun%2Fpg/", &[]).unwrap();
        assert_eq!(config.endpoint.to_string(), "/run/pg/.s.PGSQL.5432");
    }

    #[test]
    fn every_sslmode_has_its_meaning() {
        let mode =
            |query: &str| read(&format!("postgres://a@h/?{query}"), &[]).map(|config| config.encryption);
        let tls = |verify, ca: Option<&str>| TlsConfig {
            verify,
            ca_file: ca.map(Into::into),
            ..TlsConfig::default()
        };
        assert_eq!(mode("sslmode=allow"), Ok(Encryption::IfDemanded(tls(Verify::Nothing, None))));
        assert_eq!(mode("sslmode=require"), Ok(Encryption::Always(tls(Verify::Nothing, None))));
        assert_eq!(
            mode("sslmode=require&sslrootcert=ca.pem"),
            Ok(Encryption::Always(tls(Verify::Chain, Some("ca.pem"))))
        );
        assert_eq!(mode("sslmode=verify-ca"), Ok(Encryption::Always(tls(Verify::Chain, None))));
        assert_eq!(mode("ssl=true"), Ok(Encryption::Always(tls(Verify::Full, None))));
        assert_eq!(
            mode("sslmode=verify-full&sslrootcert=system"),
            Ok(Encryption::Always(tls(Verify::Full, None)))
        );
        let named = TlsConfig { server_name: Some("h".into()), ..tls(Verify::Full, None) };
        assert_eq!(mode("sslmode=verify-full&hostaddr=10.0.0.1"), Ok(Encryption::Always(named)));
        let client = TlsConfig {
            certificate_file: Some("c.pem".into()),
            key_file: Some("k.pem".into()),
            ..tls(Verify::Full, None)
        };
        assert_eq!(mode("sslmode=verify-full&sslcert=c.pem&sslkey=k.pem"), Ok(Encryption::Always(client)));
    }

    #[test]
    fn the_environment_stands_in_for_what_the_url_leaves_out() {
        let home = tempfile::tempdir().unwrap();
        let pgpass = home.path().join(".pgpass");
        std::fs::write(&pgpass, "far:5000:*:eve:stored\n").unwrap();
        let home = home.path().to_str().unwrap();
        let variables = [
            ("PGHOST", "far"),
            ("PGPORT", "5000"),
            ("USER", "eve"),
            ("PGSSLMODE", "disable"),
            ("PGDATABASE", "d"),
            ("HOME", home),
        ];
        let loose = read("postgres://", &variables).unwrap_err();
        assert!(loose.starts_with("others may read the password file"), "{loose}");
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(&pgpass, std::fs::Permissions::from_mode(0o600)).unwrap();
        let config = read("postgres://", &variables).unwrap();
        assert_eq!((&config.endpoint, config.user.as_str()), (&tcp("far", 5000), "eve"));
        assert_eq!((config.password.as_deref(), config.database.as_str()), (Some("stored"), "d"));
        assert_eq!(config.encryption, Encryption::Never);
        let config = read("postgres://ann:x@near:1/e", &variables).unwrap();
        assert_eq!((&config.endpoint, config.user.as_str()), (&tcp("near", 1), "ann"));
        assert_eq!((config.password.as_deref(), config.database.as_str()), (Some("x"), "e"));
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let refused = |url: &str| read(url, &[]).unwrap_err();
        assert!(refused("postgres://h/d").starts_with("the URL names no role"));
        assert_eq!(
            refused("postgres://a@h/?colour=red"),
            "`colour` is no option of a `postgres://` URL here"
        );
        assert!(refused("postgres://a@h/?sslmode=sometimes").ends_with("not `sometimes`"));
        assert!(refused("postgres://a@h/?connect_timeout=soon").contains("a number of seconds, not `soon`"));
        assert!(refused("postgres://a@h/?channel_binding=x").ends_with("not `x`"));
        assert_eq!(refused("postgres://a@h/?port=many"), "`many` is no port");
    }
}
