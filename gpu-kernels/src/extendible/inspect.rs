//! Kernels over the whole table: writing out all pairs, the depths that bucket tables need, and
//! moving buckets to fewer pages.

use super::bucket::records_of_line;
use super::{HeaderTable, Layout, Pages, Table, WordOf, counts, span};
use crate::primitives::append::{WARPS, append_pairs};
use crate::seam::{Block, Global, Tile};
use crate::types::{KeyWord, Scalar, ValueWord};

/// The arguments of kernels over all buckets.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct InspectParams {
    /// The table's layout.
    pub layout: Layout,
    /// The end of the range of bucket indices in use.
    pub used: u64,
}

/// The arguments of [`Unpack`].
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct UnpackParams {
    /// The table's layout.
    pub layout: Layout,
    /// The end of the range of bucket indices in use.
    pub used: u64,
    /// The capacity of the output, in pairs.
    pub capacity: u64,
}

kernel! {
    /// Writes the pairs of all buckets to `keys_out` and `values_out`, up to their capacity.
    /// `count[0]`, 0 at first, becomes the count of pairs. The pairs are in the order in which
    /// blocks append. One thread writes the pair of a slot.
    Unpack<K: KeyWord, V: ValueWord>, "extendible_unpack", threads 256, shared sums: u32 = WARPS, shared start: u64 = 1;
    { pages: Global<Pages<K, V>>, keys_out: Global<K>, values_out: Global<V>, count: Global<u64>, plan: UnpackParams }
}

impl<K: KeyWord, V: ValueWord> Unpack<K, V> {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B, sums: B::Shared<u32>, start: B::Shared<u64>) {
        let args = self;
        let UnpackParams { layout, used, capacity } = args.plan;
        // SAFETY: all buckets are visited by index, so no segment is read through the null pointer.
        let table = Table::<K, V>::new(unsafe { Global::null() }, args.pages, layout);
        let slots = layout.lines as u64 * records_of_line::<WordOf<K, V>>() as u64;
        let output = (args.keys_out, args.values_out, capacity);
        append_pairs::<K, V, _>(block, (sums, start), args.count, output, |index| {
            let number = (index / slots) as u32;
            if number as u64 >= used {
                return None;
            }
            let header = table.header(number);
            if !header.state.is_live() {
                return None;
            }
            let (mixed, value) = table.bucket(number, header.first).record((index % slots) as u32)?;
            let key = K::from_u64(mixed.to_u64()).unmixed(layout.a, layout.b);
            Some((key, V::from_u64(value.to_u64())))
        });
    }
}

/// The arguments of [`Redirect`].
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct RedirectParams {
    /// The table's layout.
    pub layout: Layout,
    /// The count of bucket tables.
    pub tables: u64,
}

kernel! {
    /// Computes the depth that each bucket table needs, which is the depth of its deepest bucket.
    /// Writes it to `depths`, all 0 at first, at the lowest index of the table's segments. One
    /// thread processes a bucket.
    TableDepths<>, "extendible_table_depths", threads 256;
    { segments: Global<u64>, pages: Global<u64>, depths: Global<u32>, plan: InspectParams }
}

impl TableDepths {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B) {
        let args = self;
        let InspectParams { layout, used } = args.plan;
        let table = HeaderTable::new(args.segments, args.pages.cast(), layout);
        let first = block.first_thread();
        block.each_thread(|thread| {
            let number = first + thread as u64;
            if number >= used {
                return;
            }
            let header = table.header(number as u32);
            if !header.state.is_live() {
                return;
            }
            let (mut hash_position, depth) = (header.first, header.state.depth());
            // At most as many steps as segments.
            while hash_position < header.end() {
                let of_table = table.segment(layout.segment(hash_position, layout.depth)).depth();
                let deepest = args.depths.atomic(layout.segment(hash_position, of_table));
                if depth > deepest.load() {
                    deepest.fetch_max(depth);
                }
                hash_position += span(of_table);
            }
        });
    }
}

/// Returns the bucket table with index `table` of a list.
#[inline(always)]
fn entries(addresses: Global<u64>, table: u64) -> Global<u32> {
    // SAFETY: these are addresses of bucket tables, which the host lists with the launch.
    unsafe { Global::at_address(addresses.load_read_only(table)) }
}

kernel! {
    /// Copies all buckets to other pages without gaps. `forward[i]` becomes the new index of bucket
    /// `i`. The count `WRITTEN`, 0 at first, becomes the count of buckets. A tile copies a bucket.
    Repack<K: KeyWord, V: ValueWord>, "extendible_repack", threads 256;
    {
        pages: Global<Pages<K, V>>, pages_out: Global<Pages<K, V>>, forward: Global<u32>, counts: Global<u64>,
        plan: InspectParams,
    }
}

impl<K: KeyWord, V: ValueWord> Repack<K, V> {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B) {
        let args = self;
        let InspectParams { layout, used } = args.plan;
        // SAFETY: all buckets are visited by index, so no segment is read through the null
        // pointers.
        let (from, to) = unsafe {
            (
                Table::<K, V>::new(Global::null(), args.pages, layout),
                Table::<K, V>::new(Global::null(), args.pages_out, layout),
            )
        };
        let block_first = block.first_thread();
        block.tiles(|tile| {
            let number = (block_first + tile.first_thread() as u64) / 32;
            if number >= used {
                return;
            }
            let number = number as u32;
            let header = from.header(number);
            if !header.state.is_live() {
                return;
            }
            let mut new =
                tile.local(|lane| if lane == 0 { args.counts.atomic(counts::WRITTEN).fetch_add(1) as u32 } else { 0 });
            let new_number = tile.pick(&new, 0, |new| *new);
            let (old, copy) = (from.bucket(number, header.first), to.bucket(new_number, header.first));
            tile.each(&mut new, |lane, _| {
                if lane == 0 {
                    args.forward.store(number as u64, new_number);
                    to.set_header(new_number, header);
                }
                let mut line = lane;
                while line < layout.lines {
                    old.copy_line(line, &copy);
                    line += 32;
                }
            });
        });
    }
}

kernel! {
    /// Replaces the bucket indices in all bucket tables by the new ones. One thread replaces an
    /// entry.
    Redirect<>, "extendible_redirect", threads 256;
    { addresses: Global<u64>, forward: Global<u32>, plan: RedirectParams }
}

impl Redirect {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B) {
        let args = self;
        let RedirectParams { layout, tables } = args.plan;
        let first = block.first_thread();
        block.each_thread(|thread| {
            let index = first + thread as u64;
            let of_table = index >> layout.table_bits;
            if of_table < tables {
                let (table, entry) = (entries(args.addresses, of_table), layout.entry(index << 32));
                table.atomic(entry).store(args.forward.load_read_only(table.atomic(entry).load() as u64));
            }
        });
    }
}
