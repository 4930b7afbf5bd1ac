//! Functions of libc and the kernel that several modules use.

use core::ffi::{c_char, c_int, c_long, c_void};

/// The kernel's errors are the results from this number to -1.
const LAST_ERROR: c_long = -4095;
pub const RTLD_NEXT: *mut c_void = -1_isize as *mut c_void;

#[link(name = "c")]
extern "C" {
    pub fn __errno_location() -> *mut c_int;
    pub fn getenv(name: *const c_char) -> *mut c_char;
    pub fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void;
}

/// Parses a hexadecimal number; 0 if there is none.
///
/// # Safety
///
/// `text` is null or ends in a zero byte.
pub unsafe fn hexadecimal(text: *const c_char) -> u64 {
    if text.is_null() {
        return 0;
    }
    let (mut number, mut text) = (0_u64, text);
    // SAFETY: reading stops at the zero byte.
    while let Some(digit) = unsafe { char::from(*text as u8).to_digit(16) } {
        number = number << 4 | u64::from(digit);
        // SAFETY: the byte that was read is not the end.
        text = unsafe { text.add(1) };
    }
    number
}

/// Converts the kernel's result to libc's, and sets `errno` if it is an error.
pub fn outcome(result: c_long) -> c_long {
    if !(LAST_ERROR..0).contains(&result) {
        return result;
    }
    // SAFETY: libc has an `errno` for this thread.
    unsafe { *__errno_location() = -result as c_int };
    -1
}
