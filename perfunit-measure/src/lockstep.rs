//! The protocol of a pair: starts a process of each side, lets them take turns, and reads their results from the page.

use super::bench::Bench;
use super::gauge::{CallPlan, Gauge};
use super::measured_process::{self, Inheritance, Pads, Programs, RunningProcess, Start, how_ended};
use super::shared_memory::SharedPage;
use super::starts::Use;
use super::system_calls;
use perfunit_decide as decide;
use perfunit_model::error::Result;
use perfunit_model::{Capture, Failure, Mode, Side, Sides, WorkUnit};
use perfunit_runtime::page::{
    self, ANY_CORE, CALLGRIND, COLD, FORK, GROWTH, INSTRUCTIONS, METER, PILOT, Page, SYSTEM_CALLS, SideArea,
    UNKNOWN_NS, WHOLE, child, reading, state, unit,
};
use perfunit_system::os::unix::process::ExitStatusExt;
use perfunit_system::{os, process};
use std::collections::BTreeMap;
use std::process::ExitStatus;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed};
use std::time::Duration;

/// Goal for the length of a batch, ns. Batches of at least 12 us measure equally well, and short ones catch fewer
/// interrupts.
pub const BATCH_NS: u64 = 15_000;
/// The same goal for programs with probes, which are not forked: most of a pair's time is the start of its processes.
const BATCH_WITH_PROBES_NS: u64 = 50_000;

/// The work that a pair is requested to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Task {
    /// Base calibrates, then both run their batches.
    Pilot,
    Steady(Shape),
    /// The same with both sides at the same time, so that the core switches between them within a call.
    AtOnce(Shape),
    /// The first call only.
    Cold,
    /// First calls, each in a child that is forked before the body, which was captured by this method; determines the
    /// number of calls.
    ForkPilot(Capture),
    /// First calls in forked children, as many as the pilot determined.
    Fork(Capture, Shape),
    /// The first call of one side only, which shows whether the call passes alone.
    Solo(Side),
    /// Batches as calibrated, of one side only: a process without its counterpart, for comparison with pairs.
    Alone(Side, Shape),
    /// Whole processes, one after the other (see `process_pair`).
    Process,
    /// The work of functions in the first call, by the lengths of their arguments.
    Growth,
    /// Readings of the first call and of later ones, of one side only.
    Meter(Side, Gauge, CallPlan),
    /// The same readings of both sides at once: only where neither affects the counts of the other.
    MeterBoth(Gauge, CallPlan),
}

impl Task {
    /// Returns the only side that takes part; `None` if both do.
    fn single(self) -> Option<Side> {
        match self {
            Task::Solo(side) | Task::Alone(side, _) | Task::Meter(side, ..) => Some(side),
            Task::Pilot
            | Task::Steady(_)
            | Task::AtOnce(_)
            | Task::Cold
            | Task::ForkPilot(_)
            | Task::Fork(..)
            | Task::Process
            | Task::Growth
            | Task::MeterBoth(..) => None,
        }
    }

    /// Returns the kind of calls that this task compares.
    pub fn mode(self) -> Mode {
        match self {
            Task::Cold => Mode::Cold,
            Task::Fork(..) => Mode::FirstCall,
            Task::Process => Mode::Process,
            _ => Mode::Steady,
        }
    }

    /// Returns whether the processes are timed; processes that count are not.
    fn is_timed(self) -> bool {
        !matches!(self, Task::Meter(..) | Task::MeterBoth(..) | Task::Growth)
    }

    /// Returns whether children of a fork server can do this task: repeated calls, first calls in separate children, or
    /// some readings.
    pub fn can_be_forked(self) -> bool {
        match self {
            Task::Pilot | Task::Steady(_) | Task::AtOnce(_) | Task::ForkPilot(_) | Task::Fork(..) => true,
            Task::MeterBoth(gauge, _) => gauge.can_be_forked(),
            _ => false,
        }
    }

    pub fn gauge(self) -> Option<Gauge> {
        match self {
            Task::Meter(_, gauge, _) | Task::MeterBoth(gauge, _) => Some(gauge),
            _ => None,
        }
    }
}

/// Plan of batches: calibrated on base, used for both sides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Repetitions in a batch.
    pub repetitions: u64,
    pub batches: u32,
    /// Untimed repetitions before each batch, or before the readings of later calls.
    pub warm: u32,
}

