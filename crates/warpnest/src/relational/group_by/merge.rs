//! Merging the groups of several parts of the rows.

use super::compute::{How, grouped};
use super::groups::{GroupReport, Groups, Method};
use super::memory::Memory;
use super::recipe::{Recipe, Step};
use super::sort::SortInput;
use super::wanted::{Query, Wanted};
use crate::primitives::{Scratch, check_items};
use crate::relational::columns::{Cast, IntoColumn, KeysOnDevice, OnDevice, Words, WordsOf, cast_words, typed};
use crate::types::Plain;
use crate::{Buffer, Device, InputError, Key, Result, Stream};
use gpu_kernels::column_values::ColumnParams;
use gpu_kernels::primitives::reduce::SumKind;

impl<K: Key> Groups<K> {
    /// Returns the groups of all rows from the groups of two parts of them, for example chunks that
    /// do not fit into memory together. Both are results of queries that request the same
    /// aggregates in the same order; the aggregates of the first query name the columns. The rows
    /// of `self` come before the rows of `others`, as first and last values and
    /// [`Order::FirstSeen`](super::Order::FirstSeen) need to know.
    ///
    /// ```
    /// use warpnest::primitives::Scratch;
    /// use warpnest::Device;
    /// use warpnest::relational::{Aggregate, GroupBy, Groups, Order};
    ///
    /// let device = Device::best()?;
    /// let (stream, mut scratch) = (device.default_stream(), Scratch::new(&device));
    /// let mut merged: Option<(Aggregate<u64>, Groups<u32>)> = None;
    /// for (keys, values) in [([7u32, 3, 7], [1u32, 2, 3]), ([5, 3, 3], [4, 5, 6])] {
    ///     let mut query = GroupBy::new(&keys);
    ///     let sum = query.sum(&values);
    ///     let groups = query.order(Order::ByKey).run_on(stream, &mut scratch)?;
    ///     merged = Some(match merged {
    ///         None => (sum, groups),
    ///         Some((sum, before)) => (sum, before.merge(stream, &mut scratch, &groups)?),
    ///     });
    /// }
    /// let (sum, groups) = merged.expect("there are two parts");
    /// assert_eq!(groups.keys().download(stream)?, [3, 5, 7]);
    /// assert_eq!(groups.column(sum)?.download(stream)?, [13, 4, 4]);
    /// # Ok::<(), warpnest::Error>(())
    /// ```
    ///
    /// Counts, sums of integers, least, greatest, first and last values are exactly the ones of all
    /// rows, and sums of floating-point numbers are rounded once more. The groups are grouped
    /// again, which takes as long as a query of as many rows.
    ///
    /// # Errors
    /// [`InputError::NotMerged`](crate::InputError::NotMerged) for means, derived aggregates, first
    /// and last values of filtered rows, and groups of [`GroupBy::top`](super::GroupBy::top), and
    /// unless the queries request the same aggregates in the same order of groups;
    /// [`InputError::TooManyItems`](crate::InputError::TooManyItems) if there are more than 2^32 -
    /// 1 groups, or as many rows and counts are wanted;
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory),
    /// [`Error::WrongDevice`](crate::Error::WrongDevice), [`Error::Driver`](crate::Error::Driver).
    pub fn merge(&self, stream: &Stream, scratch: &mut Scratch, others: &Self) -> Result<Self> {
        let device = scratch.device().clone();
        stream.check_device(&device)?;
        self.keys.check_device("the groups", &device)?;
        others.keys.check_device("the other groups", &device)?;
        let Self { recipe, folded, query, .. } = self;
        if let Some((what, remedy)) = recipe.refused.or(others.recipe.refused) {
            return Err(InputError::NotMerged { what, remedy }.into());
        }
        if **recipe != *others.recipe {
            let remedy = "request the same aggregates of columns of the same types, in the same order";
            return Err(InputError::NotMerged { what: "groups of another query", remedy }.into());
        }
        let rows = self.rows.saturating_add(others.rows);
        if recipe.steps.contains(&Step::Count) {
            check_items(rows as usize)?;
        }
        check_items(self.len() + others.len())?;
        let keys = joined(stream, &device, self.keys.words(), others.keys.words())?;
        let columns = self.columns.iter().zip(&others.columns).map(|(first, second)| {
            Ok(match (first, second) {
                (Words::Narrow(first), Words::Narrow(second)) => Words::Narrow(joined(stream, &device, first, second)?),
                (Words::Wide(first), Words::Wide(second)) => Words::Wide(joined(stream, &device, first, second)?),
                _ => unreachable!("equal aggregates have words of one size"),
            })
        });
        let columns = columns.collect::<Result<Vec<_>>>()?;
        let (keys, columns, report) = recipe.merged::<K>(stream, scratch, &keys, &columns)?;
        Ok(Self { keys: typed(keys), columns, folded: *folded, report, query: *query, rows, recipe: recipe.clone() })
    }
}

