//! The clock of the probes: the cheapest one available, with its own ticks.

/// Reads the clock without serializing the instructions around it, because waiting for them would cost more than it
/// gains.
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
    // SAFETY: reads the virtual counter, which Linux allows.
    unsafe { std::arch::asm!("mrs {}, cntvct_el0", out(reg) ticks, options(nomem, nostack, preserves_flags)) };
    ticks
}

/// Returns ns since the first call, starting at 1.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn read() -> u64 {
    static START: std::sync::OnceLock<std::time::Instant> = std::sync::OnceLock::new();
    START.get_or_init(std::time::Instant::now).elapsed().as_nanos() as u64 + 1
}

/// A clock that stands still until a test advances it, for the test's thread.
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
