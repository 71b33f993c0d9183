//! The rows of the table for block devices, and the client that they share: one thread that keeps a
//! queue full, each request handed over when one is done.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use sealstone_message::SettingName;
use sealstone_store::{
    Device, DeviceAccess, DeviceBuffer, DeviceQueue, DeviceRequest, StoreError, Table, Target,
};

use super::ledger::{Issued, Ledger};
use super::order::{Mix, Order};
use super::pattern::{Pattern, Wrong};
use crate::words::size::human_bytes;
use crate::workload::BlockShape;
use crate::workload::contract::{
    Client, Done, Position, Recorder, SizedBy, Spec, Unit, Workload, split,
};
use crate::workload::entry::{Entry, Make};
use crate::workload::error::Error;
use crate::workload::setting::Setting;
use crate::workload::sources::Sources;

/// Returns a row of the table.
const fn row(
    name: &'static str,
    label: &'static str,
    description: &'static str,
    requests: &'static Requests,
) -> Entry {
    Entry::row(spec(name, label, description), requests)
}

const fn spec(name: &'static str, label: &'static str, description: &'static str) -> Spec {
    Spec {
        name,
        base: name,
        setting: Setting::Warm,
        settings: &[],
        label,
        description,
        unit: Unit::Bytes,
        dataset: "block",
        // more requests at once are a deeper queue
        clients: Some(1),
        device: true,
        cold: false,
        from_empty: false,
        sized_by: SizedBy::Bytes,
        checks_values: false,
        cache_hits_min: 0.0,
        remark: None,
    }
}

/// Kind of these workloads: order and kinds of their requests to a device.
#[derive(Debug)]
struct Requests(Order, Mix);

/// Kind of the workload that writes to the link alone.
#[derive(Debug)]
struct Stream;

// the rows of the table
pub(in crate::workload) const SEQ_READ: Entry = row(
    "seq-read",
    "reads in order",
    "block device: reads of one block after the other",
    &Requests(Order::Sequential, Mix::Reads),
);
pub(in crate::workload) const SEQ_WRITE: Entry = row(
    "seq-write",
    "writes in order",
    "block device: writes of one block after the other",
    &Requests(Order::Sequential, Mix::Writes),
);
pub(in crate::workload) const SEQ_MIX: Entry = row(
    "seq-mix",
    "reads and writes in order",
    "block device: one block after the other, half reads, half writes",
    &Requests(Order::Sequential, Mix::Both),
);
pub(in crate::workload) const CONST_READ: Entry = row(
    "const-read",
    "reads of one block",
    "block device: reads of the same block again and again",
    &Requests(Order::Constant, Mix::Reads),
);
pub(in crate::workload) const CONST_WRITE: Entry = row(
    "const-write",
    "writes of one block",
    "block device: writes of the same block again and again",
    &Requests(Order::Constant, Mix::Writes),
);
pub(in crate::workload) const CONST_MIX: Entry = row(
    "const-mix",
    "reads and writes of one block",
    "block device: the same block, half reads, half writes",
    &Requests(Order::Constant, Mix::Both),
);
pub(in crate::workload) const RAND_READ: Entry = row(
    "rand-read",
    "random reads",
    "block device: reads of any block",
    &Requests(Order::Random, Mix::Reads),
);
pub(in crate::workload) const RAND_WRITE: Entry = row(
    "rand-write",
    "random writes",
    "block device: writes of any block",
    &Requests(Order::Random, Mix::Writes),
);
pub(in crate::workload) const RAND_MIX: Entry = row(
    "rand-mix",
    "random reads and writes",
    "block device: any block, half reads, half writes",
    &Requests(Order::Random, Mix::Both),
);

/// One TCP stream, which is written in blocks, each acknowledged by the other end.
pub(in crate::workload) const STREAM: Entry = Entry::row(
    Spec {
        dataset: "stream",
        ..spec(
            "stream",
            "one TCP stream",
            "link to a block device: one TCP stream, acknowledged by the block",
        )
    },
    &Stream,
);

/// Blocks written by one queue while a device is loaded, in bytes: between two of them loading may
/// be stopped.
const LOAD_BYTES: u64 = 16 << 20;

