#![forbid(unsafe_code)]
//! Words of messages to users: [`Unknown`] is the error for a name that stands for nothing,
//! [`nearest()`] finds the name that was probably meant, and [`shown_address()`],
//! [`not_among_header_names`] and [`printable()`] are what may be shown of addresses, of the first
//! lines of files, and of foreign text. Of a [`Password`] nothing is. A [`SettingName`] is written
//! as the program takes it. [`Texts`] has the texts of a page in a [`Language`].
//!
//! Not here: the messages themselves, which belong to the errors.
#![doc = include_str!("../README.md")]

mod header_names;
mod language;
mod password;
mod printable;
mod setting_name;
mod shown_address;
mod suggestion;
mod unknown_name;

pub use header_names::not_among as not_among_header_names;
pub use language::{Language, Texts};
pub use password::Password;
pub use printable::{printable, printable_lines};
pub use setting_name::SettingName;
pub use shown_address::{
    LEFT_OUT, ShownAddress, UNSHOWN, may_hold_secret, recorded as recorded_word, scheme_words,
    shown_address, without_addresses, without_secrets,
};
pub use suggestion::{nearest, similar};
pub use unknown_name::{Unknown, suggestion};
