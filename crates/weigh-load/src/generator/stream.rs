//! The parameter stream of one client.

use rand::{Rng, SeedableRng};
use rand_xoshiro::{SplitMix64, Xoshiro256PlusPlus};

use super::source::{Generator, SequenceCounter, Value};
use crate::spec::Operation;

/// Chooses operations by weight and draws their parameters, for one client.
///
/// Every parameter has a random stream of its own, seeded by the seed, the client, the operation's name and the
/// parameter's place: a variant that changes the mix still draws the same parameters for each operation.
#[derive(Debug)]
pub struct ParameterStream {
    chooser: Xoshiro256PlusPlus,
    /// Running sums of the weights.
    thresholds: Vec<u64>,
    operations: Vec<OperationStream>,
    sequence: SequenceCounter,
}

#[derive(Debug)]
struct OperationStream {
    generators: Vec<Generator>,
    /// A row was drawn ahead of the clock and not used yet.
    drawn_ahead: bool,
}

impl ParameterStream {
    /// The stream of `client` among `clients`. Specs are expected to be validated.
    #[must_use]
    pub fn new(
        operations: &[Operation],
        seed: u64,
        client: usize,
        clients: usize,
        trial_number: u64,
    ) -> Self {
        let client_seed = mix(seed, client as u64);
        let mut total = 0;
        let thresholds = operations
            .iter()
            .map(|operation| {
                total += u64::from(operation.weight);
                total
            })
            .collect();
        Self {
            chooser: Xoshiro256PlusPlus::seed_from_u64(client_seed),
            thresholds,
            operations: operations.iter().map(|o| OperationStream::new(o, client_seed)).collect(),
            sequence: SequenceCounter::new(client, clients, trial_number),
        }
    }

    /// Index of the next operation, drawn by weight.
    pub fn choose(&mut self) -> usize {
        let total = self.thresholds.last().copied().unwrap_or(0);
        if self.thresholds.len() < 2 || total == 0 {
            return 0;
        }
        // Multiply-shift: the bias is below total / 2^64.
        let point = ((u128::from(self.chooser.next_u64()) * u128::from(total)) >> 64) as u64;
        self.thresholds.partition_point(|threshold| *threshold <= point)
    }

    /// The parameters of an operation.
    pub fn parameters(&mut self, operation: usize) -> Parameters<'_> {
        Parameters { operation: &mut self.operations[operation], sequence: &mut self.sequence }
    }

    /// Draws the next row of `operation` now, so that the first [`Parameters::draw`] costs nothing.
    pub fn draw_ahead(&mut self, operation: usize) {
        let stream = &mut self.operations[operation];
        if !stream.drawn_ahead {
            stream.draw(&mut self.sequence);
            stream.drawn_ahead = true;
        }
    }
}

impl OperationStream {
    fn new(operation: &Operation, client_seed: u64) -> Self {
        let name_seed = operation.name.bytes().fold(client_seed, |seed, byte| mix(seed, u64::from(byte)));
        let generators = operation
            .parameters
            .iter()
            .enumerate()
            .map(|(place, spec)| Generator::new(spec, mix(name_seed, place as u64)))
            .collect();
        Self { generators, drawn_ahead: false }
    }

    fn draw(&mut self, sequence: &mut SequenceCounter) {
        for generator in &mut self.generators {
            generator.draw(sequence);
        }
    }
}

/// One step of a hash: the first output of SplitMix64 seeded by both numbers.
pub(crate) fn mix(seed: u64, number: u64) -> u64 {
    SplitMix64::seed_from_u64(seed.rotate_left(17) ^ number.wrapping_mul(0x9E37_79B9_7F4A_7C15)).next_u64()
}

/// The parameter stream of one client for the operation it is about to send.
#[derive(Debug)]
pub struct Parameters<'a> {
    operation: &'a mut OperationStream,
    sequence: &'a mut SequenceCounter,
}

