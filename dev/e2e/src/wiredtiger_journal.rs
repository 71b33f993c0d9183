//! Changes that an attacker who can write to a directory makes to the journal of a WiredTiger
//! database as a whole: files removed, cut, exchanged and restored to an earlier state, records
//! left out, repeated and inserted, and the same for the account of the journal.
//!
//! Not here: fields of single records (`wiredtiger_attack`), and the outcome of an attack
//! (`wiredtiger_attack::outcome`).

use std::fs;
use std::ops::Range;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use nix::sys::stat::Mode;
use nix::unistd::mkfifo;

use crate::wiredtiger_attack::{Kind, repair_record, units};
use crate::wiredtiger_files::files;

/// Name of the account of a journal.
pub const ACCOUNT: &str = "SEALSTONE-JOURNAL";

/// Offset of the second copy of the account, in bytes.
const SECOND_COPY_AT: usize = 64 << 10;

/// One change of a copy of the files.
pub struct FileAttack {
    /// Class under which the table counts the attack.
    pub class: &'static str,
    /// Description of the change.
    pub what: String,
    /// Does it to the files in a directory.
    pub change: Box<dyn Fn(&Path) + Send + Sync>,
}

impl FileAttack {
    fn new(
        class: &'static str,
        what: impl Into<String>,
        change: impl Fn(&Path) + Send + Sync + 'static,
    ) -> Self {
        Self { class, what: what.into(), change: Box::new(change) }
    }
}

/// Returns the names of the journal files in `db`, in their order.
#[must_use]
pub fn journal(db: &Path) -> Vec<String> {
    let name = |path: PathBuf| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    files(db).into_iter().map(name).filter(|name| name.starts_with("WiredTigerLog.")).collect()
}

/// Returns the ranges of the encrypted records in the journal file `name`.
fn records(db: &Path, name: &str) -> Vec<Range<usize>> {
    let here = |unit: &crate::wiredtiger_attack::Unit| {
        unit.kind == Kind::Record && unit.file == Path::new(name)
    };
    units(db).into_iter().filter(here).map(|unit| unit.at..unit.at + unit.bytes).collect()
}

fn change(path: &Path, change: impl FnOnce(&mut Vec<u8>)) {
    let mut bytes = fs::read(path).expect("a file");
    change(&mut bytes);
    fs::write(path, bytes).expect("written");
}

/// Puts something else in the place of the file `path`.
fn put(kind: &str, path: &Path) {
    fs::remove_file(path).expect("removed");
    let put = match kind {
        "a FIFO" => mkfifo(path, Mode::S_IRWXU).map_err(std::io::Error::from),
        "a socket" => UnixListener::bind(path).map(drop),
        "a directory" => fs::create_dir(path),
        "a link to nowhere" => symlink("nowhere", path),
        _ => symlink(path, path),
    };
    put.expect(kind);
}

/// Returns every attack on the journal of `db`, whose files are synced and hold data that is
/// nowhere else. `before` is the same database at an earlier time, `other` another database under
/// the same key, `clear` an unencrypted database.
///
/// # Panics
/// If there are not as many files and records as that takes.
#[must_use]
pub fn attacks(db: &Path, before: &Path, other: &Path, clear: &Path) -> Vec<FileAttack> {
    let names = journal(db);
    assert!(names.len() >= 2, "{names:?}");
    let mut found = Vec::new();
    for name in &names {
        on_file(db, name, &mut found);
        on_records(db, name, &mut found);
        for (class, from) in
            [("a file of a database in the clear", clear), ("a file of another database", other)]
        {
            for theirs in journal(from) {
                let (from, name) = (from.join(&theirs), name.clone());
                let what = format!("{name} is {}", from.display());
                found.push(FileAttack::new(class, what, move |db| {
                    fs::copy(&from, db.join(&name)).expect("copied");
                }));
            }
        }
    }
    let (first, last) = (names[0].clone(), names[names.len() - 1].clone());
    for name in [first.as_str(), last.as_str(), ACCOUNT, "WiredTiger.wt", "WiredTiger.turtle"] {
        for kind in ["a FIFO", "a socket", "a directory", "a link to nowhere", "a link to itself"] {
            let name = name.to_owned();
            let what = format!("{kind} in the place of {name}");
            found.push(FileAttack::new("no file", what, move |db| put(kind, &db.join(&name))));
        }
    }
    let swap = [first.clone(), last.clone()];
    found.push(FileAttack::new("files exchanged", "the first and the last", move |db| {
        let [one, two] = swap.each_ref().map(|name| db.join(name));
        let bytes = [fs::read(&one).expect("a file"), fs::read(&two).expect("a file")];
        fs::write(one, &bytes[1]).expect("written");
        fs::write(two, &bytes[0]).expect("written");
    }));
    let (from, number) =
        (last.clone(), last.rsplit('.').next().and_then(|digits| digits.parse::<u32>().ok()));
    let next = format!("WiredTigerLog.{:010}", number.expect("a number") + 1);
    found.push(FileAttack::new("a file added", next.clone(), move |db| {
        fs::copy(db.join(&from), db.join(&next)).expect("copied");
    }));
    let theirs = other.to_owned();
    found.push(FileAttack::new("a file added", "from another database", move |db| {
        let name = journal(&theirs).pop().expect("a file");
        fs::copy(theirs.join(name), db.join("WiredTigerLog.0000000999")).expect("copied");
    }));
    on_account(before, other, &names, &mut found);
    found.push(FileAttack::new("settings in the data directory", "no journal", |db| {
        fs::write(db.join("WiredTiger.config"), "log=(enabled=false)\n").expect("written");
    }));
    found
}

