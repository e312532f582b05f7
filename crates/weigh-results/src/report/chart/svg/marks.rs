//! What is drawn in the plot: curves, points, intervals, bars.

use super::super::{Chart, MARKERS, Marker, Point, Scale, Series, Shape, ink};
use super::layout::Layout;
use super::style;
use super::text::{escape, number};

/// Markers along a curve, so that it can be told without its colour.
const MARKERS_PER_CURVE: usize = 7;

/// Outlines and the edge of the plot, to be referred to.
pub(super) fn definitions(chart: &Chart, layout: &Layout, id: &str) -> String {
    let (x, y) = (layout.x.from_px.min(layout.x.to_px), layout.top());
    let (w, h) = (layout.x.length_px(), layout.bottom() - layout.top());
    let radius = radius(chart);
    let mut out = format!(
        "<defs>\n<clipPath id=\"{id}-plot\"><rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/></clipPath>\n\
         <circle id=\"{id}-point\" r=\"8\"/>\n",
        number(x - 6.0),
        number(y - 6.0),
        number(w + 12.0),
        number(h + 12.0)
    );
    let mut used: Vec<usize> = chart.series.iter().map(marker_index).collect();
    used.sort_unstable();
    used.dedup();
    for index in used {
        out.push_str(&format!("<path id=\"{id}-m{index}\" d=\"{}\"/>\n", outline(MARKERS[index], radius)));
    }
    out.push_str("</defs>\n");
    out
}

/// Thousands of trials need small points.
fn radius(chart: &Chart) -> f64 {
    let points = |series: &&Series| series.shape == Shape::Points;
    match chart.series.iter().filter(points).map(|series| series.points.len()).sum::<usize>() {
        0 => 4.5,
        1..=300 => 3.6,
        301..=1_500 => 2.8,
        _ => 2.1,
    }
}

fn marker_index(series: &Series) -> usize {
    let marker = series.ink.map_or(MARKERS[0], |place| ink(place).marker);
    MARKERS.iter().position(|known| *known == marker).unwrap_or(0)
}

/// The outline of a marker around the origin.
pub(super) fn outline(marker: Marker, r: f64) -> String {
    let polygon = |corners: &[(f64, f64)]| {
        let text: Vec<String> = corners.iter().map(|(x, y)| format!("{:.2} {:.2}", x * r, y * r)).collect();
        format!("M{}Z", text.join("L"))
    };
    match marker {
        Marker::Circle => format!("M{r:.2} 0A{r:.2} {r:.2} 0 1 1 -{r:.2} 0A{r:.2} {r:.2} 0 1 1 {r:.2} 0Z"),
        Marker::Square => polygon(&[(-0.88, -0.88), (0.88, -0.88), (0.88, 0.88), (-0.88, 0.88)]),
        Marker::Triangle => polygon(&[(0.0, -1.15), (1.1, 0.8), (-1.1, 0.8)]),
        Marker::Diamond => polygon(&[(0.0, -1.25), (1.1, 0.0), (0.0, 1.25), (-1.1, 0.0)]),
        Marker::TriangleDown => polygon(&[(0.0, 1.15), (1.1, -0.8), (-1.1, -0.8)]),
        Marker::Plus => polygon(&plus(0.0)),
        Marker::Cross => polygon(&plus(std::f64::consts::FRAC_PI_4)),
        Marker::Star => {
            let corner = |index: u32| {
                let size = if index.is_multiple_of(2) { 1.3 } else { 0.55 };
                let angle = std::f64::consts::PI * (f64::from(index) / 5.0 - 0.5);
                (size * angle.cos(), size * angle.sin())
            };
            polygon(&(0..10).map(corner).collect::<Vec<_>>())
        }
    }
}

fn plus(turn: f64) -> Vec<(f64, f64)> {
    const ARM: f64 = 0.36;
    let corners = [
        (-ARM, -1.2),
        (ARM, -1.2),
        (ARM, -ARM),
        (1.2, -ARM),
        (1.2, ARM),
        (ARM, ARM),
        (ARM, 1.2),
        (-ARM, 1.2),
        (-ARM, ARM),
        (-1.2, ARM),
        (-1.2, -ARM),
        (-ARM, -ARM),
    ];
    corners.iter().map(|(x, y)| (x * turn.cos() - y * turn.sin(), x * turn.sin() + y * turn.cos())).collect()
}

