//! The `sealstone` binary.
fn main() {}
