//! The kernels of the extendible map.

use gpu_kernels::extendible::{
    Absorb, AroundParams, BuildLeaves, BuildParams, CopyParams, CopyTables, Divide, DivideParams, Find, FindParams,
    InsertFresh, InspectParams, Layout, Locate, MergeAround, MergeBuddies, MergeParams, MergedParams, Needs,
    NeedsParams, Overflows, Redirect, RedirectParams, Release, ReleaseParams, Remove, RemoveParams, Repack,
    SearchParams, TableDepths, Unpack, UnpackParams, Update,
};
use gpu_kernels::seam::Kernel;
use warpnest::types::{WordKey as Key, WordValue as Value};
use warpnest_tests::null;

fn layout() -> Layout {
    Layout { a: 0, b: 0, roots: 4, table_bits: 2, lines: 1, records: 1, depth: 0, padding: 0 }
}

/// The kernels for one pair of types.
pub fn pairs<K: Key, V: Value>() -> Vec<Box<dyn Kernel>> {
    let layout = layout();
    let (keys, values, segments, pages) = (null::<K>(), null::<V>(), null(), null());
    let (last, fresh, found, counts, nodes, free) = (null(), null(), null(), null(), null(), null());
    let (search, find) = (SearchParams { layout, pairs: 0 }, FindParams { layout, queries: 0 });
    let divide = DivideParams { layout, nodes: 0 };
    let build = BuildParams { layout, leaves: 0, free: 0, used: 0 };
    let (merged, inspect) = (MergedParams { layout, merged: 0 }, InspectParams { layout, used: 0 });
    let unpack = UnpackParams { layout, used: 0, capacity: 0 };
    let remove = RemoveParams { layout, keys: 0 };
    let (leaves, count, forward, placed) = (null(), null(), null(), null());
    vec![
        Box::new(Find::<K, V> { queries: keys, segments, pages, values, found, plan: find }),
        Box::new(Locate::<K, V> { keys, last, segments, pages, fresh, plan: search }),
        Box::new(Update::<K, V> { keys, values, last, fresh, segments, pages, plan: search }),
        Box::new(Overflows::<K, V> { keys, segments, pages, nodes, counts, plan: search }),
        Box::new(Divide::<K, V> { keys, pages, nodes, next: nodes, leaves, counts, plan: divide }),
        Box::new(BuildLeaves::<K, V> { leaves, keys, values, placed, free, segments, pages, plan: build }),
        Box::new(InsertFresh::<K, V> { keys, values, placed, segments, pages, plan: search }),
        Box::new(Remove::<K, V> { keys, segments, pages, values, found, counts, plan: remove }),
        Box::new(Absorb::<K, V> { merged: null(), segments, pages, plan: merged }),
        Box::new(Unpack::<K, V> { pages, keys_out: keys, values_out: values, count, plan: unpack }),
        Box::new(Repack::<K, V> { pages, pages_out: pages, forward, counts, plan: inspect }),
    ]
}

/// The kernel for one type of keys.
pub fn keys<K: Key>() -> Box<dyn Kernel> {
    let plan = AroundParams { layout: layout(), keys: 0, most: 0 };
    let (segments, pages, merged, counts) = (null(), null(), null(), null());
    Box::new(MergeAround { keys: null::<K>(), segments, pages, merged, counts, plan })
}

/// The kernels that depend neither on keys nor on values.
pub fn of_no_type() -> [Box<dyn Kernel>; 6] {
    let layout = layout();
    let (addresses, segments, pages, merged, counts) = (null(), null(), null(), null(), null());
    let tables = RedirectParams { layout, tables: 0 };
    let merge = MergeParams { layout, used: 0, most: 0 };
    let needs = NeedsParams { layout, leaves: 0 };
    let release = ReleaseParams { layout, buckets: 0, stride: 1, offset: 0, free: 0 };
    [
        Box::new(CopyTables { addresses, plan: CopyParams { tables: 0, entries: 4 } }),
        Box::new(Needs { leaves: null(), segments, needs: null(), counts, plan: needs }),
        Box::new(MergeBuddies { segments, pages, merged, counts, plan: merge }),
        Box::new(Release { list: null(), free: null(), pages, plan: release }),
        Box::new(TableDepths { segments, pages, depths: null(), plan: InspectParams { layout, used: 0 } }),
        Box::new(Redirect { addresses, forward: null(), plan: tables }),
    ]
}
