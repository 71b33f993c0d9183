//! Linker settings of the library.

fn main() {
    // a program that is linked against it finds it by its name, not by the path where it was built
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libsealstone_fields.so");
    println!("cargo::rerun-if-changed=build.rs");
}
