//! Values in protected memory ([`Protected`]) and the check that this process still is the one that
//! made them ([`Generation`]). `crate::memory` documents the guarantees of both.
//!
//! A keyed cipher is also a protected value: its constructor builds schedules, hash keys and their
//! powers in a slot ([`Protected::with`]), so keyed ciphers are `Protected<dyn …>` everywhere.
//!
//! A [`Protected`] panics when it is used in a forked child, since the zeros that the child has
//! must not be taken for a key. Code that can return an error checks first: `Secret::check` of
//! `sealstone-keys`, the keys of a file's segments, engine pages. `--bench protected_memory`
//! compares a slot with a `Box`.

mod arena;
#[cfg(all(test, target_os = "linux", not(miri)))]
mod linux_tests;
mod pages;

use std::alloc::Layout;
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

use arena::Slot;

pub use arena::Protection;

/// Returns the amount of memory set aside for keys in this process, and what the system granted for
/// it.
///
/// The difference was not granted: `mapped_bytes - locked_bytes` may be written to swap.
pub fn protection() -> Protection {
    arena::protection()
}

/// This process was forked from the one that set a key or opened a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "this process was forked from the one that opened the file or set the key, and has no keys of \
     it: both would use the same nonces\nopen files and keys again after the fork"
)]
pub struct Forked;

/// Identity of the process that made something: taken when it is made, checked when it is used.
///
/// A nonce must not be used twice, and a forked child has a copy of every counter its parent has.
/// So code that counts nonces takes a `Generation` where the count begins and checks it before each
/// use.
///
/// It detects every copy of the address space within a running system: `fork`, `vfork` with a copy,
/// `clone` without `CLONE_VM`, from any language, with or without libc. It does not detect a memory
/// image that is restored as a whole: a virtual machine that is resumed from a snapshot twice, or a
/// process restored by CRIU. There all memory is as before, this mark included.
///
/// ```
/// use sealstone_cipher::memory::Generation;
///
/// let opened_in = Generation::current();
/// opened_in.check()?; // before each use of a nonce
/// # Ok::<(), sealstone_cipher::memory::Forked>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Generation {
    mark: u32,
    /// The process id where the system does not zero marks on fork, otherwise 0.
    process: u32,
}

impl Generation {
    /// Returns the generation of this process.
    #[must_use]
    pub fn current() -> Self {
        let process = if arena::notices_forks() { 0 } else { std::process::id() };
        Self { mark: arena::generation(), process }
    }

    /// Checks that this process is the one in which it was taken. Costs two loads that are always
    /// in the cache on Linux (from 4.14 on), and a system call elsewhere.
    ///
    /// # Errors
    /// [`Forked`] in a child.
    #[inline]
    pub fn check(self) -> Result<(), Forked> {
        let same = arena::is_current(self.mark)
            && (self.process == 0 || self.process == std::process::id());
        if same { Ok(()) } else { Err(Forked) }
    }
}

/// A value in memory that is kept out of swap and core dumps and wiped in a forked child, as far as
/// the system grants it (see [`protection`]); zeroed on drop.
///
/// Moving it moves a pointer. The value itself is not moved, so it leaves no copies behind, except
/// where it was made: so make it empty and fill it in place.
///
/// In a forked child the value is gone. Using it there panics with the words of [`Forked`], since
/// zeros must not be taken for a key; [`Protected::check`] tests for that first. It is not dropped
/// there either. Code that forks (`fork` is unsafe in Rust for such reasons) must not hold a
/// reference into the value across the fork.
///
/// ```
/// use sealstone_cipher::memory::Protected;
///
/// let mut key = Protected::new([0; 32]);
/// key.fill(7); // from where the key comes
/// assert_eq!(key[31], 7);
/// ```
pub struct Protected<T: ?Sized> {
    /// In a slot of the arena that was taken for the value's layout.
    value: NonNull<T>,
    /// Generation of the process it was made in.
    generation: u32,
    owns: PhantomData<T>,
}

// SAFETY: it owns its value alone, as a `Box` does, and slots may be released by any thread.
unsafe impl<T: ?Sized + Send> Send for Protected<T> {}
// SAFETY: a shared one gives out shared references only, as a `Box` does.
unsafe impl<T: ?Sized + Sync> Sync for Protected<T> {}

impl<T> Protected<T> {
    /// Moves `value`, of at most 128 KiB, into protected memory.
    #[inline]
    #[must_use]
    pub fn new(value: T) -> Self {
        let (place, generation) = Self::place();
        // SAFETY: the place is as long and as aligned as a `T`, and nobody else has it.
        unsafe { place.write(value) };
        Self { value: place, generation, owns: PhantomData }
    }

    /// Stores the value that `make` returns, of at most 128 KiB, in protected memory: built in
    /// place, where the compiler can.
    #[inline]
    #[must_use]
    pub fn with(make: impl FnOnce() -> T) -> Self {
        let (place, generation) = Self::place();
        // SAFETY: as in `new`.
        unsafe { place.write(make()) };
        Self { value: place, generation, owns: PhantomData }
    }

    /// Returns room for a value, and the process that it is taken in.
    #[inline]
    fn place() -> (NonNull<T>, u32) {
        const { assert!(size_of::<T>() <= arena::SLOT_BYTES_MAX && align_of::<T>() <= 4096) };
        let Slot { start, generation } = Slot::take(Layout::new::<T>());
        (start.cast(), generation)
    }
}

