//! Reading a few words back to the host sooner than a copy does: the host polls the memory that the
//! kernel writes.

use crate::seam::{Block, Global, SystemScope};

/// The arguments of a readback.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct ReadbackParams {
    /// The index of the first word.
    pub first: u32,
    /// The count of words.
    pub words: u32,
    /// The epoch, which tells the words of this readback from older ones.
    pub epoch: u32,
    /// An unused field, which fills the struct up.
    pub padding: u32,
}

kernel! {
    /// Writes `words[first + i]`, with the epoch in the upper half, to `readback[i]` in host
    /// memory. The host may poll that memory during the launch: a word with the epoch has arrived.
    /// One thread writes a word.
    Readback<>, "readback", threads 256;
    { words: Global<u32>, readback: Global<u64>, plan: ReadbackParams }
}

impl Readback {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B) {
        let args = self;
        let ReadbackParams { first, words, epoch, .. } = args.plan;
        let first_thread = block.first_thread();
        let mut threads = block.local(|_| ());
        block.each(&mut threads, |thread, _| {
            let number = first_thread + thread as u64;
            if number < words as u64 {
                let tagged = (epoch as u64) << 32 | args.words.load(first as u64 + number) as u64;
                args.readback.atomic(number).scoped::<SystemScope>().store(tagged);
            }
        });
    }
}
