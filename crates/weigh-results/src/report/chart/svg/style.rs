//! Colours, strokes and letters of a picture.
//!
//! Every colour is a custom property with the same colour written out before it, so that a viewer that does not know
//! properties draws the light picture, and a page that embeds the picture can set its own.

use std::collections::BTreeSet;

use super::super::{Chart, Theme, ink};

/// Paper, text, faint text, grid, axis, band: light and dark. Text stands 7:1 from the paper, faint text 4.5:1 (WCAG 2.2).
const GROUND: [(&str, &str, &str); 6] = [
    ("paper", "#ffffff", "#16181c"),
    ("text", "#1c1e21", "#eceef1"),
    ("quiet", "#5b6168", "#a7adb5"),
    ("grid", "#e4e6e9", "#2c3036"),
    ("axis", "#9aa0a6", "#6b727b"),
    ("band", "#cfd6dd", "#3a424c"),
];

/// The style element.
pub(super) fn sheet(chart: &Chart, theme: Option<Theme>, font_px: f64) -> String {
    let inks: BTreeSet<usize> = chart.series.iter().filter_map(|series| series.ink).collect();
    let properties = |dark: bool| {
        let ground = GROUND
            .iter()
            .map(|(name, light, night)| (format!("--w-{name}"), if dark { *night } else { *light }));
        let inks = inks.iter().map(|place| {
            let ink = ink(*place);
            (format!("--w-{place}"), if dark { ink.dark } else { ink.light })
        });
        let all: Vec<String> = ground
            .map(|(name, colour)| format!("{name}:{colour}"))
            .chain(inks.map(|(name, colour)| format!("{name}:{colour}")))
            .collect();
        all.join(";")
    };
    let dark = theme == Some(Theme::Dark);
    let choice = match theme {
        Some(_) => String::new(),
        None => format!("@media(prefers-color-scheme:dark){{.weigh-chart{{{}}}}}\n", properties(true)),
    };
    let of = |name: &str| {
        let (_, light, night) =
            GROUND.iter().find(|(known, ..)| *known == name).copied().unwrap_or(GROUND[1]);
        (if dark { night } else { light }, format!("var(--w-{name})"))
    };
    let both = |property: &str, name: &str| {
        let (colour, variable) = of(name);
        format!("{property}:{colour};{property}:{variable}")
    };
    let mut sheet = format!(
        "<style>\n.weigh-chart{{{}}}\n{choice}\
         .weigh-chart text{{font:{font_px}px system-ui,-apple-system,\"Segoe UI\",Roboto,\"DejaVu Sans\",sans-serif;{}}}\n\
         .weigh-chart .head{{font-weight:600;font-size:{}px}}\n.weigh-chart .quiet{{{}}}\n.weigh-chart .paper{{{}}}\n\
         .weigh-chart .grid{{fill:none;{}}}\n.weigh-chart .fine{{fill:none;stroke-opacity:.5;{}}}\n\
         .weigh-chart .axis{{fill:none;{}}}\n.weigh-chart .band{{fill-opacity:.55;{}}}\n\
         .weigh-chart .line{{fill:none;stroke-width:1.5;stroke-dasharray:5 3;{}}}\n.weigh-chart .none{{{}}}\n",
        properties(dark),
        both("fill", "text"),
        font_px + 2.0,
        both("fill", "quiet"),
        both("fill", "paper"),
        both("stroke", "grid"),
        both("stroke", "grid"),
        both("stroke", "axis"),
        both("fill", "band"),
        both("stroke", "quiet"),
        both("color", "quiet"),
    );
    for place in &inks {
        let ink = ink(*place);
        let colour = if dark { ink.dark } else { ink.light };
        sheet.push_str(&format!(".weigh-chart .i{place}{{color:{colour};color:var(--w-{place})}}\n"));
    }
    sheet.push_str(&format!(
        ".weigh-chart .full{{fill:currentColor;stroke:none}}\n.weigh-chart .hollow{{stroke:currentColor;stroke-width:1.5;{}}}\n\
         .weigh-chart .curve{{fill:none;stroke:currentColor;stroke-width:1.8;stroke-linejoin:round}}\n\
         .weigh-chart .faint{{opacity:.5}}\n.weigh-chart .over{{paint-order:stroke;stroke-width:4px;stroke-linejoin:round;{}}}\n.weigh-chart .point{{fill:transparent;stroke:none}}\n</style>\n",
        both("fill", "paper"),
        both("stroke", "paper"),
    ));
    sheet
}

/// The class that gives a series its colour.
pub(super) fn class(place: Option<usize>) -> String {
    place.map_or_else(|| "none".to_owned(), |place| format!("i{place}"))
}
