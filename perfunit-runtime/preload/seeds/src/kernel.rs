//! System calls without libc. The dispatcher shares this file through a symbolic link.

use core::arch::asm;
use core::ffi::{c_char, c_long};

#[cfg(target_arch = "x86_64")]
const CLOCK_GETTIME: c_long = 228;
#[cfg(target_arch = "aarch64")]
const CLOCK_GETTIME: c_long = 113;
#[cfg(target_arch = "x86_64")]
const OPENAT: c_long = 257;
#[cfg(target_arch = "aarch64")]
const OPENAT: c_long = 56;

const AT_FDCWD: c_long = -100;
pub const CLOCK_MONOTONIC: c_long = 1;
/// Flag for [`open`]: closes the file in programs that this process becomes (`O_CLOEXEC`).
pub const CLOSE_ON_EXEC: c_long = 0o2_000_000;
/// Flag for [`open`]: opens for reading and writing (`O_RDWR`).
pub const READ_WRITE: c_long = 2;

/// Opens a file and returns its descriptor, or `None` if the kernel refuses.
///
/// # Safety
///
/// `path` ends in a zero byte.
pub unsafe fn open(path: *const c_char, flags: c_long) -> Option<c_long> {
    // SAFETY: the caller guarantees that the path ends in a zero byte.
    let file = unsafe { enter(OPENAT, [AT_FDCWD, path as c_long, flags, 0, 0, 0]) };
    (file >= 0).then_some(file)
}

/// Returns the time of a clock, in ns.
pub fn now(clock: c_long) -> u64 {
    let mut time: [c_long; 2] = [0; 2];
    // SAFETY: the kernel writes the time into the array.
    unsafe { enter(CLOCK_GETTIME, [clock, time.as_mut_ptr() as c_long, 0, 0, 0, 0]) };
    time[0] as u64 * 1_000_000_000 + time[1] as u64
}

/// Makes a system call and returns the kernel's result.
///
/// # Safety
///
/// The arguments must meet the requirements of this system call.
#[cfg(target_arch = "x86_64")]
#[inline]
pub unsafe fn enter(number: c_long, [a1, a2, a3, a4, a5, a6]: [c_long; 6]) -> c_long {
    let result;
    // SAFETY: follows the kernel's calling convention; the caller guarantees the arguments.
    unsafe {
        asm!("syscall", inlateout("rax") number => result, in("rdi") a1, in("rsi") a2, in("rdx") a3, in("r10") a4,
            in("r8") a5, in("r9") a6, lateout("rcx") _, lateout("r11") _, options(nostack));
    }
    result
}

/// Makes a system call and returns the kernel's result.
///
/// # Safety
///
/// The arguments must meet the requirements of this system call.
#[cfg(target_arch = "aarch64")]
#[inline]
pub unsafe fn enter(number: c_long, [a1, a2, a3, a4, a5, a6]: [c_long; 6]) -> c_long {
    let result;
    // SAFETY: follows the kernel's calling convention; the caller guarantees the arguments.
    unsafe {
        asm!("svc 0", in("x8") number, inlateout("x0") a1 => result, in("x1") a2, in("x2") a3, in("x3") a4,
            in("x4") a5, in("x5") a6, options(nostack));
    }
    result
}
