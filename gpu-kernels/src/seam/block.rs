//! The execution model: a block of threads, tiles whose lanes run in step, and the memory that the
//! threads of a block share.

use super::global::Global;
use super::word::Word;

/// The count of lanes of a warp.
pub const LANES: usize = 32;

/// A thread block. Code that holds this value is the same for all threads of the block.
///
/// The work of one thread is in a closure that is given to the block. A thread's index exists only
/// in such a closure, and the closure cannot reach the block, so a barrier in divergent code cannot
/// be written. State that one thread keeps from one closure to the next is in a [`Block::Local`].
///
/// # What does not compile
///
/// Threads run concurrently, so no thread may change a variable of the code around the closures:
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
/// A cell does not help. What threads count together is in shared or global memory, or is counted
/// by [`Block::count`]:
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
/// A thread's closure cannot contain a barrier, whether in a branch or outside of one:
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
/// A thread's state can only be reached inside closures, since no thread is running outside them:
///
/// ```compile_fail,E0614
/// # use gpu_kernels::seam::Block;
/// fn wrong<B: Block>(block: &mut B) -> u32 {
///     let state = block.local(|thread| thread);
///     *state
/// }
/// ```
pub trait Block: Sized {
    /// The type of the state that each thread keeps, one `T` a thread: a register on the GPU, an
    /// array on the CPU.
    type Local<T>;
    /// The type of an array in the block's shared memory.
    type Shared<T: Word>: Shared<T>;
    /// The type of a tile of this block: the lanes of a warp.
    type Tile: Tile;
    /// The type of the block that [`Block::strided`] gives.
    type Strided: Block;

    /// Returns the block with as many threads as suit the back end, for kernels that process their
    /// work in strides of [`Block::threads`]. The GPU uses all threads of the block, the CPU one.
    ///
    /// On the CPU, a tile of the returned block has one lane.
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

    /// Initializes the state of every thread.
    fn local<T>(&mut self, initial: impl Fn(u32) -> T + Sync) -> Self::Local<T>;

    /// Runs `work` on every thread, without a barrier. Threads must not depend on each other's work
    /// until the next [`Block::phase`] or [`Block::count`] has ended.
    fn each<T>(&mut self, local: &mut Self::Local<T>, work: impl Fn(u32, &mut T) + Sync);

    /// Runs `work` on every thread, as [`Block::each`] does, for threads without state.
    #[inline(always)]
    fn each_thread(&mut self, work: impl Fn(u32) + Sync) {
        let mut nothing = self.local(|_| ());
        self.each(&mut nothing, |thread, _| work(thread));
    }

    /// Runs `work` once for each item below `items`, without a barrier. A thread takes the item
    /// with its index in the grid.
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

    /// Runs `work` on every thread, then waits at a barrier. Returns the count of threads for which
    /// `work` returned true.
    fn count<T>(&mut self, local: &mut Self::Local<T>, work: impl Fn(u32, &mut T) -> bool + Sync) -> u32;

    /// Divides the block into tiles and runs `work` with each tile.
    fn tiles(&mut self, work: impl Fn(&mut Self::Tile) + Sync);

    /// Divides the block as [`Block::tiles`] does, and gives each tile the part of the block's
    /// `local` that belongs to its threads.
    fn tiles_of<T>(
        &mut self,
        local: &mut Self::Local<T>,
        work: impl Fn(&mut Self::Tile, &mut TileLocal<Self, T>) + Sync,
    );

    /// Waits at a barrier.
    fn sync(&mut self);
}

/// The state of a tile's lanes, as a part of the state of a block's threads.
pub type TileLocal<B, T> = <<B as Block>::Tile as Tile>::Local<T>;

/// A tile: the lanes of one warp, which run in step. They can vote and read each other's registers
/// without a barrier.
pub trait Tile {
    /// The type of the state that each lane keeps, one `T` a lane.
    type Local<T>;

    /// Returns the index, within the block, of this tile's first thread.
    fn first_thread(&self) -> u32;

    /// Initializes the state of every lane.
    fn local<T>(&mut self, initial: impl Fn(u32) -> T + Sync) -> Self::Local<T>;

    /// Runs `work` on every lane.
    fn each<T>(&mut self, local: &mut Self::Local<T>, work: impl Fn(u32, &mut T) + Sync);

