//! Linking of the library.

fn main() {
    // WiredTiger unloads an extension when a connection closes. Our code may still have to run
    // then, since threads run what the standard library defers to their end; so the library stays
    // loaded.
    println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
    println!("cargo::rerun-if-changed=build.rs");
}
