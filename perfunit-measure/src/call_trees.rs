//! Call trees of measured processes, and the files in which their probes record them.

use perfunit_model::error::{Error, Result};
use perfunit_model::{Side, Sides};
use perfunit_runtime::page::MAX_BATCHES;
use perfunit_runtime::tree::{Figures, Header, Layout, MAGIC, Node};
use perfunit_system::os::SharedMemory;
use std::collections::BTreeMap;
use std::fs::File;
use std::ptr::NonNull;
use std::sync::atomic::Ordering::Relaxed;

/// The key of a tree's root, which no function has.
pub const ROOT: u64 = 0;
/// The key of the node for all threads that a test started.
pub const THREADS: u64 = 1;

/// A function at one position of a process's call tree.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RecordedNode {
    /// The site's key, [`ROOT`] or [`THREADS`].
    pub key: u64,
    /// Index of the caller; the root is its own caller.
    pub parent: usize,
    /// Calls in one run.
    pub calls: f64,
    /// The recursive ones among these calls, direct or indirect.
    pub recursions: f64,
    /// True if calls are estimated, because code of the function was inlined into its caller.
    pub is_inlined: bool,
    /// Self time in one run, ns.
    pub self_cost: f64,
    /// The cost of the probes as far as the process could measure it, ns; `self_cost` excludes it.
    pub probe_cost: f64,
}

impl RecordedNode {
    /// Returns a node without calls and without time.
    pub fn root(key: u64) -> Self {
        Self { key, parent: 0, calls: 0.0, recursions: 0.0, is_inlined: false, self_cost: 0.0, probe_cost: 0.0 }
    }
}

/// A process's call tree per run of the test body, probe cost subtracted. The root is first, callers precede callees.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Recorded {
    pub nodes: Vec<RecordedNode>,
}

impl Recorded {
    /// Adds a tree with the same root.
    pub fn add(&mut self, other: Self) {
        let first = self.nodes.len();
        for (index, node) in other.nodes.into_iter().enumerate() {
            if index == 0 {
                self.nodes[0].self_cost += node.self_cost;
            } else {
                let parent = if node.parent == 0 { 0 } else { first + node.parent - 1 };
                self.nodes.push(RecordedNode { parent, ..node });
            }
        }
    }

    /// Replaces the nodes' keys by those of another version.
    pub fn rename(&mut self, keys: &BTreeMap<u64, u64>) {
        for node in &mut self.nodes {
            node.key = keys.get(&node.key).copied().unwrap_or(node.key);
        }
    }
}

/// The number of nodes that fit a tree. The file is sparse: 128 bytes for each node and 32 in each row cost only if used.
const CAPACITY: u32 = 1 << 17;
/// The number of keys that fit a request.
const MOST_KEYS: u32 = 1 << 16;
/// The share of batches that are kept, the quickest ones: interrupts disturb the others.
const KEPT_BATCHES: f64 = 0.5;

/// The request to the probes of both sides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProbeRequest {
    /// Mode of the sites that are not listed, one of [`perfunit_runtime::tree::mode`].
    pub default_mode: u32,
    /// Mode of the listed sites.
    pub listed_mode: u32,
    pub keys: Vec<u64>,
}

/// A process's tree with the loss of its recording.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ProbedRun {
    /// The tree, per run of the test body.
    pub tree: Recorded,
    /// Calls without room in the tree; their time counts for their callers.
    pub overflow: u64,
}

/// The files of both sides.
#[derive(Debug)]
pub struct CallTrees {
    files: Sides<TreeFile>,
    request: ProbeRequest,
}

impl CallTrees {
    /// Creates files for this request.
    pub fn new(request: ProbeRequest) -> Result<Self> {
        if request.keys.len() > MOST_KEYS as usize {
            return Err(Error::setup(format!("more than {MOST_KEYS} functions to time at once")));
        }
        let layout = Layout { keys: request.keys.len() as u32, capacity: CAPACITY, rows: MAX_BATCHES as u32 };
        Ok(Self { files: Sides { base: TreeFile::new(layout)?, head: TreeFile::new(layout)? }, request })
    }

    /// Empties the files and writes the request into them, before each pair.
    pub fn reset(&self) -> Result<()> {
        Side::BOTH.into_iter().try_for_each(|side| self.files.get(side).reset(&self.request))
    }

    /// Returns the file that a process inherits.
    pub fn file(&self, side: Side) -> &File {
        self.files.get(side).memory.file()
    }

    /// Reads the recorded trees; `None` unless both processes recorded something.
    pub fn read(&self, repetitions: u64) -> Option<Sides<ProbedRun>> {
        Some(Sides { base: self.files.base.read(repetitions)?, head: self.files.head.read(repetitions)? })
    }
}

/// A mapped file.
#[derive(Debug)]
struct TreeFile {
    layout: Layout,
    memory: SharedMemory,
}

impl TreeFile {
    fn new(layout: Layout) -> Result<Self> {
        let memory = SharedMemory::new(c"perfunit-tree", layout.bytes());
        let memory = memory.map_err(|error| Error::setup(format!("cannot create shared memory: {error}")))?;
        Ok(Self { layout, memory })
    }

    fn reset(&self, request: &ProbeRequest) -> Result<()> {
        self.memory.clear().map_err(|error| Error::setup(format!("cannot empty shared memory: {error}")))?;
        let header = self.header();
        header.magic.store(MAGIC, Relaxed);
        header.default_mode.store(request.default_mode, Relaxed);
        header.listed_mode.store(request.listed_mode, Relaxed);
        header.capacity.store(self.layout.capacity, Relaxed);
        header.rows.store(self.layout.rows, Relaxed);
        header.keys.store(self.layout.keys, Relaxed);
        for (index, key) in request.keys.iter().enumerate() {
            // SAFETY: as many keys as there is room for, which `CallTrees::new` checked.
            unsafe { self.memory.address().add(Layout::KEYS).cast::<u64>().add(index).write(*key) };
        }
        Ok(())
    }

