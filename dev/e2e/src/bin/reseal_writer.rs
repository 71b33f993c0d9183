//! Reseals a database repeatedly, under two ciphers alternately, while threads write to it, until
//! it is killed. Reports on stdout which writes were acknowledged, when a resealing began and
//! ended, and how far it is. The crash test (`tests/reseal_crash.rs`) starts it, kills it, and
//! checks that nothing is missing.
//!
//! `reseal_writer DIR KEY FIRST_CIPHER OTHER_CIPHER ROUND sealed|plain`; with `plain` the database
//! is converted once.

use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use sealstone_cipher::{Backend, cipher};
use sealstone_e2e::crash_load::{
    ACK_BYTES, RESEAL_BEGINS, RESEAL_ENDS, RESEAL_STEP_BYTES, RESEAL_STEPS, Step, THREADS, options,
};
use sealstone_keys::KeyFile;
use sealstone_rocksdb::reseal::{Progress, Reseal};
use sealstone_rocksdb::{Db, SealedEnv, Sealing, WriteBatch};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [dir, key, first, other, round, from] = arguments.as_slice() else {
        panic!("reseal_writer DIR KEY FIRST_CIPHER OTHER_CIPHER ROUND sealed|plain")
    };
    let round: u64 = round.parse().expect("ROUND is a number");
    let keys = Arc::new(KeyFile::open(key).expect("the key file"));
    let ciphers = [first, other].map(|name| cipher(name).expect("a known cipher"));
    let sealing = Sealing::new(keys, ciphers[0], Backend::auto());
    let from_plain = from == "plain";
    let env = if from_plain { SealedEnv::converting(sealing) } else { SealedEnv::with(sealing) };
    // slow enough that most kills meet it at work; RocksDB's own compactions would be done with a
    // plain store at once
    let rate_bytes_s = 4_000_000;
    let mut options = options();
    if from_plain {
        options.text.push_str(";disable_auto_compactions=true");
    }
    let db = env.open(Path::new(dir), &options).expect("the database opens");
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let db = &db;
            scope.spawn(move || write(db, thread, round));
        }
        let (mut before_bytes, mut steps) = (0, 0);
        for number in 0.. {
            let mut done_bytes = 0;
            let mut report = |progress: &Progress| {
                done_bytes = progress.done_bytes.max(done_bytes);
                while (steps + 1) * RESEAL_STEP_BYTES <= before_bytes + done_bytes {
                    acknowledge(RESEAL_STEPS, steps);
                    steps += 1;
                }
            };
            acknowledge(RESEAL_BEGINS, number);
            let reseal = Reseal::new(&db, ciphers[number as usize % 2]).rate(rate_bytes_s);
            let report = reseal.run(&AtomicBool::new(false), &mut report).expect("it reseals");
            before_bytes += done_bytes;
            assert!(report.is_finished(), "{report:?}");
            acknowledge(RESEAL_ENDS, number);
            if from_plain {
                assert!(report.left.iter().all(|left| !left.plain), "{report:?}");
                break;
            }
        }
    });
}

/// Runs one thread's steps for ever.
fn write(db: &Db, thread: u8, round: u64) {
    for number in 0.. {
        let step = Step::new(thread, round, number);
        let mut batch = WriteBatch::new();
        for key in step.keys() {
            match step.value() {
                Some(value) => batch.put(&key, &value),
                None => batch.delete(&key),
            }
        }
        db.write(&mut batch, false).expect("a write");
        acknowledge(thread, number);
    }
}

fn acknowledge(who: u8, number: u64) {
    let mut ack = [0; ACK_BYTES];
    ack[0] = who;
    ack[1..].copy_from_slice(&number.to_be_bytes());
    // one write a step: pipes take short writes whole, so acknowledgements never mix
    let mut stdout = std::io::stdout().lock();
    stdout.write_all(&ack).and_then(|()| stdout.flush()).expect("the crash test reads");
}
