//! One page for an auditor: what is sealed in the places that were named, what is not, with what,
//! under which keys and how old these are, when it was checked that all is whole, and whether a
//! text that must not be in the clear is anywhere.
//!
//! [`facts`] has what was found, [`Verdict`] what follows from it, [`page()`] makes the page of
//! both in English or Korean, [`metrics()`] makes metrics for a monitor, and [`leak`] searches
//! files. [`explanation`] has in Korean what the program says in English of files and columns.
//!
//! Not here: looking at stores, volumes, databases and keys (`sealstone-cli`).

#![forbid(unsafe_code)]

mod explanation;
pub mod facts;
mod language;
pub mod leak;
mod metrics;
mod page;
pub mod prometheus;
mod report;
mod verdict;

pub use explanation::explanation;
pub use metrics::{metrics, sealed_ratio};
pub use page::{page, summary};
pub use report::Report;
pub use sealstone_message::Language;
pub use verdict::{Attention, Open, Verdict};
