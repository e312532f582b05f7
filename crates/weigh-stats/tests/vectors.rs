//! Known answers, computed independently with numpy and scipy.

use weigh_stats::Interval;
use weigh_stats::boundary::Boundary;
use weigh_stats::checks::carry_over;
use weigh_stats::huber::{LogRatios, clustered_huber};
use weigh_stats::totals::{Totals, ratio_of_totals};

const A: [f64; 10] = [102.1, 99.4, 101.7, 87.2, 100.9, 98.8, 103.3, 97.6, 100.2, 96.1];
const A_COPY: [f64; 10] = [101.0, 100.6, 99.2, 99.9, 52.0, 99.5, 101.8, 98.9, 101.1, 97.0];
const B: [f64; 10] = [95.2, 93.8, 96.4, 92.9, 94.7, 61.3, 97.1, 92.0, 95.5, 90.4];

#[track_caller]
fn near(found: f64, expected: f64, tolerance: f64) {
    assert!((found - expected).abs() <= tolerance, "{found} is not {expected}");
}

#[track_caller]
fn interval_near(found: Interval, estimate: f64, low: f64, high: f64) {
    near(found.estimate, estimate, 1e-6);
    near(found.low, low, 1e-6);
    near(found.high, high, 1e-6);
}

fn ratios(rounds_per_cluster: u32) -> LogRatios {
    let mut ratios = LogRatios::new();
    for (round, ((a, copy), b)) in (0u32..).zip(A.iter().zip(&A_COPY).zip(&B)) {
        assert!(ratios.push_round(round / rounds_per_cluster, &[(b / a).ln(), (b / copy).ln()]));
    }
    ratios
}

/// V1: ten rounds, two copies of the baseline, one burst in a copy and one in the variant.
#[test]
fn clustered_huber_by_round() {
    let found = clustered_huber(&ratios(1), 0.05).unwrap();
    interval_near(found, -0.059532, -0.078552, -0.045501);
    let (ratio, low, high) = found.ratio();
    near(ratio, 0.942205, 1e-6);
    near(low, 0.924454, 1e-6);
    near(high, 0.955518, 1e-6);
    interval_near(clustered_huber(&ratios(1), 0.0136).unwrap(), -0.059532, -0.088054, -0.040820);
}

/// V1: the same, two rounds to a cluster.
#[test]
fn clustered_huber_by_cluster() {
    interval_near(clustered_huber(&ratios(2), 0.05).unwrap(), -0.059532, -0.080707, -0.044618);
}

/// V2: the boundary for a budget of 64 rounds.
#[test]
fn boundary_for_64_rounds() {
    let boundary = Boundary::new(8, 64, 0.05);
    let units = [8, 10, 13, 17, 22, 28, 35, 44, 55, 64];
    let z =
        [2.807034, 2.973530, 2.921091, 2.843970, 2.764655, 2.688050, 2.615103, 2.527491, 2.442324, 2.411848];
    let p = [0.005, 0.002944, 0.003488, 0.004456, 0.005698, 0.007187, 0.008920, 0.011488, 0.014593, 0.015872];
    let cumulative = [0.005, 0.00625, 0.008125, 0.010625, 0.01375, 0.0175, 0.021875, 0.0275, 0.034375, 0.04];
    assert_eq!(boundary.looks().iter().map(|look| look.units).collect::<Vec<_>>(), units);
    for (look, ((z, p), cumulative)) in boundary.looks().iter().zip(z.iter().zip(&p).zip(&cumulative)) {
        near(look.z, *z, 1e-6);
        near(look.nominal_p, *p, 1e-6);
        near(look.cumulative, *cumulative, 1e-12);
    }
}

/// V3: ratio of totals with a lump on each side.
#[test]
fn ratio_of_totals_with_lumps() {
    let na = [900.0, 2950.0, 880.0, 915.0, 3040.0, 893.0];
    let da = [1001.0, 998.0, 1003.0, 990.0, 1007.0, 1000.0];
    let nb = [820.0, 790.0, 3100.0, 805.0, 812.0, 799.0];
    let db = [1000.0, 990.0, 1010.0, 1005.0, 995.0, 1002.0];
    let mut totals = Totals::new();
    for round in 0..6u32 {
        let i = round as usize;
        assert!(totals.push_round(round, (na[i], da[i]), (nb[i], db[i])));
    }
    let found = ratio_of_totals(&totals, 0.05).unwrap();
    interval_near(found.interval, -0.296219, -1.692199, 1.099762);
    near(found.interval.ratio().0, 0.743625, 1e-6);
    near(found.interval.ratio().1, 0.184114, 1e-6);
    near(found.interval.ratio().2, 3.003450, 2e-6);
    near(found.degrees_of_freedom, 5.0, 0.0);
    near(found.t, found.interval.estimate / found.standard_error, 1e-12);
}

/// V8 (V11 of the printed list): carry-over.
#[test]
fn carry_over_of_six_rounds() {
    let found =
        carry_over(&[0.021, -0.034, 0.010, 0.055, -0.020, 0.004], &[1.0, -1.0, 0.0, 1.0, -1.0, 0.0]).unwrap();
    near(found.effect, 0.032500, 1e-6);
    near(found.standard_error, 0.007058, 1e-6);
    near(found.t, 4.604836, 1e-6);
    // t with 4 degrees of freedom: 4.604095 at 1 %.
    assert!(found.fails && found.p_value > 0.0099, "{found:?}");
}
