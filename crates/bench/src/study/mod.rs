//! A comparison as it was asked for: settings, presets, the study that they resolve to, and the
//! machine it is for. Not here: running it (`compare`).

pub mod client_group;
pub mod coverage;
pub mod machine;
pub mod passwords;
pub mod plan;
pub mod plan_difference;
pub mod point;
pub mod preset;
pub mod resolution;
pub mod suitability;
mod tunnels;
