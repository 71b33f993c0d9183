//! Functions that a server itself offers to encrypt or digest a value, as far as a comparison needs
//! them.

/// A function of a server.
#[derive(Debug, PartialEq, Eq)]
pub struct ServerFunction {
    /// Label of its variant: its own name, and that it is one-way, if it is.
    pub name: &'static str,
    /// Description in one sentence of what the function does with a value, and what that leaves
    /// open.
    pub about: &'static str,
    /// True if nothing brings the value back: reads return a digest.
    pub is_one_way: bool,
}
