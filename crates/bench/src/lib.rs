#![forbid(unsafe_code)]
//! Workloads, the runner that measures them, statistics, and the report.
//!
//! Knows the cipher table (names, standing, limits) and nothing of keys, seals or drivers: a store that
//! encrypts looks like any other.

pub mod memory_store;
pub mod merge;
pub mod null_store;
pub mod plan;
pub mod report;
pub mod results;
pub mod store;
pub mod workload;
