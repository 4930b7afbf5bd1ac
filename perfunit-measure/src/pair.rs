//! One pair of processes: children of fork servers where that is possible, else processes that are started for it.

use super::bench::Bench;
use super::fork_servers::{Origin, Servers};
use super::lockstep::{self, PairEnd, Task};
use super::running::{self, Awaited, Inheritance, Pads, Programs};
use super::shared_memory::{SharedPage, identities};
use perfunit_build::{TestClock, TestExecutable};
use perfunit_model::error::Result;
use perfunit_model::{Harness, Side, Sides};
use perfunit_runtime::page::{NAME_LEN, Page, SERVE_VARIABLE, server, state};
use perfunit_system::os;
use perfunit_system::os::unix::process::ExitStatusExt;
use perfunit_system::process::{self, Server};
use std::num::NonZeroU64;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::time::{Duration, Instant};

/// Runs a pair to its end or its time limit, which is that of each side's turns.
pub fn run(bench: &Bench, programs: &Programs<'_>, task: Task, pads: Pads, limit: Duration) -> Result<PairEnd> {
    let started = Instant::now();
    bench.clean_temporary()?;
    let end = match run_forked(bench, programs, task, pads, limit)? {
        Some(end) => end,
        None => lockstep::run(bench, programs, task, pads, limit)?,
    };
    Ok(PairEnd { took: started.elapsed(), ..end })
}

/// Runs a pair of children of fork servers; `None` if its processes cannot be forked.
fn run_forked(
    bench: &Bench,
    programs: &Programs<'_>,
    task: Task,
    pads: Pads,
    limit: Duration,
) -> Result<Option<PairEnd>> {
    let can_serve = |executable: &TestExecutable| matches!(executable.harness, Harness::Runner | Harness::Bench);
    let Sides { base, head } = programs.executables;
    let is_instrumented = bench.trees.borrow().is_some() || bench.tables.borrow().is_some();
    let is_possible = task.can_be_forked() && can_serve(base) && can_serve(head) && !is_instrumented;
    let is_stepped = matches!(pads.clock, TestClock::Stepped(_));
    let mut known = bench.fork_servers.borrow_mut();
    if !is_possible || is_stepped || programs.test.len() > NAME_LEN || !known.can_fork(&head.target) {
        return Ok(None);
    }
    let clock = if pads.seed.is_some() { pads.clock } else { TestClock::True };
    let origin = Origin { executables: identities(programs.executables)?, clock, core: bench.core() };
    let counts = matches!(task, Task::Steady(_) | Task::Fork(..));
    let mut servers = match known.take(origin, programs.test, counts) {
        Some(servers) => servers,
        None => start(bench, programs, origin, pads)?,
    };
    servers.note(programs.test, counts);
    Ok(match serve(&mut servers, bench, programs, task, pads, limit) {
        Served::End(end) => {
            known.keep(servers);
            Some(*end)
        }
        Served::Killed(end) => Some(*end),
        Served::Gone => {
            known.note_unable(&head.target);
            None
        }
    })
}

/// How a pair of children ended.
enum Served {
    End(Box<PairEnd>),
    /// The servers were killed with their children.
    Killed(Box<PairEnd>),
    /// A server ended by itself.
    Gone,
}

/// Starts servers.
fn start(bench: &Bench, programs: &Programs<'_>, origin: Origin, pads: Pads) -> Result<Servers> {
    let _span = tracing::debug_span!("fork_server").entered();
    let page = SharedPage::new()?;
    let common = bench.common_pages(programs.executables)?;
    let inheritance = Inheritance::prepare(bench, &page, common.as_deref())?;
    page.reset();
    page.common.store(inheritance.common(), Relaxed);
    page.core.store(u32::try_from(origin.core).unwrap_or(0), Relaxed);
    // The library of random numbers is loaded in any case; the seed of a child is on the page.
    let seed = pads.seed.or(NonZeroU64::new(1));
    let pads = Pads { seed, ..pads.with_clock(origin.clock) };
    let start = |side: Side| -> Result<Server> {
        let executable = programs.executables.get(side);
        let mut command = Command::new(&executable.path);
        command.args(executable.harness.arguments(programs.test));
        running::surround(&mut command, bench, programs, side, pads);
        command.env(SERVE_VARIABLE, format!("{}:{}", side.index(), inheritance.page()));
        process::mark(&mut command)?;
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let _entered = bench.made.as_ref().map(|made| made.enter(side)).transpose()?;
        let child = process::spawn(&mut command)?;
        let _ = os::keep_child_on(origin.core, &child);
        Ok(Server::new(child))
    };
    let processes = Sides { base: start(Side::Base)?, head: start(Side::Head)? };
    drop(inheritance);
    Ok(Servers::new(origin, page, processes))
}

/// Runs a pair of children.
fn serve(
    servers: &mut Servers,
    bench: &Bench,
    programs: &Programs<'_>,
    task: Task,
    pads: Pads,
    limit: Duration,
) -> Served {
    let Servers { page, processes, asked, .. } = servers;
    let page = &*page;
    lockstep::write_request(page, bench, task, pads);
    page.seed.store(pads.seed.map_or(0, NonZeroU64::get), Relaxed);
    page.set_name(programs.test);
    *asked += 1;
    page.asked.store(*asked, Release);
    os::announce_change(&page.asked);
    let Sides { base, head } = processes;
    let mut children = [(Side::Base, base), (Side::Head, head)].map(|(side, server)| Forked {
        side,
        page,
        server,
        asked: *asked,
        status: None,
        is_over: false,
        is_gone: false,
        is_killed: false,
    });
    let mut seen = 0;
    let timed_out = running::wait(page, &mut children, limit, |children, left| {
        let now = page.ended.load(Acquire);
        if now == seen || children.iter_mut().all(|child| !child.has_ended()) {
            os::wait_for_change(&page.ended, now, left);
        }
        seen = now;
    });
    let [base, head] = &children;
    let status = Sides { base: base.status, head: head.status };
    let is_gone = base.is_gone || head.is_gone;
    let is_killed = base.is_killed || head.is_killed;
    process::kill_leftovers();
    if is_gone {
        return Served::Gone;
    }
    let end = Box::new(lockstep::read_end(bench, page, task, status, timed_out));
    if is_killed { Served::Killed(end) } else { Served::End(end) }
}

/// A child of a server.
struct Forked<'a> {
    side: Side,
    page: &'a Page,
    server: &'a mut Server,
    asked: u32,
    /// `None` if the tool killed the process.
    status: Option<ExitStatus>,
    is_over: bool,
    /// Whether the server ended before its child.
    is_gone: bool,
    is_killed: bool,
}

impl Awaited for Forked<'_> {
    fn side(&self) -> Side {
        self.side
    }

    fn has_ended(&mut self) -> bool {
        let area = &self.page.sides[self.side.index()];
        if !self.is_over && area.answered.load(Acquire) == self.asked {
            self.status = Some(ExitStatus::from_raw(area.status.load(Relaxed).cast_signed()));
            self.is_over = true;
        } else if !self.is_over && (area.server.load(Acquire) == server::UNABLE || self.server.is_gone()) {
            area.state.store(state::STARTING, Relaxed);
            (self.is_gone, self.is_over) = (true, true);
        }
        self.is_over
    }

    /// Kills the server, and its child with it.
    fn kill(&mut self) {
        self.server.kill();
        (self.is_killed, self.is_over) = (true, true);
    }
}
