//! URLs of servers, as every driver reads them.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| weigh_drivers::fuzzing::server_url(data));
