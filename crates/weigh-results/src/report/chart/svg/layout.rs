//! Who gets which room: headings, legend, labels, plot.
//!
//! A chart of categories puts each name beside its row where there is width, above it on a phone. Names that are too long take two
//! lines, then lose their middle; the whole name is in the `<title>`.

use super::super::{Axis, AxisUnit, Chart, Point, Scale, Shape};
use super::legend::Legend;
use super::scale::{self, Range};
use super::text::{escape, fit, number, width_px, wrap};
use super::ticks::{self, Tick};
use crate::report::units;

/// Around everything, pixels.
const EDGE: f64 = 12.0;
/// Below this width a picture is for a phone.
const NARROW: f64 = 520.0;
/// A line is this many times as high as its letters.
const LINE: f64 = 1.35;

/// Everything but the marks.
pub(super) struct Layout {
    pub(super) width: f64,
    pub(super) height: f64,
    pub(super) font_px: f64,
    pub(super) legend: Legend,
    pub(super) x: Range,
    pub(super) y: Range,
    title: Vec<String>,
    /// Top of the title's first line.
    title_top: f64,
    /// Baseline of the vertical axis' label.
    y_label_at: f64,
    x_label: Vec<String>,
    x_ticks: Vec<Tick>,
    y_ticks: Vec<Tick>,
    rows: Option<Rows>,
}

/// The rows of a chart of categories.
struct Rows {
    /// Name by row, as lines.
    names: Vec<Vec<String>>,
    /// The interval in figures, by row.
    figures: Vec<String>,
    /// Names stand above their rows.
    above: bool,
    height: f64,
}

impl Layout {
    pub(super) fn of(chart: &Chart, width: f64) -> Layout {
        let narrow = width < NARROW;
        let font_px = if narrow { 11.0 } else { 12.0 };
        let inner = width - 2.0 * EDGE;
        let title = wrap(&chart.title, font_px + 2.0, inner * 0.97, 3);
        let mut top = EDGE + count(title.len()) * (font_px + 2.0) * LINE + 4.0;
        let legend = Legend::place(chart, EDGE, top, inner, font_px);
        top += legend.height + 6.0;
        let y_label_at = top + font_px;
        if chart.y.scale != Scale::Category && !chart.y.label.is_empty() {
            top += font_px * LINE + 4.0;
        }
        let mut layout = Layout {
            width,
            height: 0.0,
            font_px,
            legend,
            x: scale::horizontal(chart),
            y: scale::vertical(chart),
            title,
            title_top: EDGE,
            y_label_at,
            x_label: wrap(&chart.x.label, font_px, inner, 2),
            x_ticks: Vec::new(),
            y_ticks: Vec::new(),
            rows: None,
        };
        let (left, right) = layout.room_beside(chart, narrow, top);
        layout.x.from_px = left;
        layout.x.to_px = width - right;
        layout.x_ticks = match levels(chart) {
            Some(levels) => ticks::levels(&chart.x, &layout.x, &levels),
            None => ticks::ticks(&chart.x, &layout.x, (layout.x.length_px() / 85.0).max(2.0)),
        };
        let below = font_px * (LINE + 0.4) + count(layout.x_label.len()) * font_px * LINE + EDGE;
        layout.height = layout.bottom() + below;
        layout
    }

    /// Lays out the vertical axis from `top` down and says what it needs on the left and on the right.
    fn room_beside(&mut self, chart: &Chart, narrow: bool, top: f64) -> (f64, f64) {
        if chart.y.scale == Scale::Category {
            let (rows, left, right) = Rows::of(chart, self.width, self.font_px, narrow);
            // Rows are numbered downwards.
            self.y.from_px = top + 4.0;
            self.y.to_px = top + 4.0 + rows.height * count(chart.y.categories.len().max(1));
            self.rows = Some(rows);
            return (left, right);
        }
        let height = (0.52 * self.width).clamp(190.0, 420.0);
        self.y.from_px = top + height;
        self.y.to_px = top + 4.0;
        self.y_ticks = ticks::ticks(&chart.y, &self.y, (self.y.length_px() / 48.0).max(2.0));
        let widest = self.y_ticks.iter().map(|tick| width_px(&tick.text, self.font_px)).fold(0.0, f64::max);
        (EDGE + widest.min(0.3 * self.width) + 8.0, EDGE + 8.0)
    }

