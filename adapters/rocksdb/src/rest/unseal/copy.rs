//! The content of a store's files, out of their seals and into the copy.

use std::io::{self, Read, Write};
use std::path::Path;

use nix::fcntl::{PosixFadviseAdvice, posix_fadvise};

use super::error::UnsealError;
use super::journal::Copied;
use super::plan::Item;
use super::target::Target;
use crate::place;
use crate::rest::files_on_disk::{CHUNK_BYTES, StoredFile};
use crate::rest::source::Source;

/// Takes the content of a file, piece by piece.
pub(super) type Piece<'a> = dyn FnMut(&[u8]) -> Result<(), UnsealError> + 'a;

/// Hands the content of `item` to `piece`, every page and frame of it authenticated, and the file
/// checked against the catalogue. Settings that name directories of the sealed store are left out.
pub(super) fn content(
    source: &Source,
    item: &Item,
    piece: &mut Piece<'_>,
) -> Result<(), UnsealError> {
    let name = item.path.to_string_lossy();
    let cannot = |error: io::Error| {
        source.unreadable(format!("{name}: cannot be read: {error}\ncheck the device"))
    };
    let stored = StoredFile(place::open(&item.path).map_err(cannot)?);
    let reader = source
        .files
        .open(&name, item.stored_bytes, &stored)
        .map_err(|failure| source.failed(failure))?;
    let bytes = reader.size(&stored).map_err(|failure| source.failed(failure))?;
    if let Some(wanted) = item.bytes.filter(|wanted| *wanted != bytes) {
        let text = format!(
            "{name}: {bytes} bytes, but the MANIFEST names {wanted}\nrestore the store from a \
             backup"
        );
        return Err(source.unreadable(text).into());
    }
    let is_settings = item.name.starts_with("OPTIONS-");
    let mut settings = Vec::new();
    let mut buffer = vec![0; CHUNK_BYTES];
    let mut offset = 0;
    while offset < bytes {
        let got =
            reader.read(&stored, offset, &mut buffer).map_err(|failure| source.failed(failure))?;
        if got == 0 {
            return Err(source
                .unreadable(format!("{name}: ends at byte {offset} of {bytes}\ncheck the device"))
                .into());
        }
        match is_settings {
            true => settings.extend_from_slice(&buffer[..got]),
            false => piece(&buffer[..got])?,
        }
        offset += got as u64;
    }
    if is_settings { piece(&without_directories(&settings)) } else { Ok(()) }
}

/// Copies `item` into `target`. `progress` gets the bytes of each piece.
pub(super) fn copy(
    source: &Source,
    item: &Item,
    target: &mut Target,
    progress: &mut dyn FnMut(u64) -> Result<(), UnsealError>,
) -> Result<(), UnsealError> {
    let mut file = target.begin()?;
    let mut copied = Copied { file_id: item.file_id, bytes: 0, crc32c: 0 };
    content(source, item, &mut |piece| {
        file.write_all(piece).map_err(|error| target.copy_failed("write", &item.name, error))?;
        copied.bytes += piece.len() as u64;
        copied.crc32c = crc32c::crc32c_append(copied.crc32c, piece);
        progress(piece.len() as u64)
    })?;
    target.end(&file, &item.name, copied)
}

/// Returns whether the file at `path` equals the data written there, read from the device and not
/// from memory as far as possible.
pub(super) fn is_as_written(path: &Path, copied: &Copied) -> io::Result<bool> {
    let mut file = place::open(path)?;
    // advice: where it is not taken, the comparison is with what the system would hand to any
    // reader
    let _ = posix_fadvise(&file, 0, 0, PosixFadviseAdvice::POSIX_FADV_DONTNEED);
    let mut buffer = vec![0; CHUNK_BYTES];
    let (mut bytes, mut crc32c) = (0, 0);
    loop {
        let got = file.read(&mut buffer)?;
        if got == 0 {
            return Ok((bytes, crc32c) == (copied.bytes, copied.crc32c));
        }
        bytes += got as u64;
        crc32c = crc32c::crc32c_append(crc32c, &buffer[..got]);
    }
}

/// Returns whether the file at `path` has the content of `item`.
pub(super) fn is_same(source: &Source, item: &Item, path: &Path) -> Result<bool, UnsealError> {
    let Ok(mut file) = place::open(path) else { return Ok(false) };
    let mut same = true;
    let mut there = vec![0; CHUNK_BYTES];
    content(source, item, &mut |piece| {
        there.resize(piece.len(), 0);
        same &= file.read_exact(&mut there).is_ok() && there == piece;
        Ok(())
    })?;
    Ok(same && file.read(&mut there[..1]).is_ok_and(|more| more == 0))
}

/// Returns the text of an OPTIONS file without the directories that it names: the copy has its logs
/// in its own, and a program that takes its settings from there must not write next to the sealed
/// files.
fn without_directories(options: &[u8]) -> Vec<u8> {
    let names_one = |line: &[u8]| {
        let line = line.trim_ascii_start();
        line.starts_with(b"wal_dir=") || line.starts_with(b"db_log_dir=")
    };
    options
        .split_inclusive(|byte| *byte == b'\n')
        .filter(|line| !names_one(line))
        .flatten()
        .copied()
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_lose_their_directories_and_nothing_else() {
        let options =
            b"[DBOptions]\n  wal_dir=/data/logs\n  max_open_files=-1\n  db_log_dir=/var/log\n  \
              wal_filter=nullptr";
        assert_eq!(
            without_directories(options),
            b"[DBOptions]\n  max_open_files=-1\n  wal_filter=nullptr"
        );
    }
}
