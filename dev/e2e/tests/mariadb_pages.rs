//! Pages of MariaDB as they come to the disk over time, under our plug-in: whether a nonce is ever
//! used for two contents. Not here: everything else about the plug-in (`mariadb_plugin`).

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use sealstone_e2e::mariadb_place::{MariaDbPlace, does};
use sealstone_e2e::sql_server::{SqlKind, SqlServer};
use sealstone_servers::start_mariadb;

const PAGE_BYTES: usize = 16 << 10;

/// Time under load.
const LOAD: Duration = Duration::from_secs(8);

/// The version of a page's key, and what makes its nonce: its tablespace, its number, and when it
/// was written. All but the tablespace, a file each, stay in the clear in the page.
type Nonce = (u32, usize, u32, u64);

/// Pages that were seen.
#[derive(Default)]
struct Seen {
    /// The last bytes of each, which are a checksum of all of it, by its nonce.
    pages: HashMap<Nonce, u32>,
    /// Numbers of pages that came with another nonce than before.
    rewritten: u64,
    /// Nonces with two contents.
    pairs: Vec<Nonce>,
    latest: HashMap<(usize, u32), Nonce>,
}

impl Seen {
    /// Adds the pages of the file `path` of the tablespace `space`, but for those that are being
    /// written.
    fn add(&mut self, space: usize, path: &Path) {
        let content = fs::read(path).unwrap();
        for page in content.chunks_exact(PAGE_BYTES) {
            let number = |at: usize| u32::from_be_bytes(*page[at..].first_chunk().unwrap());
            let sum = number(PAGE_BYTES - 4);
            let version = number(0);
            if version == 0 || crc32c::crc32c(&page[..PAGE_BYTES - 4]) != sum {
                continue;
            }
            let written_at = u64::from_be_bytes(*page[16..].first_chunk().unwrap());
            let nonce = (version, space, number(4), written_at);
            if *self.pages.entry(nonce).or_insert(sum) != sum {
                self.pairs.push(nonce);
            }
            let before = self.latest.insert((nonce.1, nonce.2), nonce);
            self.rewritten += u64::from(before.is_some_and(|before| before != nonce));
        }
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
    does(
        &mut session,
        "CREATE TABLE t (id INT PRIMARY KEY, a INT, b VARCHAR(200), KEY (a)) ENGINE=InnoDB; INSERT \
         INTO t SELECT seq, 0, MD5(seq) FROM seq_1_to_50000; SET GLOBAL \
         innodb_max_dirty_pages_pct = 1",
    );
    let files = ["sealstone/t.ibd", "ibdata1"].map(|name| place.at("server/data").join(name));
    let is_over = AtomicBool::new(false);
    let mut seen = Seen::default();
    for round in 0..2 {
        let mut session = server.session();
        is_over.store(false, Ordering::Relaxed);
        thread::scope(|scope| {
            scope.spawn(|| {
                let begin = Instant::now();
                let mut step = 0;
                while begin.elapsed() < LOAD {
                    step += 1;
                    does(
                        &mut session,
                        &format!(
                            "UPDATE t SET a = a + 1, b = MD5({step} + id) WHERE id % 97 = {} ",
                            step % 97
                        ),
                    );
                }
                is_over.store(true, Ordering::Relaxed);
            });
            while !is_over.load(Ordering::Relaxed) {
                files.iter().enumerate().for_each(|(space, file)| seen.add(space, file));
                thread::sleep(Duration::from_millis(50));
            }
        });
        // what is recovered is written again
        if round == 0 {
            drop(session);
            server.kill();
            server.start_again();
        }
    }
    files.iter().enumerate().for_each(|(space, file)| seen.add(space, file));
    println!("{} pages seen, {} rewritten", seen.pages.len(), seen.rewritten);
    assert!(seen.rewritten > 1_000, "{} rewritten", seen.rewritten);
    assert_eq!(seen.pairs, [], "of {} pages", seen.pages.len());
}
