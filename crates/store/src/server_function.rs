//! What a server offers itself to encrypt or digest a value with, as far as a comparison must know it. Not here: how a
//! statement asks for it (`adapters/stores`).

/// A function of a server.
#[derive(Debug, PartialEq, Eq)]
pub struct ServerFunction {
    /// Label of its variant: its own name, and that it is one-way, if it is.
    pub name: &'static str,
    /// What it does with a value, and what that leaves open, in one sentence.
    pub about: &'static str,
    /// Whether nothing brings the value back: reads return a digest.
    pub is_one_way: bool,
}
