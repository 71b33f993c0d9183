//! Forked children, for tests of state that must not outlive a fork. Linux only.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::Command;

/// A way to make a child; like `fork` it returns 0 in the child.
#[derive(Clone, Copy, Debug)]
pub struct Way(fn() -> i32);

/// By libc, and by the system call that bypasses libc.
pub const WAYS: [Way; 2] = [
    // SAFETY: the child only does what `in_child` does, which never returns there.
    Way(|| unsafe { libc::fork() }),
    // SAFETY: as above. Without a stack and without flags but the signal for the parent this is a
    // fork.
    Way(|| unsafe { libc::syscall(libc::SYS_clone, libc::SIGCHLD, 0, 0, 0, 0) as i32 }),
];

/// Runs `body` in a process that does nothing else, so that it may fork, or change the whole
/// process.
///
/// - `module`: `module_path!()` of the test
/// - `name`: that of the test's function
///
/// # Panics
/// If `body` does, or the process does not start.
pub fn in_own_process(module: &str, name: &str, body: impl FnOnce()) {
    const MARK: &str = "SEALSTONE_TEST_IN_OWN_PROCESS";
    if std::env::var_os(MARK).is_some() {
        return body();
    }
    // as the harness calls it: the path of the module below the crate, then the test
    let test =
        module.split_once("::").map_or(name.to_owned(), |(_, module)| format!("{module}::{name}"));
    let own = Command::new(std::env::current_exe().expect("this program"))
        .args([&test, "--exact", "--test-threads=1", "--nocapture"])
        .env(MARK, "1")
        .output()
        .expect("this program starts");
    let said = String::from_utf8_lossy(&own.stdout);
    assert!(
        own.status.success() && said.contains("1 passed"),
        "{said}{}",
        String::from_utf8_lossy(&own.stderr)
    );
}

/// Runs `body` in a child that is forked in `way` and ends there. Call it in a process of its own,
/// see [`in_own_process`]: a child has none of the other threads, and would wait for ever for locks
/// that they held.
///
/// # Panics
/// If `body` returns false, panics, or takes more than a minute.
pub fn in_child(way: Way, body: impl FnOnce() -> bool) {
    match way.0() {
        0 => {
            // SAFETY: neither call touches memory of Rust; the child ends here and runs nothing of
            // the parent's.
            unsafe {
                libc::alarm(60);
                let right = catch_unwind(AssertUnwindSafe(body)).unwrap_or(false);
                libc::_exit(if right { 0 } else { 1 })
            }
        }
        child => {
            assert!(child > 0, "fork: {}", std::io::Error::last_os_error());
            let mut status = 0;
            // SAFETY: `status` outlives the call, and `child` is a child of ours that nobody else
            // waits for.
            assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
            assert!(
                libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0,
                "the child ended with {status:#x}"
            );
        }
    }
}

/// As [`in_child`], in one child of each of [`WAYS`].
///
/// # Panics
/// As [`in_child`].
pub fn in_children(mut body: impl FnMut() -> bool) {
    WAYS.into_iter().for_each(|way| in_child(way, &mut body));
}
