//! Charts of whole runs, as data and as pictures.

use proptest::prelude::*;
use weigh_results::analysis::{Analysis, analyse};
use weigh_results::model::{Event, Metric, Run, SequenceRecord, VariantPlan};
use weigh_results::report::chart::svg::{SvgStyle, render};
use weigh_results::report::chart::{
    self, Axis, AxisUnit, Band, Chart, ChartKind, Clock, Line, Point, Scale, Series, Shape, Theme,
};
use weigh_results::report::{Style, json, terminal};

use crate::builder::{Nature, Recipe, commands, durability};

const PLAIN: SvgStyle = SvgStyle { width_px: 720, theme: Some(Theme::Light) };

fn analysed(recipe: &Recipe) -> (Run, Analysis) {
    let run = recipe.run();
    let analysis = analyse(&run);
    (run, analysis)
}

fn charts(recipe: &Recipe) -> Vec<Chart> {
    let (run, analysis) = analysed(recipe);
    chart::all(&run, &analysis)
}

fn named(charts: &[Chart], kind: &str) -> Chart {
    charts.iter().find(|chart| chart.kind == kind).unwrap_or_else(|| panic!("no chart `{kind}`")).clone()
}

/// Clients 1 … 64: latency as clients^0.1 up to 8, in proportion beyond.
fn sweep() -> (Run, Analysis) {
    let names =
        ["clients=1", "clients=2", "clients=4", "clients=8", "clients=16", "clients=32", "clients=64"];
    let base = durability().natures[0].clone();
    let nature = |(index, name): (usize, &&'static str)| {
        let clients = f64::from(1 << index);
        let latency_s = 1e-3 * clients.powf(0.1) * (clients / 8.0).max(1.0).powf(0.9);
        Nature { name, latency_s, ..base.clone() }
    };
    let recipe = Recipe {
        natures: names.iter().enumerate().map(nature).collect(),
        metric: Metric::LatencyP50,
        rounds: 16,
        noise: 0.03,
        ..durability()
    };
    let mut run = recipe.run();
    let levels = |(index, variant): (usize, &mut VariantPlan)| {
        variant.levels = [("load.clients".to_owned(), (1 << index).to_string())].into();
    };
    run.header.plan.variants.iter_mut().enumerate().for_each(levels);
    let analysis = analyse(&run);
    (run, analysis)
}

/// A run with everything that does not count: an earlier sequence, a round set aside, one not completed.
fn untidy() -> (Run, Analysis) {
    let mut run = durability().run();
    let spoilt = run.trials.iter().position(|trial| trial.round == 7).unwrap();
    run.trials[spoilt].contaminated = Some("steal 12 %".into());
    let begun = run
        .trials
        .iter()
        .filter(|trial| trial.round == 3)
        .map(|trial| trial.started_s)
        .fold(f64::MAX, f64::min);
    for trial in &mut run.trials {
        if trial.started_s >= begun {
            trial.sequence = 1;
        }
    }
    run.rounds.iter_mut().filter(|(_, round, _)| *round >= 3).for_each(|(sequence, ..)| *sequence = 1);
    run.rounds.pop();
    let record = SequenceRecord { sequence: 1, ..run.sequences[0] };
    run.apply(Event::Sequence(record));
    let analysis = analyse(&run);
    (run, analysis)
}

/// Charts of every kind.
fn zoo() -> Vec<Chart> {
    let mut zoo = charts(&durability());
    zoo.extend(charts(&commands()));
    let (run, analysis) = sweep();
    zoo.extend(chart::all(&run, &analysis));
    let other = Recipe { run_id: "20261122-101500-postgres-durability-b7xq", slower: 1.3, ..durability() };
    let (one, other) = (analysed(&durability()), analysed(&other));
    zoo.extend(chart::across(&[(&one.0, &one.1), (&other.0, &other.1)]));
    let (run, analysis) = untidy();
    zoo.extend(chart::of(ChartKind::Trials(Metric::Throughput), &run, &analysis));
    zoo
}

