//! The memory of buffers that were dropped, kept for the next ones: the driver takes 100 µs for the
//! smallest allocation and its release, and waits for the device.
//!
//! The pool waits for nothing. Memory is kept with the uses of its last owner, and the next owner's
//! work waits for these on the device. Memory is taken first whose uses have ended, or are of the
//! stream that asks, whose work comes after them anyway.
//!
//! Memory whose address others know has uses that nothing records. It is put aside, and used again
//! when the host has waited for all work of the device: for all of it at once, and only when there
//! is no other memory to be taken.
//!
//! Up to [`LARGEST_PART`] bytes are a part of a segment, whose parts have one size, a power of two.
//! More bytes are a block, of whole [`GRAIN`]s, which is the driver's allocation.

use super::context::Primary;
use super::driver::Address;
use crate::runtime::engine::{LastUse, PoolSizes, Reused};
use crate::{Error, Result};
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The least bytes of a part.
const SMALLEST_PART: usize = 512;

/// The most bytes of a part.
const LARGEST_PART: usize = 1 << 20;

/// The bytes of which a block has a multiple, as the driver's allocations do.
const GRAIN: usize = 2 << 20;

/// The count of parts of a segment with large ones.
const PARTS: usize = 8;

/// A block is taken for a request if it has at most the bytes that are asked for and one part in so
/// many besides.
const MOST_SPARE: usize = 8;

/// The count of kept blocks of which a request asks whether their uses have ended, before the
/// driver is asked for another one.
const LOOKS: usize = 8;

/// By default at most one part in so many of the device's memory is kept.
const KEPT_SHARE: u64 = 8;

/// Memory that nobody has.
#[derive(Debug)]
struct Kept {
    address: usize,
    uses: Vec<LastUse>,
    /// When it was given back: a count of such events.
    since: u64,
}

#[derive(Debug, Default)]
struct State {
    /// What nobody has, by its size; the latest is last.
    kept: BTreeMap<usize, Vec<Kept>>,
    /// The addresses of what nobody has and work of others may still use, by its size.
    aside: BTreeMap<usize, Vec<usize>>,
    /// The bytes of blocks that are put aside.
    aside_bytes: usize,
    /// The sizes of all blocks, by their addresses.
    blocks: BTreeMap<usize, usize>,
    /// The sizes of the parts of all segments, by the addresses of the segments.
    segments: BTreeMap<usize, usize>,
    /// The bytes of blocks that nobody has.
    kept_bytes: usize,
    /// The bytes of all blocks and segments.
    held: usize,
    /// The most that `held` has been.
    most_held: usize,
    /// The most that `kept_bytes` may be. If it is 0 there is no pool: all memory is allocated and
    /// freed by the driver.
    limit: usize,
    /// The count of times that memory was given back.
    given: u64,
}

/// The pool of a device.
#[derive(Debug)]
pub(super) struct Pool(Mutex<State>);

/// Returns the bytes of a segment with parts of this size.
fn segment_bytes(size: usize) -> usize {
    GRAIN.max(PARTS * size)
}

/// Returns the count of parts of this size in a segment.
fn parts_of(size: usize) -> usize {
    segment_bytes(size) / size
}

impl State {
    /// Takes kept memory of a size from `least` to `most` for which work of `stream` need not wait,
    /// if one of the `looks` latest ones is such; any memory if there are no looks.
    fn take(&mut self, least: usize, most: usize, stream: u64, looks: usize) -> Option<Reused> {
        let has_ended = |last: &LastUse| last.stream() == stream || last.is_done().unwrap_or(false);
        let latest = self
            .kept
            .range(least..=most)
            .flat_map(|(&size, all)| all.iter().enumerate().rev().map(move |(at, kept)| (size, at, kept)));
        let (size, at, _) = if looks == 0 {
            latest.min_by_key(|&(size, _, _)| size)
        } else {
            latest.take(looks).find(|(_, _, kept)| kept.uses.iter().all(has_ended))
        }?;
        let Kept { address, uses, .. } = self.remove(size, at);
        Some(Reused { address, uses })
    }

    fn remove(&mut self, size: usize, at: usize) -> Kept {
        let all = self.kept.get_mut(&size).expect("there is memory of this size");
        let kept = all.remove(at);
        if all.is_empty() {
            self.kept.remove(&size);
        }
        if size > LARGEST_PART {
            self.kept_bytes -= size;
        }
        kept
    }

    fn keep(&mut self, size: usize, address: usize, uses: Vec<LastUse>) {
        if size > LARGEST_PART {
            self.kept_bytes += size;
        }
        self.given += 1;
        self.kept.entry(size).or_default().push(Kept { address, uses, since: self.given });
    }

