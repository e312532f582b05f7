//! The distributions of a run as a small plot in text: one row per variant over a common logarithmic axis.
//!
//! [`plot`] takes the latencies (for commands the times) of every trial that counts. A cell is as high as the square root
//! of the share of operations in it, relative to the fullest cell of its row: rows show shapes, not amounts; whatever is
//! there at all is seen. Half of the operations are left of one mark, 99 in a hundred left of the other. The axis leaves
//! out the fastest and the slowest thousandth of every variant, so that one stall does not press everything else into a
//! corner.

use std::collections::BTreeMap;

use super::layout::{GAP, Ink, Style, cut};
use super::units;
use crate::analysis::per_trial::{self, Distribution};
use crate::model::{Plan, Run};

/// Share of operations left out at either end of the axis.
const LEFT_OUT: f64 = 0.001;
/// A plot narrower than this shows nothing; a wider one no more.
const CELLS: std::ops::RangeInclusive<usize> = 20..=100;
/// The least the axis spans, as a ratio: what lies within is the same to a reader.
const LEAST_SPAN: f64 = 1.1;
/// Times with fewer operations have no 99th percentile that is not simply the largest.
const ENOUGH_FOR_P99: u64 = 1_000;

/// The plot; empty when nothing was timed or there is no room.
pub(super) fn plot(run: &Run, style: &Style) -> String {
    let plan = &run.header.plan;
    let seen = per_trial::trials(run).response;
    let names = names(plan, style);
    let label =
        names.iter().map(|name| unicode_width::UnicodeWidthStr::width(name.as_str())).max().unwrap_or(0);
    let cells = style.width.saturating_sub(label + GAP).min(*CELLS.end());
    let Some(axis) = Axis::of(&seen, cells).filter(|axis| axis.cells >= *CELLS.start()) else {
        return String::new();
    };
    let mut text = legend(run, &seen, style);
    for (variant, name) in names.iter().enumerate() {
        let Some(distribution) = seen.get(&variant) else { continue };
        let width = unicode_width::UnicodeWidthStr::width(name.as_str());
        let gap = " ".repeat(label - width + GAP);
        let row = axis.row(distribution, style);
        text.push_str(&format!("{}{gap}{}\n", style.paint(Ink::Strong, name), row.trim_end()));
    }
    for line in axis.ruler(style) {
        text.push_str(&" ".repeat(label + GAP));
        text.push_str(&style.paint(Ink::Faint, &line));
        text.push('\n');
    }
    text
}

fn names(plan: &Plan, style: &Style) -> Vec<String> {
    let width = (style.width / 5).max(12);
    plan.variants.iter().map(|variant| style.letters(&cut(&variant.name, width)).replace('\n', " ")).collect()
}

/// What is drawn, in a line.
fn legend(run: &Run, seen: &BTreeMap<usize, Distribution>, style: &Style) -> String {
    let commands = run.header.plan.system == "commands";
    let open = run.trials.iter().any(|trial| trial.schedule.is_some());
    let what = match (commands, open) {
        (true, _) => "times",
        (_, true) => "response times",
        _ => "latencies",
    };
    let [median, p99] = marks(style);
    let tail = if seen.values().any(has_p99) { format!(", {p99} p99") } else { String::new() };
    let text = style.letters(&format!("{what} of all trials, logarithmic: {median} median{tail}"));
    let lines = super::layout::wrap(&text, style.width);
    lines.iter().map(|line| style.paint(Ink::Faint, line) + "\n").collect()
}

fn marks(style: &Style) -> [char; 2] {
    if style.unicode { ['┃', '╎'] } else { ['|', '!'] }
}

fn has_p99(distribution: &Distribution) -> bool {
    distribution.total >= ENOUGH_FOR_P99
}

/// The common axis.
struct Axis {
    low: f64,
    high: f64,
    cells: usize,
}

impl Axis {
    fn of(seen: &BTreeMap<usize, Distribution>, cells: usize) -> Option<Axis> {
        let end = |quantile: f64| {
            seen.values().filter_map(move |one| Some(one.at(quantile)?.0)).filter(|s| *s > 0.0)
        };
        let (low, high) = (end(LEFT_OUT).reduce(f64::min)?.ln(), end(1.0 - LEFT_OUT).reduce(f64::max)?.ln());
        let missing = (LEAST_SPAN.ln() - (high - low)).max(0.0) / 2.0;
        Some(Axis { low: low - missing, high: high + missing, cells })
    }

