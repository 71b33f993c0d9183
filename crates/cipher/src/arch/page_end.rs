//! Memory that ends with a page, and the page behind it: for tests that nothing beyond the end is
//! touched, and for measuring the cost of calls there.

use std::io;
use std::ptr::{NonNull, null_mut};

/// Bytes of a page: the smallest there are.
const PAGE_BYTES: usize = 4096;

/// Kind of page behind the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Behind {
    /// A page that was written to.
    Touched,
    /// A page that may be read and written, and that nobody touched yet: the operating system has
    /// no memory for it so far.
    Untouched,
    /// A page that may be neither read nor written.
    Unreadable,
}

/// Memory that ends with a page, zeros at first.
#[derive(Debug)]
pub struct PageEnd {
    start: NonNull<u8>,
    /// Bytes before the end.
    room: usize,
}

// SAFETY: memory like that of a box, without ties to a thread.
unsafe impl Send for PageEnd {}

impl PageEnd {
    /// At least `bytes` bytes before the end of a page.
    ///
    /// # Errors
    /// The operating system's error where it has no memory.
    pub fn new(bytes: usize, behind: Behind) -> io::Result<Self> {
        let room = bytes.next_multiple_of(PAGE_BYTES).max(PAGE_BYTES);
        // Only touched pages are before the end: a larger mapping could become one huge page as a
        // whole.
        let (access, flags) =
            (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: a new mapping at no given address touches nothing that exists.
        let start = unsafe { libc::mmap(null_mut(), room + PAGE_BYTES, access, flags, -1, 0) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let start = NonNull::new(start.cast::<u8>()).expect("a mapping is not at address 0");
        let mut memory = Self { start, room };
        memory.before_end(room, 0).fill(0);
        // SAFETY: the mapping has a page behind `room`.
        let behind_it = unsafe { start.add(room) };
        match behind {
            Behind::Untouched => (),
            // SAFETY: that page is mapped for writing.
            Behind::Touched => unsafe { behind_it.write_bytes(1, PAGE_BYTES) },
            Behind::Unreadable => {
                // SAFETY: the page belongs to the mapping, and no reference to it exists.
                if unsafe { libc::mprotect(behind_it.as_ptr().cast(), PAGE_BYTES, libc::PROT_NONE) }
                    != 0
                {
                    return Err(io::Error::last_os_error());
                }
            }
        }
        Ok(memory)
    }

    /// The `bytes` bytes that end `gap` bytes before the end.
    ///
    /// # Panics
    /// If there is no room for them.
    pub fn before_end(&mut self, bytes: usize, gap: usize) -> &mut [u8] {
        assert!(
            bytes <= self.room && gap <= self.room - bytes,
            "{bytes} bytes and {gap} more in {}",
            self.room
        );
        // SAFETY: both are within the mapping, whose bytes are initialised by the operating system;
        // `self` is borrowed as a whole.
        unsafe {
            std::slice::from_raw_parts_mut(self.start.add(self.room - gap - bytes).as_ptr(), bytes)
        }
    }
}

impl Drop for PageEnd {
    fn drop(&mut self) {
        // SAFETY: mapped in `new` with this length, and borrowed by nobody.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.room + PAGE_BYTES) };
    }
}
