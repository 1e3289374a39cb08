//! Made-up orders and customers.

use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};
use arrow_schema::ArrowError;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use std::sync::Arc;

const NAMES: [&str; 8] = ["Ada", "Barbara", "Edsger", "Frances", "Grace", "John", "Katherine", "Niklaus"];
const CITIES: [&str; 6] = ["Bonn", "Jena", "Kiel", "Mainz", "Trier", "Ulm"];

/// Returns made-up orders and customers, which depend only on the arguments. Some orders have no
/// customer or one that does not exist, and some customers have no orders.
///
/// # Errors
/// Arrow's errors, which these columns never cause.
pub fn orders_and_customers(orders: usize, customers: usize, seed: u64) -> Result<[RecordBatch; 2], ArrowError> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut below = |limit: usize| (random.next_u64() % limit.max(1) as u64) as usize;
    let ids: ArrayRef = Arc::new(Int64Array::from_iter_values((0..customers).map(|id| 1000 + id as i64)));
    let names: ArrayRef = Arc::new(StringArray::from_iter_values((0..customers).map(|_| NAMES[below(NAMES.len())])));
    let cities: ArrayRef = Arc::new(StringArray::from_iter_values((0..customers).map(|_| CITIES[below(CITIES.len())])));
    let customers_of: ArrayRef = Arc::new(
        (0..orders)
            .map(|_| (below(20) != 0).then(|| 1000 + below(customers + customers / 8) as i64))
            .collect::<Int64Array>(),
    );
    let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values((0..orders).map(|order| order as i64)));
    let prices: ArrayRef = Arc::new(Float64Array::from_iter_values((0..orders).map(|_| below(10_000) as f64 / 100.0)));
    let orders = [("order", numbers), ("customer", customers_of), ("price", prices)];
    let customers = [("id", ids), ("name", names), ("city", cities)];
    let batch = |columns: [(&'static str, ArrayRef); 3]| {
        RecordBatch::try_from_iter_with_nullable(columns.map(|(name, array)| (name, array, true)))
    };
    Ok([batch(orders)?, batch(customers)?])
}
