//! The items that authors of kernels and engines need besides the rest of this crate. Programs that
//! only use tables need none of them.
//!
//! * **Launches of your own**: [`Stream::launch`](crate::Stream::launch) takes a kernel of
//!   [`kernels`], whose struct has the arguments that [`Uses`] returns for buffers. The tables' own
//!   kernels and layouts are in [`kernels`], too. A table is one argument of a kernel.
//!   [`Uses::table`] returns that argument, and [`Uses::table_mut`] does for a kernel that changes
//!   the table.
//! * **Engines**: an [`engine::Engine`] runs kernels on a device. The CPU engine and the CUDA
//!   engine are two of them. An engine of your own can count the operations of a program, check
//!   them or make them fail.
//! * **Memory**: an [`Allocation`] is memory of an engine. Every type that is [`Tracked`] by an
//!   allocation takes part in the order of streams.
//! * **PTX**: [`ptx`] returns the machine code of the kernels that a device loads.
//!
//! These items follow the crate's internal design, and change more often than the rest.

#[doc(hidden)]
pub use crate::page::{PlainAnswers, find_plain};
#[doc(hidden)]
pub use crate::relational::group_by::exposed::{Few, FewBuffers, HotBlocks, group_by_chains, group_by_hash, group_few};
#[doc(hidden)]
pub use crate::relational::group_by::sample::sampled_rows;
#[doc(hidden)]
pub use crate::relational::{isin_flags_into, isin_on_host};
pub use crate::runtime::allocation::{Allocation, Tracked};
#[doc(hidden)]
pub use crate::runtime::chunk_settings::HostChunks;
#[cfg(feature = "cuda")]
#[doc(hidden)]
pub use crate::runtime::engine::cuda::LargeCopies;
#[doc(hidden)]
pub use crate::runtime::huge_pages::advise_huge_pages;
#[doc(hidden)]
pub use crate::runtime::staging::Staging;
pub use crate::runtime::stream::Uses;
pub use crate::runtime::{engine, ptx};
#[doc(hidden)]
pub use crate::table::host_lookup::{HostAnswers, contains_on_host};
#[doc(hidden)]
pub use crate::table::map_on_host::get_on_host;
pub use crate::table::refs::HasRef;
pub use gpu_kernels as kernels;

/// Changes how large copies between ordinary host memory and a GPU are made. Does nothing on other
/// devices. It is for tests and measurements.
#[cfg(feature = "cuda")]
#[doc(hidden)]
pub fn set_large_copies(device: &crate::Device, settings: LargeCopies) {
    use crate::runtime::engine::cuda::CudaEngine;
    if let Some(engine) = device.engine().as_any().downcast_ref::<CudaEngine>() {
        engine.set_large_copies(settings);
    }
}

/// Changes how queries in host memory are answered on a GPU. It is for tests and measurements.
#[doc(hidden)]
pub fn set_host_chunks(device: &crate::Device, settings: HostChunks) {
    crate::runtime::host_chunks::set(device, settings);
}
