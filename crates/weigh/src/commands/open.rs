//! `weigh open`: the stored runs in the browser.

use std::process::{Command, Stdio};

use clap::Args;
use weigh_results::report::html;

use super::stored;
use crate::exit;
use crate::failure::Failure;
use crate::gallery::{Catalogue, Listener, serve};
use crate::screen::Screen;

/// Look at the stored runs in a browser
///
/// Serves them on this machine only (127.0.0.1) until Ctrl-C: list, search, filter, put side by side, delete. The
/// address is printed; a browser is opened where there is a display.
#[derive(Debug, Args)]
pub(crate) struct OpenArgs {
    #[arg(value_name = "RUN", help = stored::RUN_HELP, long_help = "\
The run to begin with: its name, a unique part of it, `last`, or `@2` for the second newest; else the list")]
    run: Option<String>,
    /// The port to listen on, instead of one that is free
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    port: u16,
    /// Print the address and open nothing
    #[arg(long)]
    no_browser: bool,
}

pub(crate) fn run(args: &OpenArgs, screen: &Screen) -> Result<u8, Failure> {
    let store = stored::store()?;
    let path = args.run.as_ref().map_or(Ok("/".to_owned()), |selector| page_of(&store, selector))?;
    let listener = Listener::bind(args.port).map_err(|error| {
        let message = format!("cannot listen on port {} of 127.0.0.1", args.port);
        Failure::caused(exit::FAILED, message, &error).hint("weigh open --port 0")
    })?;
    let address = listener.address(&path);
    screen.print(&format!("{address}\n"))?;
    screen.note(&format!("serves the runs in {} to this machine; Ctrl-C ends it", store.root().display()));
    let ready = || {
        if !args.no_browser && has_display() {
            open_browser(&address);
        }
    };
    serve(listener, Catalogue::of(store), ready).map_err(|error| Failure::of(exit::FAILED, &error))?;
    Ok(exit::OK)
}

/// The address of a run's page. Only what is in the store is served.
fn page_of(store: &weigh_results::store::RunStore, selector: &str) -> Result<String, Failure> {
    let dir = store.find(selector)?;
    let name = dir.file_name().unwrap_or_default().to_string_lossy();
    let in_store = store.directories()?.iter().any(|held| held.file_name() == dir.file_name());
    if selector.contains('/') || !in_store {
        let message = format!("`{selector}` is not a name in the store; only stored runs are served");
        return Err(Failure::new(exit::USAGE, message).hint(format!("weigh show {selector} --html")));
    }
    Ok(html::run_path(&name))
}

fn has_display() -> bool {
    ["DISPLAY", "WAYLAND_DISPLAY"]
        .iter()
        .any(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty()))
}

/// The address is printed already: where no browser can be opened, nothing is missing.
fn open_browser(address: &str) {
    let quiet = || Stdio::null();
    let opened = Command::new("xdg-open").arg(address).stdin(quiet()).stdout(quiet()).stderr(quiet()).spawn();
    if let Ok(mut browser) = opened {
        // Waited for, so that no zombie stays while the gallery is open.
        std::thread::spawn(move || browser.wait());
    }
}