#[test]
fn a_run_has_the_charts_a_reader_wants_in_their_order() {
    let kinds = |charts: &[Chart]| charts.iter().map(|chart| chart.kind.clone()).collect::<Vec<_>>();
    assert_eq!(
        kinds(&charts(&durability())),
        [
            "forest",
            "quantiles",
            "ecdf",
            "trials-throughput",
            "trials-latency_p50",
            "trials-latency_p99",
            "costs"
        ]
    );
    assert_eq!(kinds(&charts(&commands())), ["forest", "ecdf", "trials-time", "costs"]);
    let (run, analysis) = sweep();
    let swept = kinds(&chart::all(&run, &analysis));
    assert!(swept.ends_with(&["growth-latency_p50".to_owned(), "growth-throughput".to_owned()]), "{swept:?}");
    assert_eq!(
        chart::of(ChartKind::Quantiles(Clock::Service), &run, &analysis),
        None,
        "a closed loop has no service time"
    );
    let nothing = Run::new(run.header.clone());
    assert!(chart::all(&nothing, &analyse(&nothing)).is_empty());
    assert!(chart::across(&[]).is_empty());
}

#[test]
fn a_forest_has_a_row_for_every_verdict_and_for_the_aa_check() {
    let forest = named(&charts(&durability()), "forest");
    assert_eq!(
        forest.y.categories[..4],
        ["off · ops/s", "local · ops/s", "remote_apply · ops/s", "A/A: on twice · ops/s"]
    );
    let decided: Vec<&Series> = forest.series.iter().filter(|series| series.name == "decided").collect();
    assert_eq!(decided.len(), 3);
    let off = &decided[0].points[0];
    assert!(off.x > 11.0 && off.low.unwrap() < off.x && off.high.unwrap() > off.x, "{off:?}");
    assert!(off.note.contains("off is 11.6 times faster than on"), "{}", off.note);
    assert!((forest.bands[0].to - 1.02).abs() < 1e-12 && forest.lines[0].label == "baseline on");
    let noisy = named(&charts(&Recipe { noise: 0.3, ..durability() }), "forest");
    assert!(
        noisy.series.iter().any(|series| series.name == "undecided" && series.hollow),
        "{:?}",
        noisy.series
    );
    let withheld = named(&charts(&Recipe { aa: 1.08, ..durability() }), "forest");
    let of = withheld.series.iter().find(|series| series.name == "verdict withheld").unwrap();
    assert!(of.hollow && of.points[0].note.contains("withheld, because"), "{of:?}");
    assert!(!withheld.series.iter().any(|series| series.name == "decided"));
}

#[test]
fn a_quantile_is_drawn_as_far_as_ten_operations_lie_beyond() {
    let (run, analysis) = analysed(&durability());
    let quantiles = chart::of(ChartKind::Quantiles(Clock::Response), &run, &analysis).unwrap();
    assert_eq!(quantiles.x.scale, Scale::Tail);
    for series in &quantiles.series {
        let variant = series.ink.unwrap();
        let ops = analysis.variants[variant].ops as f64;
        let last = series.points.last().unwrap();
        assert!((1.0 - last.x) * ops >= 9.99 && (1.0 - last.x) * ops < 11.5, "{ops} {last:?}");
        assert!(series.points.len() <= 200, "{}", series.points.len());
        assert!(series.points.windows(2).all(|pair| pair[0].x < pair[1].x && pair[0].y <= pair[1].y));
        let median = series.points.iter().find(|point| point.x == 0.5).unwrap();
        let seen = analysis.variants[variant].medians[&Metric::LatencyP50];
        assert!((median.y / seen - 1.0).abs() < 0.02, "{} {seen}", median.y);
    }
    let note = &quantiles.series[0].points.iter().find(|point| point.x == 0.99).unwrap().note;
    assert!(
        note.starts_with("on: 99 % of operations took at most ") && note.ends_with(" took longer"),
        "{note}"
    );
    let ecdf = chart::of(ChartKind::Ecdf(Clock::Response), &run, &analysis).unwrap();
    for series in &ecdf.series {
        assert!(series.points.windows(2).all(|pair| pair[0].x < pair[1].x && pair[0].y < pair[1].y));
    }
}

