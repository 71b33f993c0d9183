//! Backends: named sets of CPU instructions, each value a proof that this CPU has them.

/// An instruction set that ciphers may use. A value exists only where the CPU has the instructions,
/// so holding one is the proof that fast paths need.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backend(pub(crate) Kind);

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    Portable,
}
