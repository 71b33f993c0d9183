//! A comparison as it was asked for: plan, presets, and the machine it is for. Not here: running it (`compare`).

pub mod client_group;
pub mod coverage;
pub mod machine;
pub mod passwords;
pub mod plan;
pub mod plan_difference;
pub mod preset;
