//! What tables of several kinds share: the answers of a lookup, and the slots of cuckoo tables.

pub mod lookup;
pub mod slots;
