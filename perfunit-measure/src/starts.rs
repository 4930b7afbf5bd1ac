//! The log of the programs that the processes of a side started (see `perfunit_runtime::programs`).

use perfunit_decide as decide;
use perfunit_model::error::{Error, Result};
use perfunit_runtime::programs::{FILE_LEN, MOST_STARTS, NAME_LEN, PROGRAMS, Start, Starts, progress};
use perfunit_system::os::{self, SharedMemory};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::sync::atomic::Ordering::{Acquire, Relaxed};

/// The log file of a side.
#[derive(Debug)]
pub struct StartLog(SharedMemory);

/// The cost of a program's starts in one run of a test.
#[derive(Debug, Clone, PartialEq)]
pub struct Use {
    pub starts: f64,
    pub wall_ns: f64,
    pub cpu_ns: f64,
    /// The number of times that the program gave up its core to wait for something.
    pub waits: f64,
    /// The sum of times where each start is the quickest one of all runs.
    pub quickest_wall_ns: f64,
    pub quickest_cpu_ns: f64,
    /// True if the end of each start was seen.
    pub is_complete: bool,
    /// Wall and CPU time of each run; empty if runs start the program unequally often.
    pub each_run: Sums,
}

/// Sums over a program's starts in each run, ns.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Sums {
    pub wall: Vec<f64>,
    pub cpu: Vec<f64>,
}

impl Sums {
    /// Adds the sums of another program; there are none if the two do not have the same runs.
    fn include(&mut self, other: &Self) {
        for (sums, other) in [(&mut self.wall, &other.wall), (&mut self.cpu, &other.cpu)] {
            if sums.len() == other.len() {
                sums.iter_mut().zip(other).for_each(|(sum, other)| *sum += other);
            } else {
                sums.clear();
            }
        }
    }
}

impl Use {
    /// A run without starts.
    pub const NONE: Self = Self {
        starts: 0.0,
        wall_ns: 0.0,
        cpu_ns: 0.0,
        waits: 0.0,
        quickest_wall_ns: 0.0,
        quickest_cpu_ns: 0.0,
        is_complete: true,
        each_run: Sums { wall: Vec::new(), cpu: Vec::new() },
    };

    /// Adds the use of another program.
    pub fn include(&mut self, other: &Use) {
        if self.starts > 0.0 {
            self.each_run.include(&other.each_run);
        } else {
            self.each_run.clone_from(&other.each_run);
        }
        self.starts += other.starts;
        self.wall_ns += other.wall_ns;
        self.cpu_ns += other.cpu_ns;
        self.waits += other.waits;
        self.quickest_wall_ns += other.quickest_wall_ns;
        self.quickest_cpu_ns += other.quickest_cpu_ns;
        self.is_complete &= other.is_complete;
    }
}

impl StartLog {
    pub fn new() -> Result<Self> {
        let memory = SharedMemory::new(c"perfunit-starts", FILE_LEN);
        memory.map(Self).map_err(|error| Error::setup(format!("cannot create shared memory: {error}")))
    }

    /// Returns the environment variable with the path of the file. The file has no name, but its descriptor has one.
    pub fn variable(&self) -> (OsString, OsString) {
        (PROGRAMS.to_string_lossy().into_owned().into(), os::path_of(self.0.file()).into())
    }

    fn starts(&self) -> &Starts {
        // SAFETY: mapped as long as `self` lives; `Starts` consists of atomics, valid for every bit pattern.
        unsafe { self.0.address().cast().as_ref() }
    }

    pub fn clear(&self) {
        self.starts().clear();
    }

    /// Returns the use of each program in this many runs of the test.
    pub fn read(&self, runs: usize) -> BTreeMap<String, Use> {
        let starts = self.starts();
        let count = starts.count.load(Acquire) as usize;
        let mut by_name: BTreeMap<String, Vec<Noted>> = BTreeMap::new();
        for entry in starts.entries.iter().take(count) {
            by_name.entry(name(entry)).or_default().push(Noted::of(entry));
        }
        let is_whole = count <= MOST_STARTS;
        let of_runs = |noted: Vec<Noted>| {
            let used = in_one_run(&noted, runs.max(1));
            Use { is_complete: used.is_complete && is_whole, ..used }
        };
        by_name.into_iter().map(|(name, noted)| (name, of_runs(noted))).collect()
    }
}

/// One start.
#[derive(Debug, Clone, Copy)]
struct Noted {
    wall_ns: f64,
    cpu_ns: f64,
    waits: f64,
    has_ended: bool,
}

impl Noted {
    fn of(entry: &Start) -> Self {
        let since = |end: u64, start: u64| end.saturating_sub(start) as f64;
        Self {
            wall_ns: since(entry.ended_ns.load(Relaxed), entry.started_ns.load(Relaxed)),
            cpu_ns: since(entry.cpu_ns.load(Relaxed), entry.cpu_before_ns.load(Relaxed)),
            waits: entry.waits.load(Relaxed) as f64,
            has_ended: entry.state.load(Acquire) == progress::ENDED,
        }
    }
}

