//! Tests of the guarantees of the memory for keys, seen from outside: by the system's own account
//! of it, and from forked children.

use std::panic::catch_unwind;
use std::sync::atomic::{AtomicBool, Ordering};
use std::{fs, thread};

use super::{Forked, Generation, Protected, protection};
use crate::arch::fork::{WAYS, in_child, in_own_process};

/// Runs `body` in a process of its own, as the test `name`.
fn alone(name: &str, body: impl FnOnce()) {
    in_own_process(module_path!(), name, body);
}

/// Returns the bytes at `start`, whatever their owner.
fn seen(start: *const u8, bytes: usize) -> Vec<u8> {
    // SAFETY: the callers look at slots of the arena, which are never unmapped and whose other
    // users are these tests.
    (0..bytes).map(|at| unsafe { start.add(at).read_volatile() }).collect()
}

#[test]
fn a_forked_child_has_no_keys_and_knows_it() {
    alone("a_forked_child_has_no_keys_and_knows_it", || {
        let (generation, key) = (Generation::current(), Protected::new([7; 32]));
        let start = key.as_ptr();
        for fork in WAYS {
            in_child(fork, || {
                assert_eq!(seen(start, 32), [0; 32]);
                assert_eq!(key.check(), Err(Forked));
                assert_eq!(generation.check(), Err(Forked));
                assert!(catch_unwind(|| key[0]).is_err(), "a zero is no byte of a key");
                assert_eq!(format!("{key:?}"), "Protected(wiped by a fork)");
                true
            });
            assert_eq!((generation.check(), key.check(), *key), (Ok(()), Ok(()), [7; 32]));
        }
    });
}

/// A value that must not be dropped once it is zeros.
struct Counted<'a>(&'a AtomicBool, [u8; 100]);

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn a_forked_child_may_drop_keys_and_make_its_own() {
    alone("a_forked_child_may_drop_keys_and_make_its_own", || {
        let dropped = AtomicBool::new(false);
        for fork in WAYS {
            let key = Protected::new(Counted(&dropped, [7; 100]));
            let start = key.1.as_ptr();
            let mut key = Some(key);
            in_child(fork, || {
                drop(key.take());
                assert!(!dropped.load(Ordering::Relaxed));
                let (generation, own) = (Generation::current(), Protected::new([8; 100]));
                assert_ne!(own.as_ptr(), start, "memory of the parent is not locked here");
                assert_eq!((generation.check(), *own), (Ok(()), [8; 100]));
                // the child is a parent like any other
                in_child(fork, || generation.check() == Err(Forked) && own.check() == Err(Forked));
                generation.check() == Ok(())
            });
            assert!(!dropped.load(Ordering::Relaxed));
            drop(key);
            assert!(dropped.swap(false, Ordering::Relaxed));
        }
    });
}

/// A child has none of the threads that held locks when it was made.
#[test]
fn a_child_forked_from_busy_threads_can_set_keys() {
    alone("a_child_forked_from_busy_threads_can_set_keys", || {
        let done = AtomicBool::new(false);
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    while !done.load(Ordering::Relaxed) {
                        // more than a thread keeps for itself
                        let keys: Vec<_> = (0..40).map(|i| Protected::new([i; 3000])).collect();
                        assert!(keys.iter().zip(0..).all(|(key, i)| **key == [i; 3000]));
                    }
                });
            }
            for round in 0..60 {
                in_child(WAYS[round % 2], || {
                    (0..200).all(|i| {
                        let keys = [Protected::new([i; 3000]), Protected::new([!i; 3000])];
                        *keys[0] == [i; 3000] && *keys[1] == [!i; 3000]
                    })
                });
            }
            done.store(true, Ordering::Relaxed);
        });
    });
}

