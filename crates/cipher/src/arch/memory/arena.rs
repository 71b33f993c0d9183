//! Slots for key material, by size, cut from protected pages and reused without a call to the
//! system.
//!
//! All state that a fork could leave half changed (locks, lists, totals, and the number that
//! distinguishes processes) is in a page that is zeroed in a forked child. All zeros is the state
//! of an unused arena. So a child waits for no lock that another thread of its parent held, hands
//! out no slot of its parent (which the child's system would not keep locked), and can tell that it
//! is a child. Each thread keeps a few free slots of each size for itself, so that setting a key
//! takes no lock.

use std::alloc::{Layout, handle_alloc_error};
use std::cell::Cell;
use std::hint::spin_loop;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicUsize, Ordering};

use zeroize::optimization_barrier;

use super::pages::{self, Pages};

/// Sizes of slots: powers of two from [`SLOT_BYTES_MIN`] to [`SLOT_BYTES_MAX`].
const SIZES: usize = 13;
const SLOT_BYTES_MIN: usize = 32;
/// The largest slot, in bytes: the bit planes of a bitsliced key schedule fit with room to spare.
pub(super) const SLOT_BYTES_MAX: usize = SLOT_BYTES_MIN << (SIZES - 1);

/// Number of bytes mapped at once: as many as an unprivileged process may lock on old kernels.
const CHUNK_BYTES: usize = 64 << 10;
/// Slots of one size are cut out of this many bytes at least, so that they are aligned to their
/// size.
const RUN_BYTES: usize = 4096;

/// Number of free slots of each size that a thread keeps. Larger slots are not worth their memory.
const KEPT: [u8; KEPT_SIZES] = [8, 8, 8, 8, 8, 4, 2, 2];
const KEPT_SIZES: usize = 8;
const KEPT_MAX: usize = 8;

/// A piece of protected memory that belongs to the holder of this value. Not freed on drop: see
/// [`release`].
pub(super) struct Slot {
    pub(super) start: NonNull<u8>,
    /// Generation of the process it was taken in, see [`generation`].
    pub(super) generation: u32,
}

/// Amount of memory set aside for keys in this process, and what the system granted for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Protection {
    /// Set aside, in bytes, whether it contains keys at the moment or not.
    pub mapped_bytes: usize,
    /// Part of `mapped_bytes` that is kept out of swap. Less than all of it where `RLIMIT_MEMLOCK`
    /// was used up.
    pub locked_bytes: usize,
    /// Part of `mapped_bytes` that is left out of core dumps.
    pub undumped_bytes: usize,
    /// Part of `mapped_bytes` that is zeroed in a forked child.
    pub wiped_on_fork_bytes: usize,
}

/// The state of the arena. All zeros is a valid one.
#[repr(C)]
struct Page {
    /// Number of this process, from 1; 0 if it was not requested yet, as in a forked child.
    generation: AtomicU32,
    growing: Lock,
    /// Rest of the chunk that slots are cut from. Under `growing`.
    rest: AtomicPtr<u8>,
    rest_bytes: AtomicUsize,
    mapped_bytes: AtomicUsize,
    locked_bytes: AtomicUsize,
    undumped_bytes: AtomicUsize,
    wiped_on_fork_bytes: AtomicUsize,
    lists: [List; SIZES],
}

/// Free slots of one size, each with the address of the next in its first bytes.
#[repr(C, align(64))]
struct List {
    lock: Lock,
    /// Under `lock`.
    first: AtomicPtr<u8>,
}

/// Address of the state; set once.
static PAGE: AtomicPtr<Page> = AtomicPtr::new(ptr::null_mut());
/// True if that page is zeroed in a forked child. Set before `PAGE`.
static WIPED_ON_FORK: AtomicBool = AtomicBool::new(false);
/// The last generation given out, here or in a process that this one descends from.
static LAST_GENERATION: AtomicU32 = AtomicU32::new(0);

#[inline]
fn page() -> &'static Page {
    let page = PAGE.load(Ordering::Acquire);
    if page.is_null() {
        return first_page();
    }
    // SAFETY: `PAGE` only ever holds null and what `first_page` put there: a live page of the type
    // that is never freed.
    unsafe { &*page }
}