#[test]
fn every_trial_is_there_and_says_why_it_does_not_count() {
    let (run, analysis) = untidy();
    let trials = chart::of(ChartKind::Trials(Metric::Throughput), &run, &analysis).unwrap();
    assert_eq!(trials.series.iter().map(|series| series.points.len()).sum::<usize>(), run.trials.len());
    let of = |name: &str| trials.series.iter().find(|series| series.name == name).unwrap();
    assert_eq!(of("round set aside").points.len(), 5);
    assert!(of("round set aside").points[0].note.ends_with("; set aside: steal 12 %"));
    assert_eq!(of("does not count").points.len(), 20, "three rounds before, one not completed");
    assert!(of("does not count").hollow && of("does not count").faint);
    assert!(of("does not count").points[0].note.contains("before the warm-up was found"));
    assert_eq!(of("off").points.len(), 39);
    assert_eq!(of("off").points[0].note, "off: 9,630 ops/s, round 4, place 1");
    assert!(of("on (hidden copy)").faint && of("on (hidden copy)").ink == Some(0));
    assert_eq!(trials.lines[0].label, "rounds count from here");
}

#[test]
fn a_sweep_tells_its_growth_everywhere() {
    let (run, analysis) = sweep();
    let curve = &analysis.growth.as_ref().unwrap().curves[0];
    let knee = curve.fit.as_ref().unwrap().knee.as_ref().unwrap();
    assert_eq!((knee.level.as_str(), curve.metric), ("8", Metric::LatencyP50));
    assert!(
        (knee.before.estimate - 0.1).abs() < 0.03 && (knee.after.estimate - 1.0).abs() < 0.03,
        "{knee:?}"
    );
    let growth = chart::of(ChartKind::Growth(Metric::LatencyP50), &run, &analysis).unwrap();
    let [fit, levels] = &growth.series[..] else { panic!("{:?}", growth.series) };
    assert_eq!((fit.shape, levels.shape, levels.points.len()), (Shape::Line, Shape::Interval, 7));
    for point in &levels.points {
        let near =
            fit.points.iter().min_by(|a, b| (a.x - point.x).abs().total_cmp(&(b.x - point.x).abs())).unwrap();
        assert!((near.y / point.y - 1.0).abs() < 0.12, "{near:?} {point:?}");
        assert!(point.low.unwrap() <= point.y && point.y <= point.high.unwrap());
    }
    let page = terminal::render(&run, &analysis, &Style { width: 100, colour: false, unicode: true });
    let told =
        page.lines().skip_while(|line| !line.starts_with("growth ")).take(5).collect::<Vec<_>>().join("\n");
    insta::assert_snapshot!("growth_100", told);
    let report = json::render(&run, &analysis);
    assert_eq!(report["growth"]["factor"], "load.clients");
    assert_eq!(report["growth"]["curves"][0]["fit"]["knee"]["level"], "8");
    assert_eq!(
        json::render(&durability().run(), &analyse(&durability().run()))["growth"],
        serde_json::Value::Null
    );
}

#[test]
fn several_runs_stand_beside_each_other() {
    let other = Recipe { run_id: "20261122-101500-postgres-durability-b7xq", slower: 1.3, ..durability() };
    let (one, other) = (analysed(&durability()), analysed(&other));
    let charts = chart::across(&[(&one.0, &one.1), (&other.0, &other.1)]);
    let forest = named(&charts, "forest");
    assert_eq!(forest.y.categories[..2], ["off · ops/s · k3f9", "off · ops/s · b7xq"]);
    assert!(
        forest.summary.contains("b7xq is 20261122-101500-postgres-durability-b7xq on rack7"),
        "{}",
        forest.summary
    );
    let names: Vec<String> =
        named(&charts, "quantiles").series.into_iter().map(|series| series.name).collect();
    assert_eq!(names[..3], ["on · k3f9", "on · b7xq", "off · k3f9"]);
}

