//! What the markers, bands and lines mean.

use super::super::{Chart, MARKERS, Marker, Series, Shape, ink};
use super::layout::Layout;
use super::text::{escape, fit, number, width_px};
use super::{marks, style};

/// Room for the sign before a name, pixels.
const SIGN: f64 = 26.0;
/// Between two entries, pixels.
const GAP: f64 = 16.0;

/// One entry, placed.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    sign: Sign,
    name: String,
    shown: String,
    x: f64,
    y: f64,
}

#[derive(Clone, Debug)]
enum Sign {
    /// A series: class, shape, marker, dash, faint, hollow.
    Series {
        class: String,
        shape: Shape,
        marker: Marker,
        dash: &'static [u8],
        faint: bool,
        hollow: bool,
    },
    Band,
    Line,
}

/// The legend with its height.
#[derive(Clone, Debug, Default)]
pub(super) struct Legend {
    pub(super) entries: Vec<Entry>,
    pub(super) height: f64,
}

impl Legend {
    /// Entries side by side from `left` on, as many on a line as fit in `width`, the first line at `top`.
    pub(super) fn place(chart: &Chart, left: f64, top: f64, width: f64, font_px: f64) -> Legend {
        let line = font_px * 1.6;
        let mut legend = Legend::default();
        let (mut x, mut y) = (left, top);
        for (sign, name) in signs(chart) {
            let shown = fit(&name, font_px, (width - SIGN).min(36.0 * font_px));
            let taken = SIGN + width_px(&shown, font_px);
            if x > left && x + taken > left + width {
                (x, y) = (left, y + line);
            }
            legend.entries.push(Entry { sign, name, shown, x, y: y + line / 2.0 });
            x += taken + GAP;
        }
        legend.height = if legend.entries.is_empty() { 0.0 } else { y - top + line };
        legend
    }
}

/// Each name once; one that several variants share is told without a colour. What counts comes first.
fn signs(chart: &Chart) -> Vec<(Sign, String)> {
    let mut series: Vec<&Series> = chart.series.iter().filter(|series| !series.points.is_empty()).collect();
    series.sort_by_key(|series| series.faint);
    let mut told: Vec<(Sign, String)> = Vec::new();
    let mut names: Vec<&str> = Vec::new();
    for one in &series {
        if names.contains(&one.name.as_str()) {
            continue;
        }
        names.push(&one.name);
        let shared = series.iter().any(|other| other.name == one.name && other.ink != one.ink);
        told.push((sign(one, shared), one.name.clone()));
    }
    told.extend(chart.lines.iter().map(|line| (Sign::Line, line.label.clone())));
    told.extend(chart.bands.iter().map(|band| (Sign::Band, band.label.clone())));
    told
}

fn sign(series: &Series, shared: bool) -> Sign {
    let place = series.ink.filter(|_| !shared);
    let marker = place.map_or(MARKERS[0], |place| ink(place).marker);
    let dash = place.map_or(&[][..], |place| ink(place).dash);
    let (faint, hollow) = (series.faint, series.hollow);
    Sign::Series { class: style::class(place), shape: series.shape, marker, dash, faint, hollow }
}

/// The legend as markup.
pub(super) fn draw(legend: &Legend, layout: &Layout) -> String {
    let mut out = String::new();
    for entry in &legend.entries {
        out.push_str("<g>");
        if entry.shown != entry.name {
            out.push_str(&format!("<title>{}</title>", escape(&entry.name)));
        }
        out.push_str(&entry.sign.draw(entry.x, entry.y));
        let (x, y) = (number(entry.x + SIGN), number(entry.y + layout.font_px * 0.35));
        out.push_str(&format!("<text x=\"{x}\" y=\"{y}\">{}</text></g>\n", escape(&entry.shown)));
    }
    out
}

impl Sign {
    fn draw(&self, x: f64, y: f64) -> String {
        let (middle, end) = (x + (SIGN - 6.0) / 2.0, x + SIGN - 6.0);
        let across = format!("M{} {}H{}", number(x), number(y), number(end));
        match self {
            Sign::Band => {
                let (x, y) = (number(x), number(y - 5.0));
                format!(
                    "<rect class=\"band\" x=\"{x}\" y=\"{y}\" width=\"{}\" height=\"10\"/>",
                    number(SIGN - 6.0)
                )
            }
            Sign::Line => format!("<path class=\"line\" d=\"{across}\"/>"),
            Sign::Series { class, shape, marker, dash, faint, hollow } => {
                let fill = if *hollow { "hollow" } else { "full" };
                let faint = if *faint { " faint" } else { "" };
                let line = match shape {
                    Shape::Points | Shape::Bars => String::new(),
                    Shape::Interval => format!("<path class=\"curve\" d=\"{across}\"/>"),
                    Shape::Line | Shape::Step => {
                        format!("<path class=\"curve\" d=\"{across}\"{}/>", marks::dashes(dash))
                    }
                };
                let shape = if *shape == Shape::Bars { Marker::Square } else { *marker };
                format!(
                    "<g class=\"{class}{faint}\">{line}<path class=\"{fill}\" d=\"{}\" transform=\"translate({} {})\"/></g>",
                    marks::outline(shape, 4.0),
                    number(middle),
                    number(y)
                )
            }
        }
    }
}
