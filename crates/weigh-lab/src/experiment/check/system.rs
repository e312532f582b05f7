//! The system, and the server of the user's own.

use weigh_drivers::{ServerUrl, driver_of_scheme};

use super::super::error::list_names;
use super::super::origin::Half;
use super::super::read::system_names;
use super::checker::Checker;
use crate::systems;

impl Checker<'_> {
    /// Its name.
    pub(super) fn system(&mut self) {
        let name = self.experiment.system.name.as_str();
        let known = system_names();
        if !known.contains(&name) {
            let origin = &self.experiment.origin;
            let path = if origin.value_span("system.name").is_some() { "system.name" } else { "system" };
            let error = origin.error(Half::Value, path, format!("unknown system `{name}`"));
            self.errors.push(error.one_of(name, known));
        }
    }

    /// A URL of that system, where it takes one; without one a private server, where there is such a thing.
    pub(super) fn url(&mut self) {
        let system = &self.experiment.system;
        let name = system.name.as_str();
        self.ways();
        self.private();
        let Some(url) = &system.url else {
            if system.allow_writes {
                let expected = "a server of your own at `url`";
                self.key_error("system.allow_writes", "`allow_writes` without `url`", expected);
            }
            if let Some(example) = systems::needs_url(name) {
                let what = format!("the system `{name}` without `url`");
                let expected = format!(
                    "`system = {{ name = \"{name}\", url = \"{example}\" }}`: weigh starts no {name} of its own"
                );
                let path = if self.experiment.origin.has("system.name") { "system.name" } else { "system" };
                self.value_error(path, what, &expected);
            }
            return;
        };
        match systems::example_url(name) {
            None => {
                let what = format!("`url` for the system `{name}`");
                self.key_error("system.url", what, &format!("a system that is a server: {}", with_urls()));
            }
            Some(example) => self.scheme(name, url, example),
        }
        if system.bin_dir.is_some() {
            self.key_error("system.bin_dir", "both `url` and `bin_dir`", "one of them");
        }
    }

    /// What private servers are made of: nothing of a server at a URL, and what that system has a choice of.
    fn private(&mut self) {
        let system = &self.experiment.system;
        let known = systems::private_keys(&system.name);
        for key in system.private.keys() {
            let path = key.name();
            if system.url.is_some() {
                let what = format!("both `url` and `{}`", key.short());
                self.key_error(path, what, "a private server (no `url`)");
            } else if !known.iter().any(|(other, _)| other == key) {
                let what = format!("`{}` for the system `{}`", key.short(), system.name);
                let keys = known.iter().map(|(key, _)| key.short());
                let expected = if known.is_empty() { "none of it".to_owned() } else { list_names(keys) };
                self.key_error(path, what, &expected);
            }
        }
    }

    /// How a server at a URL is reached: nothing without a URL.
    fn ways(&mut self) {
        let system = &self.experiment.system;
        let given = [
            ("ca_file", system.ca_file.is_some()),
            ("insecure", system.insecure),
            ("connect_to", system.connect_to.is_some()),
        ];
        for (key, _) in given.into_iter().filter(|(_, given)| *given) {
            let path = format!("system.{key}");
            if system.url.is_none() {
                self.key_error(&path, format!("`{key}` without `url`"), "a server of your own at `url`");
            } else if system.name == "postgres" {
                let expected = "libpq's options in the URL: `sslmode`, `sslrootcert`, `hostaddr`";
                self.key_error(&path, format!("`{key}` for the system `postgres`"), expected);
            }
        }
    }

    /// The error never repeats the URL: it may hold a password.
    fn scheme(&mut self, name: &str, url: &str, example: &str) {
        let expected = format!("`{example}`");
        match ServerUrl::parse(url) {
            Err(error) => self.value_error("system.url", error.to_string(), &expected),
            Ok(parsed) if driver_of_scheme(&parsed.scheme).is_none_or(|driver| driver.name != name) => {
                let what = format!("`{}://` is not a URL of the system `{name}`", parsed.scheme);
                self.value_error("system.url", what, &expected);
            }
            Ok(_) => {}
        }
    }
}

/// The systems that can be reached by URL.
fn with_urls() -> String {
    let names = systems::names().filter(|name| systems::example_url(name).is_some());
    list_names(names)
}
