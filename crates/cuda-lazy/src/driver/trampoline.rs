//! The symbols themselves: for each name a slot, a jump through it, and an entry in the table.

use std::sync::atomic::AtomicPtr;

/// The address of the function to which a symbol jumps.
pub(super) type Slot = AtomicPtr<()>;

/// One symbol.
pub(super) struct Entry {
    /// Its name, in this binary and in the driver.
    pub(super) name: &'static str,
    /// Where its jump goes.
    pub(super) slot: &'static Slot,
    /// Its own address.
    pub(super) trampoline: unsafe extern "C" fn(),
}

/// The address that the slot of a name holds until a driver is loaded.
macro_rules! stub {
    (cuGetErrorString) => {
        $crate::driver::stub::error_string as *const () as *mut ()
    };
    ($other:ident) => {
        $crate::driver::stub::no_device as *const () as *mut ()
    };
}
pub(super) use stub;

/// The body of a symbol: a jump to the address in `$slot`.
///
/// No register that can hold an argument changes: x86-64 jumps through memory, and AArch64 through x16, which its
/// calling convention keeps free for this. The slot is read without ordering: a thread that calls the driver has seen
/// `load` return, and one that has not gets the stub or the driver's function, never half of an address.
///
/// The symbol is hidden, because a shared library would otherwise offer it to the whole process, and calls inside the
/// driver could come back to it.
macro_rules! jump {
    ($name:ident, $slot:path) => {{
        #[cfg(target_arch = "x86_64")]
        std::arch::naked_asm!(
            concat!(".hidden ", stringify!($name)),
            "jmp qword ptr [rip + {slot}]",
            slot = sym $slot,
        );
        #[cfg(target_arch = "aarch64")]
        std::arch::naked_asm!(
            concat!(".hidden ", stringify!($name)),
            "adrp x16, {slot}",
            "ldr x16, [x16, :lo12:{slot}]",
            "br x16",
            slot = sym $slot,
        );
    }};
}
pub(super) use jump;

/// Defines a symbol for each name, and the table `ENTRIES` of them all.
macro_rules! symbols {
    ($($name:ident)*) => {
        /// The slots, each under the name of its symbol.
        #[allow(non_upper_case_globals)]
        mod slot {
            use $crate::driver::trampoline::{Slot, stub};

            $(pub(super) static $name: Slot = Slot::new(stub!($name));)*
        }

        /// The symbols. Each takes and returns what the function in its slot does: none may be called as declared here.
        #[allow(non_snake_case)]
        mod jump {
            use $crate::driver::trampoline::jump;

            $(
                // SAFETY: the name is the driver's, and this crate is there to define it in the driver's stead.
                #[unsafe(no_mangle)]
                #[unsafe(naked)]
                pub(super) unsafe extern "C" fn $name() {
                    jump!($name, super::slot::$name)
                }
            )*
        }

        /// Every symbol.
        pub(super) static ENTRIES: &[$crate::driver::trampoline::Entry] = &[
            $($crate::driver::trampoline::Entry {
                name: stringify!($name),
                slot: &slot::$name,
                trampoline: jump::$name,
            },)*
        ];
    };
}
pub(super) use symbols;
