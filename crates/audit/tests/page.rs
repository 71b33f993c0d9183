//! The page in every language: with everything that an audit can find, and with nothing.

use sealstone_audit::facts::{
    Audit, Clear, Held, Key, Kind, Maker, NotVerified, Place, Protection, Search, Share, Unit,
    Verified, Version,
};
use sealstone_audit::leak::{self, Compression, Encoding, Hit};
use sealstone_audit::{Attention, Language, Open, Verdict, page, summary};

fn share(mode: &str, column: Option<&str>, maker: Maker, unit: Unit) -> Share {
    Share {
        cipher: "aria-256".into(),
        mode: mode.into(),
        key_id: column.map(|_| "orders".into()),
        key_version: 3,
        maker,
        count: 7,
        unit,
        bytes: column.is_none().then_some(4_000_000),
        column: column.map(str::to_owned),
        leaks: column.map(|_| "the length".into()),
        fips: false,
        kcmvp: mode == "gcm",
    }
}

fn clear(name: &str) -> Clear {
    let remark = Some("a <b>remark</b>".into());
    Clear { name: name.into(), bytes: Some(17), remark, values: None }
}

fn hit(what: &str, kind: leak::Kind, encoding: Encoding, within: Option<Compression>) -> Hit {
    Hit { what: what.into(), kind, encoding, within, first_offset: 40, count: 2 }
}

fn empty() -> Audit {
    let now = "2026-11-28T06:00:00Z".parse().unwrap();
    Audit::new(None, "sealstone 0.1.0".into(), "db1".into(), now)
}

/// Returns an audit with every kind of finding.
fn full() -> Audit {
    let mut audit = empty();
    let kinds = [Kind::Store, Kind::Server, Kind::Volume, Kind::Columns, Kind::Table];
    let checked = |is_whole, earlier: Option<&str>| Verified::Checked {
        at: "2026-11-27T06:00:00Z".into(),
        is_whole,
        findings: if is_whole { Vec::new() } else { vec!["page 3 <i>".into()] },
        count: if is_whole { 0 } else { 4711 },
        earlier: earlier.map(str::to_owned),
    };
    let verified = [
        checked(true, None),
        checked(false, Some("audit.json")),
        Verified::Not { why: NotVerified::NotAsked },
        Verified::Not { why: NotVerified::NoKey },
        Verified::Not { why: NotVerified::WhenRead },
        Verified::Not { why: NotVerified::InUse },
        Verified::Not { why: NotVerified::Failed("no such key".into()) },
    ];
    for (at, verified) in verified.into_iter().enumerate() {
        let mut place = Place::new(format!("/data/{at}"), kinds[at % kinds.len()], "RocksDB");
        place.verified = verified;
        place.sealed = vec![
            share("gcm", None, Maker::Sealstone, Unit::Files),
            share("hctr2", None, Maker::NotRecorded, Unit::Blocks),
            share("ff1:phone", Some("phone"), Maker::Module("m 1".into()), Unit::Rows),
            share("gcm", None, Maker::Module("m 1".into()), Unit::Volumes),
        ];
        place.clear = (0..30).map(|at| clear(&format!("<script>{at}"))).collect();
        place.beside = vec![clear("log")];
        place.unread = vec![clear("000007.sst")];
        place.on_volume = (at == 1).then(|| "/vol".into());
        audit.places.push(place);
    }
    audit.places.push(Place::new("/data/none".into(), Kind::Server, "PostgreSQL"));
    let mut gone = Place::new("/data/gone".into(), Kind::Unknown, "unknown");
    gone.unread = vec![clear("/data/gone")];
    audit.places.push(gone);
    let protections = [
        Protection::Nothing,
        Protection::Passphrase,
        Protection::Holders { names: vec!["alice".into(), "bob".into()] },
        Protection::Token { token: "prod".into() },
        Protection::Server,
    ];
    let version = |version, is_held, age_days| Version {
        version,
        id: (version == 2).then(|| "9f-2".into()),
        made_at: None,
        age_days,
        places: u64::from(version),
        is_held,
    };
    for (at, protection) in protections.into_iter().enumerate() {
        audit.keys.push(Key {
            id: format!("key{at}"),
            held: Some(Held {
                place: "/etc/orders.key".into(),
                owner: Some("root".into()),
                mode: Some("0600".into()),
                protection,
            }),
            versions: vec![
                version(0, true, Some(0)),
                version(1, true, Some(400)),
                version(2, false, None),
            ],
            rotate_by: Some("2026-01-01".into()),
            is_overdue: at == 0,
        });
    }
    audit.keys.push(Key {
        id: "lost".into(),
        held: None,
        versions: vec![version(1, false, None)],
        rotate_by: None,
        is_overdue: false,
    });
    let mut search = Search { markers: 2, forms: vec!["form phone".into()], ..Search::default() };
    let encodings =
        [Encoding::Plain, Encoding::Utf16Le, Encoding::Utf16Be, Encoding::Hex, Encoding::Base64];
    let hits = encodings
        .into_iter()
        .map(|encoding| hit("line 3 of m", leak::Kind::Marker, encoding, Some(Compression::Gzip)));
    search.hits.insert("/var/log/a".into(), hits.collect());
    let phone = hit("form phone", leak::Kind::Form, Encoding::Plain, None);
    search.hits.insert("/data/3".into(), vec![phone.clone()]);
    search.hits.insert("/var/log/b".into(), vec![phone]);
    search.unread = vec![clear("/srv/secret")];
    search.cut = 1;
    audit.search = Some(search);
    audit
}

