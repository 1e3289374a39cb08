//! The rows of a file that can be read, and a count of skipped rows.

use super::column::{Builder, Cell, Column};
use super::query::Need;
use warpnest::primitives::MAX_ITEMS;
use warpnest_applications_shared::memory::OutOfMemory;
use warpnest_applications_shared::table::{Place, Unreadable, What};

/// The columns that a query needs, and the number of rows read and skipped.
#[derive(Debug)]
pub struct Table {
    /// The columns, in the order of [`Query::needs`](super::query::Query::needs).
    pub columns: Vec<Column>,
    pub rows: usize,
    pub skipped: u64,
    /// The first row that was skipped.
    pub first_skipped: Option<Unreadable>,
}

/// The reason why reading stops at a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The row cannot be read, and must not be skipped.
    Strict(Unreadable),
    /// The file has more rows than a group-by accepts.
    TooManyRows,
    /// There is no memory for this row and the rows after it.
    NoMemory(Place, OutOfMemory),
}

/// A table that is being read.
#[derive(Debug)]
pub struct Rows {
    names: Vec<String>,
    builders: Vec<Builder>,
    strict: bool,
    rows: usize,
    skipped: u64,
    first_skipped: Option<Unreadable>,
}

impl Rows {
    /// Returns a table without rows. If it is strict, a row that cannot be read stops the reading.
    pub fn new(needs: &[Need], strict: bool) -> Self {
        Self {
            names: needs.iter().map(|need| need.name.clone()).collect(),
            builders: needs.iter().map(|need| Builder::new(need.usage)).collect(),
            strict,
            rows: 0,
            skipped: 0,
            first_skipped: None,
        }
    }

    /// Reserves memory for `rows` more rows, the first of which is at `place`.
    pub fn reserve(&mut self, place: Place, rows: usize) -> Result<(), Stop> {
        let reserve = |builder: &mut Builder| builder.reserve(rows);
        self.builders.iter_mut().try_for_each(reserve).map_err(|no_memory| Stop::NoMemory(place, no_memory))
    }

    /// Adds a row with a cell for each column. If a cell is unreadable, the whole row is skipped.
    pub fn push(&mut self, place: Place, cells: &mut [Cell<'_>]) -> Result<(), Stop> {
        for (number, cell) in cells.iter_mut().enumerate() {
            match self.builders[number].understood(*cell) {
                Ok(understood) => *cell = understood,
                Err(cause) => return self.skip(place, What::Cell { column: self.names[number].clone(), cause }),
            }
        }
        if self.rows == MAX_ITEMS {
            return Err(Stop::TooManyRows);
        }
        self.rows += 1;
        self.builders.iter_mut().zip(cells).for_each(|(builder, cell)| builder.push(*cell));
        Ok(())
    }

    /// Counts a row as skipped, or fails if strict.
    pub fn skip(&mut self, place: Place, what: What) -> Result<(), Stop> {
        let unreadable = Unreadable { place, what };
        if self.strict {
            return Err(Stop::Strict(unreadable));
        }
        self.skipped += 1;
        self.first_skipped.get_or_insert(unreadable);
        Ok(())
    }

    pub fn finish(self) -> Table {
        let Self { builders, rows, skipped, first_skipped, .. } = self;
        Table { columns: builders.into_iter().map(Builder::finish).collect(), rows, skipped, first_skipped }
    }
}

#[cfg(test)]
mod tests {
    use super::super::column::Use;
    use super::*;

    fn needs() -> [Need; 2] {
        [("zone", Use::Key), ("fare", Use::Number)].map(|(name, usage)| Need { name: name.to_owned(), usage })
    }

    #[test]
    fn a_row_is_taken_whole_or_not_at_all() {
        let mut rows = Rows::new(&needs(), false);
        for (line, cells) in [["b", "1"], ["x", "?"], ["", "2"], ["a", "3"]].into_iter().enumerate() {
            rows.push(Place::Line(line as u64 + 2), &mut cells.map(Cell::Text)).unwrap();
        }
        rows.skip(Place::Line(6), What::Fields { there: 3, named: 2 }).unwrap();
        let table = rows.finish();
        assert_eq!((table.rows, table.skipped), (2, 3));
        let said = table.first_skipped.unwrap().to_string();
        assert_eq!(said, "line 3: the column \"fare\" is \"?\", which is no finite number");
        // Texts that occur only in skipped rows are not in the dictionary.
        let Column::Texts(texts) = &table.columns[0] else { panic!("{:?}", table.columns[0]) };
        assert_eq!(texts.ids, [0, 1]);
        assert_eq!(texts.dictionary.entries().len(), 2);
    }

    #[test]
    fn a_strict_table_stops_at_the_first_unreadable_row() {
        let mut rows = Rows::new(&needs(), true);
        rows.push(Place::Row(1), &mut [Cell::Text("a"), Cell::Number(1.5)]).unwrap();
        let stop = rows.push(Place::Row(2), &mut [Cell::Text("a"), Cell::Missing]).unwrap_err();
        let Stop::Strict(unreadable) = stop else { panic!("{stop:?}") };
        assert_eq!(unreadable.to_string(), "row 2: the column \"fare\" is empty");
    }
}
