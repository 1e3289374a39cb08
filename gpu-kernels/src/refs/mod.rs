//! Tables as arguments of kernels: each is one argument, through which a thread looks keys up.
//!
//! The host makes a ref of a table for one launch (`Uses::table` in `warpnest`). A kernel takes it
//! by value, beside its other arguments, and asks it in any thread, in branches and loops. All keys
//! are found, also the one that has a cell beside the slots of some tables.
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
//! **Beside other threads.** No thread of the launch may change a table that it holds by a ref
//! other than [`LinearRefMut`]; the host sees to it that no other launch does meanwhile.
//!
//! Functions can be generic over the kind of table, by [`MapRef`] and [`SetRef`].

mod built;
mod layered;
mod linear;

pub use built::{CuckooRef, ExtendibleRef, PageRef, SortedRef, TwoLevelRef};
pub use layered::{CompactingRef, MultiRef, Values};
pub use linear::{LinearRef, LinearRefMut, LinearThread};

pub use crate::primitives::reduce::SumKind;
pub use crate::table::fold::{Fold, FoldKind};

use crate::types::{KeyWord, ValueWord};

/// A table of keys `K` that a thread asks.
pub trait SetRef<K: KeyWord>: Copy + Send + Sync {
    /// Returns whether the table has the key.
    fn contains(&self, key: K) -> bool;
}

/// A table of keys `K` and values `V` that a thread asks.
pub trait MapRef<K: KeyWord, V: ValueWord>: SetRef<K> {
    /// Returns the value of the key.
    fn get(&self, key: K) -> Option<V>;
}

/// The methods and traits of a ref, from its method `answer`.
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
        // The interpreter, and a driver that copies arguments, read all bytes of one.
        const _: () = assert!(size_of::<$name<u32, u32>>() == $name::<u32, u32>::BYTES);
        const _: () = assert!(size_of::<$name<u64, u64>>() == $name::<u64, u64>::BYTES);
    };
}
use asked;
