//! Bringing a few words to the host sooner than a copy does: the host sees them come, word by word.

use crate::seam::{Global, SystemScope};

/// What is to be brought.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct ReadbackParams {
    /// Which word is the first.
    pub first: u32,
    /// The number of words.
    pub words: u32,
    /// What says that a word has come.
    pub epoch: u32,
    /// Nothing.
    pub padding: u32,
}

kernel! {
    /// Writes `words[first + i]`, with the epoch above it, to `readback[i]`, memory of the host, which may look at it meanwhile: where it finds the
    /// epoch, it has the word. One thread a word.
    Readback<>, "land", threads 256;
    { words: Global<u32>, readback: Global<u64>, plan: ReadbackParams }
    |args, block| {
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
