//! How a process is started that counts: with a library before libc, or in callgrind.

use perfunit_build::is_loadable;
use perfunit_model::Side;
use perfunit_model::error::Result;
use perfunit_runtime::page::{METER_VARIABLE, PRELOAD_VARIABLE};
use perfunit_system::fs;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;

/// What a process counts. One at a time: each changes what the others would count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gauge {
    /// What the allocator is asked for.
    Heap,
    /// The kernel's figures.
    Kernel,
    /// The kernel's figures and the processor's instructions.
    Processor,
    /// System calls, by a tracer.
    SystemCalls,
    /// Instructions, as callgrind simulates them.
    Callgrind,
    /// The same with who executed each of them, and who called whom.
    CallGraph,
}

impl Gauge {
    /// True for what runs in valgrind.
    pub fn is_callgrind(self) -> bool {
        matches!(self, Gauge::Callgrind | Gauge::CallGraph)
    }

    /// Returns whether the gauge sees the test's own process only: the kernel's counters and the tracer include the processes
    /// that the test starts; a preloaded library and callgrind do not.
    pub fn misses_started_processes(self) -> bool {
        self == Gauge::Heap || self.is_callgrind()
    }
}

/// What makes callgrind tell instructions, jumps and callers apart. A function's figures are kept apart by its last three
/// callers: more would cost memory, and without any what is called from two places would be the same for both.
const CALL_GRAPH: [&str; 5] =
    ["--dump-instr=yes", "--dump-line=no", "--collect-jumps=yes", "--demangle=no", "--separate-callers=3"];

/// What the gauges need.
#[derive(Debug, Default)]
pub struct Gauges {
    /// The library that counts for the allocator.
    pub library: Option<PathBuf>,
    /// The executable of valgrind.
    pub valgrind: Option<PathBuf>,
    pub folder: PathBuf,
}

impl Gauges {
    /// With this library, if there is one and the dynamic linker can be told its path.
    pub fn new(library: Option<PathBuf>, valgrind: Option<PathBuf>, folder: PathBuf) -> Self {
        Self { library: library.filter(|path| is_loadable(path)), valgrind, folder }
    }

    /// A command that runs the program under a gauge.
    pub fn command(&self, gauge: Option<Gauge>, side: Side, program: &Path) -> Command {
        let Some(valgrind) = self.valgrind.as_ref().filter(|_| gauge.is_some_and(Gauge::is_callgrind)) else {
            return Command::new(program);
        };
        let mut command = Command::new(valgrind);
        command.args(["--tool=callgrind", "--quiet", "--compress-strings=no", "--compress-pos=no"]);
        if gauge == Some(Gauge::CallGraph) {
            command.args(CALL_GRAPH);
        }
        let mut out = OsString::from("--callgrind-out-file=");
        out.push(self.folder.join(side.to_string()));
        command.arg(out).arg("--").arg(program);
        command
    }

    /// What to set besides: `preloaded` are the libraries that the process loads anyway.
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
            // To name the frames of a panic std reads the executable's symbols, of which the versions have others.
            (Some(Gauge::Callgrind | Gauge::CallGraph), _) => vec![("RUST_BACKTRACE", "0".into())],
            _ => Vec::new(),
        }
    }

    /// What callgrind wrote of a call of a side's process: its parts are numbered from 1, and the call of nothing was read
    /// twice.
    pub fn part(&self, side: Side, call: usize) -> PathBuf {
        self.folder.join(format!("{side}.{}", call + 2))
    }

    /// Makes room for what the next processes write in callgrind.
    pub fn clear(&self) -> Result<()> {
        fs::remove_dir_all(&self.folder)?;
        fs::create_dir_all(&self.folder)
    }
}

/// valgrind, as the user's shell would find it.
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
        assert_eq!(program(Some(Gauge::Processor)), "/d/test");
        assert_eq!(program(None), "/d/test");
    }
}