#[test]
fn pictures_of_known_charts() {
    let one = charts(&durability());
    insta::assert_snapshot!("svg_costs_720", render(&named(&one, "costs"), PLAIN));
    insta::assert_snapshot!(
        "svg_costs_360",
        render(&named(&one, "costs"), SvgStyle { width_px: 360, theme: None })
    );
    let (run, analysis) = sweep();
    let growth = named(&chart::all(&run, &analysis), "growth-latency_p50");
    insta::assert_snapshot!(
        "svg_growth_720_dark",
        render(&growth, SvgStyle { theme: Some(Theme::Dark), ..PLAIN })
    );
}

/// What every picture must be: XML, named for a screen reader, with everything inside and no text over another.
fn check(chart: &Chart, style: SvgStyle) {
    let picture = render(chart, style);
    let document = roxmltree::Document::parse(&picture).unwrap_or_else(|error| panic!("{error}\n{picture}"));
    let root = document.root_element();
    assert_eq!(root.attribute("role"), Some("img"));
    for id in root.attribute("aria-labelledby").unwrap().split(' ') {
        assert!(document.descendants().any(|node| node.attribute("id") == Some(id)), "{id}");
    }
    let size = |name| root.attribute(name).unwrap().parse::<f64>().unwrap();
    let (width, height) = (size("width"), size("height"));
    let outside = |text: &str, to: f64| {
        let value: f64 = text.parse().unwrap_or_else(|_| panic!("`{text}` is no number"));
        !(-0.11..=to + 0.11).contains(&value)
    };
    for node in root
        .descendants()
        .filter(|node| node.is_element() && !node.ancestors().any(|of| of.has_tag_name("defs")))
    {
        for (name, to) in
            [("x", width), ("y", height), ("cx", width), ("cy", height), ("width", width), ("height", height)]
        {
            let held = node.attribute(name).is_none_or(|text| !outside(text, to));
            assert!(held, "{name} of {node:?} is outside {width} x {height}");
        }
        // Markers of the legend are drawn around their own origin.
        if let Some(path) = node.attribute("d").filter(|_| node.attribute("transform").is_none()) {
            for text in path
                .split(|letter: char| letter.is_ascii_alphabetic() || letter == ' ')
                .filter(|text| !text.is_empty())
            {
                assert!(!outside(text, width.max(height)), "`{text}` in {path}");
            }
        }
    }
}

#[test]
fn every_picture_is_well_formed_and_inside_itself() {
    for chart in zoo() {
        for width_px in [0, 240, 360, 720, 1_200, 5_000] {
            for theme in [None, Some(Theme::Light), Some(Theme::Dark)] {
                check(&chart, SvgStyle { width_px, theme });
            }
        }
    }
}

/// Texts along the horizontal axis, as wide as they are taken to be, must not touch.
#[test]
fn labels_below_the_plot_do_not_touch() {
    for chart in zoo() {
        for width_px in [240, 360, 720, 1_200] {
            let picture = render(&chart, SvgStyle { width_px, theme: None });
            let document = roxmltree::Document::parse(&picture).unwrap();
            let mut texts: Vec<(String, f64, f64)> = document
                .descendants()
                .filter(|node| node.attribute("text-anchor") == Some("middle"))
                .map(|node| {
                    let at = |name| node.attribute(name).unwrap().parse::<f64>().unwrap();
                    (node.text().unwrap().to_owned(), at("x"), at("y"))
                })
                .collect();
            texts.sort_by(|a, b| a.2.total_cmp(&b.2).then(a.1.total_cmp(&b.1)));
            for pair in texts.windows(2).filter(|pair| pair[0].2 == pair[1].2) {
                let half = |text: &str| 0.5 * 6.0 * text.chars().count() as f64;
                let gap = pair[1].1 - half(&pair[1].0) - pair[0].1 - half(&pair[0].0);
                assert!(gap > 0.0, "{pair:?} in {} at {width_px}", chart.kind);
            }
        }
    }
}

