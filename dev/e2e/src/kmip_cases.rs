//! Requirements that must be met with any real KMIP server: each case is one function, run against
//! each of them by `tests/kmip_*.rs`.
//!
//! Not here: how the servers start (`kmip_server`), and answers that no real server gives
//! (`tests/kmip_hostile.rs`).

use std::net::TcpStream;
use std::time::{Duration, Instant};

use sealstone_cipher::{Provider, cipher_row};
use sealstone_keys::kmip::KmipError;
use sealstone_keys::kmip::attribute::Attributes;
use sealstone_keys::kmip::enumeration::{
    CryptographicAlgorithm, ObjectType, RevocationReason, State, UsageMask,
};
use sealstone_keys::kmip::operation::{
    Activate, Create, Destroy, Get, GetAttributes, Locate, Query, Register, Rekey, Request, Revoke,
};
use sealstone_keys::{KeyError, KeyOrigin, KeyRef, KeySource, Keyring, KmipSource, subkey};

use crate::kmip_server::{Certificates, Kind, Proxy, Server, free_port, started};

/// A server of one kind, with certificates made for it.
pub struct Place {
    /// Kind of the server.
    pub kind: Kind,
    /// Its certificates.
    pub certificates: Certificates,
    /// The running server.
    pub server: Server,
}

impl Place {
    /// Starts a server of `kind`; `None`, with a SKIP for `test`, where it cannot be had.
    #[must_use]
    pub fn start(kind: Kind, test: &str) -> Option<Self> {
        let (certificates, server) = started(kind, test)?;
        Some(Self { kind, certificates, server })
    }

    pub(crate) fn url(&self, key: &str, more: &str) -> String {
        self.certificates.url(self.server.port, key, more)
    }

    pub(crate) fn keyring(&self) -> Keyring {
        Keyring::open(&self.url("", "")).expect("an address")
    }

    fn source(&self, key: &str) -> Result<KmipSource, KeyError> {
        KmipSource::open(&self.url(key, ""))
    }
}

fn key_attributes(
    name: &str,
    algorithm: Option<CryptographicAlgorithm>,
    length_bits: i32,
) -> Attributes {
    Attributes {
        names: vec![name.into()],
        algorithm,
        length_bits: algorithm.map(|_| length_bits),
        usage_mask: Some(UsageMask::KEK),
        ..Attributes::default()
    }
}

/// Text of `error` with the files' directory and the ports left out, which differ from run to run.
fn text_without_ports(error: &dyn std::fmt::Display, places: &[(u16, &str)]) -> String {
    let mut text = error.to_string();
    for (port, name) in places {
        text = text.replace(&format!("127.0.0.1:{port}"), name);
    }
    text
}

/// Asserts that an error is two lines: the fault, and the next step.
pub(crate) fn clear(error: &dyn std::fmt::Display, wanted: &str) {
    let text = error.to_string();
    assert_eq!(text.lines().count(), 2, "{text}");
    assert!(text.contains(wanted), "wanted {wanted:?} in:\n{text}");
}

