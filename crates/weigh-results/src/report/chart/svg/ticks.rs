//! What is written along an axis: 1-2-5 steps, decades, nines; minutes and hours for long times.

use super::super::{Axis, AxisUnit, Scale};
use super::scale::Range;
use crate::report::units;

/// Decades between two labels at most so many.
const DECADES_MAX: f64 = 10.0;

/// A line across the plot, with a text if there is room for it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Tick {
    /// Where.
    pub(super) at: f64,
    /// What is written there; empty: nothing.
    pub(super) text: String,
    /// 0 is the most important.
    pub(super) rank: u8,
}

/// The ticks of an axis that are inside it, `wanted` of the first rank or so.
pub(super) fn ticks(axis: &Axis, range: &Range, wanted: f64) -> Vec<Tick> {
    let mut found = match axis.scale {
        Scale::Category => Vec::new(),
        Scale::Tail => tail(),
        Scale::Linear => linear(axis.unit, range.low, range.high, wanted),
        Scale::Log => logarithmic(axis.unit, range.low, range.high, wanted),
    };
    found.retain(|tick| tick.at.is_finite() && range.place(tick.at).is_some());
    found
}

/// The levels of a sweep: they are what was measured, and nobody looks for a 5 between 4 and 8.
pub(super) fn levels(axis: &Axis, range: &Range, levels: &[f64]) -> Vec<Tick> {
    let inside = levels.iter().filter(|at| range.place(**at).is_some());
    inside.map(|at| Tick { at: *at, text: alone(axis.unit, *at), rank: 0 }).collect()
}

fn tail() -> Vec<Tick> {
    let of = |at: f64, rank: u8, text: &str| Tick { at, text: text.to_owned(), rank };
    let mut ticks = vec![
        of(0.0, 2, "0 %"),
        of(0.5, 0, "50 %"),
        of(0.75, 3, "75 %"),
        of(0.9, 0, "90 %"),
        of(0.95, 3, "95 %"),
    ];
    for nines in 2..=8_usize {
        let at = 1.0 - 10f64.powi(-i32::try_from(nines).unwrap_or(8));
        ticks.push(of(at, 1, &format!("{:.*} %", nines - 2, 100.0 * at)));
    }
    ticks
}

/// The step of the kind 1, 2, 5 that gives about `wanted` ticks.
fn nice(width: f64, wanted: f64) -> f64 {
    let rough = (width / wanted.max(1.0)).max(f64::MIN_POSITIVE);
    let decade = 10f64.powf(rough.log10().floor());
    let times = rough / decade;
    decade
        * if times <= 1.3 {
            1.0
        } else if times <= 3.0 {
            2.0
        } else if times <= 6.0 {
            5.0
        } else {
            10.0
        }
}

/// Told in minutes and hours, seconds: longer than anybody measures is told as a number again.
const LONG: std::ops::Range<f64> = 120.0..1e7;

/// Steps of clocks, seconds.
const CLOCK: [f64; 14] = [
    15.0, 30.0, 60.0, 120.0, 300.0, 600.0, 900.0, 1_800.0, 3_600.0, 7_200.0, 14_400.0, 21_600.0, 43_200.0,
    86_400.0,
];

fn linear(unit: AxisUnit, low: f64, high: f64, wanted: f64) -> Vec<Tick> {
    let width = high / 2.0 - low / 2.0;
    if !(width > 0.0 && width.is_finite()) {
        return Vec::new();
    }
    let width = 2.0 * width;
    let rough = width / wanted.max(1.0);
    let long = unit == AxisUnit::Seconds && LONG.contains(&high) && rough > 10.0;
    let step = CLOCK.into_iter().find(|step| long && *step >= rough).unwrap_or_else(|| nice(width, wanted));
    let first = (low / step).ceil();
    let largest = low.abs().max(high.abs());
    (0..=64)
        .map(|index| step * (first + f64::from(index)))
        .take_while(|at| *at <= high + 1e-9 * step)
        // 3 × 0.1 is not 0.3, and 0 must be 0.
        .map(|at| if at.abs() < 1e-9 * step { 0.0 } else { at })
        .map(|at| Tick { at, text: evenly(unit, at, step, largest), rank: 0 })
        .collect()
}

