//! Replies of memcached; the first byte says how they are cut.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| weigh_drivers::fuzzing::memcached(data));
