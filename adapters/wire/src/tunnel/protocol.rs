//! The tunnel as a state machine: messages and time in, actions out. It agrees on keys with the
//! other end, renews them before they are used up, detects that the other end is gone, moved or
//! started again, and reports events.
//!
//! Time is the time since it was made, from a clock that nobody sets. It does neither input nor
//! output, so that a simulation can expose it to faults of networks and machines.
//!
//! Invariants:
//! - keys that seal are used only once the other end is known to open by them, and keys that open
//!   stay until the other end has not used them for a while; so renewing them loses no packet
//! - a first message changes nothing until its sender has shown that it got the answer; a repeated
//!   message, from any sender, is recognised by its starts of both ends and by its number
//! - the other end is where its last authentic message came from
//!
//! A first message names the starts of both ends and a number, so a recorded message is recognised
//! as old without any clock. A cipher with short-lived keys gets a series of associations from one
//! handshake, which the path uses one after the other. `protocol/simulation.rs` puts two tunnels
//! through hundreds of seeds in a test, with packets sealed and opened by the associations that
//! they install.
//!
//! Not here: the keys of a handshake (`handshake`), and packets (`path`).

mod action;
mod event;
mod initiator;
mod liveness;
mod log;
mod machine;
mod pace;
#[cfg(test)]
mod pair_tests;
mod pending_handshake;
mod responder;
mod session;
#[cfg(test)]
mod simulation;
mod state;

use std::net::SocketAddr;
use std::time::Duration;

pub(crate) use self::action::{Action, Observed, ObservedOutbound, Settings};
pub use self::event::Event;
pub(crate) use self::log::Log;
pub(crate) use self::machine::Tunnel;
use self::responder::First;
use self::session::Word;
pub(crate) use self::state::{Standing, State};
use crate::tunnel::handshake::message::Message;
use crate::tunnel::handshake::{Psk, Refused};

impl Tunnel {
    /// Takes the versions that the key has now; a newer one is used at once.
    pub(crate) fn set_keys(&mut self, psks: Vec<Psk>) -> Vec<Action> {
        let mut actions = Vec::new();
        let newest = |psks: &[Psk]| psks.last().map(|psk| psk.key().clone());
        if let Some(key) = newest(&psks) {
            if newest(&self.psks).as_ref() != Some(&key) {
                self.rotated = true;
                self.version_of_peer = None;
                self.event(Event::KeyRotated { key }, &mut actions);
            }
            self.psks = psks;
        }
        actions
    }

    /// Takes a message of the key exchange that came from `from`.
    pub(crate) fn handle(
        &mut self,
        now: Duration,
        from: SocketAddr,
        message: &[u8],
    ) -> Vec<Action> {
        let now = self.advance(now);
        let mut actions = Vec::new();
        let taken = Message::parse(message).and_then(|parsed| match parsed {
            Message::Init { offer, head, noise } => self.take_first(
                now,
                from,
                First { offer: &offer, head, noise, whole: message },
                &mut actions,
            ),
            Message::Retry { id, start, proof } => {
                self.take_retry(now, id, start, proof, &mut actions)
            }
            Message::Response { id, noise } => {
                self.take_response(now, from, id, noise, message, &mut actions)
            }
            Message::Control { spi, counter, head, sealed } => {
                self.take_control(now, from, spi, (counter, head, sealed), &mut actions)
            }
            Message::Refusal { why, offer } => self.take_refusal(from, why, &offer, &mut actions),
        });
        match taken {
            Ok(()) => {}
            // the network brings messages twice and late: no event
            Err(why @ (Refused::Unasked | Refused::TooMany)) => self.log.count(why.reason()),
            Err(why) => self.event(Event::Refused { from, why }, &mut actions),
        }
        actions
    }

    /// Runs due actions; call it several times a second.
    pub(crate) fn tick(&mut self, now: Duration, observed: &Observed) -> Vec<Action> {
        let now = self.advance(now);
        let mut actions = Vec::new();
        self.notice(now, observed, &mut actions);
        self.forget(now, &mut actions);
        for pending in
            self.pending.iter_mut().filter_map(|one| one.resend.is_due(now).then_some(&*one))
        {
            actions.push(Action::Send { to: pending.from, message: pending.response.clone() });
        }
        self.ask_again(now, &mut actions);
        if self.wants_keys(now, observed) {
            self.ask(now, &mut actions);
        }
        self.probe(now, &mut actions);
        actions
    }

    /// Notifies the other end that this end stops, and forgets all keys.
    pub(crate) fn end(&mut self, now: Duration) -> Vec<Action> {
        self.advance(now);
        let mut actions = Vec::new();
        if let (Some(session), Some(to)) = (&mut self.current, self.peer)
            && let Ok(message) = session.say(Word::End)
        {
            actions.push(Action::Send { to, message });
        }
        self.drop_all(&mut actions);
        self.asking = None;
        self.event(Event::Ended, &mut actions);
        actions
    }
}
