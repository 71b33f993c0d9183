//! Counter mode on a device: any length, any offset, more data than the device holds.
//!
//! A message goes through the device in chunks, in several lanes (`lanes`).

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex};

use sealstone_cipher::Ctr;
use sealstone_cipher::memory::Protected;
use zeroize::Zeroize;

use crate::error::{Error, Left};
use crate::lanes::{Lanes, Worker, lock};
use crate::place::{Piece, Place};
use crate::runtime::{Fault, HostMemory, Keyed, Lane, Runtime};

/// Limits on how much of a device to use at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Chunks under way at a time, each in its own thread: with one, copying and computing
    /// alternate.
    pub lanes: usize,
    /// Bytes of a chunk: as much memory of the device and, page-locked, of this machine is taken
    /// for each lane.
    pub chunk_bytes: usize,
}

impl Default for Settings {
    /// Returns a lane for each core, since copying to page-locked memory takes a core each, and 12
    /// at most, which fill a bus.
    fn default() -> Self {
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        Self { lanes: cores.clamp(3, 12), chunk_bytes: 8 << 20 }
    }
}

/// Memory that a device reads and writes directly, without a copy in between. It is zeroed on drop.
pub struct PageLocked(Box<dyn HostMemory>);

impl PageLocked {
    pub(crate) fn new(memory: Box<dyn HostMemory>) -> Self {
        Self(memory)
    }
}

impl Deref for PageLocked {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.0.bytes()
    }
}

impl DerefMut for PageLocked {
    fn deref_mut(&mut self) -> &mut [u8] {
        self.0.bytes_mut()
    }
}

impl fmt::Debug for PageLocked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PageLocked").field("bytes", &self.len()).finish_non_exhaustive()
    }
}

/// Counter mode keyed with one cipher on one device. One object serves many threads at once. Its
/// keys and what it holds of data, on the device and in page-locked memory, are zeroed on drop.
pub struct DeviceCtr {
    cpu: Protected<dyn Ctr>,
    /// Their memory is whole tiles.
    lanes: Lanes,
}

impl fmt::Debug for DeviceCtr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeviceCtr").field("device", &self.device()).finish_non_exhaustive()
    }
}

/// A part of a message on its way.
struct Chunk<'a> {
    /// Offset in the message at which it begins, in bytes.
    from: usize,
    data: &'a mut [u8],
    piece: Piece,
}

/// Fewer bytes are not worth a thread: whole tiles of every cipher.
const SHARE_BYTES_MIN: usize = 1 << 20;

impl DeviceCtr {
    pub(crate) fn new(
        runtime: Arc<dyn Runtime>,
        keyed: Arc<dyn Keyed>,
        cpu: Protected<dyn Ctr>,
        settings: Settings,
    ) -> Self {
        let lane_bytes =
            settings.chunk_bytes.max(1).next_multiple_of(Place::tile_bytes(cpu.block_bytes()));
        Self { cpu, lanes: Lanes::new(runtime, keyed, settings.lanes, lane_bytes) }
    }

    /// Returns the name of the device.
    #[must_use]
    pub fn device(&self) -> &str {
        self.lanes.device()
    }

    /// Returns the block length in bytes, and so the length of the initial counter block: 8 or 16.
    #[must_use]
    pub fn block_bytes(&self) -> usize {
        self.cpu.block_bytes()
    }

    /// XORs `data` (any length, in place, in any memory) with the key stream, from byte
    /// `offset_bytes` of that stream on, as [`Ctr::apply`] does on the CPU. Data travels through
    /// page-locked memory of each lane.
    ///
    /// # Errors
    /// `Error::Cipher` where `initial_counter_block` is not one block long; `Error::OutOfMemory`;
    /// `Error::Lost`. After each of them `data` is unchanged: encryption done before is undone on
    /// the CPU.
    ///
    /// Source: SP 800-38A, 6.5, with the whole block as counter (appendix B.1).
    pub fn apply(
        &self,
        initial_counter_block: &[u8],
        offset_bytes: u64,
        data: &mut [u8],
    ) -> Result<(), Error> {
        let place = Place::new(self.block_bytes(), initial_counter_block, offset_bytes)?;
        let done = Mutex::new(Vec::new());
        let fault = match self.all_chunks(&place, data, |worker, chunk| {
            through_staging(worker, chunk)?;
            lock(&done).push((chunk.from, chunk.data.len()));
            Ok(())
        }) {
            Ok(()) => return Ok(()),
            Err(fault) => fault,
        };
        for (from, bytes) in lock(&done).drain(..) {
            let offset = offset_bytes.wrapping_add(from as u64);
            self.cpu.apply(initial_counter_block, offset, &mut data[from..from + bytes])?;
        }
        Err(Error::of(self.device(), fault, Left::AsItWas))
    }

