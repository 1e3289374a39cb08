//! The execution model: a block of threads, tiles of lanes in step, and the memory that a block
//! shares.

use super::global::Global;
use super::word::Word;

/// The number of lanes of a warp.
pub const LANES: usize = 32;

/// A thread block, held by code that is the same for all its threads.
///
/// What one thread does is in a closure that is given to the block. A thread's index exists only
/// there, and the closure cannot reach the block, so a barrier in divergent code cannot be written.
/// State that one thread keeps from one closure to the next is in a [`Block::Local`].
///
/// # What does not compile
///
/// Threads run at once, so none may change what the code around the closures holds:
///
/// ```compile_fail,E0594
/// # use gpu_kernels::seam::Block;
/// fn wrong(block: &mut impl Block) -> u32 {
///     let mut last = 0;
///     block.each_thread(|thread| last = thread);
///     last
/// }
/// ```
///
/// A cell does not help; what threads count together is in shared or global memory, or a
/// [`Block::count`]:
///
/// ```compile_fail,E0277
/// # use gpu_kernels::seam::Block;
/// fn wrong(block: &mut impl Block) -> u32 {
///     let last = core::cell::Cell::new(0);
///     block.each_thread(|thread| last.set(thread));
///     last.get()
/// }
/// ```
///
/// No barrier stands in what one thread does, in a branch or out of one:
///
/// ```compile_fail,E0500
/// # use gpu_kernels::seam::Block;
/// fn wrong(block: &mut impl Block) {
///     block.each_thread(|thread| {
///         if thread < 32 {
///             block.sync();
///         }
///     });
/// }
/// ```
///
/// A thread's state is reached in closures alone: outside them no thread is running whose state it
/// could be.
///
/// ```compile_fail,E0614
/// # use gpu_kernels::seam::Block;
/// fn wrong<B: Block>(block: &mut B) -> u32 {
///     let state = block.local(|thread| thread);
///     *state
/// }
/// ```
pub trait Block: Sized {
    /// The type of one `T` for each thread: a register on the GPU, an array on the CPU.
    type Local<T>;
    /// The type of an array in the block's shared memory.
    type Shared<T: Word>: Shared<T>;
    /// The type of a tile of this block: the lanes of a warp.
    type Tile: Tile;
    /// The type of the block that [`Block::strided`] gives.
    type Strided: Block;

    /// Returns the block with as many threads as suit the back end, for kernels that process their
    /// work in strides of [`Block::threads`]. That is all threads on the GPU, one on the CPU.
    ///
    /// Tiles of such a block have one lane on the CPU.
    fn strided(&mut self) -> &mut Self::Strided;
    /// Returns the index of this block in the grid.
    fn index(&self) -> u32;
    /// Returns the count of blocks in the grid.
    fn grid(&self) -> u32;
    /// Returns the count of threads of the block.
    fn threads(&self) -> u32;

    /// Returns the index, in the whole grid, of this block's first thread.
    #[inline(always)]
    fn first_thread(&self) -> u64 {
        self.index() as u64 * self.threads() as u64
    }

    /// Gives every thread its state.
    fn local<T>(&mut self, initial: impl Fn(u32) -> T + Sync) -> Self::Local<T>;

    /// Runs `work` on every thread, without a barrier: threads must not depend on each other's work
    /// until the next [`Block::phase`] or [`Block::count`] has ended.
    fn each<T>(&mut self, local: &mut Self::Local<T>, work: impl Fn(u32, &mut T) + Sync);

    /// Runs `work` on every thread, as [`Block::each`] does, for threads that keep nothing.
    #[inline(always)]
    fn each_thread(&mut self, work: impl Fn(u32) + Sync) {
        let mut nothing = self.local(|_| ());
        self.each(&mut nothing, |thread, _| work(thread));
    }

    /// Runs `work` for each item of the grid's threads that there is, one thread an item, without a
    /// barrier.
    #[inline(always)]
    fn each_item(&mut self, items: u64, work: impl Fn(u64) + Sync) {
        let first = self.first_thread();
        self.each_thread(|thread| {
            let item = first + thread as u64;
            if item >= items {
                return;
            }
            work(item);
        });
    }

    /// Runs `work` on every thread, then waits at a barrier.
    fn phase<T>(&mut self, local: &mut Self::Local<T>, work: impl Fn(u32, &mut T) + Sync);

    /// Runs `work` on every thread, then waits at a barrier; returns for how many threads it was
    /// true.
    fn count<T>(&mut self, local: &mut Self::Local<T>, work: impl Fn(u32, &mut T) -> bool + Sync) -> u32;

    /// Divides the block into tiles and runs `work` with each one.
    fn tiles(&mut self, work: impl Fn(&mut Self::Tile) + Sync);

    /// Divides the block as [`Block::tiles`] does, and gives each tile the state of its threads:
    /// their part of the block's `local`.
    fn tiles_of<T>(
        &mut self,
        local: &mut Self::Local<T>,
        work: impl Fn(&mut Self::Tile, &mut TileLocal<Self, T>) + Sync,
    );

    /// Waits at a barrier.
    fn sync(&mut self);
}

/// The state that the lanes of a block's tile keep.
pub type TileLocal<B, T> = <<B as Block>::Tile as Tile>::Local<T>;

