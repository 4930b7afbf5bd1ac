//! One pair: starts a process of each side, lets them take turns, and reads what they left on the page.

use super::bench::Bench;
use super::gauge::Gauge;
use super::seeds::Seed;
use crate::build::{SIDE_VARIABLE, TestExecutable};
use crate::error::{Error, Result};
use crate::model::{Side, Sides};
use crate::process;
use nix::sched::{CpuSet, sched_setaffinity};
use nix::sys::personality::{self, Persona};
use nix::unistd::Pid;
use perfunit_runtime::page::{
    self, CALLGRIND, COLD, INSTRUCTIONS, METER, PILOT, PRELOAD_VARIABLE, SERVE_VARIABLE, SideArea, TEST_VARIABLE,
    reading, state,
};
use std::num::NonZeroU64;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, ExitStatus, Stdio};
use std::sync::atomic::Ordering::{Acquire, Relaxed};
use std::time::{Duration, Instant};

/// The descriptor under which a process finds the page: high, so that it is not one that a test expects to be free.
const PAGE_DESCRIPTOR: i32 = 200;
/// The same for the file with the pages that both programs have in common.
const COMMON_DESCRIPTOR: i32 = 201;
/// Goal for the length of a batch: 0.03 to 0.2 ms measure equally well, longer ones catch interrupts.
pub const BATCH_NS: u64 = 100_000;
/// Random shift of the environment and so of the main thread's stack, bytes.
const ENVIRONMENT_PAD: usize = 4096;

/// The two executables of a test.
#[derive(Debug, Clone, Copy)]
pub struct Programs<'a> {
    /// Of each side.
    pub executables: Sides<&'a TestExecutable>,
    /// Folder of each side, for the binaries that tests start.
    pub folders: Sides<&'a Path>,
    /// Name of the test.
    pub test: &'a str,
}

/// What a pair is to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Task {
    /// Base calibrates, then both run their batches.
    Pilot,
    /// Batches as calibrated.
    Steady(Shape),
    /// The first call only.
    Cold,
    /// The first call of one side only, to see whether it passes by itself.
    Solo(Side),
    /// Batches as calibrated, of one side only: a process without company, for comparison with pairs.
    Alone(Side, Shape),
    /// Readings of the first call and of so many later ones, of one side only.
    Meter(Side, Gauge, u64),
}

impl Task {
    /// The only side that takes part, if it is only one.
    fn single(self) -> Option<Side> {
        match self {
            Task::Solo(side) | Task::Alone(side, _) | Task::Meter(side, ..) => Some(side),
            Task::Pilot | Task::Steady(_) | Task::Cold => None,
        }
    }

    fn gauge(self) -> Option<Gauge> {
        if let Task::Meter(_, gauge, _) = self { Some(gauge) } else { None }
    }
}

/// Calibrated on base, used for both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Repetitions in a batch.
    pub repetitions: u64,
    /// Batches a side.
    pub batches: u32,
    /// Untimed repetitions before each batch.
    pub warm: u32,
}

/// Random shifts and the seed of all other randomness, equal for both processes of a pair and different between pairs.
#[derive(Debug, Clone, Copy, Default)]
pub struct Pads {
    environment: usize,
    heap: u32,
    stack: u32,
    head_first: bool,
    seed: Seed,
}

impl Pads {
    /// Draws the shifts of a pair.
    pub fn draw(random: &mut fastrand::Rng) -> Self {
        Self {
            environment: random.usize(0..ENVIRONMENT_PAD),
            heap: random.u32(0..256) * 16,
            stack: random.u32(0..64),
            head_first: random.bool(),
            seed: NonZeroU64::new(random.u64(1..)),
        }
    }

    /// The same, but each process draws random numbers of its own.
    pub fn without_seed(self) -> Self {
        Self { seed: None, ..self }
    }
}

/// How one process of a pair ended.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SideEnd {
    /// One of `page::state`.
    pub state: u32,
    /// `None` if we killed it or never started it.
    pub status: Option<ExitStatus>,
    /// Time of the first call, ns.
    pub first_ns: f64,
    /// Time of each batch, ns.
    pub times: Vec<f64>,
    /// Processor time of the first call, ns.
    pub first_cpu_ns: f64,
    /// Processor time of each batch, ns; of many short ones with the untimed runs before each.
    pub cpu_times: Vec<f64>,
    /// Most memory in use, bytes; 0 where the kernel does not tell.
    pub peak_rss: f64,
    /// What a process read that was asked to.
    pub readings: Readings,
    /// Panic message, if there was one.
    pub message: String,
    /// Whether the whole test function is the workload (door 2).
    pub whole_function: bool,
}

