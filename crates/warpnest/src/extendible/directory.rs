//! The host's copy of the directory: the bucket tables, the segments that share them, and how they
//! grow and shrink.

use gpu_kernels::extendible::Layout;

/// The segment table and the depths of the bucket tables. Its entries are indices of bucket tables
/// instead of addresses.
///
/// Segments that share a bucket table of depth `depth` differ by multiples of `groups << depth`, so
/// their hashes agree in `depth` bits.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Directory {
    groups: usize,
    /// The global depth.
    depth: u32,
    segments: Vec<u32>,
    tables: Vec<BucketTable>,
    /// The indices of bucket tables that are free for reuse.
    free: Vec<u32>,
}

/// A bucket table.
#[derive(Clone, Copy, Debug, PartialEq)]
struct BucketTable {
    depth: u32,
    /// The lowest of its segments.
    first: usize,
}

/// The entry at a free index, which stands for no bucket table.
const FREE: BucketTable = BucketTable { depth: u32::MAX, first: 0 };

/// A copy from one bucket table to another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Copy {
    pub from: u32,
    pub to: u32,
}

impl Directory {
    /// Makes a directory of one bucket table for each group, of depth 0.
    pub(super) fn new(groups: u32) -> Self {
        let groups = groups as usize;
        let tables = (0..groups).map(|first| BucketTable { depth: 0, first }).collect();
        Self { groups, depth: 0, segments: (0..groups as u32).collect(), tables, free: Vec::new() }
    }

    /// Returns the global depth.
    pub(super) fn depth(&self) -> u32 {
        self.depth
    }

    /// Returns, for each segment, the index of its bucket table and the depth of that table.
    pub(super) fn segments(&self) -> impl ExactSizeIterator<Item = (u32, u32)> {
        self.segments.iter().map(|&table| (table, self.tables[table as usize].depth))
    }

    /// Returns, for each segment, the rank of its bucket table among the bucket tables in use.
    pub(super) fn dense_numbers(&self) -> Vec<u32> {
        let mut dense = vec![0; self.tables.len()];
        for (number, table) in (0..).zip(self.tables()) {
            dense[table as usize] = number;
        }
        self.segments.iter().map(|&table| dense[table as usize]).collect()
    }

    /// Makes the directory of `tables` bucket tables for which [`Directory::dense_numbers`] returns
    /// `segments`, or `None` if there is no such directory. There are `groups << depth` segments.
    pub(super) fn from_dense_numbers(groups: u32, depth: u32, tables: u32, segments: Vec<u32>) -> Option<Self> {
        let groups = groups as usize;
        // For each table, the lowest segment that points to it and the count of its segments.
        let mut found = vec![(usize::MAX, 0usize); tables as usize];
        for (segment, &table) in segments.iter().enumerate() {
            let (first, shared) = found.get_mut(table as usize)?;
            *first = segment.min(*first);
            *shared += 1;
        }
        let of = |(first, shared): (usize, usize)| {
            let own = depth.checked_sub(shared.is_power_of_two().then(|| shared.ilog2())?)?;
            (first < groups << own).then_some(BucketTable { depth: own, first })
        };
        let tables: Vec<BucketTable> = found.into_iter().map(of).collect::<Option<_>>()?;
        let agrees = |(segment, &table): (usize, &u32)| {
            let BucketTable { depth, first } = tables[table as usize];
            segment % (groups << depth) == first
        };
        let all_agree = segments.iter().enumerate().all(agrees);
        all_agree.then_some(Self { groups, depth, segments, tables, free: Vec::new() })
    }

    /// Returns, for each bucket table in use, the hash position where the range of its first entry
    /// begins, and its depth.
    pub(super) fn ranges(&self, layout: &Layout) -> Vec<(u64, u32)> {
        let of = |table: u32| {
            let BucketTable { depth, first } = self.tables[table as usize];
            let (group, halves) = ((first % self.groups) as u64, (first / self.groups) as u32);
            // This is the inverse of `Layout::segment`.
            ((group << (32 + layout.table_bits)) | halves.reverse_bits() as u64, depth)
        };
        self.tables().map(of).collect()
    }

    /// Returns the count of indices of bucket tables, in use or free.
    pub(super) fn numbers(&self) -> usize {
        self.tables.len()
    }

    /// Returns the indices of the bucket tables in use.
    pub(super) fn tables(&self) -> impl Iterator<Item = u32> {
        (0..self.tables.len() as u32).filter(|&table| self.tables[table as usize] != FREE)
    }

    /// Returns the count of bucket tables in use.
    pub(super) fn table_count(&self) -> usize {
        self.tables.len() - self.free.len()
    }

