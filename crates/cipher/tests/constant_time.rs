//! Constant time, shown by valgrind: with keys and data marked as undefined, memcheck reports each
//! branch and each address that depends on them. Every cipher and mode runs so, on every backend
//! whose instructions valgrind supports (it supports none of AVX-512: `benches/timing_leaks.rs`
//! measures there). The program runs itself under valgrind.
//!
//! Blowfish, which docs/side-channels.md lists as not constant time, must be reported, and so must
//! two toys that leak on purpose: a check that finds nothing there finds nothing anywhere.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::path::Path;
use std::process::Command;

use sealstone_cipher::cbc::{Message as CbcMessage, cbc, pad, unpad};
use sealstone_cipher::cbc_feistel::cbc_feistel;
use sealstone_cipher::ff1::{Domain, Tweaks, ff1, takes};
use sealstone_cipher::hmac::{Hmac, Mac, Message, TAG_BYTES_MAX, hmac, macs};
use sealstone_cipher::testing::{bytes, memcheck};
use sealstone_cipher::{
    Backend, Cipher, Context, Error, Part, Unsealed, aead, blocks, cbc_cs1, ciphers, cmac, ctr,
    hctr2,
};

/// Returns the names of the ciphers that are not constant time, and documented as such.
fn leaky() -> impl Iterator<Item = &'static str> {
    ciphers().iter().filter(|cipher| !cipher.constant_time).map(|cipher| cipher.name)
}

/// Lengths of messages in bytes: each way through a mode at least once.
const LENGTHS: [usize; 7] = [1, 16, 40, 112, 300, 1100, 2300];

/// The beginning of the lines that report findings to the parent.
const LINE: &str = "memcheck:";

#[test]
fn secrets_decide_no_branch_and_no_address() {
    if memcheck::is_running() {
        return;
    }
    let name = "secrets_decide_no_branch_and_no_address";
    if cfg!(not(all(target_os = "linux", target_arch = "x86_64"))) {
        return println!("SKIP: {name}: requests to valgrind are written for Linux on x86-64");
    }
    if let Err(error) = Command::new("valgrind").arg("--version").output() {
        return println!(
            "SKIP: {name}: valgrind cannot be run: {error}; sh dev/setup.sh valgrind installs it"
        );
    }
    let log =
        Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("memcheck-{}.txt", std::process::id()));
    let output = Command::new("valgrind")
        .args(["--tool=memcheck", "--leak-check=no", "--error-limit=no", "--num-callers=30"])
        .arg(format!("--log-file={}", log.display()))
        .arg(std::env::current_exe().expect("a path to this program"))
        .args(["--exact", "under_memcheck", "--nocapture", "--test-threads=1"])
        .output()
        .expect("valgrind, which was just asked for its version");
    let (text, reports) = (
        String::from_utf8_lossy(&output.stdout),
        std::fs::read_to_string(&log).unwrap_or_default(),
    );
    let _ = std::fs::remove_file(&log);
    assert!(output.status.success(), "{}\n{text}\n{reports}", output.status);
    let mut errors: BTreeMap<&str, u64> = BTreeMap::new();
    for line in text.lines().filter_map(|line| line.split_once(LINE)).map(|(_, line)| line.trim()) {
        let (what, count) = line.rsplit_once(' ').expect("what ran, and a number");
        errors.insert(what, count.parse().expect("a number"));
        println!("{what}: {count} reports");
    }
    check(&errors, &reports);
}

/// Checks that everything ran, and that exactly what had to be reported was reported.
fn check(errors: &BTreeMap<&str, u64>, reports: &str) {
    let leaks = |what: &str| what.starts_with("toy") || leaky().any(|name| what.starts_with(name));
    let missed: Vec<_> =
        errors.iter().filter(|(what, count)| leaks(what) && **count == 0).collect();
    assert!(missed.is_empty(), "leaks on purpose, and nothing was reported: {missed:?}");
    let found: Vec<_> = errors.iter().filter(|(what, count)| !leaks(what) && **count > 0).collect();
    let some: String = reports
        .lines()
        .filter(|line| !leaky().any(|name| line.contains(name)))
        .take(200)
        .collect::<Vec<_>>()
        .join("\n");
    assert!(found.is_empty(), "a secret decides a branch or an address: {found:?}\n{some}");
    for what in ["toy branch", "toy table"] {
        assert!(errors.contains_key(what), "{what} did not run");
    }
    for cipher in ciphers() {
        for backend in
            ["portable", "aesni", "avx2"].into_iter().filter(|name| Backend::by_name(name).is_ok())
        {
            let ran =
                errors.keys().any(|what| what.starts_with(&format!("{} {backend} ", cipher.name)));
            assert!(ran, "{} on {backend} did not run under valgrind", cipher.name);
        }
    }
    for mac in macs() {
        assert!(
            errors.contains_key(&*format!("{} portable hmac", mac.name)),
            "{} did not run under valgrind",
            mac.name
        );
    }
}

