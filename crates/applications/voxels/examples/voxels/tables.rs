//! The two tables of voxels, which are built, queried for each other's voxels, and timed.

use std::{iter::zip, time::Instant};

use anyhow::ensure;
use warpnest::types::WordKey as Key;
use warpnest::{Answers, Buffer, Device, PageConfig, PageMap};

use warpnest_voxels::voxelize::{FINEST_NARROW, Surface, narrow};

/// The number of timed runs of each operation on the device; their median is reported.
const RUNS: usize = 5;

/// The measurements of the table of one surface.
pub struct Measured {
    pub key_bits: u32,
    pub slots: u64,
    pub bytes: u64,
    /// The times by the host's clock: from slices on the host to a table, and from queries on the
    /// host to answers there.
    pub from_host: Times,
    /// The times from buffers to buffers by the device's clock, without the bus and without
    /// allocations.
    pub on_device: Option<Times>,
    /// The answers for the other surface's voxels: the triangle of each voxel that is in this
    /// table.
    pub answers: Vec<Option<u32>>,
}

/// The milliseconds that a build and the lookup of all queries take.
#[derive(Clone, Copy, Debug)]
pub struct Times {
    pub build: f64,
    pub query: f64,
}

/// Builds the table of each surface and queries it for the voxels of the other surface.
///
/// On a GPU it also measures the times without the bus; the CPU engine has no bus.
pub fn measure(device: &Device, grid: u32, surfaces: [&Surface; 2]) -> anyhow::Result<[Measured; 2]> {
    let has_bus = *device != Device::cpu();
    if grid <= FINEST_NARROW {
        let keys = surfaces.map(|surface| Vec::from_iter(surface.keys.iter().map(|key| narrow(*key))));
        measure_both(device, has_bus, surfaces, keys.each_ref().map(Vec::as_slice))
    } else {
        measure_both(device, has_bus, surfaces, surfaces.map(|surface| &surface.keys[..]))
    }
}

/// Builds and queries both tables; the surfaces' keys have 32 or 64 bits.
fn measure_both<K: Key>(
    device: &Device,
    has_bus: bool,
    [a, b]: [&Surface; 2],
    [a_keys, b_keys]: [&[K]; 2],
) -> anyhow::Result<[Measured; 2]> {
    Ok([
        measure_one(device, has_bus, (a_keys, &a.triangles), b_keys)?,
        measure_one(device, has_bus, (b_keys, &b.triangles), a_keys)?,
    ])
}

fn measure_one<K: Key>(
    device: &Device,
    has_bus: bool,
    (keys, triangles): (&[K], &[u32]),
    queries: &[K],
) -> anyhow::Result<Measured> {
    // A surface has each voxel only once.
    let config = PageConfig::default().assume_unique();
    if has_bus {
        // The driver compiles a kernel at its first launch. This is done now, because it is no cost
        // of a table.
        let map: PageMap<K, u32> = config.build(device, keys, triangles)?;
        map.get_many(queries)?;
    }
    let start = Instant::now();
    let map: PageMap<K, u32> = config.build(device, keys, triangles)?;
    let build = milliseconds_since(start);
    let start = Instant::now();
    let answers = map.get_many(queries)?;
    let from_host = Times { build, query: milliseconds_since(start) };

    let mut on_device = None;
    if has_bus {
        let (times, same_answers) = measure_on_device(device, &config, (keys, triangles), queries)?;
        ensure!(same_answers == answers, "the table answers otherwise when keys and queries are on the device");
        on_device = Some(times);
    }
    let (slots, bytes) = (map.table().slots(), map.memory_bytes());
    Ok(Measured { key_bits: 8 * size_of::<K>() as u32, slots, bytes: bytes as u64, from_host, on_device, answers })
}

