//! Removing keys, which leave a tombstone, or an empty slot if no search needs a tombstone (Hu
//! 2015, §2.4).

use super::{Layout, Pages, Table, WordOf, counts};
use crate::seam::{Block, Global, Tile};
use crate::table::lookup::Lookup;
use crate::types::{KeyWord, Scalar, ValueWord};

/// The arguments of [`Remove`].
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct RemoveParams {
    /// The table's layout.
    pub layout: Layout,
    /// The count of keys.
    pub keys: u64,
}

kernel! {
    /// Removes key `i` by thread `i`. `values[i]` becomes the value that it had, or 0 if it was
    /// absent. Bit `i mod 32` of `found[i / 32]` tells whether it was present. Of equal keys one is
    /// reported as found, and in a warp only the last one is searched. `values` may be null. No
    /// thread may insert or look up during the launch.
    Remove<K: KeyWord, V: ValueWord>, "extendible_remove", threads 256;
    {
        keys: Global<K>, segments: Global<u64>, pages: Global<Pages<K, V>>, values: Global<V>, found: Global<u32>,
        counts: Global<u64>, plan: RemoveParams,
    }
}

impl<K: KeyWord, V: ValueWord> Remove<K, V> {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B) {
        let args = self;
        let RemoveParams { layout, keys } = args.plan;
        let table = Table::<K, V>::new(args.segments, args.pages, layout);
        let lookup = Lookup { queries: args.keys, count: keys, values: args.values, found: args.found };
        let block_first = block.first_thread();
        let mut removals = block.local(|thread| {
            let index = block_first + thread as u64;
            let mixed = (index < keys).then(|| args.keys.load_streaming(index).mixed(layout.a, layout.b));
            Removal { mixed, answer: None }
        });
        block.tiles_of(&mut removals, |tile, removals| {
            let mixed = |_, removal: &Removal<K, V>| removal.mixed.map(|mixed| (mixed, mixed.bits_from(0)));
            tile.twins(removals, mixed, |lane, removal, twin| removal.mixed = removal.mixed.filter(|_| twin == lane));
            tile.each(removals, |_, removal| {
                removal.answer = removal.mixed.and_then(|mixed| remove(&table, mixed));
            });
            lookup.write(tile, removals, block_first + tile.first_thread() as u64, |removal| removal.answer);
        });
        let removed = block.count(&mut removals, |_, removal| removal.answer.is_some());
        block.each(&mut removals, |thread, _| {
            if thread == 0 && removed != 0 {
                args.counts.atomic(counts::REMOVED).fetch_add(removed as u64);
            }
        });
    }
}

/// A key that is removed.
struct Removal<K, V> {
    /// The mixed key, or `None` if there is no key or another lane removes it.
    mixed: Option<K>,
    answer: Option<V>,
}

#[inline(always)]
fn remove<K: KeyWord, V: ValueWord>(table: &Table<K, V>, mixed: K) -> Option<V> {
    let hash_position = table.layout.hash_position(mixed);
    let number = table.bucket_at(hash_position);
    let value = table.bucket(number, hash_position).remove(WordOf::<K, V>::from_u64(mixed.to_u64()))?;
    table.header_at(number).atomic(1).fetch_add(0u64.wrapping_sub(1 << 32));
    Some(V::from_u64(value.to_u64()))
}
