//! The sample that decides how rows are grouped, and its hot keys.

use super::outputs::{Shape, SlotPlaces};
use crate::hash::constants;
use crate::primitives::{Scratch, check_items};
use crate::relational::columns::RowKeys;
use crate::runtime::machine::PerMachine;
use crate::{Buffer, Result, Stream};
use gpu_kernels::columns::LIST_WORDS;
use gpu_kernels::page::position;
use gpu_kernels::relational::group_by::hot_build::{CELLS, Choice};
use gpu_kernels::relational::group_by::hot_table::{HotShare, HotSizes, HotTable};
use gpu_kernels::relational::group_by::sample::{CLASSES, header};
use gpu_kernels::relational::group_by::{SampleKeys, SampleKeysParams, SelectHot, SelectHotParams};
use gpu_kernels::types::KeyWord;
use std::marker::PhantomData;

/// The base-2 logarithm of the count of draws from a large input, and the lowest such logarithm,
/// unless the input itself is smaller.
const SAMPLE_BITS: u32 = 17;
const LEAST_SAMPLE_BITS: u32 = 8;
/// The base-2 logarithm of the ratio between an input of medium size and its sample. It is larger
/// on a CPU, where a draw takes ten times as long as adding a row.
const SHARE_BITS: PerMachine<u32> = PerMachine { gpu: 4, core: 6 };

/// The findings of a sample of the rows. The scratch contains the list of hot keys, and memory for
/// their table and aggregates; it is borrowed until the hot pass is complete.
#[derive(Debug)]
pub(crate) struct Sampled<'s, K> {
    pub(super) scratch: &'s mut Scratch,
    pub(super) layout: Layout,
    /// The parameters of the table of hot keys, which is not built yet.
    pub(super) table: HotTable,
    /// Whether the table takes all shared memory of a multiprocessor.
    pub(super) is_large: bool,
    /// The count of all rows.
    pub all_rows: u64,
    /// The count of rows that were drawn, which is 2^16 to 2^17 for a large input.
    pub rows: u64,
    /// The count of distinct keys of the drawn rows.
    pub distinct: u64,
    /// The count of hot keys, which are the most frequent keys that fit on chip.
    pub hot: u64,
    /// The count of drawn rows whose key is hot.
    pub covered: u64,
    /// The lowest class, or count of draws, whose keys are all hot.
    pub least_hot: u32,
    /// The estimated share of all rows whose key is not hot, after (Good, 1953, §2). The keys that
    /// were drawn `r` times have about the share of all rows that the keys drawn `r + 1` times have
    /// in the sample.
    pub missed_share: f64,
    /// The count of keys that were drawn once, twice, and so on. The last element counts all keys
    /// that were drawn at least that many times.
    pub classes: [u32; CLASSES as usize - 1],
    keys: PhantomData<K>,
}

impl<K> Sampled<'_, K> {
    /// Returns an estimate of the count of groups, from the counts of keys that were drawn once and
    /// twice (Chao, 1984). It is at most the count of rows, and is low if the frequencies of keys
    /// differ much.
    pub(crate) fn groups(&self) -> u64 {
        let [once, twice] = [self.classes[0], self.classes[1]].map(f64::from);
        let unseen = if twice > 0.0 { once * once / (2.0 * twice) } else { once * (once - 1.0).max(0.0) / 2.0 };
        (self.distinct as f64 + unseen).min(self.all_rows as f64) as u64
    }
}

impl<K> Sampled<'_, K> {
    /// Returns the likely maximum of the count of rows of a key that is not hot.
    pub(crate) fn heaviest_missed(&self) -> u64 {
        let drawn = self.least_hot.saturating_sub(1) as f64;
        // The term is three standard deviations of a Poisson distribution, plus a margin for few
        // draws.
        let drawn = drawn + 3.0 * drawn.sqrt() + 3.0;
        (drawn * self.all_rows as f64 / self.rows.max(1) as f64) as u64
    }

    /// Returns an estimate of the count of groups if the frequencies of keys follow a power law, as
    /// the frequencies of words do. Then the count of distinct keys grows by a power of the count
    /// of rows, whose exponent is the share of keys that were drawn once (Karlin, 1967). For other
    /// frequencies the estimate is high.
    pub(crate) fn groups_of_power_law(&self) -> u64 {
        let exponent = self.classes[0] as f64 / self.distinct.max(1) as f64;
        let growth = (self.all_rows as f64 / self.rows.max(1) as f64).max(1.0).powf(exponent);
        (self.distinct as f64 * growth).min(self.all_rows as f64) as u64
    }
}

