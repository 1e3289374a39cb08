//! The errors of builds and batches that did not succeed.

/// The error of a build that failed with every set of random constants that it tried.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// A page table could not be built with any of the constants that were tried.
    #[error(
        "a table of {pairs} pairs at load {load} could not be built in {attempts} attempts: take a lower load or more restarts, and assume \
         unique keys only if they are"
    )]
    Page {
        /// The count of pairs.
        pairs: u64,
        /// The requested load factor.
        load: f64,
        /// The count of attempts that failed.
        attempts: u32,
    },

    /// A cuckoo table could not be built with any of the constants that were tried.
    #[error(
        "{attempts} attempts to build a table of {pairs} pairs in {slots} slots with {functions} hash functions and at most \
         {chain_limit} exchanges a chain all failed: take more slots or functions, a higher chain limit, more restarts, or the default hash family"
    )]
    Cuckoo {
        /// The count of attempts.
        attempts: u32,
        /// The count of pairs.
        pairs: u64,
        /// The count of slots.
        slots: u64,
        /// The count of hash functions.
        functions: u32,
        /// The most exchanges of one eviction chain.
        chain_limit: u32,
    },

    /// A two-level table could not be built with any of the hash functions that were tried.
    #[error(
        "a table of {pairs} pairs in {buckets} buckets could not be built: {overflows} attempts gave a bucket more than {capacity} \
         items, and in {failures} a bucket found no seed: take fewer items per bucket, more slots, seeds, rounds or restarts, or \
         the default hash family; if keys are repeated, allow a restart at least and do not assume that they are unique"
    )]
    TwoLevel {
        /// The count of pairs.
        pairs: u64,
        /// The count of buckets.
        buckets: u64,
        /// The count of attempts in which a bucket overflowed.
        overflows: u32,
        /// The count of attempts in which a bucket could not be built.
        failures: u32,
        /// The most items of a bucket.
        capacity: u32,
    },

    /// More keys agree modulo the prime than there are hash functions, so no constants can place
    /// them in distinct slots.
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
        /// The count of hash functions.
        functions: u32,
    },
}

/// The error of a table that has no capacity left for new keys.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum FullError {
    /// A table that may not grow has no slots left for new keys. All other operations of the batch
    /// were done.
    #[error(
        "{refused} of {operations} operations found no slot for a new key: {taken} of {slots} slots are taken, and the load is limited to \
         {load}; the others were done; let the table grow, reserve more, or allow a higher load"
    )]
    NoSlots {
        /// The count of operations that were not done.
        refused: u64,
        /// The count of all operations of the batch.
        operations: u64,
        /// The count of slots that are taken.
        taken: u64,
        /// The count of all slots.
        slots: u64,
        /// The allowed load factor.
        load: f64,
    },

    /// A table that may not grow has no capacity for the new keys of a batch that combines values.
    /// Nothing was done.
    #[error(
        "{new_keys} keys of a batch are new, and the map has capacity for {spare_capacity} more in its {slots} slots at load {load}: nothing \
         was done; let the table grow, reserve more, or allow a higher load"
    )]
    NoCapacity {
        /// The count of keys of the batch that are not in the map.
        new_keys: u64,
        /// The count of new keys for which the map has capacity.
        spare_capacity: u64,
        /// The count of all slots.
        slots: u64,
        /// The allowed load factor.
        load: f64,
    },

    /// The hashes of too many keys of an extendible map have the same first bits. Nothing was done.
    #[error(
        "a batch of {pairs} new keys gives a bucket more than its {records} records: their hashes agree in the bucket's part of the range, and in \
         {depth} more bits, as deep as the directory may be; allow more segments (`max_segments`), take larger buckets (`records`), or another seed"
    )]
    TooDeep {
        /// The count of new keys of the batch.
        pairs: u64,
        /// The count of records that a bucket can hold.
        records: u32,
        /// The largest depth of the directory.
        depth: u32,
    },
}
