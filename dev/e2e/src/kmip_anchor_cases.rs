//! Requirements that an anchor must meet on any real KMIP server: each case is one function, run
//! against each of them by `tests/kmip_*.rs`.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use sealstone_cipher::{Backend, cipher, cipher_row};
use sealstone_keys::kmip::KmipError;
use sealstone_keys::kmip::attribute::{Attributes, Information};
use sealstone_keys::kmip::enumeration::{ObjectType, State, UsageMask};
use sealstone_keys::kmip::operation::{Destroy, GetAttributes, Locate, ModifyAttribute, Register};
use sealstone_keys::{EphemeralKey, Keyring, Note};
use sealstone_rocksdb::{Anchor, AnchorMark, Db, DbOptions, Error, KmipAnchor, SealedEnv, Sealing};

use crate::kmip_cases::{Place, clear};
use crate::kmip_server::{Kind, Proxy, free_port};

/// Builds the mark of how new the store `store` is.
fn mark(store: u8, generation: u64, changes: u64) -> AnchorMark {
    AnchorMark { store: [store; 16], generation, changes }
}

fn anchor(place: &Place, name: &str, more: &str) -> KmipAnchor {
    KmipAnchor::open(&place.url(name, more)).expect("an address")
}

fn information(namespace: &str, data: &str, index: Option<i32>) -> Information {
    Information { namespace: namespace.into(), data: data.into(), index }
}

/// Secret data named `name` that keep `information`.
fn registration(name: &str, information: Vec<Information>) -> Register<'static> {
    let attributes = Attributes {
        names: vec![name.into()],
        usage_mask: Some(UsageMask::VERIFY),
        information,
        ..Attributes::default()
    };
    Register { attributes, material: &[7; 32] }
}

/// Marks come and go, in each of `versions`.
///
/// # Panics
/// If an answer of the server is wrong.
pub fn marks(place: &Place, versions: &[&str]) {
    let keyring = place.keyring();
    let mut connection = keyring.client().connection("look at the anchor");
    for version in versions {
        let name = format!("anchor-{version}");
        let ours = anchor(place, &name, &format!("&version={version}"));
        assert_eq!(ours.read(), Ok(None), "no object yet");
        ours.write(&mark(1, 1, 0)).unwrap();
        assert_eq!(ours.read(), Ok(Some(mark(1, 1, 0))));
        ours.write(&mark(1, 1, 7)).unwrap();
        ours.write(&mark(1, 2, 0)).unwrap();
        ours.write(&mark(1, 2, 0)).unwrap();
        let others = anchor(place, &name, &format!("&version={version}"));
        assert_eq!(others.read(), Ok(Some(mark(1, 2, 0))));
        assert_eq!(ours.describe(), format!("{name} on 127.0.0.1:{}", place.server.port));

        // its form: one object, no key, never Active
        let like = Attributes { names: vec![name.clone()], ..Attributes::default() };
        let ids = connection.call(&Locate { like, items_max: 10 }).unwrap();
        assert_eq!(ids.len(), 1);
        let found = connection.call(&GetAttributes { id: ids[0].clone() }).unwrap();
        assert_eq!(
            (found.object_type, found.state),
            (Some(ObjectType::SECRET_DATA), Some(State::PRE_ACTIVE))
        );
        assert_eq!((found.usage_mask, found.cipher()), (Some(UsageMask::VERIFY), None));
        assert_eq!(found.information[0].data, mark(1, 2, 0).to_string());
        let by_id = anchor(place, &ids[0], "");
        assert_eq!(by_id.read(), Ok(Some(mark(1, 2, 0))));

        // an older mark, and another store: each is refused, and nothing is changed
        let older = ours.write(&mark(1, 1, 9)).unwrap_err();
        clear(&older, "it remembers 2.0 by now, newer than 1.9");
        clear(&ours.write(&mark(2, 9, 0)).unwrap_err(), "it remembers another store");
        assert_eq!(ours.read(), Ok(Some(mark(1, 2, 0))));

        // removed while it is open: no second one is made; a new reader starts over
        connection.call(&Destroy { id: ids[0].clone() }).unwrap();
        let gone = ours.write(&mark(1, 3, 0)).unwrap_err().to_string();
        assert!(gone.contains("is gone") || gone.contains("it was destroyed"), "{gone}");
        assert_eq!(ours.read(), Ok(None));
        ours.write(&mark(1, 1, 0)).unwrap();
        assert_eq!(others.read(), Ok(Some(mark(1, 1, 0))));
    }
}

