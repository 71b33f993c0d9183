#![forbid(unsafe_code)]
//! Interfaces of a data store, in three parts: operations on records ([`Store`]) or blocks
//! ([`Device`]), and the care for an open store between them ([`Upkeep`]). An [`Engine`] opens a
//! store as [`OpenStore`], which has all of them; workloads see its [`Target`] alone. [`Variant`]
//! is what protects a store, and [`MemoryStore`] is one for tests.
//!
//! A workload, a benchmark and a layer around a store need no more than this. Not here: any real
//! store (`adapters/stores`), workloads and measurement (`sealstone-bench`).
#![doc = include_str!("../README.md")]

mod counters;
mod device;
mod engine;
mod error;
mod field_policy;
pub mod kind;
mod memory;
mod memory_device;
mod open_store;
mod record;
mod server_encryption;
mod server_function;
mod store;
mod table;
mod tables;
mod target;
mod tunnel;
mod upkeep;
mod variant;

pub use counters::Counters;
pub use device::{
    Access as DeviceAccess, Device, DeviceBuffer, DeviceQueue, DeviceRequest,
    check_request as check_device_request,
};
pub use engine::{Engine, EngineFacts, StoreOptions};
pub use error::{EngineError, StoreError};
pub use field_policy::{FieldPolicy, SealedColumns};
pub use memory::MemoryStore;
pub use memory_device::MemoryDevice;
pub use open_store::{Meter, OpenStore};
pub use record::{Record, Row};
pub use server_encryption::ServerEncryption;
pub use server_function::ServerFunction;
pub use store::{BulkLoad, Store, Transaction, Transactional};
pub use table::{Field, Kind, Table};
pub use tables::Tables;
pub use target::Target;
pub use tunnel::{TLS, Tunnel, WireSuite};
pub use upkeep::Upkeep;
pub use variant::{Choice, Layer, RestSeal, Seal, Variant};
