#![deny(unsafe_code)]
//! Counter mode and FF1 on a GPU, byte for byte what `sealstone_cipher` gives, for bulk work.
//!
//! [`devices`] lists what this machine has, [`Device::open`] takes one by its name (`cuda:0`,
//! `opencl:0`), [`Device::ctr`] and [`Device::ff1`] set a key. Drivers are loaded at run time: a
//! program with this crate starts on a machine without any, and gets an error that reports that.
//! [`kernels`] is the table of ciphers that have a kernel; [`measure_ctr`] and [`measure_ff1`]
//! measure, and docs/guide/gpu.md states when it is worth it.
//!
//! ```
//! use sealstone_cipher::cipher;
//! use sealstone_gpu::{Device, Error, Settings, kernel, kernel_names};
//!
//! /// Encrypts `data` under `key` on the device called `name`, such as `cuda:0`.
//! fn encrypt(name: &str, key: &[u8], data: &mut [u8]) -> Result<(), Error> {
//!     let aria = cipher("aria-256").expect("it is in the table");
//!     let keyed = Device::open(name)?.ctr(aria, key, Settings::default())?;
//!     keyed.apply(&vec![0; aria.block_bytes], 0, data)
//! }
//!
//! assert!(kernel_names().contains(&"aria-256"));
//! assert!(matches!(kernel(cipher("seed-128")?), Err(Error::NoKernel { .. })));
//! assert!(encrypt("abacus:0", &[7; 32], &mut [0; 64]).is_err());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! All ciphers are bitsliced there, and FF1 divides by multiplication: no address and no branch
//! depends on key or data. They are written once, in a dialect that CUDA and OpenCL share
//! (`src/kernels/dialect.h`).
//!
//! Not here: authentication, formats, and ciphers on the CPU.

mod ciphers;
mod ctr;
mod ctr_speed;
mod device;
mod error;
mod ff1;
mod ff1_shape;
mod ff1_speed;
mod ffi;
mod gf256;
mod kernel;
mod kernels;
mod lanes;
mod place;
mod runtime;
pub mod speed;
#[cfg(feature = "testing")]
pub mod testing;

pub use ctr::{DeviceCtr, PageLocked, Resident, Settings};
pub use ctr_speed::measure as measure_ctr;
pub use device::{Device, devices};
pub use error::{Error, Left};
pub use ff1::{DeviceFf1, Ff1Counts, Ff1Resident, Ff1Settings};
pub use ff1_speed::{DIGITS as FF1_DIGITS, measure as measure_ff1};
pub use kernels::{Bounds, Kernel, Mode as KernelMode, kernel, kernels, names as kernel_names};
pub use runtime::DeviceFacts;
