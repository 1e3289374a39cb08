//! Tables as arguments of the user's own kernels.

use super::handle::Table;
use super::kind::{KeyWordOf, OfDesign};
use super::raw::RawTable;
use super::raw::sealed::Sealed;
use crate::runtime::stream::Uses;

/// A table that a kernel can take as an argument, to read it: every map, set, multimap and
/// compacting table. The trait is sealed.
pub trait HasRef: Sealed {
    /// The type of the argument, from [`kernels::refs`](gpu_kernels::refs), for the word types of
    /// the keys and values.
    type Ref: Copy;

    /// Returns the kernel argument for a launch that only reads the table.
    #[doc(hidden)]
    fn lend<'b>(&'b self, uses: &Uses<'b>) -> Self::Ref;
}

impl<'b> Uses<'b> {
    /// Returns a table as an argument of the kernel, so that its threads can look keys up.
    ///
    /// The kernel only reads the table: the argument allows no change of keys or values, and no
    /// thread may change them in another way. (For a [`LinearMap`](crate::LinearMap) that the
    /// kernel changes, use [`Uses::table_mut`].) The launch waits for earlier changes of the table
    /// on other streams, and later changes wait for the kernel, so it sees one state of the table.
    /// Lookups, and other kernels that read the table, may run at the same time.
    ///
    /// If the table is on another device, or a change of it failed partway, the launch returns that
    /// error. The table is borrowed until the kernel is queued, so the closure can neither drop nor
    /// change the table:
    ///
    /// ```compile_fail,E0505
    /// # use warpnest::low_level::kernels::primitives::iota::{Iota, IotaParams};
    /// # use warpnest::{Buffer, Device, PageMap};
    /// # let device = Device::cpu();
    /// # let mut output = Buffer::<u32>::zeroed(&device, 8)?;
    /// # let plan = IotaParams { items: 8, first: 0, padding: 0 };
    /// let map: PageMap<u32, u32> = PageMap::build(&device, &[1], &[2])?;
    /// unsafe {
    ///     device.default_stream().launch(8, |uses| {
    ///         let argument = uses.table(&map);
    ///         drop(map);
    /// #       Iota { output: uses.write(&mut output), plan }
    ///     })?;
    /// }
    /// # Ok::<(), warpnest::Error>(())
    /// ```
    ///
    /// ```compile_fail,E0502
    /// # use warpnest::low_level::kernels::primitives::iota::{Iota, IotaParams};
    /// # use warpnest::{Buffer, Device, PageMap};
    /// # let device = Device::cpu();
    /// # let mut output = Buffer::<u32>::zeroed(&device, 8)?;
    /// # let plan = IotaParams { items: 8, first: 0, padding: 0 };
    /// let mut map: PageMap<u32, u32> = PageMap::build(&device, &[1], &[2])?;
    /// unsafe {
    ///     device.default_stream().launch(8, |uses| {
    ///         let argument = uses.table(&map);
    ///         map.insert_many(&[3], &[4]).unwrap();
    /// #       Iota { output: uses.write(&mut output), plan }
    ///     })?;
    /// }
    /// # Ok::<(), warpnest::Error>(())
    /// ```
    pub fn table<T: HasRef>(&self, table: &'b T) -> T::Ref {
        table.lend(self)
    }
}

impl<T: OfDesign> Sealed for Table<T> {}
impl<T: OfDesign> HasRef for Table<T> {
    type Ref = <T::Table as RawTable<KeyWordOf<T>, T::Word>>::Ref;

    fn lend<'b>(&'b self, uses: &Uses<'b>) -> Self::Ref {
        self.table.lend(uses)
    }
}
