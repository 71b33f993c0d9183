#![forbid(unsafe_code)]
//! Words of messages to users: [`Unknown`] is the error for a name that stands for nothing,
//! [`nearest`](mod@nearest) finds the name that was probably meant, and
//! [`shown_address`](mod@shown_address), [`header_names`] and [`printable`](mod@printable) are what
//! may be shown of addresses, of the first lines of files, and of foreign text. Of a [`Password`]
//! nothing is.
//!
//! Not here: the messages themselves, which belong to the errors.

pub mod header_names;
pub mod nearest;
mod password;
pub mod printable;
pub mod shown_address;
mod unknown;

pub use password::Password;
pub use unknown::Unknown;
