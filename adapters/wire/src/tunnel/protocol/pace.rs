//! Limits on the number of first messages that an end examines: messages from anybody must neither
//! keep it busy nor lock out its own peer.

use std::time::Duration;

/// First messages a second, and at once, from where the other end is thought to be.
const FROM_PEER: Bucket = Bucket { per_second: 50, most: 25, left: 25, since: Duration::ZERO };
/// The same from anywhere else, all addresses together. Looking at one takes some ten microseconds.
const FROM_OTHERS: Bucket = Bucket { per_second: 500, most: 100, left: 100, since: Duration::ZERO };

#[derive(Clone, Copy, Debug)]
struct Bucket {
    per_second: u32,
    most: u32,
    left: u32,
    /// Until when it is filled.
    since: Duration,
}

impl Bucket {
    fn take(&mut self, now: Duration) -> bool {
        // a clock that went back fills nothing until it has caught up
        let passed = now.saturating_sub(self.since);
        let each = Duration::from_secs(1) / self.per_second;
        let drops = (passed.as_nanos() / each.as_nanos()).min(self.most.into()) as u32;
        if drops > 0 {
            self.left = (self.left + drops).min(self.most);
            self.since = if self.left == self.most { now } else { self.since + each * drops };
        }
        self.left.checked_sub(1).map(|left| self.left = left).is_some()
    }
}

/// Allowance of messages that may still be looked at.
#[derive(Debug)]
pub(crate) struct Pace {
    peer: Bucket,
    others: Bucket,
}

impl Default for Pace {
    fn default() -> Self {
        Self { peer: FROM_PEER, others: FROM_OTHERS }
    }
}

impl Pace {
    /// Returns whether one more message is looked at.
    pub(crate) fn allows(&mut self, now: Duration, from_peer: bool) -> bool {
        if from_peer { self.peer.take(now) } else { self.others.take(now) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_from_elsewhere_leaves_the_peer_its_share() {
        let mut pace = Pace::default();
        let second = Duration::from_secs(1);
        let looked_at = (0..10_000)
            .filter(|at| pace.allows(second + Duration::from_micros(*at), false))
            .count();
        assert!((100..=106).contains(&looked_at), "{looked_at}");
        assert!(pace.allows(second, true));
        assert_eq!((0..1000).filter(|_| pace.allows(3 * second, true)).count(), 25);
        assert!(!pace.allows(2 * second, true), "a clock that went back");
        assert!(pace.allows(4 * second, true));
    }
}
