//! Keys and nonces that MariaDB passes to an encryption plug-in, all of them, through a plug-in
//! before ours that writes them down: which it passes for two contents, and that ours bears it.
//! Not here: pages as they come to the disk (`mariadb_pages`).

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::thread;

use sealstone_e2e::mariadb_place::{MariaDbPlace, does};
use sealstone_e2e::sql_server::{SqlKind, SqlServer, SqlSession};
use sealstone_e2e::volume_place::tool;
use sealstone_servers::start_mariadb;

const RECORDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/mariadb_recorder.c");
/// Longest first piece of a record.
const RECORD_PIECE_BYTES_MAX: u64 = 256;
/// Bytes of a cipher's block.
const BLOCK_BYTES: usize = 16;
/// Bytes whose differences are not the same by chance in a million pairs.
const BYTES_BEYOND_CHANCE: usize = 6;

/// Kinds of what a server encrypts, as far as the calls show.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Kind {
    Table,
    Binlog,
    Temporary,
    /// Pages of the server's own tables, temporary ones, merges.
    Own,
    Redo,
}

/// A unit that was encrypted: its length, a hash of it, and its beginning, before and after.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Unit {
    bytes: u64,
    hash: String,
    before: Vec<u8>,
    after: Vec<u8>,
}

/// Units by their kind, key, version and nonce.
type Units = HashMap<(Kind, String), Vec<Unit>>;

/// Reads what was written down.
fn units(log: &str) -> Units {
    let bytes = |hex: &str| -> Vec<u8> {
        let digits = hex.trim_start_matches('=').as_bytes().chunks(2);
        digits
            .map(|two| u8::from_str_radix(std::str::from_utf8(two).unwrap(), 16).unwrap())
            .collect()
    };
    let mut found = Units::new();
    for line in log.lines() {
        let [key_bytes, key, nonce, id, version, first, total, hash, before, after] =
            line.split(' ').collect::<Vec<_>>()[..]
        else {
            panic!("{line}")
        };
        let kind = match id {
            "2" => Kind::Temporary,
            "1" if key_bytes == "32" => Kind::Binlog,
            "1" if first.parse::<u64>().unwrap() <= RECORD_PIECE_BYTES_MAX => Kind::Redo,
            "1" => Kind::Own,
            _ => Kind::Table,
        };
        let unit = Unit {
            bytes: total.parse().unwrap(),
            hash: hash.to_owned(),
            before: bytes(before),
            after: bytes(after),
        };
        let same = found.entry((kind, format!("{key} {nonce} {id} {version}"))).or_default();
        if !same.contains(&unit) {
            same.push(unit);
        }
    }
    found
}

/// Returns the number of nonces of `kind`, and of those that have two contents.
fn repeated(units: &Units, kind: Kind) -> (usize, usize) {
    let of = || units.iter().filter(|((found, _), _)| *found == kind);
    (of().count(), of().filter(|(_, same)| same.len() > 1).count())
}

/// Returns the bytes of two units under one nonce that may show their difference, from the block on
/// in which they differ, as far as was written down, and whether they do: whether one pad was added
/// to both. None where one is the beginning of the other.
fn shown(one: &Unit, other: &Unit) -> Option<(usize, bool)> {
    let length = one.before.len().min(other.before.len());
    let sum = |one: &[u8], other: &[u8]| -> Vec<u8> {
        one.iter().zip(other).map(|(one, other)| one ^ other).collect()
    };
    let differs = (0..length).find(|at| one.before[*at] != other.before[*at])?;
    let from = differs / BLOCK_BYTES * BLOCK_BYTES;
    let is_shown = sum(&one.before[from..length], &other.before[from..length])
        == sum(&one.after[from..length], &other.after[from..length]);
    Some((length - from, is_shown))
}

fn change(session: &mut SqlSession, client: u32) {
    for step in 0..12 {
        does(
            session,
            &format!(
                "UPDATE t SET a = a + 1, b = MD5({step} + id) WHERE id % 31 = {}",
                (7 * client + step) % 31
            ),
        );
        for row in 0..20 {
            does(session, &format!("INSERT INTO t (a, b) VALUES ({row}, '{client} {step} {row}')"));
        }
    }
}

#[test]
fn the_redo_log_of_a_server_repeats_nonces_and_ours_bears_it() {
    let test = "the_redo_log_of_a_server_repeats_nonces_and_ours_bears_it";
    if !SqlKind::MariaDb.is_available(test) {
        return;
    }
    let place = MariaDbPlace::new();
    let (ours, log) = (place.at("real.so"), place.at("units.log"));
    let loaded = place.at("plugins/libsealstone_mariadb.so");
    fs::rename(&loaded, &ours).unwrap();
    fs::write(&log, "").unwrap();
    // the server has a user of its own
    fs::set_permissions(&log, fs::Permissions::from_mode(0o666)).unwrap();
    let defined = |name: &str, path: &std::path::Path| format!("-D{name}=\"{}\"", path.display());
    let (real, out) = (defined("REAL", &ours), defined("LOG", &log));
    let made = loaded.to_str().unwrap();
    tool("cc", &["-O1", "-shared", "-fPIC", &real, &out, RECORDER, "-o", made, "-ldl"]);
    let options = place.options(&place.settings("k.key", "aria-256"));
    let mut server = SqlServer::MariaDb(start_mariadb(&place.at("server"), options).unwrap());
    does(
        &mut server.session(),
        "CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, a INT, b VARCHAR(200), KEY (a)) \
         ENGINE=InnoDB; INSERT INTO t (a, b) SELECT seq, MD5(seq) FROM seq_1_to_5000; \
         SET GLOBAL innodb_max_dirty_pages_pct = 1",
    );
    for round in 0..2 {
        thread::scope(|scope| {
            for client in 0..4 {
                let mut session = server.session();
                scope.spawn(move || change(&mut session, client));
            }
        });
        does(&mut server.session(), "FLUSH BINARY LOGS");
        // what is recovered is written again
        if round == 0 {
            server.kill();
            server.start_again();
        }
    }
    drop(server);
    let units = units(&fs::read_to_string(&log).unwrap());
    for kind in [Kind::Table, Kind::Binlog, Kind::Temporary, Kind::Own, Kind::Redo] {
        let (nonces, repeated) = repeated(&units, kind);
        println!("{kind:?}: {nonces} nonces, {repeated} with two contents");
    }
    for kind in [Kind::Table, Kind::Binlog] {
        let (nonces, repeated) = repeated(&units, kind);
        assert!(nonces > 10 && repeated == 0, "{kind:?}: {repeated} of {nonces}");
    }
    // pairs by the number of bytes that may show it, and those that do
    let mut pairs: BTreeMap<usize, (u64, u64)> = BTreeMap::new();
    for same in units.values() {
        for (at, one) in same.iter().enumerate() {
            let others = &same[at + 1..(at + 20).min(same.len())];
            for (bytes, is_shown) in others.iter().filter_map(|other| shown(one, other)) {
                let found = pairs.entry(bytes).or_default();
                *found = (found.0 + 1, found.1 + u64::from(is_shown));
            }
        }
    }
    println!("bytes, pairs of contents under one nonce, and those with one pad: {pairs:?}");
    assert!(pairs.values().map(|(all, _)| all).sum::<u64>() > 1000, "{pairs:?}");
    for (bytes, (all, shown)) in pairs {
        // few bytes are the same by chance: one byte in one of 255 pairs
        let is_chance = bytes < BYTES_BEYOND_CHANCE && 8 * shown <= all.max(8);
        assert!(shown == 0 || is_chance, "{shown} of {all} pairs of {bytes} bytes");
    }
}
