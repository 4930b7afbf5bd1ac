//! The processes of a pair: the state that they inherit, their start and their end.

use super::bench::Bench;
use super::gauge::Gauge;
use super::shared_memory::SharedPage;
use perfunit_build::{SIDE_VARIABLE, Seed, TestClock, TestExecutable};
use perfunit_model::error::{Error, Result};
use perfunit_model::{Failure, Side, Sides};
use perfunit_runtime::page::{AT_ONCE, PRELOAD_VARIABLE, Page, SERVE_VARIABLE, TEST_VARIABLE, state};
use perfunit_system::os::unix::process::ExitStatusExt;
use perfunit_system::os::{self, EndOf, FixedAddresses, Inherited, NoCoreFiles};
use perfunit_system::process;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::File;
use std::num::NonZeroU64;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::Ordering::{Acquire, Relaxed};
use std::time::{Duration, Instant};

/// The longest sleep.
const LOOK: Duration = Duration::from_millis(100);
/// The random shift of the environment and so of the main thread's stack, bytes.
const ENVIRONMENT_PAD: usize = 4096;

/// The two executables of a test.
#[derive(Debug, Clone, Copy)]
pub struct Programs<'a> {
    pub executables: Sides<&'a TestExecutable>,
    /// The folder of each side, for the binaries that tests start.
    pub folders: Sides<&'a Path>,
    /// The name of the test.
    pub test: &'a str,
    /// True if the test is `#[ignore]`d; a custom harness then needs an argument.
    pub ignored: bool,
    /// True if the executables belong to a drawn layout, on which all pairs together make one value.
    pub is_drawn: bool,
}

/// The random shifts, the seed of all other randomness, and the clock: equal for both processes of a pair and different
/// between pairs.
#[derive(Debug, Clone, Copy, Default)]
pub struct Pads {
    environment: usize,
    pub(super) heap: u32,
    pub(super) stack: u32,
    pub(super) head_first: bool,
    pub(super) seed: Seed,
    pub(super) clock: TestClock,
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
            clock: TestClock::True,
        }
    }

    /// Returns the same, with different random numbers in each process.
    pub fn without_seed(self) -> Self {
        Self { seed: None, ..self }
    }

    /// Returns the same for the start of a fork server, which loads the library of random numbers in any case: the seed of a
    /// child is on its page.
    pub fn for_server(self, clock: TestClock) -> Self {
        Self { seed: self.seed.or(NonZeroU64::new(1)), clock, ..self }
    }

    /// Returns the same with another clock for the tests. The clock requires equal random numbers: without them it is the
    /// true one.
    pub fn with_clock(self, clock: TestClock) -> Self {
        Self { clock, ..self }
    }
}

/// The inputs that the processes of a pair share.
#[derive(Clone, Copy)]
pub struct Start<'a> {
    pub pads: Pads,
    pub gauge: Option<Gauge>,
    pub inheritance: &'a Inheritance,
}

/// A process of a pair, from its start to its end.
pub struct RunningProcess {
    pub side: Side,
    child: Child,
    /// A descriptor that is readable once the process has ended.
    ended: Option<EndOf>,
    /// The exit status; `None` if the tool killed the process.
    pub status: Option<ExitStatus>,
    over: bool,
    /// True if the tool waits for the other side's process although this one failed.
    is_independent: bool,
}

impl RunningProcess {
    /// Starts a process on the bench's core.
    pub fn start(bench: &Bench, programs: &Programs<'_>, side: Side, start: Start<'_>) -> Result<Self> {
        let gauge = start.gauge;
        let mut command = measured_command(bench, programs, side, start)?;
        let child = spawn_on(bench, side, &mut command)?;
        // The process moves itself to the core, too, before its test begins.
        if let Some(core) = bench.core_of(gauge) {
            let _ = os::keep_child_on(core, &child);
        }
        let ended = EndOf::child(&child);
        let is_independent = gauge.is_some();
        Ok(Self { side, child, ended, status: None, over: false, is_independent })
    }
}

impl Awaited for RunningProcess {
    fn side(&self) -> Side {
        self.side
    }

