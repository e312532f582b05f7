//! What a run shows besides its verdicts: factors, curves beside each other, first calls, what was reported back.

use std::collections::BTreeMap;

use weigh_results::analysis::growth::Dimension;
use weigh_results::analysis::{Analysis, analyse};
use weigh_results::model::{Event, InstanceRecord, Metric, Plan, Run, Slot, Trial};
use weigh_results::report::chart::{self, svg};
use weigh_results::report::{Style, csv, factors, first_calls, html, json, markdown, terminal};

use crate::builder::{Nature, Recipe, durability};

/// A variant's name, levels and latency in seconds.
type Of<'l> = (&'static str, &'l [(&'l str, &'l str)], f64);

/// A run whose variants have these levels and latencies, in this order.
fn crossed(variants: &[Of<'_>], rounds: u32, noise: f64) -> Run {
    let base = durability().natures[0].clone();
    let nature = |(name, _, latency_s): &Of<'_>| Nature { name, latency_s: *latency_s, ..base.clone() };
    let recipe = Recipe { natures: variants.iter().map(nature).collect(), rounds, noise, ..durability() };
    let mut run = recipe.run();
    set_levels(&mut run.header.plan, variants);
    run
}

fn set_levels(plan: &mut Plan, variants: &[Of<'_>]) {
    for (variant, (_, levels, _)) in plan.variants.iter_mut().zip(variants) {
        variant.levels = levels.iter().map(|(key, level)| ((*key).to_owned(), (*level).to_owned())).collect();
    }
}

const COMMIT: &str = "settings.synchronous_commit";
const BATCH: &str = "operations.insert.batch";

/// A batch of 100 brings 20 times as much, `off` ten times, and both together 40 times instead of 200.
fn upserts() -> Run {
    crossed(
        &[
            ("on, batch=1", &[(COMMIT, "on"), (BATCH, "1")], 2e-3),
            ("on, batch=100", &[(COMMIT, "on"), (BATCH, "100")], 1e-4),
            ("off, batch=1", &[(COMMIT, "off"), (BATCH, "1")], 2e-4),
            ("off, batch=100", &[(COMMIT, "off"), (BATCH, "100")], 5e-5),
        ],
        20,
        0.02,
    )
}

fn page(run: &Run, width: usize) -> String {
    terminal::render(run, &analyse(run), &Style { width, colour: false, unicode: true })
}

fn with_trials(mut run: Run, change: impl Fn(&mut Trial)) -> (Run, Analysis) {
    run.trials.iter_mut().for_each(change);
    let analysis = analyse(&run);
    (run, analysis)
}

#[test]
fn two_factors_are_taken_apart() {
    let run = upserts();
    let analysis = analyse(&run);
    let found = analysis.factors.as_ref().unwrap();
    let names: Vec<&str> = found.factors.iter().map(|factor| factor.name()).collect();
    assert_eq!(names, ["insert.batch", "synchronous_commit"]);
    let table = &found.tables[0].found;
    // By hand, ln of the latencies: batch (20·4)^½, commit (10·2)^½, both together 4/20.
    let effect = |at: usize| table.effects[at].effect.estimate.exp();
    assert!((effect(0) / 80_f64.sqrt() - 1.0).abs() < 0.02, "{}", effect(0));
    assert!((effect(1) / 20_f64.sqrt() - 1.0).abs() < 0.02, "{}", effect(1));
    let both = &table.interactions[0];
    assert!((both.effect.estimate.exp() / 0.2 - 1.0).abs() < 0.03 && both.is_certain(), "{both:?}");
    let total: f64 = table.shares.iter().map(|share| share.share.estimate).sum::<f64>() + table.noise;
    assert!((total - 1.0).abs() < 0.01, "{total}");
    let told = factors::sentences(&run, &analysis).join("\n");
    assert!(
        told.contains("insert.batch and synchronous_commit explain most of how throughput differs"),
        "{told}"
    );
    assert!(told.contains("the gain of insert.batch=100 is 5.0"), "{told}");
    assert!(told.contains("smaller with synchronous_commit=off"), "{told}");
    insta::assert_snapshot!("factors_80", page(&run, 80));
    insta::assert_snapshot!("factors_140", page(&run, 140));
    insta::assert_snapshot!("factors_markdown", markdown::run(&run, &analysis));
    let json = json::render(&run, &analysis);
    assert_eq!(json["factors"]["metrics"][0]["shares"][2]["factors"][1], COMMIT);
    assert_eq!(json["factors"]["factors"][0]["baseline"], "1");
}

#[test]
fn equal_variants_are_explained_by_noise() {
    let same: Vec<Of<'_>> = vec![
        ("a", &[("x", "1"), ("y", "1")], 1e-3),
        ("b", &[("x", "1"), ("y", "2")], 1e-3),
        ("c", &[("x", "2"), ("y", "1")], 1e-3),
        ("d", &[("x", "2"), ("y", "2")], 1e-3),
    ];
    let run = crossed(&same, 30, 0.05);
    let analysis = analyse(&run);
    let table = &analysis.factors.as_ref().unwrap().tables[0].found;
    assert!(table.noise > 0.9, "{table:?}");
    assert!(table.interactions.iter().all(|both| !both.is_certain()));
    let told = factors::sentences(&run, &analysis);
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].starts_with("no setting explains how throughput differs"), "{told:?}");
}

