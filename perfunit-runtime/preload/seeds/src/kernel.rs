//! System calls without libc. The dispatcher has this very file, by a symbolic link.

use core::arch::asm;
use core::ffi::c_long;

/// Makes a system call, and returns the kernel's result.
///
/// # Safety
///
/// As the system call's.
#[cfg(target_arch = "x86_64")]
#[inline]
pub unsafe fn enter(number: c_long, [a1, a2, a3, a4, a5, a6]: [c_long; 6]) -> c_long {
    let result;
    // SAFETY: the kernel's convention; the rest is our caller's.
    unsafe {
        asm!("syscall", inlateout("rax") number => result, in("rdi") a1, in("rsi") a2, in("rdx") a3, in("r10") a4,
            in("r8") a5, in("r9") a6, lateout("rcx") _, lateout("r11") _, options(nostack));
    }
    result
}

/// Makes a system call, and returns the kernel's result.
///
/// # Safety
///
/// As the system call's.
#[cfg(target_arch = "aarch64")]
#[inline]
pub unsafe fn enter(number: c_long, [a1, a2, a3, a4, a5, a6]: [c_long; 6]) -> c_long {
    let result;
    // SAFETY: the kernel's convention; the rest is our caller's.
    unsafe {
        asm!("svc 0", in("x8") number, inlateout("x0") a1 => result, in("x1") a2, in("x2") a3, in("x3") a4,
            in("x4") a5, in("x5") a6, options(nostack));
    }
    result
}
