//! The boundary to what has no safe wrapper: libiscsi (`ffi/iscsi.rs`). The only files of this crate with `unsafe`.
//!
//! Not here: what is done with it.

#[cfg(feature = "iscsi")]
pub(crate) mod iscsi;
