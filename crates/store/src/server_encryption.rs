//! Encryption of files that a server brings with it, as far as a comparison needs it: a rival of
//! the layer `rest`.

/// Encryption of its files by which a server can be compared.
#[derive(Debug, PartialEq, Eq)]
pub struct ServerEncryption {
    /// Label of its variant: the server's own name of the algorithm.
    pub name: &'static str,
    /// Description in one sentence of what encrypts, and what that leaves open.
    pub about: &'static str,
}
