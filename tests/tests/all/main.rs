//! Every test of the tables, the primitives, the seam and the runtime on every engine. They are one
//! binary, so their shared code is compiled once.
//!
//! Each table and each part of the library has a folder. In most folders, `properties` compares
//! with a reference, `edges` has chosen cases, `errors` tests refused requests, and `faults` tests
//! operations that fail. `checked` and `checker` show that the checks themselves find errors.

mod combining;
mod deferred;
mod formulas;
mod handles;
mod hash;

mod arrow {
    mod columns;
    mod group_by;
    mod join;
    mod join_columns;
    mod lookup;
}

mod planted {
    mod built;
    mod changing;
    mod combining;
    mod layered;
    mod primitives;
    mod relational;
}

mod runtime {
    mod buffers;
    mod cudarc;
    #[cfg(feature = "cust")]
    mod cust;
    mod elements;
    mod foreign;
    mod graphs;
    mod host;
    mod huge_counts;
    mod no_driver;
    mod readback;
    #[cfg(all(target_os = "linux", not(feature = "cust")))]
    mod refusals;
    mod stream_tables;
    mod streams;
    mod valid_values;
    mod views;
}

mod ptx {
    mod committed;
    mod kernels;
    mod several_tiles;
}

mod seam {
    mod checked;
    mod everywhere;
    mod global;
    mod kernels;
    mod lanes;
    mod storage;
    mod tile_sums;
    mod tiles;
}

mod primitives {
    mod cores;
    mod digits;
    mod errors;
    mod flags;
    mod gather;
    mod histogram;
    mod large;
    mod properties;
    mod reduce;
    mod rows;
    mod scatter;
}

mod relational {
    pub mod bounded;
    mod chains;
    mod derived;
    mod derived_on_cores;
    mod dictionary;
    mod distinct;
    mod filter;
    mod filter_forms;
    mod group_by;
    mod hard;
    mod hash;
    mod hot;
    mod join;
    mod join_bounded;
    mod join_chunks;
    mod join_forms;
    mod join_nulls;
    mod join_skew;
    pub mod means;
    mod merge;
    mod row_ids;
    mod rows;
    mod wide_join;
    mod wide_keys;
}

mod page {
    mod answers;
    mod changes;
    mod changes_edges;
    mod changes_faults;
    mod changes_forms;
    mod checked;
    mod checker;
    mod cores;
    mod edges;
    mod errors;
    mod faults;
    mod forms;
    mod ids;
    mod layout;
    mod properties;
    mod repeats;
    mod skew;
    mod small_pages;
    mod sources;
    mod splits;
    mod tags;
}

mod set {
    mod changes;
    mod cuckoo;
    mod cuckoo_faults;
    mod operations;
    mod page;
}

mod cuckoo {
    mod checker;
    mod edges;
    mod errors;
    mod faults;
    mod formulas;
    mod properties;
}

mod two_level {
    mod checked;
    mod edges;
    mod errors;
    mod faults;
    mod properties;
    mod restarts;
}

mod linear {
    mod edges;
    mod errors;
    mod faults;
    mod fixed;
    mod growth;
    mod in_turn;
    mod model;
    mod model_checker;
    mod properties;
    mod races;
    mod slots;
}

mod extendible {
    mod checker;
    mod edges;
    mod errors;
    mod faults;
    mod memory;
    mod properties;
    mod streams;
    mod structure;
}

mod sorted {
    mod edges;
    mod errors;
    mod faults;
    mod properties;
}

mod compacting {
    mod properties;
}

mod multi {
    mod errors;
    mod faults;
    mod properties;
}

mod rows {
    mod edges;
    mod faults;
    mod properties;
}

mod strings {
    mod cores;
    mod edges;
    mod faults;
    mod hashers;
    mod properties;
    mod reference;
}

mod files {
    mod crafted;
    mod damage;
    mod endless;
    mod faults;
    mod mapped;
    mod round_trips;
}
