//! The groups of a table, computed on a device.

use super::answer::{Answer, Values};
use super::column::Column;
use super::dictionary::Dictionary;
use super::query::{Kind, Query};
use super::table::Table;
use std::borrow::Cow;
use std::sync::Arc;
use thiserror::Error;
use warpnest::relational::{Aggregate, GroupBy, GroupReport, GroupsOnHost, Order};
use warpnest::{Device, Key};

/// The reason why the groups cannot be computed.
#[derive(Debug, Error)]
pub enum GroupError {
    #[error(transparent)]
    Device(#[from] warpnest::Error),
    #[error("the table is of another query; read the columns that this one needs")]
    OtherQuery,
}

type Result<T> = std::result::Result<T, GroupError>;

/// Groups the rows of a table, which was read for the query.
///
/// The keys are the values of a single column of integers. Otherwise they are ids in the order of
/// first appearance. The groups are in the order of these keys.
pub fn group(device: &Device, table: &Table, query: &Query) -> Result<Answer> {
    let column = |number: usize| table.columns.get(number).ok_or(GroupError::OtherQuery);
    let mut columns = Vec::new();
    for (aggregation, number) in query.aggregations() {
        let column = number.map(column).transpose()?;
        columns.push((aggregation.kind, column.map(|column| widened(aggregation.kind, column))));
    }
    let wanted = Wanted { device, columns };
    let keys = query.keys().iter().map(|number| column(*number)).collect::<Result<Vec<_>>>()?;
    let (mut columns, of_aggregates, report, groups) = match keys[..] {
        [Column::Integers(keys)] => {
            let (keys, of_aggregates, report) = wanted.run(GroupBy::new(keys))?;
            let groups = keys.len();
            (vec![Values::Integers(keys)], of_aggregates, report, groups)
        }
        [keys] => {
            let keys = numbered(keys);
            let (ids, of_aggregates, report) = wanted.run(GroupBy::new(&keys.ids[..]))?;
            (vec![keys.entries.of(ids.iter())], of_aggregates, report, ids.len())
        }
        [first, second] => {
            let (first, second) = (numbered(first), numbered(second));
            let (ids, of_aggregates, report) = wanted.run(GroupBy::by_two(&first.ids[..], &second.ids[..]))?;
            let of_keys =
                vec![first.entries.of(ids.iter().map(|(id, _)| id)), second.entries.of(ids.iter().map(|(_, id)| id))];
            (of_keys, of_aggregates, report, ids.len())
        }
        _ => return Err(GroupError::OtherQuery),
    };
    columns.extend(of_aggregates);
    let names = query.keys().iter().map(|number| query.needs()[*number].name.clone());
    let names = names.chain(query.aggregations().iter().map(|(aggregation, _)| aggregation.to_string())).collect();
    Ok(Answer { names, columns, keys: keys.len(), groups, report })
}

/// A column as ids of its distinct values.
struct Numbered<'t> {
    ids: Cow<'t, [u32]>,
    entries: Entries<'t>,
}

/// The distinct values of a column, in the order of their ids.
enum Entries<'t> {
    Integers(Vec<i64>),
    Floats(Vec<f64>),
    Texts(&'t [Arc<str>]),
}

/// Returns a column as ids, in the order of first appearance.
fn numbered(column: &Column) -> Numbered<'_> {
    match column {
        Column::Texts(texts) => {
            Numbered { ids: Cow::Borrowed(&texts.ids), entries: Entries::Texts(texts.dictionary.entries()) }
        }
        Column::Integers(values) => {
            let mut dictionary = Dictionary::<Word>::default();
            let ids = values.iter().map(|value| dictionary.id(&value.cast_unsigned())).collect();
            let entries = dictionary.entries().iter().map(|word| word.0.cast_signed()).collect();
            Numbered { ids: Cow::Owned(ids), entries: Entries::Integers(entries) }
        }
        Column::Floats(values) => {
            let mut dictionary = Dictionary::<Word>::default();
            // Zero is added because −0 and 0 are the same key.
            let ids = values.iter().map(|value| dictionary.id(&(value + 0.0).to_bits())).collect();
            let entries = dictionary.entries().iter().map(|word| f64::from_bits(word.0)).collect();
            Numbered { ids: Cow::Owned(ids), entries: Entries::Floats(entries) }
        }
    }
}