/// The blocks that all of these workloads use.
#[derive(Debug)]
struct Blocks {
    shape: BlockShape,
    blocks: u64,
    operations: u64,
    seed: u64,
    pattern: Pattern,
    /// Set when the blocks go over the link, and to no device.
    is_stream: bool,
    /// Contents of each variant's device, if they are checked.
    ledgers: Mutex<HashMap<usize, Arc<Mutex<Ledger>>>>,
}

impl Blocks {
    fn new(sources: &Sources, is_stream: bool) -> Result<Self, Error> {
        let (data, shape) = (sources.data, sources.data.block);
        let blocks = data.bytes / shape.block_bytes;
        if blocks == 0 {
            let message = format!(
                "{} bytes are less than one block of {} bytes",
                data.bytes, shape.block_bytes
            );
            return Err(Error::Plan(message));
        }
        let (operations, seed) = (data.operations, data.seed);
        let ledgers = Mutex::default();
        Ok(Self {
            shape,
            blocks,
            operations,
            seed,
            pattern: Pattern::new(seed),
            is_stream,
            ledgers,
        })
    }

    fn bytes(&self) -> u64 {
        self.blocks * self.shape.block_bytes
    }

    /// Returns the device of `target`, if these blocks fit it.
    fn device<'a>(
        &self,
        target: Target<'a>,
        caller: &'static str,
    ) -> Result<&'a dyn Device, StoreError> {
        if self.is_stream {
            return target.stream(caller);
        }
        let device = target.device(caller)?;
        let (place, capacity_bytes, sector_bytes) =
            (device.place(), device.capacity_bytes(), device.sector_bytes());
        if capacity_bytes < self.bytes() {
            return Err(StoreError::engine(format!(
                "{place} has {}, and the workloads would use {}\nuse fewer, with {}, or a \
                 larger device",
                human_bytes(capacity_bytes),
                human_bytes(self.bytes()),
                SettingName("bytes")
            )));
        }
        if !self.shape.block_bytes.is_multiple_of(sector_bytes.into()) {
            return Err(StoreError::engine(format!(
                "blocks of {} bytes do not fit {place}: its sectors have {sector_bytes} bytes\n\
                 choose a multiple of it with {}",
                self.shape.block_bytes,
                SettingName("block-bytes")
            )));
        }
        Ok(device)
    }

    fn request(
        &self,
        access: DeviceAccess,
        block: u64,
        tag: usize,
        buffer: DeviceBuffer,
    ) -> DeviceRequest {
        DeviceRequest { access, offset: block * self.shape.block_bytes, tag, buffer }
    }

    fn buffer(&self) -> DeviceBuffer {
        DeviceBuffer::zeroed(self.shape.block_bytes as usize)
    }

    /// Runs a request for each of `blocks` on a separate queue. `made` fills a buffer before,
    /// `done` checks it after.
    fn each(
        &self,
        device: &dyn Device,
        access: DeviceAccess,
        blocks: Range<u64>,
        made: &dyn Fn(u64, &mut [u8]),
        done: &LooksAt<'_>,
    ) -> Result<(), StoreError> {
        let mut queue = device.queue(self.shape.depth)?;
        let mut free: Vec<DeviceBuffer> = (0..self.shape.depth).map(|_| self.buffer()).collect();
        let mut left = blocks.end - blocks.start;
        let mut next = blocks;
        while left > 0 {
            while let Some(mut buffer) = free.pop() {
                let Some(block) = next.next() else { break };
                made(block, &mut buffer);
                queue.submit(self.request(access, block, 0, buffer))?;
            }
            let request = queue.complete()?;
            done(request.offset / self.shape.block_bytes, &request.buffer)?;
            free.push(request.buffer);
            left -= 1;
        }
        if access == DeviceAccess::Write { queue.flush() } else { Ok(()) }
    }

    /// Returns the blocks of `part` in pieces that one queue takes.
    fn pieces(&self, part: Range<u64>) -> impl Iterator<Item = Range<u64>> {
        let step = (LOAD_BYTES / self.shape.block_bytes).max(1);
        (part.start..part.end)
            .step_by(step as usize)
            .map(move |from| from..(from + step).min(part.end))
    }

    fn differs(&self, place: &str, block: u64, wrong: &Wrong) -> StoreError {
        let offset = block * self.shape.block_bytes + wrong.at as u64;
        let Wrong { expected, found, .. } = wrong;
        StoreError::Differs(format!(
            "offset {offset} of {place} is not what was written: expected {expected}, found \
             {found}\n\
             do not trust the device, or what is before it; the same seed writes the same"
        ))
    }

    fn ledger(&self, variant: usize) -> Option<Arc<Mutex<Ledger>>> {
        let mut ledgers = self.ledgers.lock().unwrap_or_else(PoisonError::into_inner);
        let new = || Arc::new(Mutex::new(Ledger::new(self.blocks)));
        (self.shape.verify && !self.is_stream)
            .then(|| Arc::clone(ledgers.entry(variant).or_insert_with(new)))
    }
}

