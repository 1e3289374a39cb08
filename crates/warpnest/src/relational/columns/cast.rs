//! Converts words to words of another size or type.

use crate::{Buffer, Result, Stream};
use gpu_kernels::table::combine::{CastNumbers, CastParams};
use gpu_kernels::types::Scalar;

pub(in crate::relational) use gpu_kernels::table::combine::Cast;

/// Queues writing the words of `from`, converted, to `to`, which has as many words; returns `to`.
pub(in crate::relational) fn cast_words<A: Scalar, B: Scalar>(
    stream: &Stream,
    from: &Buffer<A>,
    to: Buffer<B>,
    kind: Cast,
) -> Result<Buffer<B>> {
    assert_eq!(from.len(), to.len(), "each word becomes one");
    let plan = CastParams { items: from.len() as u64, cast: kind as u32, padding: 0 };
    stream.batch(|batch| {
        let cast = CastNumbers { from: batch.read(from), to: batch.write(&to), plan };
        // SAFETY: both buffers have the same count of words.
        unsafe { batch.launch(&cast, plan.items) }
    })?;
    Ok(to)
}