impl Recipe {
    /// Groups the keys of groups again, and combines the aggregates of those with equal keys.
    fn merged<K: Key>(
        &self,
        stream: &Stream,
        scratch: &mut Scratch,
        keys: &Buffer<K::Word>,
        columns: &[Words],
    ) -> Result<(Buffer<K::Word>, Vec<Words>, GroupReport)> {
        let device = scratch.device().clone();
        let mut query = Query::new();
        query.order = self.order;
        let mut values = Vec::new();
        for (number, (step, words)) in self.steps.iter().zip(columns).enumerate() {
            let (numbers, wanted) = match *step {
                Step::Count => (Some((ColumnParams::unsigned(), SumKind::Unsigned)), Wanted::Sum(number)),
                Step::Sum(numbers) => (Some(numbers), Wanted::Sum(number)),
                Step::Min(numbers) => (Some(numbers), Wanted::Min(number)),
                Step::Max(numbers) => (Some(numbers), Wanted::Max(number)),
                Step::First => (None, Wanted::First(number)),
                Step::Last => (None, Wanted::Last(number)),
                Step::Mean => unreachable!("means are refused"),
            };
            values.push(match words {
                Words::Narrow(words) => {
                    query.add_column(words.into_column(), numbers);
                    WordsOf::Narrow(OnDevice::Buffer(words))
                }
                Words::Wide(words) => {
                    query.add_column(words.into_column(), numbers);
                    WordsOf::Wide(OnDevice::Buffer(words))
                }
            });
            query.wanted.push(wanted);
        }
        let rows = keys.len() as u64;
        let keys = KeysOnDevice::One(OnDevice::Buffer(keys));
        let input = SortInput { keys: &keys, values: &values, rows, order: K::ORDER };
        let how = How { method: Method::Auto, seed: None, is_reproducible: false };
        let memory = Memory::new(&query, &device)?;
        let ((keys, columns), report) = grouped(stream, scratch, (&query, how), &input, memory)?;
        let counts = |(step, words): (&Step, Words)| match (step, words) {
            (Step::Count, Words::Wide(sums)) => {
                let counts = Buffer::uninitialized(&device, sums.len())?;
                cast_words(stream, &sums, counts, Cast::Bits).map(Words::Narrow)
            }
            (_, words) => Ok(words),
        };
        let columns = self.steps.iter().zip(columns).map(counts).collect::<Result<_>>()?;
        Ok((keys, columns, report))
    }
}

/// Returns the elements of both buffers.
fn joined<T: Plain>(stream: &Stream, device: &Device, first: &Buffer<T>, second: &Buffer<T>) -> Result<Buffer<T>> {
    let mut both = Buffer::uninitialized(device, first.len() + second.len())?;
    both.slice_mut(..first.len())?.copy_from(stream, first)?;
    both.slice_mut(first.len()..)?.copy_from(stream, second)?;
    Ok(both)
}
