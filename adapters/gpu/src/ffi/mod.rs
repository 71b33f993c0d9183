//! The boundaries to drivers: the only unsafe code of this crate.

#[allow(unsafe_code)]
#[cfg(feature = "cuda")]
pub(crate) mod cuda;
#[allow(unsafe_code)]
#[cfg(feature = "opencl")]
pub(crate) mod opencl;
