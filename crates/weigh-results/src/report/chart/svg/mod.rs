//! A chart as an SVG picture that stands alone: no script, no font, no other file.
//!
//! - [`render`]: the picture for an [`SvgStyle`].
//! - `text`: escaping, and how much room letters take; `scale`: values to places; `ticks`: what is written along an axis;
//!   `layout`: who gets which room; `legend`, `marks`: what is drawn there; `style`: colours.
//!
//! Every point carries its note as a `<title>`, which a browser shows when it is pointed at, and the picture carries the chart's
//! summary as `<desc>` for who cannot see it. Nothing is drawn outside the picture, whatever the values are, and everything a
//! reader sees is escaped.

mod layout;
mod legend;
mod marks;
mod scale;
mod style;
mod text;
mod ticks;

use super::{Chart, Theme};
use layout::Layout;

/// How the picture is made.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SvgStyle {
    /// Width, pixels. Held between 240 and 4,000.
    pub width_px: u32,
    /// Colours; `None`: the reader's own choice, by `prefers-color-scheme`.
    pub theme: Option<Theme>,
}

/// The picture, a complete SVG document. Height follows from the content.
#[must_use]
pub fn render(chart: &Chart, style: SvgStyle) -> String {
    let width = f64::from(style.width_px.clamp(240, 4_000));
    let id = identity(chart, style);
    let layout = Layout::of(chart, width);
    let mut out = head(chart, &layout, &id);
    out.push_str(&style::sheet(chart, style.theme, layout.font_px));
    out.push_str(&marks::definitions(chart, &layout, &id));
    let (w, h) = (text::number(layout.width), text::number(layout.height));
    out.push_str(&format!("<rect class=\"paper\" width=\"{w}\" height=\"{h}\"/>\n"));
    out.push_str(&layout.headings(chart));
    out.push_str(&legend::draw(&layout.legend, &layout));
    out.push_str(&layout.frame(chart));
    out.push_str(&marks::draw(chart, &layout, &id));
    out.push_str("</svg>\n");
    out
}

fn head(chart: &Chart, layout: &Layout, id: &str) -> String {
    let (w, h) = (text::number(layout.width), text::number(layout.height));
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"weigh-chart\" width=\"{w}\" height=\"{h}\" viewBox=\"0 0 {w} {h}\" \
         role=\"img\" aria-labelledby=\"{id}-title {id}-desc\">\n\
         <title id=\"{id}-title\">{}</title>\n<desc id=\"{id}-desc\">{}</desc>\n",
        text::escape(&chart.title),
        text::escape(&chart.summary)
    )
}

/// Names inside the picture must not meet those of another one on the same page (FNV-1a, 32 bits).
fn identity(chart: &Chart, style: SvgStyle) -> String {
    let width = style.width_px.to_string();
    let bytes = [&chart.title, &chart.summary, &width].into_iter().flat_map(|text| text.bytes());
    let hash = bytes.fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    let kind: String =
        chart.kind.chars().map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '-' }).collect();
    format!("weigh-{kind}-{hash:08x}")
}