    /// Puts memory aside until all work of the device has ended.
    fn put_aside(&mut self, size: usize, address: usize) {
        if size > LARGEST_PART {
            self.aside_bytes += size;
        }
        self.aside.entry(size).or_default().push(address);
    }

    /// Waits, on the host, for all work of the device, and keeps what was put aside until then.
    fn settle(&mut self, primary: &Primary) {
        if self.aside.is_empty() {
            return;
        }
        synchronize(primary);
        self.aside_bytes = 0;
        for (size, addresses) in std::mem::take(&mut self.aside) {
            addresses.into_iter().for_each(|address| self.keep(size, address, vec![]));
        }
    }

    fn hold(&mut self, bytes: usize) {
        self.held += bytes;
        self.most_held = self.most_held.max(self.held);
    }

    /// Returns the size of the part at `address`, if it is one.
    fn part(&self, address: usize) -> Option<usize> {
        let (&segment, &size) = self.segments.range(..=address).next_back()?;
        (address < segment + segment_bytes(size)).then_some(size)
    }

    /// Forgets a block, if one is at `address`.
    fn disown(&mut self, address: usize) {
        self.held -= self.blocks.remove(&address).unwrap_or(0);
    }

    /// Takes out the blocks that have been kept for longest, until at most `bytes` are kept.
    fn oldest(&mut self, bytes: usize) -> Vec<Kept> {
        let mut excess = Vec::new();
        while self.kept_bytes > bytes {
            let blocks = self.kept.range(LARGEST_PART + 1..);
            let (&size, _) = blocks.min_by_key(|(_, all)| all[0].since).expect("there are kept bytes");
            let block = self.remove(size, 0);
            self.disown(block.address);
            excess.push(block);
        }
        excess
    }

    /// Takes out all blocks that nobody has, and all segments of which nobody has a part.
    fn all_kept(&mut self) -> Vec<Kept> {
        let mut out = self.oldest(0);
        let sizes: Vec<usize> = self.kept.keys().copied().collect();
        for size in sizes {
            let mut segments = BTreeMap::<usize, Vec<Kept>>::new();
            for part in self.kept.remove(&size).expect("it was listed") {
                let (&segment, _) = self.segments.range(..=part.address).next_back().expect("a part has a segment");
                segments.entry(segment).or_default().push(part);
            }
            for (segment, parts) in segments {
                if parts.len() < parts_of(size) {
                    self.kept.entry(size).or_default().extend(parts);
                    continue;
                }
                self.segments.remove(&segment);
                self.held -= segment_bytes(size);
                let uses = parts.into_iter().flat_map(|part| part.uses).collect();
                out.push(Kept { address: segment, uses, since: 0 });
            }
        }
        out
    }
}

