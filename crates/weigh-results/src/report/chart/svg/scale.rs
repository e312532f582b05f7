//! From values to places along an axis.

use super::super::{Axis, AxisUnit, Chart, Point, Scale, Shape};

/// Values beyond this are no measurements; places are computed without overflow up to it.
const LARGEST: f64 = 1e300;
/// A share this near to 1 is the end of the tail axis.
const TAIL_END: f64 = 1e-12;

/// An axis with its room: what is drawn from where to where.
#[derive(Clone, Debug)]
pub(super) struct Range {
    pub(super) scale: Scale,
    /// Stretched values at both ends (see [`stretch`]).
    pub(super) low: f64,
    pub(super) high: f64,
    /// Pixels at both ends; of the vertical axis `from` is below `to`.
    pub(super) from_px: f64,
    pub(super) to_px: f64,
}

/// The value on an even scale; `None` where the scale has no place for it.
pub(super) fn stretch(scale: Scale, value: f64) -> Option<f64> {
    let stretched = match scale {
        Scale::Linear | Scale::Category => value,
        Scale::Log if value > 0.0 => value.ln(),
        Scale::Tail if (0.0..1.0).contains(&value) => -((1.0 - value).max(TAIL_END)).log10(),
        Scale::Log | Scale::Tail => return None,
    };
    (stretched.is_finite() && value.abs() <= LARGEST).then_some(stretched)
}

impl Range {
    /// The place of a value, also outside the axis.
    fn fraction(&self, value: f64) -> Option<f64> {
        let stretched = stretch(self.scale, value)?;
        // Halves, because the difference of two large numbers may overflow.
        let share = (stretched / 2.0 - self.low / 2.0) / (self.high / 2.0 - self.low / 2.0);
        share.is_finite().then_some(share)
    }

    /// Where a value is; `None` if that is outside the axis.
    pub(super) fn place(&self, value: f64) -> Option<f64> {
        let share = self.fraction(value).filter(|share| (-1e-9..=1.0 + 1e-9).contains(share))?;
        Some(self.from_px + share.clamp(0.0, 1.0) * (self.to_px - self.from_px))
    }

    /// Where a value is, held at the ends; with whether it had to be held. A value without a place is at the low end.
    pub(super) fn held(&self, value: f64) -> (f64, bool) {
        let above = value == f64::INFINITY || value > LARGEST;
        let share = self.fraction(value).unwrap_or(if above { 2.0 } else { -1.0 });
        let inside = (-1e-9..=1.0 + 1e-9).contains(&share);
        (self.from_px + share.clamp(0.0, 1.0) * (self.to_px - self.from_px), !inside)
    }

    pub(super) fn length_px(&self) -> f64 {
        (self.to_px - self.from_px).abs()
    }
}

/// The horizontal axis with room for everything on it. Its pixels are set later.
pub(super) fn horizontal(chart: &Chart) -> Range {
    let sideways = chart.y.scale == Scale::Category;
    let bars = sideways && chart.series.iter().any(|series| series.shape == Shape::Bars);
    let marks = chart.lines.iter().map(|line| line.at).chain(bars.then_some(0.0));
    let bands = chart.bands.iter().flat_map(|band| [band.from, band.to]);
    span(&chart.x, points(chart).map(|point| point.x).chain(marks), ends(chart, sideways).chain(bands))
}

/// The vertical axis.
pub(super) fn vertical(chart: &Chart) -> Range {
    let upright = chart.y.scale != Scale::Category;
    let bars = chart.series.iter().any(|series| series.shape == Shape::Bars);
    span(&chart.y, points(chart).map(|point| point.y).chain(bars.then_some(0.0)), ends(chart, upright))
}

fn points(chart: &Chart) -> impl Iterator<Item = &Point> {
    chart.series.iter().flat_map(|series| &series.points)
}

fn ends(chart: &Chart, here: bool) -> impl Iterator<Item = f64> {
    points(chart).filter(move |_| here).flat_map(|point| [point.low, point.high]).flatten()
}

