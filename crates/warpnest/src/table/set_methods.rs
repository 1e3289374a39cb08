//! What all kinds of sets have alike, written once as a macro: a set is a field `device` and a field `table`, which is a map whose values are
//! [`Nothing`](gpu_kernels::types::Nothing).

/// Gives `$set`, which wraps a `$map`, the methods that do not depend on the kind of table. `write` is the one that does: it writes all keys to
/// the front of a buffer that has room for them, and returns when they are written.
macro_rules! set_methods {
    ($set:ident of $map:ident, $config:ident, $report:ty; $($write:tt)*) => {
        impl<K: crate::Key> $set<K> {
            /// The number of keys.
            pub fn len(&self) -> u64 {
                self.table.len()
            }

            /// Whether there are none.
            pub fn is_empty(&self) -> bool {
                self.table.is_empty()
            }

            /// The number of slots.
            pub fn slots(&self) -> u64 {
                self.table.slots()
            }

            /// The device that it is on.
            pub fn device(&self) -> &crate::Device {
                &self.device
            }

            /// How the build went.
            pub fn report(&self) -> &$report {
                self.table.report()
            }

            /// A copy of the set on the same device, made on `stream`. It has no scratch.
            ///
            /// # Errors
            /// [`Error::OutOfMemory`](crate::Error::OutOfMemory), [`Error::WrongDevice`](crate::Error::WrongDevice),
            /// [`Error::Driver`](crate::Error::Driver).
            pub fn try_clone(&self, stream: &crate::Stream) -> crate::Result<Self> {
                Ok(Self { device: self.device.clone(), table: self.table.try_clone(stream)? })
            }

            /// Writes all keys, in no particular order, to `keys`; returns when they are written, since the counter that this works with is
            /// given back then.
            ///
            /// # Errors
            #[doc = concat!("[`Error::LengthsDiffer`](crate::Error::LengthsDiffer) unless there are [`", stringify!($set), "::len`] elements,")]
            /// [`Error::OutOfMemory`](crate::Error::OutOfMemory), [`Error::WrongDevice`](crate::Error::WrongDevice),
            /// [`Error::Driver`](crate::Error::Driver).
            pub fn keys_into(&self, stream: &crate::Stream, keys: &mut crate::Buffer<K>) -> crate::Result<()> {
                crate::error::same_length(("the set", self.len() as usize), ("the keys", keys.len()))?;
                crate::table::set_operations::Combined::write(self, stream, keys)
            }

            /// All keys, in no particular order.
            ///
            /// # Errors
            /// [`Error::OutOfMemory`](crate::Error::OutOfMemory), [`Error::Driver`](crate::Error::Driver).
            pub fn to_keys(&self) -> crate::Result<Vec<K>> {
                let stream = self.device.default_stream();
                let mut keys = crate::Buffer::uninitialized(&self.device, self.len() as usize)?;
                self.keys_into(stream, &mut keys)?;
                keys.download(stream)
            }

            /// The keys that are in this set, in the other one, or in both, as a set with the configuration of this one; waits until it
            /// stands.
            ///
            /// Writes out both sets, asks the larger one for the keys of the smaller one, and builds a set without looking for repeats. Takes
            /// room for the keys of both, and for those of the smaller one again, besides what the build takes.
            ///
            /// # Errors
            #[doc = concat!(
                "As for [`", stringify!($config), "::build_on`](crate::", stringify!($config), "::build_on), of as many keys as the union has;"
            )]
            /// [`Error::WrongDevice`](crate::Error::WrongDevice) if the sets or the stream are on different devices.
            pub fn union(&self, stream: &crate::Stream, other: &Self) -> crate::Result<Self> {
                crate::table::set_operations::union(self, stream, other)
            }

            /// The keys that are in both sets, as a set with the configuration of this one; waits until it stands.
            ///
            /// Writes out the smaller set, asks the larger one for its keys, and builds a set without looking for repeats. Takes room for the
            /// keys of the smaller one twice, besides what the build takes.
            ///
            /// # Errors
            #[doc = concat!("As for [`", stringify!($config), "::build_on`](crate::", stringify!($config), "::build_on);")]
            /// [`Error::WrongDevice`](crate::Error::WrongDevice) if the sets or the stream are on different devices.
            pub fn intersection(&self, stream: &crate::Stream, other: &Self) -> crate::Result<Self> {
                crate::table::set_operations::intersection(self, stream, other)
            }

            /// The keys of this set that are not in the other one, as a set with the configuration of this one; waits until it stands.
            ///
            /// Writes out this set, asks the other one for its keys, and builds a set without looking for repeats. Takes room for the keys of
            /// this set twice, besides what the build takes.
            ///
            /// # Errors
            #[doc = concat!("As for [`", stringify!($set), "::intersection`].")]
            pub fn difference(&self, stream: &crate::Stream, other: &Self) -> crate::Result<Self> {
                crate::table::set_operations::difference(self, stream, other)
            }
        }

        impl<K: crate::Key> crate::table::set_operations::Combined<K> for $set<K> {
            fn table(&self) -> (&crate::Device, &crate::Buffer<u64>) {
                (&self.device, self.words())
            }

            fn count(&self) -> u64 {
                self.len()
            }

            $($write)*

            fn ask(&self, stream: &crate::Stream, queries: &crate::Buffer<K>, found: &mut crate::Buffer<u32>) -> crate::Result<()> {
                self.contains_many_into(stream, queries, found)
            }

            fn with_keys(&self, stream: &crate::Stream, keys: &crate::Buffer<K>, count: u64) -> crate::Result<Self> {
                let config = self.table.config.clone();
                let input = crate::table::input::Input { keys, values: None, pairs: count, known: crate::table::input::Known::Nothing };
                let mut table = $map::create_from(config.clone().assume_unique(), stream, &self.device, input)?;
                table.config = config;
                Ok(Self { device: self.device.clone(), table })
            }
        }
    };
}
pub(crate) use set_methods;
