//! The kinds of operations in a mixed batch, without keys and values.

use crate::types::{Plain, Proof};
use crate::{Fold, Value};
use gpu_kernels::linear::Operation;
use std::marker::PhantomData;

/// The kind of an operation in a mixed batch on values of type `V`. It is an element of the buffer
/// that [`LinearMap::apply_many_on`](crate::LinearMap::apply_many_on) takes.
///
/// A kind that combines values can only be made from a [`Fold`] of their own type. So a kind never
/// makes an invalid value from two valid ones. A map whose values are not numbers has no such
/// kinds.
///
/// ```
/// use warpnest::{linear::LinearKind, Buffer, Device, Fold, LinearMap};
///
/// let device = Device::best()?;
/// let stream = device.default_stream();
/// let mut map: LinearMap<u32, i32> = LinearMap::new(&device)?;
/// let kinds = [LinearKind::INSERT, Fold::MAX.into(), LinearKind::GET];
/// let kinds = Buffer::from_slice(&device, &kinds)?;
/// let keys = Buffer::from_slice(&device, &[7, 8, 9])?;
/// let values = Buffer::from_slice(&device, &[-1, -2, 0])?;
/// map.apply_many_on(stream, &kinds, &keys, &values)?;
/// assert_eq!(map.get_many(&[7, 8, 9])?, [Some(-1), Some(-2), None]);
/// # Ok::<(), warpnest::Error>(())
/// ```
///
/// A fold of another number type does not compile, and plain words do not compile either:
///
/// ```compile_fail,E0308
/// # use warpnest::{linear::LinearKind, Buffer, Device, Fold, LinearMap};
/// # let device = Device::cpu();
/// # let stream = device.default_stream();
/// # let keys = Buffer::from_slice(&device, &[1u32])?;
/// let mut map: LinearMap<u32, char> = LinearMap::new(&device)?;
/// let kinds = Buffer::from_slice(&device, &[LinearKind::from(Fold::<u32>::SUM)])?;
/// map.apply_many_on(stream, &kinds, &keys, &Buffer::from_slice(&device, &[char::MAX])?)?;
/// # Ok::<(), warpnest::Error>(())
/// ```
///
/// ```compile_fail,E0308
/// # use warpnest::{Buffer, Device, Fold, LinearMap};
/// # let device = Device::cpu();
/// # let stream = device.default_stream();
/// # let keys = Buffer::from_slice(&device, &[1u32])?;
/// let mut map: LinearMap<u32, char> = LinearMap::new(&device)?;
/// let kinds = Buffer::from_slice(&device, &[Fold::<u32>::SUM.word()])?;
/// map.apply_many_on(stream, &kinds, &keys, &Buffer::from_slice(&device, &[char::MAX])?)?;
/// # Ok::<(), warpnest::Error>(())
/// ```
///
/// A kernel of your own can write kinds; see [`LinearKind::word`].
#[derive(Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct LinearKind<V> {
    word: u32,
    values: PhantomData<fn() -> V>,
}

impl<V> LinearKind<V> {
    /// Looks up the value of the key.
    pub const GET: Self = Self::of(Operation::Get as u32);
    /// Stores the value for the key.
    pub const INSERT: Self = Self::of(Operation::Insert as u32);
    /// Stores the value for the key, unless it has one.
    pub const GET_OR_INSERT: Self = Self::of(Operation::GetOrInsert as u32);
    /// Removes the key.
    pub const REMOVE: Self = Self::of(Operation::Remove as u32);

    const fn of(word: u32) -> Self {
        Self { word, values: PhantomData }
    }

    /// Returns the word that stands for the kind in kernels.
    ///
    /// A kernel that you launch may write such words of `LinearKind<V>` to a buffer of kinds. Other
    /// words do nothing, except the words of folds of another number type. A kernel must not write
    /// these, as [`Stream::launch`](crate::Stream::launch) requires.
    pub const fn word(self) -> u32 {
        self.word
    }
}

impl<V> From<Fold<V>> for LinearKind<V> {
    /// Returns the kind that combines the value of the key with the value in the batch.
    fn from(fold: Fold<V>) -> Self {
        Self::of(fold.word())
    }
}

impl<V: Value> Plain for LinearKind<V> {
    // SAFETY: a kind is a word, and 0 is the kind of a lookup.
    const PROOF: Proof<Self> = unsafe { Proof::promise() };
}

impl<V> Clone for LinearKind<V> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<V> Copy for LinearKind<V> {}
