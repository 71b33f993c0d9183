//! Creation of files and opening of inputs, for everything that reads or writes them: [`input`]
//! opens nothing that would wait forever, [`output`] makes files that appear whole, under a name
//! that nobody prepared, [`append`] adds lines to private logs, [`own_directory`] accepts
//! directories that are this user's own, [`trust`] determines who besides the owner may change what
//! is read, [`walk`] finds everything below a directory, [`library`] what another program loads,
//! [`counts`] is the file in which a process counts its work.
//!
//! Not here: what is in a file, and the files of engines whose own order of writes is part of their
//! format.
#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

pub mod append;
pub mod counts;
mod directory;
pub mod input;
mod kind;
pub mod library;
pub mod output;
pub mod trust;
pub mod walk;

pub use directory::{
    NotOwn, check_own as check_own_directory, own as own_directory, parent, sync_parent,
};
pub use kind::Kind;
