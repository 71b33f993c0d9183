#![forbid(unsafe_code)]
//! Pages of documentation as Markdown: what a page consists of ([`page`]), its links ([`links`]),
//! how long its sentences are ([`sentences`]), and where its Korean form differs ([`korean`]).
//!
//! Not here: running the commands of a page (`dev/e2e`).

pub mod korean;
pub mod links;
pub mod page;
pub mod sentences;
pub mod tree;
