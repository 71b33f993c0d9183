//! How files are made and how inputs are opened, for everything that reads or writes them: [`input`] opens nothing
//! that would wait for ever, [`output`] makes files that appear whole, under a name that nobody prepared, [`directory`]
//! takes directories that are this user's own, [`trust`] says who besides the owner may change what is read, [`walk`]
//! finds everything below a directory.
//!
//! Not here: what is in a file, and the files of engines whose own order of writes is part of their format.

#![forbid(unsafe_code)]

pub mod directory;
pub mod input;
pub mod kind;
pub mod output;
pub mod trust;
pub mod walk;
