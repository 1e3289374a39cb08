//! Joins whose result is keys and values.

use super::by_keys::ByKeys;
use super::columns::Columns;
use super::joined::{JoinMethod, JoinReport, Joined};
use super::query::{JoinOptions, JoinQuery, JoinResult, Joins};
use super::run::{Input, run};
use super::sides::Side;
use crate::error::same_length;
use crate::primitives::{Scratch, gather};
use crate::relational::columns::{Column, IntoColumn, OnDevice};
use crate::{Buffer, Device, Key, Result, Stream, Value};
use gpu_kernels::types::KeyWord;
use std::fmt;

/// An inner join that returns the key of each pair of rows, and a value of each side, instead of
/// row indices. Values have 32 bits.
///
/// ```
/// use warpnest::Device;
/// use warpnest::relational::JoinWithValues;
///
/// let device = Device::best()?;
/// let (readings, degrees) = ([7u32, 9, 7], [20.5f32, 18.0, 21.5]);
/// let (sensors, floors) = ([7u32, 8], [-1i32, 4]);
///
/// let joined = JoinWithValues::new((&readings, &degrees), (&sensors, &floors)).run(&device)?;
/// let stream = device.default_stream();
/// assert_eq!(joined.keys().download(stream)?, [7, 7]);
/// assert_eq!(joined.right_values().download(stream)?, [-1, -1]);
/// assert_eq!(joined.left_values().download(stream)?.iter().sum::<f32>(), 42.0);
/// # Ok::<(), warpnest::Error>(())
/// ```
///
/// - **When to use it.** A [`Join`](super::Join) returns row indices, by which columns of any type
///   can be gathered, with one random read per row. Here the values are split together with their
///   rows ([`JoinMethod::Split`]), which is faster for one column of each side. If a side is small,
///   they are gathered, too.
/// - **Order, complexity, concurrent operations**: as in a [`Join`](super::Join).
/// - **Memory.** The scratch takes as much as in a [`Join`](super::Join), and another 4 bytes per
///   row of a side whose keys may be null. The result takes 12 bytes per pair, or 16 bytes with
///   64-bit keys. If a side is small, the values are gathered into additional memory of 8 bytes per
///   pair.
pub type JoinWithValues<'q, K, L, R> = JoinQuery<'q, WithValues<'q, K, L, R>>;

/// The keys and the values of both tables.
pub struct WithValues<'q, K, L, R> {
    keys: ByKeys<'q, K>,
    left: Column<'q, L>,
    right: Column<'q, R>,
}

impl<'q, K: Key, L: Value<Word = u32>, R: Value<Word = u32>> JoinWithValues<'q, K, L, R> {
    /// Returns the join of a left and a right table, each given by its keys and its values.
    pub fn new(
        left: (impl IntoColumn<'q, K>, impl IntoColumn<'q, L>),
        right: (impl IntoColumn<'q, K>, impl IntoColumn<'q, R>),
    ) -> Self {
        let keys = ByKeys::new(left.0, right.0);
        Self::of(WithValues { keys, left: left.1.into_column(), right: right.1.into_column() })
    }
}

impl<'q, K: Key, L: Value<Word = u32>, R: Value<Word = u32>> Joins<'q> for WithValues<'q, K, L, R> {
    const NAME: &'static str = "JoinWithValues";
    type Result = JoinedValues<K, L, R>;

    fn compute(
        &self,
        options: &JoinOptions<'q>,
        stream: &Stream,
        scratch: &mut Scratch,
        joined: &mut JoinedValues<K, L, R>,
    ) -> Result<()> {
        // Meanwhile the columns contain row indices, which may be invalid values, so a panic must
        // leave `joined` empty.
        let mut memory = joined.take();
        let done = self.compute_in(&mut memory, options, stream, scratch);
        *joined = memory;
        done
    }
}

