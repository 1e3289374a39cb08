//! A query: the key columns, and the aggregates of other columns.

use super::column::Use;
use std::fmt;
use std::str::FromStr;
use thiserror::Error;

/// The kind of an aggregate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Count,
    Sum,
    Min,
    Max,
    Mean,
    First,
    Last,
    /// The count of distinct values.
    Distinct,
    Var,
    Std,
    Median,
}

impl Kind {
    pub const ALL: [Kind; 11] = [
        Self::Count,
        Self::Sum,
        Self::Min,
        Self::Max,
        Self::Mean,
        Self::First,
        Self::Last,
        Self::Distinct,
        Self::Var,
        Self::Std,
        Self::Median,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::Count => "count",
            Self::Sum => "sum",
            Self::Min => "min",
            Self::Max => "max",
            Self::Mean => "mean",
            Self::First => "first",
            Self::Last => "last",
            Self::Distinct => "distinct",
            Self::Var => "var",
            Self::Std => "std",
            Self::Median => "median",
        }
    }

    fn usage(self) -> Use {
        match self {
            Self::Sum | Self::Min | Self::Max | Self::Mean => Use::Number,
            Self::Var | Self::Std | Self::Median => Use::Number,
            Self::Count | Self::First | Self::Last | Self::Distinct => Use::Value,
        }
    }
}

/// An aggregate and its column, written `count` or `mean:fare`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Aggregation {
    pub kind: Kind,
    /// The name of the column, or `None` for a count.
    pub column: Option<String>,
}

/// The reason why a text is not an aggregate, or why aggregates do not make a query.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum QueryError {
    #[error(
        "{0:?} is no aggregate; give count, or one of sum, min, max, mean, first, last, distinct, var, std, median \
         with a column: mean:fare"
    )]
    Kind(String),
    #[error("{0} needs a column: {0}:COLUMN")]
    NoColumn(&'static str),
    #[error("count takes no column: rows without a value in a column that is needed are skipped; give count alone")]
    CountOfColumn,
    #[error("{0} columns of keys were given; give one or two")]
    Keys(usize),
    #[error("the column {0:?} was given twice as a key; give it once")]
    SameKey(String),
    #[error("the aggregate {0} was given twice; give it once")]
    SameAggregation(Aggregation),
}

impl FromStr for Aggregation {
    type Err = QueryError;

    fn from_str(text: &str) -> Result<Self, QueryError> {
        // A column's name may contain colons, but a kind's name has none.
        let (name, column) = text.split_once(':').map_or((text, ""), |(name, column)| (name, column.trim()));
        let kind = Kind::ALL.into_iter().find(|kind| kind.name() == name);
        match (kind.ok_or_else(|| QueryError::Kind(text.to_owned()))?, column) {
            (Kind::Count, "") => Ok(Self { kind: Kind::Count, column: None }),
            (Kind::Count, _) => Err(QueryError::CountOfColumn),
            (kind, "") => Err(QueryError::NoColumn(kind.name())),
            (kind, column) => Ok(Self { kind, column: Some(column.to_owned()) }),
        }
    }
}

impl fmt::Display for Aggregation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind.name())?;
        self.column.iter().try_for_each(|column| write!(f, ":{column}"))
    }
}

/// A column that a query needs, and its use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Need {
    pub name: String,
    pub usage: Use,
}

/// A query, with a list of the distinct columns that it needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query {
    needs: Vec<Need>,
    keys: Vec<usize>,
    aggregations: Vec<(Aggregation, Option<usize>)>,
}

