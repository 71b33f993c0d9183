//! cargo-fuzz target over [`sealstone_fuzz::kmip`].
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| sealstone_fuzz::kmip::check(input));
