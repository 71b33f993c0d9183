//! Attacks on the files of a WiredTiger database: every field of its page, block and record headers set to hostile
//! values, one and two at a time, checksums repaired; pages and records in the place of others. Each is done to a fresh
//! copy, which is then opened and read whole, and what came of it is counted.
//!
//! `SEALSTONE_ATTACKS` says how many changes of headers are tried (250), `SEALSTONE_ATTACK_SEED` which of them; a failure
//! prints what was changed.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use sealstone_e2e::wiredtiger_attack::{Attack, Field, Kind, Outcome, Tally, Unit, hostile_values, outcome, units};
use sealstone_e2e::wiredtiger_files::files;
use sealstone_e2e::wiredtiger_program::Database;
use sealstone_keys::file::KeyFile;

/// A database that was written to three times: `checkpointed` twice, then killed, so that its newest rows are in the
/// journal alone.
struct Victim {
    database: Database,
    config: String,
    /// What is in it at the end, and what was before.
    now: String,
    before: Vec<String>,
    /// Its files as they were after the first time.
    older: PathBuf,
}

fn copy(from: &Path, to: &Path) {
    for file in files(from) {
        let target = to.join(file.strip_prefix(from).unwrap());
        fs::create_dir_all(target.parent().unwrap()).unwrap();
        fs::copy(&file, target).unwrap();
    }
}

impl Victim {
    fn new(test: &str) -> Option<Self> {
        let database = Database::new(test)?;
        KeyFile::create(database.key(), "orders").unwrap();
        let config = database.config(",cipher=aes-256");
        database.fill(&config, 0, 400, "first");
        let older = database.dir().join("older");
        copy(&database.db(), &older);
        let first = database.dump(&config);
        database.fill(&config, 0, 300, "second");
        let second = database.dump(&config);
        database.fill_and_kill(&config, 200, 120, "third");
        // read from a copy: reading replays the journal and writes a checkpoint
        let replayed = database.dir().join("replayed");
        copy(&database.db(), &replayed);
        let output = database.command(database.program(), &replayed, &config, &["dump", "table:t"]).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        let now = String::from_utf8(output.stdout).unwrap();
        assert!(now.contains(" third ") && now.contains(" second ") && now.contains(" first "), "{now}");
        Some(Self { database, config, now, before: vec![first, second], older })
    }

    /// Does every attack, two at a time, and counts.
    fn suffer(&self, attacks: &[Attack]) -> Tally {
        let before: Vec<&str> = self.before.iter().map(String::as_str).collect();
        let (next, tally) = (AtomicUsize::new(0), Mutex::new(Tally::default()));
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    while let Some(attack) = attacks.get(next.fetch_add(1, Ordering::Relaxed)) {
                        let dir = tempfile::tempdir_in(self.database.dir()).unwrap();
                        copy(&self.database.db(), dir.path());
                        attack.apply(dir.path());
                        let (came, said) = outcome(&self.database, dir.path(), &self.config, &self.now, &before);
                        tally.lock().unwrap().add(&attack.class, came, &attack.what, &said);
                    }
                });
            }
        });
        tally.into_inner().unwrap()
    }

    fn bytes(&self, unit: &Unit) -> Vec<u8> {
        fs::read(self.database.db().join(&unit.file)).unwrap()[unit.at..][..unit.bytes].to_vec()
    }
}

fn value(unit: &[u8], field: Field) -> u64 {
    let mut bytes = [0; 8];
    bytes[..field.bytes].copy_from_slice(&unit[field.at..][..field.bytes]);
    u64::from_le_bytes(bytes)
}

fn number(variable: &str, default: u64) -> u64 {
    let given = std::env::var(variable).ok().filter(|text| !text.is_empty());
    given.map_or(default, |text| text.parse().unwrap_or_else(|_| panic!("{variable}={text} is no number")))
}

/// Every field with every hostile value on some unit, in an order that the seed says; after these, pairs of fields.
fn attacks_on_headers(victim: &Victim, count: usize, rng: &mut StdRng) -> Vec<Attack> {
    let units: Vec<(Unit, Vec<u8>)> = units(&victim.database.db()).into_iter().map(|unit| (victim.bytes(&unit), unit)).map(|(bytes, unit)| (unit, bytes)).collect();
    let of = |kind: Kind| units.iter().filter(|(unit, _)| unit.kind == kind).collect::<Vec<_>>();
    let (pages, records) = (of(Kind::Page), of(Kind::Record));
    assert!(pages.len() > 10 && records.len() > 100, "{} pages, {} records", pages.len(), records.len());
    let mut attacks = Vec::new();
    for units in [&pages, &records] {
        for field in units[0].0.fields() {
            for place in 0..hostile_values(*field, 0x1234).len() {
                let (unit, bytes) = units[rng.random_range(0..units.len())];
                let values = hostile_values(*field, value(bytes, *field));
                attacks.push(Attack::on_fields(unit, bytes, &[(*field, values[place % values.len()])]));
            }
        }
    }
    attacks.shuffle(rng);
    let singles = count * 3 / 4;
    attacks.truncate(singles);
    while attacks.len() < count {
        let units = if rng.random_bool(0.6) { &pages } else { &records };
        let (unit, bytes) = units[rng.random_range(0..units.len())];
        let mut any = || {
            let field = unit.fields()[rng.random_range(0..unit.fields().len())];
            let values = hostile_values(field, value(bytes, field));
            (field, values[rng.random_range(0..values.len())])
        };
        let fields = [any(), any()];
        if fields[0].0.name != fields[1].0.name {
            attacks.push(Attack::on_fields(unit, bytes, &fields));
        }
    }
    attacks
}

#[test]
fn changed_headers_give_no_other_data() {
    let Some(victim) = Victim::new("changed_headers_give_no_other_data") else { return };
    let (count, seed) = (number("SEALSTONE_ATTACKS", 250) as usize, number("SEALSTONE_ATTACK_SEED", 1));
    let attacks = attacks_on_headers(&victim, count, &mut StdRng::seed_from_u64(seed));
    let tally = victim.suffer(&attacks);
    println!("WiredTiger's own headers, checksums repaired, {count} changes, seed {seed}:\n{}", tally.table());
    for bad in [Outcome::Stale, Outcome::Lost, Outcome::Forged, Outcome::Crashed, Outcome::Hung] {
        assert_eq!(tally.count(bad), 0, "{bad:?} with seed {seed}:\n{}", tally.examples());
    }
    assert!(tally.count(Outcome::Refused) > 0);
}