/// Looks at what a block holds, given with its number.
type LooksAt<'a> = dyn Fn(u64, &[u8]) -> Result<(), StoreError> + 'a;

/// One row of the table.
struct OnBlocks {
    spec: Spec,
    order: Order,
    mix: Mix,
    data: Arc<Blocks>,
}

impl Make for Requests {
    fn make(&self, spec: &Spec, sources: &Sources) -> Result<Box<dyn Workload>, Error> {
        let Self(order, mix) = *self;
        let data = sources.shared(spec.dataset, |sources| Blocks::new(sources, false))?;
        Ok(Box::new(OnBlocks { spec: spec.clone(), order, mix, data }))
    }
}

impl Make for Stream {
    fn make(&self, spec: &Spec, sources: &Sources) -> Result<Box<dyn Workload>, Error> {
        let data = sources.shared(spec.dataset, |sources| Blocks::new(sources, true))?;
        let (order, mix) = (Order::Constant, Mix::Writes);
        Ok(Box::new(OnBlocks { spec: spec.clone(), order, mix, data }))
    }
}

impl Workload for OnBlocks {
    fn spec(&self) -> &Spec {
        &self.spec
    }

    fn tables(&self) -> &[Arc<Table>] {
        &[]
    }

    fn reloaded(&self, variant: usize) {
        self.data.ledgers.lock().unwrap_or_else(PoisonError::into_inner).remove(&variant);
    }

    fn load_rows(&self) -> u64 {
        self.data.blocks
    }

    fn load(
        &self,
        target: Target<'_>,
        part: usize,
        parts: usize,
        progress: &dyn Fn(u64),
    ) -> Result<(), StoreError> {
        let data = &self.data;
        // a store without a link is found out by the first client, so that others may do without it
        if data.is_stream {
            return Ok(());
        }
        let device = data.device(target, "loading")?;
        for blocks in data.pieces(split(data.blocks, part, parts)) {
            let fill = |block: u64, bytes: &mut [u8]| data.pattern.fill(block, 0, bytes);
            data.each(device, DeviceAccess::Write, blocks.clone(), &fill, &|_, _| Ok(()))?;
            progress(blocks.end - blocks.start);
        }
        Ok(())
    }

    fn data_bytes(&self) -> u64 {
        self.data.bytes()
    }

    fn operations(&self) -> u64 {
        self.data.operations
    }

    fn client(&self, at: Position) -> Box<dyn Client> {
        let share = at.share(self.data.operations);
        let before = (at.round as u64).wrapping_mul(self.data.operations);
        Box::new(BlockClient {
            name: self.spec.name,
            order: self.order,
            mix: self.mix,
            numbers: before.wrapping_add(share.start)..before.wrapping_add(share.end),
            ledger: self.data.ledger(at.variant),
            data: Arc::clone(&self.data),
            queue: None,
            free: Vec::new(),
            under_way: Vec::new(),
        })
    }

    fn check(&self, target: Target<'_>) -> Result<(), StoreError> {
        let data = &self.data;
        if !data.shape.verify || data.is_stream {
            return Ok(());
        }
        let device = data.device(target, self.spec.name)?;
        // the variant of this store is unknown; all did the same, so one of their ledgers belongs
        // to it
        let known: Vec<_> =
            data.ledgers.lock().unwrap_or_else(PoisonError::into_inner).values().cloned().collect();
        let sound = |block: u64, bytes: &[u8]| {
            let check = |versions| data.pattern.check(block, versions, bytes);
            let mut outcome = if known.is_empty() { check(0..=0) } else { Ok(()) };
            for ledger in &known {
                let ledger = ledger.lock().unwrap_or_else(PoisonError::into_inner);
                outcome = check(ledger.readable(block, ledger.floor(block)));
                if outcome.is_ok() {
                    break;
                }
            }
            outcome.map_err(|wrong| data.differs(device.place(), block, &wrong))
        };
        let mut pieces = data.pieces(0..data.blocks);
        pieces.try_for_each(|blocks| {
            data.each(device, DeviceAccess::Read, blocks, &|_, _| (), &sound)
        })
    }
}

