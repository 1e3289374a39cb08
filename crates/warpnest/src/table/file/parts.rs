//! The parts of a table that its file contains: numbers, and sections of its memory.

use crate::Buffer;
use crate::error::TableKind;
use crate::runtime::allocation::Tracked;
use crate::table::config::Config;
use gpu_kernels::plain::Plain;
use gpu_kernels::types::Payload;
use std::ops::Range;

/// The numbers and the sections of a table, in the order in which a load reads them.
#[derive(Default)]
pub struct Parts<'t> {
    pub numbers: Vec<u64>,
    pub sections: Vec<Section<'t>>,
}

/// A section: bytes of one kind, which may be in several buffers.
pub struct Section<'t> {
    /// The extents of the section in order, each with the offset of its end in the section.
    extents: Vec<(u64, Extent<'t>)>,
}

/// Contiguous bytes.
pub enum Extent<'t> {
    /// Bytes of a buffer, at an address on its device.
    Device { tracked: &'t (dyn Tracked + Sync), address: usize },
    /// Bytes in host memory.
    Host(Vec<u8>),
}

impl<'t> Section<'t> {
    /// Returns a section of no bytes.
    pub fn new() -> Self {
        Self { extents: Vec::new() }
    }

    /// Returns a section of the first `elements` elements of a buffer.
    pub fn of<T: Plain>(buffer: &'t Buffer<T>, elements: u64) -> Self {
        Self::new().with(buffer, 0..elements)
    }

    /// Returns the section with the elements `elements` of a buffer appended.
    pub fn with<T: Plain>(mut self, buffer: &'t Buffer<T>, elements: Range<u64>) -> Self {
        let Range { start, end } = elements;
        assert!(start <= end && end <= buffer.len() as u64, "the buffer has {} elements", buffer.len());
        let size = size_of::<T>() as u64;
        let address = buffer.at() + (start * size) as usize;
        self.push((end - start) * size, Extent::Device { tracked: buffer, address });
        self
    }

    /// Returns a section of bytes in host memory.
    pub fn of_host(bytes: Vec<u8>) -> Self {
        let mut section = Self::new();
        section.push(bytes.len() as u64, Extent::Host(bytes));
        section
    }

    fn push(&mut self, bytes: u64, extent: Extent<'t>) {
        let (before, end) = (self.bytes(), self.bytes() + bytes);
        if bytes == 0 {
            return;
        }
        let start = self.extents.len().checked_sub(2).map_or(0, |last| self.extents[last].0);
        if let (Some((last_end, Extent::Device { tracked: last, address: first })), Extent::Device { tracked, address }) =
            (self.extents.last_mut(), &extent)
            && std::ptr::eq(last.allocation(), tracked.allocation())
            && *first as u64 + (before - start) == *address as u64
        {
            // The extents are adjacent in one buffer.
            *last_end = end;
            return;
        }
        self.extents.push((end, extent));
    }

    /// Returns the bytes of the section.
    pub fn bytes(&self) -> u64 {
        self.extents.last().map_or(0, |&(end, _)| end)
    }

    /// Returns the extents of the section that end after byte `at`, each with the range of its
    /// offsets in the section.
    pub fn from(&self, at: u64) -> impl Iterator<Item = (Range<u64>, &Extent<'t>)> {
        let first = self.extents.partition_point(|&(end, _)| end <= at);
        let start = |i: usize| if i == 0 { 0 } else { self.extents[i - 1].0 };
        (first..self.extents.len()).map(move |i| (start(i)..self.extents[i].0, &self.extents[i].1))
    }
}

impl<'t> Parts<'t> {
    pub fn number(&mut self, number: u64) {
        self.numbers.push(number);
    }

    pub fn numbers(&mut self, numbers: impl IntoIterator<Item = u64>) {
        self.numbers.extend(numbers);
    }

    /// Adds whether there is a number, and then the number or 0.
    pub fn option(&mut self, number: Option<u64>) {
        self.numbers([number.is_some() as u64, number.unwrap_or(0)]);
    }

    pub fn float(&mut self, number: f64) {
        self.number(number.to_bits());
    }

    /// Adds the first numbers of every map and set: the count of keys, and the settings that all
    /// designs have in common.
    pub fn table<D>(&mut self, keys: u64, config: &Config<D>) {
        self.number(keys);
        let Config { design: _, seed, restarts, unique, statistics, timings } = config;
        self.option(*seed);
        self.numbers([*restarts as u64, *unique as u64, *statistics as u64, *timings as u64]);
    }

    pub fn section(&mut self, section: Section<'t>) {
        self.sections.push(section);
    }
}

/// Returns the kind of a map or a set.
pub(crate) fn kind_of<K: crate::Key, P: Payload>(design: &'static str) -> TableKind {
    let value_bytes = P::VALUE_BITS / 8;
    let form = if value_bytes == 0 { "Set" } else { "Map" };
    TableKind { design, form, key_bytes: size_of::<K>() as u8, value_bytes }
}
