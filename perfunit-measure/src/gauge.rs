//! Start of processes that count: with a library before libc, or in callgrind.

use perfunit_build::is_loadable;
use perfunit_model::Side;
use perfunit_model::error::Result;
use perfunit_runtime::page::{METER_VARIABLE, PRELOAD_VARIABLE};
use perfunit_system::fs;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

/// Kind of figures that a process counts. A process counts only one kind, because each kind changes the figures of
/// the other kinds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gauge {
    /// Requests to the allocator.
    Heap,
    /// The kernel's figures.
    Kernel,
    /// The kernel's figures and the processor's instructions.
    Processor,
    /// System calls, by a tracer.
    SystemCalls,
    /// Instructions, as callgrind simulates them.
    Callgrind,
    /// The same instructions, with the function that executed each of them, and with callers and callees.
    CallGraph,
    /// Instructions of the process and of the processes that it starts, as callgrind simulates them.
    ProgramInstructions,
    /// Call graphs of the process and of the processes that it starts, with their system calls.
    ProgramGraphs,
}

/// The calls of a process that counts, after the first one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallPlan {
    /// Number of calls before the readings, for work that a test does once or twice.
    pub settling: u32,
    /// Number of calls that are read; 0 to read the first call.
    pub later: u64,
}

impl CallPlan {
    /// Returns the number of all calls, with the first one.
    pub fn all(self) -> u64 {
        if self.later == 0 { 1 } else { 1 + u64::from(self.settling) + self.later }
    }
}

impl Gauge {
    /// Returns whether the process runs in valgrind.
    pub fn is_callgrind(self) -> bool {
        matches!(self, Gauge::Callgrind | Gauge::CallGraph) || self.follows_programs()
    }

    /// Returns whether the processes that the test starts run in valgrind, too.
    pub fn follows_programs(self) -> bool {
        matches!(self, Gauge::ProgramInstructions | Gauge::ProgramGraphs)
    }

    /// Returns whether the readings hardly depend on the core and its load, so that both versions can have cores of their own.
    pub fn suits_any_core(self) -> bool {
        self.is_callgrind() || self == Gauge::SystemCalls
    }

    /// Returns whether a child of a fork server can take the readings: the kernel's figures of a child include the copies
    /// of its parent's pages, and a tracer follows a whole process.
    pub fn can_be_forked(self) -> bool {
        matches!(self, Gauge::Heap | Gauge::Callgrind | Gauge::CallGraph)
    }

    /// Returns the calls of a process that reads this many later ones. None of them settle where a call takes long: system
    /// calls hardly depend on such work, and with programs in callgrind the first later call is not read.
    pub fn calls(self, later: u64) -> CallPlan {
        let settling = match self {
            Gauge::SystemCalls | Gauge::ProgramInstructions | Gauge::ProgramGraphs => 0,
            _ => 2,
        };
        CallPlan { settling, later }
    }

    /// Returns whether the gauge sees the test's own process only: the kernel's counters and the tracer include the processes
    /// that the test starts; a preloaded library and callgrind do not.
    pub fn misses_started_processes(self) -> bool {
        matches!(self, Gauge::Heap | Gauge::Callgrind | Gauge::CallGraph)
    }
}

/// Longest run of a process in callgrind whose programs run there, too. They may start others, and valgrind takes most of a
/// second to start one.
pub const LONGEST_WITH_PROGRAMS: Duration = Duration::from_mins(2);

/// Options with which callgrind separates instructions, jumps and callers. A function's figures are separate for its
/// last three callers: more would cost memory, and without callers, two calls from different places could not be
/// distinguished.
const CALL_GRAPH: [&str; 5] =
    ["--dump-instr=yes", "--dump-line=no", "--collect-jumps=yes", "--demangle=no", "--separate-callers=3"];

/// Option with which callgrind counts system calls and the time in them.
const SYSTEM_TIME: &str = "--collect-systime=nsec";
/// Option with which valgrind follows started processes.
const FOLLOW: &str = "--trace-children=yes";

/// Files that the gauges need.
#[derive(Debug, Default)]
pub struct Gauges {
    /// The library that counts allocations.
    pub library: Option<PathBuf>,
    /// The executable of valgrind.
    pub valgrind: Option<PathBuf>,
    pub folder: PathBuf,
}

