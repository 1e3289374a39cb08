//! Bringing a few words to the host sooner than a copy does: the host sees them come, word by word.

use crate::seam::Global;

/// What is to be brought.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct LandPlan {
    /// The number of words.
    pub words: u32,
    /// What says that a word has come.
    pub mark: u32,
}

kernel! {
    /// Writes word `i` of `words`, with the mark above it, to `landing[i]`, memory of the host: whoever finds the mark there has the word.
    Land<>, "land", threads 256;
    { words: Global<u32>, landing: Global<u64>, plan: LandPlan }
    |args, block| {
        let first = block.first_thread();
        let mut threads = block.local(|_| ());
        block.each(&mut threads, |thread, _| {
            let word = first + thread as u64;
            if word < args.plan.words as u64 {
                args.landing.store(word, (args.plan.mark as u64) << 32 | args.words.load(word) as u64);
            }
        });
    }
}