#[test]
fn memory_is_zeroed_when_freed() {
    // where no other thread takes freed memory
    alone("memory_is_zeroed_when_freed", || {
        let small = Protected::new([7; 33]);
        let large = Protected::new([7; 80_000]);
        let (small_at, large_at) = (small.as_ptr(), large.as_ptr());
        assert_eq!((seen(small_at, 33), seen(large_at, 33)), (vec![7; 33], vec![7; 33]));
        drop((small, large));
        assert!(seen(small_at, 33).iter().all(|byte| *byte == 0));
        // a slot on a list begins with the address of the next one
        assert!(seen(large_at, 80_000)[8..].iter().all(|byte| *byte == 0));
    });
}

/// Access and flags of the mapping that `address` is in, and whether no access is allowed right
/// before and behind it.
fn mapping(address: usize) -> (String, Vec<String>, bool) {
    let smaps =
        fs::read_to_string("/proc/self/smaps").expect("the system's account of this process");
    let range = |line: &str| {
        let (start, rest) = line.split_once('-')?;
        let (end, rest) = rest.split_once(' ')?;
        let number = |text| usize::from_str_radix(text, 16).ok();
        Some((number(start)?, number(end)?, rest[..4].to_owned()))
    };
    let (mut found, mut flags) = (None, Vec::new());
    for line in smaps.lines() {
        if let Some((start, end, access)) =
            range(line).filter(|(start, end, _)| (*start..*end).contains(&address))
        {
            found = Some((start, end, access));
        } else if let (Some(_), true, Some(words)) =
            (&found, flags.is_empty(), line.strip_prefix("VmFlags:"))
        {
            flags = words.split_whitespace().map(str::to_owned).collect();
        }
    }
    let (start, end, access) = found.expect("a mapping");
    let guarded = |edge: usize| {
        smaps
            .lines()
            .filter_map(range)
            .any(|(start, end, access)| (start..end).contains(&edge) && access == "---p")
    };
    (access, flags, guarded(start - 1) && guarded(end))
}

#[test]
fn the_system_locks_leaves_out_and_wipes() {
    let small = Protected::new([7_u8; 32]);
    let large = Protected::new([7_u8; 100_000]);
    let granted = protection();
    assert!(granted.mapped_bytes >= 100_032);
    assert_eq!(granted.undumped_bytes, granted.mapped_bytes);
    assert_eq!(granted.wiped_on_fork_bytes, granted.mapped_bytes);
    for address in [small.as_ptr().addr(), large.as_ptr().addr()] {
        let (access, flags, guarded) = mapping(address);
        assert_eq!(access, "rw-p");
        assert!(guarded, "an overrun would run into other memory");
        for flag in ["dd", "wf"] {
            assert!(flags.iter().any(|found| found == flag), "{flag} among {flags:?}");
        }
        if granted.locked_bytes == granted.mapped_bytes {
            assert!(flags.iter().any(|found| found == "lo"), "lo among {flags:?}");
        } else {
            println!(
                "SKIP: the_system_locks_leaves_out_and_wipes: RLIMIT_MEMLOCK is too low to see \
                 locked pages"
            );
        }
    }
}

#[test]
fn where_nothing_more_may_be_locked_the_rest_is_counted() {
    alone("where_nothing_more_may_be_locked_the_rest_is_counted", || {
        let limit = libc::rlimit { rlim_cur: 128 << 10, rlim_max: 128 << 10 };
        // SAFETY: plain system calls on this process, which runs nothing but this test.
        unsafe {
            assert_eq!(libc::setrlimit(libc::RLIMIT_MEMLOCK, &limit), 0);
            // limits do not bind the superuser
            assert!(libc::getuid() != 0 || libc::setuid(65534) == 0);
        }
        let keys: Vec<_> = (0..1000).map(|i| Protected::new([i as u8; 1000])).collect();
        let granted = protection();
        assert!((1..=128 << 10).contains(&granted.locked_bytes), "{granted:?}");
        assert!(granted.mapped_bytes >= 1_000_000, "{granted:?}");
        assert!(keys.iter().enumerate().all(|(i, key)| **key == [i as u8; 1000]));
    });
}
