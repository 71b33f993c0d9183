//! How the library is linked. Not here: what is in it.

fn main() {
    // WiredTiger unloads an extension when a connection closes. Code of ours may still be due then, since threads run
    // what the standard library leaves to their end; so the library stays where it is.
    println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
    println!("cargo::rerun-if-changed=build.rs");
}
