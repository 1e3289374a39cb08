//! What `kernel!` adds on the host: an entry for each choice of types, with the functions that run
//! its blocks.

/// The items that a kernel declaration adds on the host: the `Kernel` implementation, and an
/// [`Entry`](crate::seam::Entry) for each choice of types, named as the GPU's entry points are.
#[doc(hidden)]
#[macro_export]
macro_rules! backend_kernel {
    ($name:ident [] [] $entry:literal, $($rest:tt)*) => {
        $crate::host_kernel! { { $($rest)* } $name [] 0; [[] $entry] }
    };
    ($name:ident [$key:ident : $key_bound:ident] [$($atomics:ident)?] $entry:literal, $($rest:tt)*) => {
        $crate::host_kernel! {
            { $($rest)* }
            $name [$key : $key_bound] <$key as $crate::types::Scalar>::INDEX;
            [[$key = u32] concat!($entry, "_u32")]
            [[$key = u64] concat!($entry, "_u64")]
        }
    };
    (
        $name:ident [$key:ident : $key_bound:ident, $value:ident : Payload] [] $entry:literal, $($rest:tt)*
    ) => {
        $crate::host_kernel! {
            { $($rest)* }
            $name [$key : $key_bound, $value : Payload]
            <$key as $crate::types::Scalar>::INDEX * 3 + <$value as $crate::types::Payload>::PAYLOAD_INDEX;
            [[$key = u32, $value = u32] concat!($entry, "_u32_u32")]
            [[$key = u32, $value = u64] concat!($entry, "_u32_u64")]
            [[$key = u32, $value = $crate::types::Nothing] concat!($entry, "_u32")]
            [[$key = u64, $value = u32] concat!($entry, "_u64_u32")]
            [[$key = u64, $value = u64] concat!($entry, "_u64_u64")]
            [[$key = u64, $value = $crate::types::Nothing] concat!($entry, "_u64")]
        }
    };
    (
        $name:ident [$key:ident : $key_bound:ident, $value:ident : $value_bound:ident] [$($atomics:ident)?]
        $entry:literal, $($rest:tt)*
    ) => {
        $crate::host_kernel! {
            { $($rest)* }
            $name [$key : $key_bound, $value : $value_bound]
            <$key as $crate::types::Scalar>::INDEX * 2 + <$value as $crate::types::Scalar>::INDEX;
            [[$key = u32, $value = u32] concat!($entry, "_u32_u32")]
            [[$key = u32, $value = u64] concat!($entry, "_u32_u64")]
            [[$key = u64, $value = u32] concat!($entry, "_u64_u32")]
            [[$key = u64, $value = u64] concat!($entry, "_u64_u64")]
        }
    };
}

/// The `Kernel` implementation over a table of entries, from which only the types choose.
#[doc(hidden)]
#[macro_export]
macro_rules! host_kernel {
    (
        { [$($const:literal)?], $($declaration:tt)* }
        $name:ident [$($generic:ident : $bound:ident),*] $index:expr;
        $([$types:tt $entry:expr])*
    ) => {
        const _: () = {
            static ENTRIES: &[$crate::seam::Entry] = $crate::host_entries! {
                $name [$($const)?] { $($declaration)* } $([$types $entry])*
            };

            // SAFETY: `entry` is for the types of `self`, and `values` is `self`.
            unsafe impl<$($generic: $bound),*> $crate::seam::Kernel for $name<$($generic,)* $($const)?> {
                fn entry(&self) -> &'static $crate::seam::Entry {
                    &ENTRIES[$index]
                }
                fn values(&self) -> *const () {
                    (&raw const *self).cast()
                }
            }
        };
    };
}

/// The entries of all choices of types.
#[doc(hidden)]
#[macro_export]
macro_rules! host_entries {
    ($name:ident $const:tt $declaration:tt $([$types:tt $entry:expr])*) => {
        &[$( $crate::host_entry! { $name $types $const $entry, $declaration } ),*]
    };
}

/// The entry for one choice of types.
#[doc(hidden)]
#[macro_export]
macro_rules! host_entry {
    (
        $name:ident [$($generic:ident = $concrete:ty),*] [$($const:literal)?] $entry:expr,
        {
            $threads:literal, [$($resident:literal)?],
            [$($shared:ident : $word:ty = $length:expr),*] [$($argument:ident : $type:ty),*]
        }
    ) => {{
        $( type $generic = $concrete; )*
        type Arguments = $name<$($generic,)* $($const)?>;
        $crate::seam::Entry {
            name: $entry,
            threads: $threads,
            shared_bytes: 0 $(+ size_of::<$word>() * ($length) as usize)*,
            size: size_of::<Arguments>(),
            parameters: &[$( (core::mem::offset_of!(Arguments, $argument), size_of::<$type>()) ),*],
            run: $crate::run_blocks! { Arguments, $threads, [$($shared : $word = $length),*] },
            check: $crate::check_block! { Arguments, $threads, [$($shared : $word = $length),*] },
        }
    }};
}

/// The function that runs blocks on the CPU.
#[cfg(feature = "cpu")]
#[doc(hidden)]
#[macro_export]
macro_rules! run_blocks {
    ($arguments:ty, $threads:literal, [$($shared:ident : $word:ty = $length:expr),*]) => {{
        unsafe fn run(values: *const (), blocks: core::ops::Range<u32>, grid: u32) {
            // SAFETY: the caller gives the address of the entry's struct.
            let kernel = unsafe { *values.cast::<$arguments>() };
            $(
                let mut storage = $crate::seam::cpu::SharedStorage::<$word, { $length }>::new();
                // SAFETY: the storage outlives the blocks, which run here on this thread, one after
                // the other.
                let $shared = unsafe { storage.handle() };
            )*
            for index in blocks {
                kernel.run(&mut $crate::seam::cpu::CpuBlock::<$threads>::new(index, grid) $(, $shared)*);
            }
        }
        Some(run as $crate::seam::RunBlocks)
    }};
}

#[cfg(not(feature = "cpu"))]
#[doc(hidden)]
#[macro_export]
macro_rules! run_blocks {
    ($($declaration:tt)*) => {
        None
    };
}

/// The function that runs a block on the checking back end.
#[cfg(feature = "checked")]
#[doc(hidden)]
#[macro_export]
macro_rules! check_block {
    ($arguments:ty, $threads:literal, [$($shared:ident : $word:ty = $length:expr),*]) => {{
        unsafe fn check(values: *const (), block: u32, grid: u32, checker: &$crate::seam::checked::Checker) {
            // SAFETY: the caller gives the address of the entry's struct.
            let kernel = unsafe { *values.cast::<$arguments>() };
            let mut block = $crate::seam::checked::CheckedBlock::<$threads>::new(block, grid, checker);
            $(
                // SAFETY: the block lives to the end of this function, which runs on one thread.
                let $shared = unsafe { block.shared::<$word>($length) };
            )*
            kernel.run(&mut block $(, $shared)*);
        }
        Some(check as $crate::seam::CheckBlock)
    }};
}

#[cfg(not(feature = "checked"))]
#[doc(hidden)]
#[macro_export]
macro_rules! check_block {
    ($($declaration:tt)*) => {
        None
    };
}
