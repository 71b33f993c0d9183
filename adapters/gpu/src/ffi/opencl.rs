//! Devices of any maker by OpenCL 1.2. Its loader is looked for at run time.

use std::ptr;
use std::sync::{Arc, Mutex};

use opencl3::command_queue::CommandQueue;
use opencl3::context::Context;
use opencl3::device::{CL_DEVICE_TYPE_ALL, CL_DEVICE_TYPE_CPU, Device};
use opencl3::error_codes::{ClError, DLOPEN_RUNTIME_LOAD_FAILED};
use opencl3::kernel::Kernel;
use opencl3::memory::{
    Buffer, CL_MAP_READ, CL_MAP_WRITE, CL_MEM_ALLOC_HOST_PTR, CL_MEM_READ_ONLY, CL_MEM_READ_WRITE,
    ClMem,
};
use opencl3::platform::get_platforms;
use opencl3::program::Program;
use opencl3::types::{CL_BLOCKING, cl_device_id};
use zeroize::Zeroize;

use crate::kernel::Mode;
use crate::runtime::{
    Argument, Compiled, DeviceFacts, Fault, HostMemory, Keyed, Lane, Launch, Runtime,
};

/// Threads in a group, as in `kernels/dialect.h`.
const THREADS: usize = 128;

/// Returns the devices of all platforms, or in a sentence why there are none.
pub(crate) fn list() -> Result<Vec<DeviceFacts>, String> {
    let found = found().map_err(|error| match error.0 {
        DLOPEN_RUNTIME_LOAD_FAILED => {
            "no OpenCL platform is installed (libOpenCL.so.1 was not found)".into()
        }
        _ => format!("no OpenCL platform is installed ({error})"),
    })?;
    if found.is_empty() {
        return Err("no OpenCL platform has a device".into());
    }
    let facts = found.into_iter().enumerate().map(|(number, (platform, device))| {
        let device = Device::new(device);
        Ok(DeviceFacts {
            name: format!("opencl:{number}"),
            product: device.name()?.trim().to_owned(),
            driver: format!("{platform} {}", device.driver_version()?.trim()),
            memory_bytes: device.global_mem_size()?,
            units: device.max_compute_units()?,
        })
    });
    facts
        .collect::<Result<_, ClError>>()
        .map_err(|error| format!("an OpenCL device is of no use ({error})"))
}

/// Returns every device with the name of its platform. One thread at a time: drivers set themselves
/// up in their first call, and not all of them bear two.
fn found() -> Result<Vec<(String, cl_device_id)>, ClError> {
    static ONE: Mutex<()> = Mutex::new(());
    let _one = ONE.lock();
    let mut found = Vec::new();
    for platform in get_platforms()? {
        let name = platform.name()?;
        // A platform without a device returns an error.
        let devices = platform.get_devices(CL_DEVICE_TYPE_ALL).unwrap_or_default();
        found.extend(devices.into_iter().map(|device| (name.trim().to_owned(), device)));
    }
    Ok(found)
}

fn lost(doing: &'static str) -> impl Fn(ClError) -> Fault {
    move |error| Fault::Lost { doing, reason: error.to_string() }
}

/// Codes that can mean a lack of memory when returned by an allocation:
/// CL_MEM_OBJECT_ALLOCATION_FAILURE, CL_OUT_OF_RESOURCES, CL_OUT_OF_HOST_MEMORY,
/// CL_INVALID_BUFFER_SIZE.
const MEMORY: [i32; 4] = [-4, -5, -6, -61];

fn memory(bytes: usize) -> impl Fn(ClError) -> Fault {
    move |error| {
        if MEMORY.contains(&error.0) {
            Fault::Memory { bytes: bytes as u64 }
        } else {
            lost("allocating memory")(error)
        }
    }
}

struct OpenCl {
    facts: DeviceFacts,
    device: cl_device_id,
    context: Arc<Context>,
}

// SAFETY: handles of the driver, which any thread may use.
unsafe impl Send for OpenCl {}
// SAFETY: as above.
unsafe impl Sync for OpenCl {}

/// Opens device `number`, which `list` has found.
pub(crate) fn open(number: usize, facts: DeviceFacts) -> Result<Arc<dyn Runtime>, Fault> {
    let open = lost("opening it");
    let found = found().map_err(&open)?.into_iter().nth(number);
    let (_, device) =
        found.ok_or_else(|| Fault::Lost { doing: "opening it", reason: "it is gone".into() })?;
    let context = Context::from_device(&Device::new(device)).map_err(&open)?;
    Ok(Arc::new(OpenCl { facts, device, context: Arc::new(context) }))
}

fn queue(context: &Context, device: cl_device_id) -> Result<CommandQueue, Fault> {
    // SAFETY: the device is the context's.
    #[allow(deprecated)]
    unsafe { CommandQueue::create(context, device, 0) }.map_err(lost("making a queue"))
}

