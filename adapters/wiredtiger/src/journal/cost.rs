//! What the journal costs: a record, the account, a look at all of it, and a sync beside one of a plain file. A measurement,
//! not a test: `SEALSTONE_COST=1 cargo test --release -p sealstone-wiredtiger --lib journal::cost -- --nocapture`.

use std::fs::OpenOptions;
use std::os::unix::fs::FileExt;
use std::time::Instant;

use super::account::{Account, Sync};
use super::record::FileKey;
use super::tests::Store;

/// Syncs of each kind, which take turns.
const SYNCS: u64 = 600;

/// The median of what `call` takes, in microseconds.
fn median_us(count: usize, mut call: impl FnMut()) -> f64 {
    let mut took: Vec<f64> = (0..count)
        .map(|_| {
            let start = Instant::now();
            call();
            start.elapsed().as_secs_f64()
        })
        .collect();
    took.sort_by(f64::total_cmp);
    took[count / 2] * 1e6
}

#[test]
fn what_the_journal_costs() {
    if std::env::var_os("SEALSTONE_COST").is_none() {
        println!("SKIP: what_the_journal_costs: a measurement; SEALSTONE_COST=1 runs it");
        return;
    }
    let store = Store::new();
    let opening = store.open();
    let key = FileKey::draw().unwrap();
    for bytes in [30, 200, 4000] {
        let one = opening.record(bytes);
        let count = (256 << 10) / one.len();
        let many: Vec<u8> = one.iter().copied().cycle().take(one.len() * count).collect();
        let mut copies: Vec<Vec<u8>> = vec![many; 50];
        let us = median_us(50, || assert!(key.bind(1, 256, &mut copies.pop().unwrap()).is_ok()));
        println!("bind a record of {} bytes: {:.0} ns", one.len(), us * 1e3 / count as f64);
    }
    let file = opening.file(1);
    let many: Vec<u8> = (0..200).flat_map(|_| opening.record(300)).collect();
    (0..500).for_each(|n| file.write(256 + n * many.len() as u64, &many).unwrap());
    file.sync().unwrap();
    println!("look at {} MiB: {:.0} ms", (many.len() * 500) >> 20, median_us(5, || drop(store.look().unwrap())) / 1e3);
    for sync in [Sync::Soon, Sync::Now] {
        let mut account = Account::read(&store.db(), opening.encryptor.pages()).unwrap().unwrap();
        let us = median_us(300, || account.write(opening.encryptor.pages(), sync).unwrap());
        println!("write the account, {sync:?}: {us:.1} us");
    }
    let plain = OpenOptions::new().create_new(true).write(true).open(store.db().join("plain")).unwrap();
    nix::fcntl::fallocate(&plain, nix::fcntl::FallocateFlags::empty(), 0, 1 << 20).unwrap();
    let stores = [Store::new(), Store::new()];
    let openings = [stores[0].open(), stores[1].open_with(",account=synced")];
    let files = [openings[0].file(1), openings[1].file(1)];
    files.iter().for_each(|file| file.extend(1 << 20).unwrap());
    let mut took = [vec![], vec![], vec![]];
    for n in 0..SYNCS {
        let record = opening.record(300);
        let at = 256 + n * record.len() as u64;
        took[0].push(median_us(1, || plain.write_all_at(&record, at).and_then(|()| plain.sync_data()).unwrap()));
        for (file, took) in files.iter().zip(&mut took[1..]) {
            took.push(median_us(1, || file.write(at, &record).and_then(|()| file.sync()).unwrap()));
        }
    }
    for (what, took) in ["a plain file", "account=soon", "account=synced"].iter().zip(&mut took) {
        took.sort_by(f64::total_cmp);
        println!("a record and a sync, {what}: median {:.0} us, 95 % {:.0} us", took[300], took[570]);
    }
}