/// Objects that keep no mark, or more than one, and two objects of one name.
///
/// # Panics
/// If a requirement is not met.
pub fn other_objects(place: &Place) {
    // PyKMIP takes several texts at registration only with their indices, which KMIP 2.x does not
    // have
    let keyring = Keyring::open(&place.url("", "&version=1.4")).unwrap();
    let mut connection = keyring.client().connection("make odd objects");
    let refused = |name: &str, wanted: &str| {
        let anchor = anchor(place, name, "");
        clear(&anchor.read().unwrap_err(), wanted);
        clear(&anchor.write(&mark(1, 1, 0)).unwrap_err(), wanted);
    };
    let mark_text = mark(1, 1, 0).to_string();
    let ours = |text: &str, index| information("sealstone", text, index);

    keyring.create("a-key", cipher_row("aes-256")).unwrap();
    refused("a-key", "keeps no text for sealstone");
    connection.call(&registration("rubbish", vec![ours("two\nlines", None)])).unwrap();
    refused("rubbish", "is not an anchor of a store: it reads \"two\\nlines\"");
    connection
        .call(&registration("foreign", vec![information("another", &mark_text, None)]))
        .unwrap();
    refused("foreign", "keeps no text for sealstone");
    let two = vec![ours(&mark_text, Some(0)), ours("x", Some(1))];
    connection.call(&registration("two-texts", two)).unwrap();
    refused("two-texts", "keeps 2 texts for sealstone, and there should be one");
    for _ in 0..2 {
        connection.call(&registration("twin", vec![ours(&mark_text, None)])).unwrap();
    }
    refused("twin", "is not one key");
    let error = Note::open(&place.url("twin", ""), "anchor").unwrap().read().unwrap_err();
    assert!(matches!(&error, KmipError::Ambiguous { ids, .. } if ids.len() == 2), "{error}");
    clear(
        &anchor(place, "two words", "").write(&mark(1, 1, 0)).unwrap_err(),
        "cannot make anchor two words",
    );

    // in addition to the text of another application, which is unchanged
    let both = vec![information("another", "its text", Some(0)), ours(&mark_text, Some(1))];
    let id = connection.call(&registration("beside", both)).unwrap();
    for (changes, more) in [(1, ""), (2, "&version=1.4"), (3, "&version=1.2")] {
        let beside = anchor(place, "beside", more);
        assert_eq!(beside.read(), Ok(Some(mark(1, 1, changes - 1))));
        beside.write(&mark(1, 1, changes)).unwrap();
        assert_eq!(beside.read(), Ok(Some(mark(1, 1, changes))));
    }
    let found = connection.call(&GetAttributes { id }).unwrap();
    assert_eq!(
        found.information[0],
        information("another", "its text", found.information[0].index)
    );
}

/// Checks concurrent writers: no text is lost unnoticed, in each of `versions`, as far as the
/// version has the means.
///
/// # Panics
/// If a requirement is not met.
pub fn two_writers(place: &Place, versions: &[&str]) {
    for version in versions {
        let more = format!("&version={version}");
        let open = |name: &str| Note::open(&place.url(name, &more), "anchor").unwrap();
        let name = format!("shared-{version}");
        let (one, other) = (open(&name), open(&name));
        let set = |note: &Note, text: &str| note.update::<KmipError>(|_| Ok(Some(text.into())));
        set(&one, "first").unwrap();

        // the other one writes between reading and writing
        let between = one.update::<KmipError>(|text| {
            assert_eq!(text, Some("first"));
            set(&other, "second").unwrap();
            Ok(Some("third".into()))
        });
        match version.starts_with("2.") {
            true => {
                clear(&between.unwrap_err(), "it reads \"second\" by now, not \"first\"");
                assert_eq!(other.read().unwrap().as_deref(), Some("second"));
            }
            // by its index alone
            false => assert_eq!(other.read().unwrap().as_deref(), Some("third")),
        }

        // both make the object
        let made = open(&format!("{name}-new")).update::<KmipError>(|text| {
            assert_eq!(text, None);
            set(&open(&format!("{name}-new")), "second").unwrap();
            Ok(Some("third".into()))
        });
        assert!(matches!(made, Err(KmipError::Ambiguous { .. })), "{made:?}");
        assert_eq!(open(&format!("{name}-new")).read().unwrap().as_deref(), Some("second"));

        // the protocol itself: a text that no longer exists cannot be replaced
        let keyring = Keyring::open(&place.url("", &more)).unwrap();
        let mut connection = keyring.client().connection("replace a text");
        let like = Attributes { names: vec![name], ..Attributes::default() };
        let id = connection.call(&Locate { like, items_max: 10 }).unwrap().remove(0);
        let stale = ModifyAttribute {
            id,
            current: information("sealstone", "first", Some(0)),
            data: "fourth".into(),
        };
        let replaced = connection.call(&stale);
        match version.starts_with("2.") {
            true => clear(&replaced.unwrap_err(), "refused Modify Attribute"),
            false => replaced.unwrap(),
        }
    }
}

