//! One Chromium for all tests of the process.
//!
//! [`chromium`] starts Debian's browser when the first test asks and gives the same one to all others; each test takes
//! a private window ([`super::tab::Tab`]). It cannot outlive the tests: a keeper ends it when their process is gone,
//! however that went. Nothing is ever downloaded; a missing browser fails the test with the line that installs it.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

use headless_chrome::Browser;

use crate::kept::Kept;

const INSTALL: &str = "sudo apt-get install chromium";

struct Chromium {
    browser: Browser,
    /// Ends it.
    _kept: Kept,
}

/// The browser.
pub fn chromium() -> &'static Browser {
    static CHROMIUM: OnceLock<Chromium> = OnceLock::new();
    &CHROMIUM.get_or_init(start).browser
}

fn start() -> Chromium {
    let mut kept = Kept::new();
    let profile = kept.file("profile");
    let address = profile.join("DevToolsActivePort");
    let program = program().unwrap_or_else(|| panic!("`chromium` is not installed: {INSTALL}"));
    let mut command = vec![program.display().to_string(), format!("--user-data-dir={}", profile.display())];
    command.extend(FLAGS.map(str::to_owned));
    kept.start(&command, INSTALL, || websocket(&address).is_some());
    let url = websocket(&address).unwrap();
    let browser = Browser::connect_with_timeout(url, Duration::from_secs(600)).unwrap();
    Chromium { browser, _kept: kept }
}

/// A new, silent browser that asks nobody for anything. No sandbox: in containers and as root there is none to be had,
/// and it only ever sees our own pages.
const FLAGS: [&str; 17] = [
    "--headless=new",
    "--remote-debugging-port=0",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--no-default-browser-check",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-extensions",
    "--disable-sync",
    "--disable-quic",
    "--disable-backgrounding-occluded-windows",
    "--disable-renderer-backgrounding",
    "--disable-background-timer-throttling",
    "--force-color-profile=srgb",
];

fn program() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let mut places = std::env::split_paths(&path)
        .flat_map(|dir| ["chromium", "chromium-browser"].map(|name| dir.join(name)));
    places.find(|place| place.is_file())
}

/// The browser writes where it listens: the port, then the path.
fn websocket(file: &Path) -> Option<String> {
    let text = std::fs::read_to_string(file).ok()?;
    let (port, path) = text.split_once('\n')?;
    (path.starts_with("/devtools/")).then(|| format!("ws://127.0.0.1:{port}{}", path.trim()))
}
