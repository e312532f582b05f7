//! Texts with parameters in them.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| weigh_drivers::fuzzing::text_template(data));
