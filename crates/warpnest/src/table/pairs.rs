//! The methods of every map that writes its pairs in no particular order.

/// Adds the public methods to a map with a private method `write_pairs`. That method writes all
/// pairs to buffers that are long enough.
macro_rules! pairs_methods {
    ($map:ident) => {
        impl<K: crate::Key, V: crate::Value> $map<K, V> {
            /// Writes all pairs, in no particular order, to `keys` and `values`. Returns when they
            /// are written, since the counter that this works with is freed then.
            ///
            /// # Errors
            #[doc = concat!(
                "[`Error::LengthsDiffer`](crate::Error::LengthsDiffer) unless both have [`", stringify!($map), "::len`] elements,"
            )]
            /// [`Error::OutOfMemory`](crate::Error::OutOfMemory),
            /// [`Error::WrongDevice`](crate::Error::WrongDevice),
            /// [`Error::Driver`](crate::Error::Driver).
            pub fn pairs_into(
                &self,
                stream: &crate::Stream,
                keys: &mut crate::Buffer<K>,
                values: &mut crate::Buffer<V>,
            ) -> crate::Result<()> {
                crate::error::same_length(("the map", self.len() as usize), ("the keys", keys.len()))?;
                crate::error::same_length(("the map", self.len() as usize), ("the values", values.len()))?;
                self.write_pairs(stream, keys, values)
            }

            /// All pairs, in no particular order.
            ///
            /// # Errors
            /// [`Error::OutOfMemory`](crate::Error::OutOfMemory),
            /// [`Error::Driver`](crate::Error::Driver).
            pub fn to_pairs(&self) -> crate::Result<Vec<(K, V)>> {
                let stream = self.device.default_stream();
                let mut keys = crate::Buffer::uninitialized(&self.device, self.len() as usize)?;
                let mut values = crate::Buffer::uninitialized(&self.device, self.len() as usize)?;
                self.pairs_into(stream, &mut keys, &mut values)?;
                Ok(keys.download(stream)?.into_iter().zip(values.download(stream)?).collect())
            }
        }
    };
}
pub(crate) use pairs_methods;
