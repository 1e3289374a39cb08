//! Every error that a user of the primitives can cause, on every engine: its figures, its advice,
//! and that it changes nothing.

use std::any::Any;
use std::ffi::c_void;
use std::sync::Arc;
use warpnest::error::{ConfigError, InputError};
use warpnest::low_level::engine::Memory;
use warpnest::low_level::engine::{Cores, Engine, HostEngine, Queue, QueueEvent};
use warpnest::low_level::kernels::seam::Kernel;
use warpnest::primitives::{
    BitField, Scratch, compact, exclusive_scan, exclusive_scan_in_place, flag_last_of_each, histogram, inclusive_scan,
    inclusive_scan_in_place, iota, partition_pairs, sort_keys, sort_pairs, unique_of_sorted,
};
use warpnest::{Buffer, Device, Error, Result};
use warpnest_tests::{elsewhere, on_all, parameterized, says};

fn lengths(error: Error, first: u64, second: u64) {
    says(&error, &[&first.to_string(), &second.to_string(), "must be equally long"]);
    let Error::Input(InputError::LengthsDiffer { first_length, second_length, .. }) = error else {
        panic!("{error:?}")
    };
    assert_eq!((first_length, second_length), (first, second));
}

/// Returns a buffer of `n` words with values that show whether anybody overwrote them.
fn sentinels(device: &Device, n: usize) -> Buffer<u32> {
    Buffer::from_slice(device, &vec![0xabab; n]).unwrap()
}

fn untouched(device: &Device, buffers: &[&Buffer<u32>]) {
    for buffer in buffers {
        let words = buffer.download(device.default_stream()).unwrap();
        assert!(words.iter().all(|&word| word == 0xabab), "on {}: {words:?}", device.name());
    }
}

#[parameterized]
fn bit_fields_that_a_key_does_not_have_or_of_too_many_bits_are_refused(device: &Device) {
    let (stream, mut scratch) = (device.default_stream(), Scratch::new(device));
    let narrow = sentinels(device, 10);
    let wide = Buffer::from_slice(device, &[7u64; 10]).unwrap();
    let (mut counts, mut keys_out, mut values_out) =
        (sentinels(device, 16), sentinels(device, 10), sentinels(device, 10));
    let mut wide_out = Buffer::<u64>::zeroed(device, 10).unwrap();
    let common = [(0, 0), (0, 11), (5, u32::MAX), (u32::MAX, 1), (u32::MAX, u32::MAX), (64, 1), (61, 4)];
    let refused = |error: Error, field: BitField, key_bits, max_bits| {
        let BitField { shift, bits } = field;
        assert_eq!(error, Error::Config(ConfigError::BitField { shift, bits, key_bits, max_bits }));
        let (asked, most) = (format!("{bits} bits from bit {shift} on"), format!("1 to {max_bits} bits"));
        says(&error, &[&asked, &most, &format!("the {key_bits} bits of a key")]);
    };
    for (shift, bits) in common.into_iter().chain([(32, 1), (29, 4), (23, 10)]) {
        let (input, scratch, field) = ((&narrow, &narrow), &mut scratch, BitField { shift, bits });
        let done = partition_pairs(stream, scratch, input, field, (&mut keys_out, &mut values_out), &mut counts);
        refused(done.unwrap_err(), field, 32, 10);
    }
    for (shift, bits) in common {
        let (input, scratch, field) = ((&wide, &narrow), &mut scratch, BitField { shift, bits });
        let done = partition_pairs(stream, scratch, input, field, (&mut wide_out, &mut values_out), &mut counts);
        refused(done.unwrap_err(), field, 64, 10);
    }
    // A histogram accepts wider fields, of up to 32 bits.
    let common = [(0, 0), (0, 33), (5, u32::MAX), (u32::MAX, 1), (u32::MAX, u32::MAX), (64, 1), (61, 4), (33, 32)];
    for (shift, bits) in common.into_iter().chain([(32, 1), (29, 4), (1, 32), (20, 13)]) {
        let field = BitField { shift, bits };
        refused(histogram(stream, &narrow, field, &mut counts).unwrap_err(), field, 32, 32);
    }
    for (shift, bits) in common {
        let field = BitField { shift, bits };
        refused(histogram(stream, &wide, field, &mut counts).unwrap_err(), field, 64, 32);
    }
    untouched(device, &[&counts, &keys_out, &values_out]);
    // These are the highest possible fields.
    histogram(stream, &narrow, BitField { shift: 28, bits: 4 }, &mut counts).unwrap();
    assert_eq!(counts.download(stream).unwrap()[0], 10);
    histogram(stream, &wide, BitField { shift: 60, bits: 4 }, &mut counts).unwrap();
    assert_eq!(counts.download(stream).unwrap()[0], 10);
}