/// Measures rebuilds and lookups between events, in memory that the device already has. Returns the
/// median times and the answers.
fn measure_on_device<K: Key>(
    device: &Device,
    config: &PageConfig,
    (keys, triangles): (&[K], &[u32]),
    queries: &[K],
) -> warpnest::Result<(Times, Vec<Option<u32>>)> {
    let stream = device.default_stream();
    let (keys, triangles) = (Buffer::from_slice(device, keys)?, Buffer::from_slice(device, triangles)?);
    let queries = Buffer::from_slice(device, queries)?;
    let mut answers = Answers::new(device, queries.len())?;
    let mut map: PageMap<K, u32> = config.build(device, &keys, &triangles)?;
    // The first rebuild allocates scratch memory, which later rebuilds reuse.
    map.rebuild(&keys, &triangles)?;
    let (mut builds, mut lookups) = ([0.0; RUNS], [0.0; RUNS]);
    for (build, lookup) in zip(&mut builds, &mut lookups) {
        let start = stream.record()?;
        map.rebuild(&keys, &triangles)?;
        *build = stream.record()?.milliseconds_since(&start)?;
        let start = stream.record()?;
        map.get_many_into(stream, &queries, &mut answers)?;
        *lookup = stream.record()?.milliseconds_since(&start)?;
    }
    let times = Times { build: median(builds), query: median(lookups) };
    Ok((times, answers.download(stream)?))
}

fn median(mut times: [f64; RUNS]) -> f64 {
    times.sort_by(f64::total_cmp);
    times[RUNS / 2]
}

fn milliseconds_since(start: Instant) -> f64 {
    1e3 * start.elapsed().as_secs_f64()
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpnest_voxels::placement::fit_to_grid;
    use warpnest_voxels::{models, voxelize};

    fn surfaces() -> [Surface; 2] {
        let (a, b) = (models::wavy_sphere(60, 30), models::torus_knot(200, 16));
        let (a, b) = fit_to_grid(a, b, 40).unwrap();
        [a, b].map(|mesh| voxelize::voxelize(&mesh, 40, |_| ()))
    }

    /// Returns the expected answers of the table of `own` for the voxels of `other`.
    fn expected(own: &Surface, other: &Surface) -> Vec<Option<u32>> {
        let find = |key| own.keys.binary_search(key).ok().map(|index| own.triangles[index]);
        other.keys.iter().map(find).collect()
    }

    fn assert_right(surfaces: &[Surface; 2], tables: &[Measured; 2], key_bits: u32, on_device: bool) {
        for (i, table) in tables.iter().enumerate() {
            let [own, other] = [i, 1 - i].map(|i| &surfaces[i]);
            assert_eq!(table.answers, expected(own, other));
            assert!(table.answers.iter().any(Option::is_some), "the surfaces meet");
            assert!(table.slots >= own.keys.len() as u64 && table.bytes > 0);
            assert_eq!((table.key_bits, table.on_device.is_some()), (key_bits, on_device));
            for times in [Some(table.from_host), table.on_device].into_iter().flatten() {
                assert!(times.build > 0.0 && times.query > 0.0, "{times:?}");
            }
        }
    }

    #[test]
    fn keys_have_32_bits_up_to_a_grid_of_1024() {
        let surfaces = surfaces();
        for (grid, key_bits) in [(40, 32), (1024, 32), (1025, 64), (4096, 64)] {
            let tables = measure(&Device::cpu(), grid, surfaces.each_ref()).unwrap();
            assert_right(&surfaces, &tables, key_bits, false);
        }
    }

    #[test]
    fn times_without_the_bus_come_with_the_same_answers() {
        let surfaces = surfaces();
        let [a, b] = surfaces.each_ref();
        let tables = measure_both(&Device::cpu(), true, [a, b], [&a.keys, &b.keys]).unwrap();
        assert_right(&surfaces, &tables, 64, true);
        let narrow = |surface: &Surface| Vec::from_iter(surface.keys.iter().map(|key| narrow(*key)));
        let tables = measure_both(&Device::cpu(), true, [a, b], [&narrow(a), &narrow(b)]).unwrap();
        assert_right(&surfaces, &tables, 32, true);
    }
}
