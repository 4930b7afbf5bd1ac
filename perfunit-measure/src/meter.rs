//! The metering pass: counts the demands of single calls of a body on the allocator, the kernel and the processor.
//!
//! Processes of this pass are never timed, and each counts one kind of event: a counting library changes page faults,
//! and callgrind changes everything. Both sides get the same random numbers and addresses, as in a pair. Figures that
//! differ are read again in other processes with other random numbers and addresses: a difference counts only if it
//! appears again. What counts allocations or runs in callgrind is forked from a process that waits just before its tests,
//! because valgrind takes a quarter of a second to start.

use super::column::readings;
use super::gauge::{CallFiles, CallPlan, Gauge, LONGEST_WITH_PROGRAMS};
use super::lockstep::{PairEnd, Readings, Task};
use super::measured_process::Pads;
use super::pair;
use super::system_calls;
use super::trial::{Settled, Trial};
use perfunit_build::is_dynamic;
use perfunit_decide::{ExactRule, exact};
use perfunit_model::error::{Result, Stop, Tried, apart};
use perfunit_model::{
    Basis, Change, Instructions, Metered, Metric, MetricVerdict, Metrics, NoCounter, NotMetered, Side, Sides,
};
use perfunit_runtime::page::{FIRST, NOTHING, heap, reading, state};
use perfunit_system::interrupt;
use perfunit_system::os::SystemCalls;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Number of later calls that are read: enough to show whether they differ.
const LATER: u64 = 5;
/// Number of later calls that are read in callgrind.
const LATER_IN_CALLGRIND: u64 = 4;
/// The same where started programs run in callgrind, too. The first of these calls is not read: its end separates the
/// processes that the calls before it started.
const LATER_WITH_PROGRAMS: u64 = 3;
/// Number of later calls that are read of tests that start programs, and for system calls: such calls take long.
const LATER_OF_LONG_CALLS: u64 = 3;
/// Approximate factor by which the tracer slows down a call.
const TRACER_SLOWS_DOWN: f64 = 4.0;
/// Approximate factor by which callgrind slows down a call.
const CALLGRIND_SLOWS_DOWN: f64 = 50.0;
/// Share of a test's budget that reading may take.
const SHARE_OF_BUDGET: f64 = 0.1;
/// Relative error of counts: some interrupts in a counter of the processor, the alignment of copied data in simulated
/// instructions.
const COUNTER_RESOLUTION: f64 = 0.001;

const OF_HEAP: [(Metric, usize); 3] = [
    (Metric::Allocations, reading::ALLOCATIONS),
    (Metric::AllocatedBytes, reading::ALLOCATED_BYTES),
    (Metric::PeakHeap, reading::PEAK_HEAP),
];
/// Index of a figure that is missing in the readings of calls, because the kernel keeps it for a whole process.
const OF_PROCESS: usize = usize::MAX;
const OF_KERNEL: [(Metric, usize); 5] = [
    (Metric::PeakRss, OF_PROCESS),
    (Metric::PageFaults, reading::PAGE_FAULTS),
    (Metric::ContextSwitches, reading::CONTEXT_SWITCHES),
    (Metric::ReadBytes, reading::READ_BYTES),
    (Metric::WrittenBytes, reading::WRITTEN_BYTES),
];
const OF_TRACER: [(Metric, usize); 1] = [(Metric::SystemCalls, reading::SYSTEM_CALLS)];
const OF_PROCESSOR: [(Metric, usize); 1] = [(Metric::Instructions, reading::INSTRUCTIONS)];

/// Returns the rule for a counted metric.
fn rule(metric: Metric) -> ExactRule {
    match metric {
        // A few page faults can depend on the place of the heap's end.
        Metric::PageFaults => ExactRule { threshold: 0.05, least: 4.0, resolution: 0.0 },
        // Memory comes in pages, and memory of files in groups of 16 pages. The kernel counts in batches of up to 64
        // pages on each core.
        Metric::PeakRss => ExactRule { threshold: 0.05, least: 262_144.0, resolution: 0.05 },
        Metric::Instructions => ExactRule { threshold: 0.01, least: 1.0, resolution: COUNTER_RESOLUTION },
        _ => ExactRule { threshold: 0.01, least: 1.0, resolution: 0.0 },
    }
}

