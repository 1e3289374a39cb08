//! The result of a group-by.

use super::memory::Memory;
use super::recipe::Recipe;
use super::wanted::{Aggregate, Download, HostColumn, values};
use crate::relational::columns::Words;
use crate::{Buffer, Device, Error, InputError, Key, Result, Stream, Value};
use std::sync::Arc;

/// The groups of a [`GroupBy`](super::GroupBy), on the device: the key of each group, and a column
/// for each aggregate, all in the same order.
#[derive(Debug)]
pub struct Groups<K> {
    pub(in crate::relational) keys: Buffer<K>,
    pub(in crate::relational) columns: Vec<Words>,
    /// The count of columns that are folded; derived aggregates are in the other columns.
    pub(super) folded: usize,
    pub(super) report: GroupReport,
    /// The id of the query, which its aggregates contain, too.
    pub(super) query: u64,
    /// The count of rows of all groups.
    pub(super) rows: u64,
    pub(super) recipe: Arc<Recipe>,
}

/// The groups of a [`GroupBy`](super::GroupBy), on the host: the key of each group, and a column
/// for each aggregate, all in the same order.
#[derive(Debug)]
#[non_exhaustive]
pub struct GroupsOnHost<K> {
    /// The keys; each occurs once.
    pub keys: Vec<K>,
    /// How the groups were computed.
    pub report: GroupReport,
    columns: Vec<HostColumn>,
    folded: usize,
    query: u64,
}

/// The method by which groups are computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Method {
    /// The faster of the other two methods, chosen by the query, and by a sample of the keys unless
    /// there are few rows.
    Auto,
    /// Rows are sorted by key. Every query can be answered in this way.
    Sort,
    /// Rows are aggregated on chip. Rows with frequent keys are aggregated in one pass over all
    /// rows, and other rows in bins of keys; cores do one of the two with all rows.
    /// [`Method::Auto`] instead adds few rows on a GPU to one hash table in memory, and reports
    /// that as this method.
    Hash,
}

/// A report of how groups were computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct GroupReport {
    /// The method that was used, which is never [`Method::Auto`].
    pub method: Method,
    /// The count of groups that a sample of the keys suggests, if there was one, or the count
    /// itself on cores, and where no sample was needed. In a [`Bounded`](super::Bounded) result it
    /// is `None`. The estimate is low if most rows have few keys, and many keys have few rows.
    pub estimated_groups: Option<u64>,
    /// The count of rows with frequent keys, which were aggregated in one pass.
    pub hot_rows: u64,
    /// Whether the sample was wrong about the keys, so that rows were grouped again in another way.
    pub overflowed: bool,
}

impl GroupReport {
    /// Returns the report of rows of which nothing is known.
    pub(super) fn of(method: Method) -> Self {
        Self { method, estimated_groups: None, hot_rows: 0, overflowed: false }
    }
}

impl<K: Key> Groups<K> {
    /// Takes the memory, and leaves no groups. The memory of derived aggregates is apart.
    pub(super) fn take(&mut self) -> (Memory<K::Word>, Vec<Words>) {
        let mut columns: Vec<Words> = self.columns.iter_mut().map(Words::take).collect();
        let derived = columns.split_off(self.folded);
        (Memory { keys: self.keys.take().into_words(), columns }, derived)
    }

    /// Sets the count of groups, for which there is memory.
    pub(super) fn set_length(&mut self, groups: usize) {
        self.keys.set_length(groups);
        self.columns.iter_mut().for_each(|column| column.set_length(groups));
    }

    /// Returns the count of groups.
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Returns whether there are no groups, because there were no rows.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// Returns the keys; each occurs once.
    pub fn keys(&self) -> &Buffer<K> {
        &self.keys
    }

    /// Returns an aggregate of each group.
    ///
    /// # Errors
    /// [`InputError::ForeignAggregate`] if the aggregate belongs to another query.
    pub fn column<T: Value>(&self, aggregate: Aggregate<T>) -> Result<&Buffer<T>> {
        let words = aggregate.place.among(&self.columns, self.folded).filter(|_| aggregate.query == self.query);
        words.and_then(values).ok_or(Error::Input(InputError::ForeignAggregate))
    }

    /// Returns the groups on the host. `downloads` contains a function for each aggregate.
    pub(super) fn on_host(&self, stream: &Stream, downloads: &[Vec<Download>; 2]) -> Result<GroupsOnHost<K>> {
        let downloads = downloads.iter().flatten();
        let columns = self.columns.iter().zip(downloads).map(|(words, download)| download(words, stream));
        let columns = columns.collect::<Result<_>>()?;
        let Self { folded, report, query, .. } = *self;
        Ok(GroupsOnHost { keys: self.keys.download(stream)?, report, columns, folded, query })
    }

    /// Returns the keys, and the aggregates in the requested order.
    pub(super) fn into_parts(self) -> (Buffer<K>, Vec<Words>) {
        (self.keys, self.columns)
    }

    /// Returns how the groups were computed.
    pub fn report(&self) -> GroupReport {
        self.report
    }

    /// Returns the keys and frees the aggregates.
    pub fn into_keys(self) -> Buffer<K> {
        self.keys
    }
}

/// A type that can be run. No aggregate is one, so the compiler's message for [`Aggregate::run`]
/// says what to write.
#[diagnostic::on_unimplemented(
    message = "an aggregate is no query: it names a column of the groups",
    label = "the query is run, not its aggregate",
    note = "write `let mut query = GroupBy::new(&keys); let sum = query.sum(&values); let groups = query.run(&device)?;`",
    note = "then `groups.keys` has the keys, and `groups.column(sum)?` the sums"
)]
pub trait Runs {}

impl<T> Aggregate<T> {
    /// Fails to compile, with a message that says how a query is run.
    #[doc(hidden)]
    pub fn run(self, _: &Device) -> Result<GroupsOnHost<T>>
    where
        Self: Runs,
    {
        Err(Error::Input(InputError::ForeignAggregate))
    }
}

impl<K> GroupsOnHost<K> {
    /// Returns an aggregate of each group.
    ///
    /// # Errors
    /// As for [`Groups::column`].
    pub fn column<T: Value>(&self, aggregate: Aggregate<T>) -> Result<&[T]> {
        let column = aggregate.place.among(&self.columns, self.folded).filter(|_| aggregate.query == self.query);
        let column = column.and_then(|column| column.downcast_ref::<Vec<T>>()).map(Vec::as_slice);
        column.ok_or(Error::Input(InputError::ForeignAggregate))
    }
}
