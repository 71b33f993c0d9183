//! Keys and nonces that MariaDB passes to an encryption plug-in, all of them, through a plug-in
//! before ours that writes them down: which part of the server passes which, which it passes for
//! two contents, and that ours bears it. Not here: pages as they come to the disk
//! (`mariadb_pages`).

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use sealstone_e2e::mariadb_place::{MariaDbPlace, Sets, does};
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
    let (mut found, mut known) = (Units::new(), HashSet::new());
    for line in log.lines() {
        let [key_bytes, key, nonce, id, version, first, total, hash, before, after, _] =
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
        let name = (kind, format!("{key} {nonce} {id} {version}"));
        if known.insert((name.clone(), unit.clone())) {
            found.entry(name).or_default().push(unit);
        }
    }
    found
}

/// Returns the number of nonces of `kind`, and of those that have two contents.
fn repeated(units: &Units, kind: Kind) -> (usize, usize) {
    let of = || units.iter().filter(|((found, _), _)| *found == kind);
    (of().count(), of().filter(|(_, same)| same.len() > 1).count())
}

/// Returns, for each block of two units under one nonce that may show their difference, its length
/// and whether it does: whether one pad was added to both, or they are the same though what is
/// before them is not. Blocks are those from the first difference on, as far as was written down.
fn shown(one: &Unit, other: &Unit) -> Vec<(usize, bool)> {
    let length = one.before.len().min(other.before.len());
    let differs = (0..length).find(|at| one.before[*at] != other.before[*at]);
    let Some(differs) = differs else { return Vec::new() };
    let from = differs / BLOCK_BYTES * BLOCK_BYTES;
    let sums = |one: &[u8], other: &[u8]| -> Vec<u8> {
        let pairs = one[from..length].iter().zip(&other[from..length]);
        pairs.map(|(one, other)| one ^ other).collect()
    };
    let (before, after) = (sums(&one.before, &other.before), sums(&one.after, &other.after));
    let blocks = before.chunks(BLOCK_BYTES).zip(after.chunks(BLOCK_BYTES));
    blocks.map(|(before, after)| (before.len(), before == after)).collect()
}

/// Puts the plug-in that writes calls down before ours, and returns the path of what it writes.
fn recorded(place: &MariaDbPlace) -> PathBuf {
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
    log
}

/// Asserts that no two units under one nonce show their difference in a block, and returns the
/// number of pairs of blocks.
fn pairs_without_a_pad(units: &Units) -> u64 {
    // pairs by the length of the blocks, and those that show it
    let mut pairs: BTreeMap<usize, (u64, u64)> = BTreeMap::new();
    for same in units.values() {
        for (at, one) in same.iter().enumerate() {
            let others = &same[at + 1..(at + 20).min(same.len())];
            for (bytes, is_shown) in others.iter().flat_map(|other| shown(one, other)) {
                let found = pairs.entry(bytes).or_default();
                *found = (found.0 + 1, found.1 + u64::from(is_shown));
            }
        }
    }
    println!("bytes, pairs of blocks under one nonce, and those that show it: {pairs:?}");
    let number = pairs.values().map(|(all, _)| all).sum();
    for (bytes, (all, shown)) in pairs {
        // few bytes are the same by chance: one byte in one of 255 pairs
        let is_chance = bytes < BYTES_BEYOND_CHANCE && 8 * shown <= all.max(8);
        assert!(shown == 0 || is_chance, "{shown} of {all} pairs of {bytes} bytes");
    }
    number
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
    let log = recorded(&place);
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
    assert!(pairs_without_a_pad(&units) > 1000);
}

/// Form in which a part of the server passes what it encrypts: the number of the key, the length of
/// the key, and whether the first piece is longer than one of the redo log.
type Form = (u32, u32, bool);

/// Returns the forms in which texts were passed, by the letter that follows `caller-` in them, and
/// the longest unit of each.
fn forms(log: &str) -> BTreeMap<char, BTreeMap<Form, u64>> {
    let mut found: BTreeMap<char, BTreeMap<Form, u64>> = BTreeMap::new();
    for line in log.lines() {
        let values: Vec<&str> = line.split(' ').collect();
        let number = |at: usize| values[at].parse::<u64>().unwrap();
        let form = (number(3) as u32, number(0) as u32, number(5) > RECORD_PIECE_BYTES_MAX);
        for letter in values[10].trim_start_matches('=').chars() {
            let longest = found.entry(letter).or_default().entry(form).or_default();
            *longest = (*longest).max(number(6));
        }
    }
    found
}

