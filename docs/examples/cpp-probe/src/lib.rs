//! Totals of orders, by a table that Rust builds and code in CUDA C++ asks.

use std::ffi::{c_int, c_void};
use warpnest::low_level::kernels::refs::PageRef;
use warpnest::low_level::kernels::seam::Global;
use warpnest::{Buffer, PageMap, Result, Stream};

unsafe extern "C" {
    /// Queues the totals of some orders; src/prices.cu has it.
    fn price_orders(
        prices: PageRef<u64, u32>,
        products: Global<u64>,
        quantities: Global<u32>,
        totals: Global<u64>,
        orders: usize,
        stream: *mut c_void,
    ) -> c_int;
}

/// Queues the total of each order: its quantity times the price of its product, or 0 if that has no
/// price.
///
/// # Panics
/// If there are not as many products, quantities and totals, or the C++ code reports an error.
pub fn total(
    stream: &Stream,
    prices: &PageMap<u64, u32>,
    (products, quantities): (&Buffer<u64>, &Buffer<u32>),
    totals: &mut Buffer<u64>,
) -> Result<()> {
    let orders = products.len();
    assert!(quantities.len() == orders && totals.len() == orders, "one of each for every order");
    // SAFETY: the function reads and writes as many words as there are orders, on the stream alone,
    // and asks the table.
    let error = unsafe {
        stream.launch_foreign(
            |uses| (uses.table(prices), uses.read(products), uses.read(quantities), uses.write(totals)),
            |(prices, products, quantities, totals), stream| {
                price_orders(prices, products, quantities, totals, orders, stream)
            },
        )?
    };
    assert_eq!(error, 0, "the C++ code: -1 is one that was compiled without nvcc, others are of CUDA");
    Ok(())
}
