//! What every page has: head, policy, style, script, the bar at the top.
//!
//! [`Frame::page`] puts a body into a complete document. The policy lets nothing in from outside and names the one
//! script of the page by its hash, so that a name that slipped through escaping could still not run.

use std::sync::OnceLock;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use sha2::{Digest as _, Sha256};

const PAGE_CSS: &str = include_str!("../../../assets/page.css");
const CHART_CSS: &str = include_str!("../../../assets/uPlot.min.css");
const CHART_JS: &str = include_str!("../../../assets/uPlot.iife.min.js");
const PAGE_JS: &str = include_str!("../../../assets/page.js");

/// A page around a body.
pub(super) struct Frame<'a> {
    /// For the window and for bookmarks.
    pub(super) title: &'a str,
    /// Where the name of the tool in the bar leads to, if the page is served.
    pub(super) gallery: Option<&'a str>,
    /// What stands small at the end of the page.
    pub(super) footer: Option<Markup>,
    /// Where forms may be sent to: `'self'` or `'none'`.
    pub(super) forms: &'a str,
}

impl Frame<'_> {
    /// The whole document.
    pub(super) fn page(&self, body: &Markup) -> String {
        let page = html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta http-equiv="Content-Security-Policy" content=(self.policy());
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    meta name="color-scheme" content="light dark";
                    meta name="generator" content="weigh";
                    title { (self.title) " · weigh" }
                    link rel="icon" href="data:,";
                    style { (PreEscaped(CHART_CSS)) (PreEscaped(PAGE_CSS)) }
                }
                body {
                    a.skip href="#main" { "Skip to the content" }
                    (self.bar())
                    main #main tabindex="-1" { (body) }
                    @if let Some(footer) = &self.footer { footer { (footer) } }
                    script { (PreEscaped(script())) }
                }
            }
        };
        page.into_string()
    }

    fn bar(&self) -> Markup {
        html! {
            header.bar {
                @match self.gallery {
                    Some(href) => a.brand href=(href) { "weigh" span.faint { " · all runs" } },
                    None => span.brand { "weigh" },
                }
                // Without script it could do nothing.
                button.theme type="button" data-theme-toggle hidden { "Dark" }
            }
        }
    }

    fn policy(&self) -> String {
        format!(
            "default-src 'none'; script-src 'sha256-{}'; style-src 'unsafe-inline'; img-src data: blob:; \
             base-uri 'none'; form-action {}",
            script_hash(),
            self.forms
        )
    }
}

/// The one script of every page.
fn script() -> &'static str {
    static SCRIPT: OnceLock<String> = OnceLock::new();
    // The end tag must not be inside it, whatever the library holds.
    SCRIPT.get_or_init(|| format!("{CHART_JS}\n{PAGE_JS}").replace("</script", "<\\/script"))
}

fn script_hash() -> &'static str {
    static HASH: OnceLock<String> = OnceLock::new();
    HASH.get_or_init(|| STANDARD.encode(Sha256::digest(script().as_bytes())))
}

/// A value as JSON inside a script element that is data, not code: no `<` is left in it.
pub(super) fn data(id: &str, value: &serde_json::Value) -> Markup {
    let json = value.to_string().replace('<', "\\u003c");
    html! { script type="application/json" id=(id) { (PreEscaped(json)) } }
}

/// Bytes as base64 of their gzip form, the same for the same bytes.
pub(super) fn packed(bytes: &[u8]) -> String {
    use std::io::Write as _;
    let mut encoder = flate2::GzBuilder::new().write(Vec::new(), flate2::Compression::best());
    // Writing to memory cannot fail.
    encoder.write_all(bytes).ok();
    STANDARD.encode(encoder.finish().unwrap_or_default())
}

/// Text that is copied: in a box of its own, with a button.
pub(super) fn command(text: &str) -> Markup {
    html! {
        div.command {
            code { (text) }
            button type="button" data-copy=(text) hidden { "Copy" }
        }
    }
}
