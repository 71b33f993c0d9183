//! The tunnel as a machine of states: messages and time in, actions out. It agrees on keys with the other end, renews
//! them before they are used up, finds out that the other end is gone, moved or started again, and says what happened.
//!
//! Time is the time since it was made, from a clock that nobody sets. It does neither input nor output, so that a
//! simulation can put it through what networks and machines do.
//!
//! What holds at any time:
//! - keys that seal are used only once the other end is known to open by them, and keys that open stay until the other
//!   end has not used them for a while; so renewing them loses no packet
//! - a first message changes nothing until its sender has shown that it got the answer; one that is sent again, by
//!   whomever, is known by what it says of both starts and by its number
//! - the other end is where its last authentic message came from
//!
//! Not here: how keys come out of a handshake (`handshake`), and packets (`path`).

mod action;
mod event;
mod log;
mod pace;
mod session;
#[cfg(test)]
mod simulation;
mod waiting;

use std::fmt;
use std::net::SocketAddr;
use std::time::Duration;

use sealstone_keys::KeyRef;
use sealstone_seal::esp::{Association, Lifetime};

pub use self::action::{Action, Observed, ObservedOutbound, Settings};
pub use self::event::Event;
pub use self::log::{Entry, Log};
use self::pace::Pace;
use self::session::{Sealing, Session, Terms, Word};
use self::waiting::{Asking, Pending, Resend, Seen};
use crate::handshake::message::{self, Message, Offer, PROOF_BYTES, Start, Why};
use crate::handshake::{
    Agreed, Answer, Answering, HandshakeError, Hello, Psk, Reason, Refused, Role, SERIES_MAX, Series, begin, read_first,
};

/// Silence after which the other end is asked whether it is there, and how often then.
const PROBE_AFTER: Duration = Duration::from_millis(1500);
const PROBE_EVERY: Duration = Duration::from_millis(500);
/// Silence after which a handshake is begun.
const ASK_AFTER: Duration = Duration::from_secs(3);
/// Silence after which the other end counts as gone.
const GONE_AFTER: Duration = Duration::from_secs(10);
/// How long the same first message is sent before another one is made.
const ASK_THE_SAME: Duration = Duration::from_secs(5);
/// Within this time of each other two handshakes count as begun at once, and only one is answered.
const AT_ONCE: Duration = Duration::from_secs(1);
/// How long keys that open are kept after their last packet.
const GRACE: Duration = Duration::from_secs(10);
/// Handshakes that wait at most; there is one other end.
const PENDING_MAX: usize = 4;
/// What one handshake should last for, in bytes, if its cipher's keys last for less.
const SERIES_BYTES: u64 = 512 << 20;

/// Fills a buffer with randomness, or says why not.
pub type Draw = Box<dyn FnMut(&mut [u8]) -> Result<(), String> + Send>;

/// How a tunnel is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It waits for the other end to begin.
    Waiting,
    /// It is asking the other end.
    Connecting,
    /// Both ends have keys, and something authentic came lately.
    Up,
    /// Both ends had keys, and nothing authentic came for a while.
    Gone,
}

/// How a tunnel is doing, with its session.
#[derive(Clone, Debug)]
pub struct Standing {
    /// In a word.
    pub state: State,
    /// Where the other end is, as far as that is known.
    pub peer: Option<SocketAddr>,
    /// What there is with the other end.
    pub session: Option<SessionStanding>,
}

/// What one handshake gave.
#[derive(Clone, Debug)]
pub struct SessionStanding {
    /// Under which key.
    pub key: KeyRef,
    /// Number of the handshake.
    pub id: u64,
    /// How long ago it succeeded.
    pub age: Duration,
    /// How long ago the last authentic message came.
    pub silence: Duration,
    /// The indexes on which this end receives: the first, and how many.
    pub spis_in: (u32, u16),
    /// The indexes on which this end sends.
    pub spis_out: (u32, u16),
}

/// The tunnel.
pub struct Tunnel {
    settings: Settings,
    /// Ascending by version; not empty.
    psks: Vec<Psk>,
    /// The version that the other end says it has, if it lacks ours.
    version_of_peer: Option<u32>,
    draw: Draw,
    /// Of this end.
    start: Start,
    /// First messages sent.
    counter: u64,
    peer: Option<SocketAddr>,
    peer_start: Option<Start>,
    asking: Option<Asking>,
    /// How many handshakes in a row were not answered.
    unanswered: u32,
    pending: Vec<Pending>,
    seen: Seen,
    current: Option<Session>,
    former: Vec<Former>,
    pace: Pace,
    log: Log,
    gone: bool,
    rotated: bool,
    next_probe: Duration,
    /// The time that it was told last.
    now: Duration,
}

