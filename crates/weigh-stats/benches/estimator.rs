//! What a judgment costs: the estimator runs after every round for every comparison, and a boundary is
//! built for every analysis.

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use weigh_stats::boundary::Boundary;
use weigh_stats::huber::{LogRatios, clustered_huber};
use weigh_stats::totals::{Totals, ratio_of_totals};

/// A deterministic scatter with a burst every seventeenth round.
fn scatter(round: u32, copy: u32) -> f64 {
    let spread = f64::from((round * 7_919 + copy * 104_729) % 1_000) / 1_000.0 - 0.5;
    0.1 * spread + if round % 17 == 3 { 0.6 } else { 0.0 }
}

fn estimator(criterion: &mut Criterion) {
    let mut ratios = LogRatios::new();
    let mut totals = Totals::new();
    for round in 0..100 {
        ratios.push_round(round, &[scatter(round, 0), scatter(round, 1)]);
        let cost = 10.0 + scatter(round, 2);
        totals.push_round(round, (cost * 2_000.0, 2_000.0), (cost * 1_100.0, 1_000.0));
    }
    criterion.bench_function("clustered_huber, 100 rounds, 2 copies", |bencher| {
        bencher.iter(|| clustered_huber(black_box(&ratios), 0.01));
    });
    criterion.bench_function("ratio_of_totals, 100 rounds", |bencher| {
        bencher.iter(|| ratio_of_totals(black_box(&totals), 0.05));
    });
    criterion.bench_function("boundary, horizon 200", |bencher| {
        bencher.iter(|| Boundary::new(8, black_box(200), 0.05));
    });
}

criterion_group!(benches, estimator);
criterion_main!(benches);
