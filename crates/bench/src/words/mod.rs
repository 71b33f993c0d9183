//! Words of a comparison: its axes, counts, sizes, rates and shares as people write them, the
//! threats and the protection of places, the verdicts, and what holds a run back.

pub(crate) mod adoption;
pub(crate) mod axes;
pub(crate) mod bottleneck;
pub(crate) mod count;
pub(crate) mod max_time;
pub(crate) mod percent;
pub(crate) mod places;
pub(crate) mod share;
pub(crate) mod size;
pub(crate) mod target;
pub(crate) mod threat;
pub(crate) mod verdict;

pub use axes::{AXES, Point, varied};
pub use bottleneck::Bottleneck;
pub use count::{counted, parse_count};
pub use max_time::MaxTime;
pub use percent::{parse_percent, percent};
pub use places::{Place, entry};
pub use share::{Client, ClientFacts, Share};
pub use size::{human_bytes, parse_bytes};
pub use target::{Limit, Target};
pub use threat::Threat;
pub use verdict::{CONFIDENCE, MARGIN, Verdict};
