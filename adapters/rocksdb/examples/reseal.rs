//! A program that has its sealed database open reseals it under another cipher and a newer key,
//! while it continues reading and writing; and a plain database becomes a sealed one in the same
//! way.
//!
//! `cargo run --example reseal`

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use sealstone_cipher::{Backend, cipher};
use sealstone_keys::KeyFile;
use sealstone_rocksdb::reseal::{Report, Reseal, ResealError};
use sealstone_rocksdb::{Db, DbOptions, PlainEnv, SealedEnv, Sealing, rest};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let dir = tempfile::tempdir()?;
    let keys = Arc::new(KeyFile::create(dir.path().join("orders.key"), "orders")?);
    let aes = cipher("aes-256")?;
    let aria = cipher("aria-256")?;

    // a database under AES, in use
    let sealed = dir.path().join("orders");
    let db =
        SealedEnv::new(keys.clone(), aes, Backend::auto()).open(&sealed, &DbOptions::default())?;
    fill(&db)?;
    let report = in_use(&db, || {
        Reseal::new(&db, aria).rate(64_000_000).run(&AtomicBool::new(false), &mut |_| ())
    })??;
    tell(&report);
    assert!(report.is_finished());
    db.close()?;

    // a database in the clear, made long ago by another program; it is read unchanged until it is
    // sealed
    let plain = dir.path().join("plain");
    let db = PlainEnv::new().open(&plain, &DbOptions::default())?;
    fill(&db)?;
    db.close()?;
    let env = SealedEnv::converting(Sealing::new(keys.clone(), aes, Backend::auto()));
    let db = env.open_stored(&plain)?;
    let report = in_use(&db, || {
        Reseal::new(&db, aes).rate(64_000_000).run(&AtomicBool::new(false), &mut |_| ())
    })??;
    tell(&report);
    assert!(report.left.is_empty());
    db.close()?;

    // nothing is left in the clear, and all of it is whole
    assert!(rest::status(&plain)?.not_sealed.is_empty());
    assert!(rest::verify(&plain, &*keys, Backend::auto(), None, &mut |_| ())?.is_whole());
    Ok(())
}

fn fill(db: &Db) -> Result<(), sealstone_rocksdb::Error> {
    for n in 0..200_000 {
        db.put(
            format!("order {n:06}").as_bytes(),
            format!("{n} apples at {} each", n % 97).as_bytes(),
            false,
        )?;
    }
    db.flush()
}

/// Runs `work` while another thread reads and writes.
fn in_use(
    db: &Db,
    work: impl FnOnce() -> Result<Report, ResealError>,
) -> Result<Result<Report, ResealError>, sealstone_rocksdb::Error> {
    let (done, count) = (AtomicBool::new(false), AtomicU64::new(0));
    thread::scope(|scope| {
        let user = scope.spawn(|| {
            while !done.load(Ordering::Acquire) {
                let n = count.fetch_add(1, Ordering::Relaxed) * 7919 % 200_000;
                let order = format!("order {n:06}");
                let apples =
                    db.get(order.as_bytes())?.expect("it is there, before, during and after");
                db.put(order.as_bytes(), &apples, false)?;
            }
            Ok(())
        });
        let result = work();
        done.store(true, Ordering::Release);
        user.join().expect("it does not panic")?;
        println!("{} reads and as many writes while it ran", count.load(Ordering::Relaxed));
        Ok(result)
    })
}

fn tell(report: &Report) {
    println!(
        "{} files, {} bytes now under {} and key {} version {}, after {:.2} s",
        report.files,
        report.rewritten_bytes,
        report.cipher,
        report.key_id,
        report.key_version,
        report.elapsed_s
    );
    for left in &report.left {
        println!("  {}: {}", left.file, left.why.words());
    }
}