    fn has_ended(&mut self) -> bool {
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

    fn is_independent(&self) -> bool {
        self.is_independent
    }
}

/// Returns the command that starts a process of a pair.
pub fn measured_command(bench: &Bench, programs: &Programs<'_>, side: Side, start: Start<'_>) -> Result<Command> {
    let mut command = serving_command(bench, programs, side, start)?;
    command.env(TEST_VARIABLE, programs.test);
    Ok(command)
}

/// Returns the command that starts a side's executable for our protocol; without a test the process is a fork server.
pub fn serving_command(bench: &Bench, programs: &Programs<'_>, side: Side, start: Start<'_>) -> Result<Command> {
    let Start { pads, gauge, inheritance } = start;
    let mut command = bench.gauges.command(gauge, side, &programs.executables.get(side).path);
    // The arguments are read only if libtest and not our runner is in charge.
    command.args(programs.executables.get(side).harness.arguments(programs.test));
    surround(&mut command, bench, programs, side, pads);
    command.env(SERVE_VARIABLE, format!("{}:{}", side.index(), inheritance.page()));
    process::mark(&mut command)?;
    let preloaded = command.get_envs().find(|(name, _)| *name == PRELOAD_VARIABLE).and_then(|(_, value)| value);
    let counting = bench.gauges.variables(gauge, preloaded);
    command.envs(counting).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    Ok(command)
}

/// Starts a process that finds the files built by its side.
pub fn spawn_on(bench: &Bench, side: Side, command: &mut Command) -> Result<Child> {
    let _entered = bench.made.as_ref().map(|made| made.enter(side)).transpose()?;
    process::spawn(command)
}

/// Gives a process its side's folder and environment, padded to equal size so that the stacks are not shifted.
pub fn surround(command: &mut Command, bench: &Bench, programs: &Programs<'_>, side: Side, pads: Pads) {
    let environment = environment(bench, programs, side, pads);
    let others = self::environment(bench, programs, side.other(), pads);
    let pad = pads.environment + room(&others).saturating_sub(room(&environment));
    command.current_dir(&programs.executables.get(side).cwd).env_clear().envs(environment);
    command.env("PERFUNIT_PAD", "x".repeat(pad));
}

fn environment(bench: &Bench, programs: &Programs<'_>, side: Side, pads: Pads) -> BTreeMap<OsString, OsString> {
    let mut environment = programs.executables.get(side).environment();
    let cores = bench.cores_told();
    let seed = bench.seeds.variables(pads.seed, pads.clock, cores.as_deref(), &environment);
    environment.extend(seed.into_iter().map(|(name, value)| (name.into(), value)));
    let (name, value) = bench.temporary.get(side).variable();
    environment.insert(name.into(), value);
    let folder = bench.program_files.as_ref().map_or(*programs.folders.get(side), |files| files.folder(side));
    environment.insert(SIDE_VARIABLE.into(), folder.into());
    environment.extend([bench.starts.get(side).variable()]);
    environment
}

/// Returns the bytes that an environment takes on the stack: `name=value` with a zero at the end, and a pointer to it.
fn room(environment: &BTreeMap<OsString, OsString>) -> usize {
    let bytes = environment.iter().map(|(name, value)| name.len() + value.len() + 2);
    bytes.sum::<usize>() + environment.len() * size_of::<*const u8>()
}

/// A process of a pair that the tool waits for.
pub trait Awaited {
    fn side(&self) -> Side;

    /// Checks whether the process has ended.
    fn has_ended(&mut self) -> bool;

    fn kill(&mut self);

