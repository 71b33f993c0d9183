//! Manual keying (RFC 4301, section 4.5.1): security associations that are given with their keys,
//! and not agreed on here. They come from other programs: strongSwan's charon in its log
//! ([`charon`]), or iproute2, which prints the kernel's ([`xfrm`]).

mod association;
pub mod charon;
mod pair;
pub mod xfrm;

pub use self::association::{ManualAssociation, Unreadable};
pub use self::pair::{AssociationPair, PairError};
