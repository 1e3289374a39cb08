//! The rows of a query on a device, and leaving rows out.

use super::sort::SortInput;
use super::wanted::Query;
use crate::primitives::{Scratch, binary_search, check_items, fill_absent, fill_all, select, selected};
use crate::relational::columns::{Column, KeyColumns, KeysOnDevice, OnDevice, WordsOf, WordsRef};
use crate::{Answers, Buffer, Key, Result, Stream};
use gpu_kernels::types::Scalar;

/// The columns of a query on a device.
pub(super) struct Columns<'q, K: Key> {
    keys: KeysOnDevice<'q, K::Word>,
    values: Vec<WordsOf<'q>>,
    /// The masks of filters: a bit for each row.
    pub masks: Vec<OnDevice<'q, u32>>,
    rows: u64,
}

impl<'q, K: Key> Columns<'q, K> {
    /// Returns the rows that a query takes. If it takes only some, waits for their count.
    pub(super) fn new(
        stream: &Stream,
        scratch: &mut Scratch,
        keys: &KeyColumns<'q, K>,
        query: &Query<'q>,
    ) -> Result<Self> {
        let device = scratch.device().clone();
        stream.check_device(&device)?;
        let rows = keys.rows()?;
        for column in &query.columns {
            crate::error::same_length(("the keys", rows), ("a column of values", column.rows))?;
        }
        for mask in query.masks.iter().chain(&query.only) {
            let words = ("the keys, in words of 32,", rows.div_ceil(32));
            crate::error::same_length(words, ("the words of a mask", mask.rows()))?;
        }
        let rows = check_items(rows)?;
        let keys = keys.on_device(&device)?;
        let values = query.columns.iter().map(|column| (column.lend)(&device)).collect::<Result<_>>()?;
        let on_device = |mask: &Column<'q, u32>| mask.elements_on(&device, "the buffer of a mask");
        let masks = query.masks.iter().map(on_device).collect::<Result<_>>()?;
        let columns = Self { keys, values, masks, rows };
        match &query.only {
            Some(only) if rows != 0 => {
                let keep = on_device(only)?;
                columns.only(stream, scratch, &keep)
            }
            _ => Ok(columns),
        }
    }

    pub(super) fn input(&self) -> SortInput<'_, 'q, K::Word> {
        let Self { keys, values, rows, .. } = self;
        SortInput { keys, values, rows: *rows, order: K::ORDER }
    }

    /// Returns only the rows whose bit is set, in memory of the scratch.
    fn only(self, stream: &Stream, scratch: &mut Scratch, keep: &Buffer<u32>) -> Result<Self> {
        let Self { keys, values, masks, rows } = self;
        let keys = match &keys {
            KeysOnDevice::One(keys) => KeysOnDevice::One(OnDevice::Own(chosen(stream, scratch, keys, keep)?)),
            KeysOnDevice::Two([first, second]) => {
                let [first, second] = [chosen(stream, scratch, first, keep)?, chosen(stream, scratch, second, keep)?];
                KeysOnDevice::Two([OnDevice::Own(first), OnDevice::Own(second)])
            }
        };
        let of_values = |words: &WordsOf<'_>| {
            Ok(match words.lent() {
                WordsRef::Narrow(words) => WordsOf::Narrow(OnDevice::Own(chosen(stream, scratch, words, keep)?)),
                WordsRef::Wide(words) => WordsOf::Wide(OnDevice::Own(chosen(stream, scratch, words, keep)?)),
            })
        };
        let values = values.iter().map(of_values).collect::<Result<_>>()?;
        let of_mask = |mask: &OnDevice<'_, u32>| {
            let bits = ones_and_zeros(stream, scratch, rows as usize, mask)?;
            let kept = chosen(stream, scratch, &bits, keep)?;
            scratch.give_back(bits);
            let bits = bits_where(stream, scratch, &kept, 1)?;
            scratch.give_back(kept);
            Ok(OnDevice::Own(bits))
        };
        let masks = masks.iter().map(of_mask).collect::<Result<_>>()?;
        let rows = keys.lent().len() as u64;
        Ok(Self { keys, values, masks, rows })
    }

    /// Gives the memory of the scratch back.
    pub(super) fn give_back(self, scratch: &mut Scratch) {
        let Self { keys, values, masks, .. } = self;
        match keys {
            KeysOnDevice::One(keys) => keys.give_back(scratch),
            KeysOnDevice::Two(halves) => halves.into_iter().for_each(|half| half.give_back(scratch)),
        }
        values.into_iter().for_each(|words| words.give_back(scratch));
        masks.into_iter().for_each(|mask| mask.give_back(scratch));
    }
}

/// Returns the words whose bit is set, in memory of the scratch; waits for their count.
pub(super) fn chosen<W: Scalar>(
    stream: &Stream,
    scratch: &mut Scratch,
    words: &Buffer<W>,
    keep: &Buffer<u32>,
) -> Result<Buffer<W>> {
    let mut chosen = scratch.lend::<W>(words.len())?;
    select(stream, scratch, words, keep, (&chosen, 0))?;
    chosen.set_length(selected(stream, scratch)? as usize);
    Ok(chosen)
}

/// Returns 1 for each row whose bit is set, and 0 for other rows, in memory of the scratch.
pub(super) fn ones_and_zeros(
    stream: &Stream,
    scratch: &mut Scratch,
    rows: usize,
    mask: &Buffer<u32>,
) -> Result<Buffer<u32>> {
    let mut words = scratch.lend::<u32>(rows)?;
    fill_all(stream, 1, &mut words)?;
    fill_absent(stream, mask, 0, &mut words)?;
    Ok(words)
}

/// Returns a bit for each word, which is set if the word has the given value, in memory of the
/// scratch.
pub(super) fn bits_where(
    stream: &Stream,
    scratch: &mut Scratch,
    words: &Buffer<u32>,
    value: u32,
) -> Result<Buffer<u32>> {
    // A lookup among this key alone finds these words.
    let mut key = scratch.lend::<u32>(1)?;
    fill_all(stream, value, &mut key)?;
    let (values, found) = (scratch.lend(words.len())?, scratch.lend(words.len().div_ceil(32))?);
    let mut answers = Answers { values, found, numbers: None };
    binary_search(stream, (&key, &key), words, &mut answers)?;
    scratch.give_back(key);
    scratch.give_back(answers.values);
    Ok(answers.found)
}
