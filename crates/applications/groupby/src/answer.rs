//! The groups of a query on the host: columns of keys and of aggregates, for sorting and display.

use std::cmp::Ordering;
use std::sync::Arc;
use warpnest::relational::GroupReport;

/// A column of the answer.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    Integers(Vec<i64>),
    Floats(Vec<f64>),
    Texts(Vec<Arc<str>>),
}

/// The groups of a query, in the order of their keys.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The names of the columns: the key columns, then the aggregates as in the query.
    pub names: Vec<String>,
    pub columns: Vec<Values>,
    /// The number of key columns.
    pub keys: usize,
    pub groups: usize,
    pub report: GroupReport,
}

impl Answer {
    /// Returns the index of a column; an aggregate takes precedence over a key of the same name.
    pub fn column(&self, name: &str) -> Option<usize> {
        let position = |names: &[String]| names.iter().position(|other| other == name);
        position(&self.names[self.keys..]).map(|number| self.keys + number).or_else(|| position(&self.names))
    }

    /// Returns the indices of the groups, sorted by a column. Groups with equal values stay in
    /// order.
    pub fn sorted(&self, column: usize, ascending: bool) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.groups).collect();
        let values = &self.columns[column];
        order.sort_by(|a, b| {
            let ordering = values.compare(*a, *b);
            if ascending { ordering } else { ordering.reverse() }
        });
        order
    }

    /// Returns a value as text for display. Keys are exact. Other floating-point numbers have three
    /// decimals, or four digits and a power of ten if very small or large.
    pub fn shown(&self, column: usize, group: usize) -> String {
        match &self.columns[column] {
            Values::Floats(values) if column >= self.keys => match values[group] {
                number if number == 0.0 || (1e-3..1e12).contains(&number.abs()) => format!("{number:.3}"),
                number if number.is_finite() => format!("{number:.3e}"),
                number => number.to_string(),
            },
            values => values.exact(group),
        }
    }
}

impl Values {
    fn compare(&self, a: usize, b: usize) -> Ordering {
        match self {
            Self::Integers(values) => values[a].cmp(&values[b]),
            Self::Floats(values) => values[a].total_cmp(&values[b]),
            Self::Texts(values) => values[a].cmp(&values[b]),
        }
    }

    /// Returns whether the values are numbers.
    pub fn are_numbers(&self) -> bool {
        !matches!(self, Self::Texts(_))
    }

    /// Returns a value as a number, or `None` if it is text.
    pub fn number(&self, group: usize) -> Option<f64> {
        match self {
            Self::Integers(values) => Some(values[group] as f64),
            Self::Floats(values) => Some(values[group]),
            Self::Texts(_) => None,
        }
    }

    /// Returns a value as text with all of its digits.
    pub fn exact(&self, group: usize) -> String {
        match self {
            Self::Integers(values) => values[group].to_string(),
            Self::Floats(values) => values[group].to_string(),
            Self::Texts(values) => values[group].to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpnest::Device;
    use warpnest::relational::GroupBy;

    fn answer(columns: Vec<Values>, names: &[&str], groups: usize) -> Answer {
        let report = GroupBy::new(&[1u32]).run(&Device::cpu()).unwrap().report;
        Answer { names: names.iter().map(|name| (*name).to_owned()).collect(), columns, keys: 1, groups, report }
    }

    #[test]
    fn groups_are_sorted_and_equal_ones_stay_in_order() {
        let texts = Values::Texts(["b", "a", "b", "c"].map(Arc::from).to_vec());
        let columns = vec![Values::Integers(vec![7, 8, 9, 10]), texts, Values::Floats(vec![2.0, -1.0, 2.0, 0.5])];
        let answer = answer(columns, &["count", "first:x", "count"], 4);
        assert_eq!(answer.column("count"), Some(2));
        assert_eq!(answer.column("first:x"), Some(1));
        assert_eq!(answer.column("mean:x"), None);
        assert_eq!(answer.sorted(2, false), [0, 2, 3, 1]);
        assert_eq!(answer.sorted(2, true), [1, 3, 0, 2]);
        assert_eq!(answer.sorted(1, true), [1, 0, 2, 3]);
    }

    #[test]
    fn aggregates_are_shown_shortly_and_keys_and_files_have_all_digits() {
        let numbers = Values::Floats(vec![0.1 + 0.2, 1234.0, 0.0, -1.5e-7, 1e300, f64::INFINITY]);
        let answer = answer(vec![numbers.clone(), numbers], &["key", "mean:x"], 6);
        let shown: Vec<String> = (0..6).map(|group| answer.shown(1, group)).collect();
        assert_eq!(shown, ["0.300", "1234.000", "0.000", "-1.500e-7", "1.000e300", "inf"]);
        assert_eq!([answer.shown(0, 0), answer.shown(0, 3)], ["0.30000000000000004", "-0.00000015"]);
        assert_eq!(answer.columns[1].exact(0), "0.30000000000000004");
    }
}
