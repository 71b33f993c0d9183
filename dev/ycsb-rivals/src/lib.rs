#![forbid(unsafe_code)]
//! go-ycsb beside our own client: how it is run and what it reports ([`go_ycsb`]), which records it
//! makes ([`its_records`]), the same workload by our runner ([`our_client`]), and the servers on
//! which both run ([`shared`]).
//!
//! Not here: what is measured and how it is told (`main`, `rounds`, `table`).

pub mod go_ycsb;
pub mod its_records;
pub mod our_client;
pub mod shared;
