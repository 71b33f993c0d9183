//! Calls into modules: the only unsafe code of this crate.

pub(crate) mod interface;
pub(crate) mod libcrypto;