/// Each operation, in each of `versions`.
///
/// # Panics
/// If an answer of the server is wrong.
pub fn operations(place: &Place, versions: &[&str]) {
    for version in versions {
        let keyring = Keyring::open(&place.url("", &format!("&version={version}"))).unwrap();
        let mut connection = keyring.client().connection(format!("try KMIP {version}"));
        let abilities = connection.call(&Query).unwrap();
        assert_eq!(connection.version().unwrap().to_string(), *version);
        assert!(abilities.operations.contains(&<Create as Request>::OPERATION), "{abilities:?}");

        // create, locate, attributes, get
        let name = format!("created-{version}");
        let attributes = key_attributes(&name, Some(CryptographicAlgorithm::AES), 256);
        let id = connection.call(&Create { attributes }).unwrap();
        let like = Attributes { names: vec![name.clone()], ..Attributes::default() };
        assert_eq!(connection.call(&Locate { like, items_max: 10 }).unwrap(), [id.as_str()]);
        let found = connection.call(&GetAttributes { id: id.clone() }).unwrap();
        assert_eq!(found.names, [name]);
        assert_eq!(found.object_type, Some(ObjectType::SYMMETRIC_KEY));
        assert_eq!(
            (found.algorithm, found.length_bits),
            (Some(CryptographicAlgorithm::AES), Some(256))
        );
        assert_eq!(
            (found.state, found.usage_mask),
            (Some(State::PRE_ACTIVE), Some(UsageMask::KEK))
        );
        assert_eq!(found.cipher().map(|cipher| cipher.name), Some("aes-256"));
        let material = connection.call(&Get { id: id.clone() }).unwrap();
        assert_eq!((material.bytes.len(), material.object_type), (32, ObjectType::SYMMETRIC_KEY));
        assert_ne!(material.bytes[..], [0; 32]);

        // register, as a key and as secret data
        let bytes: Vec<u8> = (1..=32).collect();
        let attributes =
            key_attributes(&format!("aria-{version}"), Some(CryptographicAlgorithm::ARIA), 256);
        let aria = connection.call(&Register { attributes, material: &bytes });
        match (place.kind, aria) {
            // it supports only the algorithms of KMIP 1.4, by number too
            (_, Ok(aria)) => {
                assert_eq!(
                    connection.call(&Get { id: aria.clone() }).unwrap().bytes[..],
                    bytes[..]
                );
                let found = connection.call(&GetAttributes { id: aria }).unwrap();
                assert_eq!(found.cipher().map(|cipher| cipher.name), Some("aria-256"));
            }
            (Kind::PyKmip, Err(error)) => clear(&error, "refused Register"),
            (Kind::Go, Err(error)) => panic!("{error}"),
        }
        let attributes = key_attributes(&format!("orders-lea-256-{version}"), None, 256);
        let secret = connection.call(&Register { attributes, material: &bytes }).unwrap();
        let material = connection.call(&Get { id: secret.clone() }).unwrap();
        assert_eq!(
            (&material.bytes[..], material.object_type),
            (&bytes[..], ObjectType::SECRET_DATA)
        );
        let found = connection.call(&GetAttributes { id: secret }).unwrap();
        assert_eq!(found.cipher().map(|cipher| cipher.name), Some("lea-256"));

        // its life
        connection.call(&Activate { id: id.clone() }).unwrap();
        let state = |connection: &mut sealstone_keys::kmip::client::Connection<'_>| {
            connection.call(&GetAttributes { id: id.clone() }).unwrap().state
        };
        assert_eq!(state(&mut connection), Some(State::ACTIVE));
        let refused = connection.call(&Destroy { id: id.clone() }).unwrap_err();
        clear(&refused, "refused Destroy");
        let reason = RevocationReason::CESSATION_OF_OPERATION;
        connection.call(&Revoke { id: id.clone(), reason, compromised_since: None }).unwrap();
        assert_eq!(state(&mut connection), Some(State::DEACTIVATED));
        connection.call(&Destroy { id: id.clone() }).unwrap();
        let gone = connection.call(&Get { id: id.clone() }).unwrap_err();
        clear(&gone, "refused Get");

        let rekeyed = abilities.operations.contains(&<Rekey as Request>::OPERATION);
        assert_eq!(rekeyed, place.kind == Kind::Go);
    }
}

