//! Latencies as a picture: rows of a logarithmic scale, counts and bars.

use hdrhistogram::Histogram;

use super::{number, per, seconds};
use crate::report::layout::{Ink, Style};
use crate::report::units;

/// Rows with something in them, at most.
const ROWS: usize = 20;
/// Bars longer than this say nothing more.
const BAR_COLUMNS: usize = 60;

/// Steps of a decade, coarse to fine; the last two are Renard's (R10, R20).
const LADDERS: [&[f64]; 6] = [
    &[1.0],
    &[1.0, 3.0],
    &[1.0, 2.0, 5.0],
    &[1.0, 1.5, 2.0, 3.0, 5.0, 7.0],
    &[1.0, 1.25, 1.6, 2.0, 2.5, 3.2, 4.0, 5.0, 6.3, 8.0],
    &[1.0, 1.12, 1.25, 1.4, 1.6, 1.8, 2.0, 2.24, 2.5, 2.8, 3.2, 3.6, 4.0, 4.5, 5.0, 5.6, 6.3, 7.1, 8.0, 9.0],
];

/// One row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Row {
    /// Lower end, seconds.
    pub(super) from_s: f64,
    /// Upper end, seconds; what is equal to it belongs to the next row.
    pub(super) to_s: f64,
    /// How many.
    pub(super) count: u64,
    /// How many up to its upper end.
    pub(super) cumulative: u64,
}

/// The finest rows that are not too many; empty ones inside are part of them.
pub(super) fn rows(histogram: &Histogram<u64>) -> Vec<Row> {
    let fits = |rows: &Vec<Row>| rows.iter().filter(|row| row.count > 0).count() <= ROWS;
    let mut best = rows_of(histogram, LADDERS[0]);
    for ladder in &LADDERS[1..] {
        let finer = rows_of(histogram, ladder);
        if !fits(&finer) {
            break;
        }
        best = finer;
    }
    best
}

fn rows_of(histogram: &Histogram<u64>, ladder: &[f64]) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    let mut cumulative = 0;
    for bucket in histogram.iter_recorded() {
        let value_s = seconds(histogram.lowest_equivalent(bucket.value_iterated_to())).max(1e-9);
        if rows.is_empty() {
            let (from_s, to_s) = around(value_s, ladder);
            rows.push(Row { from_s, to_s, count: 0, cumulative: 0 });
        }
        while let Some(last) = rows.last().copied()
            && value_s >= last.to_s
        {
            let (_, to_s) = around(last.to_s, ladder);
            rows.push(Row { from_s: last.to_s, to_s, count: 0, cumulative });
        }
        cumulative += bucket.count_since_last_iteration();
        if let Some(last) = rows.last_mut() {
            last.count += bucket.count_since_last_iteration();
            last.cumulative = cumulative;
        }
    }
    rows
}

/// The rungs on both sides of a value; a value on a rung (or a hair below it) belongs above.
fn around(value: f64, ladder: &[f64]) -> (f64, f64) {
    let value = value * (1.0 + 1e-9);
    let mut exponent = value.log10().floor();
    if 10f64.powf(exponent + 1.0) <= value {
        exponent += 1.0;
    }
    let at = |step: f64, decade: f64| rounded(step * 10f64.powf(decade));
    let below = ladder.iter().rposition(|step| at(*step, exponent) <= value).unwrap_or(0);
    let above = match ladder.get(below + 1) {
        Some(step) => at(*step, exponent),
        None => at(1.0, exponent + 1.0),
    };
    (at(ladder[below], exponent), above)
}

/// Without the last digits of a product, so that equal rungs are equal.
fn rounded(value: f64) -> f64 {
    format!("{value:.6e}").parse().unwrap_or(value)
}

