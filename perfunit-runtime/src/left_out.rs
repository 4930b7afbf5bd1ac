//! Times that the clock measures but that do not count, e.g. making inputs and dropping outputs of a benchmark.

use std::sync::atomic::AtomicI64;
use std::sync::atomic::Ordering::Relaxed;

/// Negative where the benchmark's own clock has counted more than ours.
pub static WALL_NS: AtomicI64 = AtomicI64::new(0);
pub static CPU_NS: AtomicI64 = AtomicI64::new(0);
pub static DELAY_NS: AtomicI64 = AtomicI64::new(0);

/// Excluded times up to a moment, or since one, in ns.
#[derive(Debug, Clone, Copy)]
pub struct LeftOut {
    pub wall: i64,
    cpu: i64,
    delay: i64,
}

impl LeftOut {
    /// Returns the excluded times until now.
    pub fn so_far() -> Self {
        Self { wall: WALL_NS.load(Relaxed), cpu: CPU_NS.load(Relaxed), delay: DELAY_NS.load(Relaxed) }
    }

    /// Returns the excluded times between this moment and now.
    pub fn since(self) -> Self {
        let now = Self::so_far();
        Self { wall: now.wall - self.wall, cpu: now.cpu - self.cpu, delay: now.delay - self.delay }
    }

    /// Returns the part of a wall time that counts.
    pub fn of_wall(self, ns: u64) -> u64 {
        rest(ns, self.wall)
    }

    /// Returns the part of a processor time that counts.
    pub fn of_cpu(self, ns: u64) -> u64 {
        rest(ns, self.cpu)
    }

    /// Returns the part of a delay by other programs that counts, which is at least 0.
    pub fn of_delay(self, ns: i64) -> u64 {
        (ns - self.delay).max(0) as u64
    }
}

/// Converts a time to a signed number, for differences.
pub fn signed(ns: u64) -> i64 {
    i64::try_from(ns).unwrap_or(i64::MAX)
}

fn rest(ns: u64, left_out_ns: i64) -> u64 {
    (signed(ns) - left_out_ns).max(0) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rest_of_a_time_is_never_negative() {
        assert_eq!((rest(5, 7), rest(7, 5), rest(5, -2)), (0, 2, 7));
    }
}