/// Keys by name: make, rotate, list, import, export; and a source over them.
///
/// # Panics
/// If a requirement is not met.
pub fn names_and_versions(place: &Place) {
    let keyring = place.keyring();
    let first = keyring.create("orders", cipher_row("aes-256")).unwrap();
    assert_eq!((first.version, first.origin), (1, KeyOrigin::Server));
    clear(
        &keyring.create("orders", cipher_row("aes-128")).unwrap_err(),
        "already has a key named orders",
    );
    let source = place.source("orders").unwrap();
    let (key, secret) = source.current().unwrap();
    assert_eq!(key, KeyRef { id: first.id.clone(), version: 1 });
    assert_eq!(source.cipher().map(|cipher| cipher.name), Some("aes-256"));
    assert_eq!(
        source.describe(),
        format!("KMIP server 127.0.0.1:{}, key orders", place.server.port)
    );

    // derived, never the key itself
    let (_, material) = keyring.export("orders").unwrap();
    let mut want = [0; 32];
    subkey(Provider::own(), &material, "kmip kek", &[first.id.as_bytes()], &mut want).unwrap();
    assert_eq!(secret.as_bytes(), &want);
    assert!(!format!("{source:?} {first:?}").contains(&format!("{:?}", &want[..4])));

    // by its identifier it is the same key
    let (by_id, same) = place.source(&first.id).unwrap().current().unwrap();
    assert_eq!((by_id, same.as_bytes()), (key.clone(), secret.as_bytes()));

    let second = keyring.rotate("orders").unwrap();
    assert_eq!(second.version, 2);
    assert_eq!(
        second.origin,
        if place.kind == Kind::Go { KeyOrigin::Replaced } else { KeyOrigin::Server }
    );
    let third = keyring.rotate("orders").unwrap();
    assert_eq!(third.version, 3);
    let source = place.source("orders").unwrap();
    let (newest, other) = source.current().unwrap();
    assert_eq!(newest, KeyRef { id: third.id.clone(), version: 3 });
    assert_ne!(other.as_bytes(), secret.as_bytes());
    let versions: Vec<(String, u32)> =
        source.family().versions.iter().map(|one| (one.id.clone(), one.version)).collect();
    assert_eq!(versions, [(first.id.clone(), 1), (second.id, 2), (third.id, 3)]);
    // old data: by the identifier in its header, though the name may have moved on
    assert_eq!(source.get(&key).unwrap().as_bytes(), secret.as_bytes());

    // keys that still open data: all except keys taken out of use for good
    let all = source.all().unwrap();
    let usable = |state| matches!(state, Some(State::ACTIVE | State::DEACTIVATED));
    let wanted = source
        .family()
        .versions
        .iter()
        .filter(|one| usable(one.attributes.state))
        .map(|one| one.version);
    assert_eq!(
        all.iter().map(|(key, _)| key.version).collect::<Vec<_>>(),
        wanted.collect::<Vec<_>>()
    );
    assert_eq!(
        (all.last().unwrap().1.as_bytes(), source.name().unwrap()),
        (other.as_bytes(), "orders".to_owned())
    );

    // by an older version's identifier: the next version of its name, or a refusal where it was
    // replaced already
    match (place.kind, keyring.rotate(&first.id)) {
        (Kind::PyKmip, Ok(fourth)) => {
            assert_eq!((fourth.version, fourth.name.as_str()), (4, "orders/4"))
        }
        (Kind::Go, Err(error)) => clear(&error, "refused Re-key: Illegal Operation"),
        (_, other) => panic!("{other:?}"),
    }

    // a cipher without a code in KMIP
    clear(&keyring.create("invoices", cipher_row("lea-256")).unwrap_err(), "the name must say it");
    let lea = keyring.create("invoices-lea-256", cipher_row("lea-256")).unwrap();
    assert_eq!(lea.origin, KeyOrigin::Drawn);
    assert_eq!(
        place.source("invoices-lea-256").unwrap().cipher().map(|cipher| cipher.name),
        Some("lea-256")
    );
    let next = keyring.rotate("invoices-lea-256").unwrap();
    assert_eq!((next.name.as_str(), next.origin), ("invoices-lea-256/2", KeyOrigin::Drawn));
    let source = place.source("invoices-lea-256").unwrap();
    assert_eq!(
        (source.current().unwrap().0.version, source.cipher().map(|cipher| cipher.name)),
        (2, Some("lea-256"))
    );

    // each algorithm that KMIP has a code for, and back; keys that the server cannot draw are drawn
    // here
    for cipher in ["aes-128", "aria-256", "aria-128", "seed-128", "3des", "blowfish"] {
        let made = keyring.create(&format!("for-{cipher}"), cipher_row(cipher)).unwrap();
        let unknown_there = place.kind == Kind::PyKmip
            && (cipher.starts_with("aria") || cipher.starts_with("seed"));
        assert_eq!(
            made.origin,
            if unknown_there { KeyOrigin::Drawn } else { KeyOrigin::Server },
            "{cipher}"
        );
        assert_eq!(
            place.source(&made.name).unwrap().cipher().map(|cipher| cipher.name),
            Some(cipher)
        );
    }

    // imported and exported
    let bytes = [7; 24];
    keyring.import("old", cipher_row("aes-192"), &bytes).unwrap();
    let (attributes, exported) = keyring.export("old").unwrap();
    assert_eq!((exported[..].to_vec(), attributes.state), (bytes.to_vec(), Some(State::ACTIVE)));
    clear(&keyring.import("short", cipher_row("aes-256"), &bytes).unwrap_err(), "192 bits");

    let listed: Vec<&str> = keyring
        .list()
        .unwrap()
        .iter()
        .filter_map(Attributes::cipher)
        .map(|cipher| cipher.name)
        .collect();
    for cipher in ["aes-256", "lea-256", "aes-192"] {
        assert!(listed.contains(&cipher), "{cipher} in {listed:?}");
    }

    let check = Keyring::open(&place.url("orders", "")).unwrap().check();
    assert!(check.passed(), "{check:?}");
    let found = check.servers[0].outcome.as_ref().unwrap();
    let key = found.key.as_ref().unwrap().as_ref().unwrap();
    let versions = if place.kind == Kind::PyKmip { 4 } else { 3 };
    assert_eq!(
        (key.versions, key.material_bits, key.cipher),
        (versions, 256, Some(cipher_row("aes-256")))
    );
    assert_eq!(key.current.attributes.usage_mask, Some(UsageMask::KEK));
    assert!(found.answer_ms > 0.0 && key.get_ms > 0.0);
    assert_eq!(found.can_rekey, place.kind == Kind::Go);
}

