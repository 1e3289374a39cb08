//! The items that `kernel!` adds on the host: an entry for each choice of types, with the functions
//! that run the kernel's blocks.

/// The items that a kernel declaration adds on the host. They are the constant `ENTRY`, an
/// [`Entry`](crate::seam::Entry) named by the types as the GPU's entry points are, and the
/// implementation of `Kernel`.
#[doc(hidden)]
#[macro_export]
macro_rules! backend_kernel {
    ($name:ident [] [] $entry:literal, $($rest:tt)*) => {
        $crate::host_kernel! { check_block { $($rest)* } $name [] 0; [[] $entry] }
    };
    ($name:ident [$key:ident : $key_bound:ident] [$($atomics:ident)?] $entry:literal, $($rest:tt)*) => {
        $crate::host_kernel! {
            check_block { $($rest)* }
            $name [$key : $key_bound] <$key as $crate::types::Scalar>::INDEX;
            [[$key = u32] concat!($entry, "_u32")]
            [[$key = u64] concat!($entry, "_u64")]
        }
    };
    (
        $name:ident [$key:ident : $key_bound:ident, $value:ident : Payload] [] $entry:literal, $($rest:tt)*
    ) => {
        $crate::host_kernel! {
            check_block { $($rest)* }
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
        $name:ident [$key:ident : $key_bound:ident, $value:ident : Row] [] $entry:literal, $($rest:tt)*
    ) => {
        $crate::host_kernel! {
            check_block { $($rest)* }
            $name [$key : $key_bound, $value : Row]
            <$key as $crate::types::Scalar>::INDEX * 4 + <$value as $crate::types::Payload>::PAYLOAD_INDEX;
            [[$key = u32, $value = u32] concat!($entry, "_u32_u32")]
            [[$key = u32, $value = u64] concat!($entry, "_u32_u64")]
            [[$key = u32, $value = $crate::types::Nothing] concat!($entry, "_u32")]
            [[$key = u32, $value = $crate::types::Columns] concat!($entry, "_u32_columns")]
            [[$key = u64, $value = u32] concat!($entry, "_u64_u32")]
            [[$key = u64, $value = u64] concat!($entry, "_u64_u64")]
            [[$key = u64, $value = $crate::types::Nothing] concat!($entry, "_u64")]
            [[$key = u64, $value = $crate::types::Columns] concat!($entry, "_u64_columns")]
        }
    };
    (
        $name:ident [$key:ident : $key_bound:ident, $value:ident : $value_bound:ident] [$($atomics:ident)?]
        $entry:literal, $($rest:tt)*
    ) => {
        $crate::host_kernel! {
            check_block { $($rest)* }
            $name [$key : $key_bound, $value : $value_bound]
            <$key as $crate::types::Scalar>::INDEX * 2 + <$value as $crate::types::Scalar>::INDEX;
            [[$key = u32, $value = u32] concat!($entry, "_u32_u32")]
            [[$key = u32, $value = u64] concat!($entry, "_u32_u64")]
            [[$key = u64, $value = u32] concat!($entry, "_u64_u32")]
            [[$key = u64, $value = u64] concat!($entry, "_u64_u64")]
        }
    };
}

/// The items that a `cores_kernel!` declaration adds on the host: the items of `backend_kernel!`
/// without the function that runs blocks on the checking back end.
#[doc(hidden)]
#[macro_export]
macro_rules! backend_cores_kernel {
    ($name:ident [] $entry:literal, $($rest:tt)*) => {
        $crate::host_kernel! { no_check { $($rest)* } $name [] 0; [[] $entry] }
    };
    ($name:ident [$key:ident : $key_bound:ident] $entry:literal, $($rest:tt)*) => {
        $crate::host_kernel! {
            no_check { $($rest)* }
            $name [$key : $key_bound] <$key as $crate::types::Scalar>::INDEX;
            [[$key = u32] concat!($entry, "_u32")]
            [[$key = u64] concat!($entry, "_u64")]
        }
    };
}

/// The absence of a function that runs a block on the checking back end.
#[doc(hidden)]
#[macro_export]
macro_rules! no_check {
    ($($declaration:tt)*) => {
        None
    };
}

/// The entry, a constant for these types, and the implementation of `Kernel`.
///
/// The first argument is the macro for the function that runs blocks on the checking back end.
#[doc(hidden)]
#[macro_export]
macro_rules! host_kernel {
    (
        $check:ident
        {
            [$($const:literal)?], $threads:literal, [$($resident:literal)?], $cores:tt, $shared:tt
            [$($argument:ident : $type:ty),*]
        }
        $name:ident [$($generic:ident : $bound:ident),*] $index:expr;
        $([$types:tt $entry:expr])*
    ) => {
        impl<$($generic: $bound),*> $name<$($generic,)* $($const)?> {
            /// The entry point for these types.
            pub const ENTRY: &'static $crate::seam::Entry = {
                const NAMES: &[&str] = &[$($entry),*];
                &$crate::seam::Entry {
                    name: NAMES[$index],
                    package: env!("CARGO_PKG_NAME"),
                    threads: $threads,
                    shared_bytes: $crate::shared_bytes! $shared,
                    size: size_of::<Self>(),
                    parameters: &[$( (core::mem::offset_of!(Self, $argument), size_of::<$type>()) ),*],
                    run: $crate::run_blocks! {
                        [$name [$($const)?] $threads, $cores, $shared] [$($generic : $bound),*] $index; $($types)*
                    },
                    check: $crate::$check! {
                        [$name [$($const)?] $threads, $cores, $shared] [$($generic : $bound),*] $index; $($types)*
                    },
                }
            };
        }

        // SAFETY: the entry belongs to the types of `self`, and `values` is `self`.
        unsafe impl<$($generic: $bound),*> $crate::seam::Kernel for $name<$($generic,)* $($const)?> {
            #[inline]
            fn entry(&self) -> &'static $crate::seam::Entry {
                Self::ENTRY
            }
            #[inline]
            fn values(&self) -> *const () {
                (&raw const *self).cast()
            }
            #[inline]
            fn dynamic_bytes(&self) -> usize {
                $crate::dynamic_bytes! { self $shared }
            }
        }
    };
}