#[parameterized]
fn arrays_whose_lengths_do_not_belong_together_are_refused(device: &Device) {
    let (stream, mut scratch) = (device.default_stream(), Scratch::new(device));
    let scratch = &mut scratch;
    let (five, six) = (sentinels(device, 5), sentinels(device, 6));
    for length in [0, 4, 7] {
        let mut output = sentinels(device, length);
        lengths(exclusive_scan(stream, scratch, &five, &mut output).unwrap_err(), 5, length as u64);
        lengths(inclusive_scan(stream, scratch, &five, &mut output).unwrap_err(), 5, length as u64);
        untouched(device, &[&output]);
    }
    // Only the exclusive scan may have one more output, for the total.
    lengths(inclusive_scan(stream, scratch, &five, &mut sentinels(device, 6)).unwrap_err(), 5, 6);
    let field = BitField { shift: 0, bits: 3 };
    let (mut out, mut long, mut starts) = (sentinels(device, 5), sentinels(device, 6), sentinels(device, 8));
    for length in [0, 7, 9] {
        let mut counts = sentinels(device, length);
        lengths(histogram(stream, &five, field, &mut counts).unwrap_err(), 8, length as u64);
        let wide = BitField { shift: 0, bits: 32 };
        lengths(histogram(stream, &five, wide, &mut counts).unwrap_err(), 1 << 32, length as u64);
        let mut other = sentinels(device, 5);
        let refused = partition_pairs(stream, scratch, (&five, &five), field, (&mut out, &mut other), &mut counts);
        lengths(refused.unwrap_err(), 8, length as u64);
        untouched(device, &[&counts, &other]);
    }
    let mut other = sentinels(device, 5);
    let refused = partition_pairs(stream, scratch, (&five, &six), field, (&mut out, &mut other), &mut starts);
    lengths(refused.unwrap_err(), 5, 6);
    let refused = partition_pairs(stream, scratch, (&five, &five), field, (&mut long, &mut other), &mut starts);
    lengths(refused.unwrap_err(), 5, 6);
    let refused = partition_pairs(stream, scratch, (&five, &five), field, (&mut out, &mut long), &mut starts);
    lengths(refused.unwrap_err(), 5, 6);
    lengths(sort_pairs(stream, scratch, &mut out, &mut long).unwrap_err(), 5, 6);

    let (keep, mut count) = (sentinels(device, 1), sentinels(device, 1));
    lengths(compact(stream, scratch, &five, &starts, &mut out, &mut count).unwrap_err(), 1, 8);
    lengths(compact(stream, scratch, &five, &keep, &mut long, &mut count).unwrap_err(), 5, 6);
    lengths(compact(stream, scratch, &five, &keep, &mut out, &mut starts).unwrap_err(), 1, 8);
    lengths(flag_last_of_each(stream, &five, &mut starts).unwrap_err(), 1, 8);
    lengths(unique_of_sorted(stream, scratch, &five, &mut long, &mut count).unwrap_err(), 5, 6);
    lengths(unique_of_sorted(stream, scratch, &five, &mut out, &mut starts).unwrap_err(), 1, 8);
    let mut none = sentinels(device, 0);
    lengths(flag_last_of_each(stream, &five, &mut none).unwrap_err(), 1, 0);
    untouched(device, &[&out, &long, &starts, &count, &five]);
    assert_eq!(scratch.memory_bytes(), 0, "what is refused takes no scratch");
}

/// Fails unless the error says that something is on `found` and that the operation runs on
/// `expected`.
fn wrong(result: Result<()>, found: &Device, expected: &Device) {
    let error = result.unwrap_err();
    says(&error, &[found.name(), expected.name(), "`Buffer::to_device`"]);
    let Error::WrongDevice { found: is_on, expected: runs_on, .. } = error else { panic!("{error:?}") };
    assert_eq!((is_on.as_str(), runs_on.as_str()), (found.name(), expected.name()));
}

