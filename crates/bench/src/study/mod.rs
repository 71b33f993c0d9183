//! A requested comparison: settings, presets, the study that they resolve to, and its machine.

pub(crate) mod catalogue;
pub(crate) mod client_group;
pub(crate) mod coverage;
pub mod machine;
pub mod passwords;
pub mod plan;
pub mod plan_difference;
pub(crate) mod point;
pub mod preset;
pub(crate) mod resolution;
mod suitability;
mod tunnels;

pub use catalogue::{NAMED, NamedStudy};
pub use coverage::Surroundings;
pub use point::{StudyError, StudyPoint};
pub use resolution::{Refused, Study, usual};
