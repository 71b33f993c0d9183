#![forbid(unsafe_code)]
//! Workloads, the runner that measures them, statistics, and the report.
//!
//! Knows the cipher table (names, standing, limits) and nothing about keys, seals or drivers: a store that encrypts
//! looks like any other.

pub mod algorithm;
mod at_rate;
pub mod axes;
mod buckets;
mod client_time;
pub mod compare;
mod conclusions;
pub mod count;
pub mod coverage;
mod covering;
mod eligibility;
mod exact_sleep;
pub mod failures;
pub mod groups;
pub mod joined;
pub mod latency;
pub mod machine;
pub mod max_time;
pub mod measure;
mod median_gap;
pub mod merge;
pub mod more;
pub mod null_store;
pub mod open_loop;
pub mod passwords;
pub mod percent;
pub mod places;
pub mod plan;
pub mod preset;
pub mod progress;
mod ratios;
pub mod recommend;
pub mod regression;
pub mod report;
pub mod results;
pub mod runner;
pub mod same_plan;
pub mod saturation;
pub mod schedule;
pub mod share;
pub mod size;
pub mod statistics;
mod stoppable;
mod summary;
mod sustained;
pub mod target;
pub mod threat;
pub mod together;
mod variant;
pub mod verdict;
pub mod work_dir;
pub mod workload;
pub mod written;