/// Returns all metrics of a test that pairs do not measure, if any are requested; one run of the test takes `ns`.
pub fn meter(trial: &Trial<'_>, settled: &Settled, ns: f64, random: &mut fastrand::Rng) -> Result<Metrics> {
    let _span = tracing::debug_span!("counts").entered();
    let Some(metering) = &trial.config.metering else { return Ok(Metrics::new()) };
    let later = if settled.starts_processes { LATER_OF_LONG_CALLS } else { LATER };
    let mut pass = Pass { trial, settled, later: if has_later_calls(settled) { later } else { 0 } };
    let mut metrics = Metrics::new();
    let auto = metering.instructions == Instructions::Auto;
    let kernel = if auto { Gauge::Processor } else { Gauge::Kernel };
    metrics.extend(pass.gauge(Gauge::Heap, ns, random)?);
    metrics.extend(pass.gauge(kernel, ns, random)?);
    // Programs spend much of their time in the kernel; other tests are traced only if system calls decide.
    let is_traced = metering.gates.contains(&Metric::SystemCalls) || settled.starts_processes;
    metrics.extend(if is_traced {
        let later = pass.later;
        pass.later = later.min(LATER_OF_LONG_CALLS);
        if pass.is_too_long(Gauge::SystemCalls, ns) {
            // A first call alone is more informative than no call.
            pass.later = 0;
        }
        let counted = pass.gauge(Gauge::SystemCalls, ns, random)?;
        pass.later = later;
        counted
    } else {
        Metrics::from([(Metric::SystemCalls, Err(NotMetered::SwitchedOff))])
    });
    match metering.instructions {
        Instructions::Auto => {}
        Instructions::Callgrind => {
            let (gauge, later) = if settled.starts_processes {
                (Gauge::ProgramInstructions, LATER_WITH_PROGRAMS)
            } else {
                (Gauge::Callgrind, LATER_IN_CALLGRIND)
            };
            pass.later = pass.later.min(later);
            metrics.extend(pass.gauge(gauge, ns, random)?);
        }
        Instructions::Never => {
            metrics.insert(Metric::Instructions, Err(NotMetered::SwitchedOff));
        }
    }
    Ok(metrics)
}

/// Returns the change of a test's instructions, with this fraction of base's instructions as the threshold: it shows
/// whether the test's work changed, even slightly. Without a counter of the processor, callgrind counts if available.
/// If there is no time for later calls, first calls that take about as long are counted in two processes, and only a
/// change of them counts: their initialization is the same in most cases. An error is the reason why nothing was counted.
pub fn instructions(
    trial: &Trial<'_>,
    settled: &Settled,
    least: f64,
    random: &mut fastrand::Rng,
) -> Result<std::result::Result<MetricVerdict, NotMetered>> {
    if settled.task == Task::Process {
        return Ok(Err(NotMetered::WholeProcess));
    }
    let rule = ExactRule { threshold: least.max(COUNTER_RESOLUTION), least: 1.0, resolution: COUNTER_RESOLUTION };
    let later = if has_later_calls(settled) { LATER_IN_CALLGRIND } else { 0 };
    let ns = settled.ns.base.max(settled.ns.head);
    let mut counted = |gauge| -> Result<std::result::Result<MetricVerdict, NotMetered>> {
        let of_later = Pass { trial, settled, later };
        let is_instead = later > 0 && of_later.is_too_long(gauge, ns) && settled.is_like_first_call();
        let pass = if is_instead { Pass { later: 0, ..of_later } } else { of_later };
        let rounds = if pass.later == 0 { 2 } else { 1 };
        if let Some(why) = pass.obstacle(gauge, f64::from(rounds) * ns) {
            return Ok(Err(why));
        }
        let mut all = Counterparts::default();
        for _ in 0..rounds {
            match read(Metric::Instructions, gauge, reading::INSTRUCTIONS, &pass.both(gauge, Round::First, random)?) {
                Ok(Sides { base, head }) => {
                    all.base.extend(base);
                    all.head.extend(head);
                }
                Err(why) => return Ok(Err(why)),
            }
        }
        let verdict = exact(&rule, &all.base, &all.head).ok_or(NotMetered::ReadNothing);
        Ok(verdict.and_then(
            |verdict| if is_instead && !verdict.is_change() { Err(NotMetered::TooLong) } else { Ok(verdict) },
        ))
    };
    let by_processor = counted(Gauge::Processor)?;
    if by_processor.is_ok() || trial.bench.gauges.valgrind.is_none() {
        Ok(by_processor)
    } else {
        counted(Gauge::Callgrind)
    }
}