    /// Collects the votes of all lanes: bit `i` is set if `test` returns true for lane `i`.
    fn ballot<T>(&mut self, local: &Self::Local<T>, test: impl Fn(u32, &T) -> bool + Sync) -> u32;

    /// Returns the result of `read` on lane `lane` to all lanes.
    fn pick<T>(&mut self, local: &Self::Local<T>, lane: u32, read: impl Fn(&T) -> u32 + Sync) -> u32;

    /// Passes to `tell` on every lane the sum of `read` over the lanes before it, and over all
    /// lanes (both wrapping).
    fn exclusive_sum<T, N: Word>(
        &mut self,
        local: &mut Self::Local<T>,
        read: impl Fn(u32, &T) -> N + Sync,
        tell: impl Fn(u32, &mut T, N, N) + Sync,
    );

    /// Returns to all lanes the sum of `read` over all lanes. Words are the bits of `f64` numbers.
    fn sum_floats<T>(&mut self, local: &Self::Local<T>, read: impl Fn(u32, &T) -> u64 + Sync) -> u64;

    /// Finds for every lane its twin, the highest lane with the same word, and calls `tell(lane,
    /// state, twin)`. A lane without a word is its own twin. `read` returns a word and its class,
    /// which must be the same for equal words and should differ in the lower 8 bits for others.
    ///
    /// A lane may get itself although a higher lane has the same word: always on a CPU, where lanes
    /// do not wait for each other, and now and then on a GPU. The twin of another lane is its own
    /// twin.
    fn twins<T, N: Word>(
        &mut self,
        local: &mut Self::Local<T>,
        read: impl Fn(u32, &T) -> Option<(N, u32)> + Sync,
        tell: impl Fn(u32, &mut T, u32) + Sync,
    );

    /// Counts the lanes' items by class, in `ROWS` rows. The items are counted in the order of the
    /// rows, and within each row in the order of the lanes. Each item adds one to the counter of
    /// its class, and `tell` gets the old value.
    ///
    /// A class is a value of `bits` bits, at most 10. The counter of class 0 has index `first`,
    /// which must be even; the other counters follow. Counters have 16 bits, two in a word of
    /// `counters`, and must not overflow. Other tiles must not use the same counters until the next
    /// barrier.
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
/// If one thread writes a word and another one uses it, the accesses must be atomic, or have a
/// barrier between them ([`Block::phase`] ends with one).
pub trait Shared<T: Word>: Copy + Sync {
    /// The type that [`Shared::cast`] returns: the same memory as words of another type.
    type As<U: Word>: Shared<U>;
    /// Whether [`Shared::staged`] returns the target itself. If so, the words of one record should
    /// be adjacent. If not, the same word of all records should be adjacent, since of the banks of
    /// shared memory.
    const IN_PLACE: bool;
    /// Returns an array in which the block prepares `length` words for `target`. On a GPU that is
    /// this array, and the block has to copy the words. On a back end whose device memory is as
    /// near, it is `target` itself.
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
    /// Adds to word `index`, wrapping. Returns the old value.
    fn fetch_add(self, index: u32, value: T) -> T;
    /// Adds to word `index`, where both are the bits of floating-point numbers: `f32` or `f64`.
    fn add_float(self, index: u32, value: T);
    /// Raises word `index` to at least `value`. Returns the old value.
    fn fetch_max(self, index: u32, value: T) -> T;
    /// Writes `value` to word `index`. Returns the old value.
    fn exchange(self, index: u32, value: T) -> T;
    /// Sets the bits of `value` in word `index`. Returns the old value.
    fn fetch_or(self, index: u32, value: T) -> T;
    /// Writes `value` to word `index` if that contains `expected`. Returns the old value.
    fn compare_exchange(self, index: u32, expected: T, value: T) -> T;
    /// Reads word `index` while other threads may be changing it by atomic operations.
    fn load_relaxed(self, index: u32) -> T;
    /// Reads two words as [`Shared::load_relaxed`] does. `index`, the index of the first word, is
    /// even.
    #[inline(always)]
    fn load_pair_relaxed(self, index: u32) -> [T; 2] {
        [self.load_relaxed(index), self.load_relaxed(index + 1)]
    }
}
