//! The declaration of a kernel, which is written once for the GPU and the CPU.

/// An entry point of a kernel for one choice of types. It has all that an engine needs to know of
/// it besides the arguments.
///
/// The functions that run blocks are compiled once, in the crate that declares the kernel. The
/// functions that check blocks are compiled in the program that launches the kernel, or also there
/// with this crate's feature `precompiled-checks`.
#[cfg(not(target_arch = "nvptx64"))]
#[derive(Debug)]
pub struct Entry {
    /// The name of the entry point in the PTX.
    pub name: &'static str,
    /// The package that declares the kernel, and whose PTX contains the entry point.
    pub package: &'static str,
    /// The count of threads of a block.
    pub threads: u32,
    /// The size in bytes of a block's shared arrays of constant length.
    pub shared_bytes: usize,
    /// The size in bytes of the struct that holds the arguments.
    pub size: usize,
    /// The offset of each parameter in that struct and the parameter's size in bytes, in the order
    /// of the parameters.
    pub parameters: &'static [(usize, usize)],
    /// The function that runs blocks on the CPU; `None` without this crate's feature `cpu`.
    pub run: Option<RunBlocks>,
    /// The function that runs a block on the checking back end; `None` without this crate's feature
    /// `checked`.
    pub check: Option<CheckBlock>,
}

/// A function that runs a range of a grid's blocks, one after the other, on this CPU thread. It
/// takes the address of the kernel's arguments, the range, and the count of blocks.
#[cfg(not(target_arch = "nvptx64"))]
pub type RunBlocks = unsafe fn(*const (), core::ops::Range<u32>, u32);

/// A function that runs one block with the threads of each phase in shuffled order. It takes the
/// address of the kernel's arguments, the block's index, the count of blocks, and the checker.
#[cfg(not(target_arch = "nvptx64"))]
pub type CheckBlock = unsafe fn(*const (), u32, u32, &super::checked::Checker);

/// A kernel with its arguments, as the host launches it.
///
/// [`kernel!`](crate::kernel) implements this trait. The GPU's engine uses the name and the
/// arguments; the CPU's engines run the blocks.
///
/// # Safety
/// The struct at [`Kernel::values`] must be of the type that [`Kernel::entry`] was made for, and
/// must live as long as the kernel.
#[cfg(not(target_arch = "nvptx64"))]
pub unsafe trait Kernel: Send + Sync {
    /// Returns the entry point for the types of the arguments.
    fn entry(&self) -> &'static Entry;
    /// Returns the address of the struct that holds the arguments.
    fn values(&self) -> *const ();

    /// Returns the name of the entry point in the PTX.
    fn name(&self) -> &'static str {
        self.entry().name
    }
    /// Returns the count of threads of a block.
    fn threads(&self) -> u32 {
        self.entry().threads
    }
    /// Returns the size in bytes of a block's dynamic shared array, whose length depends on the
    /// arguments, or 0 without one.
    fn dynamic_bytes(&self) -> usize {
        0
    }
    /// Calls `visit` for every argument in order, with its address and its size in bytes.
    fn arguments(&self, visit: &mut dyn FnMut(*const (), usize)) {
        for &(offset, size) in self.entry().parameters {
            visit(self.values().wrapping_byte_add(offset), size);
        }
    }
    /// Runs the given blocks of the grid, one after the other, on this CPU thread.
    ///
    /// # Panics
    /// If the kernel was compiled without this crate's feature `cpu`.
    ///
    /// # Safety
    /// As for a launch: the pointers among the arguments must be valid for the accesses that the
    /// kernel makes.
    unsafe fn run_on_cpu(&self, blocks: core::ops::Range<u32>, grid: u32) {
        let run = self.entry().run.expect("the feature `cpu` of gpu-kernels compiles kernels for the CPU");
        // SAFETY: the arguments are in the struct that the entry was made for, by the trait's
        // contract. The caller vouches for the pointers.
        unsafe { run(self.values(), blocks, grid) }
    }
    /// Runs one block with the threads of each phase in shuffled order, and records conflicts.
    ///
    /// # Panics
    /// If the kernel was compiled without this crate's feature `checked`.
    ///
    /// # Safety
    /// As for [`Kernel::run_on_cpu`].
    unsafe fn run_checked(&self, block: u32, grid: u32, checker: &super::checked::Checker) {
        let check = self.entry().check.expect("the feature `checked` of gpu-kernels compiles checked kernels");
        // SAFETY: as for `run_on_cpu`.
        unsafe { check(self.values(), block, grid, checker) }
    }
}

