//! Errors of this crate, with the figures and what to do about them.

use crate::runtime::engine::Engine;
use crate::{Buffer, Device, Stream};
use gpu_kernels::types::{Key, Value};
use std::sync::Arc;

/// The result of an operation of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// The reason why an operation failed. Unless a variant says otherwise, nothing has changed.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Two inputs that belong together have different lengths.
    #[error("lengths differ: {first} {first_length}, {second} {second_length}; they must be equally long")]
    LengthsDiffer {
        /// The name of the first input.
        first: &'static str,
        /// The length of the first input.
        first_length: u64,
        /// The name of the second input.
        second: &'static str,
        /// The length of the second input.
        second_length: u64,
    },

    /// The number of hash functions is not one that the table supports.
    #[error("{asked} hash functions were asked for: choose 2 to 5")]
    FunctionCount {
        /// The number of functions asked for.
        asked: u32,
    },

    /// The number of slots per pair is not finite, or is below 1.
    #[error("{asked} slots a pair were asked for: give a finite number of at least 1")]
    SlotsPerPair {
        /// The number of slots per pair asked for.
        asked: f64,
    },

    /// A chain limit of 0 lets no pair into the table.
    #[error("a chain limit of 0 exchanges lets no pair into the table: give at least 1, or leave it to the default")]
    ChainLimit,

    /// The table would have more slots than its 32-bit hash functions reach.
    #[error(
        "{asked} slots were asked for, and a table can have at most {limit}: build several tables, or fill it more"
    )]
    TooManySlots {
        /// The number of slots asked for.
        asked: u64,
        /// The most slots that a table can have.
        limit: u64,
    },

    /// The pairs do not fit the slots with this number of hash functions.
    #[error(
        "{pairs} pairs do not fit {slots} slots with {functions} hash functions, which need at least {min_slots}: \
         take more slots (`slots` or `slots_per_pair`), or more functions (at most 5)"
    )]
    LoadTooHigh {
        /// The number of pairs.
        pairs: u64,
        /// The number of slots.
        slots: u64,
        /// The number of hash functions.
        functions: u32,
        /// The fewest slots that work in practice (Alcantara 2011, §4.3.1.1).
        min_slots: u64,
    },

    /// The modulus of the hash family is not a prime number.
    #[error("{modulus} is not a prime number: the linear and XOR hash families need one, for example 4294967291")]
    NotPrime {
        /// The modulus.
        modulus: u32,
    },

    /// The hash family cannot reach all slots.
    #[error(
        "hash values modulo the prime {prime} reach no slot beyond it, and the table has {slots}: take a larger prime, \
         fewer slots, or the default hash family"
    )]
    PrimeBelowSlots {
        /// The prime.
        prime: u32,
        /// The number of slots.
        slots: u64,
    },

    /// More keys than hash functions agree modulo the prime, so no constants can find slots for
    /// them.
    #[error(
        "key {key} and at least {functions} other keys agree modulo {prime}: under the exact linear family they share all \
         their {functions} slots, and no restart can place them; take wrapping arithmetic, a larger prime, or the default \
         hash family"
    )]
    KeysAgreeModuloPrime {
        /// One of the keys.
        key: u64,
        /// The prime.
        prime: u32,
        /// The number of hash functions.
        functions: u32,
    },

    /// A build failed with every set of constants that it drew.
    #[error(
        "{attempts} attempts to build a table of {pairs} pairs in {slots} slots with {functions} hash functions and at most \
         {chain_limit} exchanges a chain all failed: take more slots or functions, a higher chain limit, more restarts, or the default hash family"
    )]
    BuildFailed {
        /// The number of attempts.
        attempts: u32,
        /// The number of pairs.
        pairs: u64,
        /// The number of slots.
        slots: u64,
        /// The number of hash functions.
        functions: u32,
        /// The most exchanges of one eviction chain.
        chain_limit: u32,
    },

    /// The buckets have a size that a two-level map cannot have.
    #[error(
        "buckets of at most {capacity} items and {mean} on average: take 1 to {max_in_bucket} at most, and on average at least 1 \
         and no more than that"
    )]
    Bucket {
        /// The most items of a bucket.
        capacity: u32,
        /// The mean number of items of a bucket.
        mean: f64,
        /// The largest capacity.
        max_in_bucket: u32,
    },

    /// The number or the size of the sub-tables is one that a two-level map cannot have.
    #[error(
        "{tables} sub-tables of {slots} slots for buckets of up to {capacity} items: take 2 to 4, with at least {capacity} and \
         at most {max_slots} slots together"
    )]
    SubTables {
        /// The number of sub-tables.
        tables: u32,
        /// The number of slots of each sub-table.
        slots: u32,
        /// The most items of a bucket.
        capacity: u32,
        /// The most slots of a bucket.
        max_slots: u32,
    },

    /// The limits are too low for even one try to build a bucket.
    #[error("{seeds} seeds a bucket and {rounds} rounds a seed: take at least 1 of each")]
    Attempts {
        /// The number of seeds that a bucket may try.
        seeds: u32,
        /// The number of rounds that a bucket may take with each seed.
        rounds: u32,
    },

    /// A two-level build failed with every hash function that it drew.
    #[error(
        "a table of {pairs} pairs in {buckets} buckets could not be built: {overflows} attempts gave a bucket more than {capacity} \
         items, and in {failures} a bucket found no seed: take fewer items per bucket, more slots, seeds, rounds or restarts, or \
         the default hash family; if keys are repeated, allow a restart at least and do not assume that they are unique"
    )]
    TwoLevelBuildFailed {
        /// The number of pairs.
        pairs: u64,
        /// The number of buckets.
        buckets: u64,
        /// The number of attempts in which a bucket overflowed.
        overflows: u32,
        /// The number of attempts in which a bucket could not be built.
        failures: u32,
        /// The most items of a bucket.
        capacity: u32,
    },

    /// The load factor is one that no table can have.
    #[error("a load of {load} was asked for: give one above 0 and at most 1")]
    Load {
        /// The load factor asked for.
        load: f64,
    },

    /// The load factor is one that a table whose searches end at an empty slot cannot have.
    #[error("a load of {load} was asked for: give one above 0 and below 1")]
    OpenLoad {
        /// The load factor asked for.
        load: f64,
    },

    /// A table that may not grow has no slots left for new keys. All other operations of the batch
    /// were done.
    #[error(
        "{refused} of {operations} operations found no slot for a new key: {taken} of {slots} slots are taken, and the load is limited to \
         {load}; the others were done; let the table grow, reserve more, or allow a higher load"
    )]
    TableFull {
        /// The number of operations that were not done.
        refused: u64,
        /// The number of all operations of the batch.
        operations: u64,
        /// The number of slots that are taken.
        taken: u64,
        /// The number of all slots.
        slots: u64,
        /// The load factor that was allowed.
        load: f64,
    },

    /// The directory is one that an extendible map cannot have.
    #[error(
        "a directory of {segments} segments with {buckets} buckets of {records} records each, and at most {max_segments} segments: take at \
         least one segment, and no more than the most; a power of two of buckets, 4 or more, and 2^31 of all segments at most; and a multiple of 8 \
         records, up to 256"
    )]
    Directory {
        /// The number of segments at the beginning.
        segments: u32,
        /// The number of buckets of each segment.
        buckets: u32,
        /// The number of records of each bucket.
        records: u32,
        /// The most segments that there may be.
        max_segments: u64,
    },

    /// Too many keys of an extendible map have the same first bits of their hashes. Nothing was
    /// done.
    #[error(
        "of a batch of {pairs} new keys, more than the {records} records of a bucket agree in the part of the hashes' range that they have, and in \
         {depth} more bits, as deep as the directory may be: allow more segments (`max_segments`), take larger buckets (`records`), or another seed"
    )]
    TooDeep {
        /// The number of new keys of the batch.
        pairs: u64,
        /// The number of records that fit a bucket.
        records: u32,
        /// The depth that the directory may have.
        depth: u32,
    },

    /// The device cannot load and change words of 128 bits as a whole.
    #[error(
        "{what} needs atomic operations on words of 128 bits, and {device} has none: take keys and values of 32 bits, a GPU of compute \
         capability 9.0 or later, or the CPU"
    )]
    NoWideAtomics {
        /// The name of what needs them.
        what: &'static str,
        /// The device's name.
        device: String,
    },

    /// A page table could not be built with any of the constants that were drawn.
    #[error(
        "a table of {pairs} pairs at load {load} could not be built in {attempts} attempts: take a lower load or more restarts, and assume \
         unique keys only if they are"
    )]
    PageBuildFailed {
        /// The number of pairs.
        pairs: u64,
        /// The load factor asked for.
        load: f64,
        /// The number of attempts that failed.
        attempts: u32,
    },

    /// The items are more than a primitive can number.
    #[error("{asked} items were given, and one call takes at most {limit}: work in several batches")]
    TooManyItems {
        /// The number of items given.
        asked: u64,
        /// The most items that one call takes.
        limit: u64,
    },

    /// The ranks are ones that a sorted map does not have.
    #[error(
        "the ranks {start}..{end} were asked for, and the map has 0..{length}: take those that `range` gave for this map"
    )]
    Ranks {
        /// The first rank asked for.
        start: u32,
        /// The rank behind the last one asked for.
        end: u32,
        /// The number of keys.
        length: u64,
    },

    /// The bit field is not in the key, or has too many bits.
    #[error(
        "{bits} bits from bit {shift} on: a field has 1 to {max_bits} bits and lies within the {key_bits} bits of a key"
    )]
    BitField {
        /// The lowest bit.
        shift: u32,
        /// The number of bits.
        bits: u32,
        /// The number of bits of a key.
        key_bits: u32,
        /// The most bits of a field.
        max_bits: u32,
    },

    /// The device has not enough memory.
    #[error("{}", out_of_memory(*asked, *free, device))]
    OutOfMemory {
        /// The bytes asked for; 0 if the driver wants memory of its own for a kernel or a stream,
        /// and does not say how much.
        asked: u64,
        /// The bytes that are free.
        free: u64,
        /// The device's name.
        device: String,
    },

    /// A change of a table failed in its middle, and the table's keys are lost with it.
    #[error(
        "the table is empty, for a change of it failed in its middle: insert its keys again. What failed: {source}"
    )]
    Emptied {
        /// The error that the change failed with.
        source: Box<Error>,
    },

    /// A buffer or stream belongs to another device.
    #[error("{what} is on {found}, and this operation runs on {expected}: copy it there first")]
    WrongDevice {
        /// The name of what is on the wrong device.
        what: &'static str,
        /// The device that it is on.
        found: String,
        /// The device of the operation.
        expected: String,
    },

    /// An array that another library allocated does not begin where kernels can read it.
    #[error(
        "the array begins at {address:#x}, which is no multiple of {alignment}: borrow the whole allocation, or copy the part"
    )]
    Misaligned {
        /// The address of the first element.
        address: u64,
        /// The alignment: what the address must be a multiple of.
        alignment: u64,
    },

    /// A launch would need more blocks than a grid can have.
    #[error("{threads} threads need more blocks of {block} than the {limit} of a grid: work in several batches")]
    GridTooLarge {
        /// The number of threads asked for.
        threads: u64,
        /// The number of threads of a block.
        block: u32,
        /// The most blocks of a grid.
        limit: u32,
    },

    /// No device has this name.
    #[error("no device is named {asked}: give best, cpu, cuda or cuda:N")]
    DeviceName {
        /// The name given.
        asked: String,
    },

    /// The device does not exist, or it cannot be used.
    #[error("CUDA device {ordinal} cannot be used: {reason}")]
    NoDevice {
        /// The ordinal asked for.
        ordinal: u32,
        /// The reason, and what to do.
        reason: String,
    },

    /// The driver refused the kernels. This is a bug of warpnest or of the driver.
    #[error("the driver could not compile the kernels ({name}); its log:\n{log}")]
    Jit {
        /// The name of the driver's error.
        name: String,
        /// The log of the driver's compiler.
        log: String,
    },

    /// The driver reported an error. After an error inside a kernel the context is lost and every
    /// call reports it.
    #[error("{call} failed: {name} ({code})")]
    Driver {
        /// The driver's function.
        call: &'static str,
        /// The driver's number for the error.
        code: u32,
        /// The driver's name for that number, if it has one.
        name: String,
    },

    /// The device has no such kernel, or an engine reported a fault in it.
    #[error("kernel {kernel} failed: {fault}")]
    Kernel {
        /// The kernel's name.
        kernel: String,
        /// The fault: what went wrong.
        fault: String,
    },
}

