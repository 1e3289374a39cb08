//! Buffers and streams shared with other host libraries, without a copy.

#[cfg(feature = "cudarc")]
mod cudarc;
#[cfg(feature = "cust")]
mod cust;

use super::CudaEngine;
use super::context::Primary;
use super::queue::CudaQueue;
use crate::runtime::allocation::{Allocation, Owner};
use crate::runtime::capture;
use crate::runtime::engine::{Engine, Queue};
use crate::{Buffer, Error, Result, Stream};
use gpu_kernels::plain::Plain;
use std::sync::Arc;

/// The names of both libraries' objects in errors.
#[derive(Clone, Copy)]
struct Other {
    /// The name of this library's object, for errors about its device.
    buffer: &'static str,
    /// The name of the other library's object, for errors about its context.
    theirs: &'static str,
}

/// Returns the primary context of an engine, which must be a CUDA engine.
fn primary(engine: &dyn Engine, other: Other) -> Result<&Arc<Primary>> {
    let cuda: Option<&CudaEngine> = engine.as_any().downcast_ref();
    cuda.map(|engine| &engine.shared.primary).ok_or_else(|| Error::WrongDevice {
        what: other.buffer,
        found: engine.name().to_owned(),
        expected: "a CUDA device".to_owned(),
    })
}

/// Returns the error for the other library's memory in another context.
fn foreign(other: Other, device: &str) -> Error {
    Error::WrongDevice { what: other.theirs, found: "another context".to_owned(), expected: device.to_owned() }
}

/// Returns the CUDA queue of a stream. The stream must be on the buffer's engine, which is CUDA.
fn cuda_queue(queue: &dyn Queue) -> &CudaQueue {
    queue.as_any().downcast_ref().expect("the stream is on the buffer's engine")
}

impl<T: Plain> Buffer<T> {
    /// Returns the elements in memory that another library can free through the driver. If the
    /// buffer shares its allocation with other buffers or a graph, or another library owns it, the
    /// result is a copy, made on `stream`.
    fn owned_by_driver(self, stream: &Stream) -> Result<Self> {
        let engine = self.engine().as_any().downcast_ref::<CudaEngine>().expect("the buffer is on a CUDA device");
        if self.is_owner() && engine.disown(self.at()) {
            return Ok(self);
        }
        let bytes = (self.len() * size_of::<T>()).max(1);
        let allocation = Allocation::new(self.engine().clone(), engine.allocate(bytes)?, bytes, Owner::Engine);
        let mut whole = Self::from_allocation(allocation, self.len());
        whole.copy_from(stream, &self)?;
        Ok(whole)
    }

    /// Lends this buffer's memory to `work`, in order with the buffer's other uses. The context is
    /// current while `work` runs.
    fn lent<R>(&self, other: Other, stream: &Stream, written: bool, work: impl FnOnce(&CudaQueue) -> R) -> Result<R> {
        capture::refuse("lends memory to another library")?;
        let primary = primary(&**self.engine(), other)?;
        stream.batch(|batch| {
            if written {
                batch.writes(self);
            } else {
                batch.reads(self);
            }
            let queue = batch.queue()?;
            let _entered = primary.enter()?;
            Ok(work(cuda_queue(queue)))
        })
    }
}
