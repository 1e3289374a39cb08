//! The methods that the configurations of all maps have in common.

/// Adds the methods that all configurations have to a configuration with the field `seed`. `check`
/// fails if a request for that many pairs makes no sense; the map has a function `create`. The text
/// after them lists the errors of a build.
macro_rules! config_methods {
    (
        $config:ident builds $map:ident, $report:ident tells of it;
        check |$this:ident, $pairs:ident| $check:expr;
        $(#[$errors:meta])*
    ) => {
        impl $config {
            #[doc = concat!(
                "Where the random constants start, so that a build can be repeated. [`", stringify!($report), "`](crate::",
                stringify!($report), ") names it."
            )]
            #[must_use]
            pub fn seed(mut self, seed: u64) -> Self {
                self.seed = Some(seed);
                self
            }
        }

        crate::table::config::build_methods! {
            $config builds $map;
            check |$this, $pairs| $check;
            $(#[$errors])*
        }
    };
}
pub(crate) use config_methods;

/// Adds the methods that build to a configuration without a seed: one that leaves nothing to
/// chance.
macro_rules! build_methods {
    (
        $config:ident builds $map:ident;
        check |$this:ident, $pairs:ident| $check:expr;
        $(#[$errors:meta])*
    ) => {
        impl $config {
            /// Builds a map of `keys[i]` to `values[i]`; returns when it is built.
            ///
            /// # Errors
            $(#[$errors])*
            pub fn build<K: crate::Key, V: crate::Value>(
                &self,
                device: &crate::Device,
                keys: &[K],
                values: &[V],
            ) -> crate::Result<$map<K, V>> {
                crate::error::same_length(("the keys", keys.len()), ("the values", values.len()))?;
                // The check comes before the copies: a request that cannot work should not cost
                // them.
                let ($this, $pairs) = (self, keys.len() as u64);
                $check?;
                let keys = crate::runtime::lent::Lent::new(device, keys)?;
                let values = crate::runtime::lent::Lent::new(device, values)?;
                self.build_on(device.default_stream(), device, &keys, &values)
            }

            /// Builds a map from buffers, on `stream`; waits until it is known that the build
            /// succeeded.
            ///
            /// # Errors
            #[doc = concat!(
                "As for [`", stringify!($config), "::build`], and [`Error::WrongDevice`](crate::Error::WrongDevice)."
            )]
            pub fn build_on<K: crate::Key, V: crate::Value>(
                &self,
                stream: &crate::Stream,
                device: &crate::Device,
                keys: &crate::Buffer<K>,
                values: &crate::Buffer<V>,
            ) -> crate::Result<$map<K, V>> {
                $map::create(self.clone(), stream, device, keys, values)
            }
        }
    };
}
pub(crate) use build_methods;

/// Adds the methods for the field `$pages` to a configuration. This field is the configuration of a
/// page map of its keys.
macro_rules! page_config_methods {
    ($config:ident, $pages:ident) => {
        impl $config {
            /// The load factor of the page map of the keys, if none is repeated:
            /// [`PageConfig::load`](crate::PageConfig::load).
            #[must_use]
            pub fn load(mut self, load: f64) -> Self {
                self.$pages = self.$pages.load(load);
                self
            }
        }

        crate::table::config::page_chance_methods! { $config, $pages }
    };
}
pub(crate) use page_config_methods;

/// Adds the methods for what such a page map leaves to chance: restarts and the seed.
macro_rules! page_chance_methods {
    ($config:ident, $pages:ident) => {
        impl $config {
            /// The number of times that a failed build of the page map may start again with fresh
            /// random constants.
            #[must_use]
            pub fn restarts(mut self, restarts: u32) -> Self {
                self.$pages = self.$pages.restarts(restarts);
                self
            }

            /// The seed of the random constants: [`PageConfig::seed`](crate::PageConfig::seed).
            #[must_use]
            pub fn seed(mut self, seed: u64) -> Self {
                self.$pages = self.$pages.seed(seed);
                self
            }
        }
    };
}
pub(crate) use page_chance_methods;

/// Adds the methods that build to a configuration of a table of keys. It has a method
/// `memory_bytes`, which fails if a request makes no sense; the table, of keys `K`, has a function
/// `create`. The text after them lists the errors of a build.
macro_rules! build_keys_methods {
    ([$($generics:tt)*] $config:ty, $name:literal builds $table:ty; $(#[$errors:meta])*) => {
        impl<$($generics)*> $config {
            /// Builds a table of the different keys among `keys`; returns when it is built.
            ///
            /// # Errors
            $(#[$errors])*
            pub fn build<K: crate::Key>(&self, device: &crate::Device, keys: &[K]) -> crate::Result<$table> {
                // The check comes before the copy: a request that cannot work should not cost it.
                self.memory_bytes::<K>(keys.len() as u64)?;
                let keys = crate::runtime::lent::Lent::new(device, keys)?;
                self.build_on(device.default_stream(), device, &keys)
            }

            /// Builds the table from a buffer, on `stream`; waits until it is known that the build
            /// succeeded.
            ///
            /// # Errors
            #[doc = concat!(
                "As for [`", $name, "::build`], and [`Error::WrongDevice`](crate::Error::WrongDevice)."
            )]
            pub fn build_on<K: crate::Key>(
                &self,
                stream: &crate::Stream,
                device: &crate::Device,
                keys: &crate::Buffer<K>,
            ) -> crate::Result<$table> {
                <$table>::create(self.clone(), stream, device, keys)
            }
        }
    };
}
pub(crate) use build_keys_methods;
