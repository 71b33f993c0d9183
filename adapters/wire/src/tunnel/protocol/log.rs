//! Events kept for `status`: the most recent ones, and counters of all of them.

use std::collections::VecDeque;
use std::time::Duration;

use crate::tunnel::handshake::Reason;

use super::event::Event;

/// Events that are kept.
const KEPT: usize = 64;

/// An event, and how often it happened one after the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    /// The event itself.
    pub event: Event,
    /// Time of its last occurrence, since the tunnel was made.
    pub at: Duration,
    /// Number of times that it happened.
    pub times: u64,
}

/// The last events and all counters.
#[derive(Clone, Debug, Default)]
pub(crate) struct Log {
    entries: VecDeque<Entry>,
    /// Number of events, including those that are not kept.
    #[cfg(test)]
    events: u64,
    handshakes: u64,
    refused: [u64; Reason::ALL.len()],
}

impl Log {
    pub(crate) fn note(&mut self, at: Duration, event: &Event) {
        #[cfg(test)]
        {
            self.events += 1;
        }
        match event {
            Event::Up { .. } | Event::Rekeyed { .. } | Event::PeerRestarted { .. } => {
                self.handshakes += 1
            }
            Event::Refused { why, .. } => self.refused[why.reason() as usize] += 1,
            _ => {}
        }
        // the same again and again, which anybody can cause, must not drive out what happened
        // before
        let last = self.entries.len().wrapping_sub(1);
        let same = self.entries.iter().rposition(|entry| is_alike(&entry.event, event));
        if let Some(same) = same.filter(|same| *same == last || is_repeated(event))
            && let Some(before) = self.entries.remove(same)
        {
            self.entries.push_back(Entry { event: event.clone(), at, times: before.times + 1 });
            return;
        }
        if self.entries.len() == KEPT {
            self.entries.pop_front();
        }
        self.entries.push_back(Entry { event: event.clone(), at, times: 1 });
    }

    /// Counts a refusal that is no separate event.
    pub(crate) fn count(&mut self, reason: Reason) {
        self.refused[reason as usize] += 1;
    }

    /// Returns the last events, the oldest first.
    pub(crate) fn entries(&self) -> impl ExactSizeIterator<Item = &Entry> {
        self.entries.iter()
    }

    /// Returns the number of events, including those that are not kept.
    #[cfg(test)]
    pub(crate) fn events(&self) -> u64 {
        self.events
    }

    /// Handshakes that succeeded.
    #[must_use]
    pub(crate) fn handshakes(&self) -> u64 {
        self.handshakes
    }

    /// Messages of the exchange that were refused for `reason`.
    #[must_use]
    pub(crate) fn refused(&self, reason: Reason) -> u64 {
        self.refused[reason as usize]
    }
}

/// Returns whether `event` recurs as long as its cause lasts.
fn is_repeated(event: &Event) -> bool {
    matches!(
        event,
        Event::Refused { .. }
            | Event::RefusedByPeer { .. }
            | Event::NoAnswer { .. }
            | Event::Failed { .. }
    )
}

/// Returns whether both events mean the same; the sender of a refused message does not matter.
fn is_alike(one: &Event, other: &Event) -> bool {
    match (one, other) {
        (Event::Refused { why: one, .. }, Event::Refused { why: other, .. }) => {
            one.reason() == other.reason()
        }
        (Event::RefusedByPeer { .. }, Event::RefusedByPeer { .. }) => true,
        _ => one == other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_repeats_is_one_entry() {
        let mut log = Log::default();
        let second = Duration::from_secs(1);
        let no_answer = Event::NoAnswer { peer: "10.0.0.1:4500".parse().unwrap() };
        log.note(second, &no_answer);
        log.note(2 * second, &Event::PeerEnded);
        log.note(3 * second, &no_answer);
        log.note(4 * second, &Event::PeerEnded);
        log.note(5 * second, &Event::Ended);
        log.note(6 * second, &Event::PeerEnded);
        let seen: Vec<_> = log.entries().map(|entry| (entry.event.clone(), entry.times)).collect();
        let want = [
            (Event::PeerEnded, 1),
            (no_answer, 2),
            (Event::PeerEnded, 1),
            (Event::Ended, 1),
            (Event::PeerEnded, 1),
        ];
        assert_eq!(seen, want);
        assert_eq!(log.events(), 6);
        (0..2 * KEPT as u64).for_each(|at| {
            log.note(7 * second, if at % 2 == 0 { &Event::PeerGone } else { &Event::PeerBack });
        });
        assert_eq!((log.entries().len(), log.events()), (KEPT, 6 + 2 * KEPT as u64));
    }
}
