//! Readers that open a store without its lock: they notice missing files, and do not mistake
//! concurrent writes for damage.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use sealstone_cipher::{Backend, cipher};
use sealstone_keys::EphemeralKey;
use sealstone_rocksdb::{Bottommost, Code, DbOptions, Error, FileAnchor, SealedEnv, Sealing};
use sealstone_seal::HEADER_BYTES;

use super::{Content, Site, files, put, read, scratch};

/// Time for which a writer works while another thread reads.
const BESIDE: Duration = Duration::from_secs(4);

fn site() -> Site {
    Site { scratch: scratch(), keys: Arc::new(EphemeralKey::new().unwrap()) }
}

fn env(site: &Site, anchor: Option<&Path>) -> SealedEnv {
    let mut sealing = Sealing::new(site.keys.clone(), cipher("aes-256").unwrap(), Backend::auto());
    sealing.anchor = anchor.map(|path| Arc::new(FileAnchor::new(path)) as _);
    SealedEnv::with(sealing)
}

fn read_alone(site: &Site, dir: &Path, anchor: Option<&Path>) -> Result<Content, Error> {
    read(&env(site, anchor).open_for_reading(dir, &[])?)
}

/// Ends the writing, however the reading ends.
struct End<'a>(&'a AtomicBool);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

fn log(dir: &Path) -> std::path::PathBuf {
    let mut logs: Vec<_> = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    logs.retain(|path| path.extension().is_some_and(|ending| ending == "log"));
    // the newest: one that was flushed may be removed a moment later
    logs.into_iter().max().unwrap()
}

#[test]
fn a_reader_alone_notices_what_is_missing() {
    let site = site();
    let path = |name: &str| site.scratch.path().join(name);
    for apart in [false, true] {
        let (dir, logs, anchor) = (path("db"), path("logs"), path("anchor"));
        let options = match apart {
            true => DbOptions {
                text: format!("create_if_missing=true;wal_dir={}", logs.display()),
                ..DbOptions::default()
            },
            false => DbOptions::default(),
        };
        let db = env(&site, Some(&anchor)).open(&dir, &options).unwrap();
        put(&db, 0..10, 1);
        db.close().unwrap();
        let older = files(&dir);
        let db = env(&site, Some(&anchor)).open(&dir, &options).unwrap();
        put(&db, 10..20, 1);
        db.close().unwrap();
        assert_eq!(read_alone(&site, &dir, Some(&anchor)).unwrap().len(), 20);

        let log = log(if apart { &logs } else { &dir });
        let kept = fs::read(&log).unwrap();
        fs::remove_file(&log).unwrap();
        let name = log.file_name().unwrap().to_str().unwrap();
        let error = read_alone(&site, &dir, None).unwrap_err();
        assert!(
            error.code == Code::Corruption && error.text.contains(&format!("{name}: missing: ")),
            "{error}"
        );
        fs::write(&log, kept).unwrap();
        assert_eq!(read_alone(&site, &dir, None).unwrap().len(), 20);

        // an older copy of everything was whole once
        for entry in fs::read_dir(&dir).unwrap() {
            fs::remove_file(entry.unwrap().path()).unwrap();
        }
        older.iter().for_each(|(name, stored)| fs::write(dir.join(name), stored).unwrap());
        let error = read_alone(&site, &dir, Some(&anchor)).unwrap_err();
        assert!(error.text.contains("older than its anchor"), "{error}");
        for gone in [dir, logs, anchor] {
            let _ = fs::remove_dir_all(&gone).or_else(|_| fs::remove_file(&gone));
        }
    }
}

#[test]
fn a_reader_beside_a_writer_reports_no_damage() {
    let site = site();
    let (dir, anchor) = (site.scratch.path().join("db"), site.scratch.path().join("anchor"));
    // logs, tables and manifests come and go as often as they can
    let text = "create_if_missing=true;write_buffer_size=65536;max_manifest_file_size=2048;\
                compression=kNoCompression;level0_file_num_compaction_trigger=2;\
                max_background_jobs=2";
    let options = DbOptions { text: text.into(), ..DbOptions::default() };
    let db = env(&site, Some(&anchor)).open(&dir, &options).unwrap();
    let (written, ended) = (AtomicU32::new(0), AtomicBool::new(false));
    let (mut read_whole, mut refused) = (0, Vec::new());
    thread::scope(|scope| {
        scope.spawn(|| {
            for n in 0.. {
                if ended.load(Ordering::Acquire) {
                    break;
                }
                db.put(&u32::to_be_bytes(n), &[n as u8; 500], true).unwrap();
                written.store(n + 1, Ordering::Release);
                if n % 50 == 49 {
                    db.flush().unwrap();
                }
                if n % 500 == 499 {
                    db.compact(Bottommost::Leave).unwrap();
                }
            }
        });
        let _end = End(&ended);
        let begin = Instant::now();
        while begin.elapsed() < BESIDE || (read_whole < 5 && begin.elapsed() < 10 * BESIDE) {
            match read_alone(&site, &dir, Some(&anchor)) {
                // a log that is flushed and removed between two steps of an opening is missing
                // without a seal, too, so the number of records proves nothing
                Ok(content) => {
                    for (key, value) in content {
                        let n = u32::from_be_bytes(key.try_into().unwrap());
                        assert!(
                            value == [n as u8; 500] && n <= written.load(Ordering::Acquire),
                            "{n}"
                        );
                    }
                    read_whole += 1;
                }
                // the error of a file that disappeared in between, as without a seal
                Err(error) if error.text.contains("No such file") => refused.push(error.text),
                Err(error) => panic!("after {read_whole} readings: {error}"),
            }
        }
    });
    println!(
        "{read_whole} readings beside {} writes, {} met a file that went",
        written.into_inner(),
        refused.len()
    );
    assert!(read_whole > 0, "{refused:?}");
}

#[test]
fn a_log_that_began_after_the_catalogue_was_read_holds_nothing_yet() {
    let site = site();
    let dir = site.scratch.path().join("db");
    let db = env(&site, None).open(&dir, &DbOptions::default()).unwrap();
    let reader = env(&site, None);
    let read_again = || read(&reader.open_for_reading(&dir, &[])?);
    for round in 0..3 {
        put(&db, round * 10..round * 10 + 10, 1);
        assert_eq!(read_again().unwrap().len(), round as usize * 10 + 10);
        db.flush().unwrap();
        // the moment before the header of the new log was written
        let (log, header) = (log(&dir), fs::read(log(&dir)).unwrap());
        assert_eq!(header.len(), HEADER_BYTES, "something was written to {}", log.display());
        fs::write(&log, []).unwrap();
        assert_eq!(read_again().unwrap().len(), round as usize * 10 + 10);
        fs::write(&log, header).unwrap();
    }

    // a log that nobody has listed stays an error, in a catalogue read before or after
    fs::write(dir.join("999999.log"), []).unwrap();
    for reader in [&reader, &env(&site, None)] {
        let error = reader.open_for_reading(&dir, &[]).and_then(|db| read(&db)).unwrap_err();
        assert!(error.code == Code::Corruption && error.text.contains("999999.log"), "{error}");
    }
}