/// Runs under valgrind; by itself it checks nothing.
#[test]
fn under_memcheck() {
    if !memcheck::is_running() {
        return;
    }
    report("toy branch", || {
        if secret("toy", 1)[0] & 1 == 1 {
            black_box(());
        }
    });
    report("toy table", || {
        let table: Vec<u8> = (0..=255).collect();
        black_box(table[usize::from(secret("toy", 1)[0])]);
    });
    for backend in Backend::available() {
        for cipher in ciphers() {
            let lengths = if cipher.constant_time { &LENGTHS[..] } else { &LENGTHS[2..3] };
            run(cipher, backend, lengths);
        }
        for mac in macs() {
            report(&format!("{} {} hmac", mac.name, backend.name()), || {
                tags(&hmac(mac, &secret("key", mac.key_bytes), backend).unwrap(), mac);
            });
        }
    }
}

/// Tags of one message and of many, and one of them wrong.
fn tags(keyed: &Hmac, mac: &Mac) {
    for count in [1, 3, 40] {
        let data: Vec<Vec<u8>> =
            (0..count).map(|i| secret("message", LENGTHS[i % LENGTHS.len()])).collect();
        let tail = secret("tail", 4);
        let messages: Vec<Message<'_>> =
            data.iter().map(|data| Message { data, tail: &tail }).collect();
        let mut tags = vec![[0; TAG_BYTES_MAX]; count];
        keyed.tags(&messages, &mut tags);
        tags[0][5] ^= 4;
        let came: Vec<&[u8]> = tags.iter().map(|tag| &tag[..mac.tag_bytes]).collect();
        let mut genuine = vec![true; count];
        keyed.verify_many(&messages, &came, &mut genuine);
        assert!(genuine.iter().enumerate().all(|(at, genuine)| *genuine == (at > 0)));
    }
}

/// Prints how many errors memcheck reports of `job`.
fn report(what: &str, job: impl FnOnce()) {
    let before = memcheck::errors();
    job();
    println!("\n{LINE} {what} {}", memcheck::errors() - before);
}

/// Returns `count` bytes that nobody may look at.
fn secret(label: &str, count: usize) -> Vec<u8> {
    let mut secret = bytes(label, count);
    memcheck::make_undefined(&mut secret);
    secret
}

