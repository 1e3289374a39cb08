//! The memory that kernels access, and the checks of every access.

use std::ptr;

use crate::fault::Space;

/// The address of the first shared array. It is not 0, so that an access through a null pointer is
/// out of bounds.
pub(crate) const SHARED_START: u64 = 1024;
/// The bytes between two shared arrays, so that an access beyond the end of an array is detected.
pub(crate) const SHARED_GAP: u64 = 64;
/// The address of dynamic shared memory, which is above all static arrays.
pub(crate) const DYNAMIC_START: u64 = 1 << 18;
/// The first address of the window of shared memory among generic addresses.
///
/// Generic addresses of shared, parameter and local memory are in windows above every address of a
/// host program.
pub(crate) const SHARED_WINDOW: u64 = 1 << 60;
pub(crate) const PARAM_WINDOW: u64 = 2 << 60;
pub(crate) const LOCAL_WINDOW: u64 = 3 << 60;
const WINDOW_MASK: u64 = 7 << 60;

/// The host memory that kernels may access.
#[derive(Clone, Debug, Default)]
pub struct Regions {
    /// The start and end of each region, in ascending order.
    ranges: Vec<(u64, u64)>,
}

impl Regions {
    /// Returns an empty set of regions.
    pub fn new() -> Self {
        Self::default()
    }

    /// Lets kernels read and write `bytes` bytes that begin at `address`. Replaces an earlier
    /// region that starts at the same address.
    ///
    /// # Panics
    ///
    /// Panics if the region wraps around, or overlaps a region that starts elsewhere.
    ///
    /// # Safety
    ///
    /// These conditions must be true until the region is removed, or `self` and its clones are
    /// dropped. The memory must be initialised, and valid for reads and writes whenever a launch
    /// runs. Nothing else may access it while a launch runs. Its provenance must be exposed (by
    /// `pointer.expose_provenance()`, or `pointer as usize`).
    pub unsafe fn insert(&mut self, address: usize, bytes: usize) {
        self.remove(address);
        let range = (address as u64, address.checked_add(bytes).expect("a region must not wrap around") as u64);
        let at = self.ranges.partition_point(|r| r.0 < range.0);
        let free = at.checked_sub(1).is_none_or(|before| self.ranges[before].1 <= range.0)
            && self.ranges.get(at).is_none_or(|after| range.1 <= after.0);
        assert!(free, "region {:#x}..{:#x} overlaps another", range.0, range.1);
        self.ranges.insert(at, range);
    }

    /// Removes the region that starts at `address`, if there is one.
    pub fn remove(&mut self, address: usize) {
        self.ranges.retain(|r| r.0 != address as u64);
    }
}

/// The reason why an access is not allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Problem {
    OutOfBounds { space: Space, address: u64, bytes: u32 },
    Misaligned { space: Space, address: u64, bytes: u32 },
}

/// Returns the range that contains `address..address + bytes`. The ranges must be ascending.
#[inline(always)]
fn range(ranges: &[(u64, u64)], address: u64, bytes: u64) -> Option<(u64, u64)> {
    let range = *ranges.get(ranges.partition_point(|r| r.0 <= address).checked_sub(1)?)?;
    range.1.checked_sub(bytes).is_some_and(|last| address <= last).then_some(range)
}

/// Returns whether a range contains `address..address + bytes`. The ranges must be ascending.
#[inline(always)]
fn inside(ranges: &[(u64, u64)], address: u64, bytes: u64) -> bool {
    range(ranges, address, bytes).is_some()
}

/// A module's constant arrays, which kernels read at their real addresses.
#[derive(Debug)]
pub(crate) struct Constants {
    words: Box<[u128]>,
    /// The start and end address of each array, in ascending order.
    ranges: Vec<(u64, u64)>,
}

impl Constants {
    /// Makes zeroed arrays with gaps between them, given their sizes and alignments in bytes.
    pub fn new(arrays: &[(u64, u64)]) -> Self {
        let mut end = 0;
        let mut allocate = |&(bytes, align): &(u64, u64)| {
            let start = u64::next_multiple_of(end, align.max(16));
            end = start + bytes + 16;
            (start, start + bytes)
        };
        let offsets: Vec<_> = arrays.iter().map(&mut allocate).collect();
        let mut out = Constants { words: vec![0; end.div_ceil(16) as usize].into(), ranges: Vec::new() };
        let base = out.start();
        out.ranges = offsets.iter().map(|(start, end)| (base + start, base + end)).collect();
        out
    }

