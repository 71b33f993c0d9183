//! Facts about the linked RocksDB: version, origin, and state of its assertions.

/// Returns the way in which RocksDB came into this program.
pub fn build() -> &'static str {
    if cfg!(feature = "bundled") { "bundled source" } else { "system library" }
}

/// Its version, such as `7.8.3`.
pub fn version() -> String {
    let (major, minor, patch) = crate::ffi::version();
    format!("{major}.{minor}.{patch}")
}

/// Returns the releases that this program was built for, such as `7.8`.
pub fn built_for() -> String {
    let (major, minor) = crate::ffi::headers_version();
    format!("{major}.{minor}")
}

/// The loaded RocksDB is not the version that this program was built for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "sealstone was built for RocksDB {built}, and RocksDB {loaded} is loaded: their objects differ \
     in memory\n\
     build sealstone against the headers of RocksDB {loaded}, or use it with a program that has \
     RocksDB {built}"
)]
#[non_exhaustive]
pub struct Mismatch {
    /// Version of the headers, such as `7.8`.
    pub built: String,
    /// Version of the library, such as `8.9`.
    pub loaded: String,
}

/// Checks that RocksDB's objects are laid out in memory as expected: the layout is the same in all
/// releases `x.y.*`.
///
/// # Errors
/// [`Mismatch`]: nothing of RocksDB's may be called.
pub fn check() -> Result<(), Mismatch> {
    let (major, minor, _) = crate::ffi::version();
    let (built, loaded) = (built_for(), format!("{major}.{minor}"));
    if built == loaded { Ok(()) } else { Err(Mismatch { built, loaded }) }
}

/// Returns whether RocksDB was built with assertions: it then calls `__assert_fail`, is slower, and
/// makes any overhead look smaller than it is. False if the library cannot be found.
#[cfg(not(feature = "bundled"))]
pub fn has_assertions() -> bool {
    static ASSERTIONS: std::sync::OnceLock<bool> = std::sync::OnceLock::new();
    *ASSERTIONS.get_or_init(|| {
        let loaded = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
        let path =
            loaded.lines().filter_map(|line| line.find('/').map(|at| &line[at..])).find(|path| {
                path.rsplit('/')
                    .next()
                    .is_some_and(|name| name.starts_with("librocksdb") && name.contains(".so"))
            });
        path.and_then(|path| std::fs::read(path).ok())
            .is_some_and(|library| imports_assertions(&library))
    })
}

/// Returns false: the bundled source is compiled without assertions.
#[cfg(feature = "bundled")]
pub fn has_assertions() -> bool {
    false
}

/// Returns whether the shared library `elf` imports the function that a failed `assert` calls.
#[cfg(not(feature = "bundled"))]
fn imports_assertions(elf: &[u8]) -> bool {
    use object::{Object, ObjectSymbol};
    object::File::parse(elf).is_ok_and(|file| {
        file.dynamic_symbols()
            .any(|symbol| symbol.is_undefined() && symbol.name() == Ok("__assert_fail"))
    })
}

#[cfg(all(test, not(feature = "bundled")))]
mod tests {
    use super::*;

    #[test]
    fn the_loaded_library_is_found_and_read() {
        assert!(std::fs::read_to_string("/proc/self/maps").unwrap().contains("librocksdb"));
        // a program that asserts nothing, and no ELF file at all
        assert!(!imports_assertions(b"no library"));
        has_assertions();
    }

    #[test]
    fn the_version_is_a_version() {
        let version = version();
        let parts: Vec<u32> = version.split('.').map(|part| part.parse().unwrap()).collect();
        assert!(parts.len() == 3 && parts[0] >= 7, "{version}");
        assert_eq!(check(), Ok(()));
    }
}
