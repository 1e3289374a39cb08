//! Settings that make no sense.

/// A setting of a configuration that makes no sense, alone or with the size of the input. The text
/// says what is allowed.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// The load factor is one that no table can have, or so low that a large table would take more
    /// than 1024 times the bytes of its pairs.
    #[error("a load of {load} was asked for: give one of at least 1/1024 and at most 1")]
    Load {
        /// The load factor asked for.
        load: f64,
    },

    /// The load factor is one that a table whose searches end at an empty slot cannot have, or so
    /// low that the table would take more than 1024 times the bytes of its pairs.
    #[error("a load of {load} was asked for: give one of at least 1/1024 and below 1")]
    OpenLoad {
        /// The load factor asked for.
        load: f64,
    },

    /// The count of hash functions is not one that the table supports.
    #[error("{asked} hash functions were asked for: choose 2 to 5")]
    FunctionCount {
        /// The count of functions asked for.
        asked: u32,
    },

    /// The count of slots per pair is below 1, or above 1024.
    #[error("{asked} slots a pair were asked for: give a number of at least 1 and at most 1024")]
    SlotsPerPair {
        /// The count of slots per pair asked for.
        asked: f64,
    },

    /// A chain limit of 0 lets no pair into the table.
    #[error("a chain limit of 0 exchanges lets no pair into the table: give at least 1, or leave it to the default")]
    ChainLimit,

    /// The pairs do not fit the slots with this count of hash functions.
    #[error(
        "{pairs} pairs do not fit {slots} slots with {functions} hash functions, which need at least {min_slots}: \
         take more slots (`slots` or `slots_per_pair`), or more functions (at most 5)"
    )]
    LoadTooHigh {
        /// The count of pairs.
        pairs: u64,
        /// The count of slots.
        slots: u64,
        /// The count of hash functions.
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
        /// The count of slots.
        slots: u64,
    },

    /// The buckets have a size that a two-level map cannot have.
    #[error(
        "buckets of at most {capacity} items, {mean} on average, were asked for: take 1 to {max_in_bucket} at most, and on average \
         at least 1, and no more than the most"
    )]
    Bucket {
        /// The most items of a bucket.
        capacity: u32,
        /// The mean count of items of a bucket.
        mean: f64,
        /// The largest capacity.
        max_in_bucket: u32,
    },

    /// The count or the size of the sub-tables is one that a two-level map cannot have.
    #[error(
        "{tables} sub-tables of {slots} slots for buckets of up to {capacity} items were asked for: take 2 to 4 sub-tables, with \
         at least {capacity} and at most {max_slots} slots together"
    )]
    SubTables {
        /// The count of sub-tables.
        tables: u32,
        /// The count of slots of each sub-table.
        slots: u32,
        /// The most items of a bucket.
        capacity: u32,
        /// The most slots of a bucket.
        max_slots: u32,
    },

    /// The limits are too low for even one try to build a bucket.
    #[error("{seeds} seeds a bucket and {rounds} rounds a seed were asked for: take at least 1 of each")]
    Attempts {
        /// The count of seeds that a bucket may try.
        seeds: u32,
        /// The count of rounds that a bucket may take with each seed.
        rounds: u32,
    },

    /// The directory is one that an extendible map cannot have.
    #[error(
        "a directory of {segments} segments with {buckets} buckets of {records} records each, and at most {max_segments} segments, was asked \
         for: take at least one segment, and no more than the most; as many buckets as a power of two, 4 or more, and at most 2^31 in all segments; and \
         a multiple of 8 records, up to 256"
    )]
    Directory {
        /// The count of segments at the beginning.
        segments: u32,
        /// The count of buckets of each segment.
        buckets: u32,
        /// The count of records of each bucket.
        records: u32,
        /// The most segments that there may be.
        max_segments: u64,
    },

    /// The bit field is not in the key, or has too many bits.
    #[error(
        "{bits} bits from bit {shift} on were asked for: take a field of 1 to {max_bits} bits within the {key_bits} bits of a key"
    )]
    BitField {
        /// The lowest bit.
        shift: u32,
        /// The count of bits.
        bits: u32,
        /// The count of bits of a key.
        key_bits: u32,
        /// The most bits of a field.
        max_bits: u32,
    },

    /// No device has this name.
    #[error("no device is named {asked:?}: give best, cpu, cuda or cuda:N")]
    DeviceName {
        /// The name given.
        asked: String,
    },
}

impl ConfigError {
    /// Returns the name of the method, or of the argument, that sets what makes no sense.
    pub fn setting(&self) -> &'static str {
        match self {
            Self::Load { .. } | Self::OpenLoad { .. } => "load",
            Self::FunctionCount { .. } => "functions",
            Self::SlotsPerPair { .. } => "slots_per_pair",
            Self::ChainLimit => "chain_limit",
            Self::LoadTooHigh { .. } => "slots",
            Self::NotPrime { .. } | Self::PrimeBelowSlots { .. } => "hash",
            Self::Bucket { capacity, max_in_bucket, .. } if !(1..=*max_in_bucket).contains(capacity) => {
                "bucket_capacity"
            }
            Self::Bucket { .. } => "items_per_bucket",
            Self::SubTables { .. } => "sub_tables",
            Self::Attempts { .. } => "seeds",
            Self::Directory { buckets, .. } if !buckets.is_power_of_two() || *buckets < 4 => "buckets",
            Self::Directory { records, .. } if *records == 0 || *records > 256 || records % 8 != 0 => "records",
            Self::Directory { segments, max_segments, .. } if *max_segments < *segments as u64 => "max_segments",
            Self::Directory { .. } => "segments",
            Self::BitField { .. } => "field",
            Self::DeviceName { .. } => "device",
        }
    }
}
