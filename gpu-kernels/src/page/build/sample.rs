//! A sample of the keys of a build, which tells whether many of them are repeated.

use crate::page::form::header;
use crate::seam::{Block, Global};
use crate::types::KeyWord;

/// The most cells with which a sampled key is compared.
const TRIES: u32 = 16;

/// The scalar arguments of [`Sample`].
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct SampleParams {
    /// The first constant of the mix.
    pub a: u64,
    /// The second constant of the mix.
    pub b: u64,
    /// The count of keys of the input.
    pub keys: u64,
    /// The count of bits of a position in the input, which has at most 2^`position_bits` keys.
    pub position_bits: u32,
    /// The count of bits of a cell's index: there are 2^`cell_bits` cells.
    pub cell_bits: u32,
}

kernel! {
    /// Draws one key per thread, at positions that are all different. Adds the count of keys that
    /// were already drawn before to the header's [`header::SAMPLED`].
    ///
    /// There are at most 2^`position_bits` threads. A thread whose position is beyond the input
    /// draws no key; this is so for less than half of all positions. All `cells` are 0 at first.
    ///
    /// A key is identified by 32 bits of its mixed key and, roughly, by the cell, so occasionally
    /// two different keys are taken for one. A key that meets only other keys in all of its tries
    /// is not counted.
    Sample<K: KeyWord>, "page_sample", threads 256;
    { keys: Global<K>, cells: Global<u32>, header: Global<u64>, plan: SampleParams }
}

impl<K: KeyWord> Sample<K> {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B) {
        let args = self;
        let SampleParams { a, b, keys, position_bits, cell_bits } = args.plan;
        let first = block.first_thread();
        let mut nothing = block.local(|_| ());
        let repeated = block.count(&mut nothing, |thread, _| {
            let number = first + thread as u64;
            let position = position(number, a, position_bits);
            if number >> position_bits != 0 || position >= keys {
                return false;
            }
            let mixed = args.keys.load_read_only(position).mixed(a, b);
            let (mut cell, told_by) = (mixed.scaled(1 << cell_bits), mixed.bits_from(0).max(1));
            for _ in 0..TRIES {
                let at = args.cells.atomic(cell as u64);
                // Most copies of a frequent key need no exchange, and exchanges of one word are
                // slow.
                let mut held = at.load();
                if held == 0 {
                    held = at.compare_exchange(0, told_by);
                }
                if held == 0 || held == told_by {
                    return held != 0;
                }
                cell = (cell + 1) & ((1 << cell_bits) - 1);
            }
            false
        });
        block.each(&mut nothing, |thread, _| {
            if thread == 0 && repeated != 0 {
                args.header.atomic(header::SAMPLED).fetch_add(repeated as u64);
            }
        });
    }
}

/// Returns the image of a number below 2^`bits` under a permutation, which depends on `a`.
/// Positions must look random, since copies of a key may be adjacent or at equal distances in the
/// input.
#[inline(always)]
pub fn position(number: u64, a: u64, bits: u32) -> u64 {
    let (mask, half) = ((1 << bits) - 1, (bits / 2).max(1));
    let mut position = number.wrapping_mul(a | 1) & mask;
    position ^= position >> half;
    position = position.wrapping_mul(0x9e37_79b9_7f4a_7c15) & mask;
    position ^= position >> half;
    position.wrapping_mul(0xbf58_476d_1ce4_e5b9) & mask
}