/// Declares a kernel once: its arguments, its entry points in the PTX, and the function that runs
/// its blocks on the CPU.
///
/// ```text
/// kernel! {
///     /// What it does.
///     Name<K: KeyWord, V: ValueWord>, "entry_point", threads 64, shared totals: u64 = 2;
///     { keys: Global<K>, words: Global<Slot<K, V>>, plan: NameParams }
/// }
///
/// impl<K: KeyWord, V: ValueWord> Name<K, V> {
///     #[inline(always)]
///     fn run<B: Block>(self, block: &mut B, totals: B::Shared<u64>) {
///         let args = self;
///         …
///     }
/// }
/// ```
///
/// The method `run` contains the work of a block. Its parameters are the shared arrays in the order
/// of the declaration. The arguments are first copied to a local: when `self` was used directly,
/// LLVM left an array of `extendible_divide` on the stack.
///
/// The macro declares `struct Name<K, V>`, whose fields are the arguments. On the host, a value of
/// this struct is a launch. There is an entry point for each choice of `u32` and `u64` as types
/// (`entry_point_u32` …). If the second type parameter is a `Payload`, there is also one for each
/// key type without a value, named as if the key were the only parameter. If it is a `Row`, there
/// is also one for each key type with a list of columns. On the host, `Name::<u32, u64>::ENTRY`
/// contains what an engine needs to know of an entry point.
///
/// Arguments become separate parameters, so that LLVM sees which of them are pointers to global
/// memory. Scalars are together in one `repr(C)` struct. Shared arrays are declared here, once,
/// since on the GPU each expansion makes another array.
///
/// `resident 2` after the threads limits registers so that 2 blocks fit on a multiprocessor. `wide
/// atomics` says that keys or values of 64 bits are changed by atomics of 128 bits. PTX for GPUs
/// that lack such atomics then contains only the entry point of the narrowest types.
///
/// `cpu cores` says that a CPU core, which runs all threads of a block, calls the method `cores`
/// instead of `run`. `cores` has the parameters of `run` and has the same effect on the arguments'
/// memory. It is for kernels whose shared work a single core does faster in another loop.
///
/// `dynamic words: u32 = |kernel| kernel.plan.words` declares a shared array whose length the host
/// computes from the arguments at the launch. The array is the first shared array among the
/// parameters of `run`. The blocks of a GPU may then have more than 48 KiB (`Machine::block_words`
/// in `warpnest` returns how much).
///
/// A kernel with two variants has a constant after its types and a name for each value of the
/// constant: `Name<K: KeyWord; const REPEATS: bool>, "name" | "name_in_order"`. `Name::variant`
/// gives the same arguments to the other variant.
#[macro_export]
macro_rules! kernel {
    (
        $(#[$doc:meta])*
        $name:ident <$($generic:ident : $bound:ident),* $(; const $const:ident : bool)?>,
        $entry:literal $(| $entry_if_true:literal)?, threads $threads:literal
        $(, resident $resident:literal)?
        $(, wide $atomics:ident)?
        $(, cpu $cores:ident)?
        $(, dynamic $dynamic:ident : $dynamic_word:ty = $dynamic_length:expr)?
        $(, shared $shared:ident : $word:ty = $length:expr)* ;
        { $( $argument:ident : $type:ty ),* $(,)? }
    ) => {
        $(#[$doc])*
        #[allow(missing_docs, reason = "the kernel's own text describes its arguments")]
        #[derive(Clone, Copy, Debug)]
        pub struct $name<$($generic: $bound,)* $(const $const: bool)?> {
            $( pub $argument: $type, )*
        }

        $crate::dynamic_length! {
            [<$($generic: $bound,)* $(const $const: bool)?> $name<$($generic,)* $($const)?>] $($dynamic_length)?
        }
        $crate::kernel_variants! {
            $name [$($generic : $bound),*] [$($argument),*] [$($const)?] [$($atomics)?] $entry $(, $entry_if_true)?;
            $threads, [$($resident)?], [$($cores)?],
            [[$($dynamic : $dynamic_word)?] $($shared : $word = $length),*] [$($argument : $type),*]
        }
    };
}

/// The entry points of a kernel, or of both variants of a kernel that has a constant.
#[doc(hidden)]
#[macro_export]
macro_rules! kernel_variants {
    ($name:ident [$($generic:ident : $bound:ident),*] $arguments:tt [] $atomics:tt $entry:literal; $($rest:tt)*) => {
        $crate::backend_kernel! { $name [$($generic : $bound),*] $atomics $entry, [], $($rest)* }
    };
    (
        $name:ident [$($generic:ident : $bound:ident),*] [$($argument:ident),*] [$const:ident] $atomics:tt
        $entry:literal, $entry_if_true:literal; $($rest:tt)*
    ) => {
        impl<$($generic: $bound,)* const $const: bool> $name<$($generic,)* $const> {
            /// Returns the same arguments as a launch of the variant whose constant is `TO`.
            pub fn variant<const TO: bool>(self) -> $name<$($generic,)* TO> {
                let Self { $($argument),* } = self;
                $name { $($argument),* }
            }
        }
        $crate::backend_kernel! { $name [$($generic : $bound),*] $atomics $entry, [false], $($rest)* }
        $crate::backend_kernel! { $name [$($generic : $bound),*] $atomics $entry_if_true, [true], $($rest)* }
    };
}

/// Declares a kernel that only CPU cores run, with one thread a block, since a GPU divides the same
/// work in another way. The kernel has no entry point in the PTX.
///
/// The declaration has the form of [`kernel!`](crate::kernel), without shared arrays and variants.
/// The method `run` is public because nothing calls it on a GPU. By the declared count of threads
/// the engine decides whether to divide the blocks among cores.
#[macro_export]
macro_rules! cores_kernel {
    (
        $(#[$doc:meta])*
        $name:ident <$($generic:ident : $bound:ident),*>, $entry:literal, threads $threads:literal;
        { $( $argument:ident : $type:ty ),* $(,)? }
    ) => {
        $(#[$doc])*
        #[allow(missing_docs, reason = "the kernel's own text describes its arguments")]
        #[derive(Clone, Copy, Debug)]
        pub struct $name<$($generic: $bound),*> {
            $( pub $argument: $type, )*
        }

        $crate::backend_cores_kernel! {
            $name [$($generic : $bound),*] $entry, [], $threads, [], [], [[]] [$($argument : $type),*]
        }
    };
}
