//! Counts taken while a slice runs: latencies, CPU time of the process, CPU use second by second.
//! It does not choose the work, and judges nothing.

pub(crate) mod buckets;
pub(crate) mod client_time;
pub(crate) mod cpu_time;
pub(crate) mod failures;
pub(crate) mod latency_histogram;
pub(crate) mod null_store;
pub(crate) mod progress;
pub(crate) mod runner;
pub(crate) mod schedule;
pub(crate) mod slice_latency;
pub(crate) mod stop;

pub use cpu_time::CpuTime;
pub use latency_histogram::Latencies;
pub use null_store::NullStore;
pub use progress::{Observer, Phase, Precision, Progress};
pub use runner::{Runner, SliceOutcome, Work};
pub use slice_latency::SliceLatency;
