//! One pair of processes: children of fork servers where that is possible, otherwise newly started processes.

use super::bench::Bench;
use super::fork_servers::{Origin, Servers};
use super::lockstep::{self, PairEnd, Task};
use super::measured_process::{self, Awaited, Inheritance, Pads, Programs, Start};
use super::shared_memory::{SharedPage, identities, size};
use perfunit_build::{TestClock, TestExecutable};
use perfunit_model::error::Result;
use perfunit_model::{Harness, Side, Sides};
use perfunit_runtime::page::{NAME_LEN, Page, state};
use perfunit_system::os;
use perfunit_system::os::unix::process::ExitStatusExt;
use perfunit_system::process::{self, Server};
use std::num::NonZeroU64;
use std::process::ExitStatus;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::time::{Duration, Instant};

/// Runs a pair to its end or to the time limit, which applies to the turns of each side.
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
    let is_stepped = matches!(pads.clock, TestClock::Stepped(_));
    let is_possible = task.can_be_forked()
        && can_serve(base)
        && can_serve(head)
        && !is_instrumented
        && !is_stepped
        && programs.test.len() <= NAME_LEN;
    let mut known = bench.fork_servers.borrow_mut();
    if !is_possible || !known.can_fork(&head.target, task.gauge(), programs.test) {
        return Ok(None);
    }
    let clock = if pads.seed.is_some() { pads.clock } else { TestClock::True };
    let origin = Origin { executables: identities(programs.executables)?, clock, gauge: task.gauge() };
    let counts = matches!(task, Task::Steady(_) | Task::AtOnce(_) | Task::Fork(..));
    let mut servers = match known.take(origin, programs.test, counts) {
        Some(servers) => servers,
        None => start(bench, programs, origin, pads)?,
    };
    servers.note(programs.test, counts);
    let copy = known.copy(&mut servers, counts, programs.is_drawn);
    servers.page.copy.store(copy, Relaxed);
    Ok(match serve(&mut servers, bench, programs, task, pads, limit) {
        Served::End(end) => {
            known.keep(servers);
            Some(*end)
        }
        Served::Killed(end) => Some(*end),
        Served::Gone => {
            known.note_ended(&head.target, task.gauge(), programs.test);
            None
        }
    })
}

/// The end of a pair of children.
enum Served {
    End(Box<PairEnd>),
    /// The servers were killed with their children.
    Killed(Box<PairEnd>),
    /// A server ended unexpectedly.
    Gone,
}

/// Starts a fork server for each side.
fn start(bench: &Bench, programs: &Programs<'_>, origin: Origin, pads: Pads) -> Result<Servers> {
    let _span = tracing::debug_span!("fork_server").entered();
    let page = SharedPage::new()?;
    // callgrind would lose track of code that moves.
    let common = if origin.gauge.is_none() { bench.common_pages(programs.executables)? } else { None };
    let inheritance = Inheritance::prepare(bench, &page, common.as_deref())?;
    page.reset();
    page.common.store(inheritance.common(), Relaxed);
    let core = bench.core_of(origin.gauge);
    page.core.store(lockstep::core_number(core), Relaxed);
    let (pads, inheritance) = (pads.for_server(origin.clock), &inheritance);
    let start = |side: Side| -> Result<Server> {
        let mut command =
            measured_process::serving_command(bench, programs, side, Start { pads, gauge: origin.gauge, inheritance })?;
        let child = measured_process::spawn_on(bench, side, &mut command)?;
        if let Some(core) = core {
            let _ = os::keep_child_on(core, &child);
        }
        Ok(Server::new(child))
    };
    let processes = Sides { base: start(Side::Base)?, head: start(Side::Head)? };
    Ok(Servers::new(origin, page, processes, size(programs.executables)?))
}

/// Runs a pair of children of these servers.
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
        end: None,
        is_independent: task.gauge().is_some(),
    });
    let mut seen = 0;
    let timed_out = measured_process::wait(page, &mut children, limit, |children, left| {
        let now = page.ended.load(Acquire);
        if now == seen || children.iter_mut().all(|child| !child.has_ended()) {
            os::wait_for_change(&page.ended, now, left);
        }
        seen = now;
    });
    let ends = children.map(|child| child.end);
    process::kill_leftovers();
    if ends.contains(&Some(ChildEnd::ServerGone)) {
        return Served::Gone;
    }
    let is_killed = ends.contains(&Some(ChildEnd::Killed));
    let [base, head] = ends.map(|end| if let Some(ChildEnd::Exited(status)) = end { Some(status) } else { None });
    let end = Box::new(lockstep::read_end(bench, page, task, Sides { base, head }, timed_out));
    if is_killed { Served::Killed(end) } else { Served::End(end) }
}

/// The end of a server's child.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ChildEnd {
    Exited(ExitStatus),
    /// The tool killed the child with its server.
    Killed,
    /// The server ended before the child.
    ServerGone,
}

/// A child of a server.
struct Forked<'a> {
    side: Side,
    page: &'a Page,
    server: &'a mut Server,
    asked: u32,
    end: Option<ChildEnd>,
    /// True if the tool waits for the other side's child although this one failed.
    is_independent: bool,
}

impl Awaited for Forked<'_> {
    fn side(&self) -> Side {
        self.side
    }

    fn has_ended(&mut self) -> bool {
        let area = &self.page.sides[self.side.index()];
        if self.end.is_some() {
            return true;
        }
        if area.answered.load(Acquire) == self.asked {
            let status = area.status.load(Relaxed).cast_signed();
            self.end = Some(ChildEnd::Exited(ExitStatus::from_raw(status)));
        } else if area.cannot_fork.load(Acquire) != 0 || self.server.is_gone() {
            area.state.store(state::STARTING, Relaxed);
            self.end = Some(ChildEnd::ServerGone);
        }
        self.end.is_some()
    }

    fn is_independent(&self) -> bool {
        self.is_independent
    }

    /// Kills the server together with its child.
    fn kill(&mut self) {
        self.server.kill();
        self.end.get_or_insert(ChildEnd::Killed);
    }
}
