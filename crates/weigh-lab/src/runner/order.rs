//! Every random choice of a run, derived from its seed, so that a resumed run continues the same plan.

use std::time::Duration;

use rand::seq::SliceRandom as _;
use rand::{RngExt as _, SeedableRng as _};
use rand_xoshiro::Xoshiro256PlusPlus;
use weigh_results::model::Slot;

/// The slots of a round in their order: a fresh uniform random permutation.
pub fn of_round(seed: u64, sequence: u32, round: u32, slots: &[Slot]) -> Vec<Slot> {
    let mut order = slots.to_vec();
    order.shuffle(&mut generator(seed, sequence, round, 0));
    order
}

/// Seed of the data generated in a round: the same for each of its trials.
pub fn data_seed(seed: u64, sequence: u32, round: u32) -> u64 {
    generator(seed, sequence, round, 1).random()
}

/// A pause before a round, up to a twentieth of it and at most 100 ms: a background job whose period is that
/// of the rounds must not stay in step with them (docs/methods.md, limits).
pub fn pause(seed: u64, sequence: u32, round: u32, round_s: f64) -> Duration {
    let longest_s = (round_s / 20.0).clamp(0.0, 0.1);
    Duration::from_secs_f64(longest_s * generator(seed, sequence, round, 2).random::<f64>())
}

/// The slots that are under load: every variant not yet decided, the baseline twice.
pub fn slots(variants: usize, baseline: usize, decided: &[usize]) -> Vec<Slot> {
    let mut slots = vec![Slot { variant: baseline, copy: 0 }, Slot { variant: baseline, copy: 1 }];
    slots.extend(
        (0..variants)
            .filter(|variant| *variant != baseline && !decided.contains(variant))
            .map(|variant| Slot { variant, copy: 0 }),
    );
    slots
}

/// One independent stream per (sequence, round, purpose): seeded through SplitMix64 by `rand`.
fn generator(seed: u64, sequence: u32, round: u32, purpose: u64) -> Xoshiro256PlusPlus {
    let place = (u64::from(sequence) << 40) | (u64::from(round) << 8) | purpose;
    Xoshiro256PlusPlus::seed_from_u64(seed ^ place.wrapping_mul(0x9E37_79B9_7F4A_7C15))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_order_and_another_round_another() {
        let slots = slots(6, 2, &[]);
        assert_eq!(of_round(7, 0, 3, &slots), of_round(7, 0, 3, &slots));
        let distinct: std::collections::BTreeSet<_> =
            (0..50).map(|round| of_round(7, 0, round, &slots)).collect();
        assert!(distinct.len() > 45, "only {} distinct orders in 50 rounds", distinct.len());
    }

    #[test]
    fn every_slot_takes_every_place_equally_often() {
        let slots = slots(3, 0, &[]);
        let rounds = 8_000;
        let mut counts = [[0_u32; 4]; 4];
        for round in 0..rounds {
            for (place, slot) in of_round(1, 0, round, &slots).iter().enumerate() {
                counts[slots.iter().position(|other| other == slot).unwrap()][place] += 1;
            }
        }
        for count in counts.iter().flatten() {
            assert!((1_850..2_150).contains(count), "{counts:?}");
        }
    }

    #[test]
    fn the_baseline_is_in_twice_and_decided_variants_are_out() {
        let slots = slots(4, 1, &[3]);
        assert_eq!(slots.iter().filter(|slot| slot.variant == 1).count(), 2);
        assert!(slots.iter().all(|slot| slot.variant != 3));
        assert_eq!(slots.len(), 4);
    }
}
