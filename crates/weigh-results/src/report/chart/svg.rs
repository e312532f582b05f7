//! A chart as an SVG picture that stands alone.

use super::{Chart, Theme};

/// How the picture is made.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SvgStyle {
    /// Width, pixels.
    pub width_px: u32,
    /// Colours; `None`: the reader's own choice, by `prefers-color-scheme`.
    pub theme: Option<Theme>,
}

/// The picture, a complete SVG document. Height follows from the content.
#[must_use]
pub fn render(_chart: &Chart, _style: SvgStyle) -> String {
    String::new()
}
