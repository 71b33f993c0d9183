//! Record of a request that this process end, and of its signal. Not here: the listener, and its
//! reaction (`interrupt`).

use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

/// The signal that first requested this process to end; 0 before.
static ASKED: AtomicI32 = AtomicI32::new(0);
/// True if the thread that listens is about to end the process, so that no other thread may.
static ENDS: AtomicBool = AtomicBool::new(false);

/// Records that `signal` requests this process to end; returns whether another signal did before.
pub(crate) fn note(signal: i32) -> bool {
    ASKED.compare_exchange(0, signal, Ordering::SeqCst, Ordering::SeqCst).is_err()
}

/// Returns the exit code by which a shell recognises a process that a signal ended: 130 for Ctrl-C.
/// None as long as nothing has requested an end.
pub(crate) fn exit_code() -> Option<u8> {
    match ASKED.load(Ordering::SeqCst) {
        0 => None,
        signal => u8::try_from(128 + signal).ok(),
    }
}

/// Keeps the end of the process for the caller, who is about to end it.
pub(crate) fn take_the_end() {
    ENDS.store(true, Ordering::SeqCst);
}

/// Waits for the end of the process, if somebody is about to end it.
pub(crate) fn leave_the_end() {
    while ENDS.load(Ordering::SeqCst) {
        std::thread::park();
    }
}
