//! Tables as arguments of kernels: each table is one argument, in which a thread looks keys up.
//!
//! The host makes a ref of a table for one launch (`Uses::table` in `warpnest`). A kernel takes it
//! by value, beside its other arguments, and calls its methods in any thread, in branches and
//! loops. All keys are found, including the key that some tables keep in a cell beside the slots.
//!
//! | ref | table | answers |
//! |---|---|---|
//! | [`PageRef`] | page map, page set | `get`, `contains` |
//! | [`CuckooRef`] | cuckoo map, cuckoo set | `get`, `contains` |
//! | [`TwoLevelRef`] | two-level map | `get`, `contains` |
//! | [`SortedRef`] | sorted map | `get`, `contains`, `lower_bound`, `pair` |
//! | [`LinearRef`] | linear map | `get`, `contains` |
//! | [`ExtendibleRef`] | extendible map | `get`, `contains` |
//! | [`MultiRef`] | multimap | `values`, `count`, `contains` |
//! | [`CompactingRef`] | compacting table | `id`, `key`, `contains` |
//! | [`LinearRefMut`] | linear map, lent exclusively | `get`, `insert`, `remove` and others |
//!
//! **Changes, and concurrent work.** A kernel changes keys and values only by [`LinearRefMut`],
//! which describes what its threads see of each other's changes. All other refs only read: they
//! have no method that changes anything, and no thread of the launch may change the table in
//! another way. No other launch or batch changes a table while a kernel has its ref. Changes that
//! are queued earlier, on any stream, are done before the kernel begins, and later changes begin
//! when it is done. Lookups by the host, and other kernels that only read, may run concurrently. A
//! table that is lent exclusively is used by this kernel alone: lookups by the host come before or
//! after it, too.
//!
//! Functions can be generic over the kind of table, with the bounds [`MapRef`] and [`SetRef`].

mod built;
mod layered;
mod linear;

pub use built::{CuckooRef, ExtendibleRef, PageRef, SortedRef, TwoLevelRef};
pub use layered::{CompactingRef, MultiRef, Values};
pub use linear::{LinearRef, LinearRefMut, LinearThread};

pub use crate::primitives::reduce::SumKind;
pub use crate::table::fold::{Fold, FoldKind};

use crate::types::{KeyWord, ValueWord};

/// A table of keys `K` in which a thread looks keys up.
pub trait SetRef<K: KeyWord>: Copy + Send + Sync {
    /// Returns whether the table has the key.
    fn contains(&self, key: K) -> bool;
}

/// A table of keys `K` and values `V` in which a thread looks keys up.
pub trait MapRef<K: KeyWord, V: ValueWord>: SetRef<K> {
    /// Returns the value of the key.
    fn get(&self, key: K) -> Option<V>;
}

/// The methods and traits of a ref, implemented by its method `answer`.
macro_rules! asked {
    ($name:ident, $bound:ident) => {
        impl<K: KeyWord, V: $bound> $name<K, V> {
            /// Returns whether the table has the key.
            #[inline(always)]
            pub fn contains(&self, key: K) -> bool {
                self.answer(key).is_some()
            }
        }
        impl<K: KeyWord, V: ValueWord> $name<K, V> {
            /// Returns the value of the key.
            #[inline(always)]
            pub fn get(&self, key: K) -> Option<V> {
                self.answer(key)
            }
        }
        impl<K: KeyWord, V: $bound> SetRef<K> for $name<K, V> {
            #[inline(always)]
            fn contains(&self, key: K) -> bool {
                self.answer(key).is_some()
            }
        }
        impl<K: KeyWord, V: ValueWord> MapRef<K, V> for $name<K, V> {
            #[inline(always)]
            fn get(&self, key: K) -> Option<V> {
                self.answer(key)
            }
        }
        // The interpreter, and drivers that copy arguments, read all bytes of a ref, so it has no
        // padding.
        const _: () = assert!(size_of::<$name<u32, u32>>() == $name::<u32, u32>::BYTES);
        const _: () = assert!(size_of::<$name<u64, u64>>() == $name::<u64, u64>::BYTES);
    };
}
use asked;
