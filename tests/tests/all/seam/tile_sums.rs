//! Sums over tiles, of the lanes before each lane and of all lanes, run like the kernels of
//! `seam/tiles.rs`.

use super::everywhere::global;
use super::tiles::makes;
use gpu_kernels::kernel;
use gpu_kernels::seam::{Block, Global, Tile, Word};
use gpu_kernels::types::KeyWord;

kernel! {
    /// Sums over tiles, which are three words a thread.
    Sums<K: KeyWord>, "test_sums", threads 64;
    { words: Global<K>, out: Global<K> }
}

impl<K: KeyWord> Sums<K> {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B) {
        let args = self;
        let block_first = block.first_thread();
        let mut held = block.local(|thread| [args.words.load(block_first + thread as u64); 3]);
        block.tiles_of(&mut held, |tile, held| {
            tile.exclusive_sum(
                held,
                |_, held| held[0],
                |_, held, before, total| {
                    (held[1], held[2]) = (before, total);
                },
            );
            // The lanes may add values that they read from `held`, and every other lane adds zero.
            tile.exclusive_sum(
                held,
                |lane, held| if lane % 2 == 0 { held[0] } else { K::default() },
                |lane, held, before, total| held[0] = if lane % 2 == 0 { before } else { total },
            );
        });
        block.each(&mut held, |thread, held| {
            for (i, &word) in (0..).zip(held.iter()) {
                args.out.store(3 * (block_first + thread as u64) + i, word);
            }
        });
    }
}

fn total<N: Word>(words: &[N]) -> N {
    words.iter().fold(N::default(), |sum, &word| sum.plus(word))
}

fn sums<K: KeyWord>() {
    // The sums of the first block wrap because its words are large; the sums of the second do not.
    let word = |i: u64| if i < 64 { i.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ u64::MAX << 63 } else { i * i };
    let mut words: Vec<K> = (0..128).map(|i| K::from_u64(word(i) & K::ALL_ONES.to_u64())).collect();
    let mut expected = Vec::new();
    for tile in words.chunks(32) {
        let even: Vec<K> = (0..32).map(|lane| if lane % 2 == 0 { tile[lane] } else { K::default() }).collect();
        for lane in 0..32 {
            let second = if lane % 2 == 0 { total(&even[..lane]) } else { total(&even) };
            expected.extend([second, total(&tile[..lane]), total(tile)]);
        }
    }
    let words = global(&mut words);
    makes(2, &[K::default(); 3 * 128], |out| Sums { words, out }, &expected);
}

#[test]
fn every_lane_is_told_the_sum_before_it_and_the_sum_of_all() {
    sums::<u32>();
    sums::<u64>();
}
