//! Costs that come in lumps: the jackknife of totals sees them, the typical ratio cannot.

use weigh_stats::boundary::Boundary;
use weigh_stats::huber::{LogRatios, clustered_huber};
use weigh_stats::totals::{Totals, lumpy_units, ratio_of_totals};

use super::design::{Order, Table, at_least, at_most, many, rate, rounds};
use super::noise::{Noise, Source};

const EXPERIMENTS: usize = 2_000;

/// Bytes per operation: 3 % of noise and, with that probability, a lump of two to six times as much again.
fn cost(source: &mut Source, lumps: f64) -> f64 {
    let usual = 8.0 * (0.03 * source.normal()).exp();
    let lump = source.uniform() < lumps;
    let size = source.between(2.0, 6.0);
    usual * (1.0 + if lump { size } else { 0.0 })
}

struct Measured {
    totals: Totals,
    typical: LogRatios,
}

fn measure(source: &mut Source, rounds: u32, lumps: (f64, f64), factor: f64) -> Measured {
    let mut measured = Measured { totals: Totals::new(), typical: LogRatios::new() };
    for round in 0..rounds {
        let (a, b) = (cost(source, lumps.0), factor * cost(source, lumps.1));
        let (ops_a, ops_b) =
            (1_000.0 * (0.1 * source.normal()).exp(), 1_000.0 * (0.1 * source.normal()).exp());
        measured.totals.push_round(round, (a * ops_a, ops_a), (b * ops_b, ops_b));
        measured.typical.push_round(round, &[(b / a).ln()]);
    }
    measured
}

/// Coverage of the true ratio of totals, with and without lumps, and what the typical ratio makes of it.
#[test]
fn totals_cover_lumpy_costs() {
    let mut table = Table::new("ratio of totals: 95 % interval covers the truth");
    let halved = |lumps: f64| ((1.0 + lumps / 2.0 * 4.0) / (1.0 + lumps * 4.0)).ln();
    let cells = [
        ("+10 %, no lumps, 16 rounds", 16, (0.0, 0.0), 1.10, 1.10_f64.ln(), 0.94),
        ("+10 %, lumps 30 %, 40 rounds", 40, (0.3, 0.3), 1.10, 1.10_f64.ln(), 0.93),
        ("half the lumps, 10 %, 16 rounds", 16, (0.1, 0.05), 1.0, halved(0.1), 0.80),
        ("half the lumps, 10 %, 100 rounds", 100, (0.1, 0.05), 1.0, halved(0.1), 0.93),
        ("half the lumps, 30 %, 40 rounds", 40, (0.3, 0.15), 1.0, halved(0.3), 0.93),
        ("half the lumps, 30 %, 100 rounds", 100, (0.3, 0.15), 1.0, halved(0.3), 0.93),
    ];
    for (seed, (name, rounds, lumps, factor, truth, promised)) in (1_000..).zip(cells) {
        let found = many(seed, EXPERIMENTS, |source| {
            let measured = measure(source, rounds, lumps, factor);
            let total = ratio_of_totals(&measured.totals, 0.05).unwrap().interval;
            let typical = clustered_huber(&measured.typical, 0.05).unwrap();
            (total.contains(truth), typical.contains(truth))
        });
        let (total, typical) = (rate(&found, |covers| covers.0), rate(&found, |covers| covers.1));
        table.row(name, &[("totals", total), ("typical ratio", typical)]);
        at_least(name, total, promised, EXPERIMENTS);
        if lumps.0 != lumps.1 {
            assert!(typical < 0.6, "{name}: the typical ratio is not the ratio of totals: {typical}");
        }
    }
}

/// The rule on few lumps: where the interval is not to be trusted, it withholds the verdict; where there are
/// enough lumps, or none, it does not.
#[test]
fn few_lumps_withhold_the_verdict() {
    let mut table = Table::new("verdicts on identical costs with lumps in 10 % of rounds");
    for (seed, rounds) in (1_050..).zip([16, 40, 150]) {
        let found = many(seed, EXPERIMENTS, |source| {
            let measured = measure(source, rounds, (0.1, 0.1), 1.0);
            let total = ratio_of_totals(&measured.totals, 0.05).unwrap();
            let withheld = lumpy_units(&measured.totals).too_few(total.interval.estimate);
            (total.p_value < 0.05, withheld)
        });
        let claimed = rate(&found, |found| found.0);
        let kept = rate(&found, |found| found.0 && !found.1);
        let withheld = rate(&found, |found| found.1);
        table.row(
            &format!("{rounds} rounds"),
            &[("claimed", claimed), ("claimed and kept", kept), ("withheld", withheld)],
        );
        assert!(kept <= 0.065, "{rounds}: {kept}");
        assert!(rounds < 150 || withheld < 0.05, "{rounds}: {withheld}");
        assert!(rounds > 16 || withheld > 0.5, "{rounds}: {withheld}");
    }
    let smooth = many(1_090, 500, |source| lumpy_units(&measure(source, 100, (0.0, 0.0), 1.1).totals).units);
    assert_eq!(rate(&smooth, |units| *units > 0), 0.0, "3 % of noise is not a lump");
}

/// Totals judged at every look of a boundary, as a decision metric is: the promise holds for smooth costs; with
/// lumps in a tenth of the rounds it does not at the first looks, which is why few lumps withhold the verdict.
#[test]
fn totals_in_sequence() {
    let boundary = Boundary::new(8, 109, 0.05);
    let mut table = Table::new("A/A, ratio of totals at all looks up to 109 rounds: missed at any look");
    let noises = [Noise::White(0.05), Noise::Drift(0.95), Noise::Bursts(0.20), Noise::Mix];
    for (seed, noise) in (1_070..).zip(noises) {
        let found = many(seed, EXPERIMENTS, |source| {
            let rounds = rounds(source, noise, Order::Random, &[0.0; 3], 109);
            let mut totals = Totals::new();
            boundary.looks().iter().any(|look| {
                let from = totals.rounds();
                for (cluster, round) in (0..look.units).zip(&rounds).skip(from) {
                    let [a, copy, b] = [0, 1, 2].map(|slot: usize| 100.0 * round[slot].exp());
                    totals.push_round(cluster, (a + copy, 200.0), (b, 100.0));
                }
                !ratio_of_totals(&totals, look.nominal_p).unwrap().interval.contains(0.0)
            })
        });
        let missed = rate(&found, |missed| *missed);
        table.row(&noise.name(), &[("missed", missed)]);
        at_most(&noise.name(), missed, 0.05, EXPERIMENTS);
    }
    let lumpy = many(1_080, EXPERIMENTS, |source| {
        let mut totals = Totals::new();
        let mut first = None;
        for look in boundary.looks() {
            for cluster in u32::try_from(totals.rounds()).unwrap()..look.units {
                let baseline = cost(source, 0.1) + cost(source, 0.1);
                totals.push_round(cluster, (baseline, 2.0), (cost(source, 0.1), 1.0));
            }
            let total = ratio_of_totals(&totals, look.nominal_p).unwrap().interval;
            if !total.contains(0.0) {
                let withheld = lumpy_units(&totals).too_few(total.estimate);
                first = Some(first.unwrap_or(true) && withheld);
            }
        }
        first
    });
    let (missed, kept) = (rate(&lumpy, |found| found.is_some()), rate(&lumpy, |found| *found == Some(false)));
    table.row("lumps in 10 % of rounds", &[("missed", missed), ("not withheld", kept)]);
    assert!(kept <= missed && kept < 0.065, "{missed} {kept}");
}
