//! Serves a plain file as a device until standard input ends.

use std::io::Read;
use std::path::PathBuf;
use std::sync::Arc;

use sealstone_volume::{PlainFile, front::fuse};

fn main() -> std::io::Result<()> {
    let args: Vec<String> = std::env::args().collect();
    let [_, file, size, at, threads] = &args[..] else { panic!("FILE BYTES DIRECTORY THREADS") };
    let device = PlainFile::open(&PathBuf::from(file), size.parse().unwrap())?;
    let mounted = fuse::mount(Arc::new(device), &PathBuf::from(at), threads.parse().unwrap())?;
    println!("ready");
    std::io::stdin().read_to_end(&mut Vec::new())?;
    mounted.unmount()
}