/// The attribute that dashes a line; nothing for a solid one.
pub(super) fn dashes(dash: &[u8]) -> String {
    if dash.is_empty() {
        return String::new();
    }
    let lengths: Vec<String> = dash.iter().map(u8::to_string).collect();
    format!(" stroke-dasharray=\"{}\"", lengths.join(" "))
}

/// All series, in order.
pub(super) fn draw(chart: &Chart, layout: &Layout, id: &str) -> String {
    let pen = Pen { chart, layout, id };
    let mut out = format!("<g clip-path=\"url(#{id}-plot)\">\n");
    for series in &chart.series {
        let faint = if series.faint { " faint" } else { "" };
        out.push_str(&format!("<g class=\"{}{faint}\">\n", style::class(series.ink)));
        out.push_str(&match series.shape {
            Shape::Line | Shape::Step => pen.curve(series),
            Shape::Points => pen.points(series),
            Shape::Interval => pen.intervals(series),
            Shape::Bars => pen.bars(series),
        });
        out.push_str("</g>\n");
    }
    out.push_str("</g>\n");
    out
}

struct Pen<'a> {
    chart: &'a Chart,
    layout: &'a Layout,
    id: &'a str,
}

impl Pen<'_> {
    /// Where a point is, if it is in the picture.
    fn place(&self, point: &Point) -> Option<(f64, f64)> {
        Some((self.layout.x.place(point.x)?, self.layout.y.place(point.y)? + self.layout.mark_offset()))
    }

    fn is_sideways(&self) -> bool {
        self.chart.y.scale == Scale::Category
    }

    /// Something to point at, with the point's note.
    fn noted(&self, class: &str, what: &str, (x, y): (f64, f64), note: &str) -> String {
        let class = if class.is_empty() { String::new() } else { format!(" class=\"{class}\"") };
        format!(
            "<use{class} href=\"#{}-{what}\" x=\"{}\" y=\"{}\"><title>{}</title></use>\n",
            self.id,
            number(x),
            number(y),
            escape(note)
        )
    }

    fn curve(&self, series: &Series) -> String {
        let mut path = String::new();
        let mut last: Option<f64> = None;
        for place in series.points.iter().map(|point| self.place(point)) {
            match (place, last) {
                (Some((x, y)), Some(_)) if series.shape == Shape::Step => {
                    path.push_str(&format!("H{}V{}", number(x), number(y)));
                }
                (Some((x, y)), _) => {
                    let move_or_line = if last.is_some() { 'L' } else { 'M' };
                    path.push_str(&format!("{move_or_line}{} {}", number(x), number(y)));
                }
                (None, _) => {}
            }
            last = place.map(|(x, _)| x);
        }
        let dash = series.ink.map_or(&[][..], |place| ink(place).dash);
        let mut out = format!("<path class=\"curve\" d=\"{path}\"{}/>\n", dashes(dash));
        if path.is_empty() {
            out.clear();
        }
        let placed: Vec<(&Point, (f64, f64))> =
            series.points.iter().filter_map(|point| Some((point, self.place(point)?))).collect();
        if !series.faint {
            out.push_str(&self.markers_along(series, &placed));
        }
        let hover = placed.iter().map(|(point, place)| self.noted("point", "point", *place, &point.note));
        out + &hover.collect::<String>()
    }

    /// A few markers, evenly far apart along the curve and not all series at the same places.
    fn markers_along(&self, series: &Series, placed: &[(&Point, (f64, f64))]) -> String {
        let step =
            |pair: &[(&Point, (f64, f64))]| (pair[1].1.0 - pair[0].1.0).hypot(pair[1].1.1 - pair[0].1.1);
        let apart = placed.windows(2).map(step).sum::<f64>() / super::layout::count(MARKERS_PER_CURVE);
        let shift = series.ink.map_or(0.0, |place| super::layout::count(place % 4) / 4.0);
        let (mut along, mut next) = (0.0, apart * (0.25 + shift * 0.5));
        let fill = if series.hollow { "hollow" } else { "full" };
        let mut out = format!("<g class=\"{fill}\">");
        for (index, (_, (x, y))) in placed.iter().enumerate() {
            along += placed.get(index.wrapping_sub(1)..=index).map_or(0.0, step);
            if along >= next {
                let (x_text, y_text) = (number(*x), number(*y));
                let marker = marker_index(series);
                out.push_str(&format!(
                    "<use href=\"#{}-m{marker}\" x=\"{x_text}\" y=\"{y_text}\"/>",
                    self.id
                ));
                next = along + apart;
            }
        }
        out + "</g>\n"
    }

    fn points(&self, series: &Series) -> String {
        let marker = format!("m{}", marker_index(series));
        let mut out = format!("<g class=\"{}\">\n", if series.hollow { "hollow" } else { "full" });
        for point in &series.points {
            if let Some(place) = self.place(point) {
                out.push_str(&self.noted("", &marker, place, &point.note));
            }
        }
        out + "</g>\n"
    }

    fn intervals(&self, series: &Series) -> String {
        let marker = format!("m{}", marker_index(series));
        let fill = if series.hollow { "hollow" } else { "full" };
        let mut out = String::new();
        for point in &series.points {
            let Some((x, y)) = self.place(point) else { continue };
            if let Some(path) = self.whisker(point, x, y) {
                out.push_str(&format!("<path class=\"curve\" d=\"{path}\"/>"));
            }
            out.push_str(&self.noted(fill, &marker, (x, y), &point.note));
        }
        out
    }

    /// From low to high with a stroke across each end, an arrow where the end is outside the picture.
    fn whisker(&self, point: &Point, x: f64, y: f64) -> Option<String> {
        let (low, high) = (point.low?, point.high?);
        if low.is_nan() || high.is_nan() {
            return None;
        }
        let range = if self.is_sideways() { &self.layout.x } else { &self.layout.y };
        let (ends, at) = ([range.held(low), range.held(high)], if self.is_sideways() { y } else { x });
        let put = |along: f64, across: f64| {
            let (x, y) = if self.is_sideways() { (along, at + across) } else { (at + across, along) };
            format!("{} {}", number(x), number(y))
        };
        let mut path = format!("M{}L{}", put(ends[0].0, 0.0), put(ends[1].0, 0.0));
        let inward = (range.to_px - range.from_px).signum();
        for ((end, outside), direction) in ends.into_iter().zip([inward, -inward]) {
            let back = if outside { end + 5.0 * direction } else { end };
            path.push_str(&format!("M{}L{}L{}", put(back, -4.0), put(end, 0.0), put(back, 4.0)));
        }
        Some(path)
    }

    fn bars(&self, series: &Series) -> String {
        let range = if self.is_sideways() { &self.layout.x } else { &self.layout.y };
        let (zero, _) = range.held(0.0);
        let across = if self.is_sideways() { &self.layout.y } else { &self.layout.x };
        let bars = super::layout::count(series.points.len().max(self.chart.y.categories.len()).max(1));
        let half = (0.35 * across.length_px() / bars).clamp(0.5, 9.0);
        let mut out = String::new();
        for point in &series.points {
            let Some((x, y)) = self.place(point) else { continue };
            let (left, top, width, height) = if self.is_sideways() {
                (x.min(zero), y - half, (x - zero).abs(), 2.0 * half)
            } else {
                let left = (x - half).clamp(self.layout.x.from_px, self.layout.x.to_px);
                (left, y.min(zero), (x + half).min(self.layout.x.to_px) - left, (y - zero).abs())
            };
            out.push_str(&format!(
                "<rect class=\"{}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"><title>{}</title></rect>\n",
                if series.hollow { "hollow" } else { "full" },
                number(left),
                number(top),
                number(width),
                number(height),
                escape(&point.note)
            ));
        }
        out
    }
}