/// Readings of single calls, as they are on the page.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Readings {
    /// One of `page::heap`.
    pub heap: u32,
    /// 0, or the system's error number for a counter of instructions.
    pub no_instructions: u32,
    /// Whether the kernel counts bytes read and written.
    pub io_is_counted: bool,
    /// Of a call of nothing, of the first call, and of later ones.
    pub calls: Vec<[u64; reading::COUNT]>,
}

/// How a pair ended.
#[derive(Debug, Clone, PartialEq)]
pub struct PairEnd {
    /// Both processes.
    pub sides: Sides<SideEnd>,
    /// The shape, as a pilot settled it.
    pub shape: Shape,
    /// The side that had the first turn.
    pub starter: Side,
    /// The side whose turn it was when the time limit came.
    pub timed_out: Option<Side>,
    /// Wall time of the pair.
    pub took: Duration,
}

impl PairEnd {
    /// True if both sides did all that was asked.
    pub fn complete(&self) -> bool {
        self.sides.base.state == state::DONE && self.sides.head.state == state::DONE
    }
}

/// Runs a pair to its end or its time limit.
pub fn run(bench: &Bench, programs: &Programs<'_>, task: Task, pads: Pads, limit: Duration) -> Result<PairEnd> {
    let started = Instant::now();
    bench.clean_temporary()?;
    write_request(bench, task, pads);
    // Nobody times a process that counts, and callgrind would lose sight of code that moves.
    let common = if task.gauge().is_some() { None } else { bench.common_pages(programs.executables)? };
    bench.page.common.store(common.map_or(0, |_| COMMON_DESCRIPTOR), Relaxed);
    let wanted: &[Side] = match task.single() {
        Some(Side::Base) => &[Side::Base],
        Some(Side::Head) => &[Side::Head],
        None if pads.head_first => &[Side::Head, Side::Base],
        None => &Side::BOTH,
    };
    let mut running = Vec::with_capacity(2);
    for side in wanted {
        running.push(Running::start(bench, programs, *side, pads, task.gauge(), common)?);
    }
    let timed_out = wait(bench, &mut running, started + limit);
    let mut status = Sides { base: None, head: None };
    for process in running {
        *status.get_mut(process.side) = process.status;
    }
    process::kill_leftovers();
    let unsettled = |side: &page::SideArea| side.state.load(Acquire) == state::DONE && side.settled.load(Relaxed) == 0;
    if wanted.iter().any(|side| unsettled(&bench.page.sides[side.index()])) {
        bench.note_unsettled();
    }
    let batches = if task == Task::Cold { 0 } else { bench.page.batches.load(Relaxed) };
    let shape =
        Shape { repetitions: bench.page.repetitions.load(Relaxed), batches, warm: bench.page.warm.load(Relaxed) };
    let sides = Sides {
        base: read_side(bench, Side::Base, batches, status.base),
        head: read_side(bench, Side::Head, batches, status.head),
    };
    Ok(PairEnd { sides, shape, starter: owner(bench, 0), timed_out, took: started.elapsed() })
}

fn write_request(bench: &Bench, task: Task, pads: Pads) {
    let page = &bench.page;
    page.reset();
    page.batch_ns.store(BATCH_NS, Relaxed);
    page.heap_pad.store(pads.heap, Relaxed);
    page.stack_pad.store(pads.stack, Relaxed);
    let (flags, shape) = match task {
        Task::Pilot => (PILOT, Shape { repetitions: 1, batches: 0, warm: 0 }),
        Task::Steady(shape) | Task::Alone(_, shape) => (0, shape),
        Task::Cold | Task::Solo(_) => (COLD, Shape { repetitions: 1, batches: 0, warm: 0 }),
        Task::Meter(_, gauge, later) => (meter_flags(gauge, later), Shape { repetitions: later, batches: 0, warm: 0 }),
    };
    page.flags.store(flags, Relaxed);
    page.repetitions.store(shape.repetitions, Relaxed);
    page.warm.store(shape.warm, Relaxed);
    // A pilot is planned with all its turns by base; head waits for turn 1 meanwhile.
    let starter = u32::from(pads.head_first && task != Task::Pilot);
    page.plan(shape.batches, starter);
    if let Some(side) = task.single() {
        // Its preparation, and its batches if there are any.
        let turns = 1 + page.batches.load(Relaxed);
        page.schedule[..turns as usize].iter().for_each(|turn| turn.store(side.index() as u8, Relaxed));
        page.turns.store(turns, Relaxed);
    }
}