/// The layout of the scratch, in 64-bit words. The words before `list` are 0 at first.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    pub classes: u64,
    pub aggregates: SlotPlaces,
    pub cells: u64,
    pub times: u64,
    pub list: u64,
    /// How often each key of the list was drawn.
    pub draws: u64,
    pub table: u64,
    /// The copies of each slot, if slots are placed.
    pub places: u64,
    /// The list of columns.
    pub columns: u64,
    pub words: u64,
}

impl Layout {
    fn new(sample_bits: u32, max_slots: u32, shape: &Shape) -> Self {
        // Every array begins at an even word, so it is aligned to 16 bytes.
        let (slots, cells) = (max_slots.next_multiple_of(4) as u64, (1u64 << sample_bits).max(2));
        let classes = header::WORDS as u64;
        let aggregates = SlotPlaces::new(classes + CLASSES as u64 / 2, slots, shape);
        let cells_at = aggregates.end;
        let times = cells_at + cells;
        let list = times + cells;
        let draws = list + slots;
        let table = draws + slots / 2;
        let places = table + slots;
        let columns = places + slots / 2;
        let words = columns + LIST_WORDS;
        Self { classes, aggregates, cells: cells_at, times, list, draws, table, places, columns, words }
    }
}

/// The count of small blocks that a multiprocessor runs at a time, and the count of words that each
/// block needs besides its table.
pub(super) const SMALL_BLOCKS: u32 = 3;
const WORDS_BESIDE: u32 = 128;

/// The binary logarithm of the most parts of a table on a GPU, for rows in general and for rows of
/// more than [`WIDE_ROW`] words of 32 bits. Each part reads the keys of all rows again. Splitting
/// the rows instead takes longer the wider they are.
const MOST_PART_BITS: u32 = 1;
const MOST_PART_BITS_OF_WIDE: u32 = 2;
const WIDE_ROW: u32 = 4;
/// The most words of a group's aggregates of integers in a table with parts. Rows of other parts
/// are added, too, to spare aggregates.
const FEW_WORDS: u32 = 4;

/// Returns the sizes of the tables of hot keys on the device of `stream`.
fn sizes(stream: &Stream, key_words: u32, shape: &Shape) -> HotSizes {
    let (machine, large) = (stream.machine(), stream.machine().block_words());
    let places = shape.adds_floats && !machine.runs_in_order();
    // A CPU runs one block on each core.
    let small = machine.pick(PerMachine { gpu: large / SMALL_BLOCKS - WORDS_BESIDE, core: large });
    let share = machine.pick(PerMachine { gpu: HotShare::OF_LANES, core: HotShare::OF_A_CORE });
    let row_words = key_words + shape.columns.iter().map(|part| part.bits / 32).sum::<u32>();
    let most_part_bits = match shape.adds_floats || shape.words() <= FEW_WORDS {
        _ if machine.runs_in_order() => 0,
        false => 0,
        true if row_words > WIDE_ROW => MOST_PART_BITS_OF_WIDE,
        true => MOST_PART_BITS,
    };
    HotSizes { key_words, group_words: shape.words(), small, large, share, places, most_part_bits }
}

/// Returns the scalar arguments of the draws from `rows` rows; there is at least one row.
fn draws(stream: &Stream, rows: u64, seed: u64) -> SampleKeysParams {
    let [a, b] = constants(seed);
    let share_bits = stream.machine().pick(SHARE_BITS);
    let position_bits = u64::BITS - rows.saturating_sub(1).leading_zeros();
    let sample_bits = position_bits.saturating_sub(share_bits).clamp(LEAST_SAMPLE_BITS, SAMPLE_BITS).min(position_bits);
    SampleKeysParams { a, b, rows, position_bits, sample_bits }
}

/// Returns the indices of the rows, out of `rows`, that a group-by on `stream` draws with `seed`.
/// Tests and benchmarks use it to choose keys that defeat the sample.
pub fn sampled_rows(stream: &Stream, rows: u64, seed: u64) -> impl Iterator<Item = u64> {
    let SampleKeysParams { a, position_bits, sample_bits, .. } = draws(stream, rows, seed);
    (0..1 << sample_bits).map(move |draw| position(draw, a, position_bits)).filter(move |&row| row < rows)
}

/// If there are more distinct keys than this share of the rows, it is not worth merging the rows of
/// each key before they are inserted into a table in memory.
const MOSTLY_DISTINCT: f64 = 0.7;

/// Returns whether, according to a sample, nearly every row has a key of its own, and no key has
/// many rows; waits for the sample.
///
/// # Errors
/// As for [`sample`].
pub(crate) fn are_mostly_distinct<K: KeyWord>(
    stream: &Stream,
    scratch: &mut Scratch,
    keys: &Buffer<K>,
    seed: u64,
) -> Result<bool> {
    let sampled = sample(stream, scratch, RowKeys::One(keys), &Shape::default(), seed)?;
    let drawn_often: u32 = sampled.classes[2..].iter().sum();
    Ok(drawn_often == 0 && sampled.groups() as f64 > MOSTLY_DISTINCT * sampled.all_rows as f64)
}

