//! NVIDIA's devices by the CUDA driver interface, with kernels compiled by NVRTC. Both libraries
//! are looked for at run time.

use std::ffi::{CString, c_void};
use std::ptr;
use std::sync::Arc;

use cudarc::driver::result::{self, DriverError};
use cudarc::driver::sys::{self, CUdevice_attribute as Attribute, CUresult};
use cudarc::nvrtc;
use zeroize::Zeroize;

use crate::kernel::Mode;
use crate::runtime::{
    Argument, Compiled, DeviceFacts, Fault, HostMemory, Keyed, Lane, Launch, Runtime,
};

/// Threads in a group, as in `kernels/dialect.h`.
const THREADS: u32 = 128;

/// Returns the devices, or in a sentence why there are none.
pub(crate) fn list() -> Result<Vec<DeviceFacts>, String> {
    // SAFETY: looks for a library and loads it, which runs its initialisers: NVIDIA's driver, as
    // any program does that uses CUDA.
    if !unsafe { sys::is_culib_present() } {
        return Err("no NVIDIA driver is installed (libcuda.so.1 was not found)".into());
    }
    let refused = |error: DriverError| format!("NVIDIA's driver is of no use: {}", text(error));
    result::init().map_err(refused)?;
    let count = result::device::get_count().map_err(refused)?;
    if count == 0 {
        return Err("NVIDIA's driver is installed, but there is no device".into());
    }
    let mut version = 0;
    // SAFETY: writes one integer.
    unsafe { sys::cuDriverGetVersion(&raw mut version) }.result().map_err(refused)?;
    (0..count).map(|number| facts(number, version).map_err(refused)).collect()
}

fn facts(number: i32, version: i32) -> Result<DeviceFacts, DriverError> {
    let device = result::device::get(number)?;
    // SAFETY: `device` is one that the driver has just named.
    let (memory, units) = unsafe {
        (
            result::device::total_mem(device)?,
            result::device::get_attribute(
                device,
                Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT,
            )?,
        )
    };
    Ok(DeviceFacts {
        name: format!("cuda:{number}"),
        product: result::device::get_name(device)?,
        driver: format!("CUDA {}.{}", version / 1000, version % 1000 / 10),
        memory_bytes: memory as u64,
        units: u32::try_from(units).unwrap_or(0),
    })
}

fn text(error: DriverError) -> String {
    let text = error.error_string().map(|text| text.to_string_lossy().into_owned());
    text.unwrap_or_else(|_| format!("{error:?}"))
}

fn lost(doing: &'static str) -> impl Fn(DriverError) -> Fault {
    move |error| Fault::Lost { doing, reason: text(error) }
}

fn memory(bytes: usize) -> impl Fn(DriverError) -> Fault {
    move |error| match error.0 {
        CUresult::CUDA_ERROR_OUT_OF_MEMORY => Fault::Memory { bytes: bytes as u64 },
        _ => lost("allocating memory")(error),
    }
}

/// The device's primary context, held as long as this lives.
struct Context {
    facts: DeviceFacts,
    device: sys::CUdevice,
    context: sys::CUcontext,
}

// SAFETY: a context is a handle that any thread may make its own; the driver locks what it must.
unsafe impl Send for Context {}
// SAFETY: as above.
unsafe impl Sync for Context {}

impl Context {
    /// Makes it the calling thread's, as every call of the driver requires.
    fn enter(&self) -> Result<(), Fault> {
        // SAFETY: the context is retained until `self` is dropped.
        unsafe { result::ctx::set_current(self.context) }.map_err(lost("entering its context"))
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: retained once by `open`, released once here. A failure leaves nothing to do.
        let _ = unsafe { result::primary_ctx::release(self.device) };
    }
}

struct Cuda(Arc<Context>);

/// Opens device `number`, which `list` has found.
pub(crate) fn open(number: usize, facts: DeviceFacts) -> Result<Arc<dyn Runtime>, Fault> {
    let open = lost("opening it");
    let device = result::device::get(i32::try_from(number).unwrap_or(i32::MAX)).map_err(&open)?;
    // SAFETY: the driver has just named the device.
    let context = unsafe { result::primary_ctx::retain(device) }.map_err(&open)?;
    Ok(Arc::new(Cuda(Arc::new(Context { facts, device, context }))))
}

impl Runtime for Cuda {
    fn facts(&self) -> &DeviceFacts {
        &self.0.facts
    }

    fn compile(&self, source: &str, mode: Mode) -> Result<Arc<dyn Compiled>, Fault> {
        let attribute = |attribute| {
            // SAFETY: the device was opened.
            unsafe { result::device::get_attribute(self.0.device, attribute) }
                .map_err(lost("asking for its kind"))
        };
        let major = attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?;
        let minor = attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?;
        let code = compile_for(&format!("sm_{major}{minor}"), source)
            .map_err(|log| Fault::Compile { log })?;
        Ok(Arc::new(Code { context: self.0.clone(), code, mode }))
    }

