//! Calls to the kernel that no library of ours has.

/// Tells the kernel that this process writes out what others wait for, so that it gets memory for
/// it even when all others wait for memory. Returns false where that is not allowed: it takes root.
#[must_use]
pub fn become_io_flusher() -> bool {
    /// linux/prctl.h, since Linux 5.6.
    const PR_SET_IO_FLUSHER: libc::c_int = 57;
    // SAFETY: the call takes numbers alone, and changes nothing but a flag of the calling thread
    // and those that it starts
    unsafe { libc::prctl(PR_SET_IO_FLUSHER, 1, 0, 0, 0) == 0 }
}
