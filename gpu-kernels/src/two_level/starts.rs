//! Where each bucket's pairs begin, once they are in the order of their buckets.

use super::{Layout, header};
use crate::seam::Global;
use crate::types::Key;

/// What is to be found.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct StartsPlan {
    /// How the table hashes.
    pub layout: Layout,
    /// The number of pairs.
    pub pairs: u64,
    /// The most pairs of a bucket.
    pub capacity: u64,
}

kernel! {
    /// `starts[b]` becomes the place of the first pair of bucket `b` or of a later one; `starts` has a word more than there are
    /// buckets. Thread `i` compares key `i` with the one before; there is one thread more than there are keys. Raises
    /// [`header::OVERFLOW`] if a bucket has too many pairs: if the pairs at both ends of so many are of one bucket.
    BucketStarts<K: Key>, "two_level_starts", threads 256;
    { keys: Global<K>, starts: Global<u32>, header: Global<u64>, plan: StartsPlan }
    |args, block| {
        let StartsPlan { layout, pairs, capacity } = args.plan;
        let first = block.first_thread();
        let bucket_of = |index: u64| layout.bucket(args.keys.load_read_only(index));
        let mut nothing = block.local(|_| ());
        block.each(&mut nothing, |thread, _| {
            let index = first + thread as u64;
            if index > pairs {
                return;
            }
            let bucket = if index == pairs { layout.buckets.slots() } else { bucket_of(index) };
            let mut next = if index == 0 { 0 } else { bucket_of(index - 1) + 1 };
            while next <= bucket {
                args.starts.store(next as u64, index as u32);
                next += 1;
            }
            if index < pairs && index >= capacity && bucket_of(index - capacity) == bucket {
                args.header.atomic(header::OVERFLOW).store(1);
            }
        });
    }
}