/// Returns whether there are calls after the first one to read.
fn has_later_calls(settled: &Settled) -> bool {
    matches!(settled.task, Task::Steady(shape) if shape.batches > 1)
}

/// The readings of a gauge, and those of figures that differed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Round {
    First,
    Again,
}

/// State that all processes of the pass share.
#[derive(Clone, Copy)]
struct Pass<'a> {
    trial: &'a Trial<'a>,
    settled: &'a Settled,
    /// Number of later calls to read; 0 to read the first call.
    later: u64,
}

/// Readings of both sides, which are counterparts at the same index.
type Counterparts = Sides<Vec<f64>>;

impl Pass<'_> {
    /// Reads the metrics of a gauge once, and again if something differs. First calls are read twice in any case,
    /// because there are no later calls to show whether they vary.
    fn gauge(&self, gauge: Gauge, ns: f64, random: &mut fastrand::Rng) -> Result<Metrics> {
        let wanted = metrics_of(gauge);
        let mut counted: Vec<std::result::Result<Counterparts, NotMetered>> =
            vec![Ok(Counterparts::default()); wanted.len()];
        let mut traced = Sides::<Vec<SystemCalls>>::default();
        for round in [Round::First, Round::Again] {
            if let Some(why) = self.obstacle(gauge, ns) {
                if round == Round::First {
                    return Ok(wanted.into_iter().map(|(metric, _)| (metric, Err(why.clone()))).collect());
                }
                break;
            }
            let ends = self.both(gauge, round, random)?;
            for (side, runs) in [(Side::Base, &mut traced.base), (Side::Head, &mut traced.head)] {
                let readings = ends.get(side).as_ref().ok();
                runs.extend(readings.into_iter().flat_map(traced_runs).cloned());
            }
            for ((metric, index), counted) in wanted.iter().zip(&mut counted) {
                match read(*metric, gauge, *index, &ends) {
                    Ok(readings) => {
                        if let Ok(counted) = counted {
                            counted.base.extend(readings.base);
                            counted.head.extend(readings.head);
                        }
                    }
                    Err(why) => *counted = Err(why),
                }
            }
            // More readings show what is certain among counts that vary.
            let is_open = |verdict: MetricVerdict| {
                verdict.is_change() || verdict == MetricVerdict::Varies && gauge == Gauge::ProgramInstructions
            };
            let differs = wanted.iter().zip(&counted).any(|((metric, _), counted)| {
                let verdict = counted.as_ref().ok().and_then(|counted| judge(*metric, counted));
                verdict.is_some_and(is_open)
            });
            let differs = differs || system_calls::may_differ(&traced);
            if gauge == Gauge::Callgrind || !(differs || self.later == 0) {
                break;
            }
        }
        let metered = |((metric, _), counted): ((Metric, usize), std::result::Result<Counterparts, NotMetered>)| {
            let metered = counted.and_then(|counted| self.judge_metric(metric, &counted));
            (metric, metered.map(|metered| by_kinds(metered, metric, &traced)))
        };
        Ok(wanted.into_iter().zip(counted).map(metered).collect())
    }

    /// Returns the calls of a gauge's process. Those of a test that starts programs need not settle: most of their work is in
    /// programs, for which each call is the first.
    fn calls(&self, gauge: Gauge) -> CallPlan {
        let calls = gauge.calls(self.later);
        if self.settled.starts_processes { CallPlan { settling: 0, ..calls } } else { calls }
    }

    /// Returns whether the processes of a gauge take too much of the test's budget.
    fn is_too_long(&self, gauge: Gauge, ns: f64) -> bool {
        let slower = if gauge == Gauge::SystemCalls { TRACER_SLOWS_DOWN } else { 1.0 };
        let at_once = if gauge.suits_any_core() { self.trial.bench.all_cores().clamp(1, 2) } else { 1 };
        let seconds = slower * ns / 1e9 * (2 * self.calls(gauge).all()) as f64 / at_once as f64;
        // A request for callgrind implies patience: callgrind may take as much time as the pairs.
        let longest = match gauge {
            Gauge::ProgramInstructions => LONGEST_WITH_PROGRAMS.as_secs_f64() / CALLGRIND_SLOWS_DOWN,
            Gauge::Callgrind => self.trial.config.per_test_budget.as_secs_f64() / CALLGRIND_SLOWS_DOWN,
            _ => self.trial.config.per_test_budget.as_secs_f64() * SHARE_OF_BUDGET,
        };
        seconds > longest
    }

    /// Returns the reason why a gauge cannot be read, as far as known beforehand.
    fn obstacle(&self, gauge: Gauge, ns: f64) -> Option<NotMetered> {
        let executables = self.trial.programs.executables;
        if interrupt::is_requested() {
            Some(stop_reason())
        } else if self.settled.starts_processes && gauge.misses_started_processes() {
            Some(NotMetered::StartsProcesses)
        } else if self.trial.config.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            Some(NotMetered::BudgetUsedUp)
        } else if self.is_too_long(gauge, ns) {
            Some(NotMetered::TooLong)
        } else if gauge != Gauge::Heap {
            None
        } else if !is_dynamic(&executables.base.path) || !is_dynamic(&executables.head.path) {
            Some(NotMetered::Static)
        } else if self.trial.bench.gauges.library.is_none() {
            Some(NotMetered::NotLoaded)
        } else {
            None
        }
    }

    /// Runs a process of each side with the same random numbers and shifts: at once where neither affects the counts of
    /// the other, else one after the other. System calls depend on processes that run at the same time, but seldom; those that
    /// differ are read again one after the other.
    fn both(
        &self,
        gauge: Gauge,
        round: Round,
        random: &mut fastrand::Rng,
    ) -> Result<Sides<std::result::Result<Readings, NotMetered>>> {
        let pads = self.settled.draw(random);
        let suits = gauge.is_callgrind() || gauge == Gauge::SystemCalls && round == Round::First;
        if gauge.can_be_forked() || suits && self.trial.bench.all_cores() > 1 {
            let _cores = gauge.is_callgrind().then(|| self.trial.bench.use_all_cores());
            let end = self.run(Task::MeterBoth(gauge, self.calls(gauge)), gauge, pads)?;
            // Some tests fail alongside another process of the same test, for example tests that open a port.
            if end.complete() || end.timed_out.is_some() {
                let of = |side: Side| apart(self.readings(&end, side, gauge));
                return Ok(Sides { base: of(Side::Base)?, head: of(Side::Head)? });
            }
        }
        let one = |side: Side| apart(self.one(side, gauge, pads));
        Ok(Sides { base: one(Side::Base)?, head: one(Side::Head)? })
    }

    fn one(&self, side: Side, gauge: Gauge, pads: Pads) -> Tried<Readings, NotMetered> {
        let end = self.run(Task::Meter(side, gauge, self.calls(gauge)), gauge, pads)?;
        self.readings(&end, side, gauge)
    }

    fn run(&self, task: Task, gauge: Gauge, pads: Pads) -> Result<PairEnd> {
        let _span = tracing::debug_span!("reading", ?gauge).entered();
        if gauge.is_callgrind() {
            self.trial.bench.gauges.clear()?;
        }
        pair::run(self.trial.bench, &self.trial.programs, task, pads, self.limit(gauge))
    }

    /// Returns the readings of a side's process.
    fn readings(&self, end: &PairEnd, side: Side, gauge: Gauge) -> Tried<Readings, NotMetered> {
        if interrupt::is_requested() {
            return Err(Stop::Because(stop_reason()));
        }
        if end.timed_out.is_some() {
            return Err(Stop::Because(NotMetered::TimedOut { seconds: self.limit(gauge).as_secs() }));
        }
        let end = end.sides.get(side);
        if gauge == Gauge::SystemCalls && end.readings.system_calls.is_none() {
            return Err(Stop::Because(NotMetered::NotTraced));
        }
        if end.state != state::DONE {
            return Err(Stop::Because(NotMetered::Failed(end.failure())));
        }
        let mut readings = end.readings.clone();
        if gauge.is_callgrind() {
            let counts = self.counts(side, gauge, readings.calls.len());
            let counts = counts.ok_or(Stop::Because(NotMetered::NoCounts))?;
            for (call, instructions) in readings.calls.iter_mut().zip(counts) {
                call[reading::INSTRUCTIONS] = instructions;
            }
            if gauge.follows_programs() && readings.calls.len() > FIRST + 2 {
                readings.calls.remove(FIRST + 1);
            }
        }
        Ok(readings)
    }

    /// Returns the instructions of each reading, as callgrind wrote them.
    fn counts(&self, side: Side, gauge: Gauge, readings: usize) -> Option<Vec<u64>> {
        let files = self.trial.bench.gauges.files(side, gauge, 0..readings).ok()?;
        let count = |path: &PathBuf| std::fs::read_to_string(path).ok().as_deref().and_then(total);
        let of_call = |CallFiles { test, started }: &CallFiles| {
            let processes = std::iter::once(test).chain(started).map(count).collect::<Option<Vec<u64>>>()?;
            tracing::debug!(%side, ?processes, "instructions");
            Some(processes.iter().sum())
        };
        files.iter().map(of_call).collect()
    }

    /// Returns the time limit: callgrind is slow, mostly before the test begins.
    fn limit(&self, gauge: Gauge) -> Duration {
        match gauge {
            Gauge::Callgrind => self.trial.config.timeout.max(self.trial.config.per_test_budget),
            Gauge::ProgramInstructions => LONGEST_WITH_PROGRAMS,
            _ => self.trial.config.timeout,
        }
    }

    fn judge_metric(&self, metric: Metric, counted: &Counterparts) -> std::result::Result<Metered, NotMetered> {
        let verdict = judge(metric, counted).ok_or(NotMetered::ReadNothing)?;
        let readings = counted.as_ref().map(|values| readings(values));
        let (base, head) = (readings.base.value, readings.head.value);
        let relative = (head - base) / base;
        // Zero on both sides is not a change; zero on base alone gives no relative change.
        let relative = if relative.is_finite() { Some(relative) } else { (head <= base).then_some(0.0) };
        let count = counted.base.len();
        Ok(Metered {
            verdict,
            readings,
            change: relative.map(|estimate| Change { estimate, low: estimate, high: estimate }),
            threshold: rule(metric).threshold,
            basis: match metric {
                Metric::PeakRss => Basis::Pairs(count),
                _ if self.later == 0 => Basis::FirstCalls(count),
                _ => Basis::Calls(count),
            },
            programs: Vec::new(),
            names: Vec::new(),
        })
    }
}

