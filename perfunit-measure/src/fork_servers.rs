//! Fork servers: processes of both sides that stand just before their tests, and fork a child for each pair.
//!
//! Starting a program takes several milliseconds: the dynamic linker, page faults, copies of pages. A server does that once
//! for an executable, see `serve/fork_server.rs` of the runtime. The servers of the layouts that a test is measured on stay
//! for the other tests.
//!
//! What a server has in memory its children have at the same place, so a test gets a few pairs from one server at a stretch.

use super::shared_memory::{Identity, SharedPage};
use perfunit_build::TestClock;
use perfunit_model::{Sides, TargetId};
use perfunit_system::process::Server;
use std::collections::BTreeSet;

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
pub struct Origin {
    pub executables: Sides<Identity>,
    pub clock: TestClock,
}

/// The servers of both sides.
#[derive(Debug)]
pub struct Servers {
    origin: Origin,
    pub page: SharedPage,
    pub processes: Sides<Server>,
    /// Number of the last pair.
    pub asked: u32,
    /// The test that was served last, and how many pairs of it that count.
    test: String,
    pairs: usize,
}

impl Servers {
    pub fn new(origin: Origin, page: SharedPage, processes: Sides<Server>) -> Self {
        Self { origin, page, processes, asked: 0, test: String::new(), pairs: 0 }
    }

    /// Notes whose pair is next; `counts` says whether the pair is one of those by which the test is judged.
    pub fn note(&mut self, test: &str, counts: bool) {
        if self.test != test {
            self.test.replace_range(.., test);
            self.pairs = 0;
        }
        self.pairs += usize::from(counts);
    }
}

impl ForkServers {
    /// Tells whether a target's programs can be forked, as far as is known.
    pub fn can_fork(&self, target: &TargetId) -> bool {
        !self.unable.contains(target)
    }

    /// Notes that a target's programs cannot be forked.
    pub fn note_unable(&mut self, target: &TargetId) {
        self.unable.insert(target.clone());
    }

    /// Takes servers out that may serve a pair of this test; `None` if new ones have to be started.
    pub fn take(&mut self, origin: Origin, test: &str, counts: bool) -> Option<Servers> {
        let at = self.servers.iter().position(|servers| servers.origin == origin)?;
        let servers = self.servers.remove(at);
        (servers.test != test || servers.pairs < STRETCH || !counts).then_some(servers)
    }

    /// Keeps servers for other pairs, and ends those that were not used for longest.
    pub fn keep(&mut self, servers: Servers) {
        self.servers.push(servers);
        let surplus = self.servers.len().saturating_sub(KEPT);
        self.servers.drain(..surplus);
    }

    /// Ends all servers.
    pub fn clear(&mut self) {
        self.servers.clear();
    }
}