#[test]
fn every_finding_has_words_in_every_language() {
    let audit = full();
    let verdict = Verdict::of(&audit);
    assert!(!verdict.is_sealed);
    for language in Language::ALL {
        let page = page(&audit, &verdict, language).unwrap().replace("&#x2f;", "/");
        assert!(page.contains(&format!("<html lang=\"{}\">", language.code())), "{language:?}");
        // all findings are counted, however many are listed
        for wanted in
            ["4711", "/data/6", "aria-256", "ff1:phone", "000007.sst", "lost", "/var/log/b", "9f-2"]
        {
            assert!(page.contains(wanted), "{language:?}: {wanted}");
        }
        // what comes from files is no part of the page's own text
        assert!(!page.contains("<script>") && !page.contains("<b>") && !page.contains("<i>"));
        let body = page.split("</style>").nth(1).unwrap();
        assert!(!body.contains('{') && !body.contains('}'), "{language:?}: a name in braces");
        assert!(page.contains("Sealstone is not a validated module"), "{language:?}");
    }
    let korean = page(&audit, &verdict, Language::Korean).unwrap();
    assert!(!korean.contains("in the clear"), "English in the Korean page");
}

#[test]
fn nothing_is_said_of_nothing() {
    let audit = empty();
    let verdict = Verdict::of(&audit);
    assert_eq!(verdict.attention, [Attention::NoSearch]);
    assert!(verdict.is_sealed && verdict.open.is_empty());
    for language in Language::ALL {
        page(&audit, &verdict, language).unwrap();
    }
    assert!(summary(&verdict).starts_with("Nothing that was looked at is in the clear\n"));
}

/// A key that was named and not seen may be the one that nobody else holds.
#[test]
fn a_key_that_was_not_seen_is_not_called_lost() {
    let not_held = |attention: &Attention| matches!(attention, Attention::NotHeld { .. });
    let mut audit = full();
    assert!(Verdict::of(&audit).attention.iter().any(not_held));
    let mut key = Place::new("kmip://kms/orders".into(), Kind::Key, "key");
    let remark = Some("no key server answered".into());
    key.unread = vec![Clear { remark, ..clear("kmip://kms/orders") }];
    audit.places = vec![key];
    let verdict = Verdict::of(&audit);
    assert!(!verdict.attention.iter().any(not_held));
    let open = Open::NotLookedAt {
        place: "kmip://kms/orders".into(),
        why: "no key server answered".into(),
    };
    assert_eq!(verdict.open[0], open);
    let page = page(&audit, &verdict, Language::English).unwrap();
    assert!(
        !page.contains("nobody who was named") && !page.contains("nothing is sealed"),
        "{page}"
    );
    assert!(!page.contains("version 1, under it: 1 places (not held)"), "{page}");
}

/// Values of a form in a file whose column is sealed in that form are no leak, and elsewhere they
/// are.
#[test]
fn sealed_values_that_keep_their_form_are_no_leak() {
    let verdict = Verdict::of(&full());
    let leaks: Vec<&Open> =
        verdict.open.iter().filter(|open| matches!(open, Open::Leak { .. })).collect();
    let leak = |file: &str, count| Open::Leak { file: file.into(), count };
    assert_eq!(leaks, [&leak("/var/log/a", 10), &leak("/var/log/b", 2)]);
    let alike =
        Attention::LooksAlike { file: "/data/3".into(), form: "form phone".into(), count: 2 };
    assert!(verdict.attention.contains(&alike));
    // what was not searched to its end may hide something
    assert!(verdict.attention.contains(&Attention::Cut { count: 1 }));
}
