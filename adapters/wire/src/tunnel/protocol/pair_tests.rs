//! Exchanges of two tunnels on a network that loses nothing: each refusal, each event.

use sealstone_cipher::Backend;
use sealstone_keys::{KeyRef, Secret};
use sealstone_seal::esp::suite;

use super::*;
use crate::tunnel::handshake::Reason;

const SECOND: Duration = Duration::from_secs(1);

fn psk(id: &str, version: u32, secret: u8) -> Psk {
    Psk::new(KeyRef { id: id.into(), version }, &Secret::from_bytes(&[secret; 32]))
}

fn address(at: usize) -> SocketAddr {
    format!("10.0.0.{}:4500", at + 1).parse().unwrap()
}

fn tunnel(at: usize, waits: bool, suite_name: &str, psks: Vec<Psk>) -> Tunnel {
    let peer = (!waits).then(|| address(1 - at));
    let suite = suite(suite_name).unwrap();
    let settings = Settings {
        suite,
        backend: Backend::auto(),
        peer,
        rekey_after: 3600 * SECOND,
        lifetime: None,
    };
    let draw = |buffer: &mut [u8]| getrandom::fill(buffer).map_err(|error| error.to_string());
    Tunnel::new(settings, psks, Box::new(draw)).unwrap()
}

/// Two ends; the second one waits for the first.
struct Pair {
    ends: [Tunnel; 2],
    addresses: [SocketAddr; 2],
    now: Duration,
    /// All messages so far, with the end that sent them.
    sent: Vec<(usize, Vec<u8>)>,
    opens: [usize; 2],
    seals: [bool; 2],
}

impl Pair {
    fn new(one: Tunnel, two: Tunnel) -> Self {
        let addresses = [address(0), address(1)];
        Self {
            ends: [one, two],
            addresses,
            now: SECOND,
            sent: Vec::new(),
            opens: [0; 2],
            seals: [false; 2],
        }
    }

    fn alike(suite: &str) -> Self {
        Self::new(
            tunnel(0, false, suite, vec![psk("wire", 1, 7)]),
            tunnel(1, true, suite, vec![psk("wire", 1, 7)]),
        )
    }

    /// Runs the actions of end `at`, and their consequences.
    fn act(&mut self, at: usize, actions: Vec<Action>) {
        for action in actions {
            match action {
                Action::Send { to, message } => {
                    self.sent.push((at, message.clone()));
                    if let Some(other) = self.addresses.iter().position(|address| *address == to) {
                        let more = self.ends[other].handle(self.now, self.addresses[at], &message);
                        self.act(other, more);
                    }
                }
                Action::InstallInbound(_) => self.opens[at] += 1,
                Action::RemoveInbound { .. } => self.opens[at] -= 1,
                Action::InstallOutbound { .. } => self.seals[at] = true,
                Action::RemoveOutbound => self.seals[at] = false,
                Action::SetPeer(_) | Action::Event(_) => {}
            }
        }
    }

    fn pass(&mut self, time: Duration) {
        let until = self.now + time;
        while self.now < until {
            self.now += Duration::from_millis(50);
            for at in [0, 1] {
                let actions = self.ends[at].tick(self.now, &Observed::default());
                self.act(at, actions);
            }
        }
    }

    fn told(&self, at: usize) -> String {
        self.ends[at].log().entries().map(|entry| format!("{}\n", entry.event)).collect()
    }
}

#[test]
fn a_handshake_makes_as_many_associations_as_the_suite_needs() {
    for (suite, each) in [("aes-256-gcm", 1), ("blowfish-sha1", 1), ("3des-md5", 64), ("null", 1)] {
        let mut pair = Pair::alike(suite);
        pair.pass(SECOND);
        assert_eq!((pair.opens, pair.seals), ([each; 2], [true; 2]), "{suite}");
        assert_eq!(pair.ends.each_ref().map(|end| end.standing(pair.now).state), [State::Up; 2]);
        // the first message is answered with a retry, since it could not name the start of the
        // other end
        assert_eq!(pair.sent.len(), 5, "{suite}");
        assert_eq!(pair.told(0), "up: handshake with 10.0.0.2:4500 under key wire version 1\n");
        assert_eq!(pair.told(1), "up: handshake with 10.0.0.1:4500 under key wire version 1\n");
    }
}

#[test]
fn what_does_not_match_is_refused_and_said_at_both_ends() {
    let cases = [
        (
            vec![psk("wire", 1, 8)],
            "aes-256-gcm",
            Reason::WrongKey,
            "it has another key of the name wire version 1",
        ),
        (
            vec![psk("other", 1, 7)],
            "aes-256-gcm",
            Reason::OtherKey,
            "it has key other version 1, this end key wire",
        ),
        (
            vec![psk("wire", 2, 7)],
            "aes-256-gcm",
            Reason::UnknownVersion,
            "it has key wire version 2 as its newest",
        ),
        (
            vec![psk("wire", 1, 7)],
            "aria-256-gcm",
            Reason::OtherSuite,
            "it has suite aria-256-gcm, this end aes-256-gcm",
        ),
    ];
    for (psks, suite, reason, want) in cases {
        let mut pair = Pair::new(
            tunnel(0, false, "aes-256-gcm", vec![psk("wire", 1, 7)]),
            tunnel(1, true, suite, psks),
        );
        pair.pass(SECOND);
        assert_eq!((pair.opens, pair.seals), ([0; 2], [false; 2]), "{want}");
        assert!(pair.ends[1].log().refused(reason) > 0, "{}", pair.told(1));
        assert!(
            pair.told(0).contains(&format!("refused by 10.0.0.2:4500: {want}")),
            "{}",
            pair.told(0)
        );
    }
}