/// Checks what a key in each state may be used for.
///
/// # Panics
/// If a requirement is not met.
pub fn states(place: &Place) {
    let keyring = place.keyring();
    let missing = place.source("nobody").unwrap_err();
    clear(&missing, "no key nobody on 127.0.0.1");
    let check = Keyring::open(&place.url("nobody", "")).unwrap().check();
    assert!(!check.passed());

    let made = keyring.create("billing", cipher_row("aes-256")).unwrap();
    let before = place.source("billing").unwrap();
    let (key, secret) = before.current().unwrap();
    // deactivated: old data, and no new
    keyring.revoke("billing", RevocationReason::SUPERSEDED).unwrap();
    let source = place.source("billing").unwrap();
    clear(&source.current().unwrap_err(), "is Deactivated and cannot protect new data");
    assert_eq!(source.get(&key).unwrap().as_bytes(), secret.as_bytes());
    assert_eq!(source.cipher(), None);
    // compromised: neither; sources opened before still have the key in memory
    keyring.revoke(&made.id, RevocationReason::KEY_COMPROMISE).unwrap();
    let source = place.source("billing").unwrap();
    clear(&source.current().unwrap_err(), "is Compromised and cannot protect new data");
    clear(&source.get(&key).unwrap_err(), "is Compromised and cannot open old data");
    assert_eq!(before.get(&key).unwrap().as_bytes(), secret.as_bytes());
    // destroyed: gone, or present without material
    keyring.destroy("billing").unwrap();
    match (place.kind, place.source("billing")) {
        (Kind::PyKmip, Err(error)) => clear(&error, "no key billing on"),
        (Kind::Go, Ok(source)) => {
            clear(
                &source.current().unwrap_err(),
                "is Destroyed Compromised and cannot protect new data",
            );
            clear(&source.get(&key).unwrap_err(), "cannot open old data");
        }
        (_, other) => panic!("{other:?}"),
    }

    // pre-active, and too short
    let mut connection = keyring.client().connection("make odd keys");
    let attributes = key_attributes("idle", Some(CryptographicAlgorithm::AES), 256);
    let idle = connection.call(&Create { attributes }).unwrap();
    let source = place.source("idle").unwrap();
    clear(&source.current().unwrap_err(), "is Pre-Active and cannot protect new data");
    clear(
        &source.get(&KeyRef { id: idle.clone(), version: 1 }).unwrap_err(),
        "is Pre-Active and cannot open old data",
    );
    keyring.activate("idle").unwrap();
    assert_eq!(place.source("idle").unwrap().current().unwrap().0.id, idle);
    let attributes = key_attributes("short", None, 0);
    let short = connection.call(&Register { attributes, material: &[9; 13] }).unwrap();
    connection.call(&Activate { id: short }).unwrap();
    clear(&place.source("short").unwrap_err(), "it has 104 bits, and at least 112 are needed");

    // two keys of the same name: the Active one; if both are Active, neither
    for _ in 0..2 {
        let attributes = key_attributes("twin", Some(CryptographicAlgorithm::AES), 128);
        connection.call(&Create { attributes }).unwrap();
    }
    clear(&place.source("twin").unwrap_err(), "is not one key");
}