impl Parameters<'_> {
    /// How many parameters the operation has.
    #[must_use]
    pub fn count(&self) -> usize {
        self.operation.generators.len()
    }

    /// Draws one value for every parameter. An operation that repeats its statements draws once per repetition.
    pub fn draw(&mut self) -> Row<'_> {
        if !std::mem::take(&mut self.operation.drawn_ahead) {
            self.operation.draw(self.sequence);
        }
        Row { generators: &self.operation.generators }
    }

    /// The next draw gives the values of the last one again: for a client that asks two servers about the same thing.
    pub fn again(&mut self) {
        self.operation.drawn_ahead = true;
    }
}

/// One value for every parameter of an operation, until the next draw.
#[derive(Clone, Copy, Debug)]
pub struct Row<'a> {
    generators: &'a [Generator],
}

impl<'a> Row<'a> {
    /// The value of parameter `index`, counted from 0.
    #[must_use]
    pub fn get(&self, index: usize) -> Option<Value<'a>> {
        self.generators.get(index).map(Generator::value)
    }

    /// All values in order.
    pub fn iter(&self) -> impl Iterator<Item = Value<'a>> {
        self.generators.iter().map(Generator::value)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::generator::GeneratorSpec;

    fn operation(name: &str, weight: u32, parameters: Vec<GeneratorSpec>) -> Operation {
        Operation { name: name.into(), weight, parameters }
    }

    fn everything() -> Operation {
        operation(
            "all",
            1,
            vec![
                GeneratorSpec::Uniform { min: -5, max: 5 },
                GeneratorSpec::Zipf { min: 10, max: 20, exponent: 1.0, scatter: true },
                GeneratorSpec::String { size: 23 },
                GeneratorSpec::Bytes { size: 9 },
                GeneratorSpec::Json { size: 100 },
                GeneratorSpec::Choice { values: vec!["a".into(), "b".into()] },
                GeneratorSpec::Sequence { start: 7 },
            ],
        )
    }

    fn rows(stream: &mut ParameterStream, operation: usize, count: usize) -> Vec<String> {
        (0..count)
            .map(|_| format!("{:?}", stream.parameters(operation).draw().iter().collect::<Vec<_>>()))
            .collect()
    }

    #[test]
    fn equal_seed_and_client_give_equal_streams_and_others_differ() {
        let operations = [everything()];
        let take = |seed, client| rows(&mut ParameterStream::new(&operations, seed, client, 4, 0), 0, 50);
        assert_eq!(take(1, 2), take(1, 2));
        assert_ne!(take(1, 2), take(1, 3));
        assert_ne!(take(1, 2), take(2, 2));
    }

    #[test]
    fn a_parameter_does_not_depend_on_the_rest_of_the_mix() {
        let name = vec![GeneratorSpec::String { size: 10 }];
        let alone = [operation("read", 1, name.clone())];
        let mixed = [operation("write", 3, name.clone()), operation("read", 1, name)];
        let from_alone = rows(&mut ParameterStream::new(&alone, 5, 0, 1, 0), 0, 20);
        let from_mix = rows(&mut ParameterStream::new(&mixed, 5, 0, 1, 0), 1, 20);
        assert_eq!(from_alone, from_mix);
    }

    #[test]
    fn values_have_the_asked_shape_and_range() {
        let mut stream = ParameterStream::new(&[everything()], 9, 0, 1, 0);
        let mut seen = HashSet::new();
        for _ in 0..2000 {
            let mut parameters = stream.parameters(0);
            let values: Vec<_> = parameters.draw().iter().collect();
            let Value::Integer(uniform) = values[0] else { panic!("{values:?}") };
            assert!((-5..=5).contains(&uniform));
            seen.insert(uniform);
            assert!(matches!(values[1], Value::Integer(10..=20)), "{values:?}");
            assert!(
                matches!(values[2], Value::Text(t) if t.len() == 23 && t.bytes().all(|b| b.is_ascii_alphanumeric()))
            );
            assert!(matches!(values[3], Value::Bytes(b) if b.len() == 9));
            assert!(matches!(values[4], Value::Text(t) if t.len() == 100));
            assert!(matches!(values[5], Value::Text("a" | "b")));
        }
        assert_eq!(seen.len(), 11);
    }

    #[test]
    fn operations_are_chosen_in_proportion_to_their_weights() {
        let operations = [operation("a", 1, vec![]), operation("b", 7, vec![]), operation("c", 2, vec![])];
        let mut stream = ParameterStream::new(&operations, 11, 0, 1, 0);
        let mut counts = [0_i32; 3];
        for _ in 0..100_000 {
            counts[stream.choose()] += 1;
        }
        for (count, expected) in counts.iter().zip([10_000, 70_000, 20_000]) {
            assert!((count - expected).abs() < 800, "{counts:?}");
        }
    }

    #[test]
    fn sequences_never_repeat_over_clients_trials_and_parameters() {
        let twice = vec![GeneratorSpec::Sequence { start: 100 }, GeneratorSpec::Sequence { start: 100 }];
        let operations = [operation("a", 1, twice.clone()), operation("b", 1, twice)];
        let mut seen = HashSet::new();
        for trial in [0, 1, (1 << 20) - 1] {
            for client in 0..5 {
                let mut stream = ParameterStream::new(&operations, 1, client, 5, trial);
                for step in 0..200 {
                    for value in stream.parameters(step % 2).draw().iter() {
                        let Value::Integer(value) = value else { panic!("{value:?}") };
                        assert!(value > 100 && seen.insert(value), "{value} trial {trial} client {client}");
                    }
                }
            }
        }
        // The first trial's values are dense: a b-tree grows at its right edge.
        assert!(seen.contains(&101) && seen.contains(&(100 + 2 * 200 * 5)));
    }

    #[test]
    fn one_value_in_so_many_stands_twice() {
        let operations = [operation("a", 1, vec![GeneratorSpec::Repeats { start: 100, every: 50 }])];
        let mut seen = std::collections::BTreeMap::<i64, u32>::new();
        let mut streams: Vec<_> =
            (0..4).map(|client| ParameterStream::new(&operations, 1, client, 4, 3)).collect();
        for _ in 0..250 {
            for stream in &mut streams {
                match stream.parameters(0).draw().get(0) {
                    Some(Value::Integer(value)) => *seen.entry(value).or_default() += 1,
                    other => panic!("{other:?}"),
                }
            }
        }
        // A thousand values of four clients together: twenty of them stand twice, each of those exactly twice.
        assert_eq!(seen.len(), 980);
        assert_eq!(seen.values().filter(|count| **count == 2).count(), 20);
    }

    #[test]
    fn the_largest_start_and_trial_fit() {
        let operations = [operation("a", 1, vec![GeneratorSpec::Sequence { start: 1 << 62 }])];
        let mut stream = ParameterStream::new(&operations, 1, 0, 1, (1 << 20) - 1);
        let mut take = || match stream.parameters(0).draw().get(0) {
            Some(Value::Integer(value)) => value,
            other => panic!("{other:?}"),
        };
        let first = take();
        assert_eq!(take(), first + 1);
        assert!(first > 1 << 62);
    }

    #[test]
    fn a_row_drawn_ahead_is_the_row_that_would_have_been_drawn() {
        let operations = [everything()];
        let plain = rows(&mut ParameterStream::new(&operations, 1, 0, 1, 0), 0, 4);
        let mut stream = ParameterStream::new(&operations, 1, 0, 1, 0);
        let ahead: Vec<String> = (0..4)
            .flat_map(|_| {
                stream.draw_ahead(0);
                stream.draw_ahead(0);
                rows(&mut stream, 0, 1)
            })
            .collect();
        assert_eq!(plain, ahead);
    }
}