    /// Bottom of the plot.
    pub(super) fn bottom(&self) -> f64 {
        self.y.from_px.max(self.y.to_px)
    }

    /// Top of the plot.
    pub(super) fn top(&self) -> f64 {
        self.y.from_px.min(self.y.to_px)
    }

    /// How far below the middle of its row a mark is: names above rows push it down.
    pub(super) fn mark_offset(&self) -> f64 {
        self.rows.as_ref().filter(|rows| rows.above).map_or(0.0, |_| 6.0)
    }

    /// Title and the label of the vertical axis.
    pub(super) fn headings(&self, chart: &Chart) -> String {
        let mut out = String::new();
        let size = self.font_px + 2.0;
        for (line, at) in self.title.iter().zip(0_u32..) {
            let y = number(self.title_top + size * (0.9 + LINE * f64::from(at)));
            out.push_str(&format!(
                "<text class=\"head\" x=\"{}\" y=\"{y}\">{}</text>\n",
                number(EDGE),
                escape(line)
            ));
        }
        if chart.y.scale != Scale::Category && !chart.y.label.is_empty() {
            let label = fit(&chart.y.label, self.font_px, self.width - 2.0 * EDGE);
            let (x, y) = (number(EDGE), number(self.y_label_at));
            out.push_str(&format!("<text class=\"quiet\" x=\"{x}\" y=\"{y}\">{}</text>\n", escape(&label)));
        }
        out
    }

    /// Bands, grid, ticks, labels, reference lines.
    pub(super) fn frame(&self, chart: &Chart) -> String {
        let mut out = self.bands(chart);
        out.push_str(&self.grid(&chart.y, &self.y_ticks, false));
        out.push_str(&self.grid(&chart.x, &self.x_ticks, true));
        let (left, right) = (number(self.x.from_px), number(self.x.to_px));
        out.push_str(&format!("<path class=\"axis\" d=\"M{left} {}H{right}\"/>\n", number(self.bottom())));
        for line in &chart.lines {
            if let Some(x) = self.x.place(line.at) {
                let (x, top, bottom) = (number(x), number(self.top()), number(self.bottom()));
                let title = escape(&line.label);
                out.push_str(&format!(
                    "<path class=\"line\" d=\"M{x} {top}V{bottom}\"><title>{title}</title></path>\n"
                ));
            }
        }
        // Last, with an edge of paper, so that no line runs through a name.
        out.push_str(&self.row_names(chart));
        out.push_str(&self.x_labels());
        out
    }

    fn bands(&self, chart: &Chart) -> String {
        let mut out = String::new();
        for band in &chart.bands {
            let ((from, from_held), (to, to_held)) = (self.x.held(band.from), self.x.held(band.to));
            let (from, to) = (from.min(to), from.max(to));
            // Held at the same end: not in the picture.
            if from_held && to_held && to - from < 1e-9 {
                continue;
            }
            let (x, y, w, h) = (
                number(from),
                number(self.top()),
                number((to - from).max(1.0)),
                number(self.bottom() - self.top()),
            );
            let title = escape(&band.label);
            out.push_str(&format!(
                "<rect class=\"band\" x=\"{x}\" y=\"{y}\" width=\"{w}\" height=\"{h}\"><title>{title}</title></rect>\n"
            ));
        }
        out
    }

