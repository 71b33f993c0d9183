//! FF1 on a device: any number of values, more than the device holds, with the same results, value
//! for value, as `sealstone_cipher::ff1`.
//!
//! Values go through the device in chunks, in several lanes (`lanes`); a chunk is copied once in
//! each direction, and all ten rounds are one run of a kernel. Work that does not suit a device is
//! computed on the CPU: few values, halves of more than 96 bits, long tweaks.
//!
//! A thread has 32 values. Between the steps of a round the halves, as numbers, and the blocks are
//! in the device's memory, since the bits of 32 blocks fill all registers; each step is a loop over
//! the thread's values, but the cipher takes them all at once. Values that follow from radix and
//! length are arguments, so one kernel serves all radices. The tweak of a value is encrypted on the
//! device; the part that all values share comes from the CPU.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use sealstone_cipher::ff1::{Ff1, Ff1Error, Outline, Tweaks};
use zeroize::{Zeroize, Zeroizing};

use crate::ctr::{PageLocked, Settings};
use crate::error::{Error, Left};
use crate::ff1_shape::{Shape, TILE_VALUES, TweakShape, tweak_stride};
use crate::lanes::{Lanes, Worker, lock};
use crate::runtime::{Argument, Fault, Keyed, Lane, Launch, Runtime};

/// Limits on how much of a device to use at a time, and the number of values from which to use it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ff1Settings {
    /// Chunks under way at a time, and bytes of each: a chunk has its values as numerals and as
    /// numbers, and the blocks of a round.
    pub lanes: Settings,
    /// Fewer values than this in one call are computed on the CPU.
    pub values_min: usize,
}

impl Default for Ff1Settings {
    /// Chunks of some hundred thousand values, and the device for as many as a core has done in
    /// about a millisecond.
    fn default() -> Self {
        Self {
            lanes: Settings { chunk_bytes: 16 << 20, ..Settings::default() },
            values_min: 16 << 10,
        }
    }
}

/// The longest tweak that goes to a device, in bytes: longer tweaks are rare, and take as much
/// memory for each value.
const TWEAK_BYTES_MAX: usize = 1024;
/// Fewer values are not worth a thread: whole tiles.
const SHARE_VALUES_MIN: usize = 16 * TILE_VALUES;

/// Counts of the values computed on the device and on the CPU so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ff1Counts {
    /// Values computed on the device.
    pub device_values: u64,
    /// Values computed on the CPU.
    pub cpu_values: u64,
    /// Nanoseconds of copying to the device and back, all lanes together.
    pub copying_ns: u64,
    /// Nanoseconds of kernels, all lanes together.
    pub computing_ns: u64,
    /// Nanoseconds that callers waited for the device, all of them together.
    pub waited_ns: u64,
}

#[derive(Default)]
struct Counters {
    device_values: AtomicU64,
    cpu_values: AtomicU64,
    copying_ns: AtomicU64,
    computing_ns: AtomicU64,
    waited_ns: AtomicU64,
}

/// FF1 keyed with one cipher on one device, over one radix. One object serves many threads at once.
/// Its keys and what it holds of values, on the device and in page-locked memory, are zeroed on
/// drop.
pub struct DeviceFf1 {
    cpu: Ff1,
    lanes: Lanes,
    values_min: usize,
    counters: Counters,
}

impl fmt::Debug for DeviceFf1 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeviceFf1")
            .field("device", &self.device())
            .field("cpu", &self.cpu)
            .finish_non_exhaustive()
    }
}

/// Values of one length that go to the device, with tweaks that are all as long.
struct Batch<'a> {
    shape: Shape,
    tweaks: Tweaks<'a>,
    /// Bytes of each value's tweak there.
    tweak_stride: usize,
    /// Numerals of a value.
    length: usize,
}

impl DeviceFf1 {
    pub(crate) fn new(
        runtime: Arc<dyn Runtime>,
        keyed: Arc<dyn Keyed>,
        cpu: Ff1,
        settings: Ff1Settings,
    ) -> Self {
        let Ff1Settings { lanes: Settings { lanes, chunk_bytes }, values_min } = settings;
        let lanes = Lanes::new(runtime, keyed, lanes, chunk_bytes.max(1));
        Self { cpu, lanes, values_min, counters: Counters::default() }
    }

    /// Returns the name of the device.
    #[must_use]
    pub fn device(&self) -> &str {
        self.lanes.device()
    }

    /// Returns the same cipher on the CPU, with the same results, value for value.
    #[must_use]
    pub fn cpu(&self) -> &Ff1 {
        &self.cpu
    }