    /// Does the same as [`DeviceCtr::apply`], without a copy in this machine's memory: the device
    /// reads and writes `data`.
    ///
    /// # Errors
    /// Errors of `apply`. After a wrong counter block `data` is untouched; after a fault of the
    /// device it is zeroed, since a part of a chunk may have arrived.
    pub fn apply_page_locked(
        &self,
        initial_counter_block: &[u8],
        offset_bytes: u64,
        data: &mut PageLocked,
    ) -> Result<(), Error> {
        let place = Place::new(self.block_bytes(), initial_counter_block, offset_bytes)?;
        let result = self.all_chunks(&place, data, |worker, Chunk { data, piece, .. }| {
            worker.lane.upload(piece.at, data)?;
            piece.apply(|launch| worker.lane.run(launch))?;
            worker.lane.download(piece.at, data)
        });
        result.map_err(|fault| {
            data.zeroize();
            Error::of(self.device(), fault, Left::Wiped)
        })
    }

    /// Returns memory of the device for `bytes` bytes of data, at byte `offset_bytes` of the key
    /// stream that begins at `initial_counter_block`: for values that stay there between steps.
    ///
    /// # Errors
    /// `Error::Cipher` for a counter block of another length; `Error::OutOfMemory`; `Error::Lost`.
    pub fn resident(
        &self,
        initial_counter_block: &[u8],
        offset_bytes: u64,
        bytes: usize,
    ) -> Result<Resident, Error> {
        let piece =
            Place::new(self.block_bytes(), initial_counter_block, offset_bytes)?.piece(0, bytes);
        let lane_bytes = piece.tiles.max(1) as usize * Place::tile_bytes(self.block_bytes());
        let lane = self
            .lanes
            .keyed()
            .lane(lane_bytes)
            .map_err(|fault| Error::of(self.device(), fault, Left::NoData))?;
        Ok(Resident { device: self.device().to_owned(), lane, piece, bytes })
    }

    /// Does `work` for every chunk of `data`, in as many threads as there are lanes.
    fn all_chunks(
        &self,
        place: &Place,
        data: &mut [u8],
        work: impl Fn(&mut Worker, &mut Chunk) -> Result<(), Fault> + Sync,
    ) -> Result<(), Fault> {
        let mut chunks = Vec::new();
        // A message that fits into few chunks is divided among all lanes, as long as a copy is
        // worth its call.
        let share = (data.len() / self.lanes.count())
            .max(SHARE_BYTES_MIN)
            .next_multiple_of(SHARE_BYTES_MIN);
        let chunk_bytes = share.min(self.lanes.lane_bytes());
        let (mut rest, mut from) = (data, 0);
        while !rest.is_empty() {
            let most = if from == 0 { place.first_chunk_bytes(chunk_bytes) } else { chunk_bytes };
            let (data, after) = rest.split_at_mut(rest.len().min(most));
            let piece = place.piece(from, data.len());
            rest = after;
            let end = from + data.len();
            chunks.push(Chunk { from, data, piece });
            from = end;
        }
        self.lanes.each(chunks, |worker, mut chunk| work(worker, &mut chunk))
    }
}

fn through_staging(worker: &mut Worker, chunk: &mut Chunk) -> Result<(), Fault> {
    let (data, piece) = (&mut *chunk.data, chunk.piece);
    let (lane, staging) = worker.staged()?;
    let staged = &mut staging[..data.len()];
    staged.copy_from_slice(data);
    lane.upload(piece.at, staged)?;
    piece.apply(|launch| lane.run(launch))?;
    lane.download(piece.at, staged)?;
    data.copy_from_slice(staged);
    Ok(())
}

/// Data in a device's memory, at a place of a key stream. Zeroed on drop.
pub struct Resident {
    device: String,
    lane: Box<dyn Lane>,
    piece: Piece,
    bytes: usize,
}

impl fmt::Debug for Resident {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Resident")
            .field("device", &self.device)
            .field("bytes", &self.bytes)
            .finish_non_exhaustive()
    }
}

impl Resident {
    /// Copies `data`, as long as this is, to the device.
    ///
    /// # Errors
    /// `Error::Lost`.
    ///
    /// # Panics
    /// If `data` has another length; so does [`Resident::store`].
    pub fn load(&mut self, data: &[u8]) -> Result<(), Error> {
        assert_eq!(data.len(), self.bytes, "data of a resident buffer");
        self.lane
            .upload(self.piece.at, data)
            .map_err(|fault| Error::of(&self.device, fault, Left::AsItWas))
    }

    /// XORs the data there with the key stream: encrypts it, and decrypts it again.
    ///
    /// # Errors
    /// `Error::Lost`; data on the device is then lost with it.
    pub fn apply(&mut self) -> Result<(), Error> {
        let ran = self.piece.apply(|launch| self.lane.run(launch));
        ran.map_err(|fault| Error::of(&self.device, fault, Left::NoData))
    }

    /// Copies the data there to `data`, up to its length.
    ///
    /// # Errors
    /// `Error::Lost`; `data` is then zeroed.
    pub fn store(&mut self, data: &mut [u8]) -> Result<(), Error> {
        assert_eq!(data.len(), self.bytes, "data of a resident buffer");
        self.lane.download(self.piece.at, data).map_err(|fault| {
            data.zeroize();
            Error::of(&self.device, fault, Left::Wiped)
        })
    }
}
