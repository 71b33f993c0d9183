//! Carriers of the stream.

use sealstone_seal::esp::{Refusal, Suite};
use sealstone_wire::WireError;
use sealstone_wire::links::Links;
use sealstone_wire::path::{Carried, Carrier, Count, PathCounters};

/// One way for the stream to go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arm {
    None,
    StrongSwan,
    Sealstone,
}

impl Arm {
    pub(crate) fn named(name: &str) -> Option<Self> {
        match name {
            "none" => Some(Self::None),
            "strongswan" => Some(Self::StrongSwan),
            "sealstone" => Some(Self::Sealstone),
            _ => None,
        }
    }

    fn carrier(self) -> Option<Carrier> {
        match self {
            Self::None => None,
            Self::StrongSwan => Some(Carrier::StrongSwan),
            Self::Sealstone => Some(Carrier::Sealstone),
        }
    }

    pub(crate) fn carries(self, suite: &Suite) -> bool {
        self.carrier().is_none_or(|carrier| carrier.has(suite))
    }

    /// Starts the tunnel of this way over `links`, if it has one.
    pub(crate) fn start(
        self,
        links: &Links,
        suite: Option<&'static Suite>,
    ) -> Result<Carried, WireError> {
        match (self.carrier(), suite) {
            (Some(carrier), Some(suite)) => Carried::start(links, carrier, suite),
            _ => Ok(Carried::plain(links)),
        }
    }
}

/// Returns a description of what went wrong on the way, if something did.
pub(crate) fn trouble(carried: &Carried) -> Option<String> {
    let lost = |counters: &PathCounters| {
        let kinds =
            [Count::Exhausted, Count::Malformed, Count::TooBig, Count::UnknownSpi, Count::NotTaken];
        let dropped: u64 = kinds.iter().map(|kind| counters.get(*kind)).sum();
        let refused: u64 = Refusal::ALL.iter().map(|reason| counters.refused(*reason)).sum();
        (dropped + refused > 0 || std::env::var_os("WIRE_COUNTERS").is_some())
            .then(|| counters.to_string())
    };
    let lost: Vec<String> = carried.counters().iter().filter_map(lost).collect();
    (!lost.is_empty()).then(|| lost.join("\n"))
}
