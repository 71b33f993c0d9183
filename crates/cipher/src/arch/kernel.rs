//! Code that runs with the instructions of a token.

/// An algorithm to run with the instructions of `L`.
///
/// `run` and all it calls is compiled for these instructions only where it is inlined, so it and
/// its callees carry `#[inline(always)]`, and it must not use closures that might stay calls.
pub(crate) trait Kernel<L> {
    /// Result of the computation.
    type Output;

    /// Runs it.
    fn run(self, lanes: L) -> Self::Output;
}
