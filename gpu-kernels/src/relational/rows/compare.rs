//! Comparing pairs of rows of two tables.

use super::text::Texts;
use crate::relational::join::NO_ROW;
use crate::seam::{Block, Global, Tile};
use crate::types::Scalar;

/// The scalar arguments of a launch that compares a column of pairs of rows.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct CompareParams {
    /// The count of pairs.
    pub pairs: u64,
    /// The count of rows of the left table.
    pub left_rows: u64,
    /// The count of rows of the right table.
    pub right_rows: u64,
    /// 1 for the first column, or 0 for other columns, which only clear flags.
    pub is_first: u32,
    /// 1 if pairs with [`NO_ROW`] on a side are flagged, 0 if they are not.
    pub keeps_alone: u32,
}

/// The pairs of rows, and their flags.
#[derive(Clone, Copy)]
struct Pairs {
    left: Global<u32>,
    right: Global<u32>,
    keep: Global<u32>,
    header: Global<u64>,
    plan: CompareParams,
}

/// The state of a lane's pair.
struct Compared {
    /// Whether the pair was flagged after the earlier columns.
    was_flagged: bool,
    is_flagged: bool,
}

/// Compares pairs, with one thread per pair. `is_equal` is called for rows that exist.
#[inline(always)]
fn compare<B: Block>(block: &mut B, pairs: &Pairs, is_equal: impl Fn(u64, u64) -> bool + Sync) {
    let CompareParams { pairs: number, left_rows, right_rows, is_first, keeps_alone } = pairs.plan;
    let block_first = block.first_thread();
    block.tiles(|warp| {
        let first = block_first + warp.first_thread() as u64;
        let mut compared = warp.local(|lane| {
            let pair = first + lane as u64;
            let was_flagged = pair < number && (is_first != 0 || pairs.keep.load(first / 32) >> lane & 1 != 0);
            let is_flagged = was_flagged && {
                let (left, right) = (pairs.left.load_streaming(pair), pairs.right.load_streaming(pair));
                if (left as u64) < left_rows && (right as u64) < right_rows {
                    is_equal(left as u64, right as u64)
                } else {
                    keeps_alone != 0 && (left == NO_ROW || right == NO_ROW)
                }
            };
            Compared { was_flagged, is_flagged }
        });
        let before = warp.ballot(&compared, |_, pair| pair.was_flagged);
        let flagged = warp.ballot(&compared, |_, pair| pair.is_flagged);
        warp.each(&mut compared, |lane, _| {
            if lane == 0 && first < number {
                pairs.keep.store(first / 32, flagged);
                if before != flagged {
                    pairs.header.atomic(0).fetch_add((before & !flagged).count_ones() as u64);
                }
            }
        });
    });
}

kernel! {
    /// Flags pair `i`, in bit `i mod 32` of `keep[i / 32]`, if its rows have equal words in this
    /// column. After the first column the pair must have been flagged before. Bits after the last
    /// pair become 0. One thread compares a pair.
    ///
    /// A pair with a row that does not exist in its table is not flagged, unless the plan says
    /// otherwise. The count of pairs whose flag this column cleared or did not set is added to
    /// `header[0]`.
    CompareWords<W: Scalar>, "compare_words", threads 256;
    {
        left_words: Global<W>, right_words: Global<W>, left: Global<u32>, right: Global<u32>, keep: Global<u32>,
        header: Global<u64>, plan: CompareParams,
    }
}

impl<W: Scalar> CompareWords<W> {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B) {
        let args = self;
        let pairs = Pairs { left: args.left, right: args.right, keep: args.keep, header: args.header, plan: args.plan };
        compare(block, &pairs, |left, right| {
            args.left_words.load_read_only(left) == args.right_words.load_read_only(right)
        });
    }
}

kernel! {
    /// Flags pairs as [`CompareWords`] does, if their rows have equal texts.
    ///
    /// Each table has one offset more than rows. The offsets ascend, and are at most the count of
    /// bytes.
    CompareTexts<L: Scalar, R: Scalar>, "compare_texts", threads 256;
    {
        left_offsets: Global<L>, left_bytes: Global<u64>, right_offsets: Global<R>, right_bytes: Global<u64>,
        left: Global<u32>, right: Global<u32>, keep: Global<u32>, header: Global<u64>, plan: CompareParams,
    }
}

impl<L: Scalar, R: Scalar> CompareTexts<L, R> {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B) {
        let args = self;
        let left_texts = Texts { offsets: args.left_offsets, bytes: args.left_bytes };
        let right_texts = Texts { offsets: args.right_offsets, bytes: args.right_bytes };
        let pairs = Pairs { left: args.left, right: args.right, keep: args.keep, header: args.header, plan: args.plan };
        compare(block, &pairs, |left, right| {
            let (left, right) = (left_texts.text(left), right_texts.text(right));
            if left.length != right.length {
                return false;
            }
            let (mut left, mut right) = (left.words(), right.words());
            // At most as many steps as words of the text.
            while left.left != 0 {
                if left.next() != right.next() {
                    return false;
                }
            }
            true
        });
    }
}
