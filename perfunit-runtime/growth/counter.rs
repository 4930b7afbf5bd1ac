//! Counter of the current thread's work: basic blocks, and bytes that the C library moves, sets or compares.

use perfunit_runtime::growth::BLOCK;
use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::slice::from_raw_parts;

thread_local! {
    // `const` and without a destructor, so that access runs no initialization code and never fails.
    static WORK: Cell<u64> = const { Cell::new(0) };
}

/// Returns the work of this thread so far.
pub fn work() -> u64 {
    WORK.with(Cell::get)
}

/// Resets the work of this thread to an earlier count.
pub fn set_work(before: u64) {
    WORK.with(|sum| sum.set(before));
}

#[inline(always)]
fn add(work: u64) {
    WORK.with(|sum| sum.set(sum.get().wrapping_add(work)));
}

#[no_mangle]
pub extern "C" fn __sanitizer_cov_trace_pc() {
    add(BLOCK);
}

extern "C" {
    fn __real_memcpy(to: *mut c_void, from: *const c_void, length: usize) -> *mut c_void;
    fn __real_memmove(to: *mut c_void, from: *const c_void, length: usize) -> *mut c_void;
    fn __real_memset(to: *mut c_void, byte: c_int, length: usize) -> *mut c_void;
    fn __real_memcmp(one: *const c_void, other: *const c_void, length: usize) -> c_int;
    fn __real_bcmp(one: *const c_void, other: *const c_void, length: usize) -> c_int;
}

/// Counts the bytes and calls the C library's function.
///
/// # Safety
///
/// The same as for the C library's function. This also holds for the functions below.
#[no_mangle]
pub unsafe extern "C" fn __wrap_memcpy(to: *mut c_void, from: *const c_void, length: usize) -> *mut c_void {
    add(length as u64);
    // SAFETY: the caller guarantees the arguments.
    unsafe { __real_memcpy(to, from, length) }
}

/// Counts the bytes and calls the C library's function.
///
/// # Safety
///
/// See `__wrap_memcpy`.
#[no_mangle]
pub unsafe extern "C" fn __wrap_memmove(to: *mut c_void, from: *const c_void, length: usize) -> *mut c_void {
    add(length as u64);
    // SAFETY: the caller guarantees the arguments.
    unsafe { __real_memmove(to, from, length) }
}

/// Counts the bytes and calls the C library's function.
///
/// # Safety
///
/// See `__wrap_memcpy`.
#[no_mangle]
pub unsafe extern "C" fn __wrap_memset(to: *mut c_void, byte: c_int, length: usize) -> *mut c_void {
    add(length as u64);
    // SAFETY: the caller guarantees the arguments.
    unsafe { __real_memset(to, byte, length) }
}

/// Calls the C library's function and counts the compared bytes.
///
/// # Safety
///
/// See `__wrap_memcpy`.
#[no_mangle]
pub unsafe extern "C" fn __wrap_memcmp(one: *const c_void, other: *const c_void, length: usize) -> c_int {
    // SAFETY: the caller guarantees the arguments.
    let order = unsafe { __real_memcmp(one, other, length) };
    // SAFETY: the caller guarantees the arguments.
    add(unsafe { compared(order, one, other, length) });
    order
}

/// Calls the C library's function and counts the compared bytes.
///
/// # Safety
///
/// See `__wrap_memcpy`.
#[no_mangle]
pub unsafe extern "C" fn __wrap_bcmp(one: *const c_void, other: *const c_void, length: usize) -> c_int {
    // SAFETY: the caller guarantees the arguments.
    let order = unsafe { __real_bcmp(one, other, length) };
    // SAFETY: the caller guarantees the arguments.
    add(unsafe { compared(order, one, other, length) });
    order
}

/// Returns the number of bytes up to and including the first difference; the C library reads no further.
///
/// # Safety
///
/// Both buffers are `length` bytes long.
unsafe fn compared(order: c_int, one: *const c_void, other: *const c_void, length: usize) -> u64 {
    if order == 0 {
        return length as u64;
    }
    // SAFETY: the buffers differ in at least one byte, so neither pointer is null.
    let (one, other) =
        unsafe { (from_raw_parts(one.cast::<u8>(), length), from_raw_parts(other.cast::<u8>(), length)) };
    1 + one.iter().zip(other).take_while(|(one, other)| one == other).count() as u64
}
