//! The work of this thread: each basic block calls us, and so does what moves, sets or compares bytes.

use perfunit_runtime::growth::BLOCK;
use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::slice::from_raw_parts;

thread_local! {
    // Constant and without a destructor, so that reaching it runs no code of ours and never fails.
    static WORK: Cell<u64> = const { Cell::new(0) };
}

/// The work of this thread so far.
pub fn work() -> u64 {
    WORK.with(Cell::get)
}

/// Forgets the work since a moment when it was this much.
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

/// # Safety
///
/// As the C library's, here and below.
#[no_mangle]
pub unsafe extern "C" fn __wrap_memcpy(to: *mut c_void, from: *const c_void, length: usize) -> *mut c_void {
    add(length as u64);
    // SAFETY: our caller's.
    unsafe { __real_memcpy(to, from, length) }
}

/// # Safety
///
/// See above.
#[no_mangle]
pub unsafe extern "C" fn __wrap_memmove(to: *mut c_void, from: *const c_void, length: usize) -> *mut c_void {
    add(length as u64);
    // SAFETY: our caller's.
    unsafe { __real_memmove(to, from, length) }
}

/// # Safety
///
/// See above.
#[no_mangle]
pub unsafe extern "C" fn __wrap_memset(to: *mut c_void, byte: c_int, length: usize) -> *mut c_void {
    add(length as u64);
    // SAFETY: our caller's.
    unsafe { __real_memset(to, byte, length) }
}

/// # Safety
///
/// See above.
#[no_mangle]
pub unsafe extern "C" fn __wrap_memcmp(one: *const c_void, other: *const c_void, length: usize) -> c_int {
    // SAFETY: our caller's.
    let order = unsafe { __real_memcmp(one, other, length) };
    // SAFETY: our caller's.
    add(unsafe { compared(order, one, other, length) });
    order
}

/// # Safety
///
/// See above.
#[no_mangle]
pub unsafe extern "C" fn __wrap_bcmp(one: *const c_void, other: *const c_void, length: usize) -> c_int {
    // SAFETY: our caller's.
    let order = unsafe { __real_bcmp(one, other, length) };
    // SAFETY: our caller's.
    add(unsafe { compared(order, one, other, length) });
    order
}

/// How many bytes there are to the first difference: the C library looks at no more.
///
/// # Safety
///
/// Both are as long.
unsafe fn compared(order: c_int, one: *const c_void, other: *const c_void, length: usize) -> u64 {
    if order == 0 {
        return length as u64;
    }
    // SAFETY: of bytes that differ there is one, so that both are not null.
    let (one, other) =
        unsafe { (from_raw_parts(one.cast::<u8>(), length), from_raw_parts(other.cast::<u8>(), length)) };
    1 + one.iter().zip(other).take_while(|(one, other)| one == other).count() as u64
}
