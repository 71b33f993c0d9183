//! Pages of MariaDB as they come to the disk over time, under our plug-in: whether a nonce is ever
//! used for two contents by one server, and what is seen where a restored backup beside its
//! original does so.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use sealstone_e2e::mariadb_place::{MariaDbPlace, Sets, can_back_up, copy_as, does};
use sealstone_e2e::sql_server::{SqlKind, SqlServer, SqlSession};
use sealstone_servers::start_mariadb;

const PAGE_BYTES: usize = 16 << 10;
/// Place in the first page of a tablespace of what its key is made from: a mark, a kind, a length
/// and the bytes.
const KEY_SEED: usize = 10_428;
const KEY_SEED_MARK: &[u8] = b"s\x0e\x0cREt\x01\x10";
/// Bytes of a page that are enciphered.
const ENCIPHERED: std::ops::Range<usize> = 26..PAGE_BYTES - 4;
/// Length of a cipher's block, in bytes.
const BLOCK_BYTES: usize = 16;

/// Time under load.
const LOAD: Duration = Duration::from_secs(8);
/// Time in which the server's threads have everything under a new version.
const ROTATION_LIMIT: Duration = Duration::from_secs(180);

/// Key and nonce of a page: what its tablespace's key is made from and the version of ours, the
/// number of the tablespace, that of the page, and when it was written.
type Nonce = ([u8; 16], u32, u32, u32, u64);

/// Pages that were seen.
#[derive(Default)]
struct Seen {
    /// Content of each, by its nonce.
    pages: HashMap<Nonce, Vec<u8>>,
    /// Number of pages that came with another nonce than before.
    rewritten: u64,
    /// Number of times that a nonce came from another server, with the same page.
    repeated: u64,
    /// Nonces with two contents, and the number of blocks at the same place that are equal.
    pairs: Vec<(Nonce, usize)>,
    /// Nonce that a page of a server's tablespace had last.
    latest: HashMap<(usize, [u8; 16], u32, u32), Nonce>,
}

impl Seen {
    /// Adds the pages of all of InnoDB's files in the data directory `data` of the server `server`.
    fn add(&mut self, server: usize, data: &Path) {
        for dir in [data.to_owned(), data.join("mysql"), data.join("sealstone")] {
            for entry in fs::read_dir(dir).unwrap() {
                let path = entry.unwrap().path();
                let name = path.file_name().unwrap().to_string_lossy().into_owned();
                let has_pages = name.ends_with(".ibd")
                    || ["ibdata", "undo"].iter().any(|begin| name.starts_with(begin));
                // a file that has gone in the meantime is left out
                if let Ok(content) = fs::read(&path)
                    && has_pages
                {
                    self.add_file(server, &content);
                }
            }
        }
    }

    /// Adds the pages of a file, but for those that are being written and for copies of pages of
    /// other files, which the doublewrite buffer has.
    fn add_file(&mut self, server: usize, content: &[u8]) {
        let pages = content.chunks_exact(PAGE_BYTES).enumerate();
        let mut whole = pages.filter(|(at, page)| {
            crc32c::crc32c(&page[..PAGE_BYTES - 4]) == number(page, PAGE_BYTES - 4)
                && number(page, 4) as usize == *at
        });
        let Some((0, first)) = whole.next() else { return };
        let Some(seed) = first[KEY_SEED..].strip_prefix(KEY_SEED_MARK) else { return };
        let (seed, space) = (*seed.first_chunk().unwrap(), number(first, 34));
        for (_, page) in whole.filter(|(_, page)| number(page, 0) != 0) {
            let written_at = u64::from_be_bytes(*page[16..].first_chunk().unwrap());
            let nonce = (seed, number(page, 0), space, number(page, 4), written_at);
            let before = self.latest.insert((server, seed, space, number(page, 4)), nonce);
            if before == Some(nonce) && self.pages[&nonce] == page {
                continue;
            }
            self.rewritten += u64::from(before.is_some());
            match self.pages.entry(nonce) {
                Entry::Vacant(unseen) => drop(unseen.insert(page.to_vec())),
                Entry::Occupied(seen) if seen.get() == page => self.repeated += 1,
                Entry::Occupied(seen) => {
                    let blocks = |page: &[u8]| {
                        let blocks = page[ENCIPHERED].chunks(BLOCK_BYTES).map(<[u8]>::to_vec);
                        blocks.collect::<Vec<_>>()
                    };
                    let equal = blocks(seen.get()).into_iter().zip(blocks(page));
                    let equal = equal.filter(|(one, other)| one == other).count();
                    self.pairs.push((nonce, equal));
                }
            }
        }
    }