/// A session that another one has replaced, whose packets may still come.
struct Former {
    session: Session,
    since: Duration,
}

impl fmt::Debug for Tunnel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tunnel").field("settings", &self.settings).field("peer", &self.peer).finish_non_exhaustive()
    }
}

impl Tunnel {
    /// A tunnel that has not begun; [`Tunnel::tick`] begins it.
    ///
    /// - `psks`: one or more versions of one key, ascending; handshakes are begun with the last
    /// - `draw`: the operating system's randomness
    ///
    /// # Errors
    /// What `draw` says.
    ///
    /// # Panics
    /// If there is no key: a bug of the caller.
    pub fn new(settings: Settings, psks: Vec<Psk>, mut draw: Draw) -> Result<Self, String> {
        assert!(!psks.is_empty(), "a source of keys has a current one");
        let mut start = [0; 16];
        draw(&mut start)?;
        Ok(Self {
            peer: settings.peer,
            settings,
            psks,
            version_of_peer: None,
            draw,
            start,
            counter: 0,
            peer_start: None,
            asking: None,
            unanswered: 0,
            pending: Vec::new(),
            seen: Seen::default(),
            current: None,
            former: Vec::new(),
            pace: Pace::default(),
            log: Log::default(),
            gone: false,
            rotated: false,
            next_probe: Duration::ZERO,
            now: Duration::ZERO,
        })
    }

    /// What happened.
    #[must_use]
    pub fn log(&self) -> &Log {
        &self.log
    }

    /// How it is doing.
    #[must_use]
    pub fn standing(&self, now: Duration) -> Standing {
        let session = self.current.as_ref().map(|session| SessionStanding {
            key: session.key.clone(),
            id: session.id,
            age: now.saturating_sub(session.made),
            silence: now.saturating_sub(session.heard),
            spis_in: (session.ours.first, session.ours.count),
            spis_out: (session.theirs.first, session.theirs.count),
        });
        let state = match &session {
            Some(_) if self.gone => State::Gone,
            Some(_) => State::Up,
            None if self.asking.is_some() => State::Connecting,
            None => State::Waiting,
        };
        Standing { state, peer: self.peer, session }
    }