/// End of one process of a pair.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SideEnd {
    pub state: u32,
    /// Exit status; `None` if the tool killed the process or never started it.
    pub status: Option<ExitStatus>,
    /// Time of the first call, ns.
    pub first_ns: f64,
    /// Number of clock readings in the first call; 0 if they are not counted.
    pub clock_readings: u64,
    /// True time that passed during the first call, ns, including the time in which other programs had the core.
    pub passed_ns: f64,
    /// Time of each batch, ns.
    pub times: Vec<f64>,
    /// Processor time of the first call, ns.
    pub first_cpu_ns: f64,
    /// Time that the core was idle during the first call, ns; `None` if it is not known.
    pub first_idle_ns: Option<f64>,
    /// Processor time of each batch, ns; for many short batches it includes the untimed runs before each.
    pub cpu_times: Vec<f64>,
    /// Time that the core was idle during each batch, ns; `None` where it is not known.
    pub idle_times: Vec<Option<f64>>,
    /// Readings of the process, if readings were requested.
    pub readings: Readings,
    /// Resources used by the programs of the workspace that the test started, by name.
    pub programs: BTreeMap<String, Use>,
    /// Panic message, if there was one.
    pub message: String,
    /// Processor time of the threads that the first call of a pilot started, ns.
    pub threads_ns: f64,
    /// True if the whole test function is the workload (captured by the runner).
    pub whole_function: bool,
    /// The amount that a run processes, if its benchmark declares it.
    pub work: Option<(WorkUnit, u64)>,
    /// Exit status of a forked child that did not reach the end of its call.
    pub child: Option<ExitStatus>,
}

impl SideEnd {
    /// Returns the reason why the call failed: its message, else the end of a process. A serving process exits with
    /// success after a failed call.
    pub fn failure(&self) -> Failure {
        let ended_badly = self.child.or(self.status.filter(|status| !status.success()));
        match (self.state, ended_badly) {
            _ if !self.message.is_empty() => Failure::Said(self.message.clone()),
            (_, Some(status)) => how_ended(status),
            (state::FAILED_FIRST, None) => Failure::NotAsExpected,
            (state::FAILED_LATER, None) => Failure::PassesOnce,
            _ => self.status.map_or(Failure::Killed, how_ended),
        }
    }
}

/// Readings of single calls, as stored on the page.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Readings {
    pub heap: u32,
    /// 0, or the system's error number for a counter of instructions.
    pub no_instructions: u32,
    /// True if the kernel counts bytes read and written.
    pub io_is_counted: bool,
    /// Peak memory that the process had in use, bytes; 0 if the kernel does not report it.
    pub peak_rss: f64,
    /// True if the test starts processes.
    pub starts_processes: bool,
    /// Readings of an empty call, of the first call, and of later ones.
    pub calls: Vec<[u64; reading::COUNT]>,
    /// System calls of the same calls, by their numbers; `None` if they were not traced.
    pub system_calls: Option<Vec<os::SystemCalls>>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct PairEnd {
    pub sides: Sides<SideEnd>,
    /// The shape, as a pilot settled it.
    pub shape: Shape,
    /// The side that had the first turn.
    pub starter: Side,
    /// The side that had the turn when the time limit came.
    pub timed_out: Option<Side>,
    /// Wall time of the pair.
    pub took: Duration,
}

impl PairEnd {
    /// Returns whether both sides completed the requested work.
    pub fn complete(&self) -> bool {
        self.sides.base.state == state::DONE && self.sides.head.state == state::DONE
    }
}

/// Starts new processes for a pair and runs the pair.
pub fn run(bench: &Bench, programs: &Programs<'_>, task: Task, pads: Pads, limit: Duration) -> Result<PairEnd> {
    let page = &bench.page;
    write_request(page, bench, task, pads);
    if let Some(trees) = bench.trees.borrow().as_ref() {
        trees.reset()?;
    }
    if let Some(tables) = bench.tables.borrow().as_ref() {
        tables.reset()?;
    }
    // callgrind would lose track of code that moves.
    let common = if task.is_timed() { bench.common_pages(programs.executables)? } else { None };
    let inheritance = Inheritance::prepare(bench, page, common.as_deref())?;
    page.common.store(inheritance.common(), Relaxed);
    for side in Side::BOTH {
        page.sides[side.index()].tree.store(inheritance.tree(side), Relaxed);
    }
    let wanted: &[Side] = match task.single() {
        Some(Side::Base) => &[Side::Base],
        Some(Side::Head) => &[Side::Head],
        None if pads.head_first => &[Side::Head, Side::Base],
        None => &Side::BOTH,
    };
    let start = Start { pads, gauge: task.gauge(), inheritance: &inheritance };
    if task.gauge() == Some(Gauge::SystemCalls) {
        let counted = system_calls::count(bench, programs, wanted, start, limit)?;
        drop(inheritance);
        process::kill_leftovers();
        let mut status = Sides { base: None, head: None };
        for (side, counted) in &counted {
            *status.get_mut(*side) = counted.status;
        }
        let timed_out = counted.iter().find(|(_, counted)| counted.timed_out).map(|(side, _)| *side);
        let mut end = read_end(bench, page, task, status, timed_out);
        for (side, counted) in counted {
            let readings = &mut end.sides.get_mut(side).readings;
            readings.system_calls = counted.of_readings(readings.calls.len());
            for (figures, calls) in readings.calls.iter_mut().zip(readings.system_calls.iter().flatten()) {
                figures[reading::SYSTEM_CALLS] = calls.values().sum();
            }
        }
        return Ok(end);
    }
    let mut processes = Vec::with_capacity(2);
    for side in wanted {
        processes.push(RunningProcess::start(bench, programs, *side, start)?);
    }
    drop(inheritance);
    let timed_out = measured_process::wait(page, &mut processes, limit, measured_process::sleep_until_end);
    let mut status = Sides { base: None, head: None };
    for process in processes {
        *status.get_mut(process.side) = process.status;
    }
    process::kill_leftovers();
    Ok(read_end(bench, page, task, status, timed_out))
}

