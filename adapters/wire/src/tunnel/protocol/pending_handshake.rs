//! Unfinished handshakes: this end's own, and handshakes that it has answered.

use std::collections::{HashMap, VecDeque};
use std::net::SocketAddr;
use std::time::Duration;

use sealstone_keys::KeyRef;

use crate::tunnel::handshake::message::Start;
use crate::tunnel::handshake::{Begun, Series};

use super::session::Session;

/// Time after which a message is sent again: first, and from the third on.
const RESEND_MIN: Duration = Duration::from_millis(250);
const RESEND_MAX: Duration = Duration::from_secs(1);
/// Time for which an answer is kept for the requesting end. Longer than that end repeats the same
/// message.
const ANSWER_KEPT: Duration = Duration::from_secs(10);
/// Starts of the other end that are remembered. Only who has the key adds one.
const STARTS_MAX: usize = 1024;

/// The time to send something again.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Resend {
    next: Duration,
    pause: Duration,
}

impl Resend {
    pub(crate) fn after(now: Duration) -> Self {
        Self { next: now + RESEND_MIN, pause: RESEND_MIN }
    }

    /// Returns whether it is time, and if so puts off the next time.
    pub(crate) fn is_due(&mut self, now: Duration) -> bool {
        let due = now >= self.next;
        if due {
            self.pause = (2 * self.pause).min(RESEND_MAX);
            self.next = now + self.pause;
        }
        due
    }
}

/// The handshake that this end began.
pub(crate) struct Asking {
    pub(crate) id: u64,
    pub(crate) begun: Begun,
    pub(crate) message: Vec<u8>,
    pub(crate) key: KeyRef,
    pub(crate) series: Series,
    pub(crate) counter: u64,
    pub(crate) to: SocketAddr,
    /// The time at which it was begun.
    pub(crate) since: Duration,
    pub(crate) resend: Resend,
}

/// A handshake that this end answered, until the other end is known to have the answer.
pub(crate) struct Pending {
    pub(crate) session: Session,
    /// The first message.
    pub(crate) first: Vec<u8>,
    pub(crate) response: Vec<u8>,
    pub(crate) from: SocketAddr,
    pub(crate) resend: Resend,
}

impl Pending {
    pub(crate) fn is_over(&self, now: Duration) -> bool {
        now.saturating_sub(self.session.made) >= ANSWER_KEPT
    }
}

/// The newest first message of each start of the other end, so that none is taken twice. Messages
/// to an earlier start of this end name it, and so need no memory.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    newest: HashMap<Start, u64>,
    order: VecDeque<Start>,
}

impl Seen {
    pub(crate) fn is_new(&self, start: &Start, counter: u64) -> bool {
        self.newest.get(start).is_none_or(|newest| counter > *newest)
    }

    pub(crate) fn note(&mut self, start: Start, counter: u64) {
        let newest = self.newest.get(&start).copied().unwrap_or_default().max(counter);
        if self.newest.insert(start, newest).is_none() {
            self.order.push_back(start);
            if let Some(oldest) =
                (self.order.len() > STARTS_MAX).then(|| self.order.pop_front()).flatten()
            {
                self.newest.remove(&oldest);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_sent_again_ever_less_often() {
        let mut resend = Resend::after(Duration::ZERO);
        let sent: Vec<u64> =
            (0..5000).filter(|ms| resend.is_due(Duration::from_millis(*ms))).collect();
        assert_eq!(sent, [250, 750, 1750, 2750, 3750, 4750]);
    }

    #[test]
    fn each_start_counts_by_itself() {
        let mut seen = Seen::default();
        seen.note([1; 16], 5);
        assert!(seen.is_new(&[1; 16], 6) && seen.is_new(&[2; 16], 1));
        assert!(!seen.is_new(&[1; 16], 5) && !seen.is_new(&[1; 16], 4));
        for at in 0..STARTS_MAX as u128 {
            seen.note((at + 1000).to_be_bytes(), 1);
        }
        assert_eq!((seen.newest.len(), seen.order.len()), (STARTS_MAX, STARTS_MAX));
    }
}
