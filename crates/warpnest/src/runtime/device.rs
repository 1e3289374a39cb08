//! The devices: GPUs and the CPU engine.

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

/// A GPU, or the CPU engine, with a default stream: what is called without a stream runs on it.
///
/// Cheap to clone; clones are the same device. [`Stream::device`] gives a handle of the same device
/// with another default stream.
#[derive(Clone)]
pub struct Device {
    default_stream: Stream,
}

impl Device {
    /// Returns the CPU engine: every kernel on all cores. Its operations are done when their call
    /// returns.
    ///
    /// It needs the feature `cpu`, which is on by default.
    #[cfg(feature = "cpu")]
    pub fn cpu() -> Self {
        static CPU: LazyLock<Device> =
            LazyLock::new(|| Device::from_engine(HostEngine::new(Cores)).expect("a host engine always has a queue"));
        CPU.clone()
    }

    /// Loads all kernels of the library now. Otherwise the driver compiles each one at its first
    /// launch, unless it has it in its cache or the program has machine code for this GPU (the
    /// feature `cubins`). That takes a fraction of a second for a large kernel: the launch waits
    /// for it, and so does what is timed around it.
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
    /// A GPU's driver compiles each of them when it is first launched; one is compiled now. The CPU
    /// engine runs the functions that the program was compiled with, and takes any module. To load
    /// a module again does nothing. Another module of the same package takes the place of the first
    /// one from then on. A device that was made anew, as [`Device::cuda`] does after an error that
    /// has cost the context, has no modules yet.
    ///
    /// # Errors
    /// [`Error::Module`](crate::Error::Module) if the texts are not of one package, if that is
    /// `gpu-kernels`, or if none is for this GPU; [`Error::Jit`](crate::Error::Jit) if the driver
    /// refuses one, [`Error::Driver`](crate::Error::Driver).
    pub fn load(&self, module: &Module) -> Result<()> {
        let package = module.package()?;
        if package == gpu_kernels::PACKAGE {
            let reason = "these are the library's own kernels, which every device has".to_owned();
            return Err(Error::Module { package: package.to_owned(), reason });
        }
        self.engine().load(module)
    }

    /// Returns the CUDA device of this ordinal, in its primary context, which other users of the
    /// driver share. Every call restores the context that was current.
    ///
    /// The device is created once. If an error costs its context, it is created anew once nothing
    /// uses the old one.
    ///
    /// # Errors
    /// [`Error::NoDevice`](crate::Error::NoDevice) if the crate was built without the feature
    /// `cuda`, if there is no driver or no such device, or if it is older than compute capability
    /// 7.5. [`Error::Jit`](crate::Error::Jit) if the driver refuses the kernels (one is tried; the
    /// others are compiled when they are first launched).
    pub fn cuda(ordinal: u32) -> Result<Self> {
        #[cfg(feature = "cuda")]
        return cuda_device(ordinal);
        #[cfg(not(feature = "cuda"))]
        Err(Error::NoDevice {
            ordinal,
            reason: "this program was built without the feature `cuda`; build it with that, or use the CPU".to_owned(),
        })
    }

    /// Returns the first CUDA device, or an error that says why it cannot be used: for programs
    /// that make no sense on the CPU.
    ///
    /// # Errors
    /// As for [`Device::cuda`].
    pub fn require_gpu() -> Result<Self> {
        Self::cuda(0)
    }

    /// Returns the first CUDA device if it can be used, else the CPU engine;
    /// [`Device::fallback_reason`] then says why.
    ///
    /// A program should show that reason, as the CPU is slower by orders of magnitude.
    /// [`Device::require_gpu`] makes it an error.
    ///
    /// # Errors
    /// There are none with the feature `cpu`, which is on by default: the CPU engine is always
    /// there. Without it the errors of [`Device::cuda`].
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
    /// The error of the engine when it is asked for a queue.
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

    /// Returns the sizes of the memory that is kept for buffers to come: all 0 on the CPU engine,
    /// which keeps none.
    ///
    /// The driver of a GPU takes 100 µs for the smallest allocation and its release, and more for
    /// larger ones. So the memory of a dropped buffer is kept, and the next buffer of about its
    /// size takes it: neither waits. All is given back before there is an
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory).
    pub fn pool(&self) -> PoolSizes {
        self.engine().pool()
    }

    /// Gives back all memory that is kept, once the work that uses it has ended.
    pub fn trim_pool(&self) {
        self.engine().trim_pool();
    }

    /// Sets how many bytes of memory are kept at most, an eighth of the device's memory by default.
    /// With 0 none are: all memory is allocated and freed by the driver, as tools that check each
    /// access need it. The environment variable `WARPNEST_POOL=off` does the same.
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

    /// Returns the stream of what is called without one.
    pub fn default_stream(&self) -> &Stream {
        &self.default_stream
    }

    /// Returns how queries in the host's memory are answered.
    pub(crate) fn host_chunks(&self) -> &Mutex<HostChunks> {
        &self.shared().host_chunks
    }

    /// Returns what plans may ask of the device.
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

/// Returns the device of this ordinal: created once, then the same as long as it works, so that its
/// kernels are loaded once.
#[cfg(feature = "cuda")]
fn cuda_device(ordinal: u32) -> Result<Device> {
    static DEVICES: Mutex<BTreeMap<u32, Device>> = Mutex::new(BTreeMap::new());
    let mut devices = DEVICES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(device) = devices.get(&ordinal) {
        let engine = device.engine().as_any().downcast_ref::<CudaEngine>().expect("CUDA devices alone are kept");
        let answer = engine.memory();
        if !engine.is_lost() {
            // An error that the context survives may be gone at the next call.
            return answer.map(|_| device.clone());
        }
        // If there is no other user of the context, the driver destroys it, and creates a new one.
        devices.remove(&ordinal);
    }
    let made = CudaEngine::new(ordinal).and_then(Device::from_engine);
    let device = made.map_err(|error| cuda::explained(ordinal, error))?;
    devices.insert(ordinal, device.clone());
    Ok(device)
}

impl Stream {
    /// Returns the device, as a handle whose default stream is this one: what is built with that
    /// handle is built on this stream, and stays on it.
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

/// A device by name: `best`, `cpu`, `cuda` (the first one) or `cuda:N`, as programs take it from
/// their users.
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
