//! The keys that a mask does not keep.

use super::input::check_keys;
use crate::primitives::{check_items, launch_compact, state_words};
use crate::{Buffer, Device, Result, Stream};
use gpu_kernels::primitives::compact::{CompactParams, Invert};
use gpu_kernels::types::KeyWord;

/// Returns a buffer whose front has the keys whose bit in `keep` is 0, and their number; waits.
pub(crate) fn dropped<K: KeyWord>(
    device: &Device,
    stream: &Stream,
    keys: &Buffer<K>,
    keep: &Buffer<u32>,
) -> Result<(Buffer<K>, usize)> {
    let words = keys.len().div_ceil(32);
    crate::error::same_length(("the keys, in words of 32,", words), ("the words to keep", keep.len()))?;
    check_keys(device, stream, keys)?;
    keep.check_device("the buffer of words to keep", device)?;
    let items = check_items(keys.len())?;
    let dropped = Buffer::<K>::uninitialized(device, keys.len())?;
    if items == 0 {
        return Ok((dropped, 0));
    }
    let flags = keep.duplicate(stream, device)?;
    let state = Buffer::<u64>::uninitialized(device, state_words::<K>(items) as usize)?;
    let count = Buffer::<u32>::uninitialized(device, 1)?;
    stream.batch(|batch| {
        batch.zero(&state, state.len())?;
        let flags = batch.write(&flags);
        // SAFETY: there is a word for each 32 keys.
        unsafe { batch.launch(&Invert { keep: flags, plan: CompactParams { items } }, items.div_ceil(32))? };
        let (input, output) = (batch.read(keys), batch.write(&dropped));
        let (count, state) = (batch.write(&count), batch.write(&state));
        // SAFETY: there are as many keys, with a bit for each, and capacity for all of them; the
        // state has the words that are asked for, all 0.
        unsafe { launch_compact(batch, items, input, flags, output, count, state) }
    })?;
    let count = count.download_at(stream, 0)? as usize;
    Ok((dropped, count))
}