/// The size in bytes of a block's shared arrays.
#[doc(hidden)]
#[macro_export]
macro_rules! shared_bytes {
    ([$($dynamic:tt)*] $($shared:ident : $word:ty = $length:expr),*) => {
        0 $(+ size_of::<$word>() * ($length) as usize)*
    };
}

/// The method that computes the length of a kernel's dynamic shared array, if it has one.
#[doc(hidden)]
#[macro_export]
macro_rules! dynamic_length {
    ([$($kernel:tt)*]) => {};
    ([$($kernel:tt)*] $length:expr) => {
        impl $($kernel)* {
            fn dynamic_words(&self) -> u32 {
                let length: fn(&Self) -> u32 = $length;
                length(self)
            }
        }
    };
}

/// The size in bytes of a block's dynamic shared array.
#[doc(hidden)]
#[macro_export]
macro_rules! dynamic_bytes {
    ($kernel:ident [[] $($shared:tt)*]) => {
        0
    };
    ($kernel:ident [[$dynamic:ident : $word:ty] $($shared:tt)*]) => {
        size_of::<$word>() * $kernel.dynamic_words() as usize
    };
}

/// The function that runs blocks on the CPU, selected among the functions for all choices of types.
/// These are compiled in the crate that declares the kernel, so a program that launches the kernel
/// need not compile them.
#[cfg(feature = "cpu")]
#[doc(hidden)]
#[macro_export]
macro_rules! run_blocks {
    ($kernel:tt $generics:tt $index:expr; $($types:tt)*) => {{
        const RUNS: &[$crate::seam::RunBlocks] = &[$( $crate::run_of_types! { $kernel $types } ),*];
        Some(RUNS[$index])
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

/// The function that runs blocks of one choice of types.
#[cfg(feature = "cpu")]
#[doc(hidden)]
#[macro_export]
macro_rules! run_of_types {
    ($kernel:tt [$($generic:ident = $concrete:ty),*]) => {{
        $( type $generic = $concrete; )*
        $crate::run_function! { $kernel [$($generic),*] }
        run
    }};
}

/// A function that runs blocks on the CPU.
#[cfg(feature = "cpu")]
#[doc(hidden)]
#[macro_export]
macro_rules! run_function {
    (
        [
            $name:ident [$($const:literal)?] $threads:literal, $cores:tt,
            [[$($dynamic:ident : $dynamic_word:ty)?] $($shared:ident : $word:ty = $length:expr),*]
        ]
        [$($generic:ident),*]
    ) => {
        unsafe fn run(values: *const (), blocks: core::ops::Range<u32>, grid: u32) {
            // SAFETY: the caller passes the address of the entry's struct.
            let kernel = unsafe { *values.cast::<$name<$($generic,)* $($const)?>>() };
            $(
                let length = kernel.dynamic_words() as usize;
                let mut storage = $crate::seam::cpu::SharedStorage::<$dynamic_word>::new(length);
                // SAFETY: as below.
                let $dynamic = unsafe { storage.handle(length) };
            )?
            $(
                let mut storage = $crate::seam::cpu::SharedStorage::<$word>::new($length);
                // SAFETY: the storage outlives the blocks, which run in this loop on this thread,
                // one after the other.
                let $shared = unsafe { storage.handle($length) };
            )*
            for index in blocks {
                let mut block = $crate::seam::cpu::CpuBlock::<$threads>::new(index, grid);
                $crate::run_block! { $cores kernel (&mut block $(, $dynamic)? $(, $shared)*) }
            }
        }
    };
}

/// Runs a block. If the kernel has a method for cores, that method runs it.
#[cfg(feature = "cpu")]
#[doc(hidden)]
#[macro_export]
macro_rules! run_block {
    ([] $kernel:ident $arguments:tt) => {
        $kernel.run $arguments
    };
    ([$cores:ident] $kernel:ident $arguments:tt) => {
        $kernel.$cores $arguments
    };
}

/// The function that runs a block on the checking back end, compiled where the entry is used.
#[cfg(all(feature = "checked", not(feature = "precompiled-checks")))]
#[doc(hidden)]
#[macro_export]
macro_rules! check_block {
    ($kernel:tt [$($generic:ident : $bound:ident),*] $($table:tt)*) => {{
        $crate::check_function! { $kernel [$($generic),*] #[inline] check<$($generic: $bound),*> }
        Some(check::<$($generic),*> as $crate::seam::CheckBlock)
    }};
}

/// The function that runs a block on the checking back end, selected among the functions for all
/// choices of types. These are compiled in the crate that declares the kernel.
#[cfg(all(feature = "checked", feature = "precompiled-checks"))]
#[doc(hidden)]
#[macro_export]
macro_rules! check_block {
    ($kernel:tt $generics:tt $index:expr; $($types:tt)*) => {{
        const CHECKS: &[$crate::seam::CheckBlock] = &[$( $crate::check_of_types! { $kernel $types } ),*];
        Some(CHECKS[$index])
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

/// The function that checks a block of one choice of types.
#[cfg(all(feature = "checked", feature = "precompiled-checks"))]
#[doc(hidden)]
#[macro_export]
macro_rules! check_of_types {
    ($kernel:tt [$($generic:ident = $concrete:ty),*]) => {{
        $( type $generic = $concrete; )*
        $crate::check_function! { $kernel [$($generic),*] check<> }
        check
    }};
}

/// A function that checks a block.
#[cfg(feature = "checked")]
#[doc(hidden)]
#[macro_export]
macro_rules! check_function {
    (
        [
            $name:ident [$($const:literal)?] $threads:literal, $cores:tt,
            [[$($dynamic:ident : $dynamic_word:ty)?] $($shared:ident : $word:ty = $length:expr),*]
        ]
        [$($generic:ident),*] $(#[$attribute:meta])? check<$($parameter:ident : $bound:ident),*>
    ) => {
        $(#[$attribute])?
        unsafe fn check<$($parameter: $bound),*>(
            values: *const (),
            block: u32,
            grid: u32,
            checker: &$crate::seam::checked::Checker,
        ) {
            // SAFETY: the caller passes the address of the entry's struct.
            let kernel = unsafe { *values.cast::<$name<$($generic,)* $($const)?>>() };
            let mut block = $crate::seam::checked::CheckedBlock::<$threads>::new(block, grid, checker);
            $(
                // SAFETY: as below.
                let $dynamic = unsafe { block.shared::<$dynamic_word>(kernel.dynamic_words() as usize) };
            )?
            $(
                // SAFETY: the block lives to the end of this function, which runs on one thread.
                let $shared = unsafe { block.shared::<$word>($length) };
            )*
            kernel.run(&mut block $(, $dynamic)? $(, $shared)*);
        }
    };
}
