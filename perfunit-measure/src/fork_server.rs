//! Pairs whose processes are children of fork servers: processes of both sides that stand just before their tests.
//!
//! Starting a program takes several milliseconds: the dynamic linker, page faults, copies of pages. A server does that once
//! for an executable and forks a child for each pair, see `serve/fork_server.rs` of the runtime. The servers of the layouts
//! that a test is measured on stay for the other tests.
//!
//! What a server has in memory its children have at the same place, so a test gets a few pairs from one server at a stretch.
//! Where a program cannot be forked, its pairs are fresh processes.

use super::bench::Bench;
use super::lockstep::{self, PairEnd, Task};
use super::running::{self, Awaited, Inheritance, Pads, Programs};
use super::shared_memory::{Identity, SharedPage, identities};
use perfunit_build::{TestClock, TestExecutable};
use perfunit_model::error::Result;
use perfunit_model::{Harness, Side, Sides, TargetId};
use perfunit_runtime::page::{NAME_LEN, Page, SERVE_VARIABLE, server, state};
use perfunit_system::os;
use perfunit_system::os::unix::process::ExitStatusExt;
use perfunit_system::process::{self, Server};
use std::collections::BTreeSet;
use std::num::NonZeroU64;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::time::Duration;

/// Pairs of servers that are kept: those of two executables for each layout of two looks.
const KEPT: usize = 24;
/// Pairs that a test gets from the same servers at a stretch.
const STRETCH: usize = 16;

/// The servers that are kept, the last used ones at the end.
#[derive(Debug, Default)]
pub struct ForkServers {
    servers: Vec<Servers>,
    /// Targets whose programs cannot be forked.
    unable: BTreeSet<TargetId>,
}

/// What the children of servers have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Origin {
    executables: Sides<Identity>,
    clock: TestClock,
    core: usize,
}

/// The servers of both sides.
#[derive(Debug)]
struct Servers {
    origin: Origin,
    page: SharedPage,
    processes: Sides<Server>,
    asked: u32,
    /// The test that was served last, and how many pairs of it that count.
    test: String,
    pairs: usize,
}

/// Runs a pair; `None` if its processes cannot be forked.
pub fn run(bench: &Bench, programs: &Programs<'_>, task: Task, pads: Pads, limit: Duration) -> Result<Option<PairEnd>> {
    let can_serve = |executable: &TestExecutable| matches!(executable.harness, Harness::Runner | Harness::Bench);
    let Sides { base, head } = programs.executables;
    let is_instrumented = bench.trees.borrow().is_some() || bench.tables.borrow().is_some();
    let is_possible = can_serve(base) && can_serve(head) && !is_instrumented && programs.test.len() <= NAME_LEN;
    if !is_possible || matches!(pads.clock, TestClock::Stepped(_)) {
        return Ok(None);
    }
    let clock = if pads.seed.is_some() { pads.clock } else { TestClock::True };
    let origin = Origin { executables: identities(programs.executables)?, clock, core: bench.core() };
    let mut known = bench.fork_servers.borrow_mut();
    if known.unable.contains(&head.target) {
        return Ok(None);
    }
    let counts = matches!(task, Task::Steady(_) | Task::Fork(..));
    let mut servers = known.take(bench, programs, origin, pads, counts)?;
    match servers.pair(bench, programs, task, pads, limit) {
        Served::End(end) => {
            known.servers.push(servers);
            Ok(Some(*end))
        }
        Served::Killed(end) => Ok(Some(*end)),
        Served::Gone => {
            known.unable.insert(head.target.clone());
            Ok(None)
        }
    }
}

impl ForkServers {
    /// Ends all servers.
    pub fn clear(&mut self) {
        self.servers.clear();
    }

    /// Takes the servers of these programs out of the kept ones, or starts them; `counts` says whether the pair is one of
    /// those by which the test is judged.
    fn take(
        &mut self,
        bench: &Bench,
        programs: &Programs<'_>,
        origin: Origin,
        pads: Pads,
        counts: bool,
    ) -> Result<Servers> {
        let at = self.servers.iter().position(|servers| servers.origin == origin);
        let kept = at.map(|at| self.servers.remove(at));
        let mut servers = match kept {
            Some(servers) if servers.test != programs.test || servers.pairs < STRETCH || !counts => servers,
            _ => {
                if self.servers.len() >= KEPT {
                    self.servers.remove(0);
                }
                Servers::start(bench, programs, origin, pads)?
            }
        };
        if servers.test != programs.test {
            servers.test.replace_range(.., programs.test);
            servers.pairs = 0;
        }
        servers.pairs += usize::from(counts);
        Ok(servers)
    }
}

/// How a pair of children ended.
enum Served {
    End(Box<PairEnd>),
    /// The servers were killed with their children.
    Killed(Box<PairEnd>),
    /// A server ended by itself.
    Gone,
}

impl Servers {
    fn start(bench: &Bench, programs: &Programs<'_>, origin: Origin, pads: Pads) -> Result<Self> {
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
        Ok(Self { origin, page, processes, asked: 0, test: String::new(), pairs: 0 })
    }

    fn pair(&mut self, bench: &Bench, programs: &Programs<'_>, task: Task, pads: Pads, limit: Duration) -> Served {
        let page = &self.page;
        lockstep::write_request(page, bench, task, pads);
        page.seed.store(pads.seed.map_or(0, NonZeroU64::get), Relaxed);
        page.set_name(programs.test);
        self.asked += 1;
        page.asked.store(self.asked, Release);
        os::announce_change(&page.asked);
        let Sides { base, head } = &mut self.processes;
        let mut children = [(Side::Base, base), (Side::Head, head)].map(|(side, server)| Forked {
            side,
            page,
            server,
            asked: self.asked,
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
