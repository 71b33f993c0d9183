//! State of a tunnel, and the common work of its parts: draw indexes, make and use sessions, report
//! events.

use std::fmt;
use std::net::SocketAddr;
use std::time::Duration;

use sealstone_seal::esp::{Association, Lifetime};

use super::action::{Action, Settings};
use super::event::Event;
use super::log::Log;
use super::pace::Pace;
use super::pending_handshake::{Asking, Pending, Seen};
use super::session::{Sealing, Session, Terms};
use super::state::{SessionStanding, Standing, State};
use crate::tunnel::handshake::message::Start;
use crate::tunnel::handshake::{Agreed, Psk, Role, SERIES_MAX, Series};

/// Within this time of each other two handshakes that crossed count as made at once.
const CROSSED: Duration = Duration::from_secs(1);
/// Amount of data that one handshake should suffice for, in bytes, if the keys of its cipher last
/// for less.
const SERIES_BYTES: u64 = 512 << 20;

/// A function that fills a buffer with randomness, or returns the reason why not.
pub(crate) type Draw = Box<dyn FnMut(&mut [u8]) -> Result<(), String> + Send>;

/// The tunnel.
pub(crate) struct Tunnel {
    pub(super) settings: Settings,
    /// Ascending by version; not empty.
    pub(super) psks: Vec<Psk>,
    /// The version that the other end reports, if it lacks ours.
    pub(super) version_of_peer: Option<u32>,
    pub(super) draw: Draw,
    /// Identifier of the start of this end.
    pub(super) start: Start,
    /// First messages sent.
    pub(super) counter: u64,
    pub(super) peer: Option<SocketAddr>,
    pub(super) peer_start: Option<Start>,
    pub(super) asking: Option<Asking>,
    /// Number of consecutive handshakes that were not answered.
    pub(super) unanswered: u32,
    pub(super) pending: Vec<Pending>,
    pub(super) seen: Seen,
    /// A first message that was left unanswered for one of this end.
    pub(super) passed_over: Option<(Start, u64)>,
    pub(super) current: Option<Session>,
    pub(super) former: Vec<Former>,
    pub(super) pace: Pace,
    pub(super) log: Log,
    pub(super) gone: bool,
    pub(super) rotated: bool,
    pub(super) next_probe: Duration,
    /// The time of the last call.
    pub(super) now: Duration,
}

/// A session that another one has replaced, whose packets may still come.
pub(super) struct Former {
    pub(super) session: Session,
    pub(super) since: Duration,
}

impl fmt::Debug for Tunnel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tunnel")
            .field("settings", &self.settings)
            .field("peer", &self.peer)
            .finish_non_exhaustive()
    }
}

