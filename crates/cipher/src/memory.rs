//! Memory for keys: kept out of swap and core dumps, zeroed when freed, wiped in a forked child.
//! Also the mark by which code that counts nonces detects a fork.
//!
//! Keyed ciphers of this crate are there, with everything derived from their keys, and panic when a
//! forked child uses them.
//!
//! [`Protected`] owns a value there, [`Generation`] is the mark, [`protection`] returns what the
//! system granted. All of it is best effort where the system has limits: without `RLIMIT_MEMLOCK`
//! (`LimitMEMLOCK=` of a service) keys may be written to swap, and other systems than Linux grant
//! none of it; freed memory is zeroed everywhere.
//!
//! Not protected: copies that a computation leaves in registers and on the stack, and data, which
//! is everywhere.
//!
//! Not here: its allocation (`arch::memory`).

pub use crate::arch::memory::{Forked, Generation, Protected, Protection, protection};
