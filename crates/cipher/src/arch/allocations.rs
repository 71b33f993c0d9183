//! An allocator that counts, for tests of calls that must not allocate: the system's, and a count
//! for each thread.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    static COUNT: Cell<u64> = const { Cell::new(0) };
}

/// The system's allocator, which counts the requests of each thread. A test makes it its
/// `#[global_allocator]`.
#[derive(Debug)]
pub struct CountingAllocator;

/// Returns the number of times this thread has requested memory so far.
#[must_use]
pub fn allocations() -> u64 {
    COUNT.get()
}

fn count() {
    // An ending thread makes one more request after its count is gone.
    let _ = COUNT.try_with(|count| count.set(count.get() + 1));
}

// SAFETY: all is done by the system's allocator, on the same arguments.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise is passed on.
        unsafe { System.dealloc(place, layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, place: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        count();
        // SAFETY: the caller's promise is passed on.
        unsafe { System.realloc(place, layout, bytes) }
    }
}