    /// Grows until the bucket table of each segment `i` has at least depth `needs[i]`, and the
    /// directory has at least depth `depth`. The segment table doubles, and only those bucket
    /// tables are split that must be (Hu 2015, §2.1, cases 1 and 3). A table that splits keeps the
    /// lower half of its segments, and the upper half gets a copy of the table. Returns these
    /// copies.
    pub(super) fn grow(&mut self, depth: u32, needs: &[u32]) -> Vec<Copy> {
        while self.depth < depth {
            // A new segment shares the table of the segment from which it differs only in the new
            // bit.
            self.segments.extend_from_within(..);
            self.depth += 1;
        }
        let mut copies: Vec<Copy> = Vec::new();
        // For each table, the existing table of which it is a copy.
        let mut source: Vec<u32> = (0..self.tables.len() as u32).collect();
        for (segment, &need) in needs.iter().enumerate() {
            while self.tables[self.segments[segment] as usize].depth < need {
                let table = self.segments[segment];
                let copy = self.split(table);
                source.resize(self.tables.len(), 0);
                source[copy as usize] = source[table as usize];
                copies.push(Copy { from: source[table as usize], to: copy });
            }
        }
        copies
    }

    /// Gives the upper half of a table's segments to another table, and returns the index of that
    /// table.
    fn split(&mut self, table: u32) -> u32 {
        let BucketTable { depth, first } = self.tables[table as usize];
        let upper = BucketTable { depth: depth + 1, first: first + (self.groups << depth) };
        let copy = match self.free.pop() {
            Some(number) => {
                self.tables[number as usize] = upper;
                number
            }
            None => {
                self.tables.push(upper);
                self.tables.len() as u32 - 1
            }
        };
        self.tables[table as usize].depth = depth + 1;
        self.assign(copy);
        copy
    }

    /// Makes the segments of a table point to it.
    fn assign(&mut self, table: u32) {
        let BucketTable { depth, first } = self.tables[table as usize];
        for segment in (first..self.segments.len()).step_by(self.groups << depth) {
            self.segments[segment] = table;
        }
    }

    /// Returns the lowest segment of each bucket table in use, and its index.
    pub(super) fn first_segments(&self) -> impl Iterator<Item = (usize, u32)> {
        self.tables().map(|table| (self.tables[table as usize].first, table))
    }

    /// Shrinks the directory as far as `needs` allows: element `i` is the depth of the deepest
    /// bucket in table `i`. Two tables are merged if no bucket distinguishes them. The segment
    /// table is halved as long as no table has the global depth (Hu 2015, §2.1, cases 2 and 4).
    pub(super) fn shrink(&mut self, mut needs: Vec<u32>) {
        for depth in (1..=self.depth).rev() {
            for table in 0..self.tables.len() {
                let BucketTable { depth: own, first } = self.tables[table];
                let half = self.groups << (depth - 1);
                if own != depth || !(first / half).is_multiple_of(2) {
                    continue;
                }
                let buddy = self.segments[first + half] as usize;
                if self.tables[buddy].depth == depth && needs[table].max(needs[buddy]) < depth {
                    self.tables[table].depth = depth - 1;
                    self.tables[buddy] = FREE;
                    self.free.push(buddy as u32);
                    needs[table] = needs[table].max(needs[buddy]);
                    self.assign(table as u32);
                }
            }
        }
        let deepest = self.tables.iter().filter(|&table| *table != FREE).map(|table| table.depth).max();
        self.depth = deepest.unwrap_or_default();
        self.segments.truncate(self.groups << self.depth);
    }

