//! The errors of invalid settings.

/// The error of a setting that is invalid, alone or for the size of the input. Its text says which
/// values are allowed.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// No table can have the load factor, or it is so low that a large table would take more than
    /// 1024 times the bytes of its pairs.
    #[error("a load of {load} was asked for: give one of at least 1/1024 and at most 1")]
    Load {
        /// The requested load factor.
        load: f64,
    },

    /// No table whose searches end at an empty slot can have the load factor. Or it is so low that
    /// the table would take more than 1024 times the bytes of its pairs.
    #[error("a load of {load} was asked for: give one of at least 1/1024 and below 1")]
    OpenLoad {
        /// The requested load factor.
        load: f64,
    },

    /// The table does not support the count of hash functions.
    #[error("{asked} hash functions were asked for: choose 2 to 5")]
    FunctionCount {
        /// The requested count of functions.
        asked: u32,
    },

    /// The count of slots per pair is below 1, or above 1024.
    #[error("{asked} slots a pair were asked for: give a number of at least 1 and at most 1024")]
    SlotsPerPair {
        /// The requested count of slots per pair.
        asked: f64,
    },

    /// The chain limit is 0, with which no pair can be stored.
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
        /// The fewest slots with which builds succeed in practice (Alcantara 2011, §4.3.1.1).
        min_slots: u64,
    },

    /// The modulus of the hash family is not a prime number.
    #[error("{modulus} is not a prime number: the linear and XOR hash families need one, for example 4294967291")]
    NotPrime {
        /// The modulus.
        modulus: u32,
    },

    /// The hash functions of the family cannot reach all slots.
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

    /// A two-level map cannot have buckets of this size.
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

    /// A two-level map cannot have this count or this size of sub-tables.
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

    /// The limits do not allow even one attempt to build a bucket.
    #[error("{seeds} seeds a bucket and {rounds} rounds a seed were asked for: take at least 1 of each")]
    Attempts {
        /// The count of seeds that a bucket may try.
        seeds: u32,
        /// The count of rounds that a bucket may take with each seed.
        rounds: u32,
    },

    /// An extendible map cannot have this directory.
    #[error(
        "a directory of {segments} segments with {buckets} buckets of {records} records each, and at most {max_segments} segments, was asked \
         for: take at least one segment, and no more than the most; as many buckets as a power of two, 4 or more, and at most 2^31 in all segments; and \
         a multiple of 8 records, up to 256"
    )]
    Directory {
        /// The initial count of segments.
        segments: u32,
        /// The count of buckets of each segment.
        buckets: u32,
        /// The count of records of each bucket.
        records: u32,
        /// The largest count of segments.
        max_segments: u64,
    },

    /// The bit field is not within the key, or has too many bits.
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
        /// The given name.
        asked: String,
    },
}

impl ConfigError {
    /// Returns the name of the method or argument that sets the invalid value.
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