    fn start(&self) -> u64 {
        self.words.as_ptr().addr() as u64
    }

    /// Returns the address of an array.
    pub fn address(&self, index: usize) -> u64 {
        self.ranges[index].0
    }

    /// Fills an array with `bytes`.
    pub fn fill(&mut self, index: usize, bytes: &[u8]) {
        let first = ((self.ranges[index].0 - self.start()) / 16) as usize;
        for (word, chunk) in self.words[first..].iter_mut().zip(bytes.chunks(16)) {
            let mut whole = [0; 16];
            whole[..chunk.len()].copy_from_slice(chunk);
            *word = u128::from_ne_bytes(whole);
        }
    }
}

/// The memory that the threads of a warp can access, one thread at a time.
pub(crate) struct View<'a> {
    pub global: &'a Regions,
    /// The region of the last access to global memory. The next access is usually in it.
    pub recent: (u64, u64),
    pub constants: &'a Constants,
    /// The start and end addresses of the shared arrays.
    pub shared_ranges: &'a [(u64, u64)],
    /// The shared memory, which begins at [`SHARED_START`].
    pub shared: &'a mut [u128],
    /// The local memory of all threads of the warp, with `local_words` words for each thread.
    pub local: &'a mut [u128],
    pub local_words: usize,
    /// The lane that accesses memory.
    pub lane: u32,
    pub params: &'a mut [u128],
}

fn byte_length(words: &[u128]) -> u64 {
    size_of_val(words) as u64
}

