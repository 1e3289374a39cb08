//! A word of 32 bits for each row, which stands for the row's group.

use crate::primitives::{Scratch, binary_search, gather, iota, sort_keys, sort_pairs};
use crate::relational::columns::{IntoColumn, KeysOnDevice, OnDevice, Words, WordsOf, WordsRef};
use crate::relational::group_by::compute::{How, grouped};
use crate::relational::group_by::input::chosen;
use crate::relational::group_by::memory::{Grouped, Memory};
use crate::relational::group_by::sort::SortInput;
use crate::relational::group_by::wanted::{Order, Query, Wanted};
use crate::types::KeyOrder;
use crate::{Answers, Buffer, Result, Stream};
use gpu_kernels::column_values::ColumnParams;
use gpu_kernels::primitives::reduce::SumKind;
use gpu_kernels::types::{KeyWord, ValueWord};

/// The order of the groups' codes, and the ids of rows, in memory of the scratch.
pub(super) struct Codes {
    /// The index in the result of each group, in ascending order of the codes.
    pub order: Buffer<u32>,
    /// The rank of each row's group in that order. Without ids, the keys are the codes.
    pub ids: Option<Buffer<u32>>,
}

/// Rows whose groups have codes.
pub(super) struct Rows<'r> {
    pub stream: &'r Stream,
    pub how: How,
    /// The code of each row.
    pub codes: &'r Buffer<u32>,
    /// The count of groups, which is the count of distinct codes.
    pub groups: usize,
}

impl Codes {
    /// Returns the codes of rows with the given keys, each of which is the key of a group. Keys of
    /// 64 bits always get ids.
    pub(super) fn new<K: KeyWord + ValueWord>(
        stream: &Stream,
        scratch: &mut Scratch,
        keys: &Buffer<K>,
        groups: &Buffer<K>,
        needs_ids: bool,
    ) -> Result<Self> {
        let (mut sorted, mut order) = (scratch.lend::<K>(groups.len())?, scratch.lend::<u32>(groups.len())?);
        sorted.copy_from(stream, groups)?;
        iota(stream, &mut order)?;
        sort_pairs(stream, scratch, &mut sorted, &mut order)?;
        let has_ids = needs_ids || K::BITS == 64;
        let ids = has_ids.then(|| ranks_of(stream, scratch, &sorted, keys)).transpose()?;
        scratch.give_back(sorted);
        Ok(Self { order, ids })
    }

    /// Returns the codes of rows with the given keys.
    pub(super) fn words<'r, K: KeyWord>(&'r self, keys: &'r Buffer<K>) -> &'r Buffer<u32> {
        match &self.ids {
            Some(ids) => ids,
            // SAFETY: without ids, keys have 32 bits, so each word is cast to itself.
            None => unsafe { keys.as_type() },
        }
    }

    /// Returns the codes of the rows whose bit in the mask is set, and of the groups that have such
    /// rows; `None` if there are none.
    pub(super) fn masked(&self, rows: &Rows<'_>, scratch: &mut Scratch, mask: &Buffer<u32>) -> Result<Option<Self>> {
        let stream = rows.stream;
        let codes = chosen(stream, scratch, rows.codes, mask)?;
        if codes.is_empty() {
            scratch.give_back(codes);
            return Ok(None);
        }
        let mut sorted = rows.distinct::<u32>(scratch, &KeysOnDevice::One(OnDevice::Buffer(&codes)))?;
        sort_keys(stream, scratch, &mut sorted)?;
        let mut order = scratch.lend::<u32>(sorted.len())?;
        gather(stream, &self.order, &sorted, &mut order)?;
        let ids = ranks_of(stream, scratch, &sorted, &codes)?;
        scratch.give_back(sorted);
        scratch.give_back(codes);
        Ok(Some(Self { order, ids: Some(ids) }))
    }

    pub(super) fn give_back(self, scratch: &mut Scratch) {
        scratch.give_back(self.order);
        self.ids.into_iter().for_each(|ids| scratch.give_back(ids));
    }
}

/// Returns the index of each word among sorted, different words, in memory of the scratch. All
/// words are there.
pub(super) fn ranks_of<K: KeyWord + ValueWord>(
    stream: &Stream,
    scratch: &mut Scratch,
    sorted: &Buffer<K>,
    words: &Buffer<K>,
) -> Result<Buffer<u32>> {
    let mut ranks = scratch.lend::<u32>(sorted.len())?;
    iota(stream, &mut ranks)?;
    let (values, found) = (scratch.lend(words.len())?, scratch.lend(words.len().div_ceil(32))?);
    let mut answers = Answers { values, found, numbers: None };
    binary_search(stream, (sorted, &ranks), words, &mut answers)?;
    scratch.give_back(answers.found);
    scratch.give_back(ranks);
    Ok(answers.values)
}

impl Rows<'_> {
    /// Returns aggregates of values for each code, in ascending order of the codes.
    pub(super) fn aggregates<const N: usize>(
        &self,
        scratch: &mut Scratch,
        codes: &Buffer<u32>,
        values: Option<(WordsRef<'_>, (ColumnParams, SumKind))>,
        wanted: [Wanted; N],
    ) -> Result<[Words; N]> {
        let mut query = Query::new();
        query.order = Order::ByKey;
        query.wanted.extend(wanted);
        if let Some((words, numbers)) = values {
            match words {
                WordsRef::Narrow(words) => query.column::<u32>(words.into_column(), Some(numbers)),
                WordsRef::Wide(words) => query.column::<u64>(words.into_column(), Some(numbers)),
            };
        }
        let values = values.map(|(words, _)| match words {
            WordsRef::Narrow(words) => WordsOf::Narrow(OnDevice::Buffer(words)),
            WordsRef::Wide(words) => WordsOf::Wide(OnDevice::Buffer(words)),
        });
        let keys = KeysOnDevice::One(OnDevice::Buffer(codes));
        let (keys, columns) = self.grouped(scratch, &query, &keys, values.as_slice())?;
        scratch.give_back(keys);
        Ok(columns.try_into().unwrap_or_else(|_| unreachable!("there is a column for each aggregate")))
    }

    /// Returns the distinct keys of rows, in any order.
    pub(super) fn distinct<K: KeyWord + ValueWord>(
        &self,
        scratch: &mut Scratch,
        keys: &KeysOnDevice<'_, K>,
    ) -> Result<Buffer<K>> {
        Ok(self.grouped(scratch, &Query::new(), keys, &[])?.0)
    }

    fn grouped<K: KeyWord + ValueWord>(
        &self,
        scratch: &mut Scratch,
        query: &Query<'_>,
        keys: &KeysOnDevice<'_, K>,
        values: &[WordsOf<'_>],
    ) -> Result<Grouped<K>> {
        let memory = Memory::lent(query, scratch)?;
        let input = SortInput { keys, values, rows: keys.lent().len() as u64, order: KeyOrder::default() };
        grouped(self.stream, scratch, (query, self.how), &input, memory).map(|(groups, _)| groups)
    }
}