    fn header(&self) -> &Header {
        // SAFETY: mapped as long as `self` lives; atomics, valid for every bit pattern.
        unsafe { self.memory.address().cast().as_ref() }
    }

    fn nodes(&self) -> &[Node] {
        let used = self.header().used.load(Relaxed).min(self.layout.capacity) as usize;
        // SAFETY: the layout has room for `capacity` nodes, which are atomics, valid for every bit pattern.
        unsafe { NonNull::slice_from_raw_parts(self.memory.address().add(self.layout.nodes()).cast(), used).as_ref() }
    }

    fn row(&self, index: usize, nodes: usize) -> &[Figures] {
        // SAFETY: as above, for a row that exists.
        unsafe {
            NonNull::slice_from_raw_parts(self.memory.address().add(self.layout.row(index)).cast(), nodes).as_ref()
        }
    }

    fn read(&self, repetitions: u64) -> Option<ProbedRun> {
        let header = self.header();
        let nodes = self.nodes();
        let batches = header.batches.load(Relaxed).min(self.layout.rows) as usize;
        let per_second = f64::from_bits(header.ticks_per_second.load(Relaxed));
        if nodes.len() < 2 || batches == 0 || per_second <= 0.0 {
            return None;
        }
        let rows: Vec<&[Figures]> = (0..batches).map(|index| self.row(index, nodes.len())).collect();
        let kept = quickest(&rows);
        let runs = kept.len() as f64 * repetitions.max(1) as f64;
        let ns = 1e9 / per_second;
        let mean = |index: usize, figure: fn(&Figures) -> u64| {
            kept.iter().map(|row| figure(&row[index]) as f64).sum::<f64>() / runs
        };
        let means =
            |figure: fn(&Figures) -> u64| (0..nodes.len()).map(|index| mean(index, figure)).collect::<Vec<f64>>();
        let mut means = Means {
            calls: means(|row| row.calls.load(Relaxed)),
            recursions: means(|row| row.recursions.load(Relaxed)),
            repeats: means(|row| row.repeats.load(Relaxed)),
            self_ticks: means(|row| row.self_ticks.load(Relaxed)),
            probe_ticks: vec![0.0; nodes.len()],
        };
        means.subtract_probes(nodes, header);
        Some(ProbedRun { tree: means.tree(nodes, ns), overflow: header.overflow.load(Relaxed) })
    }
}

/// Figures of one run of the test body, by node.
struct Means {
    /// Calls that moved the thread to the node.
    calls: Vec<f64>,
    /// The calls among these that came from below the node.
    recursions: Vec<f64>,
    /// Calls that the function made of itself.
    repeats: Vec<f64>,
    self_ticks: Vec<f64>,
    /// The cost of the probes in the node's time.
    probe_ticks: Vec<f64>,
}

/// Returns the rows with the least time.
fn quickest<'a>(rows: &[&'a [Figures]]) -> Vec<&'a [Figures]> {
    let took = |row: &[Figures]| row.iter().map(|figures| figures.self_ticks.load(Relaxed)).sum::<u64>();
    let mut rows: Vec<(u64, &[Figures])> = rows.iter().map(|row| (took(row), *row)).collect();
    rows.sort_by_key(|(took, _)| *took);
    rows.truncate(((rows.len() as f64 * KEPT_BATCHES).ceil() as usize).max(1));
    rows.into_iter().map(|(_, row)| row).collect()
}

impl Means {
    /// Subtracts the probes' own cost, as the process measured it, from the self times.
    fn subtract_probes(&mut self, nodes: &[Node], header: &Header) {
        let [inside, outside, again] =
            [&header.inside, &header.outside, &header.again].map(|ticks| f64::from_bits(ticks.load(Relaxed)));
        for (index, node) in nodes.iter().enumerate().skip(1) {
            if node.key.load(Relaxed) == ROOT {
                continue;
            }
            let caller = node.parent.load(Relaxed) as usize;
            let (calls, recursions) = (self.calls[index], self.recursions[index]);
            self.probe_ticks[index] += calls * inside + self.repeats[index] * again;
            // The caller in a recursive call is below this node.
            self.probe_ticks[index] += recursions * outside;
            self.probe_ticks[caller] += (calls - recursions) * outside;
        }
        for (ticks, probes) in self.self_ticks.iter_mut().zip(&self.probe_ticks) {
            *ticks -= probes;
        }
    }

    /// Places the threads' trees below one root: that of the first thread, which runs the test.
    fn tree(&self, nodes: &[Node], ns: f64) -> Recorded {
        let mut places = vec![0; nodes.len()];
        let mut found: Vec<RecordedNode> = Vec::with_capacity(nodes.len());
        for (index, node) in nodes.iter().enumerate().skip(1) {
            let key = node.key.load(Relaxed);
            let (self_cost, probe_cost) = (self.self_ticks[index] * ns, self.probe_ticks[index] * ns);
            let recorded = match key {
                ROOT if found.is_empty() => RecordedNode { self_cost, probe_cost, ..RecordedNode::root(ROOT) },
                // Outside of probes a thread mostly waits.
                ROOT => RecordedNode::root(THREADS),
                _ => RecordedNode {
                    key,
                    parent: places[node.parent.load(Relaxed) as usize],
                    calls: self.calls[index] + self.repeats[index],
                    recursions: self.recursions[index] + self.repeats[index],
                    self_cost,
                    probe_cost,
                    ..RecordedNode::root(key)
                },
            };
            places[index] = found.len();
            found.push(recorded);
        }
        Recorded { nodes: found }
    }
}