    /// The cell of a time; `None` beyond the axis.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked to be on the axis")]
    #[expect(clippy::cast_precision_loss, reason = "a terminal has less than 2^52 columns")]
    fn cell(&self, seconds: f64) -> Option<usize> {
        let share = (seconds.ln() - self.low) / (self.high - self.low);
        let inside = (-1e-9..=1.0 + 1e-9).contains(&share);
        inside.then(|| ((share * self.cells as f64) as usize).min(self.cells - 1))
    }

    /// One variant: blocks as high as its density, and its marks.
    fn row(&self, distribution: &Distribution, style: &Style) -> String {
        let mut counts = vec![0_u64; self.cells];
        for (seconds, times) in &distribution.values {
            if let Some(cell) = self.cell(*seconds) {
                counts[cell] += times;
            }
        }
        let most = counts.iter().copied().max().unwrap_or(0).max(1);
        let [median, p99] = marks(style);
        let place = |quantile| self.cell(distribution.at(quantile)?.0);
        let (middle, tail) = (place(0.5), place(0.99).filter(|_| has_p99(distribution)));
        let draw = |(cell, count): (usize, &u64)| match cell {
            _ if Some(cell) == middle => style.paint(Ink::Good, &median.to_string()),
            _ if Some(cell) == tail => style.paint(Ink::Warning, &p99.to_string()),
            _ => block(*count, most, style).to_string(),
        };
        counts.iter().enumerate().map(draw).collect()
    }

    /// Ticks at round times below the rows, and their labels.
    fn ruler(&self, style: &Style) -> Vec<String> {
        let [line, tick] = if style.unicode { ['─', '┴'] } else { ['-', '+'] };
        let mut ruler = vec![line; self.cells];
        let mut labels = String::new();
        for seconds in self.ticks() {
            let Some(cell) = self.cell(seconds) else { continue };
            let label = style.letters(&tick_label(seconds));
            let used = labels.chars().count();
            let from = cell
                .saturating_sub(label.chars().count() / 2)
                .min(self.cells.saturating_sub(label.chars().count()));
            ruler[cell] = tick;
            // A label without room leaves its tick.
            if used == 0 || from > used {
                labels.push_str(&" ".repeat(from - used));
                labels.push_str(&label);
            }
        }
        vec![ruler.into_iter().collect(), labels]
    }

    /// 1, 2 and 5 of every power of ten on the axis; only 1 where there are many; finer where there are none.
    fn ticks(&self) -> Vec<f64> {
        for steps in
            [&[1.0][..], &[1.0, 3.0], &[1.0, 2.0, 5.0], &[1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0]]
        {
            let ticks: Vec<f64> = (-9..=4)
                .flat_map(|power| steps.iter().map(move |step| step * 10f64.powi(power)))
                .filter(|seconds| self.cell(*seconds).is_some())
                .collect();
            if ticks.len() >= 3 {
                return ticks;
            }
        }
        vec![self.low.exp(), self.high.exp()]
    }
}

/// A block as high as the square root of its share of the fullest cell (J. W. Tukey, Some Graphic and Semigraphic
/// Displays, 1972: the rootogram), so that shoulders and tails are seen beside a sharp peak; anything at all is seen.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a share of the number of heights"
)]
#[expect(clippy::cast_precision_loss, reason = "operation counts are far below 2^52")]
fn block(count: u64, most: u64, style: &Style) -> char {
    const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    const LETTERS: [char; 8] = ['.', '.', ':', '-', '=', '+', '*', '#'];
    if count == 0 {
        return ' ';
    }
    let height = ((count as f64 / most as f64).sqrt() * 8.0).ceil() as usize;
    let heights = if style.unicode { BLOCKS } else { LETTERS };
    heights[height.clamp(1, 8) - 1]
}

/// `100 µs`, `1.5 ms`; three digits where the ticks are the ends of a narrow axis.
fn tick_label(seconds: f64) -> String {
    let text = units::seconds(seconds);
    match text.split_once(' ') {
        Some((figure, unit)) if figure.contains('.') => {
            format!("{} {unit}", figure.trim_end_matches('0').trim_end_matches('.'))
        }
        _ => text,
    }
}
