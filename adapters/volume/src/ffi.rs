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

/// Keeps the memory of this process from being written to swap, as it comes to be used: what it
/// seals for others would be there in the clear, and could wait for itself. Returns false where
/// that is not allowed: it takes root, or a limit (`RLIMIT_MEMLOCK`) that is high enough.
#[must_use]
pub fn lock_memory() -> bool {
    // SAFETY: the call takes a number alone, and moves nothing
    unsafe { libc::mlockall(libc::MCL_CURRENT | libc::MCL_FUTURE | libc::MCL_ONFAULT) == 0 }
}
