//! A chart's picture for the middle of a page: the one of [`svg::render`], fitted in.
//!
//! Several pictures share one document, under a switch between light and dark: ids get a prefix, and the rule for dark
//! systems becomes one for dark pages. Paper is always light.

use crate::report::chart::Chart;
use crate::report::chart::svg::{self, SvgStyle};

/// Width of a picture for a desk, pixels.
pub(super) const BROAD_PX: u32 = 880;
/// Width of a picture for a phone, pixels.
pub(super) const SLIM_PX: u32 = 350;

/// How the picture's own rule for dark systems begins; its end is the next `}}`.
const DARK_SYSTEM: &str = "@media(prefers-color-scheme:dark){.weigh-chart{";

/// The picture, its ids under a prefix.
pub(super) fn picture(chart: &Chart, width_px: u32, prefix: &str) -> String {
    let svg = svg::render(chart, SvgStyle { width_px, theme: None });
    let svg = svg.find("<svg").map_or(svg.as_str(), |at| &svg[at..]);
    prefixed(&themed(svg), prefix)
}

/// Every id and every reference to one, under the prefix.
fn prefixed(svg: &str, prefix: &str) -> String {
    if prefix.is_empty() {
        return svg.to_owned();
    }
    // Names of several ids follow each other in one attribute.
    let several = |svg: &str, attribute: &str| {
        let mut out = String::with_capacity(svg.len());
        let mut rest = svg;
        while let Some(at) = rest.find(attribute) {
            let (before, after) = rest.split_at(at + attribute.len());
            let end = after.find('"').unwrap_or(after.len());
            let ids: Vec<String> = after[..end].split(' ').map(|id| format!("{prefix}{id}")).collect();
            out.push_str(before);
            out.push_str(&ids.join(" "));
            rest = &after[end..];
        }
        out + rest
    };
    let svg = several(svg, "aria-labelledby=\"");
    let svg = several(&svg, "aria-describedby=\"");
    [" id=\"", "url(#", "href=\"#"]
        .into_iter()
        .fold(svg, |svg, refers| svg.replace(refers, &format!("{refers}{prefix}")))
}

/// The rule for dark systems gives way to the page's switch and to paper.
fn themed(svg: &str) -> String {
    let Some(at) = svg.find(DARK_SYSTEM) else { return svg.to_owned() };
    let inside = &svg[at + DARK_SYSTEM.len()..];
    let Some(end) = inside.find("}}") else { return svg.to_owned() };
    let dark = &inside[..end];
    format!(
        "{}@media screen and (prefers-color-scheme:dark){{:root:not([data-theme=light]) .weigh-chart{{{dark}}}}}\n\
         @media screen{{:root[data-theme=dark] .weigh-chart{{{dark}}}}}{}",
        &svg[..at],
        &inside[end + 2..]
    )
}

/// Without what is told of single points: on paper nobody points at them, and they are most of a picture.
pub(super) fn without_points(svg: &str) -> String {
    svg.lines()
        .filter(|line| !line.starts_with("<use class=\"point\""))
        .map(|line| format!("{line}\n"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_and_what_refers_to_them_go_together() {
        let svg = r##"<svg aria-labelledby="a-t a-d"><title id="a-t"/><clipPath id="a-p"/><g clip-path="url(#a-p)"><use href="#a-m"/></g></svg>"##;
        let wanted = r##"<svg aria-labelledby="x-a-t x-a-d"><title id="x-a-t"/><clipPath id="x-a-p"/><g clip-path="url(#x-a-p)"><use href="#x-a-m"/></g></svg>"##;
        assert_eq!(prefixed(svg, "x-"), wanted);
        assert_eq!(prefixed(svg, ""), svg);
    }

    #[test]
    fn the_dark_rule_follows_the_switch() {
        let svg = "<style>.weigh-chart{--a:1}\n@media(prefers-color-scheme:dark){.weigh-chart{--a:2}}\nrest</style>";
        let themed = themed(svg);
        assert!(themed.contains(":root:not([data-theme=light]) .weigh-chart{--a:2}}"), "{themed}");
        assert!(
            themed.contains("@media screen{:root[data-theme=dark] .weigh-chart{--a:2}}\nrest"),
            "{themed}"
        );
        assert_eq!(themed.matches('{').count(), themed.matches('}').count());
    }
}