#[test]
fn what_a_variant_is_called_cannot_break_a_picture() {
    let mut recipe = durability();
    recipe.natures[1].name = "SELECT '<script>alert(1)</script>' & \"x\"\nFROM t WHERE a > 1 AND b < 2 -- a long statement that goes on and on and on";
    for chart in charts(&recipe) {
        check(&chart, PLAIN);
        check(&chart, SvgStyle { width_px: 360, theme: None });
        let picture = render(&chart, PLAIN);
        assert!(!picture.contains("<script"), "{picture}");
    }
}

#[test]
fn many_trials_stay_compact() {
    let (run, analysis) = analysed(&Recipe { rounds: 1_000, horizon: 1_000, measure_s: 0.1, ..durability() });
    let trials = chart::of(ChartKind::Trials(Metric::Throughput), &run, &analysis).unwrap();
    let count: usize = trials.series.iter().map(|series| series.points.len()).sum();
    assert_eq!(count, 5_000);
    let (data, picture) = (serde_json::to_string(&trials).unwrap().len(), render(&trials, PLAIN).len());
    assert!(data < 120 * count && picture < 160 * count, "{data} bytes of data, {picture} of picture");
}

fn number() -> impl Strategy<Value = f64> {
    prop_oneof![
        4 => 0.001..1_000.0_f64,
        1 => proptest::num::f64::ANY,
        1 => prop_oneof![Just(0.0), Just(-1.0), Just(1.0), Just(f64::NAN), Just(f64::INFINITY), Just(f64::NEG_INFINITY), Just(f64::MAX)],
    ]
}

fn point() -> impl Strategy<Value = Point> {
    (number(), number(), proptest::option::of(number()), proptest::option::of(number()), ".{0,12}")
        .prop_map(|(x, y, low, high, note)| Point { x, y, low, high, note })
}

fn series() -> impl Strategy<Value = Series> {
    let shapes = [Shape::Line, Shape::Step, Shape::Points, Shape::Interval, Shape::Bars];
    let ink = proptest::option::of(0..70_usize);
    (
        ".{0,60}",
        ink,
        proptest::sample::select(shapes.to_vec()),
        any::<bool>(),
        any::<bool>(),
        proptest::collection::vec(point(), 0..9),
    )
        .prop_map(|(name, ink, shape, faint, hollow, points)| Series {
            name,
            ink,
            shape,
            faint,
            hollow,
            points,
        })
}

fn axis(scales: &'static [Scale]) -> impl Strategy<Value = Axis> {
    let units = [
        AxisUnit::Seconds,
        AxisUnit::PerSecond,
        AxisUnit::Ratio,
        AxisUnit::Share,
        AxisUnit::Bytes,
        AxisUnit::Number,
    ];
    let categories = proptest::collection::vec(".{0,80}", 0..5);
    (".{0,80}", proptest::sample::select(units.to_vec()), proptest::sample::select(scales), categories)
        .prop_map(|(label, unit, scale, categories)| Axis { label, unit, scale, categories })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_chart_is_a_picture(
        (title, summary) in (".{0,90}", ".{0,40}"),
        x in axis(&[Scale::Linear, Scale::Log, Scale::Tail]),
        y in axis(&[Scale::Linear, Scale::Log, Scale::Category]),
        series in proptest::collection::vec(series(), 0..5),
        (from, to, at) in (number(), number(), number()),
        width_px in 100_u32..1_500,
    ) {
        let bands = vec![Band { from, to, label: title.clone() }];
        let lines = vec![Line { at, label: summary.clone() }];
        check(&Chart { kind: "any <chart>".into(), title, summary, x, y, series, bands, lines }, SvgStyle { width_px, theme: None });
    }
}