impl Tunnel {
    /// Returns a tunnel that has not begun; [`Tunnel::tick`] begins it.
    ///
    /// - `psks`: one or more versions of one key, ascending; handshakes are begun with the last
    /// - `draw`: the operating system's randomness
    ///
    /// # Errors
    /// The error of `draw`.
    ///
    /// # Panics
    /// If there is no key: a bug of the caller.
    pub(crate) fn new(settings: Settings, psks: Vec<Psk>, mut draw: Draw) -> Result<Self, String> {
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
            passed_over: None,
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

    /// Returns the log of past events.
    #[must_use]
    pub(crate) fn log(&self) -> &Log {
        &self.log
    }

    /// Returns the current standing of the tunnel.
    #[must_use]
    pub(crate) fn standing(&self, now: Duration) -> Standing {
        let session = self.current.as_ref().map(|session| SessionStanding {
            key: session.key.clone(),
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

    /// Returns the time for the tunnel: it never goes back.
    pub(super) fn advance(&mut self, now: Duration) -> Duration {
        self.now = self.now.max(now);
        self.now
    }

    pub(super) fn event(&mut self, event: Event, actions: &mut Vec<Action>) {
        self.log.note(self.now, &event);
        actions.push(Action::Event(event));
    }

    pub(super) fn failed(&mut self, what: String, actions: &mut Vec<Action>) {
        self.event(Event::Failed { what }, actions);
    }

    /// Indexes that no association of this end has.
    pub(super) fn draw_series(&mut self) -> Result<Series, String> {
        let association = Association {
            spi: 0x100,
            suite: self.settings.suite,
            extended: true,
            backend: self.settings.backend,
        };
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

    pub(super) fn sessions(&self) -> impl Iterator<Item = &Session> {
        let former = self.former.iter().map(|former| &former.session);
        self.current.iter().chain(former).chain(self.pending.iter().map(|pending| &pending.session))
    }

    /// Makes a session and installs what opens packets.
    pub(super) fn make(
        &mut self,
        agreed: &Agreed,
        terms: Terms,
        actions: &mut Vec<Action>,
    ) -> Option<Session> {
        let Settings { suite, backend, lifetime, .. } = self.settings;
        match Session::make(agreed, terms, &Sealing { suite, backend, lifetime }) {
            Ok((session, inbounds)) => {
                actions.extend(
                    inbounds.into_iter().map(|inbound| Action::InstallInbound(Box::new(inbound))),
                );
                Some(session)
            }
            Err(what) => {
                self.failed(what, actions);
                None
            }
        }
    }

    /// Records an authentic message on the current session, from `from`.
    pub(super) fn heard_from(&mut self, from: SocketAddr, actions: &mut Vec<Action>) {
        self.moved_to(from, actions);
        if std::mem::take(&mut self.gone) {
            self.event(Event::PeerBack, actions);
        }
    }

    /// Records that the other end is at `from` now.
    pub(super) fn moved_to(&mut self, from: SocketAddr, actions: &mut Vec<Action>) {
        let before = self.peer.replace(from);
        if let Some(before) = before.filter(|before| *before != from) {
            actions.push(Action::SetPeer(from));
            self.asking.iter_mut().for_each(|asking| asking.to = from);
            self.event(Event::PeerMoved { from: before, to: from }, actions);
        }
    }

    /// Uses `session` from now on.
    pub(super) fn establish(
        &mut self,
        mut session: Session,
        from: SocketAddr,
        actions: &mut Vec<Action>,
    ) {
        let now = self.now;
        if let Some(current) =
            self.current.as_ref().filter(|current| !takes_over(current, &session, now))
        {
            // who began it for a newer version of the key begins again
            self.rotated |= session.role == Role::Initiator && session.key != current.key;
            self.former.push(Former { session, since: now });
            return;
        }
        let outbounds = std::mem::take(&mut session.outbounds);
        actions.push(Action::InstallOutbound { outbounds, peer: from });
        let (peer_start, key) = (session.peer_start, session.key.clone());
        self.asking = None;
        self.unanswered = 0;
        if let Some((start, counter)) = self.passed_over.take() {
            self.seen.note(start, counter);
        }
        self.peer_start = Some(peer_start);
        let was_gone = std::mem::take(&mut self.gone);
        let (before, peer_before) = (self.current.replace(session), self.peer.replace(from));
        let event = match &before {
            Some(before) if before.peer_start != peer_start => {
                // it may have started with a newer version of the key
                self.rotated |= self.version_of_peer.take().is_some();
                Event::PeerRestarted { peer: from, key }
            }
            Some(_) if !was_gone => Event::Rekeyed { key },
            _ => Event::Up { peer: from, key },
        };
        self.event(event, actions);
        if let (Some(_), Some(moved)) = (&before, peer_before.filter(|before| *before != from)) {
            self.event(Event::PeerMoved { from: moved, to: from }, actions);
        }
        self.former.extend(before.map(|session| Former { session, since: now }));
        // sessions of an earlier start of the other end are gone with it
        let is_old = |session: &Session| session.peer_start != peer_start;
        self.former
            .iter()
            .filter(|one| is_old(&one.session))
            .for_each(|one| remove_inbounds(&one.session, actions));
        self.former.retain(|one| !is_old(&one.session));
        self.pending
            .iter()
            .filter(|one| is_old(&one.session))
            .for_each(|one| remove_inbounds(&one.session, actions));
        self.pending.retain(|one| !is_old(&one.session));
    }

    /// Forgets all keys.
    pub(super) fn drop_all(&mut self, actions: &mut Vec<Action>) {
        actions.push(Action::RemoveOutbound);
        let former = self.former.drain(..).map(|former| former.session);
        for session in self
            .current
            .take()
            .into_iter()
            .chain(former)
            .chain(self.pending.drain(..).map(|one| one.session))
        {
            remove_inbounds(&session, actions);
        }
        self.gone = false;
    }
}

/// Has the path forget what opens for `session`.
pub(super) fn remove_inbounds(session: &Session, actions: &mut Vec<Action>) {
    actions.extend(session.ours.spis().map(|spi| Action::RemoveInbound { spi }));
}

/// Returns the number of associations that a handshake makes for a direction: one, unless its keys
/// last only for a small amount.
fn series_count(association: &Association, lifetime: Option<Lifetime>) -> u16 {
    let block_bytes = association.suite.cipher().map_or(1, |cipher| cipher.block_bytes as u64);
    let blocks = lifetime
        .map_or(u64::MAX, |lifetime| lifetime.blocks)
        .min(Lifetime::longest(association).blocks);
    let bytes = blocks.saturating_mul(block_bytes).max(1);
    SERIES_BYTES.div_ceil(bytes).clamp(1, SERIES_MAX.into()) as u16
}

/// Returns whether `new` is used instead of `current`. Both ends must decide alike.
fn takes_over(current: &Session, new: &Session, now: Duration) -> bool {
    if current.peer_start != new.peer_start {
        return true;
    }
    if current.role == new.role {
        // of two sessions of one end, the later
        return new.counter > current.counter;
    }
    // of two begun at once, the session with the greater number
    now.saturating_sub(current.made) >= CROSSED || new.id > current.id
}
