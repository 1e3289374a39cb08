//! Sets of points on a device, and the keys of their features.

use super::points::{self, Points, PointsError};
use thiserror::Error;
use warpnest::{Buffer, Device, Stream};
use warpnest_applications_kernels::images::{FEATURES, FIRST_FAR, Keys, KeysParams, NEIGHBOURS, word_of_point};

/// The reason why a search fails.
#[derive(Debug, Error)]
pub enum FindError {
    #[error(transparent)]
    Points(#[from] PointsError),
    #[error(transparent)]
    Device(#[from] warpnest::Error),
    #[error("{points} points at once have too many features for 32 bits; hand over fewer sets")]
    TooManyFeatures { points: usize },
}

pub(super) type Result<T> = std::result::Result<T, FindError>;

/// Sets of points on a device, with the keys of their features.
pub struct Sets {
    pub(super) count: usize,
    pub(super) points: Buffer<u64>,
    /// The index of the set of each point.
    pub(super) sets: Buffer<u32>,
    /// The index of the first point of each set, then the number of all points.
    pub(super) starts: Buffer<u32>,
    pub(super) frames: Buffer<u32>,
    pub(super) far: Buffer<u32>,
    pub(super) keys: Buffer<u32>,
}

impl Sets {
    /// Copies sets to a device.
    pub fn new(device: &Device, sets: &[Points]) -> Result<Self> {
        points::check(sets)?;
        device.load(&crate::KERNELS)?;
        let number = sets.iter().map(|set| set.points.len()).sum::<usize>();
        if number > u32::MAX as usize / FEATURES {
            return Err(FindError::TooManyFeatures { points: number });
        }
        let (mut words, mut owners, mut starts) = (Vec::with_capacity(number), Vec::with_capacity(number), vec![0]);
        let mut frames = Vec::with_capacity(4 * sets.len());
        for (owner, Points { points, frame }) in sets.iter().enumerate() {
            words.extend(points.iter().copied().map(word_of_point));
            owners.resize(words.len(), owner as u32);
            starts.push(words.len() as u32);
            frames.extend([frame.left, frame.top, frame.width, frame.height].map(f32::to_bits));
        }
        Ok(Self {
            count: sets.len(),
            points: Buffer::from_slice(device, &words)?,
            sets: Buffer::from_slice(device, &owners)?,
            starts: Buffer::from_slice(device, &starts)?,
            frames: Buffer::from_slice(device, &frames)?,
            far: Buffer::zeroed(device, number * (NEIGHBOURS - FIRST_FAR))?,
            keys: Buffer::zeroed(device, number * FEATURES)?,
        })
    }

    /// Returns the number of sets.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Returns whether there are no sets.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Queues the kernel that computes the keys of all features.
    pub(super) fn hash(&mut self, stream: &Stream, no_key: u32) -> Result<()> {
        let points = self.points.len() as u64;
        let plan = KeysParams { points, no_key, padding: 0 };
        // SAFETY: every point has a set, whose start and end are in `starts`. `far` and `keys` have
        // as many elements for each point as the kernel writes.
        unsafe {
            stream.launch(points as usize, |uses| Keys {
                points: uses.read(&self.points),
                sets: uses.read(&self.sets),
                starts: uses.read(&self.starts),
                far: uses.write(&mut self.far),
                keys: uses.write(&mut self.keys),
                plan,
            })?;
        }
        Ok(())
    }
}
