//! Fork servers: processes of both sides that wait just before their tests, and fork a child for each pair.
//!
//! Starting a program takes several milliseconds: the dynamic linker, page faults, copies of pages. A server does that
//! once for an executable, see `serve/fork_server.rs` of the runtime. The servers of the layouts that a test is
//! measured on are kept for the other tests.
//!
//! Children have the contents of their server's memory at the same place, so a test gets only a few pairs in a row from
//! one server.

use super::gauge::Gauge;
use super::shared_memory::{Identity, SharedPage};
use perfunit_build::TestClock;
use perfunit_model::{Sides, TargetId};
use perfunit_runtime::page::NO_COPY;
use perfunit_system::process::Server;

/// Pairs of servers that are kept: at least those of two executables for each layout of two looks.
const KEPT: Kept = Kept { fewest: 24, most: 64, bytes: 256 << 20 };
/// Pairs that a test gets from the same servers in a row.
const STRETCH: usize = 16;

/// Number of tests that end their servers before no test of the target is forked.
const TESTS_THAT_END_SERVERS: usize = 3;

/// Copies of the pages of a drawn layout. Copies are a larger source of noise than the layout itself, but more than a
/// few make little difference.
const COPIES_OF_DRAWN: u32 = 4;
/// Largest total of executable sizes times copies, bytes; the copied pages are about half of that.
const COPIED_BYTES: u64 = 768 << 20;

/// Limits for the servers or layouts that are kept for other tests: as many as fit, within bounds.
#[derive(Debug, Clone, Copy)]
pub struct Kept {
    pub fewest: usize,
    pub most: usize,
    /// Largest size of all together, bytes; the fewest are kept even if they are larger.
    pub bytes: u64,
}

impl Kept {
    /// Returns the number that is kept if both executables of each have this size, bytes.
    pub fn number(self, size: u64) -> usize {
        let fitting = self.bytes / size.max(1);
        usize::try_from(fitting).unwrap_or(self.most).clamp(self.fewest, self.most)
    }
}

/// The servers that are kept, the most recently used ones at the end.
#[derive(Debug, Default)]
pub struct ForkServers {
    servers: Vec<Servers>,
    /// Tests that ended their servers unexpectedly, with what counted in these.
    ended_by: Vec<(TargetId, Option<Gauge>, String)>,
}

/// Properties that all children of a pair of servers share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Origin {
    pub executables: Sides<Identity>,
    pub clock: TestClock,
    pub gauge: Option<Gauge>,
}

/// The servers of both sides.
#[derive(Debug)]
pub struct Servers {
    origin: Origin,
    pub page: SharedPage,
    pub processes: Sides<Server>,
    /// Size of both executables, bytes.
    size: u64,
    /// Number of the last pair.
    pub asked: u32,
    /// Copies of the pages that the sides do not share; each pair of a test gets another one.
    copies: u32,
    /// The test that was served last, and the number of its pairs that count.
    test: String,
    pairs: usize,
}

impl Servers {
    pub fn new(origin: Origin, page: SharedPage, processes: Sides<Server>, size: u64) -> Self {
        Self { origin, page, processes, size, asked: 0, copies: 0, test: String::new(), pairs: 0 }
    }

    /// Notes the test of the next pair; `counts` is true if the test is judged by this pair.
    pub fn note(&mut self, test: &str, counts: bool) {
        if self.test != test {
            self.test.replace_range(.., test);
            self.pairs = 0;
        }
        self.pairs += usize::from(counts);
    }
}

impl ForkServers {
    /// Returns whether a target's programs can be forked for a test, as far as known.
    pub fn can_fork(&self, target: &TargetId, gauge: Option<Gauge>, test: &str) -> bool {
        let of_target = || self.ended_by.iter().filter(|(ended, by, _)| ended == target && *by == gauge);
        of_target().count() < TESTS_THAT_END_SERVERS && of_target().all(|(_, _, by)| by != test)
    }

    /// Notes that the servers of a target ended unexpectedly, while they served this test.
    pub fn note_ended(&mut self, target: &TargetId, gauge: Option<Gauge>, test: &str) {
        self.ended_by.push((target.clone(), gauge, test.to_owned()));
    }

    /// Takes out servers that may serve a pair of this test; `None` if new ones have to be started.
    pub fn take(&mut self, origin: Origin, test: &str, counts: bool) -> Option<Servers> {
        let at = self.servers.iter().position(|servers| servers.origin == origin)?;
        let servers = self.servers.remove(at);
        (servers.test != test || servers.pairs < STRETCH || !counts).then_some(servers)
    }

    /// Keeps servers for other pairs, and ends the least recently used ones. Of servers that count, which are large in
    /// valgrind, the last ones are kept.
    pub fn keep(&mut self, servers: Servers) {
        let gauge = servers.origin.gauge;
        self.servers.retain(|other| gauge.is_none() || other.origin.gauge != gauge);
        self.servers.push(servers);
        let largest = self.servers.iter().map(|servers| servers.size).max().unwrap_or(0);
        let surplus = self.servers.len().saturating_sub(KEPT.number(largest));
        self.servers.drain(..surplus);
    }

    /// Returns the number of the copy that the next pair gets, if it `counts`. Each pair of a test gets a separate
    /// copy, or none; the pairs of a drawn layout, which make one value, take turns.
    pub fn copy(&self, servers: &mut Servers, counts: bool, is_drawn: bool) -> u32 {
        let pairs = if counts { servers.pairs as u32 - 1 } else { 0 };
        let next = if is_drawn { pairs % COPIES_OF_DRAWN } else { pairs };
        let all = self.servers.iter().chain([&*servers]);
        let copied: u64 = all.map(|servers| servers.size * u64::from(servers.copies)).sum();
        // Processes that count are not timed and copy no pages.
        if servers.origin.gauge.is_none() && next == servers.copies && copied + servers.size <= COPIED_BYTES {
            servers.copies += 1;
        }
        if next < servers.copies { next } else { NO_COPY }
    }

    /// Ends all servers.
    pub fn clear(&mut self) {
        self.servers.clear();
    }
}
