//! Devices: GPUs and the CPU engine.

use crate::runtime::chunk_settings::HostChunks;
#[cfg(feature = "cuda")]
use crate::runtime::engine::cuda::{self, CudaEngine};
#[cfg(feature = "cpu")]
use crate::runtime::engine::{Cores, HostEngine};
use crate::runtime::engine::{Engine, Memory, PoolSizes};
use crate::runtime::machine::Machine;
use crate::runtime::module::Module;
use crate::runtime::stream::{Shared, Stream};
use crate::{ConfigError, Error, Result};
#[cfg(feature = "cuda")]
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
#[cfg(feature = "cpu")]
use std::sync::LazyLock;
#[cfg(feature = "cuda")]
use std::sync::PoisonError;
use std::sync::{Arc, Mutex};

/// A GPU or the CPU engine, with a default stream for operations that are called without a stream.
///
/// A device is cheap to clone, and clones are the same device. [`Stream::device`] returns a handle
/// of the same device with another default stream.
#[derive(Clone)]
pub struct Device {
    default_stream: Stream,
}

impl Device {
    /// Returns the CPU engine, which runs every kernel on all cores. Its operations are complete
    /// when their call returns.
    ///
    /// It needs the feature `cpu`, which is on by default.
    #[cfg(feature = "cpu")]
    pub fn cpu() -> Self {
        static CPU: LazyLock<Device> =
            LazyLock::new(|| Device::from_engine(HostEngine::new(Cores)).expect("a host engine always has a queue"));
        CPU.clone()
    }

    /// Loads all kernels of the library now. Otherwise each kernel is loaded at its first launch.
    /// Then the driver compiles it, unless the kernel is in the driver's cache, or the program has
    /// machine code for this GPU (the feature `cubins`). Compiling a large kernel takes a fraction
    /// of a second, which adds to the measured time of its first launch.
    ///
    /// # Errors
    /// [`Error::Jit`](crate::Error::Jit) if the driver refuses one,
    /// [`Error::Driver`](crate::Error::Driver).
    pub fn load_kernels(&self) -> Result<()> {
        self.engine().load_kernels()
    }

    /// Makes the kernels of a module ready to be launched on this device, by
    /// [`Stream::launch`](crate::Stream::launch).
    ///
    /// A GPU's driver compiles each kernel when it is first launched; one kernel is compiled now.
    /// The CPU engine runs the functions that the program was compiled with, and takes any module.
    /// Loading a module again does nothing. After another module of the same package is loaded, its
    /// kernels are launched instead. A device that [`Device::cuda`] created anew, after an error
    /// that destroyed the context, has no modules yet.
    ///
    /// # Errors
    /// [`Error::Module`](crate::Error::Module) if the texts are not of one package, if that package
    /// is `gpu-kernels`, or if none of the texts is for this GPU; [`Error::Jit`](crate::Error::Jit)
    /// if the driver refuses a kernel, [`Error::Driver`](crate::Error::Driver).
    pub fn load(&self, module: &Module) -> Result<()> {
        let package = module.package()?;
        if package == gpu_kernels::PACKAGE {
            let reason = "these are the library's own kernels, which every device has".to_owned();
            return Err(Error::Module { package: package.to_owned(), reason });
        }
        self.engine().load(module)
    }

    /// Returns the CUDA device with this ordinal, in its primary context, which it shares with
    /// other users of the driver. Every call restores the context that was current before.
    ///
    /// The device is created once. If an error destroys its context, the device is created anew as
    /// soon as nothing uses the old one.
    ///
    /// # Errors
    /// [`Error::NoDevice`](crate::Error::NoDevice) if the crate was built without the feature
    /// `cuda`, if there is no driver or no such device, or if the device is older than compute
    /// capability 7.5. [`Error::Jit`](crate::Error::Jit) if the driver refuses the kernels (one
    /// kernel is tried; the others are compiled when they are first launched).
    pub fn cuda(ordinal: u32) -> Result<Self> {
        #[cfg(feature = "cuda")]
        return cuda_device(ordinal);
        #[cfg(not(feature = "cuda"))]
        Err(Error::NoDevice {
            ordinal,
            reason: "this program was built without the feature `cuda`; build it with that, or use the CPU".to_owned(),
        })
    }

    /// Returns the first CUDA device, or an error that says why it cannot be used. It is for
    /// programs that make no sense on the CPU.
    ///
    /// # Errors
    /// As for [`Device::cuda`].
    pub fn require_gpu() -> Result<Self> {
        Self::cuda(0)
    }

    /// Returns the first CUDA device if it can be used, else the CPU engine. In the second case
    /// [`Device::fallback_reason`] returns the reason.
    ///
    /// A program should show that reason, because the CPU is slower by orders of magnitude.
    /// [`Device::require_gpu`] returns an error instead.
    ///
    /// # Errors
    /// There are none with the feature `cpu`, which is on by default. Without it, the errors are
    /// the same as for [`Device::cuda`].
    pub fn best() -> Result<Self> {
        let found = Self::cuda(0);
        #[cfg(feature = "cpu")]
        let found = found.or_else(|error| {
            let engine = Self::cpu().engine().clone();
            Ok(Self { default_stream: Stream::new(&Shared::new(engine, Some(error.to_string())))? })
        });
        found
    }

    /// Returns a device on an engine of your own.
    ///
    /// # Errors
    /// The error that the engine returns when it cannot create a queue.
    pub fn from_engine(engine: impl Engine) -> Result<Self> {
        Ok(Self { default_stream: Stream::new(&Shared::new(Arc::new(engine), None))? })
    }

