//! Multimaps and compacting tables as arguments of kernels of your own.

use crate::runtime::stream::Uses;
use crate::table::design::Design;
use crate::table::id_table::Ids;
use crate::table::raw::RawTable;
use crate::table::raw::sealed::Sealed;
use crate::table::refs::HasRef;
use crate::{CompactingTable, Key, MultiMap, Value};
use gpu_kernels::refs::{CompactingRef, MultiRef};

/// The ref (a kernel argument) of a map from keys to ids, of design `D`.
type IdRef<K, D> = <<D as Design>::Table<<K as Value>::Word, u32> as RawTable<<K as Value>::Word, u32>>::Ref;

impl<K: Key, V: Value, D: Ids> Sealed for MultiMap<K, V, D> {}
impl<K: Key, V: Value, D: Ids> HasRef for MultiMap<K, V, D> {
    type Ref = MultiRef<K::Word, V::Word, IdRef<K, D>>;

    fn lend<'b>(&'b self, uses: &Uses<'b>) -> Self::Ref {
        let (lasts, values) = (self.lasts(), self.value_buffer().words());
        MultiRef::new(self.runs().lend(uses), uses.read(lasts), uses.read(values))
    }
}

impl<K: Key, D: Ids> Sealed for CompactingTable<K, D> {}
impl<K: Key, D: Ids> HasRef for CompactingTable<K, D> {
    type Ref = CompactingRef<K::Word, IdRef<K, D>>;

    fn lend<'b>(&'b self, uses: &Uses<'b>) -> Self::Ref {
        let keys = uses.read(self.key_buffer().words());
        CompactingRef::new(self.ids().lend(uses), keys, self.len() as u64)
    }
}