/// A request that was handed over.
#[derive(Clone, Copy, Debug)]
struct UnderWay {
    begin: Instant,
    block: u64,
    /// Versions that the ledger issued for a write; none for a read.
    issued: Option<Issued>,
    /// Oldest version that a read may return.
    floor: u64,
}

struct BlockClient {
    name: &'static str,
    order: Order,
    mix: Mix,
    data: Arc<Blocks>,
    /// Numbers of the requests that were not handed over yet.
    numbers: Range<u64>,
    ledger: Option<Arc<Mutex<Ledger>>>,
    queue: Option<Box<dyn DeviceQueue>>,
    /// Buffers, each with the place of its request in `under_way`.
    free: Vec<(usize, DeviceBuffer)>,
    under_way: Vec<Option<UnderWay>>,
}

impl BlockClient {
    /// Opens the queue, with a buffer for each request that it holds.
    fn open(&mut self, device: &dyn Device) -> Result<(), StoreError> {
        let depth = self.data.shape.depth;
        self.queue = Some(device.queue(depth)?);
        self.under_way = vec![None; depth];
        let buffer = |tag: usize| {
            let mut buffer = self.data.buffer();
            // zeros would be what a device might leave out
            self.data.pattern.fill(tag as u64, 0, &mut buffer);
            (tag, buffer)
        };
        self.free = (0..depth).rev().map(buffer).collect();
        Ok(())
    }

    /// Hands over as many requests as the queue holds.
    fn fill_up(&mut self, queue: &mut dyn DeviceQueue) -> Result<(), StoreError> {
        while !self.free.is_empty() {
            let Some(number) = self.numbers.next() else { break };
            let Some((tag, mut buffer)) = self.free.pop() else { break };
            let (seed, data) = (self.data.seed, &self.data);
            let (block, access) =
                (self.order.block(seed, number, data.blocks), self.mix.access(seed, number));
            let mut under_way = UnderWay { begin: Instant::now(), block, issued: None, floor: 0 };
            if let Some(mut ledger) = self.ledger() {
                match access {
                    DeviceAccess::Read => under_way.floor = ledger.floor(block),
                    DeviceAccess::Write => {
                        let issued = ledger.issue(block);
                        data.pattern.fill(block, issued.version, &mut buffer);
                        under_way.issued = Some(issued);
                    }
                }
            }
            under_way.begin = Instant::now();
            queue.submit(data.request(access, block, tag, buffer))?;
            self.under_way[tag] = Some(under_way);
        }
        Ok(())
    }

    fn ledger(&self) -> Option<MutexGuard<'_, Ledger>> {
        self.ledger.as_ref().map(|ledger| ledger.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Checks the result of a finished request, where checks are requested.
    fn check(&self, place: &str, request: &DeviceRequest, was: UnderWay) -> Result<(), StoreError> {
        let Some(mut ledger) = self.ledger() else { return Ok(()) };
        if let Some(issued) = was.issued {
            ledger.acknowledge(was.block, issued);
            return Ok(());
        }
        let versions = ledger.readable(was.block, was.floor);
        let checked = self.data.pattern.check(was.block, versions, &request.buffer);
        checked.map_err(|wrong| self.data.differs(place, was.block, &wrong))
    }
}

impl Client for BlockClient {
    fn next(
        &mut self,
        target: Target<'_>,
        recorder: &mut dyn Recorder,
    ) -> Result<Done, StoreError> {
        let device = self.data.device(target, self.name)?;
        if self.queue.is_none() {
            self.open(device)?;
        }
        // given back below, unless the device failed: then there is nothing to be done with it
        let mut queue = self.queue.take().expect("it was opened");
        self.fill_up(&mut *queue)?;
        let request = queue.complete()?;
        let was = self.under_way[request.tag]
            .take()
            .expect("requests come back with the tag that they had");
        recorder.record(request.access.word(), was.begin);
        self.check(device.place(), &request, was)?;
        self.free.push((request.tag, request.buffer));
        self.queue = Some(queue);
        Ok(Done { rows: 1, bytes: self.data.shape.block_bytes })
    }
}