fn buffer(context: &Context, flags: u64, bytes: usize) -> Result<Buffer<u8>, Fault> {
    // Some drivers promise any amount and end the process when it is touched.
    let most = context
        .devices()
        .iter()
        .map(|device| Device::new(*device).max_mem_alloc_size().unwrap_or(u64::MAX))
        .min();
    if most.is_some_and(|most| bytes as u64 > most) {
        return Err(Fault::Memory { bytes: bytes as u64 });
    }
    // SAFETY: no memory of ours is handed over.
    unsafe { Buffer::create(context, flags, bytes, ptr::null_mut()) }.map_err(memory(bytes))
}

impl Runtime for OpenCl {
    fn facts(&self) -> &DeviceFacts {
        &self.facts
    }

    fn compile(&self, source: &str, mode: Mode) -> Result<Arc<dyn Compiled>, Fault> {
        let load = lost("loading a kernel");
        let mut program = Program::create_from_source(&self.context, source).map_err(&load)?;
        // Written out, a kernel is thousands of instructions without a branch: a compiler for CPUs
        // takes a minute over it.
        let is_cpu = Device::new(self.device).dev_type().map_err(&load)? & CL_DEVICE_TYPE_CPU != 0;
        let options = if is_cpu { "-cl-std=CL1.2 -DROLLED" } else { "-cl-std=CL1.2" };
        if let Err(error) = program.build(&[self.device], options) {
            let log = program.get_build_log(self.device).unwrap_or_default();
            return Err(Fault::Compile { log: format!("{error}\n{}", log.trim()) });
        }
        Ok(Arc::new(Code {
            context: self.context.clone(),
            device: self.device,
            program: Arc::new(program),
            mode,
        }))
    }

    fn page_locked(&self, bytes: usize) -> Result<Box<dyn HostMemory>, Fault> {
        let buffer =
            buffer(&self.context, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, bytes.max(1))?;
        let queue = queue(&self.context, self.device)?;
        let mut start = ptr::null_mut();
        // SAFETY: maps all of the buffer until `Mapped` is dropped.
        unsafe {
            let flags = CL_MAP_READ | CL_MAP_WRITE;
            queue.enqueue_map_buffer(&buffer, CL_BLOCKING, flags, 0, bytes.max(1), &mut start, &[])
        }
        .map_err(memory(bytes))?;
        // SAFETY: as many bytes as were just mapped.
        unsafe { ptr::write_bytes(start.cast::<u8>(), 0, bytes) };
        Ok(Box::new(Mapped { queue, buffer, start: start.cast(), bytes }))
    }
}

struct Code {
    context: Arc<Context>,
    device: cl_device_id,
    program: Arc<Program>,
    mode: Mode,
}

// SAFETY: handles of the driver, which any thread may use; kernels, which may not be shared, are
// made for each lane.
unsafe impl Send for Code {}
// SAFETY: as above.
unsafe impl Sync for Code {}

impl Compiled for Code {
    fn keyed(&self, keys: &[u32]) -> Result<Arc<dyn Keyed>, Fault> {
        let queue = queue(&self.context, self.device)?;
        let mut bytes = zeroize::Zeroizing::new(Vec::with_capacity(size_of_val(keys)));
        bytes.extend(keys.iter().flat_map(|key| key.to_ne_bytes()));
        let mut buffer = buffer(&self.context, CL_MEM_READ_ONLY, bytes.len())?;
        // SAFETY: as many bytes as the buffer has, borrowed until the call returns, which waits.
        unsafe { queue.enqueue_write_buffer(&mut buffer, CL_BLOCKING, 0, &bytes, &[]) }
            .map_err(lost("setting its key"))?;
        let (context, device, program, mode) =
            (self.context.clone(), self.device, self.program.clone(), self.mode);
        Ok(Arc::new(Arc::new(Keys {
            context,
            device,
            program,
            mode,
            queue,
            buffer,
            bytes: bytes.len(),
        })))
    }
}

/// A kernel's round keys in a buffer of the device.
struct Keys {
    context: Arc<Context>,
    device: cl_device_id,
    program: Arc<Program>,
    mode: Mode,
    queue: CommandQueue,
    buffer: Buffer<u8>,
    bytes: usize,
}

// SAFETY: handles of the driver, which any thread may use.
unsafe impl Send for Keys {}
// SAFETY: as above.
unsafe impl Sync for Keys {}

impl Drop for Keys {
    fn drop(&mut self) {
        wipe(&self.queue, &mut self.buffer, self.bytes);
    }
}

/// Zeroes a buffer. Where the device is gone so is its memory.
fn wipe(queue: &CommandQueue, buffer: &mut Buffer<u8>, bytes: usize) {
    // SAFETY: as many bytes as the buffer has.
    let _ = unsafe { queue.enqueue_fill_buffer(buffer, &[0], 0, bytes, &[]) };
    let _ = queue.finish();
}