#[test]
fn rounds_without_a_decided_variant_do_not_count_and_too_few_say_so() {
    let mut run = upserts();
    run.trials.retain(|trial| trial.round < 5 || trial.slot.variant != 3);
    let analysis = analyse(&run);
    let found = analysis.factors.as_ref().unwrap();
    assert_eq!((found.rounds, found.tables.len()), (5, 0));
    let told = factors::sentences(&run, &analysis);
    assert!(told[0].contains("`factorial = true`"), "{told:?}");
    assert!(analyse(&durability().run()).factors.is_none(), "one factor");
}

/// Two methods of finding the distinct values of a column, by rows.
fn distinct() -> Run {
    let rows = ["1e5", "1e6", "1e7"];
    let name = |at: usize| {
        ["distinct 1e5", "distinct 1e6", "distinct 1e7", "loose 1e5", "loose 1e6", "loose 1e7"][at]
    };
    let levels: Vec<Vec<(&str, &str)>> = ["distinct", "loose"]
        .iter()
        .flat_map(|method| rows.map(|rows| vec![("vars.method", *method), ("vars.rows", rows)]))
        .collect();
    let variants: Vec<Of<'_>> = (0..6)
        .map(|at| {
            let latency_s = if at < 3 { 1e-3 * 10_f64.powi(at as i32) } else { 5e-4 };
            (name(at), &levels[at][..], latency_s)
        })
        .collect();
    crossed(&variants, 16, 0.03)
}

#[test]
fn curves_of_two_methods_are_compared() {
    let run = distinct();
    let analysis = analyse(&run);
    let growth = analysis.growth.as_ref().unwrap();
    assert_eq!(growth.factor, "vars.rows");
    let contrast = &growth.contrasts[0];
    assert!((contrast.difference.estimate - 1.0).abs() < 0.02, "{contrast:?}");
    let text = page(&run, 140);
    assert!(text.contains("method=loose as rows^0.0"), "{text}");
    insta::assert_snapshot!("distinct_100", page(&run, 100));
    let json = json::render(&run, &analysis);
    assert!(json["growth"]["contrasts"][0]["difference"]["low"].as_f64().unwrap() > 0.9);
    assert!(markdown::run(&run, &analysis).contains("compared by throughput"));
    // The same run is a full product as well.
    assert_eq!(analysis.factors.as_ref().unwrap().factors.len(), 2);
}

#[test]
fn a_mix_is_a_share_and_zero_is_on_no_logarithmic_axis() {
    let texts = [("100", "0"), ("90", "10"), ("50", "50"), ("0", "100")];
    let levels: Vec<Vec<(&str, &str)>> = texts
        .iter()
        .map(|(read, write)| vec![("operations.read.weight", *read), ("operations.write.weight", *write)])
        .collect();
    let latencies = [1e-4, 2e-4, 6e-4, 1e-3];
    let names = ["all reads", "10 % writes", "half", "all writes"];
    let variants: Vec<Of<'_>> = (0..4).map(|at| (names[at], &levels[at][..], latencies[at])).collect();
    let run = crossed(&variants, 12, 0.02);
    let analysis = analyse(&run);
    let growth = analysis.growth.as_ref().unwrap();
    assert_eq!((growth.factor.as_str(), growth.dimension), ("operations.write.weight", Dimension::Share));
    let values: Vec<f64> = growth.curves[0].points.iter().map(|point| point.value).collect();
    assert_eq!(values, [0.0, 0.1, 0.5, 1.0]);
    let text = page(&run, 140);
    assert!(text.contains("at 0 % write to"), "{text}");
    assert!(text.contains("the largest step is from 10 % to 50 %"), "{text}");
    let kind = chart::ChartKind::Growth(Metric::Throughput);
    let picture = chart::of(kind, &run, &analysis).unwrap();
    assert_eq!(picture.x.scale, chart::Scale::Linear);
    assert!(svg::render(&picture, svg::SvgStyle { width_px: 720, theme: None }).contains("50 %"));
}

#[test]
fn a_level_of_zero_is_told_beside_the_law() {
    let levels: Vec<Vec<(&str, &str)>> =
        ["0", "1", "2", "4"].iter().map(|delay| vec![("settings.commit_delay", *delay)]).collect();
    let names = ["0", "1", "2", "4"];
    let variants: Vec<Of<'_>> =
        (0..4).map(|at| (names[at], &levels[at][..], 1e-4 * (at as f64 + 1.0))).collect();
    let text = page(&crossed(&variants, 12, 0.02), 140);
    assert!(text.contains("all 3 levels above 0 within"), "{text}");
    assert!(text.contains("at 0 it is 10,"), "{text}");
}