    /// Returns whether the tool waits for the other side's process although this one failed.
    fn is_independent(&self) -> bool {
        false
    }
}

/// Waits for all processes; `sleep` waits for the next change, for at most the given time. Kills the rest as soon as one has
/// failed and the other is in no call, on Ctrl-C, or when a turn exceeds the limit or the pair exceeds twice the limit. Returns
/// the side that had the turn if a limit was exceeded.
pub fn wait<P: Awaited>(
    page: &Page,
    processes: &mut [P],
    limit: Duration,
    mut sleep: impl FnMut(&mut [P], Duration),
) -> Option<Side> {
    let started = Instant::now();
    let (mut turn, mut turn_began) = (0, started);
    loop {
        let turn_now = page.turn.load(Acquire);
        if turn_now != turn {
            (turn, turn_began) = (turn_now, Instant::now());
        }
        let deadline = (turn_began + limit).min(started + 2 * limit);
        let (mut failed, mut is_over) = (false, true);
        for process in processes.iter_mut() {
            let has_ended = process.has_ended();
            is_over &= has_ended;
            failed |= has_ended
                && !process.is_independent()
                && page.sides[process.side().index()].state.load(Acquire) != state::DONE;
        }
        if is_over {
            return None;
        }
        let late = Instant::now() >= deadline;
        if failed && !is_in_call(page) || late || perfunit_system::interrupt::is_requested() {
            processes.iter_mut().for_each(P::kill);
            return late.then(|| late_side(page));
        }
        // Sleep briefly, so that Ctrl-C is seen.
        sleep(processes, deadline.saturating_duration_since(Instant::now()).min(LOOK));
    }
}

/// Returns whether one of two sides that run at once may be in a call while the other one has ended. Killed there, it could leave
/// files that make the next pair fail.
fn is_in_call(page: &Page) -> bool {
    page.flags.load(Relaxed) & AT_ONCE != 0 && page.turn.load(Acquire).is_multiple_of(2)
}

/// Returns the side for which the other one or the tool waits: of two that run at once, the one with fewer calls.
fn late_side(page: &Page) -> Side {
    if page.flags.load(Relaxed) & AT_ONCE == 0 {
        return owner(page, page.turn.load(Acquire) as usize);
    }
    let [base, head] = &page.sides;
    if head.runs.load(Relaxed) < base.runs.load(Relaxed) { Side::Head } else { Side::Base }
}

/// Returns the side that owns this turn.
pub fn owner(page: &Page, turn: usize) -> Side {
    let owner = page.schedule.get(turn).map_or(0, |owner| owner.load(Relaxed));
    if owner == 0 { Side::Base } else { Side::Head }
}

/// Sleeps until a process ends.
pub fn sleep_until_end(running: &mut [RunningProcess], left: Duration) {
    let waited_for = running.iter().filter(|process| !process.over);
    EndOf::wait_for_one(waited_for.filter_map(|process| process.ended.as_ref()), left);
}

pub fn how_ended(status: ExitStatus) -> Failure {
    match status.signal() {
        Some(number) => Failure::Signal { number, name: os::signal_name(number).map(str::to_owned) },
        None => Failure::Exited { code: status.code().unwrap_or(-1) },
    }
}

/// The state of this process that the processes of a pair inherit; dropping it restores the former state.
///
/// The state is set here and not in the child before `exec`: a child that runs our code must be forked with a copy of all
/// page tables, which takes longer than the rest of its start.
pub struct Inheritance {
    page: Inherited,
    common: Option<Inherited>,
    probed: Sides<Option<Inherited>>,
    _addresses: Option<FixedAddresses>,
    _core_files: Option<NoCoreFiles>,
}

impl Inheritance {
    /// Sets the state for the next processes, which share this page.
    pub fn prepare(bench: &Bench, page: &SharedPage, common: Option<&File>) -> Result<Self> {
        let (trees, tables) = (bench.trees.borrow(), bench.tables.borrow());
        // A program has probes of only one kind.
        let file = |side: Side| {
            let tree = trees.as_ref().map(|trees| trees.file(side));
            tree.or_else(|| tables.as_ref().map(|tables| tables.file(side))).map(inherit).transpose()
        };
        let fixed = bench.paired_address_space.then(FixedAddresses::switch_on).transpose();
        Ok(Self {
            page: inherit(page.file())?,
            common: common.map(inherit).transpose()?,
            probed: Sides { base: file(Side::Base)?, head: file(Side::Head)? },
            _addresses: fixed
                .map_err(|error| Error::setup(format!("cannot switch off address space randomisation: {error}")))?,
            // A test that aborts must not leave a core file.
            _core_files: NoCoreFiles::switch_on().ok(),
        })
    }

    /// Returns the descriptor of the page.
    pub fn page(&self) -> i32 {
        self.page.number()
    }

    /// Returns the descriptor of the pages that both programs have in common; 0 if there are none.
    pub fn common(&self) -> i32 {
        self.common.as_ref().map_or(0, Inherited::number)
    }

    /// Returns the descriptor of the file for a side's call tree or table; 0 if none is requested.
    pub fn tree(&self, side: Side) -> i32 {
        self.probed.get(side).as_ref().map_or(0, Inherited::number)
    }
}

fn inherit(file: &File) -> Result<Inherited> {
    Inherited::copy(file).map_err(|error| Error::setup(format!("cannot hand over shared memory: {error}")))
}
