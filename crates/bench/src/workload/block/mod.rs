//! Workloads on a block device instead of records: constant, sequential and random, each as reads,
//! writes and both by halves, with as many requests under way as the depth of the queue.
//!
//! - `workload` has the rows of the table, and clients that keep the queue full.
//! - `order` chooses the next block, `pattern` makes its content, `ledger` holds the versions that
//!   may be read.

mod ledger;
mod order;
mod pattern;
#[cfg(test)]
mod tests;
mod workload;

pub(super) use workload::{
    CONST_MIX, CONST_READ, CONST_WRITE, RAND_MIX, RAND_READ, RAND_WRITE, SEQ_MIX, SEQ_READ,
    SEQ_WRITE, STREAM,
};
