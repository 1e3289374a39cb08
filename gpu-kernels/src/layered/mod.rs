//! Tables on top of another table: dense ids (compacting) and many values per key (multimap).

pub mod compacting;
pub mod multi;
