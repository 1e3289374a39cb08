//! Hashers that give strings the same hash on purpose.

use std::hash::{BuildHasher, DefaultHasher, Hasher};

/// A hasher that keeps only some bits of a good hash.
#[derive(Clone, Copy, Debug)]
pub struct Narrow {
    /// The bits that are kept.
    pub mask: u64,
}

/// The hashers keep no bits (all hashes are equal), a few low or a few high bits (most are equal),
/// and all bits.
pub const HASHERS: [Narrow; 4] =
    [Narrow { mask: 0 }, Narrow { mask: 0b111 }, Narrow { mask: 0b11 << 62 | 1 << 32 }, Narrow { mask: u64::MAX }];

/// The state of [`Narrow`].
pub struct NarrowHasher(DefaultHasher, u64);

impl BuildHasher for Narrow {
    type Hasher = NarrowHasher;
    fn build_hasher(&self) -> NarrowHasher {
        NarrowHasher(DefaultHasher::new(), self.mask)
    }
}

impl Hasher for NarrowHasher {
    fn write(&mut self, bytes: &[u8]) {
        self.0.write(bytes);
    }
    fn finish(&self) -> u64 {
        self.0.finish() & self.1
    }
}