    /// Lines across the plot, and the texts that fit.
    fn grid(&self, axis: &Axis, all: &[Tick], upright: bool) -> String {
        let range = if upright { &self.x } else { &self.y };
        let (mut major, mut minor) = (String::new(), String::new());
        for tick in all {
            let Some(at) = range.place(tick.at) else { continue };
            let path = if upright {
                format!("M{} {}V{}", number(at), number(self.top()), number(self.bottom()))
            } else {
                format!("M{} {}H{}", number(self.x.from_px), number(at), number(self.x.to_px))
            };
            if tick.rank < 3 { major.push_str(&path) } else { minor.push_str(&path) }
        }
        let mut out = String::new();
        for (class, path) in [("fine", minor), ("grid", major)] {
            if !path.is_empty() {
                out.push_str(&format!("<path class=\"{class}\" d=\"{path}\"/>\n"));
            }
        }
        if axis.scale != Scale::Category {
            out.push_str(&self.tick_texts(all, upright));
        }
        out
    }

    fn tick_texts(&self, all: &[Tick], upright: bool) -> String {
        let half = |tick: &Tick| width_px(&tick.text, self.font_px) / 2.0;
        // A text at the end of an axis is moved rather than cut off.
        let middle = |tick: &Tick| {
            let at = self.x.place(tick.at)?;
            Some(at.clamp(4.0 + half(tick), (self.width - 4.0 - half(tick)).max(4.0 + half(tick))))
        };
        let written = if upright {
            ticks::that_fit(all, |tick| Some((middle(tick)? - half(tick), middle(tick)? + half(tick))), 8.0)
        } else {
            let around = |tick: &Tick| {
                Some((
                    self.y.place(tick.at)? - 0.6 * self.font_px,
                    self.y.place(tick.at)? + 0.6 * self.font_px,
                ))
            };
            ticks::that_fit(all, around, 5.0)
        };
        let mut out = String::new();
        for (tick, _) in all.iter().zip(written).filter(|(_, written)| *written) {
            let (x, y, anchor) = if upright {
                let Some(x) = middle(tick) else { continue };
                (x, self.bottom() + self.font_px * 1.35, "middle")
            } else {
                let Some(y) = self.y.place(tick.at) else { continue };
                (self.x.from_px - 7.0, y + 0.35 * self.font_px, "end")
            };
            let text =
                if upright { tick.text.clone() } else { fit(&tick.text, self.font_px, self.x.from_px - 8.0) };
            out.push_str(&format!(
                "<text class=\"quiet\" x=\"{}\" y=\"{}\" text-anchor=\"{anchor}\">{}</text>\n",
                number(x),
                number(y),
                escape(&text)
            ));
        }
        out
    }

    fn x_labels(&self) -> String {
        let mut out = String::new();
        for (line, at) in self.x_label.iter().zip(0_u32..) {
            let y = number(self.bottom() + self.font_px * (1.35 + LINE + LINE * f64::from(at)));
            let middle = f64::midpoint(self.x.from_px, self.x.to_px);
            let half = width_px(line, self.font_px) / 2.0;
            let x = middle.clamp(EDGE + half, (self.width - EDGE - half).max(EDGE + half));
            out.push_str(&format!(
                "<text class=\"quiet\" x=\"{}\" y=\"{y}\" text-anchor=\"middle\">{}</text>\n",
                number(x),
                escape(line)
            ));
        }
        out
    }