    /// Returns the device's name.
    pub fn name(&self) -> &str {
        self.engine().name()
    }

    /// Returns the reason why [`Device::best`] chose the CPU.
    pub fn fallback_reason(&self) -> Option<&str> {
        self.shared().fallback_reason.as_deref()
    }

    /// Returns the device's memory.
    ///
    /// # Errors
    /// [`Error::Driver`](crate::Error::Driver).
    pub fn memory(&self) -> Result<Memory> {
        self.engine().memory()
    }

    /// Returns the sizes of the memory that is kept for later buffers. All sizes are 0 on the CPU
    /// engine, which keeps no memory.
    ///
    /// The driver of a GPU takes 100 µs to allocate and release the smallest allocation, and longer
    /// for larger allocations. So the memory of a dropped buffer is kept, and the next buffer of
    /// about its size takes it without waiting. All kept memory is released before an
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory) is returned.
    pub fn pool(&self) -> PoolSizes {
        self.engine().pool()
    }

    /// Releases all kept memory, once the work that uses it has ended.
    pub fn trim_pool(&self) {
        self.engine().trim_pool();
    }

    /// Sets the most bytes of memory that are kept. The default is an eighth of the device's
    /// memory. With 0 no memory is kept, so the driver allocates and frees all memory; tools that
    /// check each access need this. The environment variable `WARPNEST_POOL=off` does the same.
    pub fn set_pool_limit(&self, bytes: usize) {
        self.engine().set_pool_limit(bytes);
    }

    /// Returns a new stream.
    ///
    /// # Errors
    /// [`Error::Driver`](crate::Error::Driver).
    pub fn stream(&self) -> Result<Stream> {
        Stream::new(self.shared())
    }

    /// Returns CUDA's legacy default stream, on which PyTorch, CuPy and CUDA C++ queue their work
    /// unless told otherwise. Work of this stream is in order with theirs without an event. On the
    /// CPU engine this is a new stream.
    ///
    /// # Errors
    /// [`Error::Driver`](crate::Error::Driver).
    pub fn legacy_stream(&self) -> Result<Stream> {
        Ok(Stream::of(self.shared(), self.engine().legacy_queue()?))
    }

    /// Returns the stream of calls without a stream argument.
    pub fn default_stream(&self) -> &Stream {
        &self.default_stream
    }

    /// Returns the settings by which queries in host memory are answered.
    pub(crate) fn host_chunks(&self) -> &Mutex<HostChunks> {
        &self.shared().host_chunks
    }

    /// Returns the device's properties that plans need.
    pub(crate) fn machine(&self) -> Machine {
        self.engine().machine()
    }

    pub(crate) fn engine(&self) -> &Arc<dyn Engine> {
        self.default_stream.engine()
    }

    pub(in crate::runtime) fn shared(&self) -> &Arc<Shared> {
        self.default_stream.shared()
    }
}

/// Returns the device with this ordinal. It is created once and reused as long as it works, so that
/// its kernels are loaded once.
#[cfg(feature = "cuda")]
fn cuda_device(ordinal: u32) -> Result<Device> {
    static DEVICES: Mutex<BTreeMap<u32, Device>> = Mutex::new(BTreeMap::new());
    let mut devices = DEVICES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(device) = devices.get(&ordinal) {
        let engine = device.engine().as_any().downcast_ref::<CudaEngine>().expect("CUDA devices alone are kept");
        let answer = engine.memory();
        if !engine.is_lost() {
            // If the context is not lost, the error may not occur at the next call.
            return answer.map(|_| device.clone());
        }
        // If nothing else uses the context, the driver destroys it and creates a new context.
        devices.remove(&ordinal);
    }
    let made = CudaEngine::new(ordinal).and_then(Device::from_engine);
    let device = made.map_err(|error| cuda::explained(ordinal, error))?;
    devices.insert(ordinal, device.clone());
    Ok(device)
}

impl Stream {
    /// Returns the device, as a handle whose default stream is this stream. A table that is built
    /// with this handle is built on this stream, and its later operations run on it by default.
    ///
    /// ```
    /// use warpnest::{Device, PageMap};
    ///
    /// let stream = Device::best()?.stream()?;
    /// let mut map = PageMap::build(&stream.device(), &[1u32, 2], &[10u32, 20])?;
    /// map.insert_many(&[3], &[30])?;
    /// # Ok::<(), warpnest::Error>(())
    /// ```
    pub fn device(&self) -> Device {
        Device { default_stream: self.clone() }
    }

    /// Fails unless the stream is on `device`.
    pub(crate) fn check_device(&self, device: &Device) -> Result<()> {
        crate::runtime::engine::same_device("the stream", self.engine(), device.engine())
    }
}

/// Parses a device name, as users of programs give it: `best`, `cpu`, `cuda` (the first CUDA
/// device) or `cuda:N`.
impl FromStr for Device {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        let unknown = || Error::Config(ConfigError::DeviceName { asked: name.to_owned() });
        match name.split_once(':') {
            None if name == "best" => Self::best(),
            #[cfg(feature = "cpu")]
            None if name == "cpu" => Ok(Self::cpu()),
            None if name == "cuda" => Self::cuda(0),
            Some(("cuda", ordinal)) => Self::cuda(ordinal.parse().map_err(|_| unknown())?),
            _ => Err(unknown()),
        }
    }
}

impl PartialEq for Device {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(self.engine(), other.engine())
    }
}
impl Eq for Device {}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Device({})", self.name())
    }
}
