//! Attacks on the files of a WiredTiger database: every field of its page, block and record headers
//! set to hostile values, one and two at a time, checksums repaired; pages and records in the place
//! of others; journal files and the account of them removed, cut, exchanged. Each is done to a
//! fresh copy, which is then opened and read whole, and the outcome is counted: an error, or the
//! data that was there.
//!
//! `SEALSTONE_ATTACKS` sets how many changes of headers are tried (120), `SEALSTONE_ATTACK_SEED`
//! selects them; a failure prints the change.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use sealstone_e2e::wiredtiger_attack::{
    Attack, Field, Kind, Outcome, Tally, Unit, hostile_values, outcome, units,
};
use sealstone_e2e::wiredtiger_files::files;
use sealstone_e2e::wiredtiger_journal::{self, FileAttack};
use sealstone_e2e::wiredtiger_program::{Database, LOG};
use sealstone_keys::KeyFile;

/// A database that was written to three times: `checkpointed` twice, then killed, so that its
/// newest rows are in the journal alone.
struct Victim {
    database: Database,
    config: String,
    /// Contents of the database at the end, and before.
    now: String,
    before: Vec<String>,
    /// Its files as they were after the first time.
    older: PathBuf,
}

type Change = Box<dyn Fn(&Path) + Send + Sync>;

/// Outcomes that no attack may have.
const BAD: [Outcome; 5] =
    [Outcome::Stale, Outcome::Lost, Outcome::Forged, Outcome::Crashed, Outcome::Hung];

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
        database.fill(&config, 0, 600, "first");
        let older = database.dir().join("older");
        copy(&database.db(), &older);
        let first = database.dump(&config);
        database.fill(&config, 0, 300, "second");
        let second = database.dump(&config);
        // more than one journal file holds
        database.fill_and_kill(&config, 200, 240, "third");
        // read from a copy: reading replays the journal and writes a checkpoint
        let replayed = database.dir().join("replayed");
        copy(&database.db(), &replayed);
        let output = database
            .command(database.program(), &replayed, &config, &["dump", "table:t"])
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        let now = String::from_utf8(output.stdout).unwrap();
        // nothing that was synced is lost
        assert_eq!(now.matches(" third ").count(), 240, "{now}");
        assert!(now.contains(" second ") && now.contains(" first "), "{now}");
        Some(Self { database, config, now, before: vec![first, second], older })
    }

    /// Does every attack, two at a time, and counts.
    fn suffer(&self, attacks: &[Attack]) -> Tally {
        let one = |attack: &Attack| {
            let attack = attack.clone();
            (
                attack.class.clone(),
                attack.what.clone(),
                Box::new(move |db: &Path| attack.apply(db)) as Change,
            )
        };
        self.suffer_changes(&attacks.iter().map(one).collect::<Vec<_>>())
    }

    fn suffer_changes(&self, changes: &[(String, String, Change)]) -> Tally {
        let before: Vec<&str> = self.before.iter().map(String::as_str).collect();
        let (next, tally) = (AtomicUsize::new(0), Mutex::new(Tally::default()));
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    while let Some((class, what, change)) =
                        changes.get(next.fetch_add(1, Ordering::Relaxed))
                    {
                        let dir = tempfile::tempdir_in(self.database.dir()).unwrap();
                        copy(&self.database.db(), dir.path());
                        change(dir.path());
                        let (came, said) =
                            outcome(&self.database, dir.path(), &self.config, &self.now, &before);
                        tally.lock().unwrap().add(class, came, what, &said);
                    }
                });
            }
        });
        tally.into_inner().unwrap()
    }

    /// Returns every unit with its bytes.
    fn units(&self) -> Vec<(Unit, Vec<u8>)> {
        with_bytes(&self.database.db(), units(&self.database.db()))
    }
}

