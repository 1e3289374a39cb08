//! Columns that are read a cell at a time; the type of a column is known after its last cell.

use super::dictionary::Dictionary;
use std::sync::Arc;
use warpnest_applications_shared::memory::{self, OutOfMemory};
use warpnest_applications_shared::shown::shortened;
use warpnest_applications_shared::table::Cause;

/// The use of a column in a query. Of two uses, the later in this list counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Use {
    /// Values of single rows: numbers, or text if a cell is not a number.
    Value,
    /// Keys: integers, or text if a cell is not written as integers are, such as `007` or `1.50`.
    Key,
    /// Numbers that are added or compared. A cell that is not a number is unreadable.
    Number,
}

/// A cell of a file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Cell<'c> {
    Missing,
    /// Bytes that are not UTF-8.
    NotText,
    Integer(i64),
    Number(f64),
    Text(&'c str),
}

/// The values of a column.
#[derive(Clone, Debug)]
pub enum Column {
    Integers(Vec<i64>),
    Floats(Vec<f64>),
    Texts(Texts),
}

/// Texts by their ids in a dictionary.
#[derive(Clone, Debug, Default)]
pub struct Texts {
    pub ids: Vec<u32>,
    pub dictionary: Dictionary<Arc<str>>,
}

impl Texts {
    fn push(&mut self, text: &str) {
        self.ids.push(self.dictionary.id(text));
    }
}

/// A column that is being read.
#[derive(Debug)]
pub struct Builder {
    usage: Use,
    values: Column,
}

impl Builder {
    pub fn new(usage: Use) -> Self {
        Self { usage, values: Column::Integers(Vec::new()) }
    }

    /// Reserves memory for the cells of `rows` rows, or fails if there is too little.
    pub fn reserve(&mut self, rows: usize) -> Result<(), OutOfMemory> {
        match &mut self.values {
            Column::Integers(values) => memory::reserve(values, rows),
            Column::Floats(values) => memory::reserve(values, rows),
            Column::Texts(texts) => memory::reserve(&mut texts.ids, rows),
        }
    }

    /// Returns a cell in the form that [`Builder::push`] accepts.
    pub fn understood<'c>(&self, cell: Cell<'c>) -> Result<Cell<'c>, Cause> {
        match cell {
            Cell::Missing => Err(Cause::Missing),
            Cell::NotText => Err(Cause::NotText),
            Cell::Number(number) if !number.is_finite() => Err(Cause::NotNumber(number.to_string())),
            Cell::Integer(_) | Cell::Number(_) => Ok(cell),
            Cell::Text(text) if text.trim().is_empty() => Err(Cause::Missing),
            Cell::Text(text) if self.usage == Use::Number => {
                let text = text.trim();
                let number = text.parse().map(Cell::Integer).ok().or_else(|| finite(text).map(Cell::Number));
                number.ok_or_else(|| Cause::NotNumber(shortened(text)))
            }
            Cell::Text(text) => Ok(plain_integer(text).map_or(cell, Cell::Integer)),
        }
    }

    /// Adds a cell that [`Builder::understood`] returned. If its type differs from the type of
    /// earlier cells, these are converted.
    pub fn push(&mut self, cell: Cell<'_>) {
        match (&mut self.values, cell) {
            (Column::Integers(values), Cell::Integer(value)) => values.push(value),
            (Column::Integers(values), Cell::Number(value)) => {
                let floats = values.iter().map(|value| *value as f64).chain([value]).collect();
                self.values = Column::Floats(floats);
            }
            (Column::Floats(values), Cell::Integer(value)) => values.push(value as f64),
            (Column::Floats(values), Cell::Number(value)) => values.push(value),
            (Column::Texts(texts), Cell::Text(text)) => texts.push(text),
            (Column::Texts(texts), Cell::Integer(value)) => texts.push(&value.to_string()),
            (Column::Texts(texts), Cell::Number(value)) => texts.push(&value.to_string()),
            (Column::Integers(_) | Column::Floats(_), Cell::Text(text)) => {
                let mut texts = Texts::default();
                match &self.values {
                    Column::Integers(values) => values.iter().for_each(|value| texts.push(&value.to_string())),
                    Column::Floats(values) => values.iter().for_each(|value| texts.push(&value.to_string())),
                    Column::Texts(_) => {}
                }
                texts.push(text);
                self.values = Column::Texts(texts);
            }
            (_, Cell::Missing | Cell::NotText) => {}
        }
    }

    /// Returns the column. Values of single rows become numbers if all cells are written as
    /// numbers.
    pub fn finish(self) -> Column {
        if let (Use::Value, Column::Texts(Texts { ids, dictionary })) = (self.usage, &self.values) {
            let numbers: Option<Vec<f64>> = dictionary.entries().iter().map(|text| finite(text)).collect();
            if let Some(numbers) = numbers {
                return Column::Floats(ids.iter().map(|id| numbers[*id as usize]).collect());
            }
        }
        self.values
    }
}

