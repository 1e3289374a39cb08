//! Looking up many keys while nobody changes the table.

use super::slot::{BESIDE, BUCKET, EMPTY, removed, value_of};
use super::{Layout, header};
use crate::lookup::Lookup;
use crate::seam::{Global, Tile};

/// What a lookup is to do.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct FindPlan {
    /// The table's layout.
    pub layout: Layout,
    /// The number of queries.
    pub queries: u64,
}

kernel! {
    /// Answers query `i` by thread `i`: `values[i]` is the value or 0, and bit `i mod 32` of `found[i / 32]` says which. `values`
    /// may be null. No thread may change the table meanwhile.
    Find<>, "linear_find", threads 256;
    {
        queries: Global<u32>, words: Global<u64>, header: Global<u64>, values: Global<u32>, found: Global<u32>,
        plan: FindPlan,
    }
    |args, block| {
        let FindPlan { layout, queries: count } = args.plan;
        let lookup = Lookup { queries: args.queries, count, values: args.values, found: args.found };
        let block_first = block.first_thread();
        block.tiles::<32>(|tile| {
            let first = block_first + tile.first_thread() as u64;
            let mut queries = tile.local(|lane| {
                let index = first + lane as u64;
                let key = if index < count { args.queries.load_streaming(index) } else { BESIDE };
                args.words.prefetch(layout.probe(key).bucket as u64 * BUCKET as u64);
                (key, None)
            });
            tile.each(&mut queries, |lane, (key, answer)| {
                if first + (lane as u64) < count {
                    *answer = if *key == BESIDE {
                        let cell = args.header.load_read_only(header::CELL);
                        (cell != 0).then_some(cell as u32)
                    } else {
                        get(args.words, &layout, *key)
                    };
                }
            });
            lookup.write(tile, &mut queries, first, |(_, answer)| *answer);
        });
    }
}

/// The value of a key that is not K: the same search as [`slot::get`](super::slot::get), but a word is read once, and by loads that may
/// be cached.
#[inline(always)]
fn get(words: Global<u64>, layout: &Layout, key: u32) -> Option<u32> {
    let (mut probe, mut left) = (layout.probe(key), layout.buckets());
    while left != 0 {
        let bucket = probe.bucket as u64 * BUCKET as u64;
        let (mut answer, mut ends) = (None, false);
        for pair in 0..BUCKET as u64 / 2 {
            let words = words.load_pair_read_only(bucket + 2 * pair);
            for half in 0..2 {
                if words[half] >> 32 == key as u64 {
                    answer = value_of(words[half]);
                }
                ends |= words[half] == EMPTY || words[half] == removed(key);
            }
        }
        if answer.is_some() || ends {
            return answer;
        }
        layout.advance(&mut probe);
        left -= 1;
    }
    None
}
