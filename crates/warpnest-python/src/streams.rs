//! The devices and streams of calls. Each is made once.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use warpnest::primitives::Scratch;
use warpnest::{Buffer, Device, Result, Stream};

/// The id of the CPU. GPUs have their ordinals as ids.
pub const CPU: i32 = -1;

/// CUDA's handle of the legacy default stream, for which other code uses null.
pub const LEGACY_STREAM: usize = 1;

/// The most streams that are kept. Programs use only a few.
const MAX_STREAMS: usize = 256;

/// The stream of calls, and the scratch memory for them.
pub struct Own {
    pub stream: Arc<Stream>,
    pub scratch: Mutex<Scratch>,
    /// Memory for the bits of lookups, which must not wait until there is some.
    pub bits: Mutex<Vec<Buffer<u32>>>,
}

/// Locks, even after a thread has panicked.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the device of a number. Each is made once.
pub fn device(ordinal: i32) -> Result<Device> {
    static DEVICES: Mutex<Option<HashMap<i32, Device>>> = Mutex::new(None);
    if ordinal == CPU {
        return Ok(Device::cpu());
    }
    let mut devices = lock(&DEVICES);
    let devices = devices.get_or_insert_default();
    if let Some(device) = devices.get(&ordinal) {
        return Ok(device.clone());
    }
    let device = Device::cuda(ordinal as u32)?;
    devices.insert(ordinal, device.clone());
    Ok(device)
}

/// The streams of this library, by the device's id and the caller's stream.
type Streams = HashMap<(i32, Option<usize>), Arc<Own>>;

/// All streams of this library.
static STREAMS: Mutex<Option<Streams>> = Mutex::new(None);

/// Returns the stream of the calls from a stream of the caller. Events keep the order if it is not
/// the legacy stream, so the caller's stream may have been replaced by another one with the same
/// handle.
pub fn own_stream(ordinal: i32, theirs: Option<usize>) -> Result<Arc<Own>> {
    let mut streams = lock(&STREAMS);
    let streams = streams.get_or_insert_default();
    if let Some(own) = streams.get(&(ordinal, theirs)) {
        return Ok(own.clone());
    }
    if streams.len() >= MAX_STREAMS {
        streams.clear();
    }
    let device = device(ordinal)?;
    let stream = match theirs {
        Some(handle) if is_legacy(handle) => device.legacy_stream()?,
        Some(_) => device.stream()?,
        None => device.default_stream().clone(),
    };
    stream.record_by_call();
    let scratch = Mutex::new(Scratch::new(&stream.device()));
    let own = Arc::new(Own { stream: Arc::new(stream), scratch, bits: Mutex::default() });
    streams.insert((ordinal, theirs), own.clone());
    Ok(own)
}

/// Returns all streams that calls have used.
pub fn all() -> Vec<Arc<Own>> {
    lock(&STREAMS).iter().flat_map(HashMap::values).cloned().collect()
}

/// Returns whether the handle of a stream is the legacy default stream's.
pub fn is_legacy(handle: usize) -> bool {
    handle <= LEGACY_STREAM
}