#[test]
fn what_belongs_to_another_device_is_refused_and_nothing_has_changed() {
    let there = &elsewhere();
    on_all(|here| {
        let (stream, mut scratch) = (here.default_stream(), Scratch::new(here));
        let scratch = &mut scratch;
        let (input, theirs) = (sentinels(here, 32), sentinels(there, 32));
        let (mut first, mut second, mut words) = (sentinels(here, 32), sentinels(here, 32), sentinels(here, 1));
        let (keep, their_keep) = (sentinels(here, 1), sentinels(there, 1));
        let (mut their_32, mut their_1) = (sentinels(there, 32), sentinels(there, 1));
        wrong(exclusive_scan(stream, scratch, &theirs, &mut first), there, here);
        wrong(exclusive_scan(stream, scratch, &input, &mut their_32), there, here);
        wrong(exclusive_scan_in_place(stream, scratch, &mut their_32), there, here);
        wrong(inclusive_scan(stream, scratch, &theirs, &mut first), there, here);
        wrong(inclusive_scan(stream, scratch, &input, &mut their_32), there, here);
        wrong(inclusive_scan_in_place(stream, scratch, &mut their_32), there, here);
        wrong(sort_pairs(stream, scratch, &mut first, &mut their_32), there, here);
        wrong(sort_pairs(stream, scratch, &mut their_32, &mut first), there, here);
        wrong(sort_keys(stream, scratch, &mut their_32), there, here);
        wrong(unique_of_sorted(stream, scratch, &theirs, &mut first, &mut words), there, here);
        wrong(unique_of_sorted(stream, scratch, &input, &mut their_32, &mut words), there, here);
        wrong(unique_of_sorted(stream, scratch, &input, &mut first, &mut their_1), there, here);
        wrong(compact(stream, scratch, &theirs, &keep, &mut first, &mut words), there, here);
        wrong(compact(stream, scratch, &input, &their_keep, &mut first, &mut words), there, here);
        wrong(compact(stream, scratch, &input, &keep, &mut their_32, &mut words), there, here);
        wrong(compact(stream, scratch, &input, &keep, &mut first, &mut their_1), there, here);
        wrong(flag_last_of_each(stream, &theirs, &mut words), there, here);
        wrong(flag_last_of_each(stream, &input, &mut their_1), there, here);
        let field = BitField { shift: 0, bits: 5 };
        let mut starts = sentinels(here, 32);
        let mut other = sentinels(there, 32);
        wrong(
            partition_pairs(stream, scratch, (&theirs, &input), field, (&mut first, &mut second), &mut starts),
            there,
            here,
        );
        wrong(
            partition_pairs(stream, scratch, (&input, &theirs), field, (&mut first, &mut second), &mut starts),
            there,
            here,
        );
        wrong(
            partition_pairs(stream, scratch, (&input, &input), field, (&mut other, &mut second), &mut starts),
            there,
            here,
        );
        wrong(
            partition_pairs(stream, scratch, (&input, &input), field, (&mut first, &mut other), &mut starts),
            there,
            here,
        );
        wrong(
            partition_pairs(stream, scratch, (&input, &input), field, (&mut first, &mut second), &mut other),
            there,
            here,
        );
        wrong(histogram(stream, &input, field, &mut other), there, here);
        let mut foreign = Scratch::new(there);
        wrong(exclusive_scan(stream, &mut foreign, &input, &mut first), there, here);
        wrong(sort_pairs(stream, &mut foreign, &mut first, &mut second), there, here);
        wrong(sort_keys(stream, &mut foreign, &mut first), there, here);
        wrong(unique_of_sorted(stream, &mut foreign, &input, &mut first, &mut words), there, here);
        wrong(exclusive_scan(there.default_stream(), scratch, &input, &mut first), here, there);
        untouched(here, &[&input, &first, &second, &words, &starts]);
        untouched(there, &[&theirs, &their_32, &their_1, &other]);
    });
}

#[test]
fn a_histogram_of_keys_of_another_device_leaves_the_counts_as_they_were() {
    let there = &elsewhere();
    on_all(|here| {
        let (theirs, mut counts) = (sentinels(there, 32), sentinels(here, 32));
        wrong(histogram(here.default_stream(), &theirs, BitField { shift: 0, bits: 5 }, &mut counts), there, here);
        untouched(here, &[&counts]);
    });
}

/// A CPU engine with allocations of any size. Large allocations are addresses that nobody may
/// access.
#[derive(Debug)]
struct Boastful(HostEngine<Cores>);

const LARGE: usize = 1 << 28;