/// No lock: a fork in the middle must not leave one taken for ever.
#[cold]
fn first_page() -> &'static Page {
    let Some(pages) = pages::map(size_of::<Page>(), false) else {
        handle_alloc_error(Layout::new::<Page>())
    };
    WIPED_ON_FORK.store(pages.wiped_on_fork, Ordering::Release);
    let own = pages.start.as_ptr().cast::<Page>();
    // the pages of the thread that comes second are left unused
    let page =
        match PAGE.compare_exchange(ptr::null_mut(), own, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => own,
            // the pages of the thread that comes second are left unused
            Err(first) => first,
        };
    // SAFETY: pages are aligned, zeroed and as long as requested, all zeros is a valid `Page`, and
    // they are never given back.
    unsafe { &*page }
}

/// Returns the number of this process among those it descends from: another one after each fork.
#[inline]
pub(super) fn generation() -> u32 {
    match page().generation.load(Ordering::Relaxed) {
        0 => first_generation(),
        generation => generation,
    }
}

#[cold]
fn first_generation() -> u32 {
    let own = LAST_GENERATION.fetch_add(1, Ordering::Relaxed).wrapping_add(1).max(1);
    match page().generation.compare_exchange(0, own, Ordering::AcqRel, Ordering::Acquire) {
        Ok(_) => own,
        Err(first) => first,
    }
}

/// Returns whether something made in `generation` (not 0) belongs to this process. Costs one load,
/// and another to find where to look.
#[inline]
pub(super) fn is_current(generation: u32) -> bool {
    page().generation.load(Ordering::Relaxed) == generation
}

/// Returns whether a fork changes the generation; otherwise nothing here notices a fork.
#[inline]
pub(super) fn notices_forks() -> bool {
    page();
    WIPED_ON_FORK.load(Ordering::Relaxed)
}

/// Returns the amounts of memory that the arena holds in this process.
pub(super) fn protection() -> Protection {
    let page = page();
    Protection {
        mapped_bytes: page.mapped_bytes.load(Ordering::Relaxed),
        locked_bytes: page.locked_bytes.load(Ordering::Relaxed),
        undumped_bytes: page.undumped_bytes.load(Ordering::Relaxed),
        wiped_on_fork_bytes: page.wiped_on_fork_bytes.load(Ordering::Relaxed),
    }
}

impl Slot {
    /// Returns room for `layout`, of at most [`SLOT_BYTES_MAX`] bytes and alignment [`RUN_BYTES`].
    #[inline]
    pub(super) fn take(layout: Layout) -> Self {
        let bytes = layout.size().max(layout.align());
        debug_assert!(bytes <= SLOT_BYTES_MAX && layout.align() <= RUN_BYTES);
        let generation = generation();
        let size = size_of_slot(bytes);
        let start = CACHE.try_with(|cache| cache.take(size, generation));
        // a thread that is ending has no free slots of its own any more
        let start = start.unwrap_or_else(|_| page().take(size));
        Self { start, generation }
    }
}

/// Zeroes the slot at `start`, which was taken for `layout`, and makes it free.
///
/// # Safety
/// The slot was taken in this `generation`, which is the current one, and for this layout; it is
/// released once, its content was dropped, and nothing refers to it any more.
#[inline]
pub(super) unsafe fn release(start: NonNull<u8>, layout: Layout, generation: u32) {
    // `start` comes from a value, and pointers derived from it must not touch the bytes behind it
    // in the slot.
    let start = NonNull::<u8>::with_exposed_provenance(start.addr());
    // SAFETY: a slot has room for what it was taken for and, by the conditions above, no other
    // user.
    unsafe { ptr::write_bytes(start.as_ptr(), 0, layout.size()) };
    optimization_barrier(&start);
    let size = size_of_slot(layout.size().max(layout.align()));
    if CACHE.try_with(|cache| cache.give(size, generation, start)).is_err() {
        page().give(size, start);
    }
}

/// Returns the index of the list that holds slots of `bytes` bytes.
#[inline]
fn size_of_slot(bytes: usize) -> usize {
    let slot_bytes = bytes.max(SLOT_BYTES_MIN).next_power_of_two();
    (slot_bytes.trailing_zeros() - SLOT_BYTES_MIN.trailing_zeros()) as usize
}

