//! The engine against fake servers on socket pairs: every behaviour is known, so every figure can be checked.
#![allow(missing_docs, unreachable_pub, clippy::unwrap_used, clippy::cast_possible_truncation)]

mod closed_loop;
mod failures;
mod fake;
mod inline;
mod timing;
