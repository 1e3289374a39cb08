//! A kernel that counts words by the numbers that a `PageMap` has for them.
#![no_std]
#![cfg_attr(target_arch = "nvptx64", feature(abi_ptx, asm_experimental_arch))]

use gpu_kernels::page::{Layout, Table};
use gpu_kernels::seam::{Block, Global};

gpu_kernels::kernel! {
    /// Adds 1 to the count of each word that is in the map. One thread a word.
    CountWords<>, "count_words", threads 128;
    { words: Global<u64>, buckets: Global<u64>, counts: Global<u32>, layout: Layout, rows: u64 }
}

impl CountWords {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B) {
        let map = Table::<u64, u32>::new(self.buckets.cast(), self.layout);
        block.each_item(self.rows, |row| {
            if let Some(number) = map.get(self.words.load_streaming(row)) {
                self.counts.atomic(number as u64).fetch_add(1);
            }
        });
    }
}