/// A tile: the lanes of one warp, in step, that can vote and read each other's registers without a
/// barrier.
pub trait Tile {
    /// The type of one `T` for each lane.
    type Local<T>;

    /// Returns the index, within the block, of this tile's first thread.
    fn first_thread(&self) -> u32;

    /// Gives every lane its state.
    fn local<T>(&mut self, initial: impl Fn(u32) -> T + Sync) -> Self::Local<T>;

    /// Runs `work` on every lane.
    fn each<T>(&mut self, local: &mut Self::Local<T>, work: impl Fn(u32, &mut T) + Sync);

    /// Collects the votes of all lanes: bit `i` is set if `test` holds for lane `i`.
    fn ballot<T>(&mut self, local: &Self::Local<T>, test: impl Fn(u32, &T) -> bool + Sync) -> u32;

    /// Returns the result of `read` on lane `lane` to all lanes.
    fn pick<T>(&mut self, local: &Self::Local<T>, lane: u32, read: impl Fn(&T) -> u32 + Sync) -> u32;

    /// Tells every lane the sum of `read` over the lanes before it, and over all lanes (both
    /// wrapping).
    fn exclusive_sum<T, N: Word>(
        &mut self,
        local: &mut Self::Local<T>,
        read: impl Fn(u32, &T) -> N + Sync,
        tell: impl Fn(u32, &mut T, N, N) + Sync,
    );

    /// Tells every lane the highest lane that holds the same word, by `tell(lane, state, twin)`, or
    /// itself if it holds none. `read` gives a word, and a class, which is the same for equal words
    /// and should differ in the lower 8 bits for others.
    ///
    /// A lane may be told itself though a higher one holds the same word: always on a CPU, where
    /// lanes do not wait for each other, and now and then on a GPU. A lane that others are told is
    /// told itself.
    fn twins<T, N: Word>(
        &mut self,
        local: &mut Self::Local<T>,
        read: impl Fn(u32, &T) -> Option<(N, u32)> + Sync,
        tell: impl Fn(u32, &mut T, u32) + Sync,
    );

    /// Counts the lanes' items by class, in `ROWS` rows. They are counted in the order of the rows,
    /// and in each row in the order of the lanes. Each item adds one to the counter of its class
    /// and is told what the counter held.
    ///
    /// Classes have `bits` bits, at most 10. The counter of class 0 is index `first`, which must be
    /// even; the others follow it. Counters have 16 bits, two in a word of `counters`, and must not
    /// overflow. Other tiles must not use the same counters until the next barrier.
    fn count_in_order<T, const ROWS: usize>(
        &mut self,
        local: &mut Self::Local<T>,
        counters: impl Shared<u32>,
        first: u32,
        bits: u32,
        class: impl Fn(&T, usize) -> u32 + Sync,
        tell: impl Fn(&mut T, usize, u32) + Sync,
    );
}

/// An array in a block's shared memory. Its words have arbitrary values at first.
///
/// Reads and writes of different threads to one word need a barrier between them ([`Block::phase`]
/// ends with one), or the atomic operations.
pub trait Shared<T: Word>: Copy + Sync {
    /// The type of the same memory as words of another type.
    type As<U: Word>: Shared<U>;
    /// Whether [`Shared::staged`] gives the target itself. Then the words of one record should be
    /// adjacent. In shared memory, whose banks threads share, the same word of all records should
    /// be.
    const IN_PLACE: bool;
    /// Returns an array in which `length` words are prepared that end up at `target`. It is this
    /// array, from which the block has to copy them; or it is the target itself, if the device's
    /// memory is as near to a block.
    fn staged(self, target: Global<T>, length: u32) -> Self;
    /// Returns the same memory as words of another type. An array of `u32` is aligned for `u64` at
    /// its start.
    fn cast<U: Word>(self) -> Self::As<U>;
    /// Reads word `index`.
    fn get(self, index: u32) -> T;
    /// Writes word `index`.
    fn set(self, index: u32, value: T);
    /// Writes 0 to `count` words that begin at word `first`.
    #[inline(always)]
    fn clear(self, first: u32, count: u32) {
        (first..first + count).for_each(|index| self.set(index, T::default()));
    }
    /// Adds to word `index`, wrapping; returns what it held.
    fn fetch_add(self, index: u32, value: T) -> T;
    /// Raises word `index` to at least `value`; returns what it held.
    fn fetch_max(self, index: u32, value: T) -> T;
    /// Writes `value` to word `index`; returns what it held.
    fn exchange(self, index: u32, value: T) -> T;
    /// Sets the bits of `value` in word `index`; returns what it held.
    fn fetch_or(self, index: u32, value: T) -> T;
    /// Writes `value` to word `index` if it holds `expected`; returns what it held.
    fn compare_exchange(self, index: u32, expected: T, value: T) -> T;
    /// Reads word `index`, which other threads may be changing by the atomic operations.
    fn load_relaxed(self, index: u32) -> T;
    /// Reads two words, the first of which has an even index, as [`Shared::load_relaxed`] does.
    #[inline(always)]
    fn load_pair_relaxed(self, index: u32) -> [T; 2] {
        [self.load_relaxed(index), self.load_relaxed(index + 1)]
    }
}