    fn page_locked(&self, bytes: usize) -> Result<Box<dyn HostMemory>, Fault> {
        self.0.enter()?;
        // SAFETY: the memory is freed once, by `Pinned`.
        let start = unsafe { result::malloc_host(bytes.max(1), 0) }.map_err(memory(bytes))?;
        // SAFETY: as many bytes as were just allocated.
        unsafe { ptr::write_bytes(start.cast::<u8>(), 0, bytes) };
        Ok(Box::new(Pinned { context: self.0.clone(), start: start.cast(), bytes }))
    }
}

/// Compiles `source` for `architecture`, such as `sm_90`, with NVRTC; no driver is needed. Returns
/// machine code.
pub(crate) fn compile_for(architecture: &str, source: &str) -> Result<Vec<u8>, String> {
    // SAFETY: looks for a library and loads it: NVIDIA's compiler.
    if !unsafe { nvrtc::sys::is_culib_present() } {
        return Err("NVIDIA's run-time compiler is not installed (libnvrtc.so was not found); \
                    it comes with CUDA, or as the Python package nvidia-cuda-nvrtc-cu12"
            .into());
    }
    let source = CString::new(source).map_err(|_| "a zero byte in a kernel".to_owned())?;
    let failed = |error: nvrtc::result::NvrtcError| format!("{error:?}");
    let program = nvrtc::result::create_program(&source, Some(c"kernel.cu")).map_err(failed)?;
    let code = compiled(program, architecture);
    // SAFETY: made above, destroyed once, here.
    let _ = unsafe { nvrtc::result::destroy_program(program) };
    code
}

fn compiled(program: nvrtc::sys::nvrtcProgram, architecture: &str) -> Result<Vec<u8>, String> {
    let failed = |error: nvrtc::result::NvrtcError| format!("{error:?}");
    // SAFETY: the caller destroys the program afterwards.
    let result = unsafe {
        nvrtc::result::compile_program(program, &[format!("--gpu-architecture={architecture}")])
    };
    if let Err(error) = result {
        // SAFETY: as above.
        let log = unsafe { nvrtc::result::get_program_log(program) }.unwrap_or_default();
        let log: Vec<u8> =
            log.into_iter().map(|byte| byte as u8).take_while(|byte| *byte != 0).collect();
        return Err(format!("{}\n{}", failed(error), String::from_utf8_lossy(&log)));
    }
    let mut bytes = 0;
    // SAFETY: writes one size; then as many bytes as it returned into a buffer of that size.
    unsafe {
        nvrtc::sys::nvrtcGetCUBINSize(program, &raw mut bytes).result().map_err(failed)?;
        let mut code = vec![0_u8; bytes];
        nvrtc::sys::nvrtcGetCUBIN(program, code.as_mut_ptr().cast()).result().map_err(failed)?;
        Ok(code)
    }
}

struct Code {
    context: Arc<Context>,
    code: Vec<u8>,
    mode: Mode,
}

impl Compiled for Code {
    fn keyed(&self, keys: &[u32]) -> Result<Arc<dyn Keyed>, Fault> {
        self.context.enter()?;
        let load = lost("loading a kernel");
        // SAFETY: whole machine code as the compiler made it; the module is unloaded by `Module`.
        let module =
            unsafe { result::module::load_data(self.code.as_ptr().cast()) }.map_err(&load)?;
        let mut loaded = Module {
            context: self.context.clone(),
            module,
            function: ptr::null_mut(),
            keys: 0,
            key_bytes: size_of_val(keys),
        };
        let name = CString::new(self.mode.function()).expect("a name without a zero byte");
        // SAFETY: the module is loaded; the names come from the kernels and from
        // `kernels/dialect.h`.
        let (function, symbol) = unsafe {
            (
                result::module::get_function(module, name).map_err(&load)?,
                result::module::get_global(module, c"keys".into()).map_err(&load)?,
            )
        };
        assert_eq!(symbol.1, loaded.key_bytes, "round keys as the kernel has room for");
        (loaded.function, loaded.keys) = (function, symbol.0);
        // SAFETY: as many bytes as the symbol has, see above.
        unsafe { result::memcpy_htod_sync(loaded.keys, keys) }.map_err(lost("setting its key"))?;
        Ok(Arc::new(Arc::new(loaded)))
    }
}

/// A separate module for each key, since a key is a symbol in it.
struct Module {
    context: Arc<Context>,
    module: sys::CUmodule,
    function: sys::CUfunction,
    keys: sys::CUdeviceptr,
    key_bytes: usize,
}

// SAFETY: handles of the driver, which any thread may use within the context.
unsafe impl Send for Module {}
// SAFETY: as above.
unsafe impl Sync for Module {}

impl Drop for Module {
    fn drop(&mut self) {
        if self.context.enter().is_err() {
            return;
        }
        // SAFETY: the symbol has that many bytes, and no lane is left: each holds this module.
        // Where the device is gone the key is gone, too.
        unsafe {
            if self.keys != 0 {
                let _ = result::memset_d8_sync(self.keys, 0, self.key_bytes);
            }
            let _ = result::module::unload(self.module);
        }
    }
}

