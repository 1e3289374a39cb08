//! The computation of a frame from two meshes and their motions.

use warpnest::{Buffer, Device, PageConfig, PageMap, Stream};

use super::flood::Flood;
use super::surface::Surface;
use super::{FrameError, MAX_SIDE, Motion, open_edges};
use warpnest_voxels::mesh::Mesh;

/// The names of a frame's stages, in order.
pub const STAGES: [&str; 7] = ["move", "voxelize", "sort", "build", "ask", "flood", "classify"];

/// The counts of one shape in a frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// The number of voxels that its surface touches.
    pub voxels: usize,
    /// The number of these voxels, each counted for every triangle that touches it.
    pub touched: u64,
    /// The number of voxels that both surfaces touch.
    pub common: usize,
    /// The number of regions into which the common voxels divide the others.
    pub regions: usize,
    /// The number of voxels inside the other shape, or `None` if the other mesh is not closed.
    pub inside: Option<usize>,
}

/// The result of a frame.
#[derive(Clone, Debug)]
pub struct Frame {
    /// The counts of both shapes.
    pub counts: [Counts; 2],
    /// The milliseconds of each of [`STAGES`], for both shapes together, by the device's clock.
    pub milliseconds: [f64; STAGES.len()],
}

/// The voxels of a shape, on the host.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Voxels {
    /// The key of each voxel, in ascending order.
    pub keys: Vec<u32>,
    /// The last triangle that touches each voxel.
    pub triangles: Vec<u32>,
    /// Whether the other surface also touches the voxel.
    pub common: Vec<bool>,
    /// Whether the voxel lies inside the other shape; always false if the other mesh is not closed.
    pub inside: Vec<bool>,
}

/// One shape: its surface, the table of its voxels, and the flood over it.
#[derive(Debug)]
struct Shape {
    surface: Surface,
    map: PageMap<u32, u32>,
    flood: Flood,
    open_edges: usize,
}

/// Two shapes on a device, in a grid.
#[derive(Debug)]
pub struct Scene {
    side: u32,
    stream: Stream,
    shapes: [Shape; 2],
    /// Whether the last frame failed, so that buffers may be of different frames.
    failed: bool,
}

impl Scene {
    /// Copies two meshes at rest to the device. Motions place them in a grid with `side` voxels per
    /// side.
    pub fn new(device: &Device, meshes: [&Mesh; 2], side: u32) -> Result<Self, FrameError> {
        if !(8..=MAX_SIDE).contains(&side) {
            return Err(FrameError::Side { side });
        }
        let shape = |mesh: &Mesh| -> Result<Shape, FrameError> {
            let none = Buffer::<u32>::zeroed(device, 0)?;
            // A surface has each of its voxels only once.
            let config = PageConfig::default().assume_unique();
            let map = config.build(device, &none, &none)?;
            let (surface, flood) = (Surface::new(device, mesh)?, Flood::new(device)?);
            Ok(Shape { surface, map, flood, open_edges: open_edges(mesh) })
        };
        let [a, b] = meshes;
        Ok(Self { side, stream: device.stream()?, shapes: [shape(a)?, shape(b)?], failed: false })
    }

    /// Returns the number of open edges of each mesh; a closed mesh has none.
    pub fn open_edges(&self) -> [usize; 2] {
        self.shapes.each_ref().map(|shape| shape.open_edges)
    }

    /// Computes a frame from scratch, and waits for it. After an error no voxels can be copied
    /// until another frame succeeds.
    pub fn frame(&mut self, motions: &[Motion; 2]) -> Result<Frame, FrameError> {
        self.failed = true;
        let frame = self.compute(motions)?;
        self.failed = false;
        Ok(frame)
    }

    fn compute(&mut self, motions: &[Motion; 2]) -> Result<Frame, FrameError> {
        let Self { side, stream, shapes, .. } = self;
        let (side, stream) = (*side, &*stream);
        let mut events = vec![stream.record()?];
        for (shape, motion) in shapes.iter_mut().zip(motions) {
            shape.surface.move_to(stream, motion)?;
        }
        events.push(stream.record()?);
        let mut touched = [0; 2];
        for (shape, touched) in shapes.iter_mut().zip(&mut touched) {
            *touched = shape.surface.voxelize(stream, side)?;
        }
        events.push(stream.record()?);
        for shape in shapes.iter_mut() {
            shape.surface.sort(stream)?;
        }
        events.push(stream.record()?);
        for Shape { surface, map, .. } in shapes.iter_mut() {
            map.on(stream)?.rebuild(&surface.keys, &surface.ranks)?;
        }
        events.push(stream.record()?);
        let [a, b] = shapes;
        a.flood.ask(stream, &a.surface, &b.map)?;
        b.flood.ask(stream, &b.surface, &a.map)?;
        events.push(stream.record()?);
        a.flood.fill(stream, &a.surface, &a.map)?;
        b.flood.fill(stream, &b.surface, &b.map)?;
        events.push(stream.record()?);
        a.flood.classify(stream, &a.surface, &b.surface, side)?;
        b.flood.classify(stream, &b.surface, &a.surface, side)?;
        events.push(stream.record()?);

        let mut counts = [Counts::default(); 2];
        for (own, other) in [(0, 1), (1, 0)] {
            let [inside, common, regions] = shapes[own].flood.counts(stream)?;
            counts[own] = Counts {
                voxels: shapes[own].surface.keys.len(),
                touched: touched[own],
                common,
                regions,
                inside: (shapes[other].open_edges == 0).then_some(inside),
            };
        }
        let mut milliseconds = [0.0; STAGES.len()];
        for (time, pair) in milliseconds.iter_mut().zip(events.windows(2)) {
            *time = pair[1].milliseconds_since(&pair[0])?;
        }
        Ok(Frame { counts, milliseconds })
    }

    /// Copies the voxels of both shapes in the last frame to the host. If that frame failed, this
    /// returns [`FrameError::NoFrame`].
    pub fn voxels(&self) -> Result<[Voxels; 2], FrameError> {
        if self.failed {
            return Err(FrameError::NoFrame);
        }
        let [a, b] = &self.shapes;
        Ok([self.voxels_of(a, b)?, self.voxels_of(b, a)?])
    }

    fn voxels_of(&self, shape: &Shape, other: &Shape) -> Result<Voxels, FrameError> {
        let (stream, length) = (&self.stream, shape.surface.keys.len());
        let bits = |words: &Buffer<u32>| -> Result<Vec<bool>, FrameError> {
            let words = words.download(stream)?;
            Ok((0..length).map(|i| words[i / 32] >> (i % 32) & 1 != 0).collect())
        };
        let closed = other.open_edges == 0;
        Ok(Voxels {
            keys: shape.surface.keys.download(stream)?,
            triangles: shape.surface.numbers.download(stream)?,
            common: bits(&shape.flood.walls)?,
            inside: if closed { bits(&shape.flood.inside)? } else { vec![false; length] },
        })
    }
}
