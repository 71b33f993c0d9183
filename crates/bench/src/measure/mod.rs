//! Counts taken while a slice runs: latencies, CPU time of the process, CPU use second by second.
//! It does not choose the work, and judges nothing.

pub(crate) mod buckets;
pub(crate) mod client_time;
pub mod cpu_time;
pub mod failures;
pub mod latency_histogram;
pub mod null_store;
pub mod progress;
pub mod runner;
pub mod schedule;
pub mod slice_latency;
pub(crate) mod stop;