impl Query {
    pub fn new(keys: &[String], aggregations: &[Aggregation]) -> Result<Self, QueryError> {
        if !(1..=2).contains(&keys.len()) {
            return Err(QueryError::Keys(keys.len()));
        }
        let mut query = Self { needs: Vec::new(), keys: Vec::new(), aggregations: Vec::new() };
        for key in keys {
            let number = query.need(key.trim(), Use::Key);
            if query.keys.contains(&number) {
                return Err(QueryError::SameKey(key.clone()));
            }
            query.keys.push(number);
        }
        for (number, aggregation) in aggregations.iter().enumerate() {
            if aggregations[..number].contains(aggregation) {
                return Err(QueryError::SameAggregation(aggregation.clone()));
            }
            let column = aggregation.column.as_ref().map(|column| query.need(column, aggregation.kind.usage()));
            query.aggregations.push((aggregation.clone(), column));
        }
        Ok(query)
    }

    /// Returns the index of a column among those needed, and adds the column if it is new.
    fn need(&mut self, name: &str, usage: Use) -> usize {
        if let Some(number) = self.needs.iter().position(|need| need.name == name) {
            let need = &mut self.needs[number];
            need.usage = need.usage.max(usage);
            return number;
        }
        self.needs.push(Need { name: name.to_owned(), usage });
        self.needs.len() - 1
    }

    /// Returns the columns to read.
    pub fn needs(&self) -> &[Need] {
        &self.needs
    }

    /// Returns the indices of the key columns among [`Query::needs`].
    pub fn keys(&self) -> &[usize] {
        &self.keys
    }

    /// Returns the aggregates, each with the index of its column among [`Query::needs`].
    pub fn aggregations(&self) -> &[(Aggregation, Option<usize>)] {
        &self.aggregations
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<Aggregation, QueryError> {
        text.parse()
    }

    #[test]
    fn aggregates_are_written_as_they_are_read() {
        for kind in Kind::ALL.into_iter().filter(|kind| *kind != Kind::Count) {
            let aggregation = parsed(&format!("{}:fare", kind.name())).unwrap();
            assert_eq!(aggregation, Aggregation { kind, column: Some("fare".to_owned()) });
            assert_eq!(parsed(&aggregation.to_string()), Ok(aggregation));
            assert_eq!(parsed(kind.name()), Err(QueryError::NoColumn(kind.name())));
        }
        assert_eq!(parsed("count"), Ok(Aggregation { kind: Kind::Count, column: None }));
        assert_eq!(parsed("count").unwrap().to_string(), "count");
        assert_eq!(parsed("max:a:b").unwrap().column.as_deref(), Some("a:b"));
        assert_eq!(parsed("count:fare"), Err(QueryError::CountOfColumn));
        for wrong in ["", ":", "mode:fare", "Mean:fare", "fare"] {
            assert_eq!(parsed(wrong), Err(QueryError::Kind(wrong.to_owned())));
        }
    }

    #[test]
    fn each_column_is_needed_once() {
        let keys = ["zone", "hour"].map(str::to_owned);
        let aggregations = ["count", "first:fare", "mean:fare", "max:hour"].map(|text| parsed(text).unwrap());
        let query = Query::new(&keys, &aggregations).unwrap();
        let needs: Vec<_> = query.needs().iter().map(|need| (need.name.as_str(), need.usage)).collect();
        assert_eq!(needs, [("zone", Use::Key), ("hour", Use::Number), ("fare", Use::Number)]);
        assert_eq!(query.keys(), [0, 1]);
        let columns: Vec<_> = query.aggregations().iter().map(|(_, column)| *column).collect();
        assert_eq!(columns, [None, Some(2), Some(2), Some(1)]);
    }

    #[test]
    fn queries_out_of_shape_are_refused() {
        let three = ["a", "b", "c"].map(str::to_owned);
        assert_eq!(Query::new(&[], &[]), Err(QueryError::Keys(0)));
        assert_eq!(Query::new(&three, &[]), Err(QueryError::Keys(3)));
        let same = ["a", " a"].map(str::to_owned);
        assert_eq!(Query::new(&same, &[]), Err(QueryError::SameKey(" a".to_owned())));
        let twice = ["sum:a", "count", "sum:a"].map(|text| parsed(text).unwrap());
        assert_eq!(Query::new(&three[..1], &twice), Err(QueryError::SameAggregation(twice[0].clone())));
    }
}