    /// Returns the counts of the values computed on the device and on the CPU so far.
    #[must_use]
    pub fn counts(&self) -> Ff1Counts {
        let Counters { device_values, cpu_values, copying_ns, computing_ns, waited_ns } =
            &self.counters;
        Ff1Counts {
            device_values: device_values.load(Relaxed),
            cpu_values: cpu_values.load(Relaxed),
            copying_ns: copying_ns.load(Relaxed),
            computing_ns: computing_ns.load(Relaxed),
            waited_ns: waited_ns.load(Relaxed),
        }
    }

    /// Encrypts `values` in place, as [`Ff1::seal_batch`] does: any number of values of `length`
    /// numerals each.
    ///
    /// # Errors
    /// `Error::Ff1` as there; `Error::OutOfMemory`; `Error::Lost`. After each of them `values` are
    /// unchanged: encryption done before is undone on the CPU.
    pub fn seal_batch(
        &self,
        tweaks: Tweaks<'_>,
        values: &mut [u16],
        length: usize,
    ) -> Result<(), Error> {
        self.crypt(true, tweaks, values, length)
    }

    /// Decrypts `values` in place, what [`DeviceFf1::seal_batch`] encrypts.
    ///
    /// # Errors
    /// As there.
    pub fn open_batch(
        &self,
        tweaks: Tweaks<'_>,
        values: &mut [u16],
        length: usize,
    ) -> Result<(), Error> {
        self.crypt(false, tweaks, values, length)
    }

    fn crypt(
        &self,
        seal: bool,
        tweaks: Tweaks<'_>,
        values: &mut [u16],
        length: usize,
    ) -> Result<(), Error> {
        self.cpu.check_batch(tweaks, values, length)?;
        let count = values.len() / length;
        let outline = self.cpu.outline(length).filter(|_| count > 0 && count >= self.values_min);
        let Some(outline) = outline else { return Ok(self.on_cpu(seal, tweaks, values, length)?) };
        let Tweaks::Each(each) = tweaks else {
            return self.crypt_alike(seal, outline, tweaks, values);
        };
        // the device takes tweaks of one length at a time
        let mut by_length: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (number, tweak) in each.iter().enumerate() {
            by_length.entry(tweak.len()).or_default().push(number);
        }
        if by_length.len() == 1 {
            return self.crypt_alike(seal, outline, tweaks, values);
        }
        let mut results = Vec::with_capacity(by_length.len());
        for members in by_length.values() {
            let mut some = Zeroizing::new(Vec::with_capacity(members.len() * length));
            members
                .iter()
                .for_each(|member| some.extend_from_slice(&values[member * length..][..length]));
            let their: Vec<&[u8]> = members.iter().map(|member| each[*member]).collect();
            match members.len() < self.values_min {
                true => self.on_cpu(seal, Tweaks::Each(&their), &mut some, length)?,
                false => self.crypt_alike(seal, outline, Tweaks::Each(&their), &mut some)?,
            }
            results.push(some);
        }
        // only now, so that a device which fails leaves all as it was
        for (members, some) in by_length.values().zip(&results) {
            for (member, value) in members.iter().zip(some.chunks_exact(length)) {
                values[member * length..][..length].copy_from_slice(value);
            }
        }
        Ok(())
    }

    fn on_cpu(
        &self,
        seal: bool,
        tweaks: Tweaks<'_>,
        values: &mut [u16],
        length: usize,
    ) -> Result<(), Ff1Error> {
        self.counters.cpu_values.fetch_add((values.len() / length) as u64, Relaxed);
        match seal {
            true => self.cpu.seal_batch(tweaks, values, length),
            false => self.cpu.open_batch(tweaks, values, length),
        }
    }

