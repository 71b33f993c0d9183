//! The file that shows the state of a volume, as the kernel lets it be read: in pieces, while the
//! state changes.

use std::fs::{self, File};
use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use sealstone_volume::Device;
use sealstone_volume::front::fuse::{self, STATUS_NAME};

/// A device without bytes whose state is longer each time that it is asked for.
struct Growing(AtomicUsize);

impl Device for Growing {
    fn size_bytes(&self) -> u64 {
        0
    }

    fn block_bytes(&self) -> u32 {
        4096
    }

    fn read(&self, _: u64, _: &mut [u8]) -> io::Result<()> {
        Ok(())
    }

    fn write(&self, _: u64, _: &[u8]) -> io::Result<()> {
        Ok(())
    }

    fn flush(&self) -> io::Result<()> {
        Ok(())
    }

    fn discard(&self, _: u64, _: u64) -> io::Result<()> {
        Ok(())
    }

    fn status(&self) -> String {
        let number = self.0.fetch_add(1, Ordering::Relaxed);
        format!("[{}]", vec![number.to_string(); number + 1].join(","))
    }

    fn command(&self, _: &str) -> io::Result<()> {
        Ok(())
    }
}

/// Every reader gets one state, whole, however small its pieces, and however many read at once.
#[test]
fn a_state_that_changes_is_read_whole() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path().join("served");
    fs::create_dir(&at).unwrap();
    let mounted = match fuse::mount(Arc::new(Growing(AtomicUsize::new(0))), &at, 2) {
        Ok(mounted) => mounted,
        Err(error) => {
            println!("SKIP: a_state_that_changes_is_read_whole: no FUSE here: {error}");
            return;
        }
    };
    let path = at.join(STATUS_NAME);
    let whole = |text: &str| {
        let numbers: Vec<usize> = serde_json::from_str(text).expect(text);
        assert!(numbers.iter().all(|number| number + 1 == numbers.len()), "{text}");
        numbers.len()
    };
    let first = whole(&fs::read_to_string(&path).unwrap());
    let second = whole(&fs::read_to_string(&path).unwrap());
    assert!(second > first, "the state is the present one: {first} {second}");
    let mut readers = [File::open(&path).unwrap(), File::open(&path).unwrap()];
    let mut texts = [Vec::new(), Vec::new()];
    loop {
        let mut read = 0;
        for (reader, text) in readers.iter_mut().zip(&mut texts) {
            let mut piece = [0; 3];
            let count = reader.read(&mut piece).unwrap();
            text.extend_from_slice(&piece[..count]);
            read += count;
        }
        if read == 0 {
            break;
        }
    }
    let [one, other] = texts.map(|text| whole(&String::from_utf8(text).unwrap()));
    assert!(one != other && one > second && other > second, "{one} {other}");
    drop((readers, mounted));
}
