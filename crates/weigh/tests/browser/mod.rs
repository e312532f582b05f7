//! Pages in a real browser: the file that `weigh show --html` writes, and what `weigh open` serves.
//!
//! - [`chromium`]: Debian's Chromium, one for all tests; [`tab`]: a window of it, driven and listened to.
//! - [`checks`]: what every page has to pass: drawn, silent, accessible, no wider than the window.
//! - [`served`]: `weigh open` as a process of its own.
//! - `report`, `gallery`: the tests; `large`: a run of 5,000 trials; `http`: the guard, without a browser.
//! - `pictures`: the screenshots of README and docs (`make screenshots`).

mod checks;
mod chromium;
mod gallery;
mod http;
mod large;
mod pictures;
mod report;
mod runs;
mod served;
mod tab;