impl Keyed for Arc<Keys> {
    fn lane(&self, bytes: usize) -> Result<Box<dyn Lane>, Fault> {
        let kernel = Kernel::create(&self.program, self.mode.function())
            .map_err(lost("loading a kernel"))?;
        let queue = queue(&self.context, self.device)?;
        let mut buffer = buffer(&self.context, CL_MEM_READ_WRITE, bytes)?;
        // Some drivers allocate late: the memory is touched here, where a failure can still be
        // reported. SAFETY: as many bytes as the buffer has.
        unsafe { queue.enqueue_fill_buffer(&mut buffer, &[0], 0, bytes, &[]) }
            .map_err(memory(bytes))?;
        queue.finish().map_err(memory(bytes))?;
        Ok(Box::new(OpenClLane { keys: self.clone(), kernel, queue, buffer, bytes }))
    }
}

struct OpenClLane {
    keys: Arc<Keys>,
    kernel: Kernel,
    queue: CommandQueue,
    buffer: Buffer<u8>,
    bytes: usize,
}

// SAFETY: handles of the driver; the kernel, whose arguments are not to be set by two threads at a
// time, is the lane's own.
unsafe impl Send for OpenClLane {}

impl Lane for OpenClLane {
    fn upload(&mut self, at: usize, from: &[u8]) -> Result<(), Fault> {
        assert!(at <= self.bytes && from.len() <= self.bytes - at, "a copy within the lane");
        // SAFETY: within the buffer, see above; `from` is borrowed until the call returns, which
        // waits.
        let copied = unsafe {
            self.queue.enqueue_write_buffer(&mut self.buffer, CL_BLOCKING, at, from, &[])
        };
        copied.map(drop).map_err(lost("copying data to it"))
    }

    fn run(&mut self, launch: &Launch) -> Result<(), Fault> {
        assert!(launch.bytes <= self.bytes, "a run within the lane");
        if launch.threads == 0 {
            return Ok(());
        }
        let begin = lost("starting a kernel");
        let threads = (launch.threads as usize).next_multiple_of(THREADS);
        // SAFETY: the arguments that the kernel has, of its types; it touches as many bytes of
        // memory as the launch states, which the lane has, see above.
        unsafe {
            self.kernel.set_arg(0, &self.buffer.get()).map_err(&begin)?;
            for (argument, at) in launch.arguments.iter().zip(1..) {
                match argument {
                    Argument::Word(word) => self.kernel.set_arg(at, word),
                    Argument::Word64(word) => self.kernel.set_arg(at, word),
                    Argument::Shape(shape) => self.kernel.set_arg(at, *shape),
                }
                .map_err(&begin)?;
            }
            let keys = u32::try_from(launch.arguments.len() + 1).expect("a few arguments");
            self.kernel.set_arg(keys, &self.keys.buffer.get()).map_err(&begin)?;
            let (global, group) = (&raw const threads, &raw const THREADS_OF_A_GROUP);
            self.queue
                .enqueue_nd_range_kernel(self.kernel.get(), 1, ptr::null(), global, group, &[])
                .map_err(&begin)?;
        }
        self.queue.finish().map_err(lost("encrypting"))
    }

    fn download(&mut self, at: usize, into: &mut [u8]) -> Result<(), Fault> {
        assert!(at <= self.bytes && into.len() <= self.bytes - at, "a copy within the lane");
        // SAFETY: within the buffer, see above; `into` is borrowed until the call returns, which
        // waits.
        let copied =
            unsafe { self.queue.enqueue_read_buffer(&self.buffer, CL_BLOCKING, at, into, &[]) };
        copied.map(drop).map_err(lost("copying data from it"))
    }
}

/// [`THREADS`] where a pointer is required.
static THREADS_OF_A_GROUP: usize = THREADS;

impl Drop for OpenClLane {
    fn drop(&mut self) {
        wipe(&self.queue, &mut self.buffer, self.bytes);
    }
}

/// Memory that the driver allocated, mapped.
struct Mapped {
    queue: CommandQueue,
    buffer: Buffer<u8>,
    start: *mut u8,
    bytes: usize,
}

// SAFETY: memory with one owner.
unsafe impl Send for Mapped {}

impl HostMemory for Mapped {
    fn bytes(&self) -> &[u8] {
        // SAFETY: mapped with that many bytes, written once when it was made, until drop.
        unsafe { std::slice::from_raw_parts(self.start, self.bytes) }
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, and borrowed exclusively.
        unsafe { std::slice::from_raw_parts_mut(self.start, self.bytes) }
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        self.bytes_mut().zeroize();
        // SAFETY: mapped once by `page_locked`, unmapped once, here.
        let _ = unsafe {
            self.queue.enqueue_unmap_mem_object(self.buffer.get(), self.start.cast(), &[])
        };
        let _ = self.queue.finish();
    }
}
