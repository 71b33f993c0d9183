//! Tests of where key schedules are once keys are set and used: in the memory for keys
//! (`crate::memory`) and nowhere else in the process. Each key is set and used on a stack of its
//! own, which is wiped (`left_on_stack` searches for remains on stacks), and then all memory of the
//! process is searched.

use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::ops::Range;
use std::os::unix::fs::FileExt;

use zeroize::Zeroize;

use super::left_on_stack::secrets;
use crate::aead::{Aead, aead};
use crate::arch::fork::{WAYS, in_child, in_own_process};
use crate::arch::own_stack::left_by;
use crate::backend::Backend;
use crate::blocks::{Blocks, blocks};
use crate::cbc::{Cbc, cbc};
use crate::cmac::{Cmac, cmac};
use crate::ctr::{Ctr, ctr};
use crate::facts::Cipher;
use crate::hctr2::{Hctr2, hctr2};
use crate::memory::Protected;
use crate::registry::ciphers;
use crate::testing::bytes;

const LABEL: &str = "key that lies in memory";

/// Bytes of a piece of memory that is looked for elsewhere: long enough to have several bytes of a
/// key schedule in it that holds each of them many times.
const PIECE: usize = 64;

/// Every object that one key is set for.
type Keyed =
    (Protected<dyn Aead>, Protected<dyn Ctr>, Protected<dyn Blocks>, Cbc, Cmac, Option<Hctr2>);

/// Sets the key of `cipher` everywhere and uses it on short and long messages.
fn used(cipher: &'static Cipher, backend: Backend) -> Keyed {
    let mut key = bytes(LABEL, cipher.key_bytes);
    let keyed = (
        aead(cipher, &key, backend).unwrap(),
        ctr(cipher, &key, backend).unwrap(),
        blocks(cipher, &key, backend).unwrap(),
        cbc(cipher, &key, backend).unwrap(),
        cmac(cipher, &key, backend).unwrap(),
        hctr2(cipher, &key, backend).ok(),
    );
    key.zeroize();
    let (nonce, iv) = (vec![9; cipher.nonce_bytes()], vec![9; cipher.block_bytes]);
    for length in [48, 5040] {
        let mut data = vec![7; length];
        let tag = keyed.0.seal(&nonce, b"bound", &mut data).unwrap();
        keyed.0.open(&nonce, b"bound", &mut data, &tag).unwrap();
        keyed.1.apply(&iv, 0, &mut data).unwrap();
        keyed.2.encrypt(&mut data).unwrap();
        keyed.2.decrypt(&mut data).unwrap();
        keyed.3.encrypt(&iv, &mut data).unwrap();
        keyed.4.mac(&data).unwrap();
        if let Some(wide) = &keyed.5 {
            wide.encrypt(&iv, &mut data).unwrap();
            wide.decrypt(&iv, &mut data).unwrap();
        }
    }
    keyed
}

