//! The errors of inputs that an operation refuses.

/// The error of an input that an operation refuses. Nothing was done.
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

    /// There are more pairs than a map can have, or more keys than a set can have.
    #[error("a table of {asked} pairs or keys was asked for, and one has at most {limit}: build several tables")]
    TooManyPairs {
        /// The count of pairs or keys that the table should have, or should have capacity for.
        asked: u64,
        /// The largest count of pairs or keys.
        limit: u64,
    },

    /// There are more items than a primitive has indices for.
    #[error("{asked} items were given, and one call takes at most {limit}: work in several batches")]
    TooManyItems {
        /// The given count of items.
        asked: u64,
        /// The most items that one call takes.
        limit: u64,
    },

    /// The table would have more slots than its 32-bit hash functions can reach.
    #[error(
        "{asked} slots were asked for, and a table can have at most {limit}: build several tables, or take fewer slots a pair"
    )]
    TooManySlots {
        /// The requested count of slots.
        asked: u64,
        /// The most slots that a table can have.
        limit: u64,
    },

    /// At the load factor of a linear table, the keys would take more slots than the table can
    /// have.
    #[error(
        "capacity for {asked} keys was asked for, which at a load of {load} takes more slots than a table can have, at most {slots}: \
         build several tables, or allow a higher load"
    )]
    TooManyKeys {
        /// The count of keys for which the table should have capacity, including the keys that it
        /// has.
        asked: u64,
        /// The most slots that a table can have.
        slots: u64,
        /// The largest share of the slots that keys may take.
        load: f64,
    },

    /// The sorted map does not have all of the ranks.
    #[error(
        "the ranks {start}..{end} were asked for, and the map has 0..{length}: take those that `range` gave for this map"
    )]
    Ranks {
        /// The first requested rank.
        start: u32,
        /// One more than the last requested rank.
        end: u32,
        /// The count of keys.
        length: u64,
    },

    /// The buffer does not have all elements of a range.
    #[error("the elements {start}..{end} were asked for, and the buffer has 0..{length}: take a range of those")]
    Range {
        /// The index of the first requested element.
        start: u64,
        /// One more than the index of the last requested element.
        end: u64,
        /// The count of elements.
        length: u64,
    },

    /// A part of a buffer, or an array of another library, begins at an address from which kernels
    /// cannot read.
    #[error(
        "the array begins at {address:#x}, which is not a multiple of {alignment} bytes: take the whole allocation, begin the part at a \
         multiple of {alignment} bytes, or copy it"
    )]
    Misaligned {
        /// The address of the first element.
        address: u64,
        /// The alignment. The address must be a multiple of it.
        alignment: u64,
    },

    /// The aggregate and the groups belong to different queries.
    #[error(
        "the aggregate was asked of another group-by: take those that were asked of the query that gave these groups"
    )]
    ForeignAggregate,

    /// Groups cannot be merged.
    #[error("groups cannot be merged with {what}: {remedy}")]
    NotMerged {
        /// What cannot be merged.
        what: &'static str,
        /// What to do instead.
        remedy: &'static str,
    },

    /// The quantile does not exist.
    #[error(
        "the quantile {asked} was asked for, and one is from 0, the least value, to 1, the greatest: divide a percentage by 100"
    )]
    Quantile {
        /// The requested quantile.
        asked: f64,
    },

    /// A query with a capacity would have to wait for the device before it could go on.
    #[error(
        "a query with a capacity does not wait, and {what} needs that: leave it out, or run the query without a capacity"
    )]
    NotBounded {
        /// The requested part that needs a wait.
        what: &'static str,
    },

    /// A result has more rows than the capacity that was given for it.
    #[error(
        "there are at least {found} {what}, and the capacity is {capacity}: run the query with a larger capacity, or without one"
    )]
    OverCapacity {
        /// The name of the rows.
        what: &'static str,
        /// The count of rows at which the query gave up.
        found: u64,
        /// The given capacity.
        capacity: u64,
    },

    /// The columns of the rows have other types than the columns of the rows that already have ids.
    #[error(
        "rows of the columns {given:?} were given, and those that have ids are of {held:?}: give columns of these types in this order, or take \
         another `RowIds`"
    )]
    OtherColumns {
        /// The types of the given columns.
        given: Vec<&'static str>,
        /// The types of the columns of the rows that have ids.
        held: Vec<&'static str>,
    },

    /// The rows that have ids have no column with this index and type.
    #[error(
        "column {number} of type {asked} was asked for, and the rows that have ids are of {held:?}: ask for one of these, by its number from 0 on"
    )]
    NoColumn {
        /// The requested column index.
        number: usize,
        /// The requested type.
        asked: &'static str,
        /// The types of the columns.
        held: Vec<&'static str>,
    },

    /// A column of the keys has another count of rows than the first column.
    #[error("column {number} of the keys has {rows} rows, and column 0 has {first}: give columns of one table")]
    ColumnLength {
        /// The index of the column, counted from 0.
        number: usize,
        /// The count of rows of that column.
        rows: u64,
        /// The count of rows of the first column.
        first: u64,
    },

    /// The keys of two tables have columns of different types, or different counts of columns.
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

    /// The offsets of a column of strings do not ascend, or exceed the count of its bytes.
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

    /// A table has no column with the requested name, or several.
    #[error("{}", column_name(table, name, *several, held))]
    ColumnName {
        /// The table with the column: the left one, the right one, or the only one.
        table: &'static str,
        /// The requested name.
        name: String,
        /// Whether several columns have this name.
        several: bool,
        /// The names of all columns.
        held: Vec<String>,
    },

    /// The operation does not support the type of a column.
    #[error("the column {column:?} is of type {of_type}, of which there is {what}: {remedy}")]
    ColumnType {
        /// The name of the column.
        column: String,
        /// The type of the column.
        of_type: String,
        /// The missing support, such as `no sum`.
        what: &'static str,
        /// The remedy for the caller.
        remedy: &'static str,
    },

    /// Two columns that a join compares have different types.
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

    /// No key columns were named, or one table has more of them than the other.
    #[error("{left} left and {right} right columns of keys were named: name as many of both tables, and one at least")]
    KeyColumns {
        /// The count of key columns of the left table, or of the only table.
        left: usize,
        /// The count of key columns of the right table, or of the only table.
        right: usize,
    },

    /// Two columns of a result would have the same name.
    #[error("the result would have two columns {name:?}: {remedy}")]
    SameName {
        /// The name that both columns have.
        name: String,
        /// The remedy for the caller.
        remedy: &'static str,
    },

    /// A join with a kept side cannot return kept rows without a match, because a call joins only
    /// one batch of left rows.
    #[error(
        "a {kind} join gives the kept rows that none meets, which one batch of left rows does not tell: ask for an inner, left, semi or \
         anti join, or join both tables at once"
    )]
    KeptJoin {
        /// The requested kind of join.
        kind: &'static str,
    },

    /// Work was to be captured that does what a graph cannot do again.
    #[error(
        "a call that is captured {what}, which a graph cannot do: capture only calls that neither allocate nor wait, and call each once \
         before, so that its scratch memory is there"
    )]
    NotCaptured {
        /// What the call does.
        what: &'static str,
    },

    /// A launch would need more blocks than a grid can have.
    #[error(
        "{threads} threads need more blocks of {block} threads than the {limit} that a grid can have: work in several batches"
    )]
    GridTooLarge {
        /// The requested count of threads.
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
