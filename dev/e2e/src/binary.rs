//! Finds the binary under test: the one named by `SEALSTONE_BIN`, or else one that cargo builds now.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// Path of the `sealstone` under test.
///
/// # Panics
/// When it can be neither found nor built; the reason is in the message.
pub fn sealstone() -> &'static Path {
    static FOUND: OnceLock<PathBuf> = OnceLock::new();
    FOUND.get_or_init(|| match std::env::var_os("SEALSTONE_BIN") {
        Some(path) => {
            let path = PathBuf::from(path);
            assert!(path.is_file(), "SEALSTONE_BIN names {}, which is no file", path.display());
            path
        }
        None => build(),
    })
}

fn build() -> PathBuf {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".into());
    let output = Command::new(cargo)
        .args(["build", "--package", "sealstone-cli", "--bin", "sealstone", "--message-format", "json"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo starts");
    assert!(output.status.success(), "cannot build sealstone:\n{}", String::from_utf8_lossy(&output.stderr));
    let stdout = String::from_utf8(output.stdout).expect("cargo prints UTF-8");
    let messages = stdout.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
    let mut executables = messages.filter_map(|message| message["executable"].as_str().map(PathBuf::from));
    executables.next_back().expect("cargo names the executable it built")
}
