//! Writes to a sealed database until it is killed, and reports on stdout which writes were
//! acknowledged. The crash test (`tests/crash.rs`) starts it, kills it, and checks that none of
//! them is missing.
//!
//! `crash_writer DIR KEY CIPHER ROUND SYNC`

use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use sealstone_e2e::crash_load::{ACK_BYTES, Step, THREADS, options};
use sealstone_keys::KeyFile;
use sealstone_rocksdb::{Db, SealedEnv, WriteBatch};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [dir, key, cipher, round, sync] = arguments.as_slice() else {
        panic!("crash_writer DIR KEY CIPHER ROUND SYNC")
    };
    let round: u64 = round.parse().expect("ROUND is a number");
    let sync = sync == "sync";
    let keys = Arc::new(KeyFile::open(key).expect("the key file"));
    let cipher = sealstone_cipher::cipher(cipher).expect("a known cipher");
    let env = SealedEnv::new(keys, cipher, sealstone_cipher::Backend::auto());
    let db = env.open(Path::new(dir), &options()).expect("the database opens");
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let db = &db;
            scope.spawn(move || write(db, thread, round, sync));
        }
    });
}

/// Runs one thread's steps for ever.
fn write(db: &Db, thread: u8, round: u64, sync: bool) {
    for number in 0.. {
        let step = Step::new(thread, round, number);
        let mut batch = WriteBatch::new();
        for key in step.keys() {
            match step.value() {
                Some(value) => batch.put(&key, &value),
                None => batch.delete(&key),
            }
        }
        db.write(&mut batch, sync).expect("a write");
        let mut ack = [0; ACK_BYTES];
        ack[0] = thread;
        ack[1..].copy_from_slice(&number.to_be_bytes());
        // one write a step: pipes take short writes whole, so acknowledgements never mix
        std::io::stdout().lock().write_all(&ack).expect("the crash test reads");
        std::io::stdout().lock().flush().expect("the crash test reads");
    }
}
