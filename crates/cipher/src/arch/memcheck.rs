//! Requests to valgrind's tool memcheck: to treat memory as undefined or as defined, and to count
//! its errors.
//!
//! Memcheck reports each branch and each address that depends on an undefined bit. With secrets
//! marked as undefined this proves, for the instructions that ran, that secrets decide neither
//! (Langley, ctgrind, 2010). A request is a sequence of instructions that does nothing on a CPU
//! (valgrind's manual, "The Client Request mechanism"), so all of this may be called anywhere.

/// Returns whether valgrind runs this program.
pub fn is_running() -> bool {
    request(0x1001, &[]) != 0
}

/// Errors that memcheck has reported so far; 0 where it does not run.
pub fn errors() -> u64 {
    request(0x1201, &[])
}

/// Marks the content of `bytes` as secret from now on.
pub fn make_undefined(bytes: &mut [u8]) {
    request(MEMCHECK + 1, bytes);
}

/// Marks the content of `bytes` as public from now on.
pub(crate) fn make_defined(bytes: &mut [u8]) {
    request(MEMCHECK + 2, bytes);
}

/// The first of memcheck's own requests: its letters M and C.
const MEMCHECK: u64 = 0x4d43_0000;

/// Makes the request `code` about `bytes`; the answer is 0 where nobody answers.
#[cfg(all(target_arch = "x86_64", target_os = "linux", not(miri)))]
fn request(code: u64, bytes: &[u8]) -> u64 {
    let arguments = [code, bytes.as_ptr().addr() as u64, bytes.len() as u64, 0, 0, 0];
    let mut answer = 0_u64;
    // SAFETY: the rotations add up to nothing, the exchange is one of a register with itself.
    // Valgrind, where it runs, reads the six numbers at `rax`, changes its records of the memory
    // that they name, and puts its answer into `rdx`.
    unsafe {
        std::arch::asm!(
            "rol rdi, 3",
            "rol rdi, 13",
            "rol rdi, 61",
            "rol rdi, 51",
            "xchg rbx, rbx",
            in("rax") arguments.as_ptr(),
            inout("rdx") answer,
            options(nostack),
        );
    }
    answer
}

/// Returns nothing: valgrind does not exist here.
#[cfg(not(all(target_arch = "x86_64", target_os = "linux", not(miri))))]
fn request(_code: u64, _bytes: &[u8]) -> u64 {
    0
}
