//! A kernel that counts words by the numbers that a `PageMap` has for them.
#![no_std]
#![cfg_attr(target_arch = "nvptx64", feature(abi_ptx, asm_experimental_arch))]

use gpu_kernels::refs::PageRef;
use gpu_kernels::seam::{Block, Global};

gpu_kernels::kernel! {
    /// Adds 1 to the count of each word that is in the map. One thread a word.
    CountWords<>, "count_words", threads 128;
    { words: Global<u64>, map: PageRef<u64, u32>, counts: Global<u32>, rows: u64 }
}

impl CountWords {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B) {
        let args = self;
        block.each_item(args.rows, |row| {
            if let Some(number) = args.map.get(args.words.load_streaming(row)) {
                args.counts.atomic(number as u64).fetch_add(1);
            }
        });
    }
}