fn meter_flags(gauge: Gauge, later: u64) -> u32 {
    let gauge = match gauge {
        Gauge::Heap | Gauge::Kernel => 0,
        Gauge::Processor => INSTRUCTIONS,
        Gauge::Callgrind => CALLGRIND,
    };
    METER | gauge | if later == 0 { COLD } else { 0 }
}

fn read_side(bench: &Bench, side: Side, batches: u32, status: Option<ExitStatus>) -> SideEnd {
    let area = &bench.page.sides[side.index()];
    let length = (area.message_len.load(Relaxed) as usize).min(page::MESSAGE_LEN);
    let message: Vec<u8> = area.message[..length].iter().map(|byte| byte.load(Relaxed)).collect();
    SideEnd {
        state: area.state.load(Acquire),
        status,
        first_ns: area.first_ns.load(Relaxed) as f64,
        times: area.times.iter().take(batches as usize).map(|time| time.load(Relaxed) as f64).collect(),
        first_cpu_ns: area.first_cpu_ns.load(Relaxed) as f64,
        cpu_times: area.cpu_times.iter().take(batches as usize).map(|time| time.load(Relaxed) as f64).collect(),
        peak_rss: area.peak_rss.load(Relaxed) as f64,
        readings: read_readings(area),
        message: String::from_utf8_lossy(&message).into_owned(),
        whole_function: area.whole_function.load(Relaxed) != 0,
    }
}

fn read_readings(area: &SideArea) -> Readings {
    let taken = (area.readings.load(Acquire) as usize).min(page::MAX_READINGS);
    let figures = |at: usize| std::array::from_fn(|index| area.figures[at][index].load(Relaxed));
    Readings {
        heap: area.heap.load(Relaxed),
        no_instructions: area.no_instructions.load(Relaxed),
        io_is_counted: area.io_is_counted.load(Relaxed) != 0,
        calls: (0..taken).map(figures).collect(),
    }
}

struct Running {
    side: Side,
    child: Child,
    /// Readable once the process has ended.
    ended: Option<OwnedFd>,
    status: Option<ExitStatus>,
    over: bool,
}

impl Running {
    fn start(
        bench: &Bench,
        programs: &Programs<'_>,
        side: Side,
        pads: Pads,
        gauge: Option<Gauge>,
        common: Option<RawFd>,
    ) -> Result<Self> {
        let mut command = bench.gauges.command(gauge, &programs.executables.get(side).path);
        // Only read where libtest and not our runner is in charge.
        command.args(["--exact", programs.test, "--include-ignored", "--nocapture", "--test-threads=1"]);
        // Base's environment for both: a longer variable would shift the stack.
        let environment = programs.executables.base.environment();
        let seed = bench.seeds.variables(pads.seed, &environment);
        command.current_dir(&programs.executables.base.cwd).env_clear().envs(environment).envs(seed);
        let preloaded = command.get_envs().find(|(name, _)| *name == PRELOAD_VARIABLE).and_then(|(_, value)| value);
        let counting = bench.gauges.variables(gauge, preloaded);
        command.envs(counting);
        command.env("TMPDIR", bench.temporary.get(side));
        command.env(SIDE_VARIABLE, programs.folders.get(side));
        command.env("PERFUNIT_PAD", "x".repeat(pads.environment));
        command.env(SERVE_VARIABLE, format!("{}:{PAGE_DESCRIPTOR}", side.index())).env(TEST_VARIABLE, programs.test);
        process::mark(&mut command)?;
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut core = CpuSet::new();
        core.set(bench.core()).map_err(|error| Error::setup(error.to_string()))?;
        let (descriptor, fixed) = (bench.page.descriptor(), bench.paired_address_space);
        // SAFETY: only system calls that are safe between fork and exec; no allocation.
        unsafe {
            command.pre_exec(move || {
                for (ours, theirs) in [(Some(descriptor), PAGE_DESCRIPTOR), (common, COMMON_DESCRIPTOR)] {
                    if ours.is_some_and(|ours| libc::dup2(ours, theirs) < 0) {
                        return Err(std::io::Error::last_os_error());
                    }
                }
                let _ = sched_setaffinity(Pid::from_raw(0), &core);
                if fixed {
                    personality::set(personality::get()? | Persona::ADDR_NO_RANDOMIZE)?;
                }
                // A test that aborts shall not leave a core file.
                let _ = nix::sys::resource::setrlimit(nix::sys::resource::Resource::RLIMIT_CORE, 0, 0);
                Ok(())
            });
        }
        let child = process::spawn(&mut command)?;
        let ended = pidfd(&child);
        Ok(Self { side, child, ended, status: None, over: false })
    }

