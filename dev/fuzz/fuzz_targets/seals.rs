//! cargo-fuzz target over [`sealstone_fuzz::seals`].
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| sealstone_fuzz::seals::check(input));