/// Returns the results that the processes of a pair left on their page.
pub fn read_end(
    bench: &Bench,
    page: &Page,
    task: Task,
    status: Sides<Option<ExitStatus>>,
    timed_out: Option<Side>,
) -> PairEnd {
    let is_unsettled = |side: Side| {
        let area = &page.sides[side.index()];
        area.state.load(Acquire) == state::DONE && area.settled.load(Relaxed) == 0
    };
    let has_unsettled = Side::BOTH.into_iter().any(is_unsettled);
    if task.is_timed() && has_unsettled {
        bench.note_unsettled();
    }
    let batches = if matches!(task, Task::Cold | Task::Growth) { 0 } else { page.batches.load(Relaxed) };
    let shape = Shape { repetitions: page.repetitions.load(Relaxed), batches, warm: page.warm.load(Relaxed) };
    let sides = Sides {
        base: read_side(bench, page, Side::Base, batches, status.base),
        head: read_side(bench, page, Side::Head, batches, status.head),
    };
    let sides = if let Task::Fork(..) | Task::ForkPilot(_) = task { sides.map(with_typical_first_call) } else { sides };
    PairEnd { sides, shape, starter: measured_process::owner(page, 0), timed_out, took: Duration::ZERO }
}

/// Writes the request to the processes of a pair.
pub fn write_request(page: &SharedPage, bench: &Bench, task: Task, pads: Pads) {
    page.reset();
    for side in Side::BOTH {
        bench.starts.get(side).clear();
    }
    let batch_ns = if bench.trees.borrow().is_some() { BATCH_WITH_PROBES_NS } else { BATCH_NS };
    page.batch_ns.store(batch_ns, Relaxed);
    page.heap_pad.store(pads.heap, Relaxed);
    page.stack_pad.store(pads.stack, Relaxed);
    page.core.store(core_number(bench.core_of(task.gauge())), Relaxed);
    page.idle_clock.store(bench.idle_clock(), Relaxed);
    let (flags, shape) = match task {
        Task::Pilot => (PILOT, Shape { repetitions: 1, batches: 0, warm: 0 }),
        Task::Steady(shape) | Task::Alone(_, shape) => (0, shape),
        Task::AtOnce(shape) => (page::AT_ONCE, shape),
        Task::ForkPilot(capture) => (PILOT | fork_flags(capture), Shape { repetitions: 1, batches: 0, warm: 0 }),
        Task::Fork(capture, shape) => (fork_flags(capture), shape),
        Task::Cold | Task::Solo(_) | Task::Process => (COLD, Shape { repetitions: 1, batches: 0, warm: 0 }),
        Task::Growth => (COLD | GROWTH, Shape { repetitions: 1, batches: 0, warm: 0 }),
        Task::Meter(_, gauge, calls) | Task::MeterBoth(gauge, calls) => {
            (meter_flags(gauge, calls), Shape { repetitions: calls.later, batches: 0, warm: calls.settling })
        }
    };
    page.flags.store(flags, Relaxed);
    page.repetitions.store(shape.repetitions, Relaxed);
    page.warm.store(shape.warm, Relaxed);
    // A pilot is planned with all its turns by base; head waits for turn 1 meanwhile.
    let starter = u32::from(pads.head_first && flags & PILOT == 0);
    page.plan(shape.batches, starter);
    if let Some(side) = task.single() {
        // The turns are the side's preparation, and its batches if there are any.
        let turns = 1 + page.batches.load(Relaxed);
        page.schedule[..turns as usize].iter().for_each(|turn| turn.store(side.index() as u8, Relaxed));
        page.turns.store(turns, Relaxed);
    }
}

