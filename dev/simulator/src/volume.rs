//! A simulator below sealed volumes: a device that is written, flushed, cut off and opened again,
//! as a seed dictates, beside a plain device that shows what each crash may leave.
//!
//! - [`disk`] is the disk: it loses what was not synced, tears it, reorders it, refuses to sync and
//!   runs full.
//! - [`history`] is what is done to the device, made up from what databases do; [`recorded`] is
//!   what was recorded below databases, and [`source`] one or the other.
//! - [`judge`] is the plain device, and [`contents`] what a device has.
//! - [`run`](mod@run) does a seed, and [`mutant`] does it with a bug that people have made.
//! - [`walk`](mod@walk) cuts the power throughout a history that was recorded.

pub mod contents;
pub mod disk;
pub mod history;
pub mod judge;
pub mod mutant;
pub mod recorded;
pub mod run;
pub mod source;
pub mod walk;
