//! The count of distinct values of each group.

use super::codes::{Rows, ranks_of};
use crate::primitives::{Scratch, sort_keys};
use crate::relational::columns::{Cast, KeysOnDevice, OnDevice, Words, WordsRef, cast_words};
use crate::relational::group_by::wanted::Wanted;
use crate::{Buffer, Result};

impl Rows<'_> {
    /// Returns the count of distinct values for each code, in ascending order of the codes, in
    /// memory of the scratch.
    ///
    /// The distinct pairs of code and value are the rows of a second group-by. Values of 64 bits
    /// are first replaced by their ranks among the distinct values.
    pub(super) fn count_distinct(&self, scratch: &mut Scratch, values: WordsRef<'_>) -> Result<Words> {
        let ranks = match values {
            WordsRef::Narrow(_) => None,
            WordsRef::Wide(words) => Some(self.ranks(scratch, words)?),
        };
        let narrow = match (values, &ranks) {
            (_, Some(ranks)) => ranks,
            (WordsRef::Narrow(words), _) => words,
            (WordsRef::Wide(_), None) => unreachable!("wide values have ranks"),
        };
        let pairs = KeysOnDevice::Two([OnDevice::Buffer(self.codes), OnDevice::Buffer(narrow)]);
        let pairs = self.distinct::<u64>(scratch, &pairs)?;
        ranks.into_iter().for_each(|ranks| scratch.give_back(ranks));
        // The lower half of a pair is its code.
        let codes = scratch.lend::<u32>(pairs.len())?;
        let codes = cast_words(self.stream, &pairs, codes, Cast::Bits)?;
        scratch.give_back(pairs);
        let [counts] = self.aggregates(scratch, &codes, None, [Wanted::Count])?;
        scratch.give_back(codes);
        Ok(counts)
    }

    /// Returns the rank of each value among the distinct values, in memory of the scratch.
    fn ranks(&self, scratch: &mut Scratch, values: &Buffer<u64>) -> Result<Buffer<u32>> {
        let mut sorted = self.distinct::<u64>(scratch, &KeysOnDevice::One(OnDevice::Buffer(values)))?;
        sort_keys(self.stream, scratch, &mut sorted)?;
        let ranks = ranks_of(self.stream, scratch, &sorted, values)?;
        scratch.give_back(sorted);
        Ok(ranks)
    }
}