/// The bits of a number, as an entry of a dictionary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Word(u64);

impl From<&u64> for Word {
    fn from(bits: &u64) -> Self {
        Self(*bits)
    }
}

impl std::borrow::Borrow<u64> for Word {
    fn borrow(&self) -> &u64 {
        &self.0
    }
}

impl Entries<'_> {
    /// Returns the values with the given ids.
    fn of<'i>(&self, ids: impl Iterator<Item = &'i u32>) -> Values {
        match self {
            Self::Integers(entries) => Values::Integers(ids.map(|id| entries[*id as usize]).collect()),
            Self::Floats(entries) => Values::Floats(ids.map(|id| entries[*id as usize]).collect()),
            Self::Texts(entries) => Values::Texts(ids.map(|id| entries[*id as usize].clone()).collect()),
        }
    }
}

/// Returns a column for an aggregate. Integers become floating-point numbers if their sum may not
/// fit into 64 bits.
fn widened(kind: Kind, column: &Column) -> Cow<'_, Column> {
    let (Kind::Sum | Kind::Mean, Column::Integers(values)) = (kind, column) else { return Cow::Borrowed(column) };
    let largest = values.iter().map(|value| value.unsigned_abs()).max().unwrap_or(0);
    if u128::from(largest) * values.len() as u128 <= i64::MAX as u128 {
        return Cow::Borrowed(column);
    }
    Cow::Owned(Column::Floats(values.iter().map(|value| *value as f64).collect()))
}

/// The aggregates of a query, each with its column.
struct Wanted<'t> {
    device: &'t Device,
    columns: Vec<(Kind, Option<Cow<'t, Column>>)>,
}

/// An aggregate that was requested, by the type of its column.
enum Asked<'t> {
    Count(Aggregate<u32>),
    Integers(Aggregate<i64>),
    Floats(Aggregate<f64>),
    Texts(Aggregate<u32>, &'t [Arc<str>]),
}

impl Wanted<'_> {
    /// Returns the keys of the groups, their aggregates, and a report of the group-by.
    fn run<'w, K: Key>(&'w self, mut query: GroupBy<'w, K>) -> Result<(Vec<K>, Vec<Values>, GroupReport)> {
        let columns = self.columns.iter().map(|(kind, column)| ask(&mut query, *kind, column.as_deref()));
        let asked = columns.collect::<Result<Vec<_>>>()?;
        let groups = query.order(Order::ByKey).run(self.device)?;
        let columns = asked.iter().map(|asked| asked.values(&groups)).collect::<Result<_>>()?;
        Ok((groups.keys, columns, groups.report))
    }
}

impl Asked<'_> {
    /// Returns the aggregate of each group.
    fn values<K>(&self, groups: &GroupsOnHost<K>) -> Result<Values> {
        Ok(match self {
            Self::Count(counts) => Values::Integers(groups.column(*counts)?.iter().copied().map(i64::from).collect()),
            Self::Integers(values) => Values::Integers(groups.column(*values)?.to_vec()),
            Self::Floats(values) => Values::Floats(groups.column(*values)?.to_vec()),
            Self::Texts(ids, entries) => Entries::Texts(entries).of(groups.column(*ids)?.iter()),
        })
    }
}