impl Keyed for Arc<Module> {
    fn lane(&self, bytes: usize) -> Result<Box<dyn Lane>, Fault> {
        self.context.enter()?;
        let stream = result::stream::create(result::stream::StreamKind::NonBlocking)
            .map_err(lost("making a queue"))?;
        let mut lane = CudaLane { module: self.clone(), stream, start: 0, bytes };
        // SAFETY: freed once, by the lane.
        lane.start = unsafe { result::malloc_sync(bytes) }.map_err(memory(bytes))?;
        // SAFETY: as many bytes as were just allocated. Another program's leftovers there must not
        // be used.
        unsafe { result::memset_d8_sync(lane.start, 0, bytes) }
            .map_err(lost("clearing its memory"))?;
        Ok(Box::new(lane))
    }
}

struct CudaLane {
    module: Arc<Module>,
    stream: sys::CUstream,
    /// Null until the memory is there.
    start: sys::CUdeviceptr,
    bytes: usize,
}

// SAFETY: handles of the driver, which any thread may use within the context.
unsafe impl Send for CudaLane {}

impl CudaLane {
    fn wait(&self, doing: &'static str) -> Result<(), Fault> {
        // SAFETY: the stream lives as long as the lane.
        unsafe { result::stream::synchronize(self.stream) }.map_err(lost(doing))
    }
}

impl Lane for CudaLane {
    fn upload(&mut self, at: usize, from: &[u8]) -> Result<(), Fault> {
        assert!(at <= self.bytes && from.len() <= self.bytes - at, "a copy within the lane");
        self.module.context.enter()?;
        let to = self.start + at as u64;
        // SAFETY: within the lane's memory, see above; `from` is borrowed until the stream is done.
        unsafe { result::memcpy_htod_async(to, from, self.stream) }
            .map_err(lost("copying data to it"))?;
        self.wait("copying data to it")
    }

    fn run(&mut self, launch: &Launch) -> Result<(), Fault> {
        assert!(launch.bytes <= self.bytes, "a run within the lane");
        self.module.context.enter()?;
        let groups = launch.threads.div_ceil(THREADS);
        if groups == 0 {
            return Ok(());
        }
        // Each is read through its pointer, and none is written.
        let mut arguments: Vec<*mut c_void> = vec![(&raw const self.start).cast_mut().cast()];
        arguments.extend(launch.arguments.iter().map(|argument| match argument {
            Argument::Word(word) => (&raw const *word).cast_mut().cast(),
            Argument::Word64(word) => (&raw const *word).cast_mut().cast(),
            Argument::Shape(shape) => (&raw const **shape).cast_mut().cast::<c_void>(),
        }));
        // SAFETY: the arguments that the kernel has, of its types; it touches as many bytes of
        // memory as the launch states, which the lane has, see above.
        let launched = unsafe {
            let (grid, group) = ((groups, 1, 1), (THREADS, 1, 1));
            result::launch_kernel(self.module.function, grid, group, 0, self.stream, &mut arguments)
        };
        launched.map_err(lost("starting a kernel"))?;
        self.wait("encrypting")
    }

    fn download(&mut self, at: usize, into: &mut [u8]) -> Result<(), Fault> {
        assert!(at <= self.bytes && into.len() <= self.bytes - at, "a copy within the lane");
        self.module.context.enter()?;
        let from = self.start + at as u64;
        // SAFETY: within the lane's memory, see above; `into` is borrowed until the stream is done.
        unsafe { result::memcpy_dtoh_async(into, from, self.stream) }
            .map_err(lost("copying data from it"))?;
        self.wait("copying data from it")
    }
}

impl Drop for CudaLane {
    fn drop(&mut self) {
        if self.module.context.enter().is_err() {
            return;
        }
        // SAFETY: the lane's own memory and stream, of no use to anybody any more; null is no
        // memory. Where the device is gone so is its memory.
        unsafe {
            if self.start != 0 {
                let _ = result::memset_d8_sync(self.start, 0, self.bytes);
                let _ = result::ctx::synchronize();
                let _ = result::free_sync(self.start);
            }
            let _ = result::stream::destroy(self.stream);
        }
    }
}

/// Page-locked memory.
struct Pinned {
    context: Arc<Context>,
    start: *mut u8,
    bytes: usize,
}

// SAFETY: memory with one owner.
unsafe impl Send for Pinned {}

impl HostMemory for Pinned {
    fn bytes(&self) -> &[u8] {
        // SAFETY: allocated with that many bytes, written once when it was made, and freed on drop.
        unsafe { std::slice::from_raw_parts(self.start, self.bytes) }
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, and borrowed exclusively.
        unsafe { std::slice::from_raw_parts_mut(self.start, self.bytes) }
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        self.bytes_mut().zeroize();
        let _ = self.context.enter();
        // SAFETY: allocated by `page_locked`, freed once, here.
        let _ = unsafe { result::free_host(self.start.cast()) };
    }
}