fn name(entry: &Start) -> String {
    let length = (entry.name_len.load(Relaxed) as usize).min(NAME_LEN);
    let bytes: Vec<u8> = entry.name[..length].iter().map(|byte| byte.load(Relaxed)).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Returns the use of a program in one run. If each run starts the program equally often, the n-th starts of all runs do
/// the same, and a few disturbed starts do not affect the median of their times; otherwise the mean over all runs counts.
fn in_one_run(noted: &[Noted], runs: usize) -> Use {
    let per_run = noted.len() / runs;
    let is_regular = per_run > 0 && noted.len().is_multiple_of(runs);
    let sum = |of: fn(&Noted) -> f64, typical: fn(&mut [f64]) -> f64| {
        if !is_regular {
            return noted.iter().map(of).sum::<f64>() / runs as f64;
        }
        let of_start = |at: usize| noted.iter().skip(at).step_by(per_run).map(of).collect::<Vec<_>>();
        (0..per_run).map(|at| typical(&mut of_start(at))).sum()
    };
    let in_each = |of: fn(&Noted) -> f64| {
        let runs = if is_regular { noted.chunks_exact(per_run) } else { [].chunks_exact(1) };
        runs.map(|run| run.iter().map(of).sum()).collect()
    };
    let each_run = Sums { wall: in_each(|start| start.wall_ns), cpu: in_each(|start| start.cpu_ns) };
    let quickest = |values: &mut [f64]| values.iter().copied().fold(f64::INFINITY, f64::min);
    Use {
        starts: noted.len() as f64 / runs as f64,
        wall_ns: sum(|start| start.wall_ns, decide::median),
        cpu_ns: sum(|start| start.cpu_ns, decide::median),
        waits: sum(|start| start.waits, decide::median),
        quickest_wall_ns: sum(|start| start.wall_ns, quickest),
        quickest_cpu_ns: sum(|start| start.cpu_ns, quickest),
        is_complete: noted.iter().all(|start| start.has_ended),
        each_run,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use perfunit_runtime::programs::End;

    fn log(starts: &[(u32, &str, u64)]) -> StartLog {
        let log = StartLog::new().unwrap();
        for (process, name, ns) in starts {
            log.starts().note_start(*process, name.as_bytes(), 1000, 100);
            log.starts().note_end(*process, End { ns: 1000 + ns, cpu_ns: 100 + ns / 2, waits: 1 });
        }
        log
    }

    #[test]
    fn the_starts_of_a_run_add_up() {
        // Three runs that start `a` twice and `b` once; the first run is slower.
        let starts = [(1, "a", 900), (2, "a", 90), (3, "b", 30), (4, "a", 20), (5, "a", 40), (6, "b", 10)];
        let log = log(&[&starts[..], &[(7, "a", 20), (8, "a", 40), (9, "b", 10)]].concat());
        let used = log.read(3);
        let expected = Use {
            starts: 2.0,
            wall_ns: 60.0,
            cpu_ns: 30.0,
            waits: 2.0,
            quickest_wall_ns: 60.0,
            quickest_cpu_ns: 30.0,
            is_complete: true,
            each_run: Sums { wall: vec![990.0, 60.0, 60.0], cpu: vec![495.0, 30.0, 30.0] },
        };
        assert_eq!(used["a"], expected);
        assert_eq!(log.read(2)["b"].each_run, Sums::default());
        let of = |used: &Use| (used.starts, used.wall_ns, used.quickest_wall_ns, used.waits);
        assert_eq!(of(&used["b"]), (1.0, 10.0, 10.0, 1.0));
        // Not every run starts the program, so the mean counts.
        assert_eq!(of(&log.read(2)["b"]), (1.5, 25.0, 25.0, 1.5));
        log.clear();
        assert!(log.read(3).is_empty());
    }

    #[test]
    fn a_start_without_an_end_and_one_that_does_not_fit_are_told() {
        let log = log(&[(1, "a", 10)]);
        log.starts().note_start(2, b"b", 0, 0);
        // This process is not one of the programs.
        log.starts().note_end(77, End { ns: 1, cpu_ns: 1, waits: 0 });
        assert!(log.read(1)["a"].is_complete && !log.read(1)["b"].is_complete);
        for _ in 0..MOST_STARTS {
            log.starts().note_start(3, b"c", 0, 0);
        }
        assert!(!log.read(1)["a"].is_complete);
    }

    #[test]
    fn a_process_that_becomes_two_programs_ends_as_the_last() {
        let log = log(&[]);
        log.starts().note_start(1, b"a", 0, 0);
        log.starts().note_start(1, b"b", 500, 10);
        log.starts().note_end(1, End { ns: 700, cpu_ns: 30, waits: 0 });
        assert_eq!(log.read(1)["b"].wall_ns.to_bits(), 200_f64.to_bits());
        assert!(!log.read(1)["a"].is_complete);
    }
}
