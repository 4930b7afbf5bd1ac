//! A short look at what a core does beside our work: a thread that does nothing but read the clock sees every gap.

use perfunit_system::os;
use std::time::{Duration, Instant};

/// Between two readings of the clock lie some ten nanoseconds; in a gap this long something else ran.
const GAP: Duration = Duration::from_micros(5);

/// What a spinning thread saw.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Spin {
    /// How long it was there.
    pub time: Duration,
    pub lost: Duration,
    pub gaps: u32,
    pub longest: Duration,
}

impl Spin {
    /// Share of the time that went to others.
    pub fn lost_share(&self) -> f64 {
        self.lost.as_secs_f64() / self.time.as_secs_f64().max(1e-9)
    }

    pub fn gaps_per_second(&self) -> f64 {
        f64::from(self.gaps) / self.time.as_secs_f64().max(1e-9)
    }

    fn add(&mut self, step: Duration) {
        self.time += step;
        if step > GAP {
            self.lost += step;
            self.gaps += 1;
            self.longest = self.longest.max(step);
        }
    }
}

/// Spins on a core; `None` if we may not run there.
pub fn spin(core: usize, time: Duration) -> Option<Spin> {
    on_core(core, move || {
        let mut spin = Spin::default();
        let started = Instant::now();
        let mut last = started;
        while last.duration_since(started) < time {
            let now = Instant::now();
            spin.add(now.duration_since(last));
            last = now;
        }
        spin
    })
}

/// Runs something on a core; `None` if we may not.
pub fn on_core<T: Send + 'static>(core: usize, work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    let pinned = move || {
        os::keep_on([core]).ok()?;
        Some(work())
    };
    std::thread::spawn(pinned).join().ok().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_are_counted_and_steps_are_not() {
        let mut spin = Spin::default();
        [40, 40, 20_000, 50, 7_000].map(Duration::from_nanos).into_iter().for_each(|step| spin.add(step));
        assert_eq!((spin.gaps, spin.lost, spin.longest), (2, Duration::from_micros(27), Duration::from_micros(20)));
        assert!((spin.lost_share() - 27_000.0 / 27_130.0).abs() < 1e-9);
    }

    #[test]
    fn a_core_that_is_not_there_is_not_spun_on() {
        assert_eq!(spin(1 << 20, Duration::from_millis(1)), None);
    }
}
