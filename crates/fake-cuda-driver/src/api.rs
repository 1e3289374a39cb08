//! The functions of the driver, under their names.

/// Defines the functions, each with what makes its call: `call`, or `call_in` if a context must be
/// current.
macro_rules! functions {
    ($($how:ident $name:ident($($argument:ident: $type:ty),* $(,)?) |$state:ident| $body:block)*) => {
        $(
            /// Calls the driver's function of this name.
            ///
            /// # Safety
            /// As its documentation by NVIDIA says.
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
mod memory;
mod modules;
mod streams;

use crate::answer::{Answer, code};
use crate::state::{State, state};

/// Does a call: counts it, and answers the fault planted for it or its own result.
fn call(name: &'static str, work: impl FnOnce(&mut State) -> Answer) -> u32 {
    let mut state = state();
    match state.count(name).and_then(|()| work(&mut state)) {
        Ok(()) => 0,
        Err(code) => code,
    }
}

/// Does a call like [`call`], in a context, which must be current.
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
    // SAFETY: the caller of the driver gave the pointer for this.
    unsafe { to.write(value) };
    Ok(())
}
