//! Writing ascending indices.

use crate::seam::{Block, Global};

/// The scalar arguments of [`Iota`].
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct IotaParams {
    /// The count of items.
    pub items: u64,
    /// The value of the first item.
    pub first: u32,
    /// An unused field: 0.
    pub padding: u32,
}

kernel! {
    /// Sets `output[i]` to `first + i`. One thread writes an item.
    Iota<>, "iota", threads 256;
    { output: Global<u32>, plan: IotaParams }
}

impl Iota {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B) {
        let args = self;
        let first = block.first_thread();
        block.each_thread(|thread| {
            let number = first + thread as u64;
            if number < args.plan.items {
                args.output.store_streaming(number, args.plan.first.wrapping_add(number as u32));
            }
        });
    }
}
