//! Shares of a metric's variation that factors explain: a bar each, largest on top, with the interval across it.

use super::super::{AxisUnit, Chart, ChartKind, Point, Scale, Series, Shape};
use super::{Source, axes};
use crate::analysis::factors::{FactorTable, Factors};
use crate::model::Metric;
use crate::report::{factors, units, words};

/// One bar.
struct Bar {
    name: String,
    share: f64,
    range: Option<(f64, f64)>,
    is_noise: bool,
}

pub(super) fn chart(source: &Source<'_>, metric: Metric) -> Option<Chart> {
    let found = source.analysis.factors.as_ref()?;
    let table = found.tables.iter().find(|table| table.metric == metric)?;
    let bars = bars(found, table);
    let rounds = words::plural(u32::try_from(table.found.rounds).unwrap_or(u32::MAX), "round");
    let told: Vec<String> =
        bars.iter().map(|bar| format!("{} {}", bar.name, units::percent(bar.share))).collect();
    Some(Chart {
        kind: ChartKind::Factors(metric).name(),
        title: format!("What explains how {} differs", words::noun(metric)),
        summary: format!(
            "Shares of the variation between the trials of a round, over {rounds}, with 95 % intervals: {}.",
            axes::one_line(&told.join("; "))
        ),
        x: axes::values("share of the variation", AxisUnit::Share, Scale::Linear),
        y: axes::categories(bars.iter().map(|bar| bar.name.clone()).collect()),
        series: vec![
            series("explained", &bars, Shape::Bars, |bar| !bar.is_noise),
            series("noise", &bars, Shape::Bars, |bar| bar.is_noise),
            series("95 % interval", &bars, Shape::Interval, |bar| bar.range.is_some()),
        ],
        bands: Vec::new(),
        lines: Vec::new(),
    })
}

fn bars(found: &Factors, table: &FactorTable) -> Vec<Bar> {
    let mut bars: Vec<Bar> = table
        .found
        .shares
        .iter()
        .map(|share| Bar {
            name: axes::one_line(&factors::named(found, &share.factors)),
            share: share.share.estimate,
            range: Some((share.share.low, share.share.high)),
            is_noise: false,
        })
        .collect();
    bars.sort_by(|a, b| b.share.total_cmp(&a.share));
    let rest =
        |name: &str, share: f64| Bar { name: name.to_owned(), share, range: None, is_noise: name == "noise" };
    if found.factors.len() > 2 {
        bars.push(rest("three and more together", table.found.higher));
    }
    bars.push(rest("noise", table.found.noise));
    bars
}

fn series(name: &str, bars: &[Bar], shape: Shape, of: impl Fn(&Bar) -> bool) -> Series {
    let point = |(place, bar): (usize, &Bar)| {
        let range = bar.range.map_or_else(String::new, |(low, high)| {
            format!(" (95 % interval {}–{})", units::percent(low), units::percent(high))
        });
        let (low, high) = match (shape, bar.range) {
            (Shape::Interval, Some((low, high))) => (Some(low), Some(high)),
            _ => (None, None),
        };
        #[expect(clippy::cast_precision_loss, reason = "at most some twenty bars")]
        let y = place as f64;
        Point {
            x: bar.share,
            y,
            low,
            high,
            note: format!("{}: {}{range}", bar.name, units::percent(bar.share)),
        }
    };
    Series {
        name: name.to_owned(),
        ink: (shape == Shape::Bars && name != "noise").then_some(1),
        shape,
        faint: false,
        hollow: name == "noise",
        points: bars.iter().enumerate().filter(|(_, bar)| of(bar)).map(point).collect(),
    }
}
