//! What a machine does to the logarithm of a trial's speed, trial after trial.

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// A seeded source with the few distributions the simulations need.
pub(super) struct Source {
    rng: Xoshiro256PlusPlus,
    spare: Option<f64>,
}

impl Source {
    pub(super) fn new(seed: u64) -> Source {
        Source { rng: Xoshiro256PlusPlus::seed_from_u64(seed), spare: None }
    }

    /// Uniform in [0, 1).
    pub(super) fn uniform(&mut self) -> f64 {
        self.rng.random()
    }

    pub(super) fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.uniform()
    }

    pub(super) fn below(&mut self, limit: usize) -> usize {
        self.rng.random_range(0..limit)
    }

    pub(super) fn sign(&mut self) -> f64 {
        if self.uniform() < 0.5 { -1.0 } else { 1.0 }
    }

    /// Standard normal, by Marsaglia's polar method.
    pub(super) fn normal(&mut self) -> f64 {
        if let Some(spare) = self.spare.take() {
            return spare;
        }
        loop {
            let (u, v) = (self.between(-1.0, 1.0), self.between(-1.0, 1.0));
            let squares = u * u + v * v;
            if squares > 0.0 && squares < 1.0 {
                let scale = (-2.0 * squares.ln() / squares).sqrt();
                self.spare = Some(v * scale);
                return u * scale;
            }
        }
    }

    /// A uniform random order of `0..len`.
    pub(super) fn order(&mut self, len: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..len).collect();
        for index in (1..len).rev() {
            order.swap(index, self.below(index + 1));
        }
        order
    }
}

/// The noises every promise is held to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Noise {
    /// Independent, of that standard deviation.
    White(f64),
    /// Slow drift: AR(1) of 5 % with that coefficient, and 2 % of independent noise.
    Drift(f64),
    /// Up to twice as slow for that share of the time, a few trials at a stretch.
    Bursts(f64),
    /// One step of 20 % somewhere.
    Step,
    /// A trend of 10 % over the run.
    Trend,
    /// 5 % independent, drift, bursts and a step of 15 %.
    Mix,
    /// Heavy tails: Student's t with two degrees of freedom, 2 %.
    HeavyTails,
    /// A background job with a period of that many trials, two of them slowed by 30 %.
    Job(usize),
}

impl Noise {
    /// Those of the verdict table.
    pub(super) const TABLE: [Noise; 10] = [
        Noise::White(0.02),
        Noise::White(0.05),
        Noise::White(0.10),
        Noise::Drift(0.95),
        Noise::Drift(0.8),
        Noise::Bursts(0.05),
        Noise::Bursts(0.20),
        Noise::Step,
        Noise::Trend,
        Noise::Mix,
    ];

    pub(super) fn name(self) -> String {
        match self {
            Noise::White(sd) => format!("white {:.0} %", 100.0 * sd),
            Noise::Drift(phi) => format!("drift phi {phi}"),
            Noise::Bursts(share) => format!("bursts {:.0} %", 100.0 * share),
            Noise::Step => "step 20 %".into(),
            Noise::Trend => "trend 10 %".into(),
            Noise::Mix => "mix".into(),
            Noise::HeavyTails => "heavy tails".into(),
            Noise::Job(period) => format!("job period {period}"),
        }
    }

    /// A log disturbance for each of `trials` trials in the order they run.
    pub(super) fn draw(self, source: &mut Source, trials: usize) -> Vec<f64> {
        let mut noise = vec![0.0; trials];
        match self {
            Noise::White(sd) => white(source, &mut noise, sd),
            Noise::Drift(phi) => {
                white(source, &mut noise, 0.02);
                drift(source, &mut noise, 0.05, phi);
            }
            Noise::Bursts(share) => {
                white(source, &mut noise, 0.02);
                bursts(source, &mut noise, share, if share > 0.1 { 4.0 } else { 5.0 });
            }
            Noise::Step => {
                white(source, &mut noise, 0.02);
                step(source, &mut noise, 0.20);
            }
            Noise::Trend => {
                white(source, &mut noise, 0.02);
                let total = 0.10 * source.sign();
                for (index, value) in noise.iter_mut().enumerate() {
                    *value += total * as_f64(index) / as_f64(trials - 1);
                }
            }
            Noise::Mix => {
                white(source, &mut noise, 0.05);
                drift(source, &mut noise, 0.05, 0.95);
                bursts(source, &mut noise, 0.05, 5.0);
                step(source, &mut noise, 0.15);
            }
            Noise::HeavyTails => {
                for value in &mut noise {
                    let chi_square = source.normal().powi(2) + source.normal().powi(2);
                    *value = 0.02 * source.normal() / (chi_square / 2.0).sqrt();
                }
            }
            Noise::Job(period) => {
                white(source, &mut noise, 0.02);
                let phase = source.below(period);
                for (index, value) in noise.iter_mut().enumerate() {
                    *value += if (index + phase) % period < 2 { 0.3 } else { 0.0 };
                }
            }
        }
        noise
    }
}

fn white(source: &mut Source, noise: &mut [f64], sd: f64) {
    for value in noise {
        *value += sd * source.normal();
    }
}

fn drift(source: &mut Source, noise: &mut [f64], sd: f64, phi: f64) {
    let mut level = sd * source.normal();
    for value in noise {
        *value += level;
        level = phi * level + sd * (1.0 - phi * phi).sqrt() * source.normal();
    }
}

fn bursts(source: &mut Source, noise: &mut [f64], share: f64, mean_length: f64) {
    let leave = 1.0 / mean_length;
    let enter = share * leave / (1.0 - share);
    let mut inside = source.uniform() < share;
    let mut depth = source.between(0.3, 1.0);
    for value in noise {
        let was_inside = inside;
        let draw = source.uniform();
        inside = if inside { draw > leave } else { draw < enter };
        if inside && !was_inside {
            depth = source.between(0.3, 1.0);
        }
        *value += if inside { std::f64::consts::LN_2 * depth } else { 0.0 };
    }
}

fn step(source: &mut Source, noise: &mut [f64], size: f64) {
    let share = source.between(0.05, 0.95);
    let from = share * as_f64(noise.len());
    let size = size * source.sign();
    for (index, value) in noise.iter_mut().enumerate() {
        *value += if as_f64(index) >= from { size } else { 0.0 };
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts of trials")]
pub(super) fn as_f64(value: usize) -> f64 {
    value as f64
}