fn open_store(dir: &Path, anchor: KmipAnchor) -> Result<Db, Error> {
    let keys = Arc::new(EphemeralKey::new().expect("randomness"));
    let mut sealing = Sealing::new(keys, cipher("aes-256").expect("a cipher"), Backend::auto());
    sealing.anchor = Some(Arc::new(anchor));
    SealedEnv::with(sealing).open(dir, &DbOptions::default())
}

/// A server that is down, dies, or whose answers are lost.
///
/// # Panics
/// If a requirement is not met.
pub fn anchor_faults(mut place: Place) {
    lost_answers(&place);

    // down at the start: nothing is opened, and nothing is made
    let scratch = tempfile::tempdir().expect("a directory");
    let down =
        KmipAnchor::open(&place.certificates.url(free_port(), "orders", "&retries=0")).unwrap();
    clear(
        &down.read().unwrap_err(),
        "cannot read anchor orders: no key server answered (127.0.0.1:",
    );
    let dir = scratch.path().join("never");
    let error = open_store(&dir, down).unwrap_err();
    assert!(error.text.contains("cannot read anchor orders: no key server answered"), "{error}");
    let sealed = |dir: &Path| {
        let names = std::fs::read_dir(dir)
            .map(|all| all.map(|one| one.expect("a file").file_name()).collect::<Vec<_>>());
        names.unwrap_or_default().into_iter().filter(|name| name != "LOCK").collect::<Vec<_>>()
    };
    assert_eq!(sealed(&dir), Vec::<std::ffi::OsString>::new());

    // dying midway: changes of the store's files fail from then on
    let dir = scratch.path().join("db");
    let db = open_store(&dir, anchor(&place, "orders", "&retries=0&timeout_ms=1000")).unwrap();
    db.put(b"key", b"value", true).unwrap();
    db.flush().unwrap();
    let remembered = anchor(&place, "orders", "").read().unwrap();
    assert!(remembered.is_some_and(|mark| mark.changes > 0), "{remembered:?}");
    place.server.kill();
    db.put(b"other", b"value", true).unwrap();
    let error = db.flush().unwrap_err();
    assert!(error.text.contains("cannot write anchor orders: no key server answered"), "{error}");
}

/// The connection is cut once, after any number of bytes of the answers, and works again at once.
/// Whatever was lost, the server carried out the request: reading the current text decides, so each
/// mark is written once, and never an older mark.
fn lost_answers(place: &Place) {
    let proxy = Proxy::start(place.server.port);
    let mut again = 0;
    for allowed in (100..4600).step_by(150) {
        let name = format!("cut-{allowed}");
        let before = proxy.connections();
        let through =
            KmipAnchor::open(&place.certificates.url(proxy.port, &name, "&retries=3")).unwrap();
        let direct = anchor(place, &name, "");
        proxy.cut_after(allowed);
        for generation in 1..4 {
            let next = mark(1, generation, 0);
            through
                .write(&next)
                .unwrap_or_else(|error| panic!("cut after {allowed} bytes: {error}"));
            assert_eq!(direct.read(), Ok(Some(next)), "cut after {allowed} bytes");
        }
        again += u32::from(proxy.connections() > before + 1);
        proxy.cut_after(u64::MAX);
    }
    assert!(again > 20, "cut {again} times");
}

/// Measures the time of one write, in microseconds: over a connection that is kept, and over a new
/// one each time.
///
/// # Panics
/// If a write fails.
#[must_use]
pub fn write_us(place: &Place, version: &str, writes: u64) -> [f64; 2] {
    let more = format!("&version={version}");
    let name = format!("cost-{version}");
    let kept = anchor(place, &name, &more);
    kept.write(&mark(1, 1, 0)).unwrap();
    let timed = |from: u64, write: &dyn Fn(&AnchorMark)| {
        let mut each: Vec<Duration> = (1..=writes)
            .map(|n| {
                let start = std::time::Instant::now();
                write(&mark(1, from, n));
                start.elapsed()
            })
            .collect();
        each.sort_unstable();
        each[each.len() / 2].as_secs_f64() * 1e6
    };
    let over_one = timed(1, &|mark| kept.write(mark).unwrap());
    let over_new = timed(2, &|mark| anchor(place, &name, &more).write(mark).unwrap());
    [over_one, over_new]
}

/// Every kind of server, with the versions of KMIP that it speaks.
pub const SPOKEN: &[(Kind, &[&str])] =
    &[(Kind::PyKmip, &["1.2", "1.3", "1.4", "2.0"]), (Kind::Go, &["1.2", "1.3", "1.4"])];
