//! The edges to drivers: the only unsafe code of this crate.
//!
//! Not here: anything that can be said without a driver.

#[allow(unsafe_code)]
#[cfg(feature = "cuda")]
pub(crate) mod cuda;
#[allow(unsafe_code)]
#[cfg(feature = "opencl")]
pub(crate) mod opencl;