/// Returns the reason why reading ends after a stop.
fn stop_reason() -> NotMetered {
    if interrupt::by_clock() { NotMetered::BudgetUsedUp } else { NotMetered::Interrupted }
}

fn metrics_of(gauge: Gauge) -> Vec<(Metric, usize)> {
    match gauge {
        Gauge::Heap => OF_HEAP.to_vec(),
        Gauge::Kernel => OF_KERNEL.to_vec(),
        Gauge::Processor => [&OF_KERNEL[..], &OF_PROCESSOR].concat(),
        Gauge::SystemCalls => OF_TRACER.to_vec(),
        Gauge::Callgrind | Gauge::ProgramInstructions => OF_PROCESSOR.to_vec(),
        Gauge::CallGraph | Gauge::ProgramGraphs => Vec::new(),
    }
}

/// Adds the system calls that differ in each run to what all calls together show.
fn by_kinds(metered: Metered, metric: Metric, traced: &Sides<Vec<SystemCalls>>) -> Metered {
    if metric != Metric::SystemCalls {
        return metered;
    }
    let names = system_calls::differing(traced);
    let sum = metered.readings.as_ref().map(|readings| readings.value);
    let verdict = system_calls::verdict(&rule(metric), metered.verdict, sum, &names);
    Metered { names, verdict, ..metered }
}