impl Gauges {
    /// Creates gauges with this library, if there is one and the dynamic linker accepts its path.
    pub fn new(library: Option<PathBuf>, valgrind: Option<PathBuf>, folder: PathBuf) -> Self {
        Self { library: library.filter(|path| is_loadable(path)), valgrind, folder }
    }

    /// Returns a command that runs the program under a gauge.
    pub fn command(&self, gauge: Option<Gauge>, side: Side, program: &Path) -> Command {
        let Some(valgrind) = self.valgrind.as_ref().filter(|_| gauge.is_some_and(Gauge::is_callgrind)) else {
            return Command::new(program);
        };
        let mut command = Command::new(valgrind);
        command.args(["--tool=callgrind", "--quiet", "--compress-strings=no", "--compress-pos=no"]);
        let mut out = OsString::from("--callgrind-out-file=");
        out.push(self.folder.join(side.to_string()));
        if let Some(Gauge::CallGraph | Gauge::ProgramGraphs) = gauge {
            command.args(CALL_GRAPH);
        }
        if gauge == Some(Gauge::ProgramGraphs) {
            command.arg(SYSTEM_TIME);
        }
        if gauge.is_some_and(Gauge::follows_programs) {
            command.arg(FOLLOW);
            // valgrind replaces `%p` by the process ID.
            out.push(".%p");
        }
        command.arg(out).arg("--").arg(program);
        command
    }

    /// Returns further environment variables to set: `preloaded` are the libraries that the process loads anyway.
    pub fn variables(&self, gauge: Option<Gauge>, preloaded: Option<&OsStr>) -> Vec<(&'static str, OsString)> {
        match (gauge, &self.library) {
            (Some(Gauge::Heap), Some(library)) => {
                let mut libraries = library.clone().into_os_string();
                if let Some(others) = preloaded.filter(|others| !others.is_empty()) {
                    libraries.push(":");
                    libraries.push(others);
                }
                vec![(METER_VARIABLE, "0".repeat(16).into()), (PRELOAD_VARIABLE, libraries)]
            }
            // std reads the executable's symbols to name the frames of a panic, and the versions have different
            // symbols.
            (Some(gauge), _) if gauge.is_callgrind() => vec![("RUST_BACKTRACE", "0".into())],
            _ => Vec::new(),
        }
    }

    /// Returns the file that callgrind wrote for a call of a side's process: parts are numbered from 1, and the empty
    /// call was read twice.
    fn part(&self, side: Side, call: usize) -> PathBuf {
        self.folder.join(format!("{side}.{}", call + 2))
    }

    /// Returns the files that callgrind wrote for these calls of a side's process.
    pub fn files(&self, side: Side, gauge: Gauge, calls: Range<usize>) -> std::io::Result<Vec<CallFiles>> {
        if !gauge.follows_programs() {
            let alone = |call| CallFiles { test: self.part(side, call), started: Vec::new() };
            return Ok(calls.map(alone).collect());
        }
        let graphs = self.graphs(side)?;
        let of_call = |call| graphs.of_call(call).ok_or_else(|| std::io::ErrorKind::NotFound.into());
        calls.map(of_call).collect()
    }

    /// Returns the files that callgrind wrote for a side's processes where these follow programs, with the time of each.
    fn graphs(&self, side: Side) -> std::io::Result<Graphs> {
        let mut graphs = Graphs::default();
        let (mut test, mut ended) = (String::new(), Vec::new());
        for entry in std::fs::read_dir(&self.folder)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let numbers: Vec<&str> = name.split('.').collect();
            let file = (entry.metadata()?.modified()?, entry.path());
            match numbers[..] {
                [of, process, part] if of == side.to_string() => {
                    process.clone_into(&mut test);
                    part.parse().ok().and_then(|part| graphs.parts.insert(part, file));
                }
                [of, process] if of == side.to_string() => ended.push((process.to_owned(), file)),
                _ => {}
            }
        }
        // The process that runs the test may end within a tick of the clock after its last call.
        ended.retain(|(process, _)| *process != test);
        graphs.ended = ended.into_iter().map(|(_, file)| file).collect();
        Ok(graphs)
    }

    /// Empties the folder for the output of the next processes in callgrind.
    pub fn clear(&self) -> Result<()> {
        fs::remove_dir_all(&self.folder)?;
        fs::create_dir_all(&self.folder)
    }
}

/// A file with the time at which it was written.
type Written = (SystemTime, PathBuf);