impl<T: ?Sized> Protected<T> {
    /// Returns the same as a trait object: `key.unsize(|key| key)` where the result's type is
    /// known.
    ///
    /// # Panics
    /// If `coerce` returns another value than it is given.
    #[inline]
    #[must_use]
    pub fn unsize<U: ?Sized>(mut self, coerce: for<'a> fn(&'a mut T) -> &'a mut U) -> Protected<U> {
        let (layout, generation) = (Layout::for_value::<T>(&self), self.generation);
        let coerced = coerce(&mut self);
        assert!(Layout::for_value(coerced) == layout, "a coercion keeps size and alignment");
        let value = NonNull::from(coerced);
        assert!(value.cast::<u8>() == self.value.cast::<u8>(), "a coercion keeps the place");
        std::mem::forget(self);
        // The reference that `coerce` returned lives no longer than the one it was given, so at
        // this address it is the value or a part of it, and valid as long as the value. With this
        // layout the slot is released.
        Protected { value, generation, owns: PhantomData }
    }

    /// Checks that the value is there: it is not in a child that was forked since it was made.
    ///
    /// # Errors
    /// [`Forked`] in a child.
    #[inline]
    pub fn check(&self) -> Result<(), Forked> {
        if arena::is_current(self.generation) { Ok(()) } else { Err(Forked) }
    }
}

#[cold]
#[inline(never)]
fn forked() -> ! {
    panic!("{Forked}")
}

impl<T: ?Sized> Deref for Protected<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        if !arena::is_current(self.generation) {
            forked();
        }
        // SAFETY: in the process that made it the value lives until drop, and `&self` allows shared
        // references.
        unsafe { self.value.as_ref() }
    }
}

impl<T: ?Sized> DerefMut for Protected<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        if !arena::is_current(self.generation) {
            forked();
        }
        // SAFETY: as in `deref`, and `&mut self` allows an exclusive reference.
        unsafe { self.value.as_mut() }
    }
}

impl<T: ?Sized> AsRef<T> for Protected<T> {
    #[inline]
    fn as_ref(&self) -> &T {
        self
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for Protected<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.check() {
            Ok(()) => (**self).fmt(f),
            Err(Forked) => f.write_str("Protected(wiped by a fork)"),
        }
    }
}

impl<T: ?Sized> Drop for Protected<T> {
    #[inline]
    fn drop(&mut self) {
        // zeros are no value of the type in general, and whatever it owned belongs to the parent
        if !arena::is_current(self.generation) {
            return;
        }
        // SAFETY: the value is dropped here and nowhere else, in the process that made it;
        // afterwards nothing refers to the slot, which was taken in this process for the value's
        // layout.
        unsafe {
            let layout = Layout::for_value(self.value.as_ref());
            self.value.drop_in_place();
            arena::release(self.value.cast(), layout, self.generation);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::panic::catch_unwind;
    use std::sync::mpsc;
    use std::thread;

    use super::*;

    #[test]
    fn no_two_values_share_memory() {
        let (send, receive) = mpsc::sync_channel::<(u8, Protected<[u8]>)>(64);
        thread::scope(|scope| {
            for thread in 0..4_u8 {
                let send = send.clone();
                scope.spawn(move || {
                    for round in 0..if cfg!(miri) { 40 } else { 3000_u32 } {
                        let mark = thread ^ (round as u8).wrapping_mul(37);
                        let value = match round % 4 {
                            0 => Protected::new([mark; 7]).unsize(|bytes| &mut bytes[..]),
                            1 => Protected::new([mark; 100]).unsize(|bytes| &mut bytes[..]),
                            2 => Protected::new([mark; 2048]).unsize(|bytes| &mut bytes[..]),
                            _ => Protected::new([mark; 5000]).unsize(|bytes| &mut bytes[..]),
                        };
                        send.send((mark, value)).expect("somebody receives");
                    }
                });
            }
            drop(send);
            // freed in another thread than they were made in, in another order
            let mut held = Vec::new();
            for (mark, value) in receive {
                held.push((mark, value));
                if held.len() == 100 {
                    let last = held.len() - 1;
                    held.swap(0, last);
                    for (mark, value) in held.drain(20..) {
                        assert!(value.iter().all(|byte| *byte == mark));
                    }
                }
            }
        });
    }

    #[test]
    fn a_trait_object_is_the_value_it_was_made_of() {
        trait Sum: Send {
            fn sum(&self) -> u32;
        }
        impl<const N: usize> Sum for [u32; N] {
            fn sum(&self) -> u32 {
                self.iter().sum()
            }
        }
        let sums: [Protected<dyn Sum>; 2] = [
            Protected::new([1, 2, 3]).unsize(|sum| sum),
            Protected::new([4; 1000]).unsize(|sum| sum),
        ];
        assert_eq!(
            sums.map(|sum| thread::spawn(move || sum.sum()).join().expect("a sum")),
            [6, 4000]
        );
        let elsewhere =
            || Protected::new([1_u32; 3]).unsize::<[u32; 3]>(|_| Box::leak(Box::new([2; 3])));
        assert!(catch_unwind(elsewhere).is_err());
        let part = || Protected::new([1_u32; 300]).unsize(|values| &mut values[..3]);
        assert!(catch_unwind(part).is_err());
    }
}
