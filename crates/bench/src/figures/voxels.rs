//! The comparison of a hash table with a sorted array in (Alcantara 2009), for finer and finer
//! voxels of a mesh.

use anyhow::{Context as _, ensure};
use warpnest::primitives::{Scratch, binary_search, sort_pairs};
use warpnest::{Answers, Buffer, TwoLevelConfig, TwoLevelMap};

use super::figure::{Axis, Figure, Series};
use super::lab::Lab;
use super::scale::Scale;
use super::voxelization::{COARSEST, FINEST, Model};
use crate::bench::input;
use crate::bench::roofline::median_ms;

/// The names of the measurements for each voxelization, as in (Alcantara 2009).
const NAMES: [&str; 4] =
    ["hash: construction", "hash: retrieval", "sorted array: radix sort", "sorted array: binary search"];

/// Measures a map and a sorted array for each voxelization.
///
/// The map is built, and all voxels are looked up in random order. The same pairs are sorted, and
/// looked up by binary search.
pub fn alcantara_2009(lab: &Lab, model: &Model) -> anyhow::Result<Figure> {
    let grids = grids(lab.largest);
    lab.begin("voxels", grids.len());
    let mut series = NAMES.map(|name| Series { name, points: Vec::new(), cited: None });
    for grid in grids {
        lab.step(format!("{grid} x {grid} x {grid}"));
        let voxels = model.voxels(grid)?;
        let times = measure(lab, &voxels).with_context(|| format!("voxels of {}, grid {grid}", model.name))?;
        for (series, time) in series.iter_mut().zip(times) {
            series.points.push((voxels.len() as f64 / 1e6, time));
        }
    }
    Ok(Figure {
        name: "alcantara_2009_voxels",
        title: "Finer and finer voxels: hash table and sorted array".to_owned(),
        note: format!(
            "Voxels of {} as keys of 32 bits, triangles as values; all keys looked up in random order.",
            model.name
        ),
        x: Axis { label: "keys (millions)", scale: Scale::Linear },
        y: Axis { label: "time (ms)", scale: Scale::Linear },
        series: series.into(),
        end: None,
    })
}

/// Returns grids for which the number of a surface's voxels grows evenly: ten grids, or fewer if
/// they are coarse.
///
/// The number of voxels grows with the square of the side. A surface touches about five times as
/// many voxels as the grid's face has.
fn grids(largest: u64) -> Vec<u32> {
    let finest = (largest as f64 / 5.0).sqrt().min(FINEST as f64);
    let mut grids: Vec<u32> = (1..=10).map(|i| (finest * (i as f64 / 10.0).sqrt()) as u32).collect();
    grids.iter_mut().for_each(|grid| *grid = (*grid).max(COARSEST));
    grids.dedup();
    grids
}

/// Measures the times that [`NAMES`] lists, in milliseconds. `voxels` are in ascending order of
/// keys.
fn measure(lab: &Lab, voxels: &[(u32, u32)]) -> anyhow::Result<[f64; NAMES.len()]> {
    let (device, stream) = (&lab.device, lab.device.default_stream());
    // A voxelizer on a GPU writes voxels in random order, and queries come in another order.
    let (keys, values) = in_random_order(voxels, |key| key);
    let (queries, expected) = in_random_order(voxels, |key| !key);
    let (keys, values) = (Buffer::from_slice(device, &keys)?, Buffer::from_slice(device, &values)?);
    let queries = Buffer::from_slice(device, &queries)?;

    let config = TwoLevelConfig::default().assume_unique().seed(1);
    let mut map: TwoLevelMap<u32, u32> = config.build(device, &keys, &values)?;
    let construction = median_ms(stream, 1, lab.runs, || map.rebuild(&keys, &values))?;
    let mut answers = Answers::new(device, queries.len())?;
    let retrieval = median_ms(stream, 1, lab.runs, || map.get_many_into(stream, &queries, &mut answers))?;
    check(&answers.download(stream)?, &expected).context("the map")?;

    let (sort, sorted_keys, sorted_values) = sorted(lab, &keys, &values)?;
    let sorted = sorted_keys.download(stream)?.into_iter().zip(sorted_values.download(stream)?);
    ensure!(sorted.eq(voxels.iter().copied()), "the sorted array is wrong");
    // A new buffer has none of the map's answers.
    let mut answers = Answers::new(device, queries.len())?;
    let search = median_ms(stream, 1, lab.runs, || {
        binary_search(stream, (&sorted_keys, &sorted_values), &queries, &mut answers)
    })?;
    check(&answers.download(stream)?, &expected).context("the binary search")?;
    Ok([construction, retrieval, sort, search])
}

/// Returns the milliseconds of a sort, and the sorted keys and values.
pub fn sorted(
    lab: &Lab,
    keys: &Buffer<u32>,
    values: &Buffer<u32>,
) -> warpnest::Result<(f64, Buffer<u32>, Buffer<u32>)> {
    let (device, stream) = (&lab.device, lab.device.default_stream());
    let mut scratch = Scratch::new(device);
    let (mut sorted_keys, mut sorted_values) =
        (Buffer::zeroed(device, keys.len())?, Buffer::zeroed(device, values.len())?);
    let mut times = Vec::new();
    // The sort works in place, so each run needs its input again. The first run, which allocates
    // scratch memory, is a warm-up.
    for _ in 0..=lab.runs {
        sorted_keys.copy_from(stream, keys)?;
        sorted_values.copy_from(stream, values)?;
        times.push(median_ms(stream, 0, 1, || sort_pairs(stream, &mut scratch, &mut sorted_keys, &mut sorted_values))?);
    }
    let times = &mut times[1..];
    times.sort_by(f64::total_cmp);
    Ok((times[times.len() / 2], sorted_keys, sorted_values))
}

fn check(answers: &[Option<u32>], expected: &[u32]) -> anyhow::Result<()> {
    ensure!(answers.len() == expected.len(), "{} answers to {} queries", answers.len(), expected.len());
    let wrong = answers.iter().zip(expected).filter(|(answer, expected)| **answer != Some(**expected)).count();
    ensure!(wrong == 0, "{wrong} of {} answers are wrong", answers.len());
    Ok(())
}

/// Returns keys and values in an order that is unrelated to the keys' order. Another `salt` gives
/// another order.
fn in_random_order(voxels: &[(u32, u32)], salt: impl Fn(u32) -> u32) -> (Vec<u32>, Vec<u32>) {
    let mut voxels = voxels.to_vec();
    voxels.sort_unstable_by_key(|&(key, _)| input::key::<u32>(salt(key) as u64));
    voxels.into_iter().unzip()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grids_are_finer_and_finer_and_in_range() {
        for largest in [512, 1 << 10, 1 << 20, 1 << 31] {
            let grids = grids(largest);
            assert!(grids.is_sorted_by(|a, b| a < b) && grids[0] >= COARSEST, "{grids:?}");
        }
        assert_eq!(grids(1 << 27).last(), Some(&FINEST));
        assert_eq!(grids(1 << 27).len(), 10);
    }
}
