//! What the memory for keys promises, seen from outside: by the system's own account of it, and from forked children.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::{fs, thread};

use super::{Forked, Generation, Protected, protection};

/// Runs `body` in a process that does nothing else, so that it may fork, or change the whole process. `name` is the
/// test's.
fn in_own_process(name: &str, body: impl FnOnce()) {
    const MARK: &str = "SEALSTONE_TEST_IN_OWN_PROCESS";
    if std::env::var_os(MARK).is_some() {
        return body();
    }
    // as the test harness calls it: the path of this module below the crate, then the test
    let module = module_path!().split_once("::").expect("a module of a crate").1;
    let own = Command::new(std::env::current_exe().expect("this program"))
        .args([&format!("{module}::{name}"), "--exact", "--test-threads=1", "--nocapture"])
        .env(MARK, "1")
        .output()
        .expect("this program starts");
    let said = String::from_utf8_lossy(&own.stdout);
    assert!(own.status.success() && said.contains("1 passed"), "{said}{}", String::from_utf8_lossy(&own.stderr));
}

/// How a child comes to be: by libc, and by the system call that it does not know of.
const WAYS: [fn() -> i32; 2] = [
    // SAFETY: the child only does what `in_child` says.
    || unsafe { libc::fork() },
    // SAFETY: as above. Without a stack and without flags but the signal for the parent this is a fork.
    || unsafe { libc::syscall(libc::SYS_clone, libc::SIGCHLD, 0, 0, 0, 0) as i32 },
];

/// Runs `body` in a forked child, which it ends; it must say yes within a minute.
fn in_child(fork: fn() -> i32, body: impl FnOnce() -> bool) {
    match fork() {
        0 => {
            // SAFETY: neither call touches memory of Rust; the child ends here and runs nothing of the parent's.
            unsafe {
                libc::alarm(60);
                let right = catch_unwind(AssertUnwindSafe(body)).unwrap_or(false);
                libc::_exit(if right { 0 } else { 1 })
            }
        }
        child => {
            assert!(child > 0, "fork: {}", std::io::Error::last_os_error());
            let mut status = 0;
            // SAFETY: `status` outlives the call, and `child` is a child of ours that nobody else waits for.
            assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
            assert!(libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0, "the child ended with {status:#x}");
        }
    }
}

/// The bytes at `start`, whoever they belong to.
fn seen(start: *const u8, bytes: usize) -> Vec<u8> {
    // SAFETY: the callers look at slots of the arena, which are never unmapped and whose other users are these tests.
    (0..bytes).map(|at| unsafe { start.add(at).read_volatile() }).collect()
}

#[test]
fn a_forked_child_has_no_keys_and_knows_it() {
    in_own_process("a_forked_child_has_no_keys_and_knows_it", || {
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
    in_own_process("a_forked_child_may_drop_keys_and_make_its_own", || {
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
    in_own_process("a_child_forked_from_busy_threads_can_set_keys", || {
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
    // where nobody else takes what was freed
    in_own_process("memory_is_zeroed_when_freed", || {
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

/// Access and flags of the mapping that `address` is in, and whether no access is allowed right before and behind it.
fn mapping(address: usize) -> (String, Vec<String>, bool) {
    let smaps = fs::read_to_string("/proc/self/smaps").expect("the system's account of this process");
    let range = |line: &str| {
        let (start, rest) = line.split_once('-')?;
        let (end, rest) = rest.split_once(' ')?;
        let number = |text| usize::from_str_radix(text, 16).ok();
        Some((number(start)?, number(end)?, rest[..4].to_owned()))
    };
    let (mut found, mut flags) = (None, Vec::new());
    for line in smaps.lines() {
        if let Some((start, end, access)) = range(line).filter(|(start, end, _)| (*start..*end).contains(&address)) {
            found = Some((start, end, access));
        } else if let (Some(_), true, Some(words)) = (&found, flags.is_empty(), line.strip_prefix("VmFlags:")) {
            flags = words.split_whitespace().map(str::to_owned).collect();
        }
    }
    let (start, end, access) = found.expect("a mapping");
    let guarded = |edge: usize| {
        smaps.lines().filter_map(range).any(|(start, end, access)| (start..end).contains(&edge) && access == "---p")
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
            println!("SKIP: the_system_locks_leaves_out_and_wipes: RLIMIT_MEMLOCK is too low to see locked pages");
        }
    }
}

#[test]
fn where_nothing_more_may_be_locked_the_rest_is_counted() {
    in_own_process("where_nothing_more_may_be_locked_the_rest_is_counted", || {
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

#[test]
fn no_two_values_share_memory() {
    let (send, receive) = mpsc::sync_channel::<(u8, Protected<[u8]>)>(64);
    thread::scope(|scope| {
        for thread in 0..4_u8 {
            let send = send.clone();
            scope.spawn(move || {
                for round in 0..3000_u32 {
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
            if held.len() == 500 {
                let last = held.len() - 1;
                held.swap(0, last);
                for (mark, value) in held.drain(100..) {
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
    let sums: [Protected<dyn Sum>; 2] =
        [Protected::new([1, 2, 3]).unsize(|sum| sum), Protected::new([4; 1000]).unsize(|sum| sum)];
    assert_eq!(sums.map(|sum| thread::spawn(move || sum.sum()).join().expect("a sum")), [6, 4000]);
    let elsewhere = || Protected::new([1_u32; 3]).unsize::<[u32; 3]>(|_| Box::leak(Box::new([2; 3])));
    assert!(catch_unwind(elsewhere).is_err());
}