    /// Adds the pages of each of the data directories `data` until `is_over`, and once after it.
    fn watch(&mut self, data: &[&Path], is_over: &AtomicBool) {
        loop {
            let is_last = is_over.load(Ordering::Relaxed);
            data.iter().enumerate().for_each(|(server, data)| self.add(server, data));
            if is_last {
                return;
            }
            thread::sleep(Duration::from_millis(50));
        }
    }

    /// Prints what was seen, and asserts that more than `rewritten_min` pages were rewritten.
    fn judge(&self, rewritten_min: u64) {
        let Self { pages, rewritten, repeated, pairs, .. } = self;
        println!(
            "{} pages seen, {rewritten} rewritten, {repeated} again by another server, {} pairs",
            pages.len(),
            pairs.len()
        );
        assert!(*rewritten > rewritten_min, "{rewritten} rewritten");
    }
}

fn number(page: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(*page[at..].first_chunk().unwrap())
}

/// Makes the table `t` of `records` records, in a server that writes its pages early.
fn load(session: &mut SqlSession, records: u32) {
    does(
        session,
        &format!(
            "CREATE TABLE t (id INT PRIMARY KEY, a INT, b VARCHAR(200), KEY (a)) ENGINE=InnoDB; \
             INSERT INTO t SELECT seq, 0, MD5(seq) FROM seq_1_to_{records}; SET GLOBAL \
             innodb_max_dirty_pages_pct = 1"
        ),
    );
}

/// Changes records of `t` until `is_over`.
fn change(session: &mut SqlSession, is_over: &AtomicBool) {
    for step in 1_u64.. {
        if is_over.load(Ordering::Relaxed) {
            return;
        }
        let part = step % 97;
        does(
            session,
            &format!("UPDATE t SET a = a + 1, b = MD5({step} + id) WHERE id % 97 = {part}"),
        );
    }
}

#[test]
fn no_nonce_of_a_page_has_two_contents() {
    let test = "no_nonce_of_a_page_has_two_contents";
    if !SqlKind::MariaDb.is_available(test) {
        return;
    }
    let place = MariaDbPlace::new();
    let options = place.options(&place.settings("k.key", "aes-256"));
    let mut server = SqlServer::MariaDb(start_mariadb(&place.at("server"), options).unwrap());
    let mut session = server.session();
    load(&mut session, 50_000);
    let data = place.at("server/data");
    let mut seen = Seen::default();
    for round in 0..2 {
        let mut session = server.session();
        let is_over = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| change(&mut session, &is_over));
            scope.spawn(|| {
                thread::sleep(LOAD);
                is_over.store(true, Ordering::Relaxed);
            });
            seen.watch(&[&data], &is_over);
        });
        // what is recovered is written again
        if round == 0 {
            drop(session);
            server.kill();
            server.start_again();
        }
    }
    seen.add(0, &data);
    seen.judge(1_000);
    assert_eq!(seen.pairs, []);
}

/// Tables come and go, change online and are imported, and the key is rotated, under load.
#[test]
fn no_nonce_has_two_contents_while_tables_and_keys_change() {
    let test = "no_nonce_has_two_contents_while_tables_and_keys_change";
    if !SqlKind::MariaDb.is_available(test) {
        return;
    }
    let place = MariaDbPlace::new();
    let options = place.options(&place.settings("k.key", "aria-256"));
    let mut server = SqlServer::MariaDb(start_mariadb(&place.at("server"), options).unwrap());
    load(&mut server.session(), 20_000);
    let data = place.at("server/data");
    let mut seen = Seen::default();
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| change(&mut server.session(), &is_over));
        scope.spawn(|| {
            let _over = Sets(&is_over);
            let mut session = server.session();
            add_and_drop(&mut session);
            change_online(&mut session);
            rotate(&place, &mut session);
            import(&place, &mut session);
            rotate(&place, &mut session);
        });
        seen.watch(&[&data], &is_over);
    });
    let versions = seen.pages.keys().map(|nonce| nonce.1 >> 8);
    assert_eq!(versions.max(), Some(3));
    // what is recovered is written again
    server.kill();
    server.start_again();
    let sums = server.session().ask("CHECKSUM TABLE t, one, two EXTENDED");
    assert!(sums.len() == 3 && sums[1][1] == sums[2][1], "{sums:?}");
    seen.add(0, &data);
    seen.judge(1_000);
    assert_eq!(seen.pairs, []);
}

/// Makes tables of the same name and content over and over, and empties them.
fn add_and_drop(session: &mut SqlSession) {
    for _ in 0..8 {
        does(
            session,
            "CREATE TABLE u (KEY (b)) ENGINE=InnoDB AS SELECT id, b FROM t WHERE id < 3000; \
             DELETE FROM u WHERE id % 2; TRUNCATE u; INSERT INTO u SELECT id, b FROM t LIMIT 1000; \
             DROP TABLE u",
        );
    }
}

