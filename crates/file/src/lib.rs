//! Creation of files and opening of inputs, for everything that reads or writes them: [`input`]
//! opens nothing that would wait forever, [`output`] makes files that appear whole, under a name
//! that nobody prepared, [`directory`] accepts directories that are this user's own, [`trust`]
//! determines who besides the owner may change what is read, [`walk`] finds everything below a
//! directory.
//!
//! Not here: what is in a file, and the files of engines whose own order of writes is part of their
//! format.

#![forbid(unsafe_code)]

pub mod directory;
pub mod input;
pub mod kind;
pub mod output;
pub mod trust;
pub mod walk;
