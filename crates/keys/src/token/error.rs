//! Errors of tokens, with the next step. None repeats a PIN.

use std::path::PathBuf;

use sealstone_cipher::memory::Forked;
use sealstone_message::SettingName;

/// Reason why the key of a token cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TokenError {
    /// Not the address of a key in a token.
    #[error(
        "not the address of a key in a token: {found}\n\
         write it as pkcs11:token=LABEL;object=LABEL?module-path=/PATH/OF/LIBRARY.so (RFC 7512)"
    )]
    Address {
        /// Fault of the address.
        found: String,
    },
    /// A token is named, and this program cannot speak to one.
    #[error(
        "PKCS #11 not built in, which token {token} takes\n\
         install sealstone with it (feature pkcs11)"
    )]
    NotBuilt {
        /// Name of the token.
        token: String,
    },
    /// The PIN was taken before this process was forked.
    #[error(transparent)]
    Forked(#[from] Forked),
    /// The library of the token cannot be used.
    #[error(
        "cannot load the PKCS #11 library {}: {found}\n\
         install the library of the token's vendor, or correct module-path", file.display()
    )]
    Library {
        /// The library.
        file: PathBuf,
        /// Words of the system or of the library.
        found: String,
    },
    /// No such token.
    #[error(
        "no token {token} is there (present: {present})\n\
         connect it, or correct the address"
    )]
    NoToken {
        /// Name of the token.
        token: String,
        /// Labels of the tokens that are there.
        present: String,
    },
    /// Several tokens or keys have that address.
    #[error(
        "{count} {what}s are meant by {address}\n\
         name one by serial= or slot-id=, and its key by id="
    )]
    Several {
        /// Number of them.
        count: usize,
        /// `token` or `key`.
        what: &'static str,
        /// The address.
        address: String,
    },
    /// The token has no such key.
    #[error(
        "token {token} has no secret key {key}\n\
         make one in it with {} when the key file is made, or correct the address",
        SettingName("new-token-key")
    )]
    NoKey {
        /// Name of the token.
        token: String,
        /// Name of the key.
        key: String,
    },
    /// A key was to be made, and one of that name is there.
    #[error(
        "token {token} has a key {key} already, which was left as it is\n\
         leave {} out to use it, or choose another name",
        SettingName("new-token-key")
    )]
    KeyExists {
        /// Name of the token.
        token: String,
        /// Name of the key.
        key: String,
    },
    /// The key is of another kind.
    #[error(
        "key {key} of token {token} {found}\n\
         make another one, with {}",
        SettingName("new-token-key")
    )]
    KeyKind {
        /// Name of the token.
        token: String,
        /// Name of the key.
        key: String,
        /// Fault of the key.
        found: &'static str,
    },
    /// The PIN is another one.
    #[error(
        "token {token} does not take this PIN: {found}\n\
         give the PIN of its user; a token locks itself after a few wrong ones"
    )]
    Pin {
        /// Name of the token.
        token: String,
        /// Words of the token.
        found: String,
    },
    /// The token did not take the PIN of this process before.
    #[error(
        "token {token} did not take the PIN of this process before, so it is not given again: a \
         token locks itself after a few wrong ones\n\
         start the program again with the PIN of the token's user"
    )]
    PinRefused {
        /// Name of the token.
        token: String,
    },
    /// The PIN is longer than any token takes.
    #[error("a PIN of {bytes} bytes, at most {bytes_max}\ngive the PIN of the token's user")]
    LongPin {
        /// Length given, in bytes.
        bytes: usize,
        /// Longest allowed, in bytes.
        bytes_max: usize,
    },
    /// The token does not have what a key file is sealed with.
    #[error(
        "token {token} has no AES-GCM with keys of this kind: {found}\n\
         take another token, or protect the key file with a passphrase"
    )]
    Lacks {
        /// Name of the token.
        token: String,
        /// Words of the token.
        found: String,
    },
    /// The token's key does not open what was sealed.
    #[error(
        "key {key} of token {token} does not open it: it was sealed under another key, or was \
         changed ({found})\n\
         name the token and the key that it was made with, or restore the file from a copy"
    )]
    NotOpened {
        /// Name of the token.
        token: String,
        /// Name of the key.
        key: String,
        /// Words of the token.
        found: String,
    },
    /// The token failed.
    #[error(
        "token {token} failed while {doing}: {found}\n\
         see what the token itself reports; nothing takes its place"
    )]
    Failed {
        /// Name of the token.
        token: String,
        /// Work that it failed at.
        doing: &'static str,
        /// Words of the token.
        found: String,
    },
}