    /// Takes the versions that the key has now; a newer one is used at once.
    pub fn set_keys(&mut self, psks: Vec<Psk>) -> Vec<Action> {
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
    pub fn handle(&mut self, now: Duration, from: SocketAddr, message: &[u8]) -> Vec<Action> {
        let now = self.advance(now);
        let mut actions = Vec::new();
        let taken = Message::parse(message).and_then(|parsed| match parsed {
            Message::Init { offer, head, noise } => {
                self.take_first(now, from, First { offer: &offer, head, noise, whole: message }, &mut actions)
            }
            Message::Retry { id, start, proof } => self.take_retry(now, id, start, proof, &mut actions),
            Message::Response { id, noise } => self.take_response(now, from, id, noise, message, &mut actions),
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

    /// Does what is due; to be called several times a second.
    pub fn tick(&mut self, now: Duration, observed: &Observed) -> Vec<Action> {
        let now = self.advance(now);
        let mut actions = Vec::new();
        self.notice(now, observed, &mut actions);
        self.forget(now, &mut actions);
        for pending in self.pending.iter_mut().filter_map(|one| one.resend.is_due(now).then_some(&*one)) {
            actions.push(Action::Send { to: pending.from, message: pending.response.clone() });
        }
        self.ask_again(now, &mut actions);
        if self.wants_keys(now, observed) {
            self.ask(now, &mut actions);
        }
        self.probe(now, &mut actions);
        actions
    }

    /// Tells the other end that this one ends, and forgets all keys.
    pub fn end(&mut self, now: Duration) -> Vec<Action> {
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

    /// Time as the tunnel uses it: it never goes back.
    fn advance(&mut self, now: Duration) -> Duration {
        self.now = self.now.max(now);
        self.now
    }

    fn event(&mut self, event: Event, actions: &mut Vec<Action>) {
        self.log.note(self.now, &event);
        actions.push(Action::Event(event));
    }

    fn failed(&mut self, what: String, actions: &mut Vec<Action>) {
        self.event(Event::Failed { what }, actions);
    }
}

/// A first message, as it came.
#[derive(Clone, Copy)]
struct First<'a> {
    offer: &'a Offer,
    head: &'a [u8],
    noise: &'a [u8],
    whole: &'a [u8],
}

/// The handshakes that this end begins.
impl Tunnel {
    /// Whether fresh keys are wanted and nothing is under way to them.
    fn wants_keys(&self, now: Duration, observed: &Observed) -> bool {
        let under_way = |one: &Pending| now.saturating_sub(one.session.made) < ASK_AFTER;
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
    fn ask(&mut self, now: Duration, actions: &mut Vec<Action>) {
        // a peer that moved may be back where it was set up
        let to = if self.unanswered % 2 == 1 { self.settings.peer.or(self.peer) } else { self.peer };
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

    fn begun(&mut self, now: Duration, to: SocketAddr) -> Result<Asking, String> {
        let series = self.draw_series()?;
        let mut id = [0; 8];
        (self.draw)(&mut id)?;
        let id = u64::from_be_bytes(id);
        self.counter += 1;
        let wanted = self.psks.iter().find(|psk| Some(psk.key().version) == self.version_of_peer);
        let psk = wanted.or(self.psks.last()).ok_or("no key")?;
        let offer = Offer { id, key: psk.key().clone(), suite: self.settings.suite.name.to_owned() };
        let peer_start = self.peer_start.unwrap_or_default();
        let hello = Hello { start: self.start, peer_start, counter: self.counter, series };
        let (begun, message) = begin(psk, &offer.init_head(), &hello).map_err(|error| error.to_string())?;
        let (key, counter, resend) = (offer.key, self.counter, Resend::after(now));
        Ok(Asking { id, begun, message, key, series, counter, to, since: now, resend })
    }

    /// Indexes that no association of this end has.
    fn draw_series(&mut self) -> Result<Series, String> {
        let association =
            Association { spi: 0x100, suite: self.settings.suite, extended: true, backend: self.settings.backend };
        let count = series_count(&association, self.settings.lifetime);
        loop {
            let mut first = [0; 4];
            (self.draw)(&mut first)?;
            let series = Series { first: u32::from_be_bytes(first), count };
            let taken = self.sessions().any(|one| one.ours.spis().any(|spi| series.holds(spi)));
            if series.is_sound() && !taken {
                return Ok(series);
            }
        }
    }

    fn sessions(&self) -> impl Iterator<Item = &Session> {
        let former = self.former.iter().map(|former| &former.session);
        self.current.iter().chain(former).chain(self.pending.iter().map(|pending| &pending.session))
    }

    /// Sends the first message again, or gives it up.
    fn ask_again(&mut self, now: Duration, actions: &mut Vec<Action>) {
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

    /// The other end has started since this one knew it, or this one never did.
    fn take_retry(
        &mut self,
        now: Duration,
        id: u64,
        start: Start,
        proof: [u8; PROOF_BYTES],
        actions: &mut Vec<Action>,
    ) -> Result<(), Refused> {
        let asking = self.asking.as_ref().filter(|asking| asking.id == id).ok_or(Refused::Unasked)?;
        let psk = self.psks.iter().find(|psk| *psk.key() == asking.key).ok_or(Refused::Unasked)?;
        if !psk.proves(id, &start, &proof) {
            return Err(Refused::Forged);
        }
        self.peer_start = Some(start);
        self.asking = None;
        self.ask(now, actions);
        Ok(())
    }

    fn take_response(
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
            let again = self.current.iter_mut().chain(former).find(|one| one.id == id && one.answer == whole);
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

    /// The other end says why it does not answer. Nobody knows who says so: it is shown, and at most another version
    /// that this end has, too, is tried.
    fn take_refusal(
        &mut self,
        from: SocketAddr,
        why: Why,
        offer: &Offer,
        actions: &mut Vec<Action>,
    ) -> Result<(), Refused> {
        let asking = self.asking.as_ref().filter(|asking| asking.id == offer.id).ok_or(Refused::Unasked)?;
        let (ours, theirs) = (&asking.key, &offer.key);
        let why = match why {
            Why::OtherSuite => {
                format!(
                    "it has suite {}, this end {}\ngive both ends the same --suite",
                    offer.suite, self.settings.suite.name
                )
            }
            Why::OtherKey => format!("it has key {theirs}, this end key {ours}\ngive both ends the same key"),
            Why::UnknownVersion => {
                self.version_of_peer = Some(theirs.version);
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
}

/// How many associations a handshake makes for a direction: one, unless its keys last for little.
fn series_count(association: &Association, lifetime: Option<Lifetime>) -> u16 {
    let block_bytes = association.suite.cipher().map_or(1, |cipher| cipher.block_bytes as u64);
    let blocks = lifetime.map_or(u64::MAX, |lifetime| lifetime.blocks).min(Lifetime::longest(association).blocks);
    let bytes = blocks.saturating_mul(block_bytes).max(1);
    SERIES_BYTES.div_ceil(bytes).clamp(1, SERIES_MAX.into()) as u16
}

/// The handshakes that the other end begins.
impl Tunnel {
    fn take_first(
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
            // to where the answer went before, whoever sent this
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
                actions.push(Action::Send { to: from, message: self.refusal(offer.id, Why::WrongKey) });
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
            actions.push(Action::Send { to: from, message: message::retry(offer.id, &self.start, &proof) });
            return Ok(());
        }
        if let Some(asking) = &self.asking {
            if asking.id > offer.id && now.saturating_sub(asking.since) < AT_ONCE {
                // the other end gets ours, and answers that
                return Ok(());
            }
            self.asking = None;
        }
        self.seen.note(hello.start, hello.counter);
        self.answer(now, from, first, (answering, hello), actions);
        Ok(())
    }

    /// Which of the keys `offer` is about.
    fn psk_for(&self, offer: &Offer) -> Result<usize, (Why, Refused)> {
        let suite = self.settings.suite.name;
        if offer.suite != suite {
            let refused = Refused::OtherSuite { theirs: offer.suite.clone(), ours: suite.to_owned() };
            return Err((Why::OtherSuite, refused));
        }
        let theirs = offer.key.clone();
        let ours = self.psks.last().map(|psk| psk.key().id.clone()).unwrap_or_default();
        if offer.key.id != ours {
            return Err((Why::OtherKey, Refused::OtherKey { theirs, ours }));
        }
        let versions = || self.psks.iter().map(|psk| psk.key().version);
        versions().position(|version| version == offer.key.version).ok_or_else(|| {
            (Why::UnknownVersion, Refused::UnknownVersion { theirs, ours: versions().collect() })
        })
    }

    fn refusal(&self, id: u64, why: Why) -> Vec<u8> {
        let suite = self.settings.suite.name.to_owned();
        let key = self.psks.last().map(|psk| psk.key().clone());
        key.map(|key| Offer { id, key, suite }.refusal(why)).unwrap_or_default()
    }

    /// Answers a first message that is genuine and new.
    fn answer(
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

    /// Makes a session and installs what opens packets.
    fn make(&mut self, agreed: &Agreed, terms: Terms, actions: &mut Vec<Action>) -> Option<Session> {
        let Settings { suite, backend, lifetime, .. } = self.settings;
        match Session::make(agreed, terms, &Sealing { suite, backend, lifetime }) {
            Ok((session, inbounds)) => {
                actions.extend(inbounds.into_iter().map(Action::InstallInbound));
                Some(session)
            }
            Err(what) => {
                self.failed(what, actions);
                None
            }
        }
    }
}

fn remove_inbounds(session: &Session, actions: &mut Vec<Action>) {
    actions.extend(session.ours.spis().map(|spi| Action::RemoveInbound { spi }));
}

/// Sessions.
impl Tunnel {
    fn take_control(
        &mut self,
        now: Duration,
        from: SocketAddr,
        spi: u32,
        (counter, head, sealed): (u64, &[u8], &[u8]),
        actions: &mut Vec<Action>,
    ) -> Result<(), Refused> {
        if let Some(at) = self.pending.iter().position(|pending| pending.session.ours.first == spi) {
            let word = self.pending[at].session.hear(counter, head, sealed)?;
            self.pending[at].session.heard = now;
            self.confirmed(at, from, actions);
            return self.obey(word, spi, from, actions);
        }
        let former = self.former.iter_mut().map(|former| &mut former.session);
        let session = self.current.iter_mut().chain(former).find(|session| session.ours.first == spi);
        let session = session.ok_or(Refused::Unasked)?;
        let word = session.hear(counter, head, sealed)?;
        session.heard = now;
        if self.current.as_ref().is_some_and(|current| current.ours.first == spi) {
            self.heard_from(from, actions);
        }
        self.obey(word, spi, from, actions)
    }

    /// Does what `word` asks for, of the session on whose index `spi` it came.
    fn obey(&mut self, word: Word, spi: u32, from: SocketAddr, actions: &mut Vec<Action>) -> Result<(), Refused> {
        match word {
            Word::Confirm | Word::Alive => {}
            Word::Probe => {
                let former = self.former.iter_mut().map(|former| &mut former.session);
                let session = self.current.iter_mut().chain(former).find(|session| session.ours.first == spi);
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

    /// Something authentic came on the current session, from `from`.
    fn heard_from(&mut self, from: SocketAddr, actions: &mut Vec<Action>) {
        let before = self.peer.replace(from);
        if let Some(before) = before.filter(|before| *before != from) {
            actions.push(Action::SetPeer(from));
            self.event(Event::PeerMoved { from: before, to: from }, actions);
        }
        if std::mem::take(&mut self.gone) {
            self.event(Event::PeerBack, actions);
        }
    }

    /// The other end has shown that it got the answer to its handshake.
    fn confirmed(&mut self, at: usize, from: SocketAddr, actions: &mut Vec<Action>) {
        let session = self.pending.remove(at).session;
        self.establish(session, from, actions);
    }

    /// Uses `session` from now on.
    fn establish(&mut self, mut session: Session, from: SocketAddr, actions: &mut Vec<Action>) {
        let now = self.now;
        if self.current.as_ref().is_some_and(|current| !takes_over(current, &session, now)) {
            self.former.push(Former { session, since: now });
            return;
        }
        let outbounds = std::mem::take(&mut session.outbounds);
        actions.push(Action::InstallOutbound { outbounds, peer: from });
        let (peer_start, key) = (session.peer_start, session.key.clone());
        self.asking = None;
        self.unanswered = 0;
        self.peer_start = Some(peer_start);
        let was_gone = std::mem::take(&mut self.gone);
        let (before, peer_before) = (self.current.replace(session), self.peer.replace(from));
        let event = match &before {
            Some(before) if before.peer_start != peer_start => Event::PeerRestarted { peer: from, key },
            Some(_) if !was_gone => Event::Rekeyed { key },
            _ => Event::Up { peer: from, key },
        };
        self.event(event, actions);
        if let (Some(_), Some(moved)) = (&before, peer_before.filter(|before| *before != from)) {
            self.event(Event::PeerMoved { from: moved, to: from }, actions);
        }
        self.former.extend(before.map(|session| Former { session, since: now }));
        // what another start of the other end had is gone with it
        let is_old = |session: &Session| session.peer_start != peer_start;
        self.former.iter().filter(|one| is_old(&one.session)).for_each(|one| remove_inbounds(&one.session, actions));
        self.former.retain(|one| !is_old(&one.session));
        self.pending.iter().filter(|one| is_old(&one.session)).for_each(|one| remove_inbounds(&one.session, actions));
        self.pending.retain(|one| !is_old(&one.session));
    }

    /// Takes what the path has seen.
    fn notice(&mut self, now: Duration, observed: &Observed, actions: &mut Vec<Action>) {
        let opened = |session: &Session| {
            let own = observed.inbound.iter().filter(|(spi, _)| session.ours.holds(*spi));
            own.map(|(_, packets)| packets).sum::<u64>()
        };
        let former = self.former.iter_mut().map(|former| &mut former.session);
        let all = former.chain(self.pending.iter_mut().map(|pending| &mut pending.session));
        let more = |session: &mut Session| {
            let before = std::mem::replace(&mut session.opened, opened(session));
            let more = session.opened > before;
            if more {
                session.heard = now;
            }
            more
        };
        all.for_each(|session| drop(more(session)));
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

    /// Forgets what is over.
    fn forget(&mut self, now: Duration, actions: &mut Vec<Action>) {
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
        if self.current.as_ref().is_some_and(|current| now.saturating_sub(current.made) >= too_old) {
            self.drop_all(actions);
            self.event(Event::KeysTooOld, actions);
        }
    }

    /// Asks a silent other end whether it is there.
    fn probe(&mut self, now: Duration, actions: &mut Vec<Action>) {
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

    /// Forgets all keys.
    fn drop_all(&mut self, actions: &mut Vec<Action>) {
        actions.push(Action::RemoveOutbound);
        let former = self.former.drain(..).map(|former| former.session);
        for session in self.current.take().into_iter().chain(former).chain(self.pending.drain(..).map(|one| one.session))
        {
            remove_inbounds(&session, actions);
        }
        self.gone = false;
    }
}

/// Whether `new` is used instead of `current`. Both ends must decide alike.
fn takes_over(current: &Session, new: &Session, now: Duration) -> bool {
    if current.peer_start != new.peer_start {
        return true;
    }
    if current.role == new.role {
        // of two of one end, the one that it began later
        return new.counter > current.counter;
    }
    // of two begun at once, the one with the greater number
    now.saturating_sub(current.made) >= ASK_THE_SAME || new.id > current.id
}
