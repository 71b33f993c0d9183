//! Serves a sealed volume under an ephemeral key until standard input ends.

use std::io::Read;
use std::path::PathBuf;
use std::sync::Arc;

use sealstone_keys::EphemeralKey;
use sealstone_volume::{Directory, Served, Sizes, Upkeep, Volume, front::fuse};

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let [_, dir, size, at, threads, cipher] = &args[..] else {
        panic!("DIR BYTES DIRECTORY THREADS CIPHER")
    };
    let keys = EphemeralKey::new().unwrap();
    let disk = Directory::new(dir);
    let cipher = sealstone_cipher::cipher(cipher).unwrap();
    Volume::create(&disk, &keys, cipher, (4096, size.parse().unwrap())).unwrap();
    let backend = sealstone_cipher::Backend::auto();
    let volume =
        Arc::new(Volume::attach(Arc::new(disk), &keys, None, (backend, Sizes::default())).unwrap());
    let report = || Box::new(|failure: &sealstone_volume::Failure| eprintln!("{failure}"));
    let upkeep = Upkeep::of(Arc::clone(&volume), report()).unwrap();
    let served = Served::new(Arc::clone(&volume), &PathBuf::from(dir), report());
    let mounted =
        fuse::mount(Arc::new(served), &PathBuf::from(at), threads.parse().unwrap()).unwrap();
    println!("ready");
    std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
    mounted.unmount().unwrap();
    drop(upkeep);
    volume.flush().unwrap();
    volume.checkpoint().unwrap();
}
