//! Something else in the place of a file of a volume: the check and the state say no where an
//! opening does.

use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::sync::Arc;

use nix::sys::stat::Mode;
use nix::unistd::mkfifo;
use sealstone_cipher::{Backend, cipher};
use sealstone_keys::EphemeralKey;
use sealstone_volume::{Directory, Sizes, Volume, misplaced, verify};

const KINDS: [&str; 6] = ["nothing", "a FIFO", "a socket", "a file", "a directory", "a link"];

/// Puts something of that kind in the place of what is at `path`; the link leads to what was there.
fn put(kind: &str, path: &Path) {
    let aside = path.with_extension("aside");
    fs::rename(path, &aside).unwrap();
    match kind {
        "nothing" => {}
        "a FIFO" => mkfifo(path, Mode::S_IRWXU).unwrap(),
        "a socket" => drop(UnixListener::bind(path).unwrap()),
        "a file" => fs::write(path, "").unwrap(),
        "a directory" => fs::create_dir(path).unwrap(),
        _ => symlink(&aside, path).unwrap(),
    }
}

#[test]
fn a_check_says_no_where_an_opening_does() {
    let keys = EphemeralKey::new().unwrap();
    let open = |dir: &Path| {
        let disk = Arc::new(Directory::new(dir));
        Volume::attach(disk, &keys, None, (Backend::auto(), Sizes::default()))
    };
    let mut refused = 0;
    let names = [
        "sealstone.volume",
        "sealstone.data",
        "sealstone.map-0",
        "sealstone.map-1",
        "sealstone.log",
    ];
    for name in names {
        for kind in KINDS {
            let dir = tempfile::tempdir().unwrap();
            let aes = cipher("aes-256").unwrap();
            Volume::create(&Directory::new(dir.path()), &keys, aes, (4096, 4 << 20)).unwrap();
            let volume = open(dir.path()).unwrap();
            volume.write(0, &[7; 4096]).unwrap();
            volume.flush().unwrap();
            drop(volume);
            put(kind, &dir.path().join(name));
            let checked = verify(&Directory::read_only(dir.path()), &keys, None, &mut |_, _| ());
            let is_whole = checked.is_ok_and(|checked| checked.is_whole());
            let by_name = misplaced(dir.path());
            if let Err(error) = open(dir.path()) {
                refused += 1;
                assert!(!is_whole, "{kind} as {name} is whole, and not opened: {error}");
            } else {
                assert!(by_name.is_none(), "{kind} as {name}: {by_name:?}");
            }
            let is_file = kind == "a file" && name != "sealstone.log";
            let is_directory = kind == "a directory" && name == "sealstone.log";
            assert_eq!(by_name.is_none(), is_file || is_directory, "{kind} as {name}: {by_name:?}");
        }
    }
    assert!(refused > 20, "{refused}");
}
