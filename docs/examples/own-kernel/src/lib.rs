//! A kernel that adds up the weights of words by the ids that a `PageMap` has for them.
#![no_std]
#![cfg_attr(target_arch = "nvptx64", feature(abi_ptx, asm_experimental_arch))]

use gpu_kernels::refs::PageRef;
use gpu_kernels::seam::{Block, Global};

gpu_kernels::kernel! {
    /// Adds each word's weight to the total of its id, if it is in the map. One thread a word.
    AddWeights<>, "add_weights", threads 128;
    { words: Global<u64>, weights: Global<f32>, map: PageRef<u64, u32>, totals: Global<f32>, rows: u64 }
}

impl AddWeights {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B) {
        let args = self;
        block.each_item(args.rows, |row| {
            if let Some(id) = args.map.get(args.words.load_streaming(row)) {
                args.totals.atomic(id as u64).fetch_add(args.weights.load_streaming(row));
            }
        });
    }
}
