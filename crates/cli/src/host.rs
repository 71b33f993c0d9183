//! The name of this machine, for what is read on another.

/// Returns the name of this machine; nothing where the system does not say.
pub(crate) fn name() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    name.trim().to_owned()
}
