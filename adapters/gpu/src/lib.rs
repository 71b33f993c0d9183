#![deny(unsafe_code)]
//! Counter mode and FF1 on a GPU, byte for byte what `sealstone_cipher` gives, for bulk work.
//!
//! [`devices`] lists what this machine has, [`Device::open`] takes one by its name (`cuda:0`,
//! `opencl:0`), [`Device::ctr`] and [`Device::ff1`] set a key. Drivers are loaded at run time: a
//! program with this crate starts on a machine without any, and gets an error that says so.
//! [`kernels`] is the table of ciphers that have a kernel; [`ctr_speed`] and [`ff1_speed`] measure,
//! and docs/guide/gpu.md says when it is worth it.
//!
//! All ciphers are bitsliced there, and FF1 divides by multiplication: no address and no branch
//! depends on key or data. They are written once, in a dialect that CUDA and OpenCL share
//! (`src/kernels/dialect.h`).
//!
//! Not here: authentication, formats, and ciphers on the CPU.

mod ciphers;
mod ctr;
pub mod ctr_speed;
mod device;
mod error;
mod ff1;
mod ff1_shape;
pub mod ff1_speed;
mod ffi;
mod gf256;
mod kernel;
pub mod kernels;
mod lanes;
mod place;
mod runtime;
pub mod speed;
#[cfg(feature = "testing")]
pub mod testing;

pub use ctr::{DeviceCtr, PageLocked, Resident, Settings};
pub use device::{Device, devices};
pub use error::{Error, Left};
pub use ff1::{DeviceFf1, Ff1Counts, Ff1Resident, Ff1Settings};
pub use runtime::DeviceFacts;
