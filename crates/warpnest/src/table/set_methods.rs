//! The methods that all kinds of sets have in common, written once as a macro. A set has a field
//! `device` and a field `table`, which is a map whose values are
//! [`Nothing`](gpu_kernels::types::Nothing).

/// Adds the methods that do not depend on the kind of table to `$set`, which wraps a `$map`.
/// `write` is the one that does depend on it. It writes all keys to the front of a buffer that is
/// long enough, and returns when they are written.
macro_rules! set_methods {
    ($set:ident of $map:ident, $config:ident, $report:ty; $($write:tt)*) => {
        impl<K: crate::Key> $set<K> {
            /// The number of keys.
            pub fn len(&self) -> u64 {
                self.table.len()
            }

            /// Whether the set has no keys.
            pub fn is_empty(&self) -> bool {
                self.table.is_empty()
            }

            /// The number of slots.
            pub fn slots(&self) -> u64 {
                self.table.slots()
            }

            /// The device that the set is on.
            pub fn device(&self) -> &crate::Device {
                &self.device
            }

            /// The report of the build.
            pub fn report(&self) -> &$report {
                self.table.report()
            }

            /// A copy of the set on the same device, made on `stream`. It has no scratch.
            ///
            /// # Errors
            /// [`Error::OutOfMemory`](crate::Error::OutOfMemory),
            /// [`Error::WrongDevice`](crate::Error::WrongDevice),
            /// [`Error::Driver`](crate::Error::Driver).
            pub fn try_clone(&self, stream: &crate::Stream) -> crate::Result<Self> {
                Ok(Self { device: self.device.clone(), table: self.table.try_clone(stream)? })
            }

            /// Writes all keys, in no particular order, to `keys`. Returns when they are written,
            /// since the counter that this works with is freed then.
            ///
            /// # Errors
            #[doc = concat!("[`Error::LengthsDiffer`](crate::Error::LengthsDiffer) unless there are [`", stringify!($set), "::len`] elements,")]
            /// [`Error::OutOfMemory`](crate::Error::OutOfMemory),
            /// [`Error::WrongDevice`](crate::Error::WrongDevice),
            /// [`Error::Driver`](crate::Error::Driver).
            pub fn keys_into(&self, stream: &crate::Stream, keys: &mut crate::Buffer<K>) -> crate::Result<()> {
                crate::error::same_length(("the set", self.len() as usize), ("the keys", keys.len()))?;
                crate::table::set_operations::Combined::write(self, stream, keys)
            }

            /// All keys, in no particular order.
            ///
            /// # Errors
            /// [`Error::OutOfMemory`](crate::Error::OutOfMemory),
            /// [`Error::Driver`](crate::Error::Driver).
            pub fn to_keys(&self) -> crate::Result<Vec<K>> {
                let stream = self.device.default_stream();
                let mut keys = crate::Buffer::uninitialized(&self.device, self.len() as usize)?;
                self.keys_into(stream, &mut keys)?;
                keys.download(stream)
            }

            /// The keys that are in this set, in the other one, or in both, as a set with the
            /// configuration of this one. Waits until it is built.
            ///
            /// Writes out both sets, looks up the keys of the smaller one in the larger one, and
            /// builds a set without looking for repeats. Takes memory for the keys of both, and for
            /// those of the smaller one again, besides what the build takes.
            ///
            /// # Errors
            #[doc = concat!(
                "As for [`", stringify!($config), "::build_on`](crate::", stringify!($config), "::build_on), of as many keys as the union has;"
            )]
            /// [`Error::WrongDevice`](crate::Error::WrongDevice) if the sets or the stream are on
            /// different devices.
            pub fn union(&self, stream: &crate::Stream, other: &Self) -> crate::Result<Self> {
                crate::table::set_operations::union(self, stream, other)
            }

            /// The keys that are in both sets, as a set with the configuration of this one; waits
            /// until it is built.
            ///
            /// Writes out the smaller set, looks up its keys in the larger one, and builds a set
            /// without looking for repeats. Takes memory for the keys of the smaller one twice,
            /// besides what the build takes.
            ///
            /// # Errors
            #[doc = concat!("As for [`", stringify!($config), "::build_on`](crate::", stringify!($config), "::build_on);")]
            /// [`Error::WrongDevice`](crate::Error::WrongDevice) if the sets or the stream are on
            /// different devices.
            pub fn intersection(&self, stream: &crate::Stream, other: &Self) -> crate::Result<Self> {
                crate::table::set_operations::intersection(self, stream, other)
            }

            /// The keys of this set that are not in the other one, as a set with the configuration
            /// of this one. Waits until it is built.
            ///
            /// Writes out this set, looks up its keys in the other one, and builds a set without
            /// looking for repeats. Takes memory for the keys of this set twice, besides what the
            /// build takes.
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
