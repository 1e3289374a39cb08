//! A map that is lent to a kernel that changes it.

use super::LinearMap;
use super::table::{Change, Counts, Interrupted, LinearTable};
use crate::runtime::capture;
use crate::runtime::stream::Finish;
use crate::runtime::stream::Uses;
use crate::{Buffer, Error, Key, Result, Stream, Value};
use gpu_kernels::double_word::{Half, PackedPair};
use gpu_kernels::linear::{InspectParams, Layout, Recount, header};
use gpu_kernels::refs::LinearRefMut;
use gpu_kernels::types::{KeyWord, ValueWord};
use std::cell::Cell;
use std::rc::Rc;

/// The work on a lent map after the launch of the kernel that changes it: its keys are counted.
#[derive(Debug)]
struct Lent<'b, K: KeyWord, V: ValueWord> {
    words: &'b Buffer<PackedPair<K, V>>,
    header: &'b Buffer<u64>,
    layout: Layout,
    counts: &'b mut Counts,
    interrupted: &'b mut Option<Interrupted>,
    /// Whether the launch may have been queued.
    queued: Rc<Cell<bool>>,
    finished: bool,
}

impl<K: KeyWord, V: ValueWord> Lent<'_, K, V> {
    fn recounted(&self, stream: &Stream) -> Result<Counts> {
        recounted::<K, V>(stream, self.words, self.header, self.layout)
    }
}

impl<K: KeyWord, V: ValueWord> Finish for Lent<'_, K, V> {
    fn finish(mut self: Box<Self>, stream: &Stream, failed: Option<&Error>) -> Result<()> {
        self.finished = true;
        if !self.queued.get() {
            return Ok(());
        }
        let counted = match failed {
            None => self.header.download(stream).map(|header| Counts::of(&header)),
            Some(error) => Err(error.clone()),
        };
        let error = match counted {
            Ok(counts) => {
                *self.counts = counts;
                return Ok(());
            }
            Err(error) => error,
        };
        // Threads that stopped early have not counted their changes.
        match self.recounted(stream) {
            Ok(counts) => *self.counts = counts,
            Err(_) => *self.interrupted = Some(Interrupted { change: Change::Lent, error: error.clone() }),
        }
        Err(error)
    }
}

impl<K: KeyWord, V: ValueWord> Drop for Lent<'_, K, V> {
    fn drop(&mut self) {
        if !self.finished && self.queued.get() {
            let (kernel, fault) = ("that changed a map".to_owned(), "its launch did not come to an end".to_owned());
            *self.interrupted = Some(Interrupted { change: Change::Lent, error: Error::Kernel { kernel, fault } });
        }
    }
}

/// Counts the keys and the non-empty slots from the slots themselves, and stores the counts in the
/// header.
fn recounted<K: KeyWord, V: ValueWord>(
    stream: &Stream,
    words: &Buffer<PackedPair<K, V>>,
    header: &Buffer<u64>,
    layout: Layout,
) -> Result<Counts> {
    stream.batch(|batch| {
        let recount = Recount::<Half<K, V>> {
            words: batch.read(words),
            header: batch.write(header),
            plan: InspectParams { layout, capacity: 0 },
        };
        batch.zero_range(header, header::COUNTERS as usize..header::WORDS)?;
        // SAFETY: slots, header and layout belong together; the counters are 0.
        unsafe { batch.launch(&recount, words.len() as u64) }
    })?;
    Ok(Counts::of(&header.download(stream)?))
}

impl<K: KeyWord, V: ValueWord> LinearTable<K, V> {
    /// Counts the keys from the slots.
    pub(super) fn recount(&mut self, stream: &Stream) -> Result<()> {
        self.counts = recounted::<K, V>(stream, &self.words, &self.header, self.layout)?;
        Ok(())
    }
}

impl<'b> Uses<'b> {
    /// Lends a map to the kernel, which may look up, insert, combine and remove keys. See
    /// [`LinearRefMut`]. The launch then waits until the kernel is done, and counts the keys.
    ///
    /// Reserve capacity first, by [`LinearMap::reserve`], because a kernel cannot make the table
    /// grow. The kernel works on words. It must store only words of keys and values of the map's
    /// types, as [`Stream::launch`] requires. So it may combine values only by a fold of their own
    /// type.
    ///
    /// If an earlier batch failed partway, the keys of the map are counted first. If that is
    /// impossible, the launch returns the error. If the launch or the kernel fails, the changes
    /// made until then stay in the map, and the keys are counted from the slots. If even that is
    /// impossible, or if the kernel panicked on the CPU engine, lookups return errors until a
    /// change succeeds.
    ///
    /// The map cannot be lent a second time in the same launch:
    ///
    /// ```compile_fail,E0502
    /// # use warpnest::low_level::kernels::primitives::iota::{Iota, IotaParams};
    /// # use warpnest::{Buffer, Device, LinearMap};
    /// # let device = Device::cpu();
    /// # let mut output = Buffer::<u32>::zeroed(&device, 8)?;
    /// # let plan = IotaParams { items: 8, first: 0, padding: 0 };
    /// let mut map: LinearMap<u32, u32> = LinearMap::new(&device)?;
    /// unsafe {
    ///     device.default_stream().launch(8, |uses| {
    ///         let (changed, asked) = (uses.table_mut(&mut map), uses.table(&map));
    /// #       Iota { output: uses.write(&mut output), plan }
    ///     })?;
    /// }
    /// # Ok::<(), warpnest::Error>(())
    /// ```
    pub fn table_mut<K: Key, V: Value>(&self, map: &'b mut LinearMap<K, V>) -> LinearRefMut<K::Word, V::Word> {
        let batch = self.batch();
        let recovered = capture::refuse("changes a table").and_then(|()| map.table.recover(batch.stream()));
        let LinearTable { words, header, layout, counts, interrupted, .. } = &mut map.table;
        let (words, header) = (&*words, &*header);
        let (layout, queued) = (*layout, batch.queued());
        match recovered {
            Ok(()) => batch.finish_later(Box::new(Lent::<K::Word, V::Word> {
                words,
                header,
                layout,
                counts,
                interrupted,
                queued,
                finished: false,
            })),
            Err(error) => batch.fail(error),
        }
        LinearRefMut::new(batch.write(words), batch.write(header), layout)
    }
}