fn with_bytes(db: &Path, units: Vec<Unit>) -> Vec<(Unit, Vec<u8>)> {
    let bytes =
        |unit: &Unit| fs::read(db.join(&unit.file)).unwrap()[unit.at..][..unit.bytes].to_vec();
    units.into_iter().map(|unit| (bytes(&unit), unit)).map(|(bytes, unit)| (unit, bytes)).collect()
}

fn value(unit: &[u8], field: Field) -> u64 {
    let mut bytes = [0; 8];
    bytes[..field.bytes].copy_from_slice(&unit[field.at..][..field.bytes]);
    u64::from_le_bytes(bytes)
}

fn number(variable: &str, default: u64) -> u64 {
    let given = std::env::var(variable).ok().filter(|text| !text.is_empty());
    given.map_or(default, |text| {
        text.parse().unwrap_or_else(|_| panic!("{variable}={text} is no number"))
    })
}

/// Returns every field with every hostile value on some unit, in an order set by the seed; after
/// these, pairs of fields.
fn attacks_on_headers(victim: &Victim, count: usize, rng: &mut StdRng) -> Vec<Attack> {
    let units = victim.units();
    let of = |kind: Kind| units.iter().filter(|(unit, _)| unit.kind == kind).collect::<Vec<_>>();
    let (pages, records) = (of(Kind::Page), of(Kind::Record));
    assert!(
        pages.len() > 10 && records.len() > 100,
        "{} pages, {} records",
        pages.len(),
        records.len()
    );
    let mut attacks = Vec::new();
    for units in [&pages, &records] {
        for field in units[0].0.fields() {
            for place in 0..hostile_values(*field, 0x1234).len() {
                let (unit, bytes) = units[rng.random_range(0..units.len())];
                let values = hostile_values(*field, value(bytes, *field));
                attacks.push(Attack::on_fields(
                    unit,
                    bytes,
                    &[(*field, values[place % values.len()])],
                ));
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
    let (count, seed) =
        (number("SEALSTONE_ATTACKS", 120) as usize, number("SEALSTONE_ATTACK_SEED", 1));
    let attacks = attacks_on_headers(&victim, count, &mut StdRng::seed_from_u64(seed));
    let tally = victim.suffer(&attacks);
    println!(
        "WiredTiger's own headers, checksums repaired, {count} changes, seed {seed}:\n{}",
        tally.table()
    );
    for bad in BAD {
        assert_eq!(tally.count(bad), 0, "{bad:?} with seed {seed}:\n{}", tally.examples());
    }
    assert!(tally.count(Outcome::Refused) > 0);
}

/// Units in the place of others of the same length, header, block and all, with the checksums that
/// are expected there. Pages are distinguished by their checksum, which no free byte can correct,
/// journal records by the tag of their place.
#[test]
fn exchanged_units_are_found() {
    let Some(victim) = Victim::new("exchanged_units_are_found") else { return };
    let count = (number("SEALSTONE_ATTACKS", 120) as usize / 8).max(15);
    let seed = number("SEALSTONE_ATTACK_SEED", 1);
    let mut rng = StdRng::seed_from_u64(seed);
    let units = victim.units();
    let older = with_bytes(&victim.older, sealstone_e2e::wiredtiger_attack::units(&victim.older));
    let mut pages: Vec<Attack> = Vec::new();
    let mut records: Vec<Attack> = Vec::new();
    for (unit, bytes) in &units {
        let same_kind = |other: &&(Unit, Vec<u8>)| {
            other.0.kind == unit.kind && other.0.bytes == unit.bytes && other.1 != *bytes
        };
        let here: Vec<_> = units.iter().filter(same_kind).collect();
        let before: Vec<_> = older.iter().filter(same_kind).collect();
        let (list, names) = match unit.kind {
            Kind::Page => (&mut pages, ["a page for a page", "an older page for a page"]),
            Kind::Record => {
                (&mut records, ["a record for a record", "an older record for a record"])
            }
        };
        for (name, others) in names.into_iter().zip([here, before]) {
            if !others.is_empty() {
                let (other, with) = others[rng.random_range(0..others.len())];
                list.push(Attack::in_place(name, unit, other, with));
            }
        }
    }
    records.extend(records_in_the_clear(&units, &mut rng));
    pages.shuffle(&mut rng);
    pages.truncate(count);
    records.shuffle(&mut rng);
    records.truncate(count);
    for (units, of) in [(pages, "pages"), (records, "journal records")] {
        let tally = victim.suffer(&units);
        println!("{of} in the place of others, seed {seed}:\n{}", tally.table());
        assert!(tally.count(Outcome::Refused) > 0, "{}", tally.table());
        for bad in BAD {
            assert_eq!(tally.count(bad), 0, "{bad:?} with seed {seed}:\n{}", tally.examples());
        }
    }
}

/// The files of the journal, and the account of them.
#[test]
fn the_journal_is_the_one_that_was_written() {
    let Some(victim) = Victim::new("the_journal_is_the_one_that_was_written") else { return };
    let (other, clear) =
        (Database::new("another").unwrap(), Database::new("in the clear").unwrap());
    fs::copy(victim.database.key(), other.key()).unwrap();
    for (database, config) in
        [(&other, other.config(",cipher=aes-256")), (&clear, format!("create,{LOG}"))]
    {
        database.fill(&config, 0, 10, "first");
        database.fill_and_kill(&config, 200, 60, "forged");
    }
    let attacks =
        wiredtiger_journal::attacks(&victim.database.db(), &victim.older, &other.db(), &clear.db());
    let change = |FileAttack { class, what, change }| (String::from(class), what, change);
    let tally = victim.suffer_changes(&attacks.into_iter().map(change).collect::<Vec<_>>());
    println!("the journal as a whole:\n{}", tally.table());
    for bad in BAD {
        assert_eq!(tally.count(bad), 0, "{bad:?}:\n{}", tally.examples());
    }
    assert!(tally.count(Outcome::Refused) > tally.count(Outcome::Harmless), "{}", tally.table());
}

/// Records of a database that is not encrypted, in the place of encrypted ones of the same length.
fn records_in_the_clear(units: &[(Unit, Vec<u8>)], rng: &mut StdRng) -> Vec<Attack> {
    let Some(plain) = Database::new("records_in_the_clear") else { return Vec::new() };
    let config = &format!("create,{LOG}");
    plain.fill(config, 0, 400, "first");
    plain.fill(config, 0, 300, "second");
    plain.fill_and_kill(config, 200, 120, "forged");
    let mut found = Vec::new();
    for path in files(&plain.db())
        .into_iter()
        .filter(|path| path.to_string_lossy().contains("WiredTigerLog."))
    {
        let bytes = fs::read(&path).unwrap();
        let mut at = 128;
        while let Some(length) = bytes
            .get(at..at + 4)
            .map(|length| u32::from_le_bytes(length.try_into().unwrap()) as usize)
            && length > 0
        {
            let record = &bytes[at..at + length];
            if memchr::memmem::find(record, b" forged ").is_some() {
                let unit = Unit {
                    file: "a database in the clear".into(),
                    at,
                    bytes: length,
                    kind: Kind::Record,
                };
                found.push((unit, record.to_vec()));
            }
            at += length.next_multiple_of(128);
        }
    }
    assert!(!found.is_empty(), "no record in the clear");
    let mut attacks = Vec::new();
    for (unit, _) in units.iter().filter(|(unit, _)| unit.kind == Kind::Record) {
        let same: Vec<_> = found.iter().filter(|(other, _)| other.bytes == unit.bytes).collect();
        if !same.is_empty() && rng.random_bool(0.1) {
            let (other, with) = same[rng.random_range(0..same.len())];
            attacks.push(Attack::in_place("a record in the clear for a record", unit, other, with));
        }
    }
    attacks
}