    /// Gives the tables the lowest indices, and returns the copies that this makes necessary.
    pub(super) fn renumber(&mut self) -> Vec<Copy> {
        let kept: Vec<u32> = self.tables().collect();
        let copies = kept.iter().zip(0..).map(|(&from, to)| Copy { from, to }).collect();
        self.tables = kept.iter().map(|&table| self.tables[table as usize]).collect();
        self.free.clear();
        (0..self.tables.len() as u32).for_each(|table| self.assign(table));
        copies
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Checks the invariants of a directory.
    fn check(directory: &Directory) {
        assert_eq!(directory.segments.len(), directory.groups << directory.depth);
        let mut shared = vec![0usize; directory.tables.len()];
        for (number, &table) in directory.segments.iter().enumerate() {
            let BucketTable { depth, first } = directory.tables[table as usize];
            assert!(depth <= directory.depth);
            assert_eq!(number % (directory.groups << depth), first, "segment {number} and table {table}");
            shared[table as usize] += 1;
        }
        for (table, &shared) in directory.tables.iter().zip(&shared) {
            let expected = if *table == FREE { 0 } else { 1 << (directory.depth - table.depth) };
            assert_eq!(shared, expected);
        }
        assert_eq!(directory.free.len(), directory.tables.iter().filter(|&table| *table == FREE).count());
    }

    #[test]
    fn numbers_that_no_directory_has_are_refused() {
        let made = |groups, depth, tables, numbers: &[u32]| {
            Directory::from_dense_numbers(groups, depth, tables, numbers.to_vec()).map(|directory| check(&directory))
        };
        assert!(made(2, 1, 3, &[0, 1, 0, 2]).is_some());
        for (tables, numbers) in [
            // A table that does not exist; a table without a segment; a table of three segments.
            (3, [0, 1, 0, 3]),
            (4, [0, 1, 0, 2]),
            (2, [0, 0, 0, 1]),
            // Tables whose segments differ in more than the last bit.
            (2, [0, 0, 1, 1]),
            (2, [0, 1, 1, 0]),
        ] {
            assert!(made(2, 1, tables, &numbers).is_none(), "{numbers:?}");
        }
    }

    #[test]
    fn a_leaf_that_is_much_deeper_splits_the_tables_on_its_way_and_no_others() {
        let mut directory = Directory::new(2);
        let mut needs = vec![0; 2 << 3];
        // Group 1, bits 101. The bit that was added last is the highest one.
        needs[1 + 2 * 0b101] = 3;
        let copies = directory.grow(3, &needs);
        check(&directory);
        assert_eq!(copies.len(), 3);
        assert!(copies.iter().all(|copy| copy.from == 1), "{copies:?}: all are copies of the one that was there");
        assert_eq!(directory.table_count(), 5);
        let depths: Vec<u32> = directory.segments().map(|(_, depth)| depth).collect();
        assert_eq!(depths, [0, 1, 0, 3, 0, 1, 0, 2, 0, 1, 0, 3, 0, 1, 0, 2]);
        directory.shrink(vec![0; 5]);
        check(&directory);
        assert_eq!((directory.depth(), directory.table_count()), (0, 2));
    }

    proptest! {
        #[test]
        fn growing_and_shrinking_keep_the_invariants_and_do_no_more_than_they_must(
            groups in 1u32..4,
            rounds in prop::collection::vec((0u32..6, prop::collection::vec((0usize..200, 0u32..6), 0..6), any::<bool>()), 1..8),
        ) {
            let mut directory = Directory::new(groups);
            for (depth, wanted, shrinks) in rounds {
                if shrinks {
                    // Now only the wanted depths are needed, and only tables on the paths to them
                    // may stay.
                    let mut deep = Directory::new(groups);
                    let mut needs = vec![0; (groups as usize) << directory.depth()];
                    for (segment, need) in wanted {
                        let need = need.min(directory.depth());
                        let segment = segment % ((groups as usize) << need);
                        if directory.tables[directory.segments[segment] as usize].depth >= need {
                            needs[segment] = needs[segment].max(need);
                        }
                    }
                    deep.grow(directory.depth(), &needs);
                    // In the smallest directory, the table of each segment is at most as deep as in
                    // the actual one.
                    let mut of_tables = vec![0; directory.numbers()];
                    for (segment, (_, depth)) in deep.segments().enumerate() {
                        let table = directory.segments[segment] as usize;
                        of_tables[table] = of_tables[table].max(depth.min(directory.tables[table].depth));
                    }
                    directory.shrink(of_tables);
                    check(&directory);
                    let deepest = deep.segments().map(|(_, depth)| depth).max().unwrap();
                    prop_assert_eq!(directory.depth(), deepest);
                    prop_assert_eq!(directory.table_count(), deep.table_count());
                } else {
                    let depth = depth.max(directory.depth());
                    let mut needs = vec![0; (groups as usize) << depth];
                    for (segment, need) in wanted {
                        let need = need.min(depth);
                        let segment = segment % ((groups as usize) << need);
                        needs[segment] = needs[segment].max(need);
                    }
                    let before = directory.clone();
                    let copies = directory.grow(depth, &needs);
                    check(&directory);
                    prop_assert_eq!(directory.depth(), depth);
                    prop_assert_eq!(directory.table_count(), before.table_count() + copies.len());
                    for copy in copies {
                        prop_assert!(before.tables().any(|table| table == copy.from));
                    }
                    for (segment, &need) in needs.iter().enumerate() {
                        prop_assert!(directory.tables[directory.segments[segment] as usize].depth >= need);
                    }
                }
                let (depth, tables) = (directory.depth(), directory.table_count() as u32);
                let saved = Directory::from_dense_numbers(groups, depth, tables, directory.dense_numbers()).unwrap();
                check(&saved);
                prop_assert_eq!(saved.dense_numbers(), directory.dense_numbers());
                prop_assert!(saved.segments().map(|(_, depth)| depth).eq(directory.segments().map(|(_, depth)| depth)));
                let layout = Layout {
                    a: 0, b: 0, roots: 4 * groups, table_bits: 2, lines: 1, records: 8, depth, padding: 0,
                };
                for (&(first, depth), number) in saved.ranges(&layout).iter().zip(0..) {
                    let segment = layout.segment(first, saved.depth()) as usize;
                    prop_assert_eq!((saved.segments[segment], layout.entry(first)), (number, 0));
                    prop_assert_eq!(saved.tables[number as usize].depth, depth);
                }
                let mut renumbered = directory.clone();
                let moves = renumbered.renumber();
                check(&renumbered);
                prop_assert_eq!(moves.len(), directory.table_count());
                for (segment, &table) in directory.segments.iter().enumerate() {
                    let to = moves.iter().find(|copy| copy.from == table).unwrap().to;
                    prop_assert_eq!(renumbered.segments[segment], to);
                }
            }
        }
    }
}