fn logarithmic(unit: AxisUnit, low: f64, high: f64, wanted: f64) -> Vec<Tick> {
    let (from, to) = (low / std::f64::consts::LN_10, high / std::f64::consts::LN_10);
    let decades = to - from;
    if !(decades > 0.0 && decades.is_finite()) {
        return Vec::new();
    }
    if decades < 0.75 {
        // Too few of 1, 2, 5 to read anything off; a short stretch of a logarithm is nearly even.
        let mut ticks = linear(unit, low.exp(), high.exp(), wanted);
        ticks
            .iter_mut()
            .filter(|tick| tick.at == 1.0 && unit == AxisUnit::Ratio)
            .for_each(|tick| tick.rank = 0);
        return ticks;
    }
    let every = (decades / DECADES_MAX.min(wanted.max(2.0))).ceil().max(1.0);
    let first = (from / every).floor() * every;
    let mut ticks = Vec::new();
    for index in 0..=64 {
        let exponent = first + every * f64::from(index);
        if exponent > to + 1e-9 {
            break;
        }
        let decade = 10f64.powf(exponent);
        ticks.push(Tick { at: decade, text: alone(unit, decade), rank: u8::from(decade != 1.0) });
        for digit in 2..10_u8 {
            let (named, at) = (digit == 2 || digit == 5, f64::from(digit) * decade);
            let text = if named && every == 1.0 { alone(unit, at) } else { String::new() };
            if every == 1.0 && (named || decades < 4.0) {
                ticks.push(Tick { at, text, rank: if named { 2 } else { 3 } });
            }
        }
    }
    ticks
}

/// A tick of an axis with even steps: as many decimals as the step needs, in the unit of the largest.
fn evenly(unit: AxisUnit, at: f64, step: f64, largest: f64) -> String {
    let (factor, name) = unit_for(unit, largest);
    if unit == AxisUnit::Seconds && LONG.contains(&largest) && step >= 10.0 {
        return clock(at);
    }
    let decimals = (-(step / factor).log10() - 1e-9).ceil().clamp(0.0, 12.0);
    format!("{}{name}", rounded(at / factor, decimals))
}

/// A tick that stands for itself.
fn alone(unit: AxisUnit, at: f64) -> String {
    if unit == AxisUnit::Seconds && LONG.contains(&at) {
        return clock(at);
    }
    let (factor, name) = unit_for(unit, at);
    let value = at / factor;
    let decimals = (2.0 - value.abs().log10().floor()).clamp(0.0, 12.0);
    let text = rounded(value, decimals);
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    format!("{text}{name}")
}

/// `0 s`, `30 s`, `2m`, `4m30s`, `1h15m`.
fn clock(at: f64) -> String {
    if at < 0.0 {
        return format!("-{}", clock(-at));
    }
    let text = units::elapsed(at);
    if at < 59.5 {
        return format!("{at:.0} s");
    }
    text.trim_end_matches("00s").trim_end_matches("00m").to_owned()
}

/// Grouped, with that many decimals; very large and very small numbers by their power of ten.
fn rounded(value: f64, decimals: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    if !(1e-6..1e15).contains(&value.abs()) {
        return format!("{value:.0e}");
    }
    let digits = value.abs().log10().floor() + 1.0 + decimals;
    #[expect(clippy::cast_possible_truncation, reason = "held between 1 and 17")]
    units::significant(value, digits.clamp(1.0, 17.0) as i32)
}

/// What a value of that size is told in: the factor of the unit, and its name.
fn unit_for(unit: AxisUnit, largest: f64) -> (f64, &'static str) {
    let steps: &[(f64, &str)] = match unit {
        AxisUnit::Seconds => &[(1.0, " s"), (1e-3, " ms"), (1e-6, " µs"), (1e-9, " ns")],
        AxisUnit::Bytes => &[(1e12, " TB"), (1e9, " GB"), (1e6, " MB"), (1e3, " kB"), (1.0, " B")],
        AxisUnit::Share => &[(0.01, " %")],
        AxisUnit::Ratio => &[(1.0, "x")],
        AxisUnit::PerSecond | AxisUnit::Number => &[(1.0, "")],
    };
    let found = steps.iter().find(|(factor, _)| largest >= factor * (1.0 - 1e-9));
    found.or(steps.last()).copied().unwrap_or((1.0, ""))
}

