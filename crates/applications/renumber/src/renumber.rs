//! The mapping of a graph's nodes to dense ids, and back.

use rayon::prelude::*;
use std::time::{Duration, Instant};
use warpnest::{Buffer, CompactingConfig, Device, Result, Stream};

/// A stage of the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Copies the ends to the device.
    Copy,
    /// Builds the table, which gives each node an id.
    Build,
    /// Builds the table again, in the memory that it has.
    Rebuild,
    /// Looks up the ids of all ends.
    Ids,
    /// Looks up the nodes of all ids.
    Back,
    /// Checks the results on the host.
    Check,
}

impl Stage {
    pub const ALL: [Self; 6] = [Self::Copy, Self::Build, Self::Rebuild, Self::Ids, Self::Back, Self::Check];

    pub fn name(self) -> &'static str {
        match self {
            Self::Copy => "copy to the device",
            Self::Build => "number the nodes",
            Self::Rebuild => "number them again",
            Self::Ids => "ids of all ends",
            Self::Back => "and back",
            Self::Check => "check",
        }
    }
}

/// The ends of edges as dense ids.
#[derive(Debug)]
pub struct Renumbered {
    /// The dense id of each end's node.
    pub ids: Vec<u32>,
    /// The number of distinct nodes.
    pub nodes: usize,
    /// The bytes of the table on the device.
    pub table_bytes: usize,
    /// The time of each stage, in the order of [`Stage::ALL`].
    pub times: [Duration; 6],
    /// The number of ends whose id does not lead back to their node, or is in the wrong order.
    pub wrong: usize,
}

/// Gives the nodes at `ends` dense ids, in the order of first appearance or in any order. Then
/// looks up the id of every end and the node of every id, and compares. `begin` is called before
/// each stage.
pub fn renumber(device: &Device, ends: &[u64], in_order: bool, begin: &mut dyn FnMut(Stage)) -> Result<Renumbered> {
    let stream = device.default_stream();
    let mut clock = Clock { stream, begin, times: [Duration::ZERO; 6] };
    let config = CompactingConfig::default();
    let config = if in_order { config.in_order_of_appearance() } else { config };
    let keys = clock.run(Stage::Copy, || Buffer::from_slice(device, ends))?;
    let mut table = clock.run(Stage::Build, || config.build(device, &keys))?;
    clock.run(Stage::Rebuild, || table.rebuild(&keys))?;
    let ids = clock.run(Stage::Ids, || table.get_many_on(stream, &keys))?;
    drop(keys);
    let back = clock.run(Stage::Back, || table.keys_of_many_on(stream, ids.values()))?;
    let nodes = table.len();
    let table_bytes = table.ids().memory_bytes() + nodes * size_of::<u64>();
    let (ids, wrong) = clock.run(Stage::Check, || {
        let ids = ids.values().download(stream)?;
        let back = back.values().download(stream)?;
        let wrong_ends = back.par_iter().zip(ends).filter(|(back, end)| back != end).count();
        let wrong = wrong_ends + wrong_ids(&ids, nodes, in_order);
        Ok((ids, wrong))
    })?;
    Ok(Renumbered { ids, nodes, table_bytes, times: clock.times, wrong })
}

/// A clock that measures the stages.
struct Clock<'c> {
    stream: &'c Stream,
    begin: &'c mut dyn FnMut(Stage),
    times: [Duration; 6],
}

impl Clock<'_> {
    fn run<T>(&mut self, stage: Stage, work: impl FnOnce() -> Result<T>) -> Result<T> {
        (self.begin)(stage);
        let start = Instant::now();
        let done = work()?;
        self.stream.synchronize()?;
        self.times[stage as usize] = start.elapsed();
        Ok(done)
    }
}

/// Returns the number of wrong ids: too large, missing, or not in the order of first appearance.
fn wrong_ids(ids: &[u32], nodes: usize, in_order: bool) -> usize {
    let mut seen = vec![false; nodes];
    let (mut different, mut wrong) = (0, 0);
    for &id in ids {
        match seen.get_mut(id as usize) {
            None => wrong += 1,
            Some(true) => {}
            Some(new) => {
                *new = true;
                wrong += usize::from(in_order && id != different);
                different += 1;
            }
        }
    }
    wrong + (nodes - different as usize)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{Degrees, Graph};

    #[test]
    fn every_node_has_one_id_and_back() {
        for (degrees, nodes) in [(Degrees::Uniform, 5000), (Degrees::PowerLaw { exponent: 1.2 }, 1 << 40)] {
            let ends = Graph { nodes, edges: 20_000, degrees, seed: 3 }.ends(&|_| ()).unwrap();
            let different: std::collections::HashSet<u64> = ends.iter().copied().collect();
            for in_order in [false, true] {
                let mut stages = Vec::new();
                let done = renumber(&Device::cpu(), &ends, in_order, &mut |stage| stages.push(stage)).unwrap();
                assert_eq!((done.nodes, done.wrong, done.ids.len()), (different.len(), 0, ends.len()));
                assert_eq!(stages, Stage::ALL);
                assert!(done.table_bytes > 16 * done.nodes);
                assert!(!in_order || done.ids[0] == 0);
            }
        }
    }

    #[test]
    fn no_edges_have_no_nodes() {
        let done = renumber(&Device::cpu(), &[], true, &mut |_| ()).unwrap();
        assert_eq!((done.nodes, done.wrong, done.ids), (0, 0, vec![]));
    }

    #[test]
    fn wrong_ids_are_counted() {
        assert_eq!(wrong_ids(&[0, 1, 0, 2], 3, true), 0);
        assert_eq!(wrong_ids(&[1, 0, 2], 3, false), 0);
        assert_eq!(wrong_ids(&[1, 0, 2], 3, true), 2);
        assert_eq!(wrong_ids(&[0, 3], 3, false), 1 + 2);
    }
}
