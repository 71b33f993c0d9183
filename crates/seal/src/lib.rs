#![forbid(unsafe_code)]
//! TODO