/// Draws some rows at random positions, counts how often each key was drawn, and lists the most
/// frequent keys; waits for the result. The positions are random, so the order of the rows has no
/// effect. `seed` determines the draws, and the table of the hot keys.
///
/// As many keys are hot as fit on chip with the wanted aggregates.
///
/// # Errors
/// [`InputError::TooManyItems`](crate::InputError::TooManyItems),
/// [`Error::OutOfMemory`](crate::Error::OutOfMemory),
/// [`Error::WrongDevice`](crate::Error::WrongDevice), [`Error::Driver`](crate::Error::Driver).
pub(in crate::relational) fn sample<'s, K: KeyWord>(
    stream: &Stream,
    scratch: &'s mut Scratch,
    keys: RowKeys<'_, K>,
    shape: &Shape,
    seed: u64,
) -> Result<Sampled<'s, K>> {
    let rows = check_items(keys.len())?;
    let of_sample = draws(stream, rows, seed);
    let SampleKeysParams { b, sample_bits, .. } = of_sample;
    let sizes = sizes(stream, K::BITS / 32, shape);
    let capacity = sizes.capacity();
    let mut layout = Layout::new(sample_bits, sizes.max_slots(), shape);
    let words = scratch.reserve(layout.words)?;
    if rows != 0 {
        stream.batch(|batch| {
            batch.zero(words, layout.list as usize)?;
            let ((keys, upper), header) = (keys.read(batch), batch.write(words));
            let [classes, cells, counts] =
                [layout.classes, layout.cells, layout.times].map(|at| header.offset(at).cast::<u32>());
            let list = header.offset(layout.list).cast::<K>();
            let draws = header.offset(layout.draws).cast();
            let draw = SampleKeys { keys, upper, cells, counts, classes, header, plan: of_sample };
            let plan = SelectHotParams { sample: of_sample, capacity };
            let select = SelectHot { keys, upper, cells, counts, classes, list, draws, header, plan };
            // SAFETY: the scratch has the layout's words, of which the words before the list are 0.
            // It has cells for twice as many draws, and a list for as many keys as fit on chip.
            unsafe {
                batch.launch(&draw, 1 << sample_bits)?;
                batch.launch(&select, (2u64 << sample_bits).div_ceil(CELLS as u64))
            }
        })?;
    } else {
        stream.batch(|batch| batch.zero(words, layout.list as usize))?;
    }
    let found = words.download_front(stream, (layout.classes + CLASSES as u64 / 2) as usize)?;
    let class = |class: u64| (found[(layout.classes + class / 2) as usize] >> (class % 2 * 32)) as u32;
    let drawn = found[header::DRAWN as usize];
    let (choice, capacity) = Choice::within(capacity, |of| class(of as u64));
    let hot = (found[header::FREQUENT as usize] + found[header::CANDIDATES as usize]).min(capacity as u64);
    let classes = std::array::from_fn(|times| class(times as u64 + 1));
    let not_hot: u64 = (1..choice.least as u64).map(|times| times * class(times) as u64).sum();
    let candidates = hot - (choice.frequent as u64).min(hot);
    // The count of rows of keys that were drawn `t` times is estimated from the draws of keys that
    // were drawn `t + 1` times. For keys drawn less often than the candidates, these are the
    // classes up to the candidates' class; for the candidates, the next higher class.
    let [of_candidates, above] = [choice.least - 1, choice.least].map(|times| match times {
        1..CLASSES => class(times as u64) as f64,
        _ => 0.0,
    });
    let not_taken = if of_candidates > 0.0 { 1.0 - candidates as f64 / of_candidates } else { 1.0 };
    let missed_rows = not_hot as f64 + not_taken * choice.least as f64 * above;
    layout.words = words.len() as u64;
    // Copies are for the most frequent keys. If there are none, the lookup of copies takes longer.
    let sizes = HotSizes { places: sizes.places && classes[CLASSES as usize - 2] != 0, ..sizes };
    Ok(Sampled {
        layout,
        table: sizes.table(b, hot as u32),
        is_large: sizes.is_large(hot as u32),
        all_rows: rows,
        rows: drawn,
        distinct: classes.iter().map(|&keys| keys as u64).sum(),
        hot,
        covered: (drawn + candidates * (choice.least as u64 - 1)).saturating_sub(not_hot),
        least_hot: choice.least,
        missed_share: (missed_rows / drawn.max(1) as f64).min(1.0),
        classes,
        scratch,
        keys: PhantomData,
    })
}
