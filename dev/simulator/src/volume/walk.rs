//! Power cuts throughout a history that was recorded, one after the other and not drawn: the disk
//! is copied in the midst of each request, the copies lose their power, and the history goes on as
//! though nothing had been.

use std::sync::Arc;

use sealstone_cipher::{Backend, cipher};
use sealstone_keys::EphemeralKey;
use sealstone_volume::{Failure, Sizes, Volume};

use super::contents;
use super::disk::{Bug, SimulatedDisk};
use super::history::Request;
use super::judge::{Judge, Step};
use super::source::{BLOCK_BYTES, Source};
use crate::random::Random;

struct Walk {
    disk: SimulatedDisk,
    keys: EphemeralKey,
    sizes: Sizes,
    judge: Judge,
    random: Random,
    cuts: u64,
}

/// Replays the history of `source` from its beginning to its end, and cuts the power at every
/// operation of the disk whose number is a multiple of `every`.
///
/// - `bug`: what the program does wrong
///
/// Returns the number of cuts.
///
/// # Errors
/// Says at which request, and after which of the cuts, the device had what it cannot have.
pub fn walk(source: Source, every: u64, bug: Option<Bug>) -> Result<u64, String> {
    let history = source.history().ok_or("nothing was recorded")?;
    let disk = SimulatedDisk::new(bug);
    let keys = EphemeralKey::new().map_err(|error| error.to_string())?;
    let cipher = cipher("aes-128").expect("it is in the table");
    let bytes = history.blocks * BLOCK_BYTES;
    let said = |failure: Failure| failure.to_string();
    Volume::create(&disk, &keys, cipher, (BLOCK_BYTES as u32, bytes)).map_err(said)?;
    let mut walk = Walk {
        disk,
        keys,
        sizes: source.sizes(),
        judge: Judge::new(history.blocks),
        random: Random::new(every),
        cuts: 0,
    };
    let volume = walk.open(&walk.disk).map_err(said)?;
    walk.disk.copy_every(every);
    for (index, request) in history.requests.iter().enumerate() {
        let at = |text: String| format!("request {index}, {request:?}: {text}");
        walk.request(&volume, index as u64 + 1, request).map_err(at)?;
    }
    let found = contents::of(&volume, 0..history.blocks)?;
    if found == walk.judge.now() { Ok(walk.cuts) } else { Err("wrong at the end".into()) }
}

impl Walk {
    fn open(&self, disk: &SimulatedDisk) -> Result<Volume, Failure> {
        Volume::attach(Arc::new(disk.clone()), &self.keys, None, (Backend::auto(), self.sizes))
    }

    fn request(&mut self, volume: &Volume, value: u64, request: &Request) -> Result<(), String> {
        let done = match request {
            Request::Write(blocks) => {
                self.judge.begin([Step { blocks: blocks.clone(), value }]);
                let data = contents::written(value, blocks.end - blocks.start);
                volume.write(blocks.start * BLOCK_BYTES, &data)
            }
            Request::Discard(blocks) => {
                self.judge.begin(Step::of_discard(blocks.clone()));
                let bytes = (blocks.end - blocks.start) * BLOCK_BYTES;
                volume.discard(blocks.start * BLOCK_BYTES, bytes)
            }
            Request::Flush => {
                self.disk.set_flush(true);
                let flushed = volume.flush();
                self.disk.set_flush(false);
                flushed
            }
            Request::Read(_) | Request::Checkpoint => return Err("no history has it".into()),
        };
        done.map_err(|failure| failure.to_string())?;
        // before the judge hears of a flush, since the power went while it was under way
        self.cut()?;
        if *request == Request::Flush {
            self.judge.flush();
        }
        // what its upkeep does beside the users of a volume
        if volume.is_due() {
            volume
                .prepare()
                .and_then(|()| volume.checkpoint())
                .map_err(|failure| format!("a checkpoint after it: {failure}"))?;
            self.cut()?;
        }
        Ok(())
    }

    /// Judges what is there after the power went for each copy of the disk.
    fn cut(&mut self) -> Result<(), String> {
        for copy in self.disk.take_copies() {
            self.cuts += 1;
            let number = self.cuts;
            let at = |text: String| format!("cut {number}: {text}");
            let disk = copy.after_cut(&mut self.random);
            let volume = self.open(&disk).map_err(|failure| at(failure.to_string()))?;
            let found = contents::of(&volume, 0..volume.size_bytes() / BLOCK_BYTES).map_err(at)?;
            self.judge.clone().judge(&found, false).map_err(at)?;
        }
        Ok(())
    }
}
