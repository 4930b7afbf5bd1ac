//! The clock of the probes: the cheapest one there is, in ticks of its own.

/// Reads the clock. Not ordered with the instructions around it: waiting for those to end would cost more than it tells.
#[inline(always)]
pub fn now() -> u64 {
    #[cfg(test)]
    if let Some(ticks) = set_by_test::get() {
        return ticks;
    }
    read()
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn read() -> u64 {
    // SAFETY: every x86-64 processor has the instruction, and Linux lets programs use it.
    unsafe { std::arch::x86_64::_rdtsc() }
}

#[cfg(target_arch = "aarch64")]
#[inline(always)]
fn read() -> u64 {
    let ticks: u64;
    // SAFETY: reads the virtual counter, which Linux lets programs do.
    unsafe { std::arch::asm!("mrs {}, cntvct_el0", out(reg) ticks, options(nomem, nostack, preserves_flags)) };
    ticks
}

/// In ns since the first call, from 1 on.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn read() -> u64 {
    static START: std::sync::OnceLock<std::time::Instant> = std::sync::OnceLock::new();
    START.get_or_init(std::time::Instant::now).elapsed().as_nanos() as u64 + 1
}

/// A clock that stands still until a test moves it, for the test's thread.
#[cfg(test)]
pub mod set_by_test {
    use std::cell::Cell;

    thread_local! {
        static TICKS: Cell<Option<u64>> = const { Cell::new(None) };
    }

    pub fn get() -> Option<u64> {
        TICKS.get()
    }

    pub fn start() {
        TICKS.set(Some(1000));
    }

    pub fn pass(ticks: u64) {
        TICKS.set(TICKS.get().map(|now| now + ticks));
    }
}
