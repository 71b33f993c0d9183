//! The handshakes that this end begins: their time, peer and outcome.

use std::net::SocketAddr;
use std::time::Duration;

use sealstone_keys::KeyRef;
use sealstone_message::SettingName;

use super::action::{Action, Observed};
use super::event::Event;
use super::machine::Tunnel;
use super::pending_handshake::{Asking, Pending, Resend};
use super::session::{Terms, Word};
use crate::tunnel::handshake::message::{Offer, PROOF_BYTES, Start, Why};
use crate::tunnel::handshake::{Hello, Refused, Role, begin};

/// Silence after which a handshake is begun.
const ASK_AFTER: Duration = Duration::from_secs(3);
/// Time for which the same first message is sent before another one is made.
const ASK_THE_SAME: Duration = Duration::from_secs(5);
/// Time for which an answered handshake keeps this end from starting one.
const ANSWERED: Duration = Duration::from_secs(1);

impl Tunnel {
    /// Returns whether fresh keys are needed and no attempt to get them is under way.
    pub(super) fn wants_keys(&self, now: Duration, observed: &Observed) -> bool {
        let under_way = |one: &Pending| now.saturating_sub(one.session.made) < ANSWERED;
        if self.asking.is_some() || self.pending.iter().any(under_way) {
            return false;
        }
        let Some(current) = &self.current else { return true };
        let outbound = observed.outbound.filter(|outbound| current.theirs.holds(outbound.spi));
        let used = outbound.is_some_and(|outbound| match usize::from(current.theirs.count) {
            1 => outbound.is_due,
            count => outbound.successors <= count / 2,
        });
        // one of both begins, unless it does not
        let rekey_after = match current.role {
            Role::Initiator => self.settings.rekey_after,
            Role::Responder => self.settings.rekey_after * 11 / 10,
        };
        let old = now.saturating_sub(current.made) >= rekey_after;
        let silent = now.saturating_sub(current.heard) >= ASK_AFTER;
        used || old || silent || self.rotated
    }

    /// Begins a handshake.
    pub(super) fn ask(&mut self, now: Duration, actions: &mut Vec<Action>) {
        // a peer that moved may be back where it was set up
        let to =
            if self.unanswered % 2 == 1 { self.settings.peer.or(self.peer) } else { self.peer };
        let Some(to) = to else { return };
        self.rotated = false;
        match self.begun(now, to) {
            Ok(asking) => {
                actions.push(Action::Send { to, message: asking.message.clone() });
                self.asking = Some(asking);
            }
            Err(what) => self.failed(what, actions),
        }
    }

    pub(super) fn begun(&mut self, now: Duration, to: SocketAddr) -> Result<Asking, String> {
        let series = self.draw_series()?;
        let mut id = [0; 8];
        (self.draw)(&mut id)?;
        let id = u64::from_be_bytes(id);
        self.counter += 1;
        let wanted = self.psks.iter().find(|psk| Some(psk.key().version) == self.version_of_peer);
        let psk = wanted.or(self.psks.last()).ok_or("no key")?;
        let offer =
            Offer { id, key: psk.key().clone(), suite: self.settings.suite.name.to_owned() };
        let peer_start = self.peer_start.unwrap_or_default();
        let hello = Hello { start: self.start, peer_start, counter: self.counter, series };
        let (begun, message) =
            begin(psk, &offer.init_head(), &hello).map_err(|error| error.to_string())?;
        let (key, counter, resend) = (offer.key, self.counter, Resend::after(now));
        Ok(Asking { id, begun, message, key, series, counter, to, since: now, resend })
    }

    /// Sends the first message again, or gives it up.
    pub(super) fn ask_again(&mut self, now: Duration, actions: &mut Vec<Action>) {
        let Some(asking) = &mut self.asking else { return };
        if now.saturating_sub(asking.since) >= ASK_THE_SAME {
            let peer = asking.to;
            self.asking = None;
            self.unanswered += 1;
            self.event(Event::NoAnswer { peer }, actions);
        } else if asking.resend.is_due(now) {
            actions.push(Action::Send { to: asking.to, message: asking.message.clone() });
        }
    }

