//! The suite for HMAC: one message, and many at once.

use super::debug_output::assert_prints_no_key;
use super::misaligned_buffer::Misaligned;
use super::pseudorandom::bytes;
use super::summary::Summary;
use super::vectors::{Case, vectors_of_mac};
use crate::error::Error;
use crate::hmac::{Hmac, Mac, Message, TAG_BYTES_MAX, evidence};

/// Sets a key for an HMAC under test.
pub type MakeHmac<'a> = &'a dyn Fn(&[u8]) -> Result<Hmac, Error>;

/// Numbers of messages around every boundary that an implementation may have.
const COUNTS: [usize; 22] =
    [0, 1, 2, 3, 4, 5, 7, 8, 9, 12, 15, 16, 17, 31, 32, 33, 44, 63, 64, 100, 513, 600];

/// Checks an HMAC: `make` sets a key of `mac.key_bytes` bytes.
///
/// # Panics
/// At the first failed check, naming it.
pub fn hmac_conformance(mac: &'static Mac, make: MakeHmac) -> Summary {
    let mut summary = Summary::default();
    for vector in vectors_of_mac(mac) {
        let Case::Hmac { message, tag } = &vector.case else { continue };
        if vector.key.len() != mac.key_bytes {
            let found = vector.key.len();
            summary
                .not_offered
                .push(format!("{}: key of {found} bytes is not offered", vector.place));
            continue;
        }
        let keyed = make(&vector.key).expect("a key of the right length");
        let what =
            format!("{} on {}, {} ({})", mac.name, keyed.backend(), vector.place, vector.source);
        let want = &tag[..mac.tag_bytes];
        for cut in [0, 1, message.len()] {
            let (data, tail) = message.split_at(cut);
            let message = Message { data, tail };
            let mut found = [[7; TAG_BYTES_MAX]; 20];
            keyed.tags(&[message; 20], &mut found);
            assert!(
                found.iter().chain(&[keyed.tag(&message)]).all(|tag| &tag[..mac.tag_bytes] == want),
                "{what}"
            );
            assert_eq!(keyed.verify(&message, want), Ok(()), "{what}");
        }
        summary.vectors += 1;
    }
    lengths_and_counts(mac, make, &mut summary);
    forgeries(mac, make, &mut summary);
    arguments(mac, make);
    assert!(summary.vectors > 0, "{}: no vector was of use: {:?}", mac.name, summary.not_offered);
    summary
}

/// Messages of all lengths, alone and many at once, at odd places and cut anywhere, against the
/// reference.
fn lengths_and_counts(mac: &'static Mac, make: MakeHmac, summary: &mut Summary) {
    let key = bytes("hmac key", mac.key_bytes);
    let keyed = make(&key).expect("a key of the right length");
    let text = bytes("hmac text", 3000);
    let want = |length: usize| {
        let mut tag = [0; TAG_BYTES_MAX];
        tag[..mac.tag_bytes]
            .copy_from_slice(&(evidence(mac).reference)(&key, &text[..length])[..mac.tag_bytes]);
        tag
    };
    for length in (0..260).chain([511, 512, 513, 1024, 1400, 1500, 2999, 3000]) {
        let message = Misaligned::new(&text[..length], length % 17);
        let (data, tail) = message.shared().split_at(length - length.min(length * 7 % 71));
        let what = format!("{} on {}, {length} bytes", mac.name, keyed.backend());
        assert_eq!(keyed.tag(&Message { data, tail }), want(length), "{what}");
        summary.messages += 1;
    }
    let drawn = bytes("hmac lengths", 4 * COUNTS.iter().sum::<usize>());
    let mut drawn =
        drawn.as_chunks::<2>().0.iter().map(|two| usize::from(u16::from_le_bytes(*two)));
    let mut draw = |below: usize| drawn.next().expect("two for each message") % below;
    for (case, count) in COUNTS.into_iter().enumerate() {
        // packets, all lengths, mostly short
        let longest = [1401, 300, 3000, 20][case % 4];
        let lengths: Vec<(usize, usize)> = (0..count)
            .map(|_| {
                let length = if case % 4 == 0 { longest } else { draw(longest) };
                (length, length - draw(longest).min(length))
            })
            .collect();
        let messages: Vec<Message<'_>> = lengths
            .iter()
            .map(|(length, cut)| Message { data: &text[..*cut], tail: &text[*cut..*length] })
            .collect();
        let mut found = vec![[7; TAG_BYTES_MAX]; count];
        keyed.tags(&messages, &mut found);
        for ((length, cut), found) in lengths.iter().zip(&found) {
            let what = format!("{} on {}, {length} bytes cut at {cut}", mac.name, keyed.backend());
            assert_eq!(*found, want(*length), "{what}, of {count} messages");
        }
        let tags: Vec<&[u8]> = found.iter().map(|tag| &tag[..mac.tag_bytes]).collect();
        let mut genuine = vec![false; count];
        keyed.verify_many(&messages, &tags, &mut genuine);
        assert!(genuine.iter().all(|genuine| *genuine), "{}: {count} messages", mac.name);
        summary.messages += count;
    }
}

