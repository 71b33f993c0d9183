//! Links the plug-in so that it is never unloaded: threads and thread-local values of ours may
//! outlive the server's last use of it.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
}