fn out_of_memory(asked: u64, free: u64, device: &str) -> String {
    let asked = if asked == 0 { "memory for the driver itself was".to_owned() } else { format!("{asked} bytes were") };
    format!("{asked} asked for and {device} has {free} free: take less, or free buffers first")
}

/// Fails unless the two lengths agree.
pub(crate) fn same_length(first: (&'static str, usize), second: (&'static str, usize)) -> Result<()> {
    if first.1 == second.1 {
        return Ok(());
    }
    Err(Error::LengthsDiffer {
        first: first.0,
        first_length: first.1 as u64,
        second: second.0,
        second_length: second.1 as u64,
    })
}

/// Fails unless both are the same engine.
pub(crate) fn same_device(what: &'static str, found: &Arc<dyn Engine>, expected: &Arc<dyn Engine>) -> Result<()> {
    if Arc::ptr_eq(found, expected) {
        return Ok(());
    }
    let (found, expected) = (found.name().to_owned(), expected.name().to_owned());
    Err(Error::WrongDevice { what, found, expected })
}

/// Fails if a table would have more slots than can be numbered.
pub(crate) fn check_slots(asked: u64) -> Result<()> {
    // The last number stands for "no slot".
    let limit = u32::MAX as u64 - 1;
    if asked > limit { Err(Error::TooManySlots { asked, limit }) } else { Ok(()) }
}

/// Fails unless everything is on `device`, and there is a value for each key.
pub(crate) fn check_pairs<K: Key, V: Value>(
    device: &Device,
    stream: &Stream,
    keys: &Buffer<K>,
    values: &Buffer<V>,
) -> Result<()> {
    stream.check_device(device)?;
    keys.check_device("the buffer of keys", device)?;
    values.check_device("the buffer of values", device)?;
    same_length(("the keys", keys.len()), ("the values", values.len()))
}
