//! The driver's functions, exported under their names.

/// Defines the driver's functions. Each function's body is run by `call`, or by `call_in` if a
/// context must be current.
macro_rules! functions {
    ($($how:ident $name:ident($($argument:ident: $type:ty),* $(,)?) |$state:ident| $body:block)*) => {
        $(
            /// Calls the driver's function of this name.
            ///
            /// # Safety
            /// The caller must keep the contract in NVIDIA's documentation.
            #[unsafe(no_mangle)]
            #[allow(non_snake_case, reason = "the driver's names")]
            #[allow(clippy::too_many_arguments, reason = "the driver's functions have them")]
            pub unsafe extern "C" fn $name($($argument: $type),*) -> u32 {
                $how(stringify!($name), |$state| $body)
            }
        )*
    };
}

mod devices;
mod graphs;
mod memory;
mod modules;
mod streams;

use crate::answer::{Answer, code};
use crate::state::{State, state};

/// Does a call: counts it, and returns the code of a planted fault or of the call's own result.
fn call(name: &'static str, work: impl FnOnce(&mut State) -> Answer) -> u32 {
    let mut state = state();
    match state.count(name).and_then(|()| work(&mut state)) {
        Ok(()) => 0,
        Err(code) => code,
    }
}

/// Does a call like [`call`], and fails unless a working context is current.
fn call_in(name: &'static str, work: impl FnOnce(&mut State) -> Answer) -> u32 {
    call(name, |state| {
        state.working(name)?;
        work(state)
    })
}

/// Writes the result of a call.
fn give<T>(to: *mut T, value: T) -> Answer {
    if to.is_null() {
        return Err(code::INVALID_VALUE);
    }
    // SAFETY: the driver's caller passed the pointer to receive this value.
    unsafe { to.write(value) };
    Ok(())
}