/// A certificate unknown to the server, an unknown server, and unsuitable files.
///
/// # Panics
/// If a requirement is not met.
pub fn certificates(place: &Place) {
    let port = place.server.port;
    let open = |client: &str, ca: &str| {
        let query = place.certificates.query(client, ca);
        KmipSource::open(&format!("kmip://127.0.0.1:{port}/orders?{query}&retries=5")).unwrap_err()
    };
    let start = Instant::now();
    let unknown_server = open("client", "other-ca");
    clear(&unknown_server, "its certificate is not accepted");
    assert!(start.elapsed() < Duration::from_secs(2), "a wrong certificate is not tried again");
    let unknown_client = open("other-client", "ca");
    let text = unknown_client.to_string();
    assert_eq!(text.lines().count(), 2, "{text}");
    assert!(
        ["TLS alert", "closed the connection", "reset the connection"]
            .iter()
            .any(|one| text.contains(one)),
        "{text}"
    );

    let named = format!("{}&name=kms.example", place.url("orders", ""));
    clear(&KmipSource::open(&named).unwrap_err(), "its certificate is not accepted");
    let url = |cert: &str, key: &str| {
        let path = |name: &str| place.certificates.path(name).display().to_string();
        format!(
            "kmip://127.0.0.1:{port}/k?cert={}&key={}&ca={}",
            path(cert),
            path(key),
            path("ca.pem")
        )
    };
    clear(
        &KmipSource::open(&url("server-key.pem", "client-key.pem")).unwrap_err(),
        "it holds no certificate in PEM",
    );
    clear(
        &KmipSource::open(&url("client.pem", "client.pem")).unwrap_err(),
        "it holds no private key in PEM",
    );
    clear(
        &KmipSource::open(&url("client.pem", "other-client-key.pem")).unwrap_err(),
        "it does not fit the certificate",
    );
    let none = KmipSource::open(&url("client.pem", "none.pem")).unwrap_err().to_string();
    assert!(none.starts_with("cannot read private key of the client certificate"), "{none}");
}