impl Pool {
    /// Returns an empty pool of a device.
    pub(super) fn new(primary: &Primary) -> Self {
        let is_off = std::env::var("WARPNEST_POOL").is_ok_and(|text| text == "off");
        let total = primary.memory().map_or(0, |memory| memory.total);
        let limit = if is_off { 0 } else { (total / KEPT_SHARE) as usize };
        Self(Mutex::new(State { limit, ..State::default() }))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns memory for work of the stream with id `stream`, with the uses that work of other
    /// streams must wait for.
    pub(super) fn take(&self, primary: &Primary, bytes: usize, stream: u64) -> Result<Reused> {
        let mut state = self.state();
        if state.limit == 0 {
            return Ok(Reused { address: allocate(primary, bytes)?, uses: vec![] });
        }
        let is_part = bytes <= LARGEST_PART;
        let (size, most) = if is_part {
            let size = bytes.next_power_of_two().max(SMALLEST_PART);
            (size, size)
        } else {
            let size = bytes.checked_next_multiple_of(GRAIN).unwrap_or(bytes);
            (size, size.saturating_add(size / MOST_SPARE))
        };
        if let Some(reused) = state.take(size, most, stream, LOOKS) {
            return Ok(reused);
        }
        if state.aside.range(size..=most).next().is_some() {
            state.settle(primary);
            if let Some(reused) = state.take(size, most, stream, LOOKS) {
                return Ok(reused);
            }
        }
        let wanted = if is_part { segment_bytes(size) } else { size };
        let address = match allocate(primary, wanted) {
            Err(Error::OutOfMemory { .. }) => {
                state.settle(primary);
                // What work of other streams still uses is better than nothing.
                if let Some(reused) = state.take(size, most, stream, 0) {
                    return Ok(reused);
                }
                release(primary, state.all_kept());
                allocate(primary, wanted).map_err(|error| match error {
                    // What the program asked for, and not what the pool did.
                    Error::OutOfMemory { free, total, device, .. } => {
                        Error::OutOfMemory { asked: bytes as u64, free, total, device }
                    }
                    error => error,
                })?
            }
            answer => answer?,
        };
        state.hold(wanted);
        if is_part {
            state.segments.insert(address, size);
            for part in (1..parts_of(size)).rev() {
                state.keep(size, address + part * size, vec![]);
            }
        } else {
            state.blocks.insert(address, size);
        }
        Ok(Reused { address, uses: vec![] })
    }

    /// Takes memory back, which work may still use. Memory that is not of the pool is the driver's
    /// once this work has ended.
    pub(super) fn give(&self, primary: &Primary, address: usize, uses: Vec<LastUse>) {
        let mut state = self.state();
        if let Some(size) = state.part(address) {
            return state.keep(size, address, uses);
        }
        let excess = match state.blocks.get(&address).copied() {
            Some(size) if size <= state.limit => {
                state.keep(size, address, uses);
                let most = state.limit.saturating_sub(state.aside_bytes);
                state.oldest(most)
            }
            _ => {
                state.disown(address);
                vec![Kept { address, uses, since: 0 }]
            }
        };
        drop(state);
        release(primary, excess);
    }

    /// Takes memory back whose address others know: their work may still use it, and nothing of it
    /// is recorded.
    pub(super) fn give_known(&self, primary: &Primary, address: usize, uses: Vec<LastUse>) {
        let mut state = self.state();
        let block = || state.blocks.get(&address).copied().filter(|&size| state.aside_bytes + size <= state.limit);
        let Some(size) = state.part(address).or_else(block) else {
            // No more may be put aside, or the memory is the driver's.
            state.settle(primary);
            drop(state);
            synchronize(primary);
            return self.give(primary, address, uses);
        };
        state.put_aside(size, address);
        let most = state.limit.saturating_sub(state.aside_bytes);
        let excess = state.oldest(most);
        drop(state);
        release(primary, excess);
    }

    /// Makes memory the caller's, for the driver to free. Returns whether it can be: parts of
    /// segments stay the pool's.
    #[cfg(any(feature = "cust", feature = "cudarc"))]
    pub(super) fn disown(&self, address: usize) -> bool {
        let mut state = self.state();
        state.disown(address);
        state.part(address).is_none()
    }

    /// Gives what nobody has back to the driver, when the work that uses it has ended.
    pub(super) fn trim(&self, primary: &Primary) {
        let mut state = self.state();
        state.settle(primary);
        let kept = state.all_kept();
        drop(state);
        release(primary, kept);
    }

    /// Sets the most bytes of blocks that are kept, and gives back what is too much.
    pub(super) fn set_limit(&self, primary: &Primary, bytes: usize) {
        let mut state = self.state();
        state.limit = bytes;
        state.settle(primary);
        let excess = if bytes == 0 { state.all_kept() } else { state.oldest(bytes) };
        drop(state);
        release(primary, excess);
    }

    /// Returns the pool's sizes.
    pub(super) fn sizes(&self) -> PoolSizes {
        let State { held, most_held, kept_bytes, aside_bytes, limit, .. } = *self.state();
        let [held, most_held, kept, limit] = [held, most_held, kept_bytes + aside_bytes, limit].map(|n| n as u64);
        PoolSizes { held, most_held, kept, limit }
    }

    /// Returns all memory to the driver, of a context that nothing uses any more.
    pub(super) fn close(&self, primary: &Primary) {
        let state = std::mem::take(&mut *self.state());
        for address in state.blocks.into_keys().chain(state.segments.into_keys()) {
            free(primary, address);
        }
    }
}

pub(super) fn allocate(primary: &Primary, bytes: usize) -> Result<usize> {
    let entered = primary.enter()?;
    let mut address = 0;
    // SAFETY: the driver writes the address.
    let allocated = unsafe { entered.driver.cuMemAlloc_v2(&mut address, bytes) };
    allocated.map_err(|failure| primary.error(failure, bytes as u64))?;
    Ok(address as usize)
}

pub(super) fn free(primary: &Primary, address: usize) {
    if let Ok(entered) = primary.enter() {
        // SAFETY: `allocate` made it, and nothing uses it. An error means that the context is lost,
        // with its memory.
        let _ = entered.check(unsafe { entered.driver.cuMemFree_v2(address as Address) });
    }
}

/// Waits, on the host, for all work of the device.
fn synchronize(primary: &Primary) {
    if let Ok(entered) = primary.enter() {
        // SAFETY: a context is current. An error means that it is lost, with its memory.
        let _ = entered.check(unsafe { entered.driver.cuCtxSynchronize() });
    }
}

/// Returns memory to the driver when its uses have ended.
fn release(primary: &Primary, memory: Vec<Kept>) {
    for Kept { address, uses, .. } in memory {
        // After a driver error the context is lost, and with it the memory: the error cannot be
        // reported from here.
        let _ = LastUse::synchronize_all(&uses);
        free(primary, address);
    }
}
