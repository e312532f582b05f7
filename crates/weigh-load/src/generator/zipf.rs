//! Exact Zipf ranks, and a bijection that scatters them.
//!
//! [`Zipf`] is rejection-inversion (W. Hörmann, G. Derflinger, *Rejection-inversion to generate variates from
//! monotone discrete distributions*, ACM TOMACS 6(3), 1996): exact for every exponent above 0, constant time and
//! memory whatever the range. [`Scatter`] spreads the popular ranks over the range, or they would all lie
//! on the first page of a table; it is a permutation, so probabilities do not change.

use rand::{Rng, RngExt};

/// Draws ranks 1 to n with probability proportional to 1 / k^exponent.
#[derive(Clone, Debug)]
pub(super) struct Zipf {
    n: f64,
    exponent: f64,
    /// H(1.5) - h(1): lower end of the area that is sampled.
    area_low: f64,
    /// H(n + 0.5): upper end.
    area_high: f64,
    /// Acceptance without evaluating the density when the rank is this close to the point drawn.
    shortcut: f64,
}

impl Zipf {
    /// `n` at least 1 and at most 2^53, `exponent` above 0.
    pub(super) fn new(n: u64, exponent: f64) -> Self {
        #[expect(clippy::cast_precision_loss, reason = "at most 2^53, as the spec's check ensures")]
        let n = n as f64;
        let mut zipf = Self { n, exponent, area_low: 0.0, area_high: 0.0, shortcut: 0.0 };
        zipf.area_low = zipf.integral(1.5) - 1.0;
        zipf.area_high = zipf.integral(n + 0.5);
        zipf.shortcut = 2.0 - zipf.inverse(zipf.integral(2.5) - zipf.density(2.0));
        zipf
    }

    /// One rank.
    pub(super) fn draw(&self, random: &mut impl Rng) -> u64 {
        loop {
            let area = self.area_high + random.random::<f64>() * (self.area_low - self.area_high);
            let point = self.inverse(area);
            let rank = (point + 0.5).floor().clamp(1.0, self.n);
            if rank - point <= self.shortcut || area >= self.integral(rank + 0.5) - self.density(rank) {
                #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "1 to n")]
                return rank as u64;
            }
        }
    }

    /// h(x) = x^-s.
    fn density(&self, x: f64) -> f64 {
        (-self.exponent * x.ln()).exp()
    }

    /// H(x): an antiderivative of h, continuous in s at 1.
    fn integral(&self, x: f64) -> f64 {
        let log = x.ln();
        expm1_over((1.0 - self.exponent) * log) * log
    }

    /// The x with H(x) = area.
    fn inverse(&self, area: f64) -> f64 {
        let scaled = (area * (1.0 - self.exponent)).max(-1.0);
        (ln1p_over(scaled) * area).exp()
    }
}

/// (e^x - 1) / x, also near 0.
fn expm1_over(x: f64) -> f64 {
    if x.abs() > 1e-8 { x.exp_m1() / x } else { 1.0 + x / 2.0 }
}

/// ln(1 + x) / x, also near 0.
fn ln1p_over(x: f64) -> f64 {
    if x.abs() > 1e-8 { x.ln_1p() / x } else { 1.0 - x / 2.0 }
}

/// A fixed permutation of 0..n. It depends on n only, so every client and every variant agree on the hot values.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scatter {
    n: u64,
    mask: u64,
    shift: u32,
}

impl Scatter {
    /// `n` at least 1.
    pub(super) fn new(n: u64) -> Self {
        let bits = (64 - (n - 1).leading_zeros()).max(1);
        Self { n, mask: u64::MAX >> (64 - bits), shift: bits.div_ceil(2) }
    }

    /// Where `index` goes. Each step is invertible within the next power of two; what falls outside 0..n is
    /// permuted again until it falls inside (cycle walking), on average less than twice.
    pub(super) fn place(&self, index: u64) -> u64 {
        let mut x = index;
        loop {
            x = x.wrapping_add(0x9E37_79B9_7F4A_7C15) & self.mask;
            x ^= x >> self.shift;
            x = x.wrapping_mul(0xBF58_476D_1CE4_E5B9) & self.mask;
            x ^= x >> self.shift;
            x = x.wrapping_mul(0x94D0_49BB_1331_11EB) & self.mask;
            x ^= x >> self.shift;
            if x < self.n {
                return x;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand_xoshiro::Xoshiro256PlusPlus;

    use super::*;

    /// Chi-square of drawn ranks against the exact probabilities, per degree of freedom.
    fn chi_square_per_degree(n: u32, exponent: f64, draws: u32) -> f64 {
        let zipf = Zipf::new(u64::from(n), exponent);
        let mut random = Xoshiro256PlusPlus::seed_from_u64(7);
        let mut counts = vec![0_u32; n as usize];
        for _ in 0..draws {
            counts[usize::try_from(zipf.draw(&mut random)).unwrap() - 1] += 1;
        }
        let weights: Vec<f64> = (1..=n).map(|k| f64::from(k).powf(-exponent)).collect();
        let total: f64 = weights.iter().sum();
        let chi: f64 = weights
            .iter()
            .zip(&counts)
            .map(|(w, c)| {
                let expected = f64::from(draws) * w / total;
                (f64::from(*c) - expected).powi(2) / expected
            })
            .sum();
        chi / f64::from(n - 1).max(1.0)
    }

    #[test]
    fn ranks_follow_the_exact_probabilities() {
        for (n, exponent) in [(2, 1.0), (10, 0.5), (50, 1.0), (50, 1.2), (100, 0.99), (20, 2.5)] {
            let chi = chi_square_per_degree(n, exponent, 400_000);
            assert!(chi < 2.3, "n {n} exponent {exponent}: chi-square per degree of freedom {chi}");
        }
        assert!(chi_square_per_degree(1, 1.0, 100) < 1e-9);
    }

    #[test]
    fn a_large_range_stays_inside_it() {
        let zipf = Zipf::new(1 << 53, 0.1);
        let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
        assert!((0..10_000).all(|_| (1..=1 << 53).contains(&zipf.draw(&mut random))));
    }

    #[test]
    fn scatter_is_a_permutation_that_moves_neighbours_apart() {
        for n in [1, 2, 3, 5, 64, 100, 1000, 65_537] {
            let scatter = Scatter::new(n);
            let mut places: Vec<u64> = (0..n).map(|i| scatter.place(i)).collect();
            places.sort_unstable();
            assert!(places.iter().copied().eq(0..n), "n {n}");
        }
        let scatter = Scatter::new(100_000);
        let hot: Vec<u64> = (0..100).map(|i| scatter.place(i)).collect();
        let same_page = hot.iter().filter(|p| hot.iter().any(|q| q != *p && q.abs_diff(**p) < 10)).count();
        assert!(same_page < 10, "{same_page} of the 100 hottest values have a hot neighbour");
    }
}