/// A server that is down, dies, is slow, or has a second one.
///
/// # Panics
/// If a requirement is not met.
pub fn faults(mut place: Place) {
    let made = place.keyring().create("orders", cipher_row("aes-256")).unwrap();
    let port = place.server.port;
    let down = free_port();

    // down at the start: retried as often as requested, then one error
    let start = Instant::now();
    let error =
        KmipSource::open(&place.certificates.url(down, "orders", "&retries=2")).unwrap_err();
    assert!(start.elapsed() >= Duration::from_millis(300), "100 ms and 200 ms between three tries");
    assert_eq!(
        text_without_ports(&error, &[(down, "HERE")]),
        "cannot get key orders: no key server answered (HERE, 3 times: connection refused)\n\
         nothing was opened and nothing was written; fix the first server's problem, or name \
         another with server="
    );

    // two of them down: each is named
    let other = free_port();
    let url =
        place.certificates.url(down, "orders", &format!("&server=localhost:{other}&retries=0"));
    let error = KmipSource::open(&url).unwrap_err().to_string();
    let want =
        format!("(127.0.0.1:{down}: connection refused; localhost:{other}: connection refused)");
    assert!(error.contains(&want), "wanted {want} in:\n{error}");

    // the first is down, the second answers
    let both = format!("&server=127.0.0.1:{port}");
    let source = KmipSource::open(&place.certificates.url(down, "orders", &both)).unwrap();
    assert_eq!(source.current().unwrap().0.id, made.id);
    let check = Keyring::open(&place.certificates.url(down, "orders", &both)).unwrap().check();
    assert!(
        !check.passed() && check.servers[0].outcome.is_err() && check.servers[1].outcome.is_ok()
    );

    // slow, but in time; then too slow: once each try, and the time is named
    let proxy = Proxy::start(port);
    proxy.delay(Duration::from_millis(20));
    KmipSource::open(&place.certificates.url(proxy.port, "orders", "")).unwrap();
    proxy.delay(Duration::from_millis(600));
    let start = Instant::now();
    let error = KmipSource::open(&place.certificates.url(
        proxy.port,
        "orders",
        "&timeout_ms=200&retries=1",
    ))
    .unwrap_err();
    clear(&error, "2 times: no answer within 200 ms");
    assert!(start.elapsed() < Duration::from_secs(2), "{:?}", start.elapsed());
    // a slow first server gives way to the second
    let source = KmipSource::open(&place.certificates.url(
        proxy.port,
        "orders",
        &format!("&timeout_ms=300{both}"),
    ))
    .unwrap();
    assert_eq!(source.current().unwrap().0.id, made.id);
    proxy.delay(Duration::ZERO);

    never_twice(&place, &proxy);

    // dying midway: an opened source keeps its key, any other has one clear error
    let other = place.keyring().create("other", cipher_row("aes-256")).unwrap();
    let source = KmipSource::open(&place.url("orders", "&retries=0&timeout_ms=1000")).unwrap();
    place.server.kill();
    assert!(TcpStream::connect(("127.0.0.1", port)).is_err());
    assert_eq!(source.current().unwrap().0.id, made.id);
    let error = source.get(&KeyRef { id: other.id, version: 1 }).unwrap_err();
    clear(&error, "no key server answered");
    clear(&place.source("orders").unwrap_err(), "connection refused");
}

/// A request that changes something is never sent twice: the connection is cut once, after any
/// number of bytes of the answers, and works again at once. A repeated request makes no second key;
/// any other ends in an error that the server may have carried it out.
fn never_twice(place: &Place, proxy: &Proxy) {
    let keyring =
        Keyring::open(&place.certificates.url(proxy.port, "", "&retries=3&timeout_ms=5000"))
            .unwrap();
    let plain = place.keyring();
    let mut counting = plain.client().connection("count the keys");
    let (mut uncertain, mut made, mut again) = (0, 0, 0);
    for allowed in (100..3600).step_by(70) {
        let name = format!("cut-{allowed}");
        let before = proxy.connections();
        proxy.cut_after(allowed);
        let cut = keyring.create(&name, cipher_row("aes-256"));
        again += u32::from(proxy.connections() > before + 1);
        let like = Attributes { names: vec![name.clone()], ..Attributes::default() };
        let all = counting.call(&Locate { like, items_max: 10 }).unwrap();
        match cut {
            Ok(new) => {
                made += 1;
                assert_eq!(all, [new.id.as_str()], "{name}");
                assert_eq!(
                    counting.call(&GetAttributes { id: new.id }).unwrap().state,
                    Some(State::ACTIVE)
                );
            }
            Err(error @ KmipError::Uncertain { .. }) => {
                uncertain += 1;
                clear(&error, "cannot tell whether 127.0.0.1");
                assert!(all.len() <= 1, "{name} was made {} times", all.len());
            }
            Err(error) => panic!("cut after {allowed} bytes: {error}"),
        }
    }
    assert!(
        uncertain > 0 && made > 0 && again > 0,
        "{uncertain} uncertain, {made} made, {again} connected again"
    );
}
