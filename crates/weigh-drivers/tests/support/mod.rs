//! What the tests and the benchmark share.

pub mod cluster;
pub mod load;