    /// Looks whether the process has ended.
    fn look(&mut self) -> bool {
        if !self.over
            && let Ok(Some(status)) = self.child.try_wait()
        {
            (self.status, self.over) = (Some(status), true);
        }
        self.over
    }

    fn kill(&mut self) {
        if !self.over {
            let _ = self.child.kill();
            let _ = self.child.wait();
            self.over = true;
        }
    }
}

/// Waits for all; kills the rest as soon as one has failed or the time is over. Returns the side that used it up.
fn wait(bench: &Bench, running: &mut [Running], deadline: Instant) -> Option<Side> {
    loop {
        let mut failed = false;
        for process in running.iter_mut() {
            let over = process.look();
            failed |= over && bench.page.sides[process.side.index()].state.load(Acquire) != state::DONE;
        }
        let waiting = running.iter().any(|process| !process.over);
        if !waiting {
            return None;
        }
        let late = Instant::now() >= deadline;
        if failed || late || crate::interrupt::requested() {
            running.iter_mut().for_each(Running::kill);
            return late.then(|| whose_turn(bench));
        }
        sleep_until_end(running, deadline);
    }
}

fn whose_turn(bench: &Bench) -> Side {
    owner(bench, bench.page.turn.load(Acquire) as usize)
}

/// Whose turn this is.
fn owner(bench: &Bench, turn: usize) -> Side {
    let owner = bench.page.schedule.get(turn).map_or(0, |owner| owner.load(Relaxed));
    if owner == 0 { Side::Base } else { Side::Head }
}

/// Sleeps until a process ends, at most a tenth of a second (so that Ctrl-C is seen).
fn sleep_until_end(running: &[Running], deadline: Instant) {
    let left = deadline.saturating_duration_since(Instant::now()).min(Duration::from_millis(100));
    let mut polled: Vec<libc::pollfd> = running
        .iter()
        .filter(|process| !process.over)
        .filter_map(|process| process.ended.as_ref())
        .map(|fd| libc::pollfd { fd: fd.as_raw_fd(), events: libc::POLLIN, revents: 0 })
        .collect();
    if polled.is_empty() {
        // No pidfd (Linux before 5.3).
        std::thread::sleep(left.min(Duration::from_millis(1)));
        return;
    }
    let milliseconds = i32::try_from(left.as_millis()).unwrap_or(100).max(1);
    // SAFETY: the array lives through the call and its length is given.
    unsafe { libc::poll(polled.as_mut_ptr(), polled.len() as libc::nfds_t, milliseconds) };
}

fn pidfd(child: &Child) -> Option<OwnedFd> {
    // SAFETY: takes no pointers; a non-negative result is a descriptor that nobody else owns.
    unsafe {
        let fd = libc::syscall(libc::SYS_pidfd_open, child.id(), 0);
        i32::try_from(fd).ok().filter(|fd| *fd >= 0).map(|fd| OwnedFd::from_raw_fd(fd))
    }
}

/// In words: `signal 6 (SIGABRT)`, `exit status 1`.
pub fn describe(status: ExitStatus) -> String {
    match status.signal() {
        Some(signal) => nix::sys::signal::Signal::try_from(signal)
            .map_or_else(|_| format!("signal {signal}"), |name| format!("signal {signal} ({name})")),
        None => format!("exit status {}", status.code().unwrap_or(-1)),
    }
}
