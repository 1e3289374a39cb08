//! Declaring a kernel: once, for the GPU and for the CPU.

/// A kernel with its arguments, as the host launches it.
///
/// [`kernel!`](crate::kernel) implements it. The GPU's engine takes the name and the arguments, the CPU's engines run
/// the blocks.
#[cfg(not(target_arch = "nvptx64"))]
pub trait Kernel: Send + Sync {
    /// The entry point in the PTX.
    fn name(&self) -> &'static str;
    /// Threads of a block.
    fn threads(&self) -> u32;
    /// Shows every argument in order: its address and its size in bytes.
    fn arguments(&self, visit: &mut dyn FnMut(*const (), usize));
    /// Runs some blocks of the grid, one after the other, on this CPU thread.
    ///
    /// # Safety
    /// As for a launch: the pointers among the arguments must be good for what the kernel does with them.
    unsafe fn run_on_cpu(&self, blocks: core::ops::Range<u32>, grid: u32);
    /// Runs one block with the threads of each phase in shuffled order and notes conflicts.
    ///
    /// # Safety
    /// As for [`Kernel::run_on_cpu`].
    unsafe fn run_checked(&self, block: u32, grid: u32, checker: &super::checked::Checker);
}

/// Declares a kernel once: its arguments, its entry points in the PTX, and the function that runs a block on the CPU.
///
/// ```text
/// kernel! {
///     /// What it does.
///     Name<K: Key, V: Value>, "entry_point", threads 64, shared totals: u64 = 2;
///     { keys: Global<K>, words: Global<Slot<K, V>>, plan: Plan }
///     |args, block| { … }
/// }
/// ```
///
/// This gives `struct Name<K, V>` whose fields are the arguments: on the host a value of it is a launch. With one type
/// parameter there is an entry point for each of `u32` and `u64` (`entry_point_u32` …), with two for each pair; and if the second one is a
/// `Payload`, for each with nothing, named as if there were one. Arguments
/// become parameters one by one, so that LLVM sees which are pointers to global memory; scalars go together in one
/// `repr(C)` struct. Shared arrays are declared here, once, because each expansion on the GPU is an array of its own. After the
/// threads, `resident 2` asks for so few registers that 2 blocks fit a multiprocessor, and `wide atomics` says that wide keys or values are
/// changed by atomics of 128 bits: PTX for GPUs that have none has the entry point of the narrowest types alone.
#[macro_export]
macro_rules! kernel {
    (
        $(#[$doc:meta])*
        $name:ident <$($generic:ident : $bound:ident),*>, $entry:literal, threads $threads:literal
        $(, resident $resident:literal)?
        $(, wide $atomics:ident)?
        $(, shared $shared:ident : $word:ty = $length:expr)* ;
        { $( $argument:ident : $type:ty ),* $(,)? }
        |$args:ident, $block:ident| $body:block
    ) => {
        $(#[$doc])*
        #[allow(missing_docs, reason = "the kernel's own text describes its arguments")]
        #[derive(Clone, Copy, Debug)]
        pub struct $name<$($generic: $bound),*> {
            $( pub $argument: $type, )*
        }

        impl<$($generic: $bound),*> $name<$($generic),*> {
            #[inline(always)]
            fn run<B: $crate::seam::Block>(self, $block: &mut B $(, $shared: B::Shared<$word>)*) {
                let $args = self;
                $body
            }
        }

        $crate::backend_kernel! {
            $name [$($generic : $bound),*] [$($atomics)?] $entry, $threads, [$($resident)?], [$($shared : $word = $length),*] [$($argument : $type),*]
        }
    };
}