fn on_file(db: &Path, name: &str, found: &mut Vec<FileAttack>) {
    let file = name.to_owned();
    found.push(FileAttack::new("a file removed", name, move |db| {
        fs::remove_file(db.join(&file)).expect("removed")
    }));
    let file = name.to_owned();
    found.push(FileAttack::new("a file emptied", name, move |db| {
        fs::write(db.join(&file), "").expect("written")
    }));
    let file = name.to_owned();
    found.push(FileAttack::new("a file of zeros", name, move |db| {
        change(&db.join(&file), |bytes| bytes.fill(0))
    }));
    let records = records(db, name);
    let last = records.len() - 1;
    for at in [0, records.len() / 2, last] {
        // as the file was when this record was not written yet, and cut within it
        for (class, at) in [
            ("a file cut, or as it was", records[at].start),
            ("a file cut within a record", records[at].end - 128),
        ] {
            let (file, what) = (name.to_owned(), format!("{name} at {at}"));
            found.push(FileAttack::new(class, what.clone(), move |db| {
                change(&db.join(&file), |bytes| bytes.truncate(at))
            }));
            let file = name.to_owned();
            let zeros = move |db: &Path| change(&db.join(&file), |bytes| bytes[at..].fill(0));
            found.push(FileAttack::new(class, format!("{what}, zeros behind"), zeros));
        }
    }
}

fn on_records(db: &Path, name: &str, found: &mut Vec<FileAttack>) {
    let all = records(db, name);
    let (middle, end) = (all.len() / 2, all[all.len() - 1].end);
    let record = all[middle].clone();
    let mut push = |class, place: Range<usize>, edit: fn(&mut Vec<u8>, Range<usize>, usize)| {
        let (file, what) = (name.to_owned(), format!("{name} at {}", place.start));
        found.push(FileAttack::new(class, what, move |db| {
            change(&db.join(&file), |bytes| edit(bytes, place.clone(), end));
        }));
    };
    for place in [record.clone(), all[all.len() - 1].clone()] {
        push("a record left out", place.clone(), |bytes, place, _| drop(bytes.drain(place)));
        push("a record made zeros", place.clone(), |bytes, place, _| bytes[place].fill(0));
        push("a record damaged", place.clone(), |bytes, place, _| bytes[place.start + 60] ^= 1);
        push("a record in the clear by its flag", place, |bytes, place, _| {
            bytes[place.start + 8] &= !2;
            repair_record(&mut bytes[place]);
        });
    }
    push("a record repeated", record.clone(), |bytes, place, end| {
        let again = bytes[place].to_vec();
        bytes.splice(end..end, again);
    });
    push("a record repeated in place", record, |bytes, place, _| {
        let again = bytes[place.clone()].to_vec();
        bytes.splice(place.end..place.end, again);
    });
    // the two records that are never encrypted: the kind of file, and the end of the previous file
    for at in [20, 24, 128 + 17, 128 + 20, 128 + 24] {
        let what = format!("{name}, byte {at}");
        let file = name.to_owned();
        found.push(FileAttack::new("the first two records", what, move |db| {
            change(&db.join(&file), |bytes| {
                bytes[at] ^= 3;
                let first = at / 128 * 128;
                repair_record(&mut bytes[first..first + 128]);
            });
        }));
    }
}

fn on_account(before: &Path, other: &Path, names: &[String], found: &mut Vec<FileAttack>) {
    let remove = |db: &Path| fs::remove_file(db.join(ACCOUNT)).expect("removed");
    found.push(FileAttack::new("the account removed", "alone", remove));
    let all = names.to_vec();
    found.push(FileAttack::new("the account removed", "with the journal", move |db| {
        remove(db);
        all.iter().for_each(|name| fs::remove_file(db.join(name)).expect("removed"));
    }));
    let last = names[names.len() - 1].clone();
    found.push(FileAttack::new("the account removed", "with the newest file", move |db| {
        remove(db);
        fs::remove_file(db.join(&last)).expect("removed");
    }));
    found.push(FileAttack::new("the account emptied", "", |db| {
        fs::write(db.join(ACCOUNT), "").expect("written")
    }));
    for (class, from) in
        [("the account as it was", before), ("the account of another database", other)]
    {
        let from = from.join(ACCOUNT);
        found.push(FileAttack::new(class, from.display().to_string(), move |db| {
            fs::copy(&from, db.join(ACCOUNT)).expect("copied");
        }));
    }
    for places in [vec![0], vec![SECOND_COPY_AT], vec![0, SECOND_COPY_AT]] {
        for inside in [3, 30, 80] {
            let places = places.clone();
            let what =
                format!("byte {inside} of {} copies, the first at {}", places.len(), places[0]);
            found.push(FileAttack::new("the account changed", what, move |db| {
                change(&db.join(ACCOUNT), |bytes| {
                    places.iter().for_each(|at| bytes[at + inside] ^= 0x40)
                });
            }));
        }
    }
}