/// Returns the finite number that a text represents.
fn finite(text: &str) -> Option<f64> {
    text.trim().parse().ok().filter(|number: &f64| number.is_finite())
}

/// Returns the integer that a text represents, if the text is its usual form. Then the text can be
/// restored if the column turns out to be text.
fn plain_integer(text: &str) -> Option<i64> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let is_plain = match digits.as_bytes() {
        [b'0'] => digits.len() == text.len(),
        [first, ..] => first.is_ascii_digit() && *first != b'0',
        [] => false,
    };
    if is_plain { text.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(usage: Use, cells: &[Cell<'_>]) -> Result<Column, Cause> {
        let mut builder = Builder::new(usage);
        for cell in cells {
            let cell = builder.understood(*cell)?;
            builder.push(cell);
        }
        Ok(builder.finish())
    }

    fn texts(column: Column) -> Vec<String> {
        let Column::Texts(Texts { ids, dictionary }) = column else { panic!("{column:?}") };
        ids.iter().map(|id| dictionary.entries()[*id as usize].to_string()).collect()
    }

    fn text<'c, const N: usize>(cells: [&'c str; N]) -> [Cell<'c>; N] {
        cells.map(Cell::Text)
    }

    #[test]
    fn numbers_are_integers_until_one_is_not() {
        let column = read(Use::Number, &text(["1", " -2 ", "+3", "007"])).unwrap();
        assert!(matches!(&column, Column::Integers(values) if *values == [1, -2, 3, 7]), "{column:?}");
        let column = read(Use::Number, &text(["1", "2.5", "-3", "1e3"])).unwrap();
        assert!(matches!(&column, Column::Floats(values) if *values == [1.0, 2.5, -3.0, 1000.0]), "{column:?}");
        let column = read(Use::Number, &text(["9223372036854775808"])).unwrap();
        assert!(matches!(&column, Column::Floats(values) if *values == [2f64.powi(63)]), "{column:?}");
        for wrong in ["abc", "NaN", "inf", "1,5", "0x1"] {
            assert_eq!(read(Use::Number, &text([wrong])).unwrap_err(), Cause::NotNumber(wrong.to_owned()));
        }
        for empty in [Cell::Text(""), Cell::Text("  "), Cell::Missing] {
            assert_eq!(read(Use::Number, &[empty]).unwrap_err(), Cause::Missing);
            assert_eq!(read(Use::Key, &[empty]).unwrap_err(), Cause::Missing);
        }
        assert!(read(Use::Number, &[Cell::Number(f64::NAN)]).is_err());
    }

    #[test]
    fn keys_that_look_like_integers_keep_their_writing() {
        let column = read(Use::Key, &text(["10", "-9223372036854775808", "0"])).unwrap();
        assert!(matches!(&column, Column::Integers(values) if *values == [10, i64::MIN, 0]), "{column:?}");
        for other in ["007", "-0", "+1", "1.0", " 1", "9223372036854775808", "x", "-", "é"] {
            let cells = text(["10", "2", other, "3", other]);
            assert_eq!(texts(read(Use::Key, &cells).unwrap()), ["10", "2", other, "3", other]);
        }
        let column = read(Use::Key, &[Cell::Number(1.5), Cell::Integer(2)]).unwrap();
        assert!(matches!(&column, Column::Floats(values) if *values == [1.5, 2.0]), "{column:?}");
    }

    #[test]
    fn values_are_numbers_if_all_of_them_are() {
        let column = read(Use::Value, &text(["2", "1.50", "2", "007"])).unwrap();
        assert!(matches!(&column, Column::Floats(values) if *values == [2.0, 1.5, 2.0, 7.0]), "{column:?}");
        assert_eq!(texts(read(Use::Value, &text(["2", "1.50", "x"])).unwrap()), ["2", "1.50", "x"]);
    }

    #[test]
    fn a_column_of_keys_that_are_added_has_numbers() {
        assert_eq!(Use::Key.max(Use::Number), Use::Number);
        assert_eq!(Use::Key.max(Use::Value), Use::Key);
    }
}
