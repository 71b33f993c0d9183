//! The time stamp counter of x86-64 CPUs, for speeds in cycles a byte. It ticks at a fixed rate,
//! the CPU's reference clock, whatever the core runs at; other CPUs have none here.

/// Returns the counter now.
#[cfg(target_arch = "x86_64")]
#[inline]
pub(crate) fn ticks() -> Option<u64> {
    // SAFETY: `rdtsc` belongs to every x86-64 CPU, reads no memory and writes two registers that
    // the intrinsic names.
    Some(unsafe { core::arch::x86_64::_rdtsc() })
}

/// Returns the counter now: none on this architecture.
#[cfg(not(target_arch = "x86_64"))]
pub(crate) fn ticks() -> Option<u64> {
    None
}
