//! Words of a comparison: its axes, counts, sizes, rates and shares as people write them, the
//! threats and the protection of places, and the verdicts.

pub mod adoption;
pub mod axes;
pub mod count;
pub mod max_time;
pub mod percent;
pub mod places;
pub mod share;
pub mod size;
pub mod target;
pub mod threat;
pub mod verdict;
