//! A requested comparison: settings, presets, the study that they resolve to, and its machine.

pub mod catalogue;
pub mod client_group;
pub mod coverage;
pub mod machine;
pub mod passwords;
pub mod plan;
pub mod plan_difference;
pub mod point;
pub mod preset;
pub mod resolution;
mod suitability;
mod tunnels;