/// Inserts some hundred kilobytes of texts into `big` once it is being changed online: they go to
/// the log of rows of that change, which ends only once it has caught up with them.
fn insert(session: &mut SqlSession, is_over: &AtomicBool) {
    let begin = Instant::now();
    let changes = "SELECT COUNT(*) FROM information_schema.processlist WHERE state LIKE 'altering \
                   table%'";
    while session.ask(changes) != [["1"]] && !is_over.load(Ordering::Relaxed) {
        assert!(begin.elapsed() < Duration::from_secs(60), "nothing changes online");
    }
    for _ in 0..40 {
        does(
            session,
            "INSERT INTO big (b) SELECT CONCAT('caller', '-r ', REPEAT(MD5(seq), 6)) FROM \
             seq_1_to_50",
        );
    }
}

/// The table of calls in docs/formats.md: what is a page, a record, a block is told by it alone.
#[test]
fn each_part_of_a_server_passes_what_the_formats_page_says() {
    let test = "each_part_of_a_server_passes_what_the_formats_page_says";
    if !SqlKind::MariaDb.is_available(test) {
        return;
    }
    let place = MariaDbPlace::new();
    let log = recorded(&place);
    let more = ["--innodb-sort-buffer-size=64K", "--binlog-format=ROW"].map(str::to_owned);
    let settings = [place.settings("k.key", "aria-256"), more.to_vec()].concat();
    let server = start_mariadb(&place.at("server"), place.options(&settings)).unwrap();
    let server = SqlServer::MariaDb(server);
    let mut session = server.session();
    // tables, their undo, the redo log, the binary log; tables of Aria; compressed tables
    does(
        &mut session,
        "SET GLOBAL innodb_max_dirty_pages_pct = 1; CREATE TABLE t (id INT PRIMARY KEY, b \
         VARCHAR(200)) ENGINE=InnoDB; INSERT INTO t SELECT seq, CONCAT('caller', '-t ', MD5(seq)) \
         FROM seq_1_to_5000; CREATE TABLE aria (id INT PRIMARY KEY, b VARCHAR(200)) ENGINE=Aria; \
         INSERT INTO aria SELECT seq, CONCAT('caller', '-a ', MD5(seq)) FROM seq_1_to_5000; \
         CREATE TABLE packed (id INT PRIMARY KEY, b VARCHAR(2000)) ENGINE=InnoDB \
         PAGE_COMPRESSED=1; INSERT INTO packed SELECT seq, REPEAT(MD5(seq), 40) FROM \
         seq_1_to_2000; CREATE TABLE zipped (id INT PRIMARY KEY, b VARCHAR(2000)) ENGINE=InnoDB \
         ROW_FORMAT=COMPRESSED KEY_BLOCK_SIZE=8; INSERT INTO zipped SELECT * FROM packed",
    );
    // what this one may still want to see stays in the undo logs
    let mut onlooker = server.session();
    does(&mut onlooker, "START TRANSACTION WITH CONSISTENT SNAPSHOT; SELECT COUNT(*) FROM t");
    for step in 0..6 {
        for table in ["t", "packed", "zipped"] {
            does(
                &mut session,
                &format!(
                    "UPDATE {table} SET b = REVERSE(b) WHERE id % 3 = {step} % 3; FLUSH TABLES \
                     {table} FOR EXPORT; UNLOCK TABLES"
                ),
            );
        }
    }
    // temporary tables that do not fit into the pool, and are written again and again
    does(
        &mut session,
        "CREATE TEMPORARY TABLE passing (id INT PRIMARY KEY, b VARCHAR(300)) ENGINE=InnoDB; INSERT \
         INTO passing SELECT seq, CONCAT('caller', '-p ', REPEAT(MD5(seq), 8)) FROM \
         seq_1_to_80000; UPDATE passing SET b = CONCAT('caller', '-p ', REPEAT(MD5(b), 8)); UPDATE \
         passing SET b = CONCAT('caller', '-p ', REPEAT(MD5(b), 8))",
    );
    // temporary files: a sort that does not fit into its memory
    does(
        &mut session,
        "SET sort_buffer_size = 32768; SELECT COUNT(*) FROM (SELECT CONCAT('caller', '-f ', \
         REPEAT(MD5(seq), 4)) v FROM seq_1_to_50000 ORDER BY v LIMIT 49999) x",
    );
    // a change online: merges of its index, and rows that come in the meantime
    does(
        &mut session,
        "CREATE TABLE big (id INT PRIMARY KEY AUTO_INCREMENT, b VARCHAR(300), KEY (b)) \
         ENGINE=InnoDB; INSERT INTO big (b) SELECT CONCAT('caller', '-m ', REPEAT(MD5(seq), 6)) \
         FROM seq_1_to_60000",
    );
    let is_over = AtomicBool::new(false);
    let mut other = server.session();
    thread::scope(|scope| {
        scope.spawn(|| insert(&mut other, &is_over));
        let _over = Sets(&is_over);
        does(&mut session, "ALTER TABLE big FORCE, ALGORITHM=INPLACE, LOCK=NONE");
    });
    does(&mut session, "FLUSH TABLES big FOR EXPORT; UNLOCK TABLES; FLUSH BINARY LOGS");
    drop((session, onlooker, other, server));

    let log = fs::read_to_string(&log).unwrap();
    let found = forms(&log);
    let of = |letter: char| found.get(&letter).unwrap_or_else(|| panic!("no {letter}: {found:?}"));
    let passes = |letter: char, form: Form| of(letter).get(&form).copied();
    let (page, own, record) = ((100, 16, true), (1, 16, true), (1, 16, false));
    let (binlog, block) = ((1, 32, true), (2, 16, true));
    for letter in ['t', 'm', 'r'] {
        assert!(passes(letter, page).is_some(), "{letter} is in pages of tables: {found:?}");
        let logged = passes(letter, record).or(passes(letter, own));
        assert!(logged.is_some(), "{letter} is in the redo log: {found:?}");
    }
    for letter in ['t', 'a'] {
        let short = (binlog.0, binlog.1, false);
        let logged = passes(letter, binlog).or(passes(letter, short));
        assert!(logged.is_some(), "{letter} is in the binary log: {found:?}");
    }
    assert!(passes('t', own).is_some(), "undo: {found:?}");
    assert!(passes('a', own).is_some(), "Aria: {found:?}");
    assert!(passes('p', own).is_some(), "temporary tables: {found:?}");
    assert!(passes('f', block).is_some(), "temporary files: {found:?}");
    // longer than any page
    for letter in ['m', 'r'] {
        let longest = passes(letter, own).unwrap_or_default();
        assert_eq!(longest, 64 << 10, "{letter}, merges and logs of rows: {found:?}");
    }
    // nothing but a table's pages has the number of tables, whole and at once
    for letter in ['a', 'p', 'f'] {
        assert!(of(letter).keys().all(|form| form.0 < 3), "{letter}: {found:?}");
    }
    let calls: BTreeSet<(u32, u32, bool)> = log
        .lines()
        .map(|line| {
            let values: Vec<&str> = line.split(' ').collect();
            let number = |at: usize| values[at].parse::<u32>().unwrap();
            assert!(number(3) != 100 || number(6) <= 16_354, "{line}");
            (number(3), number(0), number(5) == number(6))
        })
        .collect();
    let whole: Vec<_> = calls.iter().filter(|(id, ..)| *id > 1).collect();
    assert_eq!(whole, [&(2, 16, true), &(100, 16, true)], "{calls:?}");

    // compressed pages have nonces of their own, too; temporary tables do not
    let units = units(&log);
    let (nonces, twice) = repeated(&units, Kind::Table);
    assert!(nonces > 1000 && twice == 0, "{twice} of {nonces}");
    let (nonces, twice) = repeated(&units, Kind::Own);
    assert!(twice > 100, "{twice} of {nonces}");
    let is_long = |same: &Vec<Unit>| same.len() > 1 && same[0].bytes == 64 << 10;
    let long = units.values().filter(|one| is_long(one)).count();
    println!("{long} nonces of merges and logs of rows with two contents");
    assert!(pairs_without_a_pad(&units) > 1000);
}
