//! The functions of NVIDIA's driver library that the engine calls, looked up at run time.
//!
//! Each function returns its result code as an integer. The existing bindings, `cust` and `cudarc`,
//! declare the result as a Rust enum. A newer driver returns codes that their enums lack, which is
//! undefined behaviour.

use libloading::Library;
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::sync::OnceLock;

/// The file name by which the dynamic loader finds the driver.
const LIBRARY: &str = "libcuda.so.1";

/// The driver's index of a device.
pub(crate) type Ordinal = c_int;
/// An address in a device's memory.
pub(crate) type Address = u64;
/// The driver's handle of a context.
pub(crate) type Context = *mut c_void;
/// The driver's handle of a module.
pub(crate) type Module = *mut c_void;
/// The driver's handle of an entry point.
pub(crate) type Function = *mut c_void;
/// The driver's handle of a stream.
pub(crate) type Stream = *mut c_void;
/// The driver's handle of an event.
pub(crate) type Event = *mut c_void;
/// The driver's handle of a graph.
pub(crate) type Graph = *mut c_void;
/// The driver's handle of an object that a graph keeps.
pub(crate) type UserObject = *mut c_void;
/// The driver's handle of a graph that can be launched.
pub(crate) type GraphExec = *mut c_void;

/// The attributes, flags and options that the engine uses, with their values in `cuda.h`.
pub(crate) mod constant {
    use std::ffi::{c_int, c_uint};

    pub(crate) const MULTIPROCESSOR_COUNT: c_int = 16;
    pub(crate) const COMPUTE_CAPABILITY_MAJOR: c_int = 75;
    pub(crate) const COMPUTE_CAPABILITY_MINOR: c_int = 76;
    pub(crate) const MAX_SHARED_MEMORY_PER_BLOCK_OPTIN: c_int = 97;
    pub(crate) const FUNCTION_MAX_DYNAMIC_SHARED_SIZE_BYTES: c_int = 8;
    pub(crate) const STREAM_NON_BLOCKING: c_uint = 1;
    pub(crate) const EVENT_DISABLE_TIMING: c_uint = 2;
    pub(crate) const CAPTURE_RELAXED: c_uint = 2;
    pub(crate) const CAPTURE_ACTIVE: c_uint = 1;
    pub(crate) const USER_OBJECT_NO_DESTRUCTOR_SYNC: c_uint = 1;
    pub(crate) const GRAPH_USER_OBJECT_MOVE: c_uint = 1;
    pub(crate) const STREAM_LEGACY: super::Stream = std::ptr::without_provenance_mut(1);
    #[cfg(feature = "cudarc")]
    pub(crate) const STREAM_PER_THREAD: super::Stream = std::ptr::without_provenance_mut(2);
    #[cfg(feature = "cust")]
    pub(crate) const POINTER_ATTRIBUTE_CONTEXT: c_int = 1;
    pub(crate) const POINTER_ATTRIBUTE_MEMORY_TYPE: c_int = 2;
    pub(crate) const JIT_ERROR_LOG_BUFFER: c_uint = 5;
    pub(crate) const JIT_ERROR_LOG_BUFFER_SIZE_BYTES: c_uint = 6;
}

/// The driver's result codes that the engine handles specially, with their values in `cuda.h`.
pub(crate) mod code {
    pub(crate) const OUT_OF_MEMORY: u32 = 2;
    pub(crate) const NOT_READY: u32 = 600;
    /// The codes by which the driver refuses PTX. They stand for invalid images, PTX and sources,
    /// for a version or GPU that the driver does not know, and for a missing compiler.
    pub(crate) const REFUSALS: [u32; 7] = [200, 209, 218, 221, 222, 223, 300];
    /// The codes after which every call in the context fails. They are device unavailable, invalid
    /// context, ECC and NVLink errors, a contained error, illegal address, time-out, destroyed
    /// context, assertion, and the faults of kernels.
    pub(crate) const LOST: [u32; 16] = [46, 201, 214, 220, 226, 700, 702, 709, 710, 714, 715, 716, 717, 718, 719, 721];
}

/// The failure of a call of the driver.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Failure {
    /// The name of the function.
    pub call: &'static str,
    /// The driver's result code.
    pub code: u32,
}

/// The result of a call.
pub(crate) type Called = Result<(), Failure>;