/// `must` is always inside. `may` (ends of intervals, bands) is inside as far as that leaves `must` a third of the room:
/// one interval that says nothing must not squeeze all others.
fn span(axis: &Axis, must: impl Iterator<Item = f64>, may: impl Iterator<Item = f64>) -> Range {
    let of = |low: f64, high: f64| Range { scale: axis.scale, low, high, from_px: 0.0, to_px: 1.0 };
    if axis.scale == Scale::Category {
        #[expect(clippy::cast_precision_loss, reason = "there are at most some hundred rows")]
        return of(-0.5, axis.categories.len().max(1) as f64 - 0.5);
    }
    if axis.scale == Scale::Linear && axis.unit == AxisUnit::Share {
        return of(0.0, 1.0);
    }
    let hull = |values: &mut dyn Iterator<Item = f64>| {
        values.filter_map(|value| stretch(axis.scale, value)).fold(None, |hull: Option<(f64, f64)>, value| {
            Some(hull.map_or((value, value), |(low, high)| (low.min(value), high.max(value))))
        })
    };
    let mut may = may;
    let mut must = must;
    let wide = hull(&mut may);
    let Some((low, high)) = hull(&mut must).or(wide) else {
        return of(0.0, if axis.scale == Scale::Log { 10f64.ln() } else { 1.0 });
    };
    let least = if axis.scale == Scale::Log { 0.1 } else { 1e-3 * high.abs().max(low.abs()) };
    let allowed = (high - low).max(least);
    let (wide_low, wide_high) = wide.unwrap_or((low, high));
    let (low, high) = (wide_low.clamp(low - allowed, low), wide_high.clamp(high, high + allowed));
    let (low, high) = padded(axis, low, high);
    of(low, high)
}

/// Some room at the ends, and a width where all values are one; never below 0 for what cannot be negative.
fn padded(axis: &Axis, low: f64, high: f64) -> (f64, f64) {
    if axis.scale == Scale::Tail {
        return (0.0, high.max(1.0));
    }
    let width = high - low;
    let nothing = width <= 1e-9 * high.abs().max(low.abs()) || width == 0.0;
    let room = match axis.scale {
        Scale::Log if nothing => 0.2,
        _ if nothing => {
            (0.1 * high.abs()).max(f64::MIN_POSITIVE.sqrt()).max(if high == 0.0 { 1.0 } else { 0.0 })
        }
        _ => 0.04 * width,
    };
    let floor = if axis.scale == Scale::Linear && low >= 0.0 { 0.0 } else { f64::NEG_INFINITY };
    ((low - room).max(floor), high + room)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axis(scale: Scale) -> Axis {
        Axis { label: String::new(), unit: AxisUnit::Ratio, scale, categories: Vec::new() }
    }

    #[test]
    fn nines_are_equally_far_apart() {
        let range = Range { scale: Scale::Tail, low: 0.0, high: 3.0, from_px: 0.0, to_px: 300.0 };
        for (value, place) in [(0.0, 0.0), (0.9, 100.0), (0.99, 200.0), (0.999, 300.0)] {
            assert!((range.place(value).unwrap() - place).abs() < 1e-6, "{value}");
        }
        assert_eq!(range.place(0.9999), None);
        assert_eq!(range.place(1.0), None);
        assert_eq!(range.held(0.9999), (300.0, true));
    }

    #[test]
    fn one_vague_interval_does_not_squeeze_the_others() {
        let points = [1.0, 2.0, 4.0];
        let range = span(&axis(Scale::Log), points.into_iter(), [1e-30, 1e30].into_iter());
        assert!(range.low > 0.2_f64.ln() && range.high < 20.0_f64.ln(), "{range:?}");
        let narrow = span(&axis(Scale::Log), points.into_iter(), [0.9, 4.4].into_iter());
        assert!(narrow.low < 0.9_f64.ln() && narrow.low > 0.8_f64.ln(), "{narrow:?}");
    }

    #[test]
    fn strange_values_have_a_place_or_none() {
        let range = span(&axis(Scale::Linear), [-1e300, 1e300].into_iter(), std::iter::empty());
        assert!(range.place(0.0).is_some() && range.place(f64::NAN).is_none());
        assert_eq!(range.held(f64::INFINITY), (1.0, true));
        let empty = span(&axis(Scale::Log), [f64::NAN, -1.0].into_iter(), std::iter::empty());
        assert!(empty.place(1.0).is_some() && empty.place(0.0).is_none());
        let one = span(&axis(Scale::Linear), [5.0].into_iter(), std::iter::empty());
        assert!((one.place(5.0).unwrap() - 0.5).abs() < 1e-9);
    }
}