fn judge(metric: Metric, counted: &Counterparts) -> Option<MetricVerdict> {
    exact(&rule(metric), &counted.base, &counted.head)
}

/// Returns one figure of the calls that count, for both sides.
fn read(
    metric: Metric,
    gauge: Gauge,
    index: usize,
    ends: &Sides<std::result::Result<Readings, NotMetered>>,
) -> std::result::Result<Counterparts, NotMetered> {
    let side = |end: &std::result::Result<Readings, NotMetered>| {
        let readings = end.as_ref().map_err(Clone::clone)?;
        is_counted(metric, gauge, readings)?;
        Ok(if index == OF_PROCESS { vec![readings.peak_rss] } else { figures(index, readings) })
    };
    Ok(Sides { base: side(&ends.base)?, head: side(&ends.head)? })
}

/// Checks that a figure has a meaning, or returns the reason why it has none.
fn is_counted(metric: Metric, gauge: Gauge, readings: &Readings) -> std::result::Result<(), NotMetered> {
    if readings.starts_processes && gauge.misses_started_processes() {
        return Err(NotMetered::StartsProcesses);
    }
    match metric {
        Metric::Allocations | Metric::AllocatedBytes | Metric::PeakHeap => match readings.heap {
            heap::COUNTED => Ok(()),
            heap::OWN_ALLOCATOR => Err(NotMetered::OwnAllocator),
            _ => Err(NotMetered::NotLoaded),
        },
        Metric::PeakRss if readings.peak_rss <= 0.0 => Err(NotMetered::NotCounted),
        Metric::ReadBytes | Metric::WrittenBytes if !readings.io_is_counted => Err(NotMetered::NotCounted),
        Metric::Instructions if readings.no_instructions != 0 => {
            let error = std::io::Error::from_raw_os_error(readings.no_instructions.cast_signed());
            Err(NotMetered::NoCounter(no_counter(&error)))
        }
        _ => Ok(()),
    }
}

