//! Disturbances on the measuring core, and whether another core is better. Reading is thin, judgement is pure.
//!
//! Other programs on the core are not a reason to drop a pair. Both processes of a pair suffer alike, the quantiles leave
//! out disturbed batches, and a rule that drops pairs by their lost time was seen to gain nothing. They are a reason to
//! move to a quieter core between two tests, and to tell the user why the run took long.

use super::kernel::{self, Ticks};
use perfunit_model::Machine;
use perfunit_system::os::TICK;
use perfunit_system::process;
use std::time::{Duration, Instant};

/// The shortest meaningful stretch: several ticks.
const SHORTEST: Duration = Duration::from_millis(300);
/// The smallest share of the core in other use that makes the tool look for a quieter core.
const BUSY: f64 = 0.2;
/// The time between two looks, each of which takes a tenth of a second.
const BETWEEN_LOOKS: Duration = Duration::from_secs(5);
/// The smallest share of time used by other programs that is reported to the user.
const TOLD: f64 = 0.2;
/// The smallest share of time that the host gave to other machines and that is reported to the user.
const STEAL_TOLD: f64 = 0.02;

/// The kernel's counters at an instant.
#[derive(Debug, Clone, Copy)]
struct Counters {
    at: Instant,
    core: Ticks,
    /// The processor time of all processes that we started and that have ended.
    children: Duration,
}

impl Counters {
    fn read(core: usize) -> Self {
        let core = kernel::ticks().get(&core).copied().unwrap_or_default();
        Self { at: Instant::now(), core, children: process::childrens_time() }
    }
}

/// The use of a core during an interval.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Stretch {
    time: Duration,
    /// The time in which other programs had the core.
    others: Duration,
    /// The time in which the host had the core.
    steal: Duration,
}

impl Stretch {
    fn between(before: &Counters, after: &Counters) -> Self {
        let ticks = after.core.since(before.core);
        let ours = after.children.saturating_sub(before.children);
        let time = |ticks: u64| TICK * u32::try_from(ticks).unwrap_or(u32::MAX);
        Self {
            time: after.at.duration_since(before.at),
            others: time(ticks.busy).saturating_sub(ours),
            steal: time(ticks.steal),
        }
    }

    fn share(&self, part: Duration) -> f64 {
        part.as_secs_f64() / self.time.as_secs_f64().max(1e-9)
    }

    fn is_busy(&self) -> bool {
        self.time >= SHORTEST && self.share(self.others + self.steal) >= BUSY
    }

    fn add(&mut self, other: &Self) {
        self.time += other.time;
        self.others += other.others;
        self.steal += other.steal;
    }
}

/// Runs some work; returns the part of its wall time in which neither other programs nor the host had the core.
pub fn time_work<T>(core: usize, work: impl FnOnce() -> T) -> (T, Duration) {
    let before = Counters::read(core);
    let done = work();
    let stretch = Stretch::between(&before, &Counters::read(core));
    (done, stretch.time.saturating_sub(stretch.others + stretch.steal))
}

/// Watches the measuring core from test to test.
#[derive(Debug)]
pub struct Watch {
    core: usize,
    last: Counters,
    looked: Instant,
    sum: Stretch,
    moves: u32,
    throttled: Option<u64>,
    overheated: Option<u64>,
}

impl Watch {
    pub fn new(core: usize) -> Self {
        let last = Counters::read(core);
        Self {
            core,
            looked: last.at,
            last,
            sum: Stretch::default(),
            moves: 0,
            throttled: kernel::count_throttling(),
            overheated: kernel::count_overheating(core),
        }
    }

    /// Ends a stretch. Returns whether it is time to look for a quieter core.
    pub fn wants_to_move(&mut self) -> bool {
        let now = Counters::read(self.core);
        let stretch = Stretch::between(&self.last, &now);
        if stretch.time < SHORTEST {
            return false;
        }
        self.sum.add(&stretch);
        self.last = now;
        let move_on = stretch.is_busy() && now.at.duration_since(self.looked) >= BETWEEN_LOOKS;
        if move_on {
            self.looked = now.at;
        }
        move_on
    }

