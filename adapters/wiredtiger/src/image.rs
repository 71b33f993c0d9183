//! The file that a function of the running program came from: its symbols, and WiredTiger's version
//! line in it. Read only.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use object::read::ReadCache;
use object::{Object, ObjectKind, ObjectSymbol};

use crate::series::Version;

/// A program or a library as loaded in memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Image {
    path: PathBuf,
    /// Address of its first byte in memory.
    base: u64,
}

impl Image {
    /// Returns the file that contains the address `address`; `None` where that cannot be
    /// determined.
    pub(crate) fn at(address: u64) -> Option<Self> {
        Self::find(&fs::read_to_string("/proc/self/maps").ok()?, address)
    }

    /// Finds it in the text of `/proc/PID/maps`.
    fn find(maps: &str, address: u64) -> Option<Self> {
        // start-end rights offset device inode path
        let parse = |line: &str| {
            let (range, rest) = line.split_once(' ')?;
            let (start, end) = range.split_once('-')?;
            let path = rest.find('/').map(|at| rest[at..].to_owned())?;
            let hex = |digits| u64::from_str_radix(digits, 16).ok();
            let offset = hex(rest.split_whitespace().nth(1)?)?;
            Some((hex(start)?, hex(end)?, offset, path))
        };
        let lines: Vec<(u64, u64, u64, String)> = maps.lines().filter_map(parse).collect();
        let (.., path) = lines.iter().find(|(start, end, ..)| (*start..*end).contains(&address))?;
        let (base, ..) = lines.iter().find(|(.., offset, other)| other == path && *offset == 0)?;
        Some(Self { path: path.into(), base: *base })
    }

    /// Returns the file, even of a program that was replaced on the disk while running.
    fn open(&self) -> io::Result<File> {
        let own = Path::new("/proc/self/exe");
        if fs::read_link(own).is_ok_and(|path| path == self.path) {
            File::open(own)
        } else {
            File::open(&self.path)
        }
    }

    /// Returns the names of the functions at `addresses`, where the file has a symbol for each.
    pub(crate) fn symbols<const N: usize>(&self, addresses: [u64; N]) -> Option<[String; N]> {
        let cache = ReadCache::new(self.open().ok()?);
        let file = object::File::parse(&cache).ok()?;
        let base = if file.kind() == ObjectKind::Executable { 0 } else { self.base };
        let mut names = [const { None }; N];
        for symbol in file.symbols().filter(|symbol| symbol.is_definition()) {
            for (address, name) in addresses.iter().zip(&mut names) {
                if symbol.address() == address - base {
                    *name = symbol.name().ok().map(str::to_owned);
                }
            }
        }
        let found = names.map(Option::unwrap_or_default);
        found.iter().all(|name| !name.is_empty()).then_some(found)
    }

    /// Returns the version in WiredTiger's version line, where the file holds exactly one.
    pub(crate) fn version(&self) -> Option<Version> {
        version_in(self.open().ok()?).ok().flatten()
    }
}

/// Looks for `WiredTiger N.N.N: (` in all of `file`. Several that differ are as good as none.
fn version_in(mut file: impl Read) -> io::Result<Option<Version>> {
    const LINE_BYTES_MAX: usize = 64;
    let finder = memchr::memmem::Finder::new("WiredTiger ");
    let mut buffer = vec![0; 1 << 20];
    let mut kept = 0;
    let mut version = None;
    loop {
        let read = file.read(&mut buffer[kept..])?;
        let held = &buffer[..kept + read];
        for at in finder.find_iter(held) {
            let line = &held[at..held.len().min(at + LINE_BYTES_MAX)];
            let line = String::from_utf8_lossy(line);
            let Some(found) = line.contains(": (").then(|| Version::in_line(&line)).flatten()
            else {
                continue;
            };
            if *version.get_or_insert(found) != found {
                return Ok(None);
            }
        }
        if read == 0 {
            return Ok(version);
        }
        // the beginning of a line that continues in the next piece is looked at again
        let end = held.len();
        kept = end.min(LINE_BYTES_MAX);
        buffer.copy_within(end - kept..end, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAPS: &str = "\
55d0a0000000-55d0a1000000 r--p 00000000 fe:01 123                        /usr/bin/mongod server
55d0a1000000-55d0a4000000 r-xp 01000000 fe:01 123                        /usr/bin/mongod server
7f0000000000-7f0000001000 rw-p 00000000 00:00 0
7f1000000000-7f1000100000 r--p 00000000 fe:01 77                         /lib/libwiredtiger.so
7f1000100000-7f1000200000 r-xp 00100000 fe:01 77                         /lib/libwiredtiger.so
";

    #[test]
    fn the_file_of_an_address_is_found() {
        let image = |path: &str, base| Some(Image { path: path.into(), base });
        assert_eq!(
            Image::find(MAPS, 0x55d0_a100_0010),
            image("/usr/bin/mongod server", 0x55d0_a000_0000)
        );
        assert_eq!(
            Image::find(MAPS, 0x7f10_001f_ffff),
            image("/lib/libwiredtiger.so", 0x7f10_0000_0000)
        );
        for nowhere in [0x7f00_0000_0010, 0x7f10_0020_0000, 0] {
            assert_eq!(Image::find(MAPS, nowhere), None);
        }
    }

    #[test]
    fn a_function_of_this_program_has_its_name() {
        let address = Image::at as fn(u64) -> Option<Image> as usize as u64;
        let image = Image::at(address).unwrap();
        let [name] = image.symbols([address]).unwrap();
        assert!(name.contains("image") && name.contains("Image"), "{name}");
        assert_eq!(image.symbols([address + 1]), None);
    }

    #[test]
    fn the_version_is_found_wherever_it_lies() {
        let line = b"WiredTiger 11.3.1: (November 20, 2025)";
        for before in [0, 5, (1 << 20) - 10, (1 << 20) - 64, 1 << 20, (1 << 21) - 7] {
            let mut file = vec![b'x'; before];
            file.extend_from_slice(line);
            file.extend_from_slice(b"\0WiredTiger 9.9 is not one");
            let want = Version { major: 11, minor: 3, patch: 1 };
            assert_eq!(version_in(file.as_slice()).unwrap(), Some(want), "{before}");
            file.extend_from_slice(b"WiredTiger 10.0.2: (x)");
            assert_eq!(version_in(file.as_slice()).unwrap(), None, "{before}");
        }
        assert_eq!(version_in(&b""[..]).unwrap(), None);
    }
}