/// Returns a figure of later calls or, if there are none, of the first one, without the cost of reading.
fn figures(index: usize, readings: &Readings) -> Vec<f64> {
    let Some(nothing) = readings.calls.get(NOTHING) else { return Vec::new() };
    let later = readings.calls.get(FIRST + 1..).unwrap_or_default();
    let calls = if later.is_empty() { readings.calls.get(FIRST..).unwrap_or_default() } else { later };
    calls.iter().map(|call| call[index].saturating_sub(nothing[index]) as f64).collect()
}

/// Returns the system calls of later calls or, if there are none, of the first one.
fn traced_runs(readings: &Readings) -> &[SystemCalls] {
    let calls = readings.system_calls.as_deref().unwrap_or_default();
    let later = calls.get(FIRST + 1..).unwrap_or_default();
    if later.is_empty() { calls.get(FIRST..).unwrap_or_default() } else { later }
}

/// Returns the total that callgrind counted for a part.
pub(super) fn total(part: &str) -> Option<u64> {
    part.lines().find_map(|line| line.strip_prefix("totals:"))?.trim().parse().ok()
}

/// Returns the reason why the system provides no counter of instructions.
pub fn no_counter(error: &std::io::Error) -> NoCounter {
    match error.kind() {
        ErrorKind::PermissionDenied => NoCounter::Refused,
        ErrorKind::NotFound | ErrorKind::Unsupported => NoCounter::NoUnit,
        _ => NoCounter::Failed { why: error.to_string() },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns readings with these allocation counts.
    fn readings(allocations: &[u64]) -> Readings {
        let call = |allocations: &u64| {
            let mut call = [0; reading::COUNT];
            call[reading::ALLOCATIONS] = *allocations;
            call
        };
        Readings { heap: heap::COUNTED, calls: allocations.iter().map(call).collect(), ..Readings::default() }
    }

    #[test]
    fn later_calls_count_without_what_reading_adds() {
        assert_eq!(figures(reading::ALLOCATIONS, &readings(&[1, 90, 13, 13])), [12.0, 12.0]);
        assert_eq!(figures(reading::ALLOCATIONS, &readings(&[1, 90])), [89.0]);
        assert!(figures(reading::ALLOCATIONS, &readings(&[])).is_empty());
    }

    #[test]
    fn what_is_not_counted_is_no_zero() {
        let zero = Readings { heap: heap::OWN_ALLOCATOR, ..readings(&[0, 0, 0]) };
        let ends = Sides { base: Ok(readings(&[0, 0, 0])), head: Ok(zero) };
        assert_eq!(read(Metric::Allocations, Gauge::Heap, reading::ALLOCATIONS, &ends), Err(NotMetered::OwnAllocator));
        assert_eq!(read(Metric::ReadBytes, Gauge::Kernel, reading::READ_BYTES, &ends), Err(NotMetered::NotCounted));
        let refused = Readings { no_instructions: 13, ..readings(&[0, 0, 0]) };
        let ends = Sides { base: Ok(refused), head: Err(NotMetered::Interrupted) };
        assert!(matches!(
            read(Metric::Instructions, Gauge::Processor, reading::INSTRUCTIONS, &ends),
            Err(NotMetered::NoCounter(_))
        ));
    }

    #[test]
    fn a_test_that_starts_processes_is_counted_only_by_what_sees_them() {
        let started = || Ok(Readings { starts_processes: true, io_is_counted: true, ..readings(&[0, 0, 0]) });
        let of = |metric, gauge, index| {
            read(metric, gauge, index, &Sides { base: Ok(readings(&[0, 0, 0])), head: started() }).map(drop)
        };
        let check = |metric, gauge| of(metric, gauge, reading::INSTRUCTIONS);
        assert_eq!(check(Metric::Instructions, Gauge::Callgrind), Err(NotMetered::StartsProcesses));
        assert_eq!(check(Metric::Instructions, Gauge::Processor), Ok(()));
        assert_eq!(check(Metric::PageFaults, Gauge::Kernel), Ok(()));
        assert_eq!(of(Metric::Allocations, Gauge::Heap, reading::ALLOCATIONS), Err(NotMetered::StartsProcesses));
    }

    #[test]
    fn memory_is_that_of_the_process_and_counts_by_large_pieces_only() {
        let check = |base: f64, head: f64, expected: MetricVerdict| {
            let end = |peak_rss| Ok(Readings { peak_rss, ..readings(&[0, 0, 0]) });
            let ends = Sides { base: end(base), head: end(head) };
            let counted = read(Metric::PeakRss, Gauge::Kernel, OF_PROCESS, &ends).unwrap();
            assert_eq!(judge(Metric::PeakRss, &counted), Some(expected));
        };
        check(4e6, 4.1e6, MetricVerdict::Same);
        check(2e6, 2.2e6, MetricVerdict::ChangedBelowThreshold);
        check(4e6, 4.4e6, MetricVerdict::More);
        check(4.4e6, 4e6, MetricVerdict::Less);
        let silent = Sides { base: Ok(readings(&[0])), head: Ok(readings(&[0])) };
        assert_eq!(read(Metric::PeakRss, Gauge::Kernel, OF_PROCESS, &silent), Err(NotMetered::NotCounted));
    }

    #[test]
    fn the_total_of_a_part_is_found() {
        assert_eq!(total("summary: 12\n\ntotals: 6017\n"), Some(6017));
        assert_eq!(total("# callgrind format\n"), None);
    }
}
