//! Made-up graphs: edges between nodes whose ids are random numbers of 64 bits.

use rand_distr::{Distribution, Zipf};
use rand_xoshiro::Xoshiro256StarStar;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use rayon::prelude::*;

/// The number of ends in a chunk. Each chunk has a random generator, so that any number of cores
/// makes the same graph.
const CHUNK: usize = 1 << 16;

/// The distribution of the ends of edges over the nodes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Degrees {
    /// All nodes are equally frequent.
    Uniform,
    /// Node `r` has a frequency about proportional to `1 / r^exponent`.
    PowerLaw { exponent: f64 },
}

/// A made-up graph.
#[derive(Clone, Copy, Debug)]
pub struct Graph {
    /// The number of nodes that edges can connect; at least 1.
    pub nodes: u64,
    pub edges: usize,
    pub degrees: Degrees,
    pub seed: u64,
}

impl Graph {
    /// Returns the ids of the nodes at the two ends of each edge, edge after edge, or `None` if the
    /// exponent of the power law is not valid.
    ///
    /// `progress` is called with the number of ends in each chunk that is done.
    pub fn ends(&self, progress: &(impl Fn(usize) + Sync)) -> Option<Vec<u64>> {
        let zipf = match self.degrees {
            Degrees::Uniform => None,
            Degrees::PowerLaw { exponent } => Some(Zipf::new(self.nodes as f64, exponent).ok()?),
        };
        let mut ends = vec![0; 2 * self.edges];
        ends.par_chunks_mut(CHUNK).enumerate().for_each(|(chunk, ends)| {
            let mut random = Xoshiro256StarStar::seed_from_u64(mixed(self.seed ^ mixed(chunk as u64)));
            for end in &mut *ends {
                let node = match &zipf {
                    // The product's high half is a random number below the second factor.
                    None => ((u128::from(random.next_u64()) * u128::from(self.nodes)) >> 64) as u64,
                    Some(zipf) => zipf.sample(&mut random) as u64 - 1,
                };
                *end = mixed(node ^ self.seed);
            }
            progress(ends.len());
        });
        Some(ends)
    }
}

/// Returns the image of a number under a bijection of 64 bits, the last step of SplitMix64 (Steele
/// et al. 2014). So different nodes have different ids.
fn mixed(number: u64) -> u64 {
    let number = (number ^ number >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ number >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ number >> 31
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    fn counts(graph: Graph) -> Vec<usize> {
        let ends = graph.ends(&|_| ()).unwrap();
        assert_eq!(ends.len(), 2 * graph.edges);
        let mut counts = HashMap::new();
        ends.iter().for_each(|end| *counts.entry(*end).or_insert(0) += 1);
        let mut counts: Vec<usize> = counts.into_values().collect();
        counts.sort_unstable_by(|a, b| b.cmp(a));
        counts
    }

    #[test]
    fn uniform_nodes_come_alike_and_those_of_a_power_law_do_not() {
        let graph = Graph { nodes: 100, edges: 100_000, degrees: Degrees::Uniform, seed: 7 };
        let uniform = counts(graph);
        assert_eq!(uniform.len(), 100);
        assert!(uniform[0] < 2400 && uniform[99] > 1600, "{uniform:?}");
        let skewed = counts(Graph { degrees: Degrees::PowerLaw { exponent: 1.0 }, ..graph });
        // The first of 100 nodes should have 1 / 5.19 of the ends.
        assert!((36_000..41_000).contains(&skewed[0]) && skewed[99] < 800, "{skewed:?}");
        assert!(Graph { degrees: Degrees::PowerLaw { exponent: f64::NAN }, ..graph }.ends(&|_| ()).is_none());
    }

    #[test]
    fn a_seed_makes_one_graph() {
        let graph = Graph { nodes: 1000, edges: 100_000, degrees: Degrees::Uniform, seed: 7 };
        let ends = graph.ends(&|_| ()).unwrap();
        assert!(ends == graph.ends(&|_| ()).unwrap());
        assert!(ends != Graph { seed: 8, ..graph }.ends(&|_| ()).unwrap());
    }
}
