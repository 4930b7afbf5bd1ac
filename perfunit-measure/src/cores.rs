//! The choice of the core to measure on, by the kernel's figures and by what a spinning thread loses.

use super::kernel;
use perfunit_system::os;
use std::time::{Duration, Instant};

/// The gap between two readings of the clock in which something else ran; usual gaps are some ten nanoseconds.
const GAP: Duration = Duration::from_micros(5);

/// The gaps that a spinning thread measured.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Spin {
    /// The time for which the thread ran.
    pub time: Duration,
    pub lost: Duration,
    pub gaps: u32,
    pub longest: Duration,
}

impl Spin {
    /// Returns the share of the time that other work took.
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

/// Spins on a core; `None` if this process may not run there.
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

/// Runs a function on a core; `None` if this process may not run there.
pub fn on_core<T: Send + 'static>(core: usize, work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    let pinned = move || {
        os::keep_on([core]).ok()?;
        Some(work())
    };
    std::thread::spawn(pinned).join().ok().flatten()
}

/// The number of cores that a thread spins on: those with the most idle time.
const LOOKED_AT: usize = 4;
/// The time over which the kernel's figures are compared: several of its ticks.
const WATCHED: Duration = Duration::from_millis(40);
/// The time of spinning on a core, longer than the time slices of the scheduler.
const SPUN: Duration = Duration::from_millis(30);
/// The least difference at which another core is preferred to the last one, which gets the fewest interrupts. On a busy
/// machine, such a short measurement has an error of this size.
const EQUAL: f64 = 0.1;
/// The weight of preempted work, which still evicts the caches.
const WEIGHT_OF_BUSY: f64 = 0.1;

/// The load of a core.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Look {
    core: usize,
    /// The share of the time in which the core, or a core with the same execution units, was busy.
    busy: f64,
    /// The share of the time that a spinning thread does not get.
    lost: f64,
}

/// Returns the quietest of some cores, in about a tenth of a second.
pub fn quietest(cores: &[usize]) -> Option<usize> {
    if cores.len() < 2 {
        return cores.last().copied();
    }
    let before = kernel::ticks();
    std::thread::sleep(WATCHED);
    let after = kernel::ticks();
    let busy = |core: &usize| {
        let (Some(before), Some(after)) = (before.get(core), after.get(core)) else { return 0.0 };
        let ticks = after.since(*before);
        1.0 - ticks.idle as f64 / ticks.all().max(1) as f64
    };
    let busy_unit = |core: usize| kernel::siblings(core).iter().map(busy).fold(0.0, f64::max);
    let mut looks: Vec<Look> =
        cores.iter().map(|core| Look { core: *core, busy: busy_unit(*core), lost: 0.0 }).collect();
    // Of equally busy cores, the last comes first.
    looks.sort_by(|a, b| a.busy.total_cmp(&b.busy).then(b.core.cmp(&a.core)));
    looks.truncate(LOOKED_AT);
    for look in &mut looks {
        look.lost = spin(look.core, SPUN).map_or(1.0, |spin| spin.lost_share());
    }
    choose(&looks)
}

/// Returns the core on which a thread loses least; the last of about equal ones.
fn choose(looks: &[Look]) -> Option<usize> {
    let cost = |look: &Look| look.lost + WEIGHT_OF_BUSY * look.busy;
    let least = looks.iter().map(cost).fold(f64::INFINITY, f64::min);
    looks.iter().filter(|look| cost(look) <= least + EQUAL).map(|look| look.core).max()
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

    #[track_caller]
    fn check(looks: &[(usize, f64, f64)], expected: usize) {
        let looks: Vec<Look> = looks.iter().map(|&(core, busy, lost)| Look { core, busy, lost }).collect();
        assert_eq!(choose(&looks), Some(expected));
    }

    #[test]
    fn of_equal_cores_the_last_is_taken() {
        check(&[(0, 0.0, 0.003), (1, 0.0, 0.015)], 1);
    }

    #[test]
    fn the_core_that_others_need_is_left_to_them() {
        check(&[(0, 0.1, 0.01), (1, 1.0, 0.5)], 0);
        // Programs of low priority give way, but still disturb.
        check(&[(0, 0.0, 0.01), (1, 1.0, 0.02)], 0);
        check(&[(0, 1.0, 0.02), (1, 0.0, 0.3)], 0);
    }
}
