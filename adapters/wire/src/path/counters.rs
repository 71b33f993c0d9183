//! Counters of a path. Not here: counting of one association (`sealstone_seal::esp::Counters`).

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

use sealstone_seal::esp::Refusal;

/// Kinds of things that are counted, apart from packets that were refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Count {
    /// Packets sealed and sent.
    PacketsOut,
    /// Bytes in them, before they were sealed.
    BytesOut,
    /// Packets of the device for which no association was there to seal them.
    NoAssociation,
    /// Packets that the key was not allowed to seal any more.
    Exhausted,
    /// Packets that were not sealed because it could not be recorded how far the key goes.
    Unrecorded,
    /// Something that the device handed over and that is no packet.
    Malformed,
    /// Sealed packets that were too long for the link.
    TooBig,
    /// Sealed packets that the network did not take.
    Unsent,
    /// Packets opened and handed to the device.
    PacketsIn,
    /// Bytes in them.
    BytesIn,
    /// Packets that came after a later one, and were put in order.
    Reordered,
    /// Packets that the other end sent to be thrown away.
    Dummies,
    /// Packets of an unknown association.
    UnknownSpi,
    /// Authentic packets whose source is not behind the tunnel.
    ForeignSource,
    /// Datagrams too short for anything.
    Nothing,
    /// Datagrams that keep a translated address alive.
    Keepalives,
    /// Messages of a key exchange.
    Exchange,
    /// Exchange messages that came too fast, or were not expected.
    ExchangeDropped,
    /// Packets that the device did not take.
    NotTaken,
    /// Calls that sent: each takes up to 64 packets of one length.
    Sends,
    /// Calls that received: each takes what waits.
    Receives,
    /// Calls that wrote to the device: each takes consecutive segments of one flow.
    Writes,
}

impl Count {
    /// All of them with their names, in the order in which to show them.
    pub const ALL: [(Self, &'static str); 22] = [
        (Self::PacketsOut, "packets out"),
        (Self::BytesOut, "bytes out"),
        (Self::NoAssociation, "dropped: no association"),
        (Self::Exhausted, "dropped: key used up"),
        (Self::Unrecorded, "dropped: use of the key not recorded"),
        (Self::Malformed, "dropped: no packet"),
        (Self::TooBig, "dropped: too long for the link"),
        (Self::Unsent, "dropped: network unreachable"),
        (Self::PacketsIn, "packets in"),
        (Self::BytesIn, "bytes in"),
        (Self::Reordered, "put in order"),
        (Self::Dummies, "dummies"),
        (Self::UnknownSpi, "refused: unknown association"),
        (Self::ForeignSource, "refused: source not in a route or the prefix of an address"),
        (Self::Nothing, "refused: too short"),
        (Self::Keepalives, "keepalives"),
        (Self::Exchange, "key exchange messages"),
        (Self::ExchangeDropped, "dropped: key exchange messages"),
        (Self::NotTaken, "dropped: not taken by the device"),
        (Self::Sends, "calls that sent"),
        (Self::Receives, "calls that received"),
        (Self::Writes, "calls that wrote to the device"),
    ];
}

/// The counts at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PathCounters {
    counts: [u64; Count::ALL.len()],
    refused: [u64; Refusal::ALL.len()],
}

impl PathCounters {
    /// Returns how often `what` was counted.
    #[must_use]
    pub fn get(&self, what: Count) -> u64 {
        self.counts[what as usize]
    }

    /// Packets refused for `reason`.
    #[must_use]
    pub fn refused(&self, reason: Refusal) -> u64 {
        self.refused[reason as usize]
    }
}

impl fmt::Display for PathCounters {
    /// Writes the counters that are not zero, one a line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (what, name) in Count::ALL.into_iter().filter(|(what, _)| self.get(*what) > 0) {
            writeln!(f, "{name}: {}", self.get(what))?;
        }
        for reason in Refusal::ALL.into_iter().filter(|reason| self.refused(*reason) > 0) {
            writeln!(f, "refused: {reason}: {}", self.refused(reason))?;
        }
        Ok(())
    }
}

/// The counts as they grow.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    counts: [AtomicU64; Count::ALL.len()],
    refused: [AtomicU64; Refusal::ALL.len()],
}

impl Tally {
    pub(crate) fn add(&self, what: Count, more: u64) {
        if more > 0 {
            self.counts[what as usize].fetch_add(more, Ordering::Relaxed);
        }
    }

    pub(crate) fn refuse(&self, reason: Refusal) {
        self.refused[reason as usize].fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn now(&self) -> PathCounters {
        PathCounters {
            counts: std::array::from_fn(|at| self.counts[at].load(Ordering::Relaxed)),
            refused: std::array::from_fn(|at| self.refused[at].load(Ordering::Relaxed)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_stand_in_the_table_where_they_are_kept() {
        for (at, (what, _)) in Count::ALL.into_iter().enumerate() {
            assert_eq!(what as usize, at);
        }
        let tally = Tally::default();
        tally.add(Count::PacketsIn, 3);
        tally.refuse(Refusal::Replayed);
        let now = tally.now();
        assert_eq!((now.get(Count::PacketsIn), now.refused(Refusal::Replayed)), (3, 1));
        assert_eq!(now.to_string(), "packets in: 3\nrefused: it came before: 1\n");
    }
}
