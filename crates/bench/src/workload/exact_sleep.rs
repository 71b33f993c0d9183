//! Sleeping to the microsecond.

/// Makes sleeps of this thread end on time. Otherwise Linux ends them up to 50 microseconds late,
/// which would count as latency of the store.
pub(crate) fn exact_sleep() {
    // if it is refused, sleeps are merely less exact
    #[cfg(target_os = "linux")]
    let _ = nix::sys::prctl::set_timerslack(1);
}
