#![deny(unsafe_code)]
//! Values of sealed columns for programs in other languages: a shared library that opens what
//! `sealstone field` sealed, in a file or in a table in use, and seals more.
//!
//! - `include/sealstone_fields.h` has the functions for C and whatever calls C.
//! - Classes of Java (`adapters/java`) call it by the Java Native Interface.
//!
//! A [`session::Session`] has a policy, or a manifest, and key sources; a [`column::Column`] has
//! one column under one version of its key for sealing, and under each version that a value turns
//! out to be marked with for opening. Both serve many threads at once. Values come and go as Arrow
//! lays texts out ([`utf8_array`]): one piece of memory and offsets, which both languages have
//! without a copy of each value.
//!
//! A column keeps the version that it was opened with, so that the mark that a program writes
//! beside a sealed value is that of the value. A program that rotates a key opens a new session.
//!
//! Not here: how a value is sealed (`sealstone-fields`), files, drivers of databases. Nothing in
//! Rust uses it.

mod column;
mod failure;
#[allow(unsafe_code)]
mod ffi;
mod session;
mod utf8_array;