/// The free slots that a thread keeps for itself.
struct Cache {
    /// The generation in which they were put here: slots of a parent are not used.
    generation: Cell<u32>,
    counts: [Cell<u8>; KEPT_SIZES],
    slots: [[Cell<*mut u8>; KEPT_MAX]; KEPT_SIZES],
}

thread_local! {
    static CACHE: Cache = const {
        Cache {
            generation: Cell::new(0),
            counts: [const { Cell::new(0) }; KEPT_SIZES],
            slots: [const { [const { Cell::new(ptr::null_mut()) }; KEPT_MAX] }; KEPT_SIZES],
        }
    };
}

impl Cache {
    #[inline]
    fn take(&self, size: usize, generation: u32) -> NonNull<u8> {
        if size >= KEPT_SIZES || self.generation.get() != generation {
            return self.begin(size, generation);
        }
        let count = self.counts[size].get();
        if count == 0 {
            return self.refill(size);
        }
        self.counts[size].set(count - 1);
        NonNull::new(self.slots[size][usize::from(count - 1) % KEPT_MAX].get())
            .expect("as many as are counted")
    }

    #[inline]
    fn give(&self, size: usize, generation: u32, slot: NonNull<u8>) {
        let full = size >= KEPT_SIZES || self.generation.get() != generation || {
            let count = self.counts[size].get();
            count >= KEPT[size] || {
                self.slots[size][usize::from(count) % KEPT_MAX].set(slot.as_ptr());
                self.counts[size].set(count + 1);
                false
            }
        };
        if full {
            self.give_back(size, slot);
        }
    }

    /// Forgets the slots of a parent. A large slot comes straight from its list.
    #[cold]
    fn begin(&self, size: usize, generation: u32) -> NonNull<u8> {
        if self.generation.replace(generation) != generation {
            self.counts.iter().for_each(|count| count.set(0));
        }
        page().lists[size].take(size)
    }

    #[cold]
    fn refill(&self, size: usize) -> NonNull<u8> {
        let list = &page().lists[size];
        let wanted = usize::from(KEPT[size] / 2);
        list.take_some(size, &self.slots[size][..wanted]);
        self.counts[size].set(wanted as u8);
        list.take(size)
    }

    /// Puts `slot` on its list, with half of the slots kept here.
    #[cold]
    fn give_back(&self, size: usize, slot: NonNull<u8>) {
        let list = &page().lists[size];
        list.give(&[Cell::new(slot.as_ptr())]);
        if size < KEPT_SIZES && self.counts[size].get() >= KEPT[size] {
            let (count, left) = (usize::from(KEPT[size]), KEPT[size] / 2);
            list.give(&self.slots[size][usize::from(left)..count]);
            self.counts[size].set(left);
        }
    }
}

impl Drop for Cache {
    fn drop(&mut self) {
        if is_current(self.generation.get()) {
            for (size, slots) in self.slots.iter().enumerate() {
                page().lists[size].give(&slots[..usize::from(self.counts[size].get())]);
            }
        }
    }
}

impl List {
    fn take(&self, size: usize) -> NonNull<u8> {
        let slot = Cell::new(ptr::null_mut());
        self.take_some(size, std::slice::from_ref(&slot));
        NonNull::new(slot.get()).expect("slots were taken")
    }

    /// Fills `slots` with free slots of size number `size`, that of this list.
    fn take_some(&self, size: usize, slots: &[Cell<*mut u8>]) {
        let _held = self.lock.hold();
        let mut first = self.first.load(Ordering::Relaxed);
        for slot in slots {
            if first.is_null() {
                first = page().cut(size);
            }
            slot.set(first);
            // SAFETY: a free slot is ours under the lock, aligned for a pointer, and begins with
            // the next one's address.
            first = unsafe { first.cast::<*mut u8>().read() };
        }
        self.first.store(first, Ordering::Relaxed);
    }

    /// Takes `slots` in, none of which is null or in use.
    fn give(&self, slots: &[Cell<*mut u8>]) {
        let _held = self.lock.hold();
        let mut first = self.first.load(Ordering::Relaxed);
        for slot in slots {
            // SAFETY: a free slot that nobody uses, aligned for a pointer, and longer than one.
            unsafe { slot.get().cast::<*mut u8>().write(first) };
            first = slot.get();
        }
        self.first.store(first, Ordering::Relaxed);
    }
}

