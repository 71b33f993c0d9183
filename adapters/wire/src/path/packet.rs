//! IP packets as a TUN device hands them over and takes them: cut into segments that fit the link,
//! and joined again. Pure.

mod checksum;
mod coalescing;
mod ip;
mod segmentation;
mod vnet;

pub use self::coalescing::coalesce;
pub(crate) use self::ip::{IPV4_BYTES, IPV6_BYTES};
pub use self::segmentation::{Malformed, Packets, segment};
pub use self::vnet::VnetHeader;