    /// Continues with the core that was found to be the quietest.
    pub fn move_to(&mut self, core: usize) {
        self.moves += u32::from(core != self.core);
        self.core = core;
        self.last = Counters::read(core);
        self.overheated = self.overheated.and(kernel::count_overheating(core));
    }

    /// Returns the remarks for the user after the last test.
    pub fn remarks(&self) -> Vec<Machine> {
        let mut sum = self.sum;
        sum.add(&Stretch::between(&self.last, &Counters::read(self.core)));
        let more = |now: Option<u64>, before: Option<u64>| {
            now.zip(before).map_or(0, |(now, before)| now.saturating_sub(before))
        };
        let throttled = more(kernel::count_throttling(), self.throttled);
        let overheated = more(kernel::count_overheating(self.core), self.overheated);
        remarks(&sum, self.moves, throttled, overheated)
    }
}

fn remarks(sum: &Stretch, moves: u32, throttled: u64, overheated: u64) -> Vec<Machine> {
    let mut remarks = Vec::new();
    if sum.time < SHORTEST {
        return remarks;
    }
    let percent = |part| (sum.share(part) * 100.0).round_ties_even() as u32;
    if sum.share(sum.others) >= TOLD {
        remarks.push(Machine::SharedCore { percent: percent(sum.others), moves });
    }
    if sum.share(sum.steal) >= STEAL_TOLD {
        remarks.push(Machine::Steal { percent: percent(sum.steal) });
    }
    if throttled > 0 {
        remarks.push(Machine::Throttled { times: throttled });
    }
    if overheated > 0 {
        remarks.push(Machine::Overheated { times: overheated });
    }
    remarks
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stretch(milliseconds: u64, others: u64, steal: u64) -> Stretch {
        let [time, others, steal] = [milliseconds, others, steal].map(Duration::from_millis);
        Stretch { time, others, steal }
    }

    #[test]
    fn what_we_ran_ourselves_is_not_others() {
        let at = Instant::now();
        let before = Counters { at, core: Ticks::default(), children: Duration::from_millis(100) };
        let core = Ticks { busy: 70, idle: 20, steal: 10 };
        let after = Counters { at: at + Duration::from_secs(1), core, children: Duration::from_millis(500) };
        assert_eq!(Stretch::between(&before, &after), stretch(1000, 300, 100));
        // The children ran on other cores: the difference is never negative.
        let after = Counters { children: Duration::from_secs(9), ..after };
        assert_eq!(Stretch::between(&before, &after), stretch(1000, 0, 100));
    }

    #[test]
    fn only_a_long_busy_stretch_is_a_reason_to_move() {
        assert!(stretch(400, 100, 0).is_busy());
        assert!(stretch(400, 60, 40).is_busy());
        assert!(!stretch(400, 40, 0).is_busy());
        assert!(!stretch(200, 200, 0).is_busy());
    }

    #[test]
    fn the_first_seconds_are_no_time_to_look_again() {
        let mut watch = Watch::new(0);
        assert!(!watch.wants_to_move());
    }

    #[track_caller]
    fn check(sum: &Stretch, counts: (u32, u64, u64), expected: &[&str]) {
        let remarks = remarks(sum, counts.0, counts.1, counts.2);
        assert_eq!(remarks.len(), expected.len(), "{remarks:?}");
        for (remark, part) in remarks.iter().zip(expected) {
            assert!(remark.to_string().contains(part), "{remark}");
        }
    }

    #[test]
    fn a_quiet_run_has_no_remarks() {
        check(&stretch(9000, 900, 90), (0, 0, 0), &[]);
        // The stretch is too short to judge.
        check(&stretch(100, 90, 0), (0, 5, 0), &[]);
    }

    #[test]
    fn everything_that_disturbed_is_named() {
        let expected =
            ["for 50 % of the time, although we moved to a quieter one 2 times", "10 %", "7 times", "3 times"];
        check(&stretch(10_000, 5000, 1000), (2, 7, 3), &expected);
    }
}
