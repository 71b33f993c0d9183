//! Sessions while they last: messages of the other end in them, the check that it is still there,
//! and their end.

use std::net::SocketAddr;
use std::time::Duration;

use super::action::{Action, Observed};
use super::event::Event;
use super::machine::{Tunnel, remove_inbounds};
use super::session::{Session, Word};
use crate::tunnel::handshake::Refused;

/// Silence after which the other end is probed, and the interval of probes.
const PROBE_AFTER: Duration = Duration::from_millis(1500);
const PROBE_EVERY: Duration = Duration::from_millis(500);
/// Silence after which the other end counts as gone.
const GONE_AFTER: Duration = Duration::from_secs(10);
/// Time for which keys that open are kept after their last packet.
const GRACE: Duration = Duration::from_secs(10);

impl Tunnel {
    pub(super) fn take_control(
        &mut self,
        now: Duration,
        from: SocketAddr,
        spi: u32,
        (counter, head, sealed): (u64, &[u8], &[u8]),
        actions: &mut Vec<Action>,
    ) -> Result<(), Refused> {
        if let Some(at) = self.pending.iter().position(|pending| pending.session.ours.first == spi)
        {
            let word = self.pending[at].session.hear(counter, head, sealed)?;
            self.pending[at].session.heard = now;
            self.confirmed(at, from, actions);
            return self.obey(word, spi, from, actions);
        }
        let former = self.former.iter_mut().map(|former| &mut former.session);
        let session =
            self.current.iter_mut().chain(former).find(|session| session.ours.first == spi);
        let session = session.ok_or(Refused::Unasked)?;
        let word = session.hear(counter, head, sealed)?;
        session.heard = now;
        if self.current.as_ref().is_some_and(|current| current.ours.first == spi) {
            self.heard_from(from, actions);
        } else if self.is_silent(now) {
            // it uses the previous session, and sends there from its current address
            self.moved_to(from, actions);
        }
        self.obey(word, spi, from, actions)
    }

    /// Carries out `word`, of the session with the index `spi` on which it came.
    pub(super) fn obey(
        &mut self,
        word: Word,
        spi: u32,
        from: SocketAddr,
        actions: &mut Vec<Action>,
    ) -> Result<(), Refused> {
        match word {
            Word::Confirm | Word::Alive => {}
            Word::Probe => {
                let former = self.former.iter_mut().map(|former| &mut former.session);
                let session =
                    self.current.iter_mut().chain(former).find(|session| session.ours.first == spi);
                if let Some(Ok(message)) = session.map(|session| session.say(Word::Alive)) {
                    actions.push(Action::Send { to: from, message });
                }
            }
            // of the session before, it is from before the handshake
            Word::End if self.current.as_ref().is_some_and(|current| current.ours.first == spi) => {
                self.drop_all(actions);
                self.event(Event::PeerEnded, actions);
            }
            Word::End => {}
        }
        Ok(())
    }

    /// Returns whether nothing has come on the current session for a while.
    fn is_silent(&self, now: Duration) -> bool {
        self.current
            .as_ref()
            .is_some_and(|current| now.saturating_sub(current.heard) >= PROBE_AFTER)
    }

    /// Records that the other end has shown that it got the answer to its handshake.
    pub(super) fn confirmed(&mut self, at: usize, from: SocketAddr, actions: &mut Vec<Action>) {
        let session = self.pending.remove(at).session;
        self.establish(session, from, actions);
    }

    /// Takes what the path has seen.
    pub(super) fn notice(&mut self, now: Duration, observed: &Observed, actions: &mut Vec<Action>) {
        let opened = |session: &Session| {
            let own = observed.inbound.iter().filter(|(spi, _)| session.ours.holds(*spi));
            own.map(|(_, packets)| packets).sum::<u64>()
        };
        let former = self.former.iter_mut().map(|former| &mut former.session);
        let all = former.chain(self.pending.iter_mut().map(|pending| &mut pending.session));
        let more = |session: &mut Session| {
            let now_opened = opened(session);
            let more = now_opened > std::mem::replace(&mut session.opened, now_opened);
            if more {
                session.heard = now;
            }
            more
        };
        all.for_each(|session| _ = more(session));
        if self.current.as_mut().is_some_and(more) {
            let from = observed.from.or(self.peer);
            from.into_iter().for_each(|from| self.heard_from(from, actions));
        }
        // packets show it as well as a confirmation
        while let Some(at) = self.pending.iter().position(|pending| pending.session.opened > 0) {
            let from = observed.from.unwrap_or(self.pending[at].from);
            self.confirmed(at, from, actions);
        }
    }

    /// Forgets expired sessions.
    pub(super) fn forget(&mut self, now: Duration, actions: &mut Vec<Action>) {
        self.former.retain(|former| {
            let is_over = now.saturating_sub(former.since.max(former.session.heard)) >= GRACE;
            if is_over {
                remove_inbounds(&former.session, actions);
            }
            !is_over
        });
        self.pending.retain(|pending| {
            if pending.is_over(now) {
                remove_inbounds(&pending.session, actions);
            }
            !pending.is_over(now)
        });
        // without handshakes keys would be used for ever
        let too_old = 2 * self.settings.rekey_after + GRACE;
        if self.current.as_ref().is_some_and(|current| now.saturating_sub(current.made) >= too_old)
        {
            self.drop_all(actions);
            self.event(Event::KeysTooOld, actions);
        }
    }

    /// Probes a silent other end.
    pub(super) fn probe(&mut self, now: Duration, actions: &mut Vec<Action>) {
        let (Some(current), Some(to)) = (&mut self.current, self.peer) else { return };
        let silence = now.saturating_sub(current.heard);
        if silence >= PROBE_AFTER && now >= self.next_probe {
            self.next_probe = now + PROBE_EVERY;
            if let Ok(message) = current.say(Word::Probe) {
                actions.push(Action::Send { to, message });
            }
        }
        if silence >= GONE_AFTER && !std::mem::replace(&mut self.gone, true) {
            self.event(Event::PeerGone, actions);
        }
    }
}
