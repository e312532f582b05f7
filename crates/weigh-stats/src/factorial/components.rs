//! The algebra of a balanced design: a table of cells taken apart into orthogonal components, one per set of factors.
//!
//! - [`Shape`]: how many levels each factor has; cells are numbered with the last factor fastest.
//! - [`Shape::component`]: what a set of factors does together beyond what its subsets do.
//! - [`cleaned`]: rounds with single wild values pulled in.

use crate::dispersion::{self, count};

/// Levels per factor.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Shape(pub(super) Vec<usize>);

impl Shape {
    pub(super) fn cells(&self) -> usize {
        self.0.iter().product()
    }

    /// The levels of a cell, one per factor.
    pub(super) fn levels_of(&self, cell: usize) -> Vec<usize> {
        let mut rest = cell;
        let mut levels: Vec<usize> = self
            .0
            .iter()
            .rev()
            .map(|levels| {
                let level = rest % levels;
                rest /= levels;
                level
            })
            .collect();
        levels.reverse();
        levels
    }

    /// The component of the factors whose bit is set in `set`: along these the mean is taken away, along the others
    /// everything but the mean. Components of different sets are orthogonal, and all of them together are the table
    /// (the analysis of variance of a balanced design: R. A. Fisher, *Statistical Methods for Research Workers*, 1925).
    pub(super) fn component(&self, set: usize, cells: &[f64]) -> Vec<f64> {
        let mut table = cells.to_vec();
        for (factor, levels) in self.0.iter().enumerate() {
            let inner: usize = self.0[factor + 1..].iter().product();
            let keeps_mean = set & (1 << factor) == 0;
            for block in table.chunks_mut(inner * levels) {
                for offset in 0..inner {
                    let line = || (0..*levels).map(|level| offset + level * inner);
                    let mean = line().map(|at| block[at]).sum::<f64>() / count(*levels);
                    line().for_each(|at| block[at] = if keeps_mean { mean } else { block[at] - mean });
                }
            }
        }
        table
    }

    /// Sets of at most two factors, single ones first.
    pub(super) fn small_sets(&self) -> Vec<usize> {
        let all = 1..1_usize << self.0.len();
        let mut sets: Vec<usize> = all.filter(|set| set.count_ones() <= 2).collect();
        sets.sort_by_key(|set| (set.count_ones(), set.trailing_zeros(), *set));
        sets
    }
}

/// The factors of a set.
pub(super) fn members(set: usize) -> Vec<usize> {
    (0..usize::BITS as usize).filter(|factor| set & (1 << factor) != 0).collect()
}

/// The rounds with every value held within `1.5 + 12/n` robust deviations of where its cell and its round lie: the clip of
/// [`crate::huber`], so that a burst costs one value's worth of information and makes no setting look important.
///
/// Pseudo-values of a one-step M-estimate (P. J. Huber, *Robust Statistics*, 1981, chapters 6 and 7): the held residuals are
/// divided by the share of residuals that were not held, so that their means and variances are those of the estimate.
pub(super) fn cleaned(rounds: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let Some(cells) = rounds.first().map(Vec::len) else { return Vec::new() };
    let median = |values: Vec<f64>| {
        let mut values = values;
        dispersion::median_in_place(&mut values)
    };
    let of_cell: Vec<f64> =
        (0..cells).map(|cell| median(rounds.iter().map(|round| round[cell]).collect())).collect();
    let of_round: Vec<f64> = rounds
        .iter()
        .map(|round| median(round.iter().zip(&of_cell).map(|(value, cell)| value - cell).collect()))
        .collect();
    let residual = |round: usize, cell: usize| rounds[round][cell] - of_cell[cell] - of_round[round];
    let clips: Vec<f64> = (0..cells)
        .map(|cell| {
            let residuals: Vec<f64> = (0..rounds.len()).map(|round| residual(round, cell)).collect();
            let (_, mad) = dispersion::median_and_mad(&residuals, &mut Vec::new());
            let spread = if mad > 0.0 { mad } else { dispersion::population_sd(&residuals) };
            (1.5 + 12.0 / count(rounds.len())) * spread
        })
        .collect();
    let free = (0..rounds.len())
        .map(|round| (0..cells).filter(|cell| residual(round, *cell).abs() <= clips[*cell]).count())
        .sum::<usize>();
    let share_free = count(free.max(1)) / count(rounds.len() * cells);
    let clean = |round: usize, cell: usize| {
        let held = residual(round, cell).clamp(-clips[cell], clips[cell]);
        of_cell[cell] + of_round[round] + held / share_free
    };
    (0..rounds.len()).map(|round| (0..cells).map(|cell| clean(round, cell)).collect()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_of_two_factors_comes_apart_by_hand() {
        // Rows 1, 2; columns 1, 2, 3. Grand mean 4; row means 2, 6; column means 3, 3, 6.
        let shape = Shape(vec![2, 3]);
        let table = [1.0, 2.0, 3.0, 5.0, 4.0, 9.0];
        assert_eq!(shape.component(0b00, &table), [4.0; 6]);
        assert_eq!(shape.component(0b01, &table), [-2.0, -2.0, -2.0, 2.0, 2.0, 2.0]);
        assert_eq!(shape.component(0b10, &table), [-1.0, -1.0, 2.0, -1.0, -1.0, 2.0]);
        assert_eq!(shape.component(0b11, &table), [0.0, 1.0, -1.0, 0.0, -1.0, 1.0]);
        assert_eq!(shape.levels_of(4), [1, 1]);
    }

    #[test]
    fn components_are_orthogonal_and_complete() {
        let shape = Shape(vec![2, 3, 2]);
        let table: Vec<f64> =
            (0..12).map(|cell| f64::from(cell * cell % 7) - 0.3 * f64::from(cell)).collect();
        let parts: Vec<Vec<f64>> = (0..8).map(|set| shape.component(set, &table)).collect();
        for (at, value) in table.iter().enumerate() {
            let sum: f64 = parts.iter().map(|part| part[at]).sum();
            assert!((sum - value).abs() < 1e-12);
        }
        for (one, first) in parts.iter().enumerate() {
            for second in &parts[one + 1..] {
                let product: f64 = first.iter().zip(second).map(|(a, b)| a * b).sum();
                assert!(product.abs() < 1e-9, "{product}");
            }
        }
        assert_eq!(shape.small_sets(), [0b001, 0b010, 0b100, 0b011, 0b101, 0b110]);
        assert_eq!(members(0b101), [0, 2]);
    }

    #[test]
    fn one_wild_value_is_pulled_in_and_the_rest_stays() {
        let mut rounds: Vec<Vec<f64>> = (0..20)
            .map(|round| {
                let noise = 0.01 * f64::from((round * 7) % 5 - 2);
                vec![noise, 1.0 - noise, 2.0 + noise]
            })
            .collect();
        let untouched = rounds.clone();
        rounds[7][1] = 9.0;
        let clean = cleaned(&rounds);
        assert!((clean[7][1] - 1.0).abs() < 0.15, "{}", clean[7][1]);
        let moved = clean.iter().zip(&untouched).enumerate().filter(|(at, _)| *at != 7);
        let most =
            moved.flat_map(|(_, (a, b))| a.iter().zip(b).map(|(a, b)| (a - b).abs())).fold(0.0, f64::max);
        assert!(most < 0.02, "{most}");
    }
}
