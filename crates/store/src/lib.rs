#![forbid(unsafe_code)]
//! Interfaces of a data store: operations on records ([`Store`]), engines that open stores
//! ([`Engine`]), what protects a store ([`Variant`]), and a store in memory for tests
//! ([`MemoryStore`]). A store may instead be a block device ([`device`]).
//!
//! A workload, a benchmark and a layer around a store need no more than this. Not here: any real store
//! (`adapters/stores`), workloads and measurement (`sealstone-bench`).

mod counters;
pub mod device;
mod device_store;
mod engine;
mod error;
mod forward;
mod memory;
mod memory_device;
mod record;
mod server_function;
mod store;
mod table;
mod tunnel;
mod variant;

pub use counters::Counters;
pub use device_store::DeviceStore;
pub use engine::{Engine, EngineFacts, StoreOptions};
pub use error::{EngineError, StoreError};
pub use memory::MemoryStore;
pub use memory_device::MemoryDevice;
pub use record::{Record, Row};
pub use server_function::ServerFunction;
pub use store::{BulkLoad, Store, Transaction, Transactional};
pub use table::{Field, Kind, Table};
pub use tunnel::{TLS, Tunnel};
pub use variant::{Choice, Layer, Variant};
