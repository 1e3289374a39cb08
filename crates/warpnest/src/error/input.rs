//! Inputs that an operation cannot take.

/// An input that an operation cannot take. Nothing was done.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum InputError {
    /// Two inputs that belong together have different lengths.
    #[error("lengths differ: {first} {first_length}, {second} {second_length}; they must be equally long")]
    LengthsDiffer {
        /// The name of the first input.
        first: &'static str,
        /// The length of the first input.
        first_length: u64,
        /// The name of the second input.
        second: &'static str,
        /// The length of the second input.
        second_length: u64,
    },

    /// The pairs are more than a map can have, or the keys more than a set can.
    #[error("a table of {asked} pairs or keys was asked for, and one has at most {limit}: build several tables")]
    TooManyPairs {
        /// The count of pairs or keys that the table was to have, or to have capacity for.
        asked: u64,
        /// The most that a table has.
        limit: u64,
    },

    /// The items are more than a primitive can give indices.
    #[error("{asked} items were given, and one call takes at most {limit}: work in several batches")]
    TooManyItems {
        /// The count of items given.
        asked: u64,
        /// The most items that one call takes.
        limit: u64,
    },

    /// The table would have more slots than its 32-bit hash functions reach.
    #[error(
        "{asked} slots were asked for, and a table can have at most {limit}: build several tables, or take fewer slots a pair"
    )]
    TooManySlots {
        /// The count of slots asked for.
        asked: u64,
        /// The most slots that a table can have.
        limit: u64,
    },

    /// The keys would take more slots, at the load of a table that changes, than it can have.
    #[error(
        "capacity for {asked} keys was asked for, which at a load of {load} takes more slots than a table can have, at most {slots}: \
         build several tables, or allow a higher load"
    )]
    TooManyKeys {
        /// The count of keys that the table was to have capacity for, with those that it has.
        asked: u64,
        /// The most slots that a table can have.
        slots: u64,
        /// The largest share of the slots that keys may take.
        load: f64,
    },

    /// The ranks are ones that a sorted map does not have.
    #[error(
        "the ranks {start}..{end} were asked for, and the map has 0..{length}: take those that `range` gave for this map"
    )]
    Ranks {
        /// The first rank asked for.
        start: u32,
        /// The rank behind the last one asked for.
        end: u32,
        /// The count of keys.
        length: u64,
    },

    /// A range has elements that the buffer lacks.
    #[error("the elements {start}..{end} were asked for, and the buffer has 0..{length}: take a range of those")]
    Range {
        /// The first element asked for.
        start: u64,
        /// The element behind the last one asked for.
        end: u64,
        /// The count of elements.
        length: u64,
    },

    /// A part of a buffer, or an array of another library, does not begin where kernels can read
    /// it.
    #[error(
        "the array begins at {address:#x}, which is not a multiple of {alignment} bytes: take the whole allocation, begin the part at a \
         multiple of {alignment} bytes, or copy it"
    )]
    Misaligned {
        /// The address of the first element.
        address: u64,
        /// The alignment: what the address must be a multiple of.
        alignment: u64,
    },

    /// An aggregate belongs to another query than the groups.
    #[error(
        "the aggregate was asked of another group-by: take those that were asked of the query that gave these groups"
    )]
    ForeignAggregate,

    /// The columns of rows have other types than the columns of the rows that have ids.
    #[error(
        "rows of the columns {given:?} were given, and those that have ids are of {held:?}: give columns of these types in this order, or take \
         another `RowIds`"
    )]
    OtherColumns {
        /// The types of the columns that were given.
        given: Vec<&'static str>,
        /// The types of the columns of the rows that have ids.
        held: Vec<&'static str>,
    },

    /// The rows that have ids have no such column.
    #[error(
        "column {number} of type {asked} was asked for, and the rows that have ids are of {held:?}: ask for one of these, by its number from 0 on"
    )]
    NoColumn {
        /// The index asked for.
        number: usize,
        /// The type asked for.
        asked: &'static str,
        /// The types of the columns.
        held: Vec<&'static str>,
    },

    /// A column of keys has another count of rows than the first one.
    #[error("column {number} of the keys has {rows} rows, and column 0 has {first}: give columns of one table")]
    ColumnLength {
        /// The index of the column, counted from 0.
        number: usize,
        /// The count of its rows.
        rows: u64,
        /// The count of rows of the first column.
        first: u64,
    },

    /// The keys of two tables have columns of different types, or more columns in one of them.
    #[error(
        "the left keys are of {left:?} and the right ones of {right:?}, so column {number} differs: give as many columns of the same types"
    )]
    KeysDiffer {
        /// The index of the first column that differs, counted from 0.
        number: usize,
        /// The types of the left columns.
        left: Vec<&'static str>,
        /// The types of the right columns.
        right: Vec<&'static str>,
    },

    /// The offsets of a column of strings do not ascend, or lead beyond its bytes.
    #[error(
        "offset {number} of the strings is less than the one before it, or beyond their {bytes} bytes: give offsets that ascend, and the \
         bytes that they count in"
    )]
    Offsets {
        /// The index of the first offset that is wrong, counted from 0.
        number: u64,
        /// The count of bytes.
        bytes: u64,
    },

    /// A table has no column of a name, or several.
    #[error("{}", column_name(table, name, *several, held))]
    ColumnName {
        /// The table: the left one, the right one, or the only one.
        table: &'static str,
        /// The name that was asked for.
        name: String,
        /// Whether there are several columns of the name.
        several: bool,
        /// The names of all columns.
        held: Vec<String>,
    },

    /// A column has a type that an operation does not take.
    #[error("the column {column:?} is of type {of_type}, of which there is {what}: {remedy}")]
    ColumnType {
        /// The name of the column.
        column: String,
        /// The type of the column.
        of_type: String,
        /// What there is not, such as `no sum`.
        what: &'static str,
        /// What to do.
        remedy: &'static str,
    },

    /// Two columns that are joined by have different types.
    #[error(
        "the left column {left:?} is of type {left_type} and the right column {right:?} of type {right_type}: cast one of them to the type \
         of the other"
    )]
    KeyTypes {
        /// The name of the left column.
        left: String,
        /// The type of the left column.
        left_type: String,
        /// The name of the right column.
        right: String,
        /// The type of the right column.
        right_type: String,
    },

    /// No columns of keys were named, or more of one table than of the other.
    #[error("{left} left and {right} right columns of keys were named: name as many of both tables, and one at least")]
    KeyColumns {
        /// The count of columns of the left table, or of the only one.
        left: usize,
        /// The count of columns of the right table, or of the only one.
        right: usize,
    },

    /// Two columns of a result would have the same name.
    #[error("the result would have two columns {name:?}: {remedy}")]
    SameName {
        /// The name of both.
        name: String,
        /// What to do.
        remedy: &'static str,
    },

    /// A join with a kept side was to give kept rows that no row meets.
    #[error(
        "a {kind} join gives the kept rows that none meets, which one batch of left rows does not tell: ask for an inner, left, semi or \
         anti join, or join both tables at once"
    )]
    KeptJoin {
        /// The kind that was asked for.
        kind: &'static str,
    },

    /// A launch would need more blocks than a grid can have.
    #[error(
        "{threads} threads need more blocks of {block} threads than the {limit} that a grid can have: work in several batches"
    )]
    GridTooLarge {
        /// The count of threads asked for.
        threads: u64,
        /// The count of threads of a block.
        block: u32,
        /// The most blocks of a grid.
        limit: u32,
    },
}

fn column_name(table: &str, name: &str, several: bool, held: &[String]) -> String {
    match several {
        true => format!("{table} has several columns {name:?}: rename all but one of them"),
        false => format!("{table} has no column {name:?}, but {held:?}: name one of these"),
    }
}
