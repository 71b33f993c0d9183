//! Pages from the operating system for key material: between guard pages, locked into memory, left
//! out of core dumps and zeroed in a forked child, as far as the system grants each of these.
//!
//! Under Miri and on systems other than Linux they are plain memory.

use std::ptr::NonNull;

/// A run of zeroed pages, never given back, and what the system granted for them.
pub(super) struct Pages {
    pub(super) start: NonNull<u8>,
    /// Whole pages, at least as many bytes as requested.
    pub(super) bytes: usize,
    /// They stay out of swap.
    pub(super) locked: bool,
    /// They stay out of core dumps.
    pub(super) undumped: bool,
    /// They read as zeros in a forked child.
    pub(super) wiped_on_fork: bool,
}

/// Maps `bytes` bytes, rounded up to whole pages; `lock` is true if they should stay out of swap.
/// None where the system has no memory left.
#[cfg(all(target_os = "linux", not(miri)))]
pub(super) fn map(bytes: usize, lock: bool) -> Option<Pages> {
    // SAFETY: `sysconf` has no preconditions.
    let page_bytes = usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096);
    let bytes = bytes.checked_next_multiple_of(page_bytes)?;
    let whole = bytes.checked_add(2 * page_bytes)?;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    // SAFETY: a new mapping at a place that the system chooses touches no memory that exists.
    let outer = unsafe { libc::mmap(std::ptr::null_mut(), whole, libc::PROT_NONE, flags, -1, 0) };
    if outer == libc::MAP_FAILED {
        return None;
    }
    // SAFETY: the mapping is two pages longer than `bytes`, so the pages between the first and the
    // last are within it.
    let inner = unsafe { outer.byte_add(page_bytes) };
    // SAFETY: whole pages within the mapping above, which nothing else refers to.
    if unsafe { libc::mprotect(inner, bytes, libc::PROT_READ | libc::PROT_WRITE) } != 0 {
        // SAFETY: exactly the mapping above, to which no pointer is kept.
        unsafe { libc::munmap(outer, whole) };
        return None;
    }
    // SAFETY: whole pages of that mapping; neither call changes what the pages contain in this
    // process.
    let advised = |advice| unsafe { libc::madvise(inner, bytes, advice) } == 0;
    Some(Pages {
        start: NonNull::new(inner.cast())?,
        bytes,
        undumped: advised(libc::MADV_DONTDUMP),
        wiped_on_fork: advised(libc::MADV_WIPEONFORK),
        // SAFETY: as above.
        locked: lock && unsafe { libc::mlock(inner, bytes) } == 0,
    })
}

/// Returns plain memory, without any guarantee.
#[cfg(not(all(target_os = "linux", not(miri))))]
pub(super) fn map(bytes: usize, _lock: bool) -> Option<Pages> {
    let bytes = bytes.checked_next_multiple_of(4096)?;
    let layout = std::alloc::Layout::from_size_align(bytes, 4096).ok()?;
    assert_ne!(bytes, 0, "pages without any");
    // SAFETY: the layout is not empty.
    let start = NonNull::new(unsafe { std::alloc::alloc_zeroed(layout) })?;
    Some(Pages { start, bytes, locked: false, undumped: false, wiped_on_fork: false })
}
