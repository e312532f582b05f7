//! Seeded parameters of operations: sequence, uniform, zipf, string, bytes, JSON document, choice, time.
//!
//! - [`GeneratorSpec`]: what an experiment says about one parameter; [`GeneratorSpec::validate`] says what is
//!   wrong with it before anything is started.
//! - [`ParameterStream`]: the stream of one client. It chooses operations by weight and holds every generator.
//! - [`Parameters`]: what a driver gets for the operation it encodes; each [`Parameters::draw`] gives a [`Row`]
//!   of [`Value`]s.
//!
//! The same seed and client give the same stream, whatever the variant. Drawing never allocates once the
//! buffers have grown to the size the spec names.

mod document;
mod source;
mod spec;
mod stream;
mod zipf;

pub use source::Value;
pub use spec::{GeneratorError, GeneratorSpec, SIZE_LIMIT_BYTES};
pub(crate) use stream::mix;
pub use stream::{ParameterStream, Parameters, Row};