    fn row_names(&self, chart: &Chart) -> String {
        let Some(rows) = &self.rows else { return String::new() };
        let mut out = String::new();
        for (row, name) in chart.y.categories.iter().enumerate() {
            let Some(middle) = self.y.place(count(row)) else { continue };
            let lines = rows.names.get(row).map_or(&[][..], Vec::as_slice);
            let first = if rows.above {
                middle - 0.5 * rows.height + self.font_px * 1.2
            } else {
                middle + self.font_px * (0.35 - 0.5 * 1.15 * (count(lines.len()) - 1.0))
            };
            let (x, anchor) =
                if rows.above { (self.x.from_px, "start") } else { (self.x.from_px - 10.0, "end") };
            out.push_str(&format!("<g><title>{}</title>", escape(name)));
            for (line, at) in lines.iter().zip(0_u32..) {
                let y = number(first + f64::from(at) * 1.15 * self.font_px);
                out.push_str(&format!(
                    "<text class=\"over\" x=\"{}\" y=\"{y}\" text-anchor=\"{anchor}\">{}</text>",
                    number(x),
                    escape(line)
                ));
            }
            out.push_str("</g>\n");
            if let Some(figures) = rows.figures.get(row).filter(|figures| !figures.is_empty()) {
                let y = if rows.above { first } else { middle + 0.35 * self.font_px };
                let x = self.width - EDGE;
                out.push_str(&format!(
                    "<text class=\"quiet over\" x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>\n",
                    number(x),
                    number(y),
                    escape(figures)
                ));
            }
        }
        out
    }
}

impl Rows {
    /// The rows, and what they take on the left and on the right of the plot.
    fn of(chart: &Chart, width: f64, font_px: f64, above: bool) -> (Rows, f64, f64) {
        let figures = figures(chart);
        let figures_px = figures.iter().map(|text| width_px(text, font_px)).fold(0.0, f64::max);
        let names = &chart.y.categories;
        if above {
            let room = width - 2.0 * EDGE - if figures_px > 0.0 { figures_px + 10.0 } else { 0.0 };
            let names = names.iter().map(|name| vec![fit(name, font_px, room.max(60.0))]).collect();
            return (Rows { names, figures, above, height: 40.0 }, EDGE + 2.0, EDGE + 2.0);
        }
        let most = 0.34 * width;
        let widest = names.iter().map(|name| width_px(name, font_px)).fold(0.0, f64::max).min(most);
        let names: Vec<Vec<String>> =
            names.iter().map(|name| wrap(name, font_px, widest.max(40.0), 2)).collect();
        let two = names.iter().any(|lines| lines.len() > 1);
        let height = if two { 34.0 } else { 25.0 };
        let right = if figures_px > 0.0 { figures_px + 14.0 + EDGE } else { EDGE + 8.0 };
        (Rows { names, figures, above, height }, EDGE + widest.max(40.0) + 10.0, right)
    }
}

/// The levels of a sweep, ascending: where intervals stand upright and there are not too many.
fn levels(chart: &Chart) -> Option<Vec<f64>> {
    const LEVELS_MAX: usize = 20;
    let upright = chart.y.scale != Scale::Category;
    let series = chart.series.iter().filter(|series| upright && series.shape == Shape::Interval);
    let mut levels: Vec<f64> = series.flat_map(|series| &series.points).map(|point| point.x).collect();
    levels.sort_by(f64::total_cmp);
    levels.dedup();
    (2..=LEVELS_MAX).contains(&levels.len()).then_some(levels)
}

/// Of intervals that are ratios: in the words of every other report.
fn figures(chart: &Chart) -> Vec<String> {
    let mut figures = vec![String::new(); chart.y.categories.len()];
    if chart.x.unit != AxisUnit::Ratio {
        return figures;
    }
    for series in chart.series.iter().filter(|series| series.shape == Shape::Interval) {
        for point in &series.points {
            let row = (0..figures.len()).find(|row| (count(*row) - point.y).abs() < 1e-9);
            if let (Some(row), Some(text)) = (row, ratio(point)) {
                figures[row] = text;
            }
        }
    }
    figures
}

fn ratio(point: &Point) -> Option<String> {
    let usable = |value: f64| value > 0.0 && (1e-6..1e6).contains(&value);
    let (low, high) = (point.low?, point.high?);
    let interval = weigh_stats::Interval { estimate: point.x.ln(), low: low.ln(), high: high.ln() };
    [point.x, low, high].into_iter().all(usable).then(|| units::ratio(&interval))
}

#[expect(clippy::cast_precision_loss, reason = "rows and lines are few")]
pub(super) fn count(number: usize) -> f64 {
    number as f64
}
