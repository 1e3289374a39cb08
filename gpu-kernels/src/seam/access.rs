//! The operations on words of the device's memory that a back end must implement, and the scopes of
//! atomics.

/// The set of threads relative to which an operation is atomic.
pub trait Scope: Copy {
    #[doc(hidden)]
    const LEVEL: u8;
}

/// The scope of the threads of one block.
#[derive(Clone, Copy, Debug)]
pub struct BlockScope;
/// The scope of all threads on the device.
#[derive(Clone, Copy, Debug)]
pub struct DeviceScope;
/// The scope of all threads on all devices and the host.
#[derive(Clone, Copy, Debug)]
pub struct SystemScope;
impl Scope for BlockScope {
    const LEVEL: u8 = 0;
}
impl Scope for DeviceScope {
    const LEVEL: u8 = 1;
}
impl Scope for SystemScope {
    const LEVEL: u8 = 2;
}

/// The accesses to the device's memory that each back end implements. Only
/// [`Global`](super::Global) and [`Atomic`](super::Atomic) call these methods; their documentation
/// says what each access does.
///
/// # Safety
/// The methods access the word at `at`, which must be allocated and aligned. The plain accesses
/// must not race.
#[allow(clippy::missing_safety_doc, missing_docs)]
pub trait WholeWord: Sized {
    fn prefetch(at: *const Self);
    unsafe fn load_streaming(at: *const Self) -> Self;
    unsafe fn load_read_only(at: *const Self) -> Self;
    unsafe fn atomic_load<S: Scope>(at: *mut Self) -> Self;
    unsafe fn atomic_exchange<S: Scope>(at: *mut Self, value: Self) -> Self;
    unsafe fn atomic_compare_exchange<S: Scope>(at: *mut Self, expected: Self, value: Self) -> Self;
}

/// The further accesses to words of 32 and 64 bits.
///
/// # Safety
/// As for [`WholeWord`].
#[allow(clippy::missing_safety_doc, missing_docs)]
pub trait GlobalWord: Sized {
    fn prefetch_far(at: *const Self);
    unsafe fn load_pair_read_only(at: *const Self) -> [Self; 2];
    unsafe fn load_pair_streaming(at: *const Self) -> [Self; 2];
    unsafe fn atomic_load_pair(at: *mut Self) -> [Self; 2];
    unsafe fn store_pair(at: *mut Self, values: [Self; 2]);
    unsafe fn load_four(at: *const Self) -> [Self; 4];
    unsafe fn load_four_read_only(at: *const Self) -> [Self; 4];
    unsafe fn load_four_streaming(at: *const Self) -> [Self; 4];
    unsafe fn store_streaming(at: *mut Self, value: Self);
    unsafe fn store_four_streaming(at: *mut Self, values: [Self; 4]);
    unsafe fn atomic_store<S: Scope>(at: *mut Self, value: Self);
    unsafe fn atomic_max<S: Scope>(at: *mut Self, value: Self) -> Self;
}

/// The addition to integers and floats of 32 and 64 bits.
///
/// # Safety
/// As for [`WholeWord`].
#[allow(clippy::missing_safety_doc, missing_docs)]
pub trait AddedWord: Sized {
    unsafe fn atomic_add<S: Scope>(at: *mut Self, value: Self) -> Self;
}