    /// Builds the description of a batch for the device, if the device supports its values.
    fn batch<'a>(&self, seal: bool, outline: Outline, tweaks: Tweaks<'a>) -> Option<Batch<'a>> {
        let length = outline.left + outline.right;
        let (tweak_shape, tweak_bytes, stride) = match tweaks {
            Tweaks::One(tweak) => (TweakShape::One(tweak), 0, 0),
            Tweaks::Packed { tweak_bytes, .. } => alike(&self.cpu, outline, tweak_bytes),
            Tweaks::Each(each) => {
                alike(&self.cpu, outline, each.first().map_or(0, |tweak| tweak.len()))
            }
        };
        let shape = Shape::new(&self.cpu, outline, tweak_shape, seal);
        let fits = tweak_bytes <= TWEAK_BYTES_MAX
            && shape.value_bytes(stride) <= self.lanes.lane_bytes() / TILE_VALUES;
        fits.then_some(Batch { shape, tweaks, tweak_stride: stride, length })
    }

    /// Seals or opens values whose tweaks are all as long.
    fn crypt_alike(
        &self,
        seal: bool,
        outline: Outline,
        tweaks: Tweaks<'_>,
        values: &mut [u16],
    ) -> Result<(), Error> {
        let length = outline.left + outline.right;
        let Some(batch) = self.batch(seal, outline, tweaks) else {
            return Ok(self.on_cpu(seal, tweaks, values, length)?);
        };
        let chunk_numerals = self.chunk_values(&batch, values.len() / length) * length;
        let chunks: Vec<_> =
            values.chunks_mut(chunk_numerals).zip((0..).step_by(chunk_numerals / length)).collect();
        let (done, begin) = (Mutex::new(Vec::new()), Instant::now());
        let result = self.lanes.each(chunks, |worker, (values, first)| {
            self.through_staging(worker, &batch, values, first)?;
            lock(&done).push(first..first + values.len() / length);
            Ok(())
        });
        let Err(fault) = result else {
            self.counters.waited_ns.fetch_add(begin.elapsed().as_nanos() as u64, Relaxed);
            self.counters.device_values.fetch_add((values.len() / length) as u64, Relaxed);
            return Ok(());
        };
        for done in lock(&done).drain(..) {
            let some = &mut values[done.start * length..done.end * length];
            match seal {
                true => self.cpu.open_batch(tweaks.of(done), some, length)?,
                false => self.cpu.seal_batch(tweaks.of(done), some, length)?,
            }
        }
        Err(Error::of(self.device(), fault, Left::AsItWas))
    }

    /// Returns the number of values of a chunk where there are `count`: as many as fill a lane;
    /// where they fit into few chunks they are divided among all lanes.
    fn chunk_values(&self, batch: &Batch, count: usize) -> usize {
        let most = self.lanes.lane_bytes()
            / (TILE_VALUES * batch.shape.value_bytes(batch.tweak_stride))
            * TILE_VALUES;
        let share =
            (count / self.lanes.count()).max(SHARE_VALUES_MIN).next_multiple_of(TILE_VALUES);
        share.min(most)
    }

    /// Seals or opens `values`, which begin with number `first` of the batch.
    fn through_staging(
        &self,
        worker: &mut Worker,
        batch: &Batch,
        values: &mut [u16],
        first: usize,
    ) -> Result<(), Fault> {
        let (shape, bytes, count) = batch.of_values(values.len() / batch.length);
        let (lane, staging) = worker.staged()?;
        let (staged, after) = staging.split_at_mut(size_of_val(values));
        for (bytes, numeral) in staged.as_chunks_mut().0.iter_mut().zip(&*values) {
            *bytes = numeral.to_le_bytes();
        }
        let tweaks = &mut after[..count * batch.tweak_stride];
        for (number, room) in (first..).zip(tweaks.chunks_exact_mut(batch.tweak_stride.max(1))) {
            let tweak = batch.tweaks.get(number);
            let (tweak_room, zeros) = room.split_at_mut(tweak.len());
            tweak_room.copy_from_slice(tweak);
            zeros.fill(0);
        }
        let begin = Instant::now();
        lane.upload(0, staged)?;
        if !tweaks.is_empty() {
            lane.upload(shape.tweaks_at(), tweaks)?;
        }
        let copied = Instant::now();
        run(lane, &shape, bytes)?;
        let computed = Instant::now();
        lane.download(0, staged)?;
        self.time(copied - begin + computed.elapsed(), computed - copied);
        for (numeral, bytes) in values.iter_mut().zip(staged.as_chunks().0) {
            *numeral = u16::from_le_bytes(*bytes);
        }
        Ok(())
    }

    fn time(&self, copying: std::time::Duration, computing: std::time::Duration) {
        self.counters.copying_ns.fetch_add(copying.as_nanos() as u64, Relaxed);
        self.counters.computing_ns.fetch_add(computing.as_nanos() as u64, Relaxed);
    }

    /// Does the same as [`DeviceFf1::seal_batch`] under a single tweak, without a copy in this
    /// machine's memory: the device reads and writes `values`, whose numerals have 16 bits, the
    /// lower byte first. The device does the computing, no matter how few values there are.
    ///
    /// # Errors
    /// `Error::Ff1` for incomplete values or values that the device does not support, which are
    /// untouched; `Error::OutOfMemory`, `Error::Lost`: then `values` are zeroed, since a part of a
    /// chunk may have arrived.
    pub fn seal_page_locked(
        &self,
        tweak: &[u8],
        values: &mut PageLocked,
        length: usize,
    ) -> Result<(), Error> {
        let batch = self.checked(tweak, values, length)?;
        let value_bytes = 2 * length;
        let chunk_bytes = self.chunk_values(&batch, values.len() / value_bytes) * value_bytes;
        let result = self.lanes.each(
            values.chunks_mut(chunk_bytes).collect(),
            |worker, values: &mut [u8]| {
                let (shape, bytes, _) = batch.of_values(values.len() / value_bytes);
                worker.lane.upload(0, values)?;
                run(&mut *worker.lane, &shape, bytes)?;
                worker.lane.download(0, values)
            },
        );
        result.map_err(|fault| {
            values.zeroize();
            Error::of(self.device(), fault, Left::Wiped)
        })
    }

    /// Returns memory of the device that holds `values`, numerals as in
    /// [`DeviceFf1::seal_page_locked`]: for values that stay there between steps.
    ///
    /// # Errors
    /// As there; nothing is changed.
    pub fn resident(
        &self,
        tweak: &[u8],
        values: &[u8],
        length: usize,
    ) -> Result<Ff1Resident, Error> {
        let batch = self.checked(tweak, values, length)?;
        let (shape, bytes, _) = batch.of_values(values.len() / (2 * length));
        let on_device = || {
            let mut lane = self.lanes.keyed().lane(bytes.max(1))?;
            lane.upload(0, values)?;
            Ok(lane)
        };
        let lane = on_device().map_err(|fault| Error::of(self.device(), fault, Left::NoData))?;
        Ok(Ff1Resident {
            device: self.device().to_owned(),
            lane,
            shape,
            bytes,
            values_bytes: values.len(),
        })
    }

    /// Returns the batch of `values`, numerals of 16 bits, the lower byte first, if the device
    /// takes them.
    fn checked<'a>(
        &self,
        tweak: &'a [u8],
        values: &[u8],
        length: usize,
    ) -> Result<Batch<'a>, Error> {
        let mut numerals = Zeroizing::new(Vec::with_capacity(values.len() / 2));
        numerals.extend(values.as_chunks().0.iter().map(|bytes| u16::from_le_bytes(*bytes)));
        self.cpu.check_batch(Tweaks::One(tweak), &numerals, length)?;
        let batch = self
            .cpu
            .outline(length)
            .and_then(|outline| self.batch(true, outline, Tweaks::One(tweak)));
        let (least, most, radix) =
            (*self.cpu.lengths().start(), self.length_max(), self.cpu.radix());
        batch.ok_or(Error::Ff1(Ff1Error::Length { found: length, least, most, radix }))
    }

    /// Returns the longest values that the device takes, in numerals.
    fn length_max(&self) -> usize {
        self.cpu
            .lengths()
            .take_while(|length| self.cpu.outline(*length).is_some())
            .last()
            .unwrap_or(0)
    }
}