    /// Takes a retry: the other end has restarted, or was never known to this end.
    pub(super) fn take_retry(
        &mut self,
        now: Duration,
        id: u64,
        start: Start,
        proof: [u8; PROOF_BYTES],
        actions: &mut Vec<Action>,
    ) -> Result<(), Refused> {
        let asking =
            self.asking.as_ref().filter(|asking| asking.id == id).ok_or(Refused::Unasked)?;
        let psk = self.psks.iter().find(|psk| *psk.key() == asking.key).ok_or(Refused::Unasked)?;
        if !psk.proves(id, &start, &proof) {
            return Err(Refused::Forged);
        }
        self.peer_start = Some(start);
        self.asking = None;
        self.ask(now, actions);
        Ok(())
    }

    pub(super) fn take_response(
        &mut self,
        now: Duration,
        from: SocketAddr,
        id: u64,
        noise: &[u8],
        whole: &[u8],
        actions: &mut Vec<Action>,
    ) -> Result<(), Refused> {
        let Some(asking) = self.asking.as_mut().filter(|asking| asking.id == id) else {
            // the other end did not hear that this one has its answer
            let former = self.former.iter_mut().map(|former| &mut former.session);
            let again = self
                .current
                .iter_mut()
                .chain(former)
                .find(|one| one.id == id && one.answer == whole);
            let session = again.ok_or(Refused::Unasked)?;
            if let Ok(message) = session.say(Word::Confirm) {
                actions.push(Action::Send { to: from, message });
            }
            return Ok(());
        };
        let (agreed, answer) = asking.begun.finish(noise)?;
        let Some(asking) = self.asking.take() else { return Err(Refused::Unasked) };
        self.peer_start = Some(answer.start);
        let terms = Terms {
            id,
            key: asking.key,
            peer_start: answer.start,
            counter: asking.counter,
            ours: asking.series,
            theirs: answer.series,
            now,
        };
        let Some(mut session) = self.make(&agreed, terms, actions) else { return Ok(()) };
        session.answer = whole.to_vec();
        match session.say(Word::Confirm) {
            Ok(message) => actions.push(Action::Send { to: from, message }),
            Err(what) => self.failed(what, actions),
        }
        self.establish(session, from, actions);
        Ok(())
    }

    /// Takes a refusal with the other end's reason. Its sender is unverified: it is shown, and at
    /// most another version that this end also has is tried.
    pub(super) fn take_refusal(
        &mut self,
        from: SocketAddr,
        why: Why,
        offer: &Offer,
        actions: &mut Vec<Action>,
    ) -> Result<(), Refused> {
        let asking =
            self.asking.as_ref().filter(|asking| asking.id == offer.id).ok_or(Refused::Unasked)?;
        let (ours, theirs) = (asking.key.clone(), &offer.key);
        let why = match why {
            Why::OtherSuite => {
                format!(
                    "it has suite {}, this end {}\ngive both ends the same {}",
                    offer.suite,
                    self.settings.suite.name,
                    SettingName("suite")
                )
            }
            Why::OtherKey => {
                self.ask_under(theirs);
                format!("it has key {theirs}, this end key {ours}\ngive both ends the same key")
            }
            Why::UnknownVersion => {
                self.ask_under(theirs);
                let bring = "bring it there, with: sealstone keys import";
                format!("it has key {theirs} as its newest, this end {ours}\n{bring}")
            }
            Why::WrongKey => format!(
                "it has another key of the name {ours}, or the message was changed on its way\n\
                 give both ends the same key file"
            ),
        };
        self.event(Event::RefusedByPeer { from, why }, actions);
        Ok(())
    }

    /// Makes the next first message one under `key`, which the other end reports, if this end has
    /// it, too.
    fn ask_under(&mut self, key: &KeyRef) {
        let is_ours = self.psks.iter().any(|psk| psk.key() == key);
        if is_ours && self.version_of_peer.replace(key.version) != Some(key.version) {
            self.asking = None;
        }
    }
}
