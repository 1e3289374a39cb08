//! Union, intersection and difference of sets of any kind. The keys of one set are written out and
//! looked up in the other one, and those that belong to the result are compacted. These keys are
//! all different, so the result is built without looking for repeats.

use crate::primitives::{launch_compact, state_words};
use crate::{Buffer, Device, Key, Result, Stream};
use gpu_kernels::primitives::compact::{CompactParams, Invert};

/// The operations that a kind of set provides for this.
pub(crate) trait Combined<K: Key>: Sized {
    /// The device of the set, and words of its table.
    fn table(&self) -> (&Device, &Buffer<u64>);
    /// The number of keys.
    fn count(&self) -> u64;
    /// Writes all keys to the front of `keys`, which is long enough for them.
    fn write(&self, stream: &Stream, keys: &Buffer<K>) -> Result<()>;
    /// Sets bit `i % 32` of `found[i / 32]` to whether query `i` is in the set.
    fn ask(&self, stream: &Stream, queries: &Buffer<K>, found: &mut Buffer<u32>) -> Result<()>;
    /// A set with the configuration of this one, of the first `count` of `keys`, which are
    /// different.
    fn with_keys(&self, stream: &Stream, keys: &Buffer<K>, count: u64) -> Result<Self>;
}

pub(crate) fn union<K: Key, S: Combined<K>>(one: &S, stream: &Stream, other: &S) -> Result<S> {
    check(one, stream, other)?;
    let (larger, smaller) = if one.count() < other.count() { (other, one) } else { (one, other) };
    let keys = Buffer::uninitialized(one.table().0, (larger.count() + smaller.count()) as usize)?;
    larger.write(stream, &keys)?;
    let added = select(smaller, stream, larger, false, &keys, larger.count())?;
    one.with_keys(stream, &keys, larger.count() + added)
}

pub(crate) fn intersection<K: Key, S: Combined<K>>(one: &S, stream: &Stream, other: &S) -> Result<S> {
    check(one, stream, other)?;
    let (larger, smaller) = if one.count() < other.count() { (other, one) } else { (one, other) };
    selected(smaller, stream, larger, true, one)
}

pub(crate) fn difference<K: Key, S: Combined<K>>(one: &S, stream: &Stream, other: &S) -> Result<S> {
    check(one, stream, other)?;
    selected(one, stream, other, false, one)
}

fn check<K: Key, S: Combined<K>>(one: &S, stream: &Stream, other: &S) -> Result<()> {
    let (device, _) = one.table();
    stream.check_device(device)?;
    other.table().1.check_device("the other set", device)
}

/// A set with the configuration of `like`: the keys of `set` that `other` has (`present`), or those
/// that it does not have.
fn selected<K: Key, S: Combined<K>>(set: &S, stream: &Stream, other: &S, present: bool, like: &S) -> Result<S> {
    let keys = Buffer::uninitialized(set.table().0, set.count() as usize)?;
    let selected = select(set, stream, other, present, &keys, 0)?;
    like.with_keys(stream, &keys, selected)
}

/// Writes the keys of `set` that `other` has (`present`), or those that it does not have, to
/// `output`. They begin at element `first`, where there is capacity for all keys of `set`. Returns
/// the number of keys written.
fn select<K: Key, S: Combined<K>>(
    set: &S,
    stream: &Stream,
    other: &S,
    present: bool,
    output: &Buffer<K>,
    first: u64,
) -> Result<u64> {
    let ((device, _), items) = (set.table(), set.count());
    if items == 0 {
        return Ok(0);
    }
    let keys = Buffer::uninitialized(device, items as usize)?;
    set.write(stream, &keys)?;
    let mut found = Buffer::uninitialized(device, items.div_ceil(32) as usize)?;
    other.ask(stream, &keys, &mut found)?;
    let state = Buffer::<u64>::uninitialized(device, state_words::<K>(items) as usize)?;
    let count = Buffer::<u32>::uninitialized(device, 1)?;
    stream.batch(&[&keys], &[&found, output, &count, &state], |batch| {
        batch.zero(&state, state.len())?;
        if !present {
            let invert = Invert { keep: found.argument(), plan: CompactParams { items } };
            // SAFETY: there is a word for each 32 keys.
            unsafe { batch.launch(&invert, items.div_ceil(32))? };
        }
        let output = output.argument::<K>().offset(first);
        // SAFETY: there are as many keys, with a bit for each, and capacity for all of them; the
        // state has the words that are asked for, all 0.
        unsafe {
            launch_compact(batch, items, keys.argument(), found.argument(), output, count.argument(), state.argument())
        }
    })?;
    Ok(count.download_at(stream, 0)? as u64)
}