fn forgeries(mac: &'static Mac, make: MakeHmac, summary: &mut Summary) {
    let keyed = make(&bytes("forgery key", mac.key_bytes)).expect("a key of the right length");
    let text = bytes("forgery text", 130);
    let message = Message { data: &text[..128], tail: &text[128..] };
    let whole = keyed.tag(&message);
    let tag = &whole[..mac.tag_bytes];
    let refused = Err(Error::Authentication);
    assert_eq!(keyed.verify(&message, tag), Ok(()));
    let mut wrong: Vec<Vec<u8>> = (0..8 * tag.len())
        .map(|bit| {
            let mut wrong = tag.to_vec();
            wrong[bit / 8] ^= 1 << (bit % 8);
            wrong
        })
        .collect();
    wrong.extend([Vec::new(), tag[1..].to_vec(), [tag, &[0]].concat()]);
    wrong
        .iter()
        .for_each(|wrong| assert_eq!(keyed.verify(&message, wrong), refused, "{}", mac.name));
    for at in 0..text.len() {
        let mut changed = text.clone();
        changed[at] ^= 1 << (at % 8);
        assert_eq!(
            keyed.verify(&Message { data: &changed, tail: &[] }, tag),
            refused,
            "{}",
            mac.name
        );
    }
    // one right among wrong tags, and one wrong among right tags
    let mut genuine = vec![true; wrong.len()];
    let mut tags: Vec<&[u8]> = wrong.iter().map(Vec::as_slice).collect();
    tags[3] = tag;
    keyed.verify_many(&vec![message; tags.len()], &tags, &mut genuine);
    assert!(genuine.iter().enumerate().all(|(at, genuine)| *genuine == (at == 3)), "{}", mac.name);
    tags.fill(tag);
    tags[5] = &wrong[5];
    keyed.verify_many(&vec![message; tags.len()], &tags, &mut genuine);
    assert!(genuine.iter().enumerate().all(|(at, genuine)| *genuine == (at != 5)), "{}", mac.name);
    summary.forgeries += 3 * wrong.len() + text.len();
}

fn arguments(mac: &'static Mac, make: MakeHmac) {
    for found in [0, mac.key_bytes - 1, mac.key_bytes + 1] {
        let want = mac.key_bytes;
        assert_eq!(
            make(&vec![0; found]).err(),
            Some(Error::KeyLength { found, want }),
            "{} key",
            mac.name
        );
    }
    let key = bytes("printed key", mac.key_bytes);
    let keyed = make(&key).expect("a key of the right length");
    assert_prints_no_key(&format!("{keyed:?} {keyed:#?}"), &key);
    assert_eq!(keyed.tag_bytes(), mac.tag_bytes);
    // one object serves many threads at once
    let want = keyed.tag(&Message { data: &key, tail: &[] });
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| assert_eq!(keyed.tag(&Message { data: &key, tail: &[] }), want));
        }
    });
}
