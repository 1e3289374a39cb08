//! The pointers that kernels get, each for a buffer whose use is recorded.

use crate::runtime::allocation::ALIGNMENT;
use crate::runtime::buffer::Buffer;
use crate::runtime::stream::{Batch, Uses};
use crate::runtime::view::BufferSlice;
use crate::table::refs::HasRef;
use crate::{Error, InputError};
use gpu_kernels::seam::Global;

impl<'b> Uses<'b> {
    /// Returns the pointer to a buffer that the kernel reads.
    pub fn read<T>(&self, buffer: &'b Buffer<T>) -> Global<T> {
        self.0.read(buffer)
    }

    /// Returns the pointer to a buffer that the kernel writes, and perhaps reads.
    pub fn write<T>(&self, buffer: &'b mut BufferSlice<T>) -> Global<T> {
        self.0.write(buffer)
    }

    /// Returns a table as the kernel's argument, by which its threads look keys up.
    ///
    /// The launch waits for changes of the table on other streams. If the table is on another
    /// device, or a change of it failed partway, the launch returns the error. The table is
    /// borrowed until the kernel is queued, so it can neither be dropped nor changed in the
    /// closure:
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

    /// Returns the pointers and steps behind these.
    pub(crate) fn batch(&self) -> &Batch<'b> {
        &self.0
    }
}

impl<'b> Batch<'b> {
    /// Returns the pointer to a buffer that the batch reads.
    pub fn read<T>(&self, buffer: &'b Buffer<T>) -> Global<T> {
        self.reads(buffer);
        self.pointer(buffer)
    }

    /// Returns the pointer to a buffer that the batch writes, and perhaps reads.
    pub fn write<T>(&self, buffer: &'b Buffer<T>) -> Global<T> {
        self.writes(buffer);
        self.pointer(buffer)
    }

    /// Returns [`Batch::read`] of a buffer, or null.
    ///
    /// # Safety
    /// The kernel does not access null, as [`Global::null`] demands.
    pub unsafe fn read_or_null<T>(&self, buffer: Option<&'b Buffer<T>>) -> Global<T> {
        // SAFETY: as the caller promises.
        buffer.map_or_else(|| unsafe { Global::null() }, |buffer| self.read(buffer))
    }

    /// Returns [`Batch::write`] of a buffer, or null.
    ///
    /// # Safety
    /// As for [`Batch::read_or_null`].
    pub unsafe fn write_or_null<T>(&self, buffer: Option<&'b Buffer<T>>) -> Global<T> {
        // SAFETY: as the caller promises.
        buffer.map_or_else(|| unsafe { Global::null() }, |buffer| self.write(buffer))
    }

    /// Returns the pointer to a buffer whose use has been recorded. If kernels cannot take it, no
    /// step is queued from now on.
    fn pointer<T>(&self, buffer: &Buffer<T>) -> Global<T> {
        let address = buffer.address();
        if !address.is_multiple_of(ALIGNMENT) && !buffer.is_empty() {
            let (address, alignment) = (address as u64, ALIGNMENT as u64);
            self.fail(Error::Input(InputError::Misaligned { address, alignment }));
        }
        // SAFETY: it goes into launches of the batch that recorded the buffer. They are ordered
        // against other uses, and the buffer is borrowed until they have their event. If there are
        // elements at an address that is not aligned, nothing is launched.
        unsafe { Global::new(address as *mut T) }
    }
}
