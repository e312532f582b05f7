//! Figures as people read them: `1.21 ms`, `8.30 kB`, `1,930`, `11.6x (11.2–12.0)`, `4m12s`.
//!
//! Everything measured is rounded to three significant digits; everything counted is exact. Bytes are
//! decimal (1 kB = 1000 B). [`Unit`] is read off the end of a counter's key, which is where every key
//! carries it.

use weigh_stats::Interval;

/// What a figure is measured in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Seconds.
    Seconds,
    /// Microseconds.
    Microseconds,
    /// Bytes.
    Bytes,
    /// Anything counted.
    Count,
}

impl Unit {
    /// The unit of a counter, from the last word of its key (`server.cpu_us`, `postgres.wal_bytes`).
    pub fn of_counter(key: &str) -> Unit {
        match key.rsplit(['.', '_']).next() {
            Some("us") => Unit::Microseconds,
            Some("s") => Unit::Seconds,
            Some("bytes") => Unit::Bytes,
            _ => Unit::Count,
        }
    }

    /// A measured figure in this unit.
    pub fn show(self, value: f64) -> String {
        match self {
            Unit::Seconds => seconds(value),
            Unit::Microseconds => seconds(value / 1e6),
            Unit::Bytes if is_trace(value, 0.05) => "<0.1 B".into(),
            Unit::Bytes => bytes(value),
            Unit::Count if is_trace(value, 0.000_5) => "<0.001".into(),
            Unit::Count => figure(value),
        }
    }
}

/// Something, but so little of it that its digits say nothing.
fn is_trace(value: f64, under: f64) -> bool {
    value > 0.0 && value < under
}

/// Three significant digits, thousands grouped: `0.00412`, `1.00`, `61.2`, `806`, `12,300`.
pub fn figure(value: f64) -> String {
    significant(value, 3)
}

/// `digits` significant digits, thousands grouped; zero is `0`.
pub fn significant(value: f64, digits: i32) -> String {
    if !value.is_finite() {
        return "–".into();
    }
    if value == 0.0 {
        return "0".into();
    }
    // Rounding first, because 9.996 has one more digit before the point than it seems.
    let place = digits - 1 - exponent_of_ten(value);
    let scale = 10f64.powi(place);
    let rounded = if scale.is_finite() && scale > 0.0 { (value * scale).round() / scale } else { value };
    let decimals = usize::try_from(digits - 1 - exponent_of_ten(rounded)).unwrap_or(0);
    grouped_text(&format!("{rounded:.decimals$}"))
}

#[expect(clippy::cast_possible_truncation, reason = "the exponent of a finite f64 is within ±400")]
fn exponent_of_ten(value: f64) -> i32 {
    if value == 0.0 { 0 } else { value.abs().log10().floor() as i32 }
}

/// An exact count with its thousands grouped: `1,930`.
pub fn count(value: u64) -> String {
    grouped_text(&value.to_string())
}