/// Which ticks along a line of labels are written: the more important first, none nearer than `gap_px` to another.
pub(super) fn that_fit(
    ticks: &[Tick],
    extent: impl Fn(&Tick) -> Option<(f64, f64)>,
    gap_px: f64,
) -> Vec<bool> {
    let mut order: Vec<usize> = (0..ticks.len()).filter(|index| !ticks[*index].text.is_empty()).collect();
    order.sort_by_key(|index| ticks[*index].rank);
    let mut taken: Vec<(f64, f64)> = Vec::new();
    let mut written = vec![false; ticks.len()];
    for index in order {
        let Some((from, to)) = extent(&ticks[index]) else { continue };
        if taken.iter().all(|(low, high)| to + gap_px <= *low || from - gap_px >= *high) {
            taken.push((from, to));
            written[index] = true;
        }
    }
    written
}

#[cfg(test)]
mod tests {
    use super::super::scale::stretch;
    use super::*;

    fn texts(scale: Scale, unit: AxisUnit, low: f64, high: f64) -> String {
        let axis = Axis { label: String::new(), unit, scale, categories: Vec::new() };
        let of = |value| stretch(scale, value).unwrap();
        let range = Range { scale, low: of(low), high: of(high), from_px: 0.0, to_px: 500.0 };
        let told = ticks(&axis, &range, 6.0).into_iter().filter(|tick| !tick.text.is_empty());
        told.map(|tick| tick.text).collect::<Vec<_>>().join(" | ")
    }

    #[test]
    fn ticks_are_round_and_carry_their_unit() {
        use AxisUnit::{Bytes, Number, PerSecond, Ratio, Seconds, Share};
        assert_eq!(texts(Scale::Linear, Seconds, 0.0, 0.005), "0 ms | 1 ms | 2 ms | 3 ms | 4 ms | 5 ms");
        assert_eq!(texts(Scale::Linear, Seconds, 0.0, 40.0), "0 s | 10 s | 20 s | 30 s | 40 s");
        assert_eq!(texts(Scale::Linear, Seconds, 0.0, 620.0), "0 s | 2m | 4m | 6m | 8m | 10m");
        assert_eq!(
            texts(Scale::Linear, PerSecond, 1_000.0, 1_004.0),
            "1,000 | 1,001 | 1,002 | 1,003 | 1,004"
        );
        assert_eq!(texts(Scale::Linear, Share, 0.0, 1.0), "0 % | 20 % | 40 % | 60 % | 80 % | 100 %");
        assert_eq!(texts(Scale::Log, Ratio, 0.9, 1.1), "0.90x | 0.95x | 1.00x | 1.05x | 1.10x");
        assert_eq!(texts(Scale::Log, Ratio, 0.5, 12.0), "0.5x | 1x | 2x | 5x | 10x");
        assert_eq!(
            texts(Scale::Log, Seconds, 5e-5, 0.02),
            "50 µs | 100 µs | 200 µs | 500 µs | 1 ms | 2 ms | 5 ms | 10 ms | 20 ms"
        );
        assert_eq!(texts(Scale::Log, Bytes, 1e3, 1e5), "1 kB | 2 kB | 5 kB | 10 kB | 20 kB | 50 kB | 100 kB");
        assert_eq!(texts(Scale::Tail, Share, 0.0, 0.9995), "0 % | 50 % | 75 % | 90 % | 95 % | 99 % | 99.9 %");
        assert_eq!(texts(Scale::Linear, Number, -1.0, 1.0), "-1.0 | -0.5 | 0 | 0.5 | 1.0");
    }

    #[test]
    fn endless_axes_have_few_ticks() {
        for (low, high) in [(1e-300, 1e300), (1e299, 1e300), (1e-300, 1e-299)] {
            let log = texts(Scale::Log, AxisUnit::Number, low, high);
            assert!((2..30).contains(&log.split('|').count()), "{log}");
        }
        let even = texts(Scale::Linear, AxisUnit::Seconds, -1e300, 1e300);
        assert!((2..30).contains(&even.split('|').count()), "{even}");
    }

    #[test]
    fn the_more_important_label_is_the_one_that_is_written() {
        let of = |at: f64, rank| Tick { at, text: "x".into(), rank };
        let ticks = [of(0.0, 1), of(10.0, 0), of(20.0, 2), of(40.0, 2)];
        let written = that_fit(&ticks, |tick| Some((tick.at - 4.0, tick.at + 4.0)), 5.0);
        assert_eq!(written, [false, true, false, true]);
    }
}