/// Files with the counts of a call.
#[derive(Debug, PartialEq, Eq)]
pub struct CallFiles {
    /// That of the process that runs the test.
    pub test: PathBuf,
    /// Those of the processes that ended during the call.
    pub started: Vec<PathBuf>,
}

/// Files with the counts of a side's processes.
#[derive(Debug, Default)]
struct Graphs {
    /// Parts of the process that runs the test, by number.
    parts: BTreeMap<usize, Written>,
    /// Files that processes wrote at their end.
    ended: Vec<Written>,
}

impl Graphs {
    /// Returns the files of a call: the part before its own one ends when the call begins.
    fn of_call(&self, call: usize) -> Option<CallFiles> {
        let ((began, _), (end, test)) = (self.parts.get(&(call + 1))?, self.parts.get(&(call + 2))?);
        let of_call = self.ended.iter().filter(|(at, _)| began < at && at <= end);
        Some(CallFiles { test: test.clone(), started: of_call.map(|(_, path)| path.clone()).collect() })
    }
}

/// Finds valgrind on `PATH`, as the user's shell would.
pub fn find_valgrind() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join("valgrind")).find(|program| program.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gauges() -> Gauges {
        Gauges::new(Some("/a/meter.so".into()), Some("/b/valgrind".into()), "/c".into())
    }

    #[track_caller]
    fn check(gauge: Option<Gauge>, preloaded: Option<&str>, expected: &[&str]) {
        let variables = gauges().variables(gauge, preloaded.map(OsStr::new));
        let variables: Vec<String> =
            variables.into_iter().map(|(name, value)| format!("{name}={}", value.to_string_lossy())).collect();
        assert_eq!(variables, expected);
    }

    #[test]
    fn only_what_counts_for_the_allocator_loads_the_library() {
        check(None, Some("/s.so"), &[]);
        check(Some(Gauge::Kernel), Some("/s.so"), &[]);
        check(Some(Gauge::Heap), None, &["PERFUNIT_METER=0000000000000000", "LD_PRELOAD=/a/meter.so"]);
        let both = ["PERFUNIT_METER=0000000000000000", "LD_PRELOAD=/a/meter.so:/s.so:/t.so"];
        check(Some(Gauge::Heap), Some("/s.so:/t.so"), &both);
    }

    #[test]
    fn only_callgrind_stands_before_the_program() {
        let program = |gauge| gauges().command(gauge, Side::Base, Path::new("/d/test")).get_program().to_owned();
        assert_eq!(program(Some(Gauge::Callgrind)), "/b/valgrind");
        assert_eq!(program(Some(Gauge::CallGraph)), "/b/valgrind");
        assert_eq!(program(Some(Gauge::ProgramGraphs)), "/b/valgrind");
        assert_eq!(program(Some(Gauge::Processor)), "/d/test");
        assert_eq!(program(None), "/d/test");
    }

    #[test]
    fn the_end_of_the_test_itself_belongs_to_no_call() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["base.10.2", "base.10.3", "base.11", "base.10", "head.12"] {
            std::fs::write(folder.path().join(name), "").unwrap();
        }
        let graphs = Gauges::new(None, None, folder.path().to_owned()).graphs(Side::Base).unwrap();
        let ended: Vec<&Path> = graphs.ended.iter().map(|(_, path)| path.as_path()).collect();
        assert_eq!(ended, [folder.path().join("base.11")]);
        assert_eq!(graphs.parts[&2].1, folder.path().join("base.10.2"));
    }

    #[test]
    fn processes_belong_to_the_call_in_which_they_ended() {
        let at = |ms: u64, name: &str| (SystemTime::UNIX_EPOCH + std::time::Duration::from_millis(ms), name.into());
        let graphs = Graphs {
            parts: BTreeMap::from([(3, at(100, "first")), (4, at(200, "second")), (5, at(300, "third"))]),
            ended: vec![at(100, "a"), at(150, "b"), at(200, "c"), at(310, "d")],
        };
        let files = |test: &str, started: &[&str]| {
            Some(CallFiles { test: test.into(), started: started.iter().map(PathBuf::from).collect() })
        };
        assert_eq!(graphs.of_call(2), files("second", &["b", "c"]));
        assert_eq!(graphs.of_call(3), files("third", &[]));
        assert_eq!(graphs.of_call(4), None);
    }
}