#[test]
fn slow_first_calls_are_told_and_usual_ones_are_not() {
    let ramp = |trial: &mut Trial| {
        let usual_us = 1e6 * trial.measured.seconds / trial.measured.ops as f64;
        let slow = if trial.slot.variant == 1 { [8.0, 3.0, 2.0] } else { [1.2, 1.0, 1.0] };
        let calls = slow.iter().chain(&[1.0; 47]).map(|factor| factor * usual_us);
        trial.first_calls_us = calls.collect();
    };
    let (run, analysis) = with_trials(durability().run(), ramp);
    let told = first_calls::sentences(&run, &analysis);
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].starts_with("off: the first call of a trial takes"), "{told:?}");
    assert!(told[0].contains("from call 6 on they are usual") || told[0].contains("from call 3"), "{told:?}");
    insta::assert_snapshot!("first_calls_100", page(&run, 100));
    let html = html::run(&run, &analysis, &html::Links::default());
    assert!(html.contains("id=\"first-calls\"") && html.contains("data-chart=\"first-calls\""));
    let json = json::render(&run, &analysis);
    assert_eq!(json["variants"][1]["first_calls"]["by_call_s"].as_array().unwrap().len(), 50);
    assert!(json["variants"][0]["first_calls"]["ramp_up"].is_null());
    assert!(markdown::run(&run, &analysis).contains("What the first calls of a trial took"));
    assert!(page(&durability().run(), 100).lines().all(|line| !line.starts_with("ramp-up")));
}

/// Bulks with a duplicate in them, a cache that misses, other versions, and what the field saw.
fn reported() -> (Run, Analysis) {
    let mut run = durability().run();
    for (slot, version) in [(0, "14.24"), (1, "16.15"), (2, "18.6"), (3, "14.24")] {
        run.apply(Event::Instance(InstanceRecord {
            slots: vec![Slot { variant: slot, copy: 0 }],
            version: version.into(),
            settings: BTreeMap::new(),
            start: 1,
            ready_s: 0.4,
        }));
    }
    run.instances.remove(0);
    run.header.plan.field_figures = BTreeMap::from([
        ("on".to_owned(), "10k/s, <b>disk</b> bound".to_owned()),
        (
            "off".to_owned(),
            "50k/s at 500 MB/s of disk, nine tenths of which are full-page writes after a checkpoint"
                .to_owned(),
        ),
    ]);
    with_trials(run, |trial| match trial.slot.variant {
        1 => {
            trial.item_errors = BTreeMap::from([
                ("11000 duplicate key <a> & \"b\"".to_owned(), 1),
                ("121 document failed validation".to_owned(), 2 * trial.whole.ops),
            ]);
        }
        2 => {
            trial.misses = trial.whole.ops / 10;
            trial.errors = BTreeMap::from([("57014 canceling statement".to_owned(), 7)]);
        }
        _ => {}
    })
}

#[test]
fn what_was_reported_back_is_told_by_message() {
    let (run, analysis) = reported();
    insta::assert_snapshot!("reported_140", page(&run, 140));
    insta::assert_snapshot!("reported_80", page(&run, 80));
    let text = page(&run, 140).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("postgres 14.24 / 16.15 / 18.6"), "{text}");
    assert!(text.contains("seen elsewhere: 50k/s at 500 MB/s of disk"), "{text}");
    assert!(text.contains("11000 duplicate key <a> & \"b\" (44 items, 1 per 22,400 operations)"), "{text}");
    assert!(text.contains("90.0 %"), "{text}");
    let html = html::run(&run, &analysis, &html::Links::default());
    assert!(html.contains("11000 duplicate key &lt;a&gt;") && !html.contains("<b>disk</b>"));
    assert!(html.contains("aria-label=\"Seen elsewhere\"") && html.contains("nine tenths of which"));
    let markdown = markdown::run(&run, &analysis);
    assert!(markdown.contains("| `off` | 11000 duplicate key &lt;a&gt; &amp; \"b\" |"), "{markdown}");
    let json = json::render(&run, &analysis);
    let messages = json["variants"][1]["reported"].as_array().unwrap();
    assert_eq!(messages[0]["of"], "item");
    assert!((messages[0]["share"].as_f64().unwrap() - 2.0).abs() < 1e-9);
    assert_eq!(json["variants"][2]["versions"][0], "18.6");
    assert!(!csv::summary(&run, &analysis).is_empty());
}

#[test]
fn a_counter_that_nothing_counted_has_no_column() {
    let (run, _) = with_trials(durability().run(), |trial| {
        trial.whole.counters.insert("postgres.wal_syncs".into(), 0.0);
    });
    let text = page(&run, 160);
    assert!(!text.contains("syncs/op") && text.contains("wal/op"), "{text}");
}