fn grouped_text(number: &str) -> String {
    let (sign, rest) = number.strip_prefix('-').map_or(("", number), |rest| ("-", rest));
    let (whole, fraction) =
        rest.split_once('.').map_or((rest, None), |(whole, fraction)| (whole, Some(fraction)));
    let mut text = String::from(sign);
    for (at, digit) in whole.chars().enumerate() {
        if at > 0 && (whole.len() - at) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    if let Some(fraction) = fraction {
        text.push('.');
        text.push_str(fraction);
    }
    text
}

/// A time: `412 ns`, `61.2 µs`, `1.21 ms`, `2.00 s`, above two minutes `4m12s`.
pub fn seconds(value: f64) -> String {
    // A value that rounds up to 1000 of a unit belongs to the next one.
    const UNDER: f64 = 999.5;
    match value.abs() {
        0.0 => "0 s".into(),
        size if size * 1e9 < UNDER => format!("{} ns", figure(value * 1e9)),
        size if size * 1e6 < UNDER => format!("{} µs", figure(value * 1e6)),
        size if size * 1e3 < UNDER => format!("{} ms", figure(value * 1e3)),
        size if size < 120.0 => format!("{} s", figure(value)),
        _ => elapsed(value),
    }
}

/// A length of time that somebody chose: `2 s`, `1.5 s`, `300 ms`.
pub fn planned(value_s: f64) -> String {
    if value_s >= 1.0 || value_s == 0.0 {
        format!("{value_s} s")
    } else {
        format!("{} ms", (value_s * 1e6).round() / 1e3)
    }
}

/// A stretch of wall-clock time, to the second: `0.8 s`, `34 s`, `4m12s`, `1h04m`.
pub fn elapsed(value_s: f64) -> String {
    if value_s < 9.95 {
        return format!("{value_s:.1} s");
    }
    let whole = value_s.round().max(0.0);
    let (hours, minutes, rest) = ((whole / 3600.0).floor(), (whole / 60.0).floor() % 60.0, whole % 60.0);
    match () {
        () if whole < 60.0 => format!("{rest:.0} s"),
        () if hours < 1.0 => format!("{minutes:.0}m{rest:02.0}s"),
        () => format!("{hours:.0}h{minutes:02.0}m"),
    }
}

/// Decimal bytes: `830 B`, `8.30 kB`, `1.05 MB`.
pub fn bytes(value: f64) -> String {
    const STEPS: [&str; 6] = ["B", "kB", "MB", "GB", "TB", "PB"];
    let mut value = value;
    let mut step = 0;
    while value.abs() >= 999.5 && step + 1 < STEPS.len() {
        value /= 1000.0;
        step += 1;
    }
    format!("{} {}", figure(value), STEPS[step])
}

/// A share between 0 and 1: `0.4 %`, `12 %`.
pub fn percent(share: f64) -> String {
    let value = 100.0 * share;
    match value.abs() {
        0.0 => "0 %".into(),
        size if size < 0.095 => format!("{value:.2} %"),
        size if size < 9.95 => format!("{value:.1} %"),
        _ => format!("{} %", significant(value, 3)),
    }
}

/// A share that somebody chose: `2 %`, `0.5 %`.
pub fn planned_percent(share: f64) -> String {
    format!("{} %", (share * 1e6).round() / 1e4)
}

/// A ratio is told as a factor from here on (and below its inverse), as a percentage in between.
pub const FACTOR_FROM: f64 = 1.5;

/// Whether a ratio is told as a factor (`11.6x`) rather than a percentage (`-3.1 %`).
pub fn is_factor(ratio: f64) -> bool {
    !(FACTOR_FROM.recip()..FACTOR_FROM).contains(&ratio)
}

/// A log ratio with its interval: `11.6x (11.2–12.0)`, or `-3.1 % (-4.0…-2.2)` below 1.5x.
pub fn ratio(interval: &Interval) -> String {
    let (estimate, low, high) = interval.ratio();
    if is_factor(estimate) {
        let decimals = factor_decimals(estimate);
        let show = |value: f64| grouped_text(&format!("{value:.decimals$}"));
        format!("{}x ({}–{})", show(estimate), show(low), show(high))
    } else {
        let decimals = percent_decimals(low, high);
        let show = |ratio: f64| signed(100.0 * (ratio - 1.0), decimals);
        format!("{} % ({}…{})", show(estimate), show(low), show(high))
    }
}

/// A log ratio's estimate alone: `11.6x` or `-3.1 %`.
pub fn ratio_alone(interval: &Interval) -> String {
    let text = ratio(interval);
    text.split_once(" (").map_or(text.clone(), |(estimate, _)| estimate.to_owned())
}

/// Digits behind the point that leave three significant ones.
fn factor_decimals(ratio: f64) -> usize {
    usize::try_from(2 - exponent_of_ten(ratio)).unwrap_or(0)
}

/// One digit behind the point, two when the interval is narrower than that shows.
fn percent_decimals(low: f64, high: f64) -> usize {
    if 100.0 * (high - low) < 0.4 { 2 } else { 1 }
}

/// With its sign, except for a zero.
fn signed(value: f64, decimals: usize) -> String {
    let text = format!("{value:+.decimals$}");
    if text.trim_start_matches(['+', '-']).chars().all(|digit| digit == '0' || digit == '.') {
        text.trim_start_matches(['+', '-']).to_owned()
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interval(estimate: f64, low: f64, high: f64) -> Interval {
        Interval { estimate: estimate.ln(), low: low.ln(), high: high.ln() }
    }

    #[test]
    fn three_significant_digits() {
        let cases = [
            (0.0, "0"),
            (0.004_12, "0.00412"),
            (1.0, "1.00"),
            (9.996, "10.0"),
            (61.2, "61.2"),
            (805.6, "806"),
            (999.6, "1,000"),
            (12_345.0, "12,300"),
            (-1_234_567.0, "-1,230,000"),
            (f64::NAN, "–"),
        ];
        for (value, text) in cases {
            assert_eq!(figure(value), text, "{value}");
        }
        assert_eq!(count(1_930), "1,930");
        assert_eq!(count(12), "12");
    }

    #[test]
    fn times() {
        let cases = [
            (0.0, "0 s"),
            (4.12e-7, "412 ns"),
            (61.2e-6, "61.2 µs"),
            (0.001_21, "1.21 ms"),
            (0.000_999_7, "1.00 ms"),
            (2.0, "2.00 s"),
            (252.0, "4m12s"),
        ];
        for (value, text) in cases {
            assert_eq!(seconds(value), text, "{value}");
        }
        assert_eq!([planned(2.0), planned(1.5), planned(0.3)], ["2 s", "1.5 s", "300 ms"]);
        assert_eq!(elapsed(0.84), "0.8 s");
        assert_eq!(elapsed(34.4), "34 s");
        assert_eq!(elapsed(59.7), "1m00s");
        assert_eq!(elapsed(3_840.0), "1h04m");
    }

    #[test]
    fn sizes_and_shares() {
        assert_eq!(bytes(830.0), "830 B");
        assert_eq!(bytes(8_300.0), "8.30 kB");
        assert_eq!(bytes(999_700.0), "1.00 MB");
        assert_eq!(percent(0.004), "0.4 %");
        assert_eq!(percent(0.12), "12.0 %");
        assert_eq!(percent(0.000_4), "0.04 %");
        assert_eq!([planned_percent(0.02), planned_percent(0.005)], ["2 %", "0.5 %"]);
    }

    #[test]
    fn ratios_change_their_words_at_one_and_a_half() {
        assert_eq!(ratio(&interval(11.6, 11.2, 12.0)), "11.6x (11.2–12.0)");
        assert_eq!(ratio(&interval(0.086, 0.083, 0.089)), "0.0860x (0.0830–0.0890)");
        assert_eq!(ratio(&interval(0.969, 0.96, 0.978)), "-3.1 % (-4.0…-2.2)");
        assert_eq!(ratio(&interval(1.0, 0.9995, 1.0004)), "0.00 % (-0.05…+0.04)");
        assert_eq!(ratio(&interval(1.499, 1.4, 1.6)), "+49.9 % (+40.0…+60.0)");
        assert_eq!(ratio_alone(&interval(2.44, 2.15, 2.76)), "2.44x");
    }

    #[test]
    fn units_are_the_last_word_of_a_key() {
        assert_eq!(Unit::of_counter("server.cpu_us"), Unit::Microseconds);
        assert_eq!(Unit::of_counter("postgres.wal_bytes"), Unit::Bytes);
        assert_eq!(Unit::of_counter("postgres.wal_syncs"), Unit::Count);
        assert_eq!(Unit::of_counter("command.time_s"), Unit::Seconds);
        assert_eq!(Unit::Microseconds.show(61.0), "61.0 µs");
        assert_eq!(
            [Unit::Count.show(0.000_000_8), Unit::Count.show(0.004), Unit::Count.show(0.0)],
            ["<0.001", "0.00400", "0"]
        );
        assert_eq!([Unit::Bytes.show(0.012), Unit::Bytes.show(5.1)], ["<0.1 B", "5.10 B"]);
    }
}