/// The picture: a line per row, as wide as the style allows.
pub(super) fn render(histogram: &Histogram<u64>, style: &Style) -> String {
    let rows = rows(histogram);
    let total = histogram.len();
    let most = rows.iter().map(|row| row.count).max().unwrap_or(0);
    let counts: Vec<String> = rows.iter().map(|row| units::count(row.count)).collect();
    let count_width = counts.iter().map(String::len).max().unwrap_or(0).max("operations".len());
    let heading = format!("{:>9} – {:<9}  {:>count_width$}  {:>9}", "from", "to", "operations", "up to");
    let room = style.width.saturating_sub(heading.chars().count() + 2).min(BAR_COLUMNS);
    let mut out = style.paint(Ink::Strong, style.letters(&heading).trim_end()) + "\n";
    let mut gap = false;
    for (row, count) in rows.iter().zip(&counts) {
        if row.count == 0 {
            if !gap {
                out.push_str(&style.letters(&format!("{:>9} …\n", "")));
            }
            gap = true;
            continue;
        }
        gap = false;
        let line = format!(
            "{:>9} – {:<9}  {count:>count_width$}  {:>9}  ",
            rung(row.from_s),
            rung(row.to_s),
            share_up_to(row.cumulative, total),
        );
        out.push_str(&style.letters(&line));
        out.push_str(&style.paint(Ink::Good, &bar(row.count, most, room, style.unicode)));
        out.truncate(out.trim_end().len());
        out.push('\n');
    }
    out
}

/// An end of a row: `1 ms`, `1.5 ms`.
fn rung(value_s: f64) -> String {
    let (scale, unit) = match value_s {
        v if v < 0.999e-6 => (1e9, "ns"),
        v if v < 0.999e-3 => (1e6, "µs"),
        v if v < 0.999 => (1e3, "ms"),
        _ => (1.0, "s"),
    };
    format!("{} {unit}", (value_s * scale * 1e3).round() / 1e3)
}

/// A share that is 100 % only when it is all, with as many digits as it takes.
pub(super) fn share_up_to(count: u64, total: u64) -> String {
    if count >= total {
        return "100 %".into();
    }
    let share = 100.0 * per(number(count), number(total));
    let texts = (1..=4).map(|decimals| format!("{share:.decimals$} %"));
    texts.into_iter().find(|text| !text.starts_with("100")).unwrap_or_else(|| ">99.9999 %".into())
}

/// A bar in eighths of a column; whatever is there is seen.
fn bar(count: u64, most: u64, room: usize, unicode: bool) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let eighths = per(number(count), number(most)) * number(u64::try_from(room).unwrap_or(0)) * 8.0;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at most 8 × 60")]
    let eighths = (eighths.round() as usize).max(1);
    if unicode { "█".repeat(eighths / 8) + EIGHTHS[eighths % 8] } else { "#".repeat(eighths.div_ceil(8)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: impl IntoIterator<Item = (u64, u64)>) -> Histogram<u64> {
        let mut histogram = Histogram::new_with_bounds(100, 3_600_000_000_000, 3).unwrap();
        for (value, count) in values {
            histogram.record_n(value, count).unwrap();
        }
        histogram
    }

    #[test]
    fn every_operation_is_in_exactly_one_row() {
        let histogram = of([(100, 1), (51_000, 900), (80_000, 80), (1_000_000, 5), (999_999_999, 1)]);
        let found = rows(&histogram);
        assert_eq!(found.iter().map(|row| row.count).sum::<u64>(), histogram.len());
        assert_eq!(found.last().unwrap().cumulative, histogram.len());
        assert!(found.iter().filter(|row| row.count > 0).count() <= ROWS);
        for pair in found.windows(2) {
            assert_eq!(pair[0].to_s.to_bits(), pair[1].from_s.to_bits());
            assert!(pair[0].from_s < pair[0].to_s);
        }
        assert!(rows(&of([])).is_empty());
    }

    #[test]
    fn a_narrow_distribution_gets_fine_rows_and_a_wide_one_few() {
        let narrow = of((0..1000).map(|n| (1_000_000 + n * 1_000, 1)));
        assert!(rows(&narrow).len() >= 5, "{:?}", rows(&narrow));
        let wide = of((0..36).map(|n| (100 << n.min(35), 1)));
        let shown = rows(&wide).into_iter().filter(|row| row.count > 0).count();
        assert!(shown <= ROWS, "{shown}");
    }

    #[test]
    fn shares_never_round_up_to_all() {
        assert_eq!(share_up_to(1, 3), "33.3 %");
        assert_eq!(share_up_to(99_999, 100_000), "99.999 %");
        assert_eq!(share_up_to(5, 5), "100 %");
        assert_eq!(share_up_to(999_999_999, 1_000_000_000), ">99.9999 %");
    }

    #[test]
    fn a_single_operation_is_seen() {
        assert_eq!(bar(1, 1_000_000, 60, true), "▏");
        assert_eq!(bar(1_000_000, 1_000_000, 3, true), "███");
        assert_eq!(bar(1, 1_000_000, 60, false), "#");
    }
}