macro_rules! functions {
    ($($(#[$attribute:meta])* $name:ident ($($argument:ident: $type:ty),* $(,)?);)*) => {
        /// The driver's functions.
        #[allow(non_snake_case, reason = "the driver's names")]
        pub(crate) struct Driver {
            $($(#[$attribute])* $name: unsafe extern "C" fn($($type),*) -> u32,)*
        }

        impl Driver {
            fn find(library: &Library) -> Result<Self, libloading::Error> {
                Ok(Self {
                    $(
                        $(#[$attribute])*
                        // SAFETY: the driver's function of this name has this type (`cuda.h`).
                        $name: unsafe { *library.get(stringify!($name))? },
                    )*
                })
            }

            $(
                $(#[$attribute])*
                /// Calls the driver's function of this name.
                ///
                /// # Safety
                /// The caller must keep the driver's contract.
                #[allow(non_snake_case, reason = "the driver's names")]
                #[allow(clippy::too_many_arguments, reason = "the driver's functions have them")]
                pub(crate) unsafe fn $name(&self, $($argument: $type),*) -> Called {
                    // SAFETY: the caller keeps the contract of the driver's function.
                    match unsafe { (self.$name)($($argument),*) } {
                        0 => Ok(()),
                        code => Err(Failure { call: stringify!($name), code }),
                    }
                }
            )*
        }
    };
}

functions! {
    cuInit(flags: c_uint);
    cuGetErrorName(code: u32, name: *mut *const c_char);
    cuDeviceGetCount(count: *mut c_int);
    cuDeviceGet(device: *mut Ordinal, ordinal: c_int);
    cuDeviceGetAttribute(value: *mut c_int, attribute: c_int, device: Ordinal);
    cuDeviceGetName(name: *mut c_char, length: c_int, device: Ordinal);
    cuDevicePrimaryCtxRetain(context: *mut Context, device: Ordinal);
    cuDevicePrimaryCtxRelease_v2(device: Ordinal);
    cuCtxGetCurrent(context: *mut Context);
    cuCtxSetCurrent(context: Context);
    cuCtxSynchronize();
    cuPointerGetAttribute(data: *mut c_void, attribute: c_int, address: Address);
    cuMemGetInfo_v2(free: *mut usize, total: *mut usize);
    cuMemAlloc_v2(address: *mut Address, bytes: usize);
    cuMemFree_v2(address: Address);
    cuMemAllocHost_v2(pointer: *mut *mut c_void, bytes: usize);
    cuMemHostGetDevicePointer_v2(address: *mut Address, pointer: *mut c_void, flags: c_uint);
    cuMemFreeHost(pointer: *mut c_void);
    cuMemcpyHtoDAsync_v2(to: Address, from: *const c_void, bytes: usize, stream: Stream);
    cuMemcpyDtoHAsync_v2(to: *mut c_void, from: Address, bytes: usize, stream: Stream);
    cuMemcpyDtoDAsync_v2(to: Address, from: Address, bytes: usize, stream: Stream);
    cuMemsetD8Async(at: Address, byte: u8, bytes: usize, stream: Stream);
    cuModuleLoadDataEx(
        module: *mut Module, image: *const c_void, options: c_uint, names: *mut c_uint, values: *mut *mut c_void,
    );
    cuModuleGetFunction(function: *mut Function, module: Module, name: *const c_char);
    cuModuleUnload(module: Module);
    cuFuncSetAttribute(function: Function, attribute: c_int, value: c_int);
    cuLaunchKernel(
        function: Function, grid_x: c_uint, grid_y: c_uint, grid_z: c_uint, block_x: c_uint, block_y: c_uint,
        block_z: c_uint, shared_bytes: c_uint, stream: Stream, arguments: *mut *mut c_void, extra: *mut *mut c_void,
    );
    cuStreamCreate(stream: *mut Stream, flags: c_uint);
    cuStreamDestroy_v2(stream: Stream);
    cuStreamSynchronize(stream: Stream);
    cuStreamWaitEvent(stream: Stream, event: Event, flags: c_uint);
    cuStreamBeginCapture_v2(stream: Stream, mode: c_uint);
    cuStreamGetCaptureInfo_v2(
        stream: Stream, status: *mut c_uint, id: *mut u64, graph: *mut Graph, nodes: *mut *const c_void, count: *mut usize,
    );
    cuThreadExchangeStreamCaptureMode(mode: *mut c_uint);
    cuUserObjectCreate(
        object: *mut UserObject, value: *mut c_void, drop: unsafe extern "C" fn(*mut c_void), references: c_uint,
        flags: c_uint,
    );
    cuUserObjectRelease(object: UserObject, references: c_uint);
    cuGraphRetainUserObject(graph: Graph, object: UserObject, references: c_uint, flags: c_uint);
    cuStreamEndCapture(stream: Stream, graph: *mut Graph);
    cuGraphInstantiateWithFlags(executable: *mut GraphExec, graph: Graph, flags: u64);
    cuGraphLaunch(executable: GraphExec, stream: Stream);
    cuGraphDestroy(graph: Graph);
    cuGraphExecDestroy(executable: GraphExec);
    cuEventCreate(event: *mut Event, flags: c_uint);
    cuEventDestroy_v2(event: Event);
    cuEventRecord(event: Event, stream: Stream);
    cuEventSynchronize(event: Event);
    cuEventQuery(event: Event);
    cuEventElapsedTime(milliseconds: *mut f32, start: Event, end: Event);
}

impl Driver {
    /// Returns the driver of this machine. The first call loads the library, which then stays open.
    ///
    /// # Errors
    /// The error text says what is missing, and what to do about it.
    pub(super) fn get() -> Result<&'static Self, String> {
        static DRIVER: OnceLock<Driver> = OnceLock::new();
        if let Some(driver) = DRIVER.get() {
            return Ok(driver);
        }
        // SAFETY: NVIDIA's driver may be loaded at any time, from any thread.
        let library = unsafe { Library::new(LIBRARY) }.map_err(|error| {
            let why = std::error::Error::source(&error).map_or_else(|| error.to_string(), |source| source.to_string());
            format!("NVIDIA's driver library {LIBRARY} was not found ({why}); install the driver, or use Device::cpu()")
        })?;
        let driver = Self::find(&library).map_err(|error| {
            format!("{LIBRARY} is no driver, or one that is too old ({error}); install the driver of the GPU")
        })?;
        // The library stays open, because its functions are used later.
        std::mem::forget(library);
        Ok(DRIVER.get_or_init(|| driver))
    }

    /// Returns the driver's name of a result code. Newer drivers have codes that are not listed
    /// here.
    pub(super) fn name(&self, code: u32) -> String {
        let mut name = std::ptr::null();
        // SAFETY: the driver sets the pointer to null or to a string of its own, which lives as
        // long as the driver.
        match unsafe { self.cuGetErrorName(code, &mut name) } {
            // SAFETY: as above.
            Ok(()) if !name.is_null() => unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned(),
            _ => "an error that the driver has no name for".to_owned(),
        }
    }
}