/// Requests an aggregate of a column.
fn ask<'t, K: Key>(query: &mut GroupBy<'t, K>, kind: Kind, column: Option<&'t Column>) -> Result<Asked<'t>> {
    Ok(match (kind, column) {
        (Kind::Count, None) => Asked::Count(query.count()),
        (Kind::Sum, Some(Column::Integers(values))) => Asked::Integers(query.sum(values)),
        (Kind::Sum, Some(Column::Floats(values))) => Asked::Floats(query.sum(values)),
        (Kind::Min, Some(Column::Integers(values))) => Asked::Integers(query.min(values)),
        (Kind::Min, Some(Column::Floats(values))) => Asked::Floats(query.min(values)),
        (Kind::Max, Some(Column::Integers(values))) => Asked::Integers(query.max(values)),
        (Kind::Max, Some(Column::Floats(values))) => Asked::Floats(query.max(values)),
        (Kind::Mean, Some(Column::Integers(values))) => Asked::Floats(query.mean(values)),
        (Kind::Mean, Some(Column::Floats(values))) => Asked::Floats(query.mean(values)),
        (Kind::Var, Some(Column::Integers(values))) => Asked::Floats(query.var(values)),
        (Kind::Var, Some(Column::Floats(values))) => Asked::Floats(query.var(values)),
        (Kind::Std, Some(Column::Integers(values))) => Asked::Floats(query.std(values)),
        (Kind::Std, Some(Column::Floats(values))) => Asked::Floats(query.std(values)),
        (Kind::Median, Some(Column::Integers(values))) => Asked::Floats(query.median(values)),
        (Kind::Median, Some(Column::Floats(values))) => Asked::Floats(query.median(values)),
        (Kind::Distinct, Some(Column::Integers(values))) => Asked::Count(query.count_distinct(values)),
        (Kind::Distinct, Some(Column::Floats(values))) => Asked::Count(query.count_distinct(values)),
        (Kind::Distinct, Some(Column::Texts(texts))) => Asked::Count(query.count_distinct(&texts.ids)),
        (Kind::First, Some(Column::Integers(values))) => Asked::Integers(query.first(values)),
        (Kind::First, Some(Column::Floats(values))) => Asked::Floats(query.first(values)),
        (Kind::First, Some(Column::Texts(texts))) => Asked::Texts(query.first(&texts.ids), texts.dictionary.entries()),
        (Kind::Last, Some(Column::Integers(values))) => Asked::Integers(query.last(values)),
        (Kind::Last, Some(Column::Floats(values))) => Asked::Floats(query.last(values)),
        (Kind::Last, Some(Column::Texts(texts))) => Asked::Texts(query.last(&texts.ids), texts.dictionary.entries()),
        // The table is another query's: summed or compared columns are numbers, and only a count
        // has no column.
        _ => return Err(GroupError::OtherQuery),
    })
}

#[cfg(test)]
mod tests {
    use super::super::column::{Builder, Cell};
    use super::*;

