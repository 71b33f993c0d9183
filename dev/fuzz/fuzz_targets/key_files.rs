//! cargo-fuzz target over [`sealstone_fuzz::key_files`].
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| sealstone_fuzz::key_files::check(input));