impl View<'_> {
    /// Returns the host's pointer for an access, after checking the access.
    ///
    /// The pointer is valid for reads of `bytes` bytes (and for writes if `write` is true), and
    /// aligned to `bytes`. For a region, the contract of [`Regions::insert`] ensures this.
    /// Otherwise, the pointer is inside of a slice of this view.
    #[inline(always)]
    fn locate(&mut self, space: Space, address: u64, bytes: u32, write: bool) -> Result<*mut u8, Problem> {
        if address & u64::from(bytes - 1) != 0 {
            return Err(Problem::Misaligned { space, address, bytes });
        }
        let size = u64::from(bytes);
        let found = match space {
            Space::Global => self.global(address, size, write),
            Space::Shared => self.shared(address, size),
            Space::Param => Self::part(self.params, address, size).filter(|_| !write),
            Space::Local => self.local(address, size),
            Space::Generic => {
                let offset = address & !WINDOW_MASK;
                match address & WINDOW_MASK {
                    SHARED_WINDOW => self.shared(offset, size),
                    PARAM_WINDOW => Self::part(self.params, offset, size).filter(|_| !write),
                    LOCAL_WINDOW => self.local(offset, size),
                    _ => self.global(address, size, write),
                }
            }
        };
        found.ok_or(Problem::OutOfBounds { space, address, bytes })
    }

    #[inline(always)]
    fn global(&mut self, address: u64, size: u64, write: bool) -> Option<*mut u8> {
        if address >= self.recent.0 && self.recent.1.checked_sub(size).is_some_and(|last| address <= last) {
            return Some(ptr::with_exposed_provenance_mut(address as usize));
        }
        if let Some(range) = range(&self.global.ranges, address, size) {
            self.recent = range;
            return Some(ptr::with_exposed_provenance_mut(address as usize));
        }
        if write || !inside(&self.constants.ranges, address, size) {
            return None;
        }
        Self::part_of(&self.constants.words, address - self.constants.start(), size).map(<*const u8>::cast_mut)
    }

    #[inline(always)]
    fn shared(&mut self, address: u64, size: u64) -> Option<*mut u8> {
        // Addresses of shared memory have 32 bits, so their sums wrap around.
        let address = address & 0xffff_ffff;
        if !inside(self.shared_ranges, address, size) {
            return None;
        }
        Self::part(self.shared, address.checked_sub(SHARED_START)?, size)
    }

    #[inline(always)]
    fn local(&mut self, address: u64, size: u64) -> Option<*mut u8> {
        let words = self.lane as usize * self.local_words;
        Self::part(self.local.get_mut(words..words + self.local_words)?, address, size)
    }

    #[inline(always)]
    fn part(words: &mut [u128], offset: u64, size: u64) -> Option<*mut u8> {
        let last = byte_length(words).checked_sub(size)?;
        (offset <= last).then(|| words.as_mut_ptr().cast::<u8>().wrapping_add(offset as usize))
    }

    #[inline(always)]
    fn part_of(words: &[u128], offset: u64, size: u64) -> Option<*const u8> {
        let last = byte_length(words).checked_sub(size)?;
        (offset <= last).then(|| words.as_ptr().cast::<u8>().wrapping_add(offset as usize))
    }

    /// Reads 1, 2, 4 or 8 bytes.
    #[inline(always)]
    pub fn load(&mut self, space: Space, address: u64, bytes: u32) -> Result<u64, Problem> {
        let p = self.locate(space, address, bytes, false)?;
        // SAFETY: `locate` checked that `bytes` bytes can be read.
        unsafe { Ok(read(p, bytes)) }
    }

    /// Writes the low 1, 2, 4 or 8 bytes of `value`.
    #[inline(always)]
    pub fn store(&mut self, space: Space, address: u64, bytes: u32, value: u64) -> Result<(), Problem> {
        let p = self.locate(space, address, bytes, true)?;
        // SAFETY: `locate` checked that `bytes` bytes can be written.
        unsafe { write(p, bytes, value) };
        Ok(())
    }

    /// Reads `count` values of `bytes` bytes in one access, which must be aligned to its total
    /// size.
    pub fn load_list(
        &mut self,
        space: Space,
        address: u64,
        bytes: u32,
        count: u32,
        mut take: impl FnMut(u32, u64),
    ) -> Result<(), Problem> {
        let p = self.locate(space, address, bytes * count, false)?;
        for i in 0..count {
            // SAFETY: `locate` checked that `bytes * count` bytes can be read at `p`, and `i <
            // count`.
            take(i, unsafe { read(p.wrapping_add((i * bytes) as usize), bytes) });
        }
        Ok(())
    }

    /// Writes `count` values of `bytes` bytes in one access, which must be aligned to its total
    /// size.
    pub fn store_list(
        &mut self,
        space: Space,
        address: u64,
        bytes: u32,
        count: u32,
        give: impl Fn(u32) -> u64,
    ) -> Result<(), Problem> {
        let p = self.locate(space, address, bytes * count, true)?;
        for i in 0..count {
            // SAFETY: `locate` checked that `bytes * count` bytes can be written at `p`, and `i <
            // count`.
            unsafe { write(p.wrapping_add((i * bytes) as usize), bytes, give(i)) };
        }
        Ok(())
    }

    /// Replaces the value at an address by the result of `change`, and returns the old value.
    #[inline(always)]
    pub fn update(
        &mut self,
        space: Space,
        address: u64,
        bytes: u32,
        change: impl FnOnce(u64) -> u64,
    ) -> Result<u64, Problem> {
        let p = self.locate(space, address, bytes, true)?;
        // SAFETY: `locate` checked that `bytes` bytes can be read and written.
        unsafe {
            let old = read(p, bytes);
            write(p, bytes, change(old));
            Ok(old)
        }
    }
}

/// Reads `bytes` bytes as an integer.
///
/// # Safety
/// `p` must be valid for a read of `bytes` bytes and aligned to `bytes`, which is 1, 2, 4 or 8.
#[inline(always)]
unsafe fn read(p: *const u8, bytes: u32) -> u64 {
    // SAFETY: as the caller promises. Each arm reads exactly `bytes` bytes.
    unsafe {
        match bytes {
            1 => p.read().into(),
            2 => p.cast::<u16>().read().into(),
            4 => p.cast::<u32>().read().into(),
            _ => p.cast::<u64>().read(),
        }
    }
}

/// Writes the low `bytes` bytes of an integer.
///
/// # Safety
/// `p` must be valid for a write of `bytes` bytes and aligned to `bytes`, which is 1, 2, 4 or 8.
#[inline(always)]
unsafe fn write(p: *mut u8, bytes: u32, value: u64) {
    // SAFETY: as the caller promises. Each arm writes exactly `bytes` bytes.
    unsafe {
        match bytes {
            1 => p.write(value as u8),
            2 => p.cast::<u16>().write(value as u16),
            4 => p.cast::<u32>().write(value as u32),
            _ => p.cast::<u64>().write(value),
        }
    }
}