    /// Returns the answer for rows of cells, with a cell for each column that the query needs.
    fn answer(keys: &[&str], aggregations: &[&str], rows: &[&[Cell<'_>]]) -> Answer {
        let keys: Vec<String> = keys.iter().map(|key| (*key).to_owned()).collect();
        let aggregations: Vec<_> = aggregations.iter().map(|text| text.parse().unwrap()).collect();
        let query = Query::new(&keys, &aggregations).unwrap();
        let mut builders: Vec<Builder> = query.needs().iter().map(|need| Builder::new(need.usage)).collect();
        for row in rows {
            for (builder, cell) in builders.iter_mut().zip(*row) {
                let cell = builder.understood(*cell).unwrap();
                builder.push(cell);
            }
        }
        let columns = builders.into_iter().map(Builder::finish).collect();
        let table = Table { columns, rows: rows.len(), skipped: 0, first_skipped: None };
        group(&Device::cpu(), &table, &query).unwrap()
    }

    fn texts<const N: usize>(texts: [&str; N]) -> Values {
        Values::Texts(texts.map(Arc::from).to_vec())
    }

    #[test]
    fn every_aggregate_of_integers_and_of_floating_point_numbers() {
        let all = ["count", "sum:i", "min:i", "max:i", "mean:i", "first:i", "last:i"];
        let all = [&all[..], &["sum:x", "min:x", "max:x", "mean:x", "first:x", "last:x"]].concat();
        let all = [&all[..], &["distinct:i", "median:i", "median:x"]].concat();
        let row = |key: i64, i: i64, x: f64| [Cell::Integer(key), Cell::Integer(i), Cell::Number(x)];
        let rows = [row(5, 3, 0.5), row(-2, 10, 2.0), row(5, -4, 4.25), row(5, 2, 0.25)];
        let answer = answer(&["k"], &all, &rows.each_ref().map(|row| &row[..]));
        let integers = |a: i64, b: i64| Values::Integers(vec![a, b]);
        let floats = |a: f64, b: f64| Values::Floats(vec![a, b]);
        let expected = [
            ("k", integers(-2, 5)),
            ("count", integers(1, 3)),
            ("sum:i", integers(10, 1)),
            ("min:i", integers(10, -4)),
            ("max:i", integers(10, 3)),
            ("mean:i", floats(10.0, 1.0 / 3.0)),
            ("first:i", integers(10, 3)),
            ("last:i", integers(10, 2)),
            ("sum:x", floats(2.0, 5.0)),
            ("min:x", floats(2.0, 0.25)),
            ("max:x", floats(2.0, 4.25)),
            ("mean:x", floats(2.0, 5.0 / 3.0)),
            ("first:x", floats(2.0, 0.5)),
            ("last:x", floats(2.0, 0.25)),
            ("distinct:i", integers(1, 3)),
            ("median:i", floats(10.0, 2.0)),
            ("median:x", floats(2.0, 0.5)),
        ];
        assert_eq!((answer.keys, answer.groups), (1, 2));
        assert_eq!(answer.names, expected.each_ref().map(|(name, _)| *name));
        for ((name, values), found) in expected.iter().zip(&answer.columns) {
            assert_eq!(found, values, "{name}");
        }
    }

    #[test]
    fn keys_that_are_no_integers_and_pairs_of_keys_are_numbered() {
        let text = |key, other| [Cell::Text(key), Cell::Text(other)];
        let rows = [text("b", "x"), text("a", "y"), text("b", "z")];
        let one = answer(&["k"], &["first:v", "last:v", "count"], &rows.each_ref().map(|row| &row[..]));
        let counts = Values::Integers(vec![2, 1]);
        assert_eq!(one.columns, [texts(["b", "a"]), texts(["x", "y"]), texts(["z", "y"]), counts]);

        let float = |key| [Cell::Number(key)];
        let rows = [float(0.0), float(1.5), float(-0.0)];
        let floats = answer(&["k"], &["count"], &rows.each_ref().map(|row| &row[..]));
        assert_eq!(floats.columns, [Values::Floats(vec![0.0, 1.5]), Values::Integers(vec![2, 1])]);

        let pair = |key, hour| [Cell::Text(key), Cell::Integer(hour)];
        let rows = [pair("b", -7), pair("a", 9), pair("b", 9), pair("b", -7)];
        let two = answer(&["k", "h"], &["count"], &rows.each_ref().map(|row| &row[..]));
        let hours = Values::Integers(vec![-7, 9, 9]);
        assert_eq!(two.columns, [texts(["b", "b", "a"]), hours, Values::Integers(vec![2, 1, 1])]);
        assert_eq!(two.names, ["k", "h", "count"]);
    }

    #[test]
    fn variances_are_of_samples() {
        let row = |i: i64, x: f64| [Cell::Integer(1), Cell::Integer(i), Cell::Number(x)];
        let rows = [row(1, 0.5), row(3, 0.5)];
        let all = ["var:i", "std:i", "var:x", "distinct:x"];
        let answer = answer(&["k"], &all, &rows.each_ref().map(|row| &row[..]));
        let floats = [2.0, std::f64::consts::SQRT_2, 0.0].map(|value| Values::Floats(vec![value]));
        assert_eq!(answer.columns[1..4], floats);
        assert_eq!(answer.columns[4], Values::Integers(vec![1]));
    }

    #[test]
    fn sums_of_integers_do_not_wrap() {
        let row = |value| [Cell::Integer(1), Cell::Integer(value)];
        let rows = [row(i64::MAX), row(i64::MAX)];
        let answer = answer(&["k"], &["sum:v", "mean:v", "max:v"], &rows.each_ref().map(|row| &row[..]));
        let sums = [2f64.powi(64), 2f64.powi(63)].map(|sum| Values::Floats(vec![sum]));
        assert_eq!(answer.columns[1..3], sums);
        assert_eq!(answer.columns[3], Values::Integers(vec![i64::MAX]));
    }

    #[test]
    fn without_rows_there_are_no_groups_and_another_tables_query_is_refused() {
        assert_eq!(answer(&["k"], &["count", "sum:v"], &[]).groups, 0);
        let query = Query::new(&["k".to_owned()], &[]).unwrap();
        let table = Table { columns: Vec::new(), rows: 0, skipped: 0, first_skipped: None };
        assert!(matches!(group(&Device::cpu(), &table, &query), Err(GroupError::OtherQuery)));
    }
}