impl Page {
    #[cold]
    fn take(&self, size: usize) -> NonNull<u8> {
        self.lists[size].take(size)
    }

    #[cold]
    fn give(&self, size: usize, slot: NonNull<u8>) {
        self.lists[size].give(&[Cell::new(slot.as_ptr())]);
    }

    /// New slots of size number `size`, linked as in a [`List`]; the first of them.
    #[cold]
    fn cut(&self, size: usize) -> *mut u8 {
        let slot_bytes = SLOT_BYTES_MIN << size;
        let run_bytes = slot_bytes.max(RUN_BYTES);
        let run = self.run(run_bytes);
        let mut first: *mut u8 = ptr::null_mut();
        for at in (0..run_bytes).step_by(slot_bytes).rev() {
            // SAFETY: `run` has `run_bytes` bytes that nobody else has, aligned to pages; slots
            // divide it evenly.
            unsafe {
                let slot = run.add(at);
                slot.cast::<*mut u8>().write(first);
                first = slot;
            }
        }
        first
    }

    /// Returns `bytes` bytes that nobody else has, aligned to [`RUN_BYTES`].
    fn run(&self, bytes: usize) -> *mut u8 {
        if bytes > CHUNK_BYTES / 2 {
            return self.map(bytes).start.as_ptr();
        }
        let _held = self.growing.hold();
        if self.rest_bytes.load(Ordering::Relaxed) < bytes {
            let chunk = self.map(CHUNK_BYTES);
            self.rest.store(chunk.start.as_ptr(), Ordering::Relaxed);
            self.rest_bytes.store(chunk.bytes, Ordering::Relaxed);
        }
        let run = self.rest.load(Ordering::Relaxed);
        // SAFETY: at least `bytes` bytes are left of the chunk that `run` points into.
        self.rest.store(unsafe { run.add(bytes) }, Ordering::Relaxed);
        self.rest_bytes.fetch_sub(bytes, Ordering::Relaxed);
        run
    }

    fn map(&self, bytes: usize) -> Pages {
        let Some(pages) = pages::map(bytes, true) else {
            handle_alloc_error(Layout::from_size_align(bytes, RUN_BYTES).expect("a size of ours"))
        };
        // for `release`
        pages.start.expose_provenance();
        let granted = |granted: bool| if granted { pages.bytes } else { 0 };
        self.mapped_bytes.fetch_add(pages.bytes, Ordering::Relaxed);
        self.locked_bytes.fetch_add(granted(pages.locked), Ordering::Relaxed);
        self.undumped_bytes.fetch_add(granted(pages.undumped), Ordering::Relaxed);
        self.wiped_on_fork_bytes.fetch_add(granted(pages.wiped_on_fork), Ordering::Relaxed);
        pages
    }
}

/// A lock that is free when zero, for a few instructions at a time. A lock of the standard library
/// is not guaranteed to be free when its memory is zeroed.
#[repr(transparent)]
struct Lock(AtomicU32);

/// The lock is held until this is dropped.
struct Held<'a>(&'a Lock);

impl Lock {
    fn hold(&self) -> Held<'_> {
        let mut tries = 0;
        while self.0.swap(1, Ordering::Acquire) != 0 {
            while self.0.load(Ordering::Relaxed) != 0 {
                tries += 1;
                // the holder may be waiting for this very CPU
                if tries % 64 == 0 { std::thread::yield_now() } else { spin_loop() }
            }
        }
        Held(self)
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.0.0.store(0, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_at_least_as_long_as_asked_for() {
        for bytes in 0..=SLOT_BYTES_MAX {
            let slot_bytes = SLOT_BYTES_MIN << size_of_slot(bytes);
            assert!(
                slot_bytes >= bytes && (slot_bytes < 2 * bytes || slot_bytes == SLOT_BYTES_MIN),
                "{bytes}"
            );
        }
        assert_eq!(size_of_slot(SLOT_BYTES_MAX), SIZES - 1);
    }
}
