//! Intervals as little bars on a common logarithmic axis around 1x.

use std::fmt::Write as _;

use weigh_stats::Interval;

use super::super::layout::Style;
use super::super::units;

/// Where the axis may end, as ratios above one; below one it is their mirror.
const ENDS: [f64; 20] = [
    1.01, 1.02, 1.05, 1.1, 1.2, 1.5, 2.0, 3.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1e3, 1e4, 1e5,
    1e6, 1e9,
];
/// The axis shows at least this many times the difference that matters.
const AT_LEAST: f64 = 2.0;

/// From where to where the axis goes, as places in [`ENDS`], below and above 1x.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Reach {
    below: usize,
    above: usize,
}

impl Reach {
    /// The least that is worth showing.
    pub(super) fn around(difference: f64) -> Reach {
        let place = end_beyond((AT_LEAST * difference).ln_1p());
        Reach { below: place, above: place }
    }

    /// So that the interval is on the axis.
    pub(super) fn widened(self, interval: &Interval) -> Reach {
        Reach {
            below: self.below.max(end_beyond(-interval.low)),
            above: self.above.max(end_beyond(interval.high)),
        }
    }

    fn ends(self) -> (f64, f64) {
        (-ENDS[self.below].ln(), ENDS[self.above].ln())
    }

    /// The column of a log ratio on an axis of that many columns.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "held within the axis")]
    #[expect(clippy::cast_precision_loss, reason = "a terminal has less than 2^52 columns")]
    fn column(self, log: f64, width: usize) -> usize {
        let (low, high) = self.ends();
        let last = width.saturating_sub(1) as f64;
        ((log - low) / (high - low) * last).round().clamp(0.0, last) as usize
    }

    /// The labels of the axis: its ends and 1x, those that have room.
    pub(super) fn heading(self, width: usize) -> String {
        let one = self.column(0.0, width);
        let high = end_label(ENDS[self.above]);
        let low = end_label(ENDS[self.below].recip());
        let mut line = String::new();
        // The middle one matters most: it is where nothing changes.
        if low.len() < one {
            line.push_str(&low);
        }
        let gap = one.saturating_sub(line.len());
        write!(line, "{:gap$}1x", "").unwrap_or_default();
        let gap = width.saturating_sub(line.len() + high.len());
        if gap > 0 {
            write!(line, "{:gap$}{high}", "").unwrap_or_default();
        }
        line
    }

    /// An interval on the axis; the bare axis without one.
    pub(super) fn bar(self, interval: Option<&Interval>, width: usize, style: &Style) -> String {
        let [one, from, to, between, at] =
            if style.unicode { ['│', '├', '┤', '─', '●'] } else { ['|', '[', ']', '-', 'o'] };
        let mut cells = vec![' '; width];
        if let Some(cell) = cells.get_mut(self.column(0.0, width)) {
            *cell = one;
        }
        if let Some(interval) = interval {
            let column = |log| self.column(log, width);
            let (low, middle, high) =
                (column(interval.low), column(interval.estimate), column(interval.high));
            for (place, cell) in cells.iter_mut().enumerate().take(high + 1).skip(low) {
                *cell = match place {
                    _ if place == middle => at,
                    _ if place == low => from,
                    _ if place == high => to,
                    _ => between,
                };
            }
        }
        cells.into_iter().collect()
    }
}

/// The first end that a log ratio above 0 does not go beyond.
fn end_beyond(log: f64) -> usize {
    ENDS.iter().position(|end| log <= end.ln()).unwrap_or(ENDS.len() - 1)
}

/// `+5%`, `20x`, `0.05x`, `1e-6x`.
fn end_label(ratio: f64) -> String {
    if !units::is_factor(ratio) {
        return format!("{:+.0}%", 100.0 * (ratio - 1.0));
    }
    match ratio {
        large if large >= 1e4 => format!("{large:e}x"),
        small if small < 1e-3 => format!("{small:.0e}x"),
        small if small < 0.9 => format!("{}x", (small * 1e3).round() / 1e3),
        other => format!("{other}x"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interval(estimate: f64, low: f64, high: f64) -> Interval {
        Interval { estimate: estimate.ln(), low: low.ln(), high: high.ln() }
    }

    #[test]
    fn bars_narrow_on_an_axis_that_stays() {
        let style = Style { width: 80, colour: false, unicode: true };
        let reach = Reach::around(0.02).widened(&interval(1.0, 0.7, 1.4));
        assert_eq!(reach.heading(21), "-33%      1x     1.5x");
        assert_eq!(reach.bar(Some(&interval(1.0, 0.7, 1.4)), 21, &style), " ├────────●───────┤  ");
        assert_eq!(reach.bar(Some(&interval(1.0, 0.9, 1.1)), 21, &style), "       ├──●─┤        ");
        assert_eq!(reach.bar(Some(&interval(1.0, 0.999, 1.001)), 21, &style), "          ●          ");
        assert_eq!(reach.bar(None, 21, &style), "          │          ");
        let ascii = Style { unicode: false, ..style };
        assert_eq!(reach.bar(Some(&interval(1.2, 1.1, 1.3)), 21, &ascii), "          | [-o-]    ");
    }

    #[test]
    fn every_axis_has_its_labels_in_its_width() {
        for factor in [1.001, 1.3, 7.0, 450.0, 2e5, 1e30] {
            let reach = Reach::around(0.02).widened(&interval(factor, 0.99, factor));
            for width in [10, 13, 40] {
                let heading = reach.heading(width);
                assert!(heading.len() <= width && heading.contains("1x"), "{factor} {width}: `{heading}`");
                assert_eq!(
                    reach.bar(None, width, &Style { width: 80, colour: false, unicode: false }).len(),
                    width
                );
            }
        }
        assert_eq!(end_label(0.05), "0.05x");
        assert_eq!(end_label(20.0), "20x");
        assert_eq!(end_label(1.05), "+5%");
    }
}