// SAFETY: small allocations are the inner engine's. Large ones are used only in calls that are
// refused, so nothing is filled or launched.
unsafe impl Engine for Boastful {
    fn name(&self) -> &str {
        "boastful CPU"
    }
    fn memory(&self) -> Result<Memory> {
        Ok(Memory { total: u64::MAX, free: u64::MAX })
    }
    fn allocate(&self, bytes: usize) -> Result<usize> {
        if bytes < LARGE { self.0.allocate(bytes) } else { Ok(1 << 46) }
    }
    unsafe fn free(&self, address: usize, bytes: usize) {
        if bytes < LARGE {
            // SAFETY: the caller upholds the contract.
            unsafe { self.0.free(address, bytes) };
        }
    }
    fn queue(&self) -> Result<Box<dyn Queue>> {
        Ok(Box::new(BoastfulQueue(self.0.queue()?)))
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
}

#[derive(Debug)]
struct BoastfulQueue(Box<dyn Queue>);

impl Queue for BoastfulQueue {
    fn foreign(&self, _work: &mut dyn FnMut(*mut c_void)) -> Result<()> {
        panic!("a call that is refused let others queue something")
    }
    unsafe fn upload(&self, from: &[u8], to: usize) -> Result<()> {
        // SAFETY: the caller upholds the contract.
        unsafe { self.0.upload(from, to) }
    }
    unsafe fn download(&self, from: usize, to: &mut [u8]) -> Result<()> {
        // SAFETY: the caller upholds the contract.
        unsafe { self.0.download(from, to) }
    }
    unsafe fn copy(&self, _from: usize, _to: usize, _bytes: usize) -> Result<()> {
        panic!("a call that is refused copied something")
    }
    unsafe fn fill(&self, at: usize, byte: u8, bytes: usize) -> Result<()> {
        // SAFETY: the caller upholds the contract where there is memory.
        if bytes < LARGE { unsafe { self.0.fill(at, byte, bytes) } } else { Ok(()) }
    }
    unsafe fn launch(&self, kernel: &dyn Kernel, _blocks: u32) -> Result<()> {
        panic!("a call that is refused launched {}", kernel.name())
    }
    fn record(&self, timed: bool) -> Result<Arc<dyn QueueEvent>> {
        self.0.record(timed)
    }
    fn wait(&self, queue_event: &dyn QueueEvent) -> Result<()> {
        self.0.wait(queue_event)
    }
    fn synchronize(&self) -> Result<()> {
        self.0.synchronize()
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
}

#[test]
fn more_items_than_places_have_numbers_are_refused_before_anything_is_done() {
    let device = &Device::from_engine(Boastful(HostEngine::new(Cores))).unwrap();
    let (stream, mut scratch) = (device.default_stream(), Scratch::new(device));
    let scratch = &mut scratch;
    for asked in [1usize << 32, (1 << 32) + 1, 1 << 40] {
        let large = || Buffer::<u32>::zeroed(device, asked).unwrap();
        let small = |n| Buffer::<u32>::zeroed(device, n).unwrap();
        let refused = |result: Result<()>| {
            let error = result.unwrap_err();
            assert_eq!(error, Error::Input(InputError::TooManyItems { asked: asked as u64, limit: u32::MAX as u64 }));
            says(&error, &[&asked.to_string(), "4294967295", "in several batches"]);
        };
        let field = BitField { shift: 0, bits: 4 };
        refused(exclusive_scan(stream, scratch, &large(), &mut large()));
        refused(exclusive_scan_in_place(stream, scratch, &mut large()));
        refused(inclusive_scan(stream, scratch, &large(), &mut large()));
        refused(inclusive_scan_in_place(stream, scratch, &mut large()));
        refused(histogram(stream, &large(), field, &mut small(16)));
        refused(sort_pairs(stream, scratch, &mut large(), &mut large()));
        let (mut keys, mut values) = (large(), large());
        let input = (&large(), &large());
        refused(partition_pairs(stream, scratch, input, field, (&mut keys, &mut values), &mut small(16)));
        let mut words = Buffer::zeroed(device, asked.div_ceil(32)).unwrap();
        refused(flag_last_of_each(stream, &large(), &mut words));
        refused(iota(stream, &mut large()));
        refused(compact(stream, scratch, &large(), &words, &mut large(), &mut small(1)));
        assert_eq!(scratch.memory_bytes(), 0);
    }
}