/// Changes the table while it is used under load: an index and a column are added and dropped, and
/// the whole table is rebuilt, with the log of what changes in the meantime.
fn change_online(session: &mut SqlSession) {
    for change in [
        "ADD KEY (b), ALGORITHM=INPLACE, LOCK=NONE",
        "ADD COLUMN d INT DEFAULT 5 FIRST, ALGORITHM=INPLACE, LOCK=NONE",
        "DROP KEY b, ALGORITHM=INPLACE, LOCK=NONE",
        "FORCE, ALGORITHM=INPLACE, LOCK=NONE",
        "DROP COLUMN d, FORCE, ALGORITHM=INPLACE, LOCK=NONE",
    ] {
        does(session, &format!("ALTER TABLE t {change}"));
    }
}

/// Imports the same tablespace as two tables, where it goes on differently.
fn import(place: &MariaDbPlace, session: &mut SqlSession) {
    does(
        session,
        "CREATE TABLE source ENGINE=InnoDB AS SELECT id, b FROM t; CREATE TABLE one LIKE source; \
         CREATE TABLE two LIKE source; ALTER TABLE one DISCARD TABLESPACE; ALTER TABLE two DISCARD \
         TABLESPACE; FLUSH TABLES source FOR EXPORT",
    );
    for (name, ending) in [("one", "ibd"), ("one", "cfg"), ("two", "ibd"), ("two", "cfg")] {
        let file = |name: &str| place.at(&format!("server/data/sealstone/{name}.{ending}"));
        copy_as(&file("source"), &file(name));
    }
    does(
        session,
        "UNLOCK TABLES; ALTER TABLE one IMPORT TABLESPACE; ALTER TABLE two IMPORT TABLESPACE",
    );
    for step in 0..10 {
        for (table, text) in [("source", "s"), ("one", "1"), ("two", "2")] {
            let changed = format!("UPDATE {table} SET b = MD5(CONCAT(b, '{text}', {step}))");
            does(session, &format!("{changed} WHERE id % 5 = {step} % 5"));
        }
    }
    does(session, "UPDATE one SET b = id; UPDATE two SET b = id");
}

/// Makes a newer version of the key, and waits until the server has everything under it.
fn rotate(place: &MariaDbPlace, session: &mut SqlSession) {
    does(session, "SET GLOBAL innodb_encryption_rotation_iops = 2000");
    let versions = "SELECT MAX(CURRENT_KEY_VERSION) FROM \
                    information_schema.INNODB_TABLESPACES_ENCRYPTION";
    let before = session.ask(versions);
    place.sealstone(&["keys", "rotate", "k.key"]).done();
    let begin = Instant::now();
    loop {
        let left = session.ask(&format!(
            "SELECT NAME, MIN_KEY_VERSION FROM information_schema.INNODB_TABLESPACES_ENCRYPTION \
             WHERE MIN_KEY_VERSION <= {} OR ROTATING_OR_FLUSHING",
            before[0][0]
        ));
        if left.is_empty() {
            return;
        }
        assert!(begin.elapsed() < ROTATION_LIMIT, "{left:?}");
        thread::sleep(Duration::from_millis(300));
    }
}

/// A restored backup has its original's keys and numbers and goes on from the same moment, so the
/// server does use nonces twice, for the same page or for another. What counts is what that shows:
/// whether a whole page is the same, and of pages that differ not one block.
#[test]
fn a_backup_beside_its_original_shows_no_more_than_that_whole_pages_are_the_same() {
    let test = "a_backup_beside_its_original_shows_no_more_than_that_whole_pages_are_the_same";
    if !SqlKind::MariaDb.is_available(test) || !can_back_up(test) {
        return;
    }
    let place = MariaDbPlace::new();
    let settings = place.settings("k.key", "aria-256");
    let original = start_mariadb(&place.at("server"), place.options(&settings)).unwrap();
    let original = SqlServer::MariaDb(original);
    load(&mut original.session(), 20_000);
    place.back_up(&original.address());
    let copy = start_mariadb(&place.at("copy"), place.options(&settings)).unwrap();
    let copy = SqlServer::MariaDb(copy);
    does(&mut copy.session(), "SET GLOBAL innodb_max_dirty_pages_pct = 1");
    let (data, copied) = (place.at("server/data"), place.at("copy/data"));
    let mut seen = Seen::default();
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        for server in [&original, &copy] {
            let is_over = &is_over;
            scope.spawn(move || change(&mut server.session(), is_over));
        }
        scope.spawn(|| {
            thread::sleep(LOAD);
            is_over.store(true, Ordering::Relaxed);
        });
        seen.watch(&[&data, &copied], &is_over);
    });
    assert!(seen.repeated > 100, "{} repeated", seen.repeated);
    seen.judge(1_000);
    assert!(seen.pairs.iter().all(|(_, equal)| *equal == 0), "{:?}", seen.pairs);
}
