//! The handshakes that the other end begins, and similar messages from anybody.

use std::net::SocketAddr;
use std::time::Duration;

use super::action::Action;
use super::machine::{Tunnel, remove_inbounds};
use super::pending_handshake::{Pending, Resend};
use super::session::Terms;
use crate::tunnel::handshake::message::{self, Offer, Why};
use crate::tunnel::handshake::{Answer, Answering, HandshakeError, Hello, Refused, read_first};

/// Within this time of each other two handshakes count as begun at once, and only one is answered.
const AT_ONCE: Duration = Duration::from_secs(1);
/// Handshakes that wait at most; there is one other end.
const PENDING_MAX: usize = 4;

/// A first message, as it came.
#[derive(Clone, Copy)]
pub(super) struct First<'a> {
    pub(super) offer: &'a Offer,
    pub(super) head: &'a [u8],
    pub(super) noise: &'a [u8],
    pub(super) whole: &'a [u8],
}

impl Tunnel {
    pub(super) fn take_first(
        &mut self,
        now: Duration,
        from: SocketAddr,
        first: First<'_>,
        actions: &mut Vec<Action>,
    ) -> Result<(), Refused> {
        if !self.pace.allows(now, Some(from) == self.peer || Some(from) == self.settings.peer) {
            return Err(Refused::TooMany);
        }
        let First { offer, head, noise, whole } = first;
        if let Some(pending) = self.pending.iter().find(|pending| pending.first == whole) {
            // to the address of the earlier answer, no matter who sent this
            if pending.from == from {
                actions.push(Action::Send { to: from, message: pending.response.clone() });
            }
            return Ok(());
        }
        // late, or twice
        if self.sessions().any(|session| session.id == offer.id) {
            return Ok(());
        }
        let psk = match self.psk_for(offer) {
            Ok(at) => &self.psks[at],
            Err((why, refused)) => {
                actions.push(Action::Send { to: from, message: self.refusal(offer.id, why) });
                return Err(refused);
            }
        };
        let (answering, hello) = match read_first(psk, head, noise) {
            Err(refused @ Refused::WrongKey { .. }) => {
                actions.push(Action::Send {
                    to: from,
                    message: self.refusal(offer.id, Why::WrongKey),
                });
                return Err(refused);
            }
            read => read?,
        };
        // its own, sent back; or one that was taken
        if hello.start == self.start || !self.seen.is_new(&hello.start, hello.counter) {
            return Err(Refused::Replayed);
        }
        if hello.peer_start != self.start {
            let proof = psk.proof(offer.id, &self.start);
            actions.push(Action::Send {
                to: from,
                message: message::retry(offer.id, &self.start, &proof),
            });
            return Ok(());
        }
        if let Some(asking) = &self.asking {
            let at_once = now.saturating_sub(asking.since) < AT_ONCE;
            // from elsewhere, it is in doubt whether ours arrives
            if at_once && asking.id > offer.id && asking.to == from {
                // the other end gets ours, and answers that
                self.passed_over = Some((hello.start, hello.counter));
                return Ok(());
            }
            self.asking = None;
        }
        self.seen.note(hello.start, hello.counter);
        self.answer(now, from, first, (answering, hello), actions);
        Ok(())
    }

    /// Returns the index of the key that `offer` is about.
    pub(super) fn psk_for(&self, offer: &Offer) -> Result<usize, (Why, Refused)> {
        let suite = self.settings.suite.name;
        if offer.suite != suite {
            let refused =
                Refused::OtherSuite { theirs: offer.suite.clone(), ours: suite.to_owned() };
            return Err((Why::OtherSuite, refused));
        }
        // a key server gives each version of a key an id of its own
        if let Some(at) = self.psks.iter().position(|psk| *psk.key() == offer.key) {
            return Ok(at);
        }
        let theirs = offer.key.clone();
        let ours = self.psks.last().map(|psk| psk.key().id.clone()).unwrap_or_default();
        if offer.key.id != ours {
            return Err((Why::OtherKey, Refused::OtherKey { theirs, ours }));
        }
        let ours = self.psks.iter().map(|psk| psk.key().version).collect();
        Err((Why::UnknownVersion, Refused::UnknownVersion { theirs, ours }))
    }

    pub(super) fn refusal(&self, id: u64, why: Why) -> Vec<u8> {
        let suite = self.settings.suite.name.to_owned();
        let key = self.psks.last().map(|psk| psk.key().clone());
        key.map(|key| Offer { id, key, suite }.refusal(why)).unwrap_or_default()
    }

    /// Answers a first message that is genuine and new.
    pub(super) fn answer(
        &mut self,
        now: Duration,
        from: SocketAddr,
        first: First<'_>,
        (answering, hello): (Answering, Hello),
        actions: &mut Vec<Action>,
    ) {
        let ours = match self.draw_series() {
            Ok(series) => series,
            Err(what) => return self.failed(what, actions),
        };
        let mut response = message::response_head(first.offer.id);
        let answer = Answer { start: self.start, series: ours };
        let agreed = match answering.answer(&answer, &mut response) {
            Ok(agreed) => agreed,
            Err(error) => return self.failed(HandshakeError::to_string(&error), actions),
        };
        let terms = Terms {
            id: first.offer.id,
            key: first.offer.key.clone(),
            peer_start: hello.start,
            counter: hello.counter,
            ours,
            theirs: hello.series,
            now,
        };
        let Some(session) = self.make(&agreed, terms, actions) else { return };
        actions.push(Action::Send { to: from, message: response.clone() });
        if self.pending.len() == PENDING_MAX {
            let oldest = self.pending.remove(0);
            remove_inbounds(&oldest.session, actions);
        }
        let first = first.whole.to_vec();
        self.pending.push(Pending { session, first, response, from, resend: Resend::after(now) });
    }
}