/// Returns the number on a page of the core to run on.
pub fn core_number(core: Option<usize>) -> u32 {
    core.and_then(|core| u32::try_from(core).ok()).unwrap_or(ANY_CORE)
}

/// Sets the first call's times to the medians of the calls in forked children, all of which are first calls.
fn with_typical_first_call(side: SideEnd) -> SideEnd {
    if side.times.is_empty() {
        return side;
    }
    let first_ns = decide::median(&mut side.times.clone());
    let first_cpu_ns = decide::median(&mut side.cpu_times.clone());
    let idle: Option<Vec<f64>> = side.idle_times.iter().copied().collect();
    let first_idle_ns = idle.map(|mut idle| decide::median(&mut idle));
    SideEnd { first_ns, first_cpu_ns, first_idle_ns, ..side }
}

fn fork_flags(capture: Capture) -> u32 {
    match capture {
        Capture::Runner => FORK | WHOLE,
        Capture::Macro | Capture::Bench | Capture::Process | Capture::Generated => FORK,
    }
}

fn meter_flags(gauge: Gauge, calls: CallPlan) -> u32 {
    let gauge = match gauge {
        Gauge::Heap | Gauge::Kernel => 0,
        Gauge::Processor => INSTRUCTIONS,
        Gauge::SystemCalls => SYSTEM_CALLS,
        Gauge::Callgrind | Gauge::CallGraph | Gauge::ProgramInstructions | Gauge::ProgramGraphs => CALLGRIND,
    };
    METER | gauge | if calls.later == 0 { COLD } else { 0 }
}

fn read_side(bench: &Bench, page: &Page, side: Side, batches: u32, status: Option<ExitStatus>) -> SideEnd {
    let area = &page.sides[side.index()];
    let length = (area.message_len.load(Relaxed) as usize).min(page::MESSAGE_LEN);
    let message: Vec<u8> = area.message[..length].iter().map(|byte| byte.load(Relaxed)).collect();
    SideEnd {
        state: area.state.load(Acquire),
        status,
        first_ns: area.first_ns.load(Relaxed) as f64,
        clock_readings: area.clock_readings.load(Relaxed),
        passed_ns: area.passed_ns.load(Relaxed) as f64,
        times: area.times.iter().take(batches as usize).map(|time| time.load(Relaxed) as f64).collect(),
        first_cpu_ns: area.first_cpu_ns.load(Relaxed) as f64,
        first_idle_ns: idle(&area.first_idle_ns),
        cpu_times: area.cpu_times.iter().take(batches as usize).map(|time| time.load(Relaxed) as f64).collect(),
        idle_times: area.idle_times.iter().take(batches as usize).map(idle).collect(),
        readings: read_readings(area),
        programs: bench.starts.get(side).read(area.runs.load(Relaxed) as usize),
        message: String::from_utf8_lossy(&message).into_owned(),
        threads_ns: area.threads_ns.load(Relaxed) as f64,
        whole_function: area.whole_function.load(Relaxed) != 0,
        work: work_unit(area.unit.load(Relaxed)).map(|unit| (unit, area.amount.load(Relaxed))),
        child: broken_child(area.child_status.load(Relaxed)),
    }
}

fn idle(time: &AtomicU64) -> Option<f64> {
    Some(time.load(Relaxed)).filter(|ns| *ns != UNKNOWN_NS).map(|ns| ns as f64)
}

fn work_unit(number: u32) -> Option<WorkUnit> {
    Some(match number {
        unit::BYTES => WorkUnit::Bytes,
        unit::ELEMENTS => WorkUnit::Elements,
        unit::CHARS => WorkUnit::Chars,
        unit::BITS => WorkUnit::Bits,
        unit::CYCLES => WorkUnit::Cycles,
        _ => return None,
    })
}

fn broken_child(status: u32) -> Option<ExitStatus> {
    let ended = matches!(status, child::RUNNING | child::PASSED | child::FAILED);
    (!ended).then(|| ExitStatus::from_raw(status.cast_signed()))
}

fn read_readings(area: &SideArea) -> Readings {
    let taken = (area.readings.load(Acquire) as usize).min(page::MAX_READINGS);
    let figures = |at: usize| std::array::from_fn(|index| area.figures[at][index].load(Relaxed));
    Readings {
        heap: area.heap.load(Relaxed),
        no_instructions: area.no_instructions.load(Relaxed),
        io_is_counted: area.io_is_counted.load(Relaxed) != 0,
        peak_rss: area.peak_rss.load(Relaxed) as f64,
        starts_processes: area.starts_processes.load(Relaxed) != 0,
        calls: (0..taken).map(figures).collect(),
        system_calls: None,
    }
}
