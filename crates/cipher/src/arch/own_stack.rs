//! A call on a stack of its own, to see what it leaves there. For tests.

use std::ffi::c_void;

/// Bytes of the stack, which no call of this crate fills.
const BYTES: usize = 1 << 20;

/// Calls `job` on a fresh stack and returns all of that stack, lowest address first. `job` must not
/// panic, and must capture only references: its own values would be on that stack.
pub(crate) fn left_by(job: impl FnOnce()) -> Vec<u8> {
    extern "C" fn entry<F: FnOnce()>(job: *mut c_void) {
        // SAFETY: the pointer passed below, to a live job that nothing else takes.
        let job = unsafe { &mut *job.cast::<Option<F>>() };
        job.take().expect("called once")();
    }
    fn entry_of<F: FnOnce()>(_job: &Option<F>) -> extern "C" fn(*mut c_void) {
        entry::<F>
    }
    let mut stack = vec![0_u8; BYTES];
    let top = (stack.as_mut_ptr_range().end.addr() - 64) & !63;
    let mut job = Some(job);
    let entry = entry_of(&job);
    // SAFETY: the stack is that of the call alone, large enough and aligned as the C ABI requires
    // before a call. `r12` belongs to the caller in that ABI, so it restores the old stack; a panic
    // would abort at the edge of `entry`.
    unsafe {
        std::arch::asm!(
            "mov r12, rsp",
            "mov rsp, {top}",
            "call {entry}",
            "mov rsp, r12",
            top = in(reg) top,
            entry = in(reg) entry,
            in("rdi") (&raw mut job).cast::<c_void>(),
            out("r12") _,
            clobber_abi("C"),
        );
    }
    stack
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A value that is left on a stack is found.
    #[test]
    fn a_value_left_behind_is_found() {
        let secret: [u8; 32] = std::array::from_fn(|i| 0x5a ^ i as u8);
        let stack = left_by(|| {
            let copy = std::hint::black_box(secret.map(|byte| byte ^ 0xff));
            std::hint::black_box(&copy);
        });
        let wanted = secret.map(|byte| byte ^ 0xff);
        assert!(stack.windows(32).any(|window| window == wanted));
        assert!(!left_by(|| ()).windows(32).any(|window| window == wanted));
    }
}
