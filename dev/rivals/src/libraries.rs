//! The table of libraries.

#[cfg(feature = "botan")]
use crate::botan;
use crate::{Library, gcrypt, lea, openssl};

/// Returns all libraries of this build and this machine.
pub fn libraries() -> Vec<Library> {
    let mut libraries = vec![openssl::library(), lea::library()];
    libraries.extend(gcrypt::library());
    #[cfg(feature = "botan")]
    libraries.push(botan::library());
    libraries
}