impl<'q, K: Key, L: Value<Word = u32>, R: Value<Word = u32>> WithValues<'q, K, L, R> {
    fn compute_in(
        &self,
        memory: &mut JoinedValues<K, L, R>,
        options: &JoinOptions<'q>,
        stream: &Stream,
        scratch: &mut Scratch,
    ) -> Result<()> {
        let device = &scratch.device().clone();
        let [of_left, of_right] = [self.left.rows(), self.right.rows()];
        let (left, right) = (self.left.on_device(device)?, self.right.on_device(device)?);
        let JoinedValues { keys, sides, gathered, .. } = memory;
        let Joined { left: left_out, right: right_out, report } = sides;
        self.keys.run_with(options, stream, scratch, |sides, scratch| {
            let [left_keys, right_keys] = [&sides.left, &sides.right].map(|side| side.rows());
            same_length(("the left keys", left_keys), ("the left values", of_left))?;
            same_length(("the right keys", right_keys), ("the right values", of_right))?;
            let left = of_valid_rows(stream, scratch, &sides.left, &left)?;
            let right = of_valid_rows(stream, scratch, &sides.right, &right)?;
            let input = Input { values: [Some(&*left), Some(&*right)], ..sides.input() };
            let (left_out, right_out) = (&mut *left_out, &mut *right_out);
            let columns = Columns {
                most: u64::MAX,
                besides: 0,
                left: &mut *left_out,
                right: &mut *right_out,
                keys: Some(&mut *keys),
            };
            (_, *report) = run(stream, scratch, input, None, Some(columns))?;
            if report.method != JoinMethod::Split {
                // The columns contain row indices.
                keys.fit(device, left_out.len())?;
                gather(stream, input.keys[0], left_out, keys)?;
                for (rows, values) in [(left_out, &*left), (right_out, &*right)] {
                    gathered.fit(device, rows.len())?;
                    gather(stream, values, rows, gathered)?;
                    std::mem::swap(rows, gathered);
                }
                stream.synchronize()?;
            }
            for values in [left, right] {
                if let OnDevice::Own(values) = values {
                    scratch.give_back(values);
                }
            }
            Ok(())
        })
    }
}

/// Returns the values of the rows of a table that have keys.
fn of_valid_rows<'v, W: KeyWord>(
    stream: &Stream,
    scratch: &mut Scratch,
    side: &Side<'_, W>,
    values: &'v Buffer<u32>,
) -> Result<OnDevice<'v, u32>> {
    let Some(numbers) = side.numbers() else { return Ok(OnDevice::Buffer(values)) };
    let mut compacted = scratch.lend(numbers.len())?;
    gather(stream, values, numbers, &mut compacted)?;
    Ok(OnDevice::Own(compacted))
}

/// The result of a join, on the device: the keys and the values of pairs of rows, in any order.
pub struct JoinedValues<K: Key, L, R> {
    keys: Buffer<K::Word>,
    /// The columns of left and right values.
    sides: Joined,
    /// Memory for gathered values.
    gathered: Buffer<u32>,
    types: std::marker::PhantomData<(L, R)>,
}

impl<K: Key, L: Value<Word = u32>, R: Value<Word = u32>> JoinedValues<K, L, R> {
    /// Returns a result without rows and without memory, which can be passed to
    /// [`JoinWithValues::run_into`].
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory), [`Error::Driver`](crate::Error::Driver).
    pub fn new(device: &Device) -> Result<Self> {
        let (keys, gathered) = (Buffer::uninitialized(device, 0)?, Buffer::uninitialized(device, 0)?);
        Ok(Self { keys, sides: Joined::new(device)?, gathered, types: std::marker::PhantomData })
    }

    /// Takes the memory, and leaves a result without rows in its place.
    fn take(&mut self) -> Self {
        let Self { keys, sides: Joined { left, right, report }, gathered, types } = self;
        let sides = Joined { left: left.take(), right: right.take(), report: *report };
        Self { keys: keys.take(), sides, gathered: gathered.take(), types: *types }
    }

    /// Returns the count of pairs.
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Returns whether there are no pairs.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// Returns the keys.
    pub fn keys(&self) -> &Buffer<K> {
        // SAFETY: the words are keys of type `K`.
        unsafe { self.keys.as_type() }
    }

    /// Returns the values of the left rows.
    pub fn left_values(&self) -> &Buffer<L> {
        // SAFETY: the words are values of type `L`.
        unsafe { self.sides.left.as_type() }
    }

    /// Returns the values of the right rows.
    pub fn right_values(&self) -> &Buffer<R> {
        // SAFETY: the words are values of type `R`.
        unsafe { self.sides.right.as_type() }
    }

    /// Returns a report of how the join was computed.
    pub fn report(&self) -> JoinReport {
        self.sides.report
    }
}

impl<K: Key, L: Value<Word = u32>, R: Value<Word = u32>> JoinResult for JoinedValues<K, L, R> {
    fn without_rows(device: &Device) -> Result<Self> {
        Self::new(device)
    }

    fn column(&self) -> &Buffer<u32> {
        &self.sides.left
    }

    fn empty(&mut self) {
        self.keys.empty();
        self.sides.empty();
    }
}

impl<K: Key, L, R> fmt::Debug for JoinedValues<K, L, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinedValues").field("pairs", &self.keys.len()).field("report", &self.sides.report).finish()
    }
}
