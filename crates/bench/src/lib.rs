#![forbid(unsafe_code)]
//! Workloads, the runner that measures them, statistics, and the report.
//!
//! Knows the cipher table (names, standing, limits) and nothing about keys, seals or drivers: a store that encrypts
//! looks like any other.

pub mod advise;
pub mod compare;
pub mod conclude;
pub mod measure;
pub mod report;
pub mod results;
pub mod study;
pub mod words;
pub mod workload;
