//! The boundary to the kernel where no safe wrapper exists: requests to devices (`ffi/device.rs`),
//! options of sockets (`ffi/option.rs`), many datagrams a call (`ffi/datagrams.rs`), libiscsi
//! (`ffi/iscsi.rs`); and instructions that not every CPU has (`ffi/sum.rs`). The only files of this
//! crate with `unsafe`.
//!
//! Rules kept here, on which every `SAFETY` line relies:
//! - *Descriptors* are borrowed for the call from their owner, so they are open.
//! - *Structures* that the kernel reads or writes are libc's, all of their bytes set, and live as
//!   long as the call.
//! - *Buffers* are owned by the value that made the pointers to them, and neither moved nor freed
//!   while it lives.

pub(crate) mod datagrams;
pub(crate) mod device;
#[cfg(feature = "iscsi")]
pub(crate) mod iscsi;
pub(crate) mod option;
pub(crate) mod sum;
