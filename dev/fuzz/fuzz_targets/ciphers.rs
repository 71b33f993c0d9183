//! cargo-fuzz target over [`sealstone_fuzz::ciphers`].
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| sealstone_fuzz::ciphers::check(input));