fn run(cipher: &'static Cipher, backend: Backend, lengths: &[usize]) {
    let (iv, nonce) = (bytes("iv", cipher.block_bytes), bytes("nonce", cipher.nonce_bytes()));
    let key = || secret("key", cipher.key_bytes);
    let named = |mode: &str| format!("{} {} {mode}", cipher.name, backend.name());
    report(&named(cipher.mode.word()), || {
        let keyed = aead(cipher, &key(), backend).unwrap();
        for &length in lengths {
            let mut data = secret("data", length);
            let associated = secret("associated", length / 2);
            let mut tag = keyed.seal(&nonce, &associated, &mut data).unwrap();
            let mut other = data.clone();
            let context = Context { nonce: &nonce, associated: &associated };
            let part = |skip| Part { context, sealed: &data, tag: &tag, skip, bytes: length / 2 };
            let mut out = vec![0; 2 * (length / 2)];
            assert_eq!(keyed.open_parts(&[part(0), part(length / 3)], &mut out), Ok(()));
            let mut run_tag = [0; 16];
            let mut copy = secret("data", length);
            let run = Unsealed { context, data: &mut copy, tag: &mut run_tag };
            assert_eq!(keyed.seal_run(&mut [run]), Ok(()));
            assert_eq!(keyed.open(&nonce, &associated, &mut data, &tag), Ok(()));
            tag[5] ^= 4;
            assert_eq!(
                keyed.open(&nonce, &associated, &mut other, &tag),
                Err(Error::Authentication)
            );
            let (head, body) = (
                Context { nonce: &nonce, associated: &iv },
                Context { nonce: &nonce, associated: &associated },
            );
            keyed.seal_with_head(head, body, &mut data).unwrap();
        }
    });
    report(&named("ctr"), || {
        let keyed = ctr(cipher, &key(), backend).unwrap();
        for &length in lengths {
            keyed.apply(&iv, 0, &mut secret("data", length)).unwrap();
            keyed.apply(&iv, 5, &mut secret("data", length)).unwrap();
        }
    });
    report(&named("blocks"), || {
        let keyed = blocks(cipher, &key(), backend).unwrap();
        for length in lengths.iter().map(|length| length.next_multiple_of(16)) {
            let mut data = secret("data", length);
            keyed.encrypt(&mut data).unwrap();
            keyed.decrypt(&mut data).unwrap();
        }
    });
    report(&named("cbc"), || {
        let keyed = cbc(cipher, &key(), backend).unwrap();
        for &length in lengths {
            let mut data = secret("data", length);
            pad(&mut data, cipher.block_bytes);
            keyed.encrypt(&iv, &mut data).unwrap();
            keyed.decrypt(&iv, &mut data).unwrap();
            unpad(&mut data, cipher.block_bytes).unwrap();
        }
        let mut data = secret("data", 5 * 16 * lengths.len());
        let mut messages: Vec<CbcMessage<'_>> =
            data.chunks_mut(48).map(|data| CbcMessage { iv: &iv, data }).collect();
        keyed.encrypt_many(&mut messages).unwrap();
        keyed.decrypt_many(&mut messages).unwrap();
    });
    report(&named("cmac"), || {
        let keyed = cmac(cipher, &key(), backend).unwrap();
        for &length in &lengths[..lengths.len().min(4)] {
            let data = secret("data", length);
            let tag = keyed.mac(&data).unwrap();
            assert_eq!(keyed.verify(&data, &tag), Ok(()));
        }
    });
    if let Ok(keyed) = hctr2(cipher, &key(), backend) {
        report(&named("hctr2"), || {
            for length in lengths.iter().map(|length| length + 16) {
                let mut data = secret("data", length);
                keyed.encrypt(b"tweak", &mut data).unwrap();
                keyed.decrypt(b"tweak", &mut data).unwrap();
            }
        });
    }
    if let Ok(keyed) = cbc_cs1(cipher, &key(), backend) {
        report(&named("cbc-cs1"), || {
            let iv = keyed.iv(&[3; 16]).unwrap();
            for length in lengths.iter().map(|length| length + 16) {
                let mut data = secret("data", length);
                keyed.encrypt(&iv, &mut data).unwrap();
                keyed.decrypt(&iv, &mut data).unwrap();
            }
        });
    }
    if let Ok(keyed) = cbc_feistel(cipher, [&key(), &key()], backend) {
        report(&named("cbc-feistel"), || {
            for length in lengths.iter().map(|length| length + 5) {
                let mut data = secret("data", length);
                keyed.encrypt(&mut keyed.begin(&[3; 16]).unwrap(), &mut data).unwrap();
                keyed.decrypt(&mut keyed.begin(&[3; 16]).unwrap(), &mut data).unwrap();
            }
        });
    }
    if takes(cipher) {
        report(&named("ff1"), || numerals(cipher, &key(), backend));
    }
}

/// FF1 on numbers of every kind, one value and several.
fn numerals(cipher: &'static Cipher, key: &[u8], backend: Backend) {
    for (radix, length) in
        [(10, 16), (36, 19), (36, 13), (10, 40), (65_536, 4), (11_172, 6), (10, 90)]
    {
        let keyed = ff1(cipher, key, backend, radix, Domain::Standard).unwrap();
        for count in [1, 9] {
            let random = secret("numerals", 2 * count * length);
            let numeral = |bytes: &[u8; 2]| {
                (u32::from(u16::from_le_bytes(*bytes)).wrapping_mul(radix) >> 16) as u16
            };
            let mut values: Vec<u16> = random.as_chunks().0.iter().map(numeral).collect();
            keyed.seal_batch(Tweaks::One(b"a tweak"), &mut values, length).unwrap();
            keyed.open_batch(Tweaks::One(b"a tweak"), &mut values, length).unwrap();
            for tweak in [&b""[..], b"a tweak of more than a block"] {
                keyed.seal(tweak, &mut values[..length]).unwrap();
                keyed.open(tweak, &mut values[..length]).unwrap();
            }
        }
    }
}