/// Computes the value that identifies a piece of memory here, so that looking for it makes no copy
/// of it.
fn digest(piece: &[u8]) -> u64 {
    piece.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// Part of the memory of the process.
#[derive(Clone, Copy, PartialEq)]
enum Memory {
    /// Memory for keys, which is left out of core dumps and wiped by a fork.
    ForKeys,
    /// All other that can be written.
    Ordinary,
}

fn mappings(memory: Memory) -> Vec<Range<u64>> {
    let smaps =
        fs::read_to_string("/proc/self/smaps").expect("the system's account of this process");
    let (mut found, mut last) = (Vec::new(), None);
    for line in smaps.lines() {
        let mut words = line.split_whitespace();
        let first = words.next().unwrap_or_default();
        if first == "VmFlags:" {
            let flags: Vec<&str> = words.collect();
            let of_keys = flags.contains(&"dd") && flags.contains(&"wf");
            found.extend(last.take().filter(|_| of_keys == (memory == Memory::ForKeys)));
        } else if let Some((start, end)) = first.split_once('-') {
            let address = |text| u64::from_str_radix(text, 16).expect("an address");
            last = words
                .next()
                .filter(|access| access.starts_with("rw"))
                .map(|_| address(start)..address(end));
        }
    }
    found
}

/// Calls `look` with each piece of `bytes` bytes of `memory` that begins at a multiple of `step`.
fn each_piece(memory: Memory, bytes: usize, step: usize, mut look: impl FnMut(&[u8])) {
    let process = File::open("/proc/self/mem").expect("the memory of this process");
    let mut buffer = vec![0; (1 << 20) + PIECE];
    for range in mappings(memory) {
        for start in range.clone().step_by(1 << 20) {
            let wanted = buffer.len().min((range.end - start) as usize);
            // memory unmapped since then cannot be read
            if process.read_exact_at(&mut buffer[..wanted], start).is_ok() {
                buffer[..wanted].windows(bytes).step_by(step).for_each(&mut look);
            }
        }
    }
    buffer.zeroize();
}

/// Returns the pieces of the memory for keys that cannot occur elsewhere by accident: pieces of
/// many different bytes.
fn key_pieces() -> Vec<u64> {
    let mut pieces = Vec::new();
    each_piece(Memory::ForKeys, PIECE, 16, |piece| {
        let mut seen = [false; 256];
        piece.iter().for_each(|byte| seen[usize::from(*byte)] = true);
        if seen.iter().filter(|seen| **seen).count() >= 10 {
            pieces.push(digest(piece));
        }
    });
    pieces
}

/// Returns how many of the pieces `of_keys` are in `memory`, and which of `secrets`.
fn found(
    memory: Memory,
    of_keys: &HashSet<u64>,
    secrets: &HashMap<u64, String>,
) -> (usize, HashSet<String>) {
    let (mut pieces, mut names) = (0, HashSet::new());
    each_piece(memory, PIECE, 4, |piece| pieces += usize::from(of_keys.contains(&digest(piece))));
    each_piece(memory, 16, 1, |piece| names.extend(secrets.get(&digest(piece)).cloned()));
    (pieces, names)
}

/// Returns the digest and name of the secrets of every cipher with GCM, made in a child: their
/// making leaves them in memory.
fn known_secrets() -> HashMap<u64, String> {
    let path = std::env::temp_dir().join(format!("sealstone-secrets-{}", std::process::id()));
    in_child(WAYS[0], || {
        let line = |cipher: &'static Cipher| {
            let secrets = secrets(cipher, &bytes(LABEL, cipher.key_bytes));
            let lines = secrets
                .iter()
                .map(|(name, block)| format!("{} {}: {name}\n", digest(block), cipher.name));
            lines.collect::<String>()
        };
        let gcm = ciphers().iter().filter(|cipher| cipher.block_bytes == 16);
        fs::write(&path, gcm.map(line).collect::<String>()).is_ok()
    });
    let lines = fs::read_to_string(&path).expect("what the child wrote");
    fs::remove_file(&path).expect("a file of this test");
    let line = |line: &str| {
        let (digest, name) = line.split_once(' ').expect("a digest and a name");
        (digest.parse().expect("a digest"), name.to_owned())
    };
    lines.lines().map(line).collect()
}

#[test]
fn key_schedules_lie_in_the_memory_for_keys_alone() {
    in_own_process(module_path!(), "key_schedules_lie_in_the_memory_for_keys_alone", || {
        let mut held = Vec::new();
        for cipher in ciphers() {
            for backend in Backend::available() {
                let (before, mut keyed) = (key_pieces().len(), None);
                let place = &mut keyed;
                left_by(|| *place = Some(used(cipher, backend))).zeroize();
                held.push(keyed);
                // AEAD, counter mode, whole blocks, CBC and CMAC have a schedule each; that of 3DES
                // has few bytes that differ
                let gained = key_pieces().len() - before;
                assert!(
                    gained >= 10,
                    "{} on {}: {gained} pieces more",
                    cipher.name,
                    backend.name()
                );
            }
        }
        let (secrets, pieces) = (known_secrets(), HashSet::from_iter(key_pieces()));
        let (_, known) = found(Memory::ForKeys, &pieces, &secrets);
        for name in ["aes-256: key of round 3", "aes-128: power 1 of the hash key, bytes reversed"]
        {
            assert!(known.contains(name), "{name} is not where it belongs, among {known:?}");
        }
        assert_eq!(
            found(Memory::Ordinary, &pieces, &secrets),
            (0, HashSet::new()),
            "key schedules in ordinary memory"
        );

        // a copy that is there is found
        let mut copy = held[0].as_ref().map(|keyed| keyed_bytes(&keyed.0)).expect("a keyed object");
        assert_ne!(found(Memory::Ordinary, &pieces, &secrets).0, 0, "a copy was not found");
        copy.zeroize();
        drop(held);
        for memory in [Memory::ForKeys, Memory::Ordinary] {
            assert_eq!(
                found(memory, &pieces, &secrets),
                (0, HashSet::new()),
                "keys that were dropped are there"
            );
        }
    });
}

/// Returns a copy of the bytes kept of a key.
fn keyed_bytes(keyed: &Protected<dyn Aead>) -> Vec<u8> {
    let (start, bytes) = ((&raw const **keyed).addr(), size_of_val(&**keyed));
    let mut copy = vec![0; bytes];
    let process = File::open("/proc/self/mem").expect("the memory of this process");
    process.read_exact_at(&mut copy, start as u64).expect("memory that is there");
    copy
}
