//! Answers that no real KMIP server gives: garbage, endless lengths, deep nesting, answers to other
//! questions. The test's own TLS server sends them; each must end in one clear error, soon, and be
//! tried once.

use std::time::{Duration, Instant};

use sealstone_e2e::kmip_server::{Certificates, Junk};
use sealstone_keys::KmipSource;
use sealstone_keys::kmip::enumeration::Operation;
use sealstone_keys::kmip::message::Version;
use sealstone_keys::kmip::tag::Tag;
use sealstone_keys::kmip::ttlv::{Item, Value};

/// Returns an answer to `operation` with the payload `parts`.
fn answer(operation: Operation, parts: Vec<Item>) -> Vec<u8> {
    let header = vec![version(Version::V1_2), Item::integer(Tag::BATCH_COUNT, 1)];
    let batch_item = vec![
        Item::enumeration(Tag::OPERATION, operation.0),
        Item::enumeration(Tag::RESULT_STATUS, 0),
        Item::structure(Tag::RESPONSE_PAYLOAD, parts),
    ];
    let message = vec![
        Item::structure(Tag::RESPONSE_HEADER, header),
        Item::structure(Tag::BATCH_ITEM, batch_item),
    ];
    Item::structure(Tag::RESPONSE_MESSAGE, message).encode().to_vec()
}

fn version(version: Version) -> Item {
    let parts = vec![
        Item::integer(Tag::PROTOCOL_VERSION_MAJOR, version.major),
        Item::integer(Tag::PROTOCOL_VERSION_MINOR, version.minor),
    ];
    Item::structure(Tag::PROTOCOL_VERSION, parts)
}

fn versions() -> Vec<u8> {
    answer(Operation::DISCOVER_VERSIONS, vec![version(Version::V1_2)])
}

/// Returns the error of opening a key on a server that sends `answers`, and how many requests it
/// saw.
fn refusal(answers: Vec<Vec<u8>>) -> (String, u64) {
    let certificates = Certificates::make();
    let junk = Junk::start(&certificates, answers);
    let start = Instant::now();
    let error =
        KmipSource::open(&certificates.url(junk.port, "orders", "&retries=3&timeout_ms=2000"))
            .unwrap_err();
    assert!(start.elapsed() < Duration::from_secs(10), "{:?}: {error}", start.elapsed());
    let text = error.to_string().replace(&format!("127.0.0.1:{}", junk.port), "HERE");
    assert_eq!(text.lines().count(), 2, "{text}");
    (text.lines().next().unwrap().to_owned(), junk.requests())
}

fn no_answer(found: &str) -> String {
    format!(
        "cannot get key orders: no key server answered (HERE: it sent something that is not a KMIP \
         answer: {found})"
    )
}

#[test]
fn garbage_is_named_and_tried_once() {
    let http = b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec();
    let want = no_answer("message (byte 0): begins with tag 0x485454, not with Response Message");
    assert_eq!(refusal(vec![http]), (want, 1));

    let mut broken = versions();
    broken[11] = 0x0C;
    let want =
        no_answer("Response Message > Response Header (byte 8): type 0c, which TTLV does not have");
    assert_eq!(refusal(vec![broken]), (want, 1));

    let other = answer(Operation::DESTROY, vec![]);
    let want = no_answer(
        "Response Message > Batch Item > Operation: Destroy, where Discover Versions was asked for",
    );
    assert_eq!(refusal(vec![other]), (want, 1));
}

#[test]
fn an_answer_that_claims_to_be_endless_is_refused_at_once() {
    let mut huge = versions();
    huge[4..8].copy_from_slice(&[0xFF, 0xFF, 0xFF, 0xF8]);
    let want = no_answer("message (byte 0): 4294967296 bytes long, at most 1048576 are accepted");
    assert_eq!(refusal(vec![huge]), (want, 1));
}

#[test]
fn deep_nesting_and_many_items_are_refused() {
    let deep = (0..1000).fold(Item::structure(Tag::ATTRIBUTE, vec![]), |inner, _| {
        Item::structure(Tag::ATTRIBUTE, vec![inner])
    });
    let (text, requests) = refusal(vec![versions(), answer(Operation::GET_ATTRIBUTES, vec![deep])]);
    assert!(text.contains("more than 24 structures inside one another"), "{text}");
    assert_eq!(requests, 2);

    let many = (0..70_000).map(|_| Item::structure(Tag::ATTRIBUTE, vec![])).collect();
    let (text, _) = refusal(vec![versions(), answer(Operation::GET_ATTRIBUTES, many)]);
    assert!(text.contains("more than 65536 items"), "{text}");
}

#[test]
fn another_key_than_the_one_asked_for_is_refused() {
    let attribute = |name: &str, value: Value| {
        let value = Item { tag: Tag::ATTRIBUTE_VALUE, value };
        Item::structure(Tag::ATTRIBUTE, vec![Item::text(Tag::ATTRIBUTE_NAME, name), value])
    };
    let attributes = vec![
        Item::text(Tag::UNIQUE_IDENTIFIER, "orders"),
        attribute("State", Value::Enumeration(2)),
        attribute("Object Type", Value::Enumeration(2)),
    ];
    let block = vec![
        Item::enumeration(Tag::KEY_FORMAT_TYPE, 1),
        Item::structure(Tag::KEY_VALUE, vec![Item::bytes(Tag::KEY_MATERIAL, &[1; 32])]),
    ];
    let key = vec![
        Item::enumeration(Tag::OBJECT_TYPE, 2),
        Item::text(Tag::UNIQUE_IDENTIFIER, "another"),
        Item::structure(Tag::SYMMETRIC_KEY, vec![Item::structure(Tag::KEY_BLOCK, block)]),
    ];
    let answers = vec![
        versions(),
        answer(Operation::GET_ATTRIBUTES, attributes),
        answer(Operation::GET, key),
    ];
    let (text, _) = refusal(answers);
    assert_eq!(text, "key orders on HERE cannot be used: the server gave \"another\" instead");
}

#[test]
fn a_server_of_older_versions_is_named() {
    let old = answer(Operation::DISCOVER_VERSIONS, vec![version(Version { major: 1, minor: 0 })]);
    let want = "cannot get key orders: no key server answered (HERE: it speaks none of the \
                versions 1.2 to 2.1 of KMIP)";
    assert_eq!(refusal(vec![old]), (want.into(), 1));
}
