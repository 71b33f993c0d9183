//! Sealed volumes among places.

use std::path::{Path, PathBuf};

use jiff::Timestamp;
use sealstone_audit::facts::{Clear, Counted, Kind, Maker, NotVerified, Place, Unit, Verified};
use sealstone_file::walk;
use sealstone_volume::attachment::{Attached, Attachment};
use sealstone_volume::{Directory, header, is_of_volume};

use super::findings::{checked, moment, share, unread};
use super::keys::Given;

/// Returns the directories at which the volume in `dir` is mounted.
pub(super) fn mounts(dir: &Path, runtime_dir: &Path) -> Vec<PathBuf> {
    let attachment = header(dir).map(|info| Attachment::of(runtime_dir, &info.file_id));
    attachment.and_then(|attachment| attachment.mounts()).unwrap_or_default()
}

/// Remark on a volume whose process ended without detaching it.
const GONE: &str = "the process that served it is gone, and what is mounted on it gets errors: \
                    detach it, then attach it again";

/// Looks at the volume in `dir`.
pub(super) fn look(dir: &Path, runtime_dir: &Path, given: &[Given], verify: bool) -> Place {
    let mut place = Place::new(dir.display().to_string(), Kind::Volume, "sealed volume");
    let info = match header(dir) {
        Ok(info) => info,
        Err(error) => return unread(place, &error.into()),
    };
    let mut sealed = share(info.cipher, None, info.key.version);
    sealed.key_id = Some(info.key.id.clone());
    sealed.maker = Maker::of(info.module.clone());
    sealed.unit = Unit::Volumes;
    match walk::below(dir) {
        Ok(files) => sealed.bytes = Some(count(&files, &mut place)),
        Err(error) => place = unread(place, &error.into()),
    }
    place.sealed.push(sealed);
    let attachment = Attachment::of(runtime_dir, &info.file_id);
    let state = attachment.state();
    if let Ok(Attached::Served(served)) = &state {
        place.counted = Some(Counted {
            process: served.process,
            at: moment(Timestamp::now()),
            blocks_sealed: Some(served.blocks_sealed),
            blocks_opened: Some(served.blocks_opened),
            bytes_sealed: None,
            bytes_opened: None,
            failures: served.failures,
            log_bytes: Some(served.log_bytes),
        });
    }
    if matches!(state, Ok(Attached::Dead)) {
        place.unread.push(Clear {
            name: dir.display().to_string(),
            bytes: None,
            remark: Some(GONE.into()),
            values: None,
        });
    }
    if !matches!(state, Ok(Attached::No)) && verify {
        place.verified = Verified::Not { why: NotVerified::InUse };
        return place;
    }
    place.verified = checked(&place, given, verify, |keys| {
        let disk = Directory::read_only(dir);
        let report = sealstone_volume::verify(&disk, &*keys, None, &mut |_, _| {})?;
        Ok((report.findings, report.failures))
    });
    place
}

/// Returns the bytes of the volume's own files. Any other file in its directory is in the clear, as
/// far as anybody knows.
fn count(files: &[walk::Found], place: &mut Place) -> u64 {
    let mut own = 0;
    for file in files {
        let name = file.name.to_string_lossy().into_owned();
        let of = |remark: String| Clear {
            name: name.clone(),
            bytes: file.bytes.as_ref().ok().copied(),
            remark: Some(remark),
            values: None,
        };
        match &file.bytes {
            Ok(bytes) if is_of_volume(&name) => own += bytes,
            Ok(0) => {}
            Ok(_) => place.clear.push(of("it is no part of the volume: move it elsewhere".into())),
            Err(error) => place.unread.push(of(error.to_string())),
        }
    }
    own
}
