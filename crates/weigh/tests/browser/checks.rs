//! What every page has to pass.

use std::collections::BTreeSet;

use serde::Deserialize;
use serde_json::json;

use super::tab::{Colours, Size, Tab};

/// axe-core 4.14.1; its licence lies beside it.
const AXE: &str = include_str!("assets/axe.min.js");

/// A chart as the reader sees it.
#[derive(Debug, Deserialize)]
pub struct Drawn {
    pub chart: String,
    /// Whether the page holds its data for the script.
    pub has_data: bool,
    /// Pixels of its canvas that are not empty, and how many colours they have; none: it has no canvas.
    pub canvas: Option<(u64, u64)>,
    /// Marks of its picture.
    pub marks: u64,
    /// Letters of its caption.
    pub caption: u64,
}

const LOOK: &str = r"
(() => [...document.querySelectorAll('figure[data-chart]')].filter(figure => figure.getClientRects().length).map(figure => {
    const seen = element => element.getClientRects().length > 0;
    const canvas = [...figure.querySelectorAll('.plot canvas')].find(canvas => seen(canvas) && canvas.width > 0);
    let found = null;
    if (canvas) {
        // A copy: reading the chart's own canvas back makes the browser warn.
        const copy = Object.assign(document.createElement('canvas'), { width: canvas.width, height: canvas.height });
        const pen = copy.getContext('2d', { willReadFrequently: true });
        pen.drawImage(canvas, 0, 0);
        const pixels = pen.getImageData(0, 0, copy.width, copy.height).data;
        const colours = new Set();
        let full = 0;
        for (let at = 0; at < pixels.length; at += 4) {
            if (pixels[at + 3] > 0) { full += 1; colours.add(pixels[at] << 16 | pixels[at + 1] << 8 | pixels[at + 2]); }
        }
        found = [full, colours.size];
    }
    const marks = [...figure.querySelectorAll('svg')].filter(seen)
        .map(svg => svg.querySelectorAll('path, circle, rect, line, polyline, polygon, use').length);
    return {
        chart: figure.dataset.chart,
        has_data: figure.querySelector('script[id$=-data]') !== null,
        canvas: found,
        marks: marks.reduce((sum, more) => sum + more, 0),
        caption: (figure.querySelector('figcaption')?.textContent ?? '').trim().length,
    };
}))()";

/// The page's script has drawn what can be seen: large data is unpacked first.
pub fn wait_until_drawn(tab: &Tab) {
    tab.wait(
        "document.documentElement.dataset.drawn !== undefined && [...document.querySelectorAll('figure[data-chart]')] \
         .every(figure => !figure.getClientRects().length || !figure.querySelector('script[id$=-data]') \
             || figure.classList.contains('drawn'))",
    );
}

/// Every chart that can be seen is drawn; gives their kinds.
pub fn charts_are_drawn(tab: &Tab) -> BTreeSet<String> {
    let charts: Vec<Drawn> = tab.js(LOOK);
    for drawn in &charts {
        match drawn.canvas {
            Some((pixels, colours)) => assert!(pixels > 500 && colours > 4, "blank: {drawn:?}"),
            None => assert!(!drawn.has_data && drawn.marks > 4, "not drawn: {drawn:?}"),
        }
        assert!(drawn.caption > 20, "says nothing: {drawn:?}");
    }
    charts.into_iter().map(|drawn| drawn.chart).collect()
}

/// On a phone and on a desktop, light and dark: accessible, and no wider than the window.
pub fn suits_everybody(tab: &Tab) {
    for size in [Size::Phone, Size::Desktop] {
        for colours in [Colours::Light, Colours::Dark] {
            tab.resize(size);
            tab.colours(colours);
            // Charts follow the window's size with the next frames.
            tab.js::<bool>("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(() => done(true), 60))))");
            is_accessible(tab, &format!("{size:?}, {colours:?}"));
            fits(tab, size);
        }
    }
}

fn fits(tab: &Tab, size: Size) {
    let window = if size == Size::Phone { 390 } else { 1280 };
    // Elements, and words that stick out of theirs.
    let wide: Vec<String> = tab.js(&format!(
        "(() => {{
            const page = document.documentElement;
            if (page.scrollWidth <= {window}) return [];
            const wide = [`${{location.pathname}} is ${{page.scrollWidth}} wide`];
            const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_ELEMENT | NodeFilter.SHOW_TEXT);
            for (let node = walker.nextNode(); node && wide.length < 6; node = walker.nextNode()) {{
                const range = document.createRange();
                range.selectNodeContents(node);
                const box = node.nodeType === 1 ? node.getBoundingClientRect() : range.getBoundingClientRect();
                if (box.right > {window} + 1) wide.push((node.outerHTML ?? node.textContent).slice(0, 120));
            }}
            return wide;
        }})()"
    ));
    assert!(wide.is_empty(), "{size:?}: {wide:#?}");
}

/// axe-core finds nothing serious or critical.
fn is_accessible(tab: &Tab, when: &str) {
    if !tab.js::<bool>("typeof globalThis.axe === 'object'") {
        // Not JSON, but a script that defines one global name.
        tab.js::<bool>(&format!("{AXE}\n;true"));
    }
    let found: Vec<String> = tab.js(
        "axe.run(document, { resultTypes: ['violations'] }).then(found => found.violations \
         .filter(of => of.impact === 'serious' || of.impact === 'critical') \
         .map(of => `${of.impact} ${of.id}: ${of.help}: ` + of.nodes.slice(0, 4).map(node => node.html.slice(0, 160) + ' ' + (node.any[0]?.message ?? '')).join(' | ')))",
    );
    assert!(found.is_empty(), "{when}: {found:#?}");
}

/// Text on the page, as a reader sees it.
pub fn has_text(tab: &Tab, text: &str) {
    let found: bool = tab.js(&format!("document.body.innerText.includes({})", json!(text)));
    assert!(found, "`{text}` is not on the page");
}
