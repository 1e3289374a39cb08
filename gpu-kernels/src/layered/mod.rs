//! Tables that stand on another table: dense ids (compacting) and many values a key (multimap).

pub mod compacting;
pub mod multi;