#[test]
fn an_older_version_that_both_have_is_used() {
    let both = vec![psk("wire", 1, 7), psk("wire", 2, 8)];
    let mut pair = Pair::new(
        tunnel(0, false, "aes-256-gcm", both),
        tunnel(1, true, "aes-256-gcm", vec![psk("wire", 1, 7)]),
    );
    pair.pass(SECOND);
    assert!(pair.told(1).contains("under key wire version 1"), "{}", pair.told(1));
    // the other end gets the newer one
    let actions = pair.ends[1].set_keys(vec![psk("wire", 1, 7), psk("wire", 2, 8)]);
    pair.act(1, actions);
    pair.pass(SECOND);
    assert!(pair.told(0).contains("fresh keys, under key wire version 2"), "{}", pair.told(0));
}

#[test]
fn ends_that_start_again_one_after_the_other_go_on_under_a_rotated_key_of_a_server() {
    // each version has an id of its own
    let (old, new) = (|| psk("5f3c", 1, 7), || psk("9a01", 2, 8));
    for at in [0, 1] {
        let mut pair = Pair::new(
            tunnel(0, false, "aes-256-gcm", vec![old()]),
            tunnel(1, true, "aes-256-gcm", vec![old()]),
        );
        pair.pass(SECOND);
        for restarted in [at, 1 - at] {
            pair.ends[restarted] =
                tunnel(restarted, restarted == 1, "aes-256-gcm", vec![old(), new()]);
            (pair.opens[restarted], pair.seals[restarted]) = (0, false);
            pair.pass(10 * SECOND);
            let states = pair.ends.each_ref().map(|end| end.standing(pair.now).state);
            assert_eq!(states, [State::Up; 2], "{restarted} of {at}: {}", pair.told(0));
        }
        let told = pair.told(0) + &pair.told(1);
        assert!(told.contains("under key 9a01 version 2"), "{told}");
    }
}

#[test]
fn what_was_recorded_changes_nothing() {
    let mut pair = Pair::alike("aes-256-gcm");
    pair.pass(4 * SECOND);
    let before = pair.ends.each_ref().map(|end| end.current.as_ref().unwrap().id);
    for (sender, message) in pair.sent.clone() {
        for at in [0, 1] {
            let from = "192.0.2.66:666".parse().unwrap();
            let actions = pair.ends[at].handle(pair.now, from, &message);
            let installs =
                |action: &Action| !matches!(action, Action::Send { .. } | Action::Event(_));
            assert!(!actions.iter().any(installs), "a message of {sender} at {at}: {actions:?}");
        }
    }
    assert_eq!(pair.ends.each_ref().map(|end| end.current.as_ref().unwrap().id), before);
    assert_eq!(pair.ends[0].standing(pair.now).peer, Some(address(1)));
    // after a restart, too: messages to the previous start are old
    let first = pair.sent[0].1.clone();
    pair.ends[1] = tunnel(1, true, "aes-256-gcm", vec![psk("wire", 1, 7)]);
    let actions = pair.ends[1].handle(pair.now, "192.0.2.66:666".parse().unwrap(), &first);
    assert!(
        matches!(&actions[..], [Action::Send { message, .. }] if message.len() < first.len()),
        "{actions:?}"
    );
}

#[test]
fn an_end_that_moves_restarts_or_ends_is_noticed() {
    let mut pair = Pair::alike("aes-256-gcm");
    pair.pass(SECOND);
    pair.addresses[0] = "10.0.0.9:1234".parse().unwrap();
    pair.pass(3 * SECOND);
    assert!(pair.told(1).contains("moved from 10.0.0.1:4500 to 10.0.0.9:1234"), "{}", pair.told(1));
    assert_eq!(pair.ends[1].standing(pair.now).peer, Some(pair.addresses[0]));
    pair.ends[1] = tunnel(1, true, "aes-256-gcm", vec![psk("wire", 1, 7)]);
    (pair.opens[1], pair.seals[1]) = (0, false);
    pair.pass(5 * SECOND);
    assert!(pair.told(0).contains("the other end started again"), "{}", pair.told(0));
    assert_eq!((pair.opens, pair.seals), ([1; 2], [true; 2]), "what the start before had is gone");
    let actions = pair.ends[1].end(pair.now);
    pair.act(1, actions);
    assert!(pair.told(0).contains("the other end was taken down"), "{}", pair.told(0));
    assert_eq!((pair.opens, pair.seals), ([0; 2], [false; 2]));
}

#[test]
fn keys_are_renewed_in_time_and_not_used_for_ever() {
    let mut pair = Pair::alike("aes-256-gcm");
    pair.pass(SECOND);
    pair.now += 3600 * SECOND;
    pair.pass(SECOND);
    assert_eq!(pair.ends[0].log().handshakes(), 2, "{}", pair.told(0));
    // the other end is out of reach, and keeps the keys for a while
    pair.addresses[0] = "10.0.0.9:1234".parse().unwrap();
    pair.addresses[1] = "10.0.0.8:1234".parse().unwrap();
    pair.pass(12 * SECOND);
    assert_eq!(pair.ends[0].standing(pair.now).state, State::Gone);
    assert!(
        pair.told(0).contains("the other end is gone")
            && pair.told(0).contains("no answer from 10.0.0.2:4500")
    );
    pair.now += 7300 * SECOND;
    pair.pass(SECOND);
    assert!(pair.told(0).contains("the keys are too old"), "{}", pair.told(0));
    assert_eq!((pair.opens, pair.seals), ([0; 2], [false; 2]));
}