/// Seals or opens the values in a lane's memory, of which `bytes` are in use.
fn run(lane: &mut dyn Lane, shape: &Shape, bytes: usize) -> Result<(), Fault> {
    lane.run(&Launch { threads: shape.threads(), bytes, arguments: &[Argument::Shape(shape)] })
}

fn alike<'a>(cpu: &Ff1, outline: Outline, tweak_bytes: usize) -> (TweakShape<'a>, usize, usize) {
    (TweakShape::Each { tweak_bytes }, tweak_bytes, tweak_stride(cpu, outline, tweak_bytes))
}

impl Batch<'_> {
    /// Returns the shape of a run over `count` values, the bytes of a lane's memory that it takes,
    /// and `count`.
    fn of_values(&self, count: usize) -> (Shape, usize, usize) {
        let tiles = count.div_ceil(TILE_VALUES);
        let bytes = tiles * TILE_VALUES * self.shape.value_bytes(self.tweak_stride);
        (self.shape.of_tiles(u32::try_from(tiles).expect("a chunk of the device's")), bytes, count)
    }
}

/// Values in a device's memory. Zeroed on drop.
pub struct Ff1Resident {
    device: String,
    lane: Box<dyn Lane>,
    shape: Shape,
    bytes: usize,
    values_bytes: usize,
}

impl fmt::Debug for Ff1Resident {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ff1Resident").field("device", &self.device).finish_non_exhaustive()
    }
}

impl Ff1Resident {
    /// Encrypts the values that are there.
    ///
    /// # Errors
    /// `Error::Lost`; data on the device is then lost with it.
    pub fn seal(&mut self) -> Result<(), Error> {
        let ran = run(&mut *self.lane, &self.shape, self.bytes);
        ran.map_err(|fault| Error::of(&self.device, fault, Left::NoData))
    }

    /// Copies the values to `values`, which must have the original length.
    ///
    /// # Errors
    /// `Error::Lost`; `values` are then zeroed.
    ///
    /// # Panics
    /// If `values` have another length.
    pub fn store(&mut self, values: &mut [u8]) -> Result<(), Error> {
        assert_eq!(values.len(), self.values_bytes, "values of a resident buffer");
        self.lane.download(0, values).map_err(|fault| {
            values.zeroize();
            Error::of(&self.device, fault, Left::Wiped)
        })
    }
}
