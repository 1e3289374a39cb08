//! Declaring a kernel once, for the GPU and for the CPU.

/// An entry point of a kernel for one choice of types: all that an engine needs to know of it
/// besides the arguments.
///
/// The functions that run blocks are compiled once, in the crate that declares the kernel. Those
/// that check blocks are compiled in the program that launches the kernel, or once, too, with this
/// crate's feature `precompiled-checks`.
#[cfg(not(target_arch = "nvptx64"))]
#[derive(Debug)]
pub struct Entry {
    /// The name of the entry point in the PTX.
    pub name: &'static str,
    /// The package that declares the kernel, whose PTX has the entry point.
    pub package: &'static str,
    /// The count of threads of a block.
    pub threads: u32,
    /// The size in bytes of a block's shared arrays of constant length.
    pub shared_bytes: usize,
    /// The size in bytes of the struct that holds the arguments.
    pub size: usize,
    /// The offset of each parameter in that struct and its size, in bytes, in the order of the
    /// parameters.
    pub parameters: &'static [(usize, usize)],
    /// The function that runs blocks on the CPU; `None` without this crate's feature `cpu`.
    pub run: Option<RunBlocks>,
    /// The function that runs a block on the checking back end; `None` without this crate's feature
    /// `checked`.
    pub check: Option<CheckBlock>,
}

/// A function that runs some blocks of a grid, one after the other, on this CPU thread: address of
/// the arguments, blocks, size of the grid.
#[cfg(not(target_arch = "nvptx64"))]
pub type RunBlocks = unsafe fn(*const (), core::ops::Range<u32>, u32);

/// A function that runs one block with the threads of each phase in shuffled order: address of the
/// arguments, block, size of the grid.
#[cfg(not(target_arch = "nvptx64"))]
pub type CheckBlock = unsafe fn(*const (), u32, u32, &super::checked::Checker);

/// A kernel with its arguments, as the host launches it.
///
/// [`kernel!`](crate::kernel) implements it. The GPU's engine takes the name and the arguments, the
/// CPU's engines run the blocks.
///
/// # Safety
/// The struct at [`Kernel::values`] must be the one that [`Kernel::entry`] was made for, and live
/// as long as the kernel.
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
    /// Returns the size in bytes of a block's dynamic shared array, whose length the arguments
    /// determine; 0 if there is none.
    fn dynamic_bytes(&self) -> usize {
        0
    }
    /// Visits every argument in order: its address and its size in bytes.
    fn arguments(&self, visit: &mut dyn FnMut(*const (), usize)) {
        for &(offset, size) in self.entry().parameters {
            visit(self.values().wrapping_byte_add(offset), size);
        }
    }
    /// Runs some blocks of the grid, one after the other, on this CPU thread.
    ///
    /// # Panics
    /// If the kernel was declared without the feature `cpu` of this crate.
    ///
    /// # Safety
    /// As for a launch: the pointers among the arguments must be good for what the kernel does with
    /// them.
    unsafe fn run_on_cpu(&self, blocks: core::ops::Range<u32>, grid: u32) {
        let run = self.entry().run.expect("the feature `cpu` of gpu-kernels compiles kernels for the CPU");
        // SAFETY: the arguments are of the entry's struct, by the trait's contract; the caller
        // vouches for the pointers.
        unsafe { run(self.values(), blocks, grid) }
    }
    /// Runs one block with the threads of each phase in shuffled order, and records conflicts.
    ///
    /// # Panics
    /// If the kernel was declared without the feature `checked` of this crate.
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
/// The method `run` is what a block does; it takes the shared arrays in the order of the
/// declaration. The arguments are copied to a local first: where `self` was used itself, LLVM left
/// `extendible_divide` with an array on the stack.
///
/// This gives `struct Name<K, V>` whose fields are the arguments: on the host a value of it is a
/// launch. With one type parameter there is an entry point for each of `u32` and `u64`
/// (`entry_point_u32` …), with two for each pair. If the second one is a `Payload`, there is also
/// one for each key without a value, named as if there were only the key. On the host,
/// `Name::<u32, u64>::ENTRY` is what an engine needs to know of an entry point.
///
/// Arguments become parameters one by one, so that LLVM sees which are pointers to global memory;
/// scalars go together in one `repr(C)` struct. Shared arrays are declared here, once, because each
/// expansion on the GPU is an array of its own.
///
/// After the threads, `resident 2` asks for so few registers that 2 blocks fit a multiprocessor.
/// `wide atomics` says that wide keys or values are changed by atomics of 128 bits: PTX for GPUs
/// that have none has only the entry point of the narrowest types.
///
/// `cpu cores` says that a core of a CPU, which runs all threads of a block, runs the method
/// `cores` in their place. It has the parameters of `run`, does the same to the arguments' memory,
/// and is for kernels whose threads share work that one of them does in another loop.
///
/// `dynamic words: u32 = |kernel| kernel.plan.words` is a shared array as long as the launch says:
/// the host computes its length from the arguments. The array comes before all others in `run`. A
/// GPU's blocks may then have more than 48 KiB (`Machine::block_words` in `warpnest` says how
/// much).
///
/// A kernel of two variants has a constant after its types and a name for each of its values:
/// `Name<K: KeyWord; const REPEATS: bool>, "name" | "name_in_order"`. `Name::variant` gives the
/// same arguments to the other kernel.
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

/// The entry points of a kernel, or of both variants of one that has a constant.
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
            /// Gives the same arguments to the kernel whose constant is `TO`.
            pub fn variant<const TO: bool>(self) -> $name<$($generic,)* TO> {
                let Self { $($argument),* } = self;
                $name { $($argument),* }
            }
        }
        $crate::backend_kernel! { $name [$($generic : $bound),*] $atomics $entry, [false], $($rest)* }
        $crate::backend_kernel! { $name [$($generic : $bound),*] $atomics $entry_if_true, [true], $($rest)* }
    };
}

/// Declares a kernel that only cores of a CPU run, one thread a block, where the work of a GPU is
/// divided in another way. It has no entry point in the PTX.
///
/// The declaration is the same as for [`kernel!`](crate::kernel), without shared arrays and
/// variants. The method `run` is public, since nothing calls it on a GPU. A launch of several
/// blocks whose threads are many is shared out among cores.
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
