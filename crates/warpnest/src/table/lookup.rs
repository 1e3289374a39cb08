//! The methods of every table that looks up many keys at once.

use crate::Device;

/// The number of queries that are answered at once if the answers go to the host. It is all of
/// them, unless a core is to find the answers in its cache when it makes `Option`s of them.
pub(crate) fn queries_at_once(device: &Device) -> usize {
    match device.engine().cores() {
        None => usize::MAX,
        Some(1) => 1 << 13,
        // This many can be divided among all cores.
        Some(cores) => cores << 15,
    }
}

/// Adds the public lookup methods to a map with a private method `find`, which queues a lookup. The
/// map is one of all keys and values, or of the given types. With `by field` it is the table in
/// that field that has `find`.
macro_rules! lookup_methods {
    ($map:ident) => {
        crate::table::lookup::lookup_methods! { [K: crate::Key, V: crate::Value] $map<K, V>, K, V }
    };
    ([$($generics:tt)*] $map:ty, $key:ty, $value:ty $(, by $field:ident)?) => {
        crate::table::lookup::contains_methods! { [$($generics)*] $map, $key $(, by $field)? }

        impl<$($generics)*> $map {
            /// The values of `queries`, in their order.
            ///
            /// # Errors
            /// [`Error::OutOfMemory`](crate::Error::OutOfMemory),
            /// [`Error::Driver`](crate::Error::Driver).
            pub fn get_many(&self, queries: &[$key]) -> crate::Result<Vec<Option<$value>>> {
                let (stream, at_once) = (self.device.default_stream(), crate::table::lookup::queries_at_once(&self.device));
                let mut values = Vec::with_capacity(queries.len());
                for queries in queries.chunks(at_once) {
                    let queries = crate::runtime::lent::Lent::new(&self.device, queries)?;
                    self.get_many_on(stream, &queries)?.append_to(stream, &mut values)?;
                }
                Ok(values)
            }

            /// Queues the lookup of `queries`; waits for nothing, copies nothing.
            ///
            /// # Errors
            /// [`Error::OutOfMemory`](crate::Error::OutOfMemory),
            /// [`Error::WrongDevice`](crate::Error::WrongDevice),
            /// [`Error::Driver`](crate::Error::Driver).
            pub fn get_many_on(
                &self,
                stream: &crate::Stream,
                queries: &crate::Buffer<$key>,
            ) -> crate::Result<crate::Answers<$value>> {
                let mut answers = crate::Answers::uninitialized(&self.device, queries.len())?;
                self.get_many_into(stream, queries, &mut answers)?;
                Ok(answers)
            }

            /// Queues the lookup of `queries` into existing answers; allocates nothing.
            ///
            /// # Errors
            /// [`Error::LengthsDiffer`](crate::Error::LengthsDiffer),
            /// [`Error::WrongDevice`](crate::Error::WrongDevice),
            /// [`Error::Driver`](crate::Error::Driver).
            pub fn get_many_into(
                &self,
                stream: &crate::Stream,
                queries: &crate::Buffer<$key>,
                answers: &mut crate::Answers<$value>,
            ) -> crate::Result<()> {
                crate::error::same_length(("the queries", queries.len()), ("the answers", answers.len()))?;
                let values = answers.values.argument();
                let writes: [&dyn crate::Tracked; 2] = [&answers.values, &answers.found];
                // SAFETY: there are as many answers as queries, and the launch writes them.
                unsafe { self$(.$field)?.find(stream, queries, values, &answers.found, &writes) }
            }
        }
    };
}
pub(crate) use lookup_methods;

/// Adds the methods that ask for no values to a table with such a method `find`, its own or a
/// field's.
macro_rules! contains_methods {
    ([$($generics:tt)*] $table:ty, $key:ty $(, by $field:ident)?) => {
        impl<$($generics)*> $table {
            /// Whether each of `queries` is in the table, in their order.
            ///
            /// # Errors
            /// [`Error::OutOfMemory`](crate::Error::OutOfMemory),
            /// [`Error::Driver`](crate::Error::Driver).
            pub fn contains_many(&self, queries: &[$key]) -> crate::Result<Vec<bool>> {
                let stream = self.device.default_stream();
                let buffer = crate::runtime::lent::Lent::new(&self.device, queries)?;
                let mut found = crate::Buffer::uninitialized(&self.device, queries.len().div_ceil(32))?;
                self.contains_many_into(stream, &buffer, &mut found)?;
                let words = found.download(stream)?;
                Ok((0..queries.len()).map(|i| crate::table::answers::bit(&words, i)).collect())
            }

            /// Queues the lookup whether each of `queries` is in the table: bit `i % 32` of
            /// `found[i / 32]` answers query `i`.
            ///
            /// # Errors
            /// [`Error::LengthsDiffer`](crate::Error::LengthsDiffer) unless `found` has a word for
            /// each 32 queries, [`Error::WrongDevice`](crate::Error::WrongDevice),
            /// [`Error::Driver`](crate::Error::Driver).
            pub fn contains_many_into(
                &self,
                stream: &crate::Stream,
                queries: &crate::Buffer<$key>,
                found: &mut crate::Buffer<u32>,
            ) -> crate::Result<()> {
                crate::error::same_length(
                    ("the queries, in words of 32,", queries.len().div_ceil(32)),
                    ("the found-words", found.len()),
                )?;
                // SAFETY: the kernels' documentation allows no values; there are enough
                // found-words, which the launch writes.
                unsafe {
                    let no_values = gpu_kernels::seam::Global::null();
                    self$(.$field)?.find(stream, queries, no_values, found, &[&*found])
                }
            }
        }
    };
}
pub(crate) use contains_methods;
