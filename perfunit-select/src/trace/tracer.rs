//! The thread that traces one test, and the breakpoints of its run.
//!
//! A separate thread has three advantages: the kernel reports to it only the events of its own tracees; the kernel
//! kills all tracees, daemons included, when the thread ends; and the main thread, which must be the one that starts
//! processes, can wait with a time limit.
//!
//! Breakpoints are written into every process that begins to run the test executable or a program that differs, and
//! recognized when hit. The kernel is asked, each time it matters, what a thread runs and at which address.

use super::failure::TraceFailure;
use super::opens::Opens;
use super::places::{FileId, Places};
use super::programs::{ProgramFile, Programs};
use super::traced_run::Entered;
use nix::errno::Errno;
use nix::unistd::Pid;
use perfunit_system::os::ptrace::{self, Event};
use perfunit_system::os::unix::fs::MetadataExt;
use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The way the tracing of a test ended.
#[derive(Debug, PartialEq, Eq)]
pub enum End {
    /// The process ended before it became the test executable.
    NotStarted,
    /// The system does not allow tracing it.
    Refused(Errno),
    /// The test reached a breakpoint.
    Hit(Entered),
    /// The test ended without a hit, and all of its code was watched. Its parent learns how it ended.
    Over,
    /// The test ended without a hit, but might have executed the functions where we could not see it.
    Unseen(TraceFailure),
}

/// Traces the process that introduces itself at the other end of `line`. Leaves the exit status for its parent.
pub fn follow(line: UnixStream, mut watch: Watch) -> End {
    let Some(test) = ptrace::receive_introduction(&line) else { return End::NotStarted };
    if let Err(errno) = nix::sys::ptrace::seize(test, ptrace::OPTIONS) {
        return End::Refused(errno);
    }
    if !ptrace::let_go(&line) {
        return End::NotStarted;
    }
    drop(line);
    let mut started = false;
    let mut unseen = None;
    let mut threads = BTreeSet::new();
    loop {
        let (id, event) = match ptrace::wait() {
            Ok(Some(happened)) => happened,
            Ok(None) => return End::Unseen(TraceFailure::Lost),
            Err(errno) => return End::Unseen(TraceFailure::Wait(errno as i32)),
        };
        if id == test && event == Event::Ended {
            // Not reaped: std waits for it itself, and panics if it cannot after a failed exec.
            if !started {
                return End::NotStarted;
            }
            threads.remove(&test);
            return unseen.or_else(|| watch.after_end(&threads)).map_or(End::Over, End::Unseen);
        }
        ptrace::take(id, event);
        if event == Event::Ended {
            threads.remove(&id);
            continue;
        }
        threads.insert(id);
        match event {
            Event::Signal(libc::SIGTRAP) => match watch.hit(id) {
                Some(entered) => return End::Hit(entered),
                None => ptrace::resume(id, libc::SIGTRAP),
            },
            Event::Signal(signal) => ptrace::resume(id, signal),
            Event::Stopped => ptrace::leave_stopped(id),
            Event::Exec => {
                let seen = watch.arm(id, !started);
                started = true;
                unseen = unseen.or(seen.err());
                ptrace::resume(id, 0);
            }
            Event::Made => {
                // The test may end before the first stop of its new process or thread is reported.
                threads.extend(ptrace::made(id));
                ptrace::resume(id, 0);
            }
            Event::Other | Event::Ended => ptrace::resume(id, 0),
        }
    }
}

/// Key of the first instruction's address in the auxiliary vector.
const AT_ENTRY: u64 = libc::AT_ENTRY;
/// Longest wait for the end of processes that the test killed without waiting for them.
const ENDING: Duration = Duration::from_millis(200);

/// The program that a process executes.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Executes {
    TestExecutable,
    /// A program that differs, by its position in the list.
    Changed {
        position: usize,
        is_copy: bool,
    },
    /// A program that is the same in both versions.
    Same,
    /// A program that may differ.
    Unknown(TraceFailure),
}

/// An executed file and its state: a new file with the same inode number has another change time.
type Version = (FileId, u64, (i64, i64));

/// The executables that are watched in a run, with the addresses of their breakpoints as linked.
#[derive(Debug)]
pub struct Watch {
    executable: ProgramFile,
    folder: Option<PathBuf>,
    entry: u64,
    of_test: BTreeMap<u64, String>,
    of_all_tests: Result<BTreeMap<u64, String>, TraceFailure>,
    programs: Arc<Programs>,
    opens: Opens,
    known: BTreeMap<Version, Executes>,
}

impl Watch {
    /// Watches functions of a test executable, and the programs that its tests may start.
    pub fn new(
        executable: &Path,
        places: &Places,
        of_test: BTreeMap<u64, String>,
        of_all_tests: Option<&BTreeSet<String>>,
        programs: &Arc<Programs>,
    ) -> perfunit_model::error::Result<Result<Self, TraceFailure>> {
        let opens = match Opens::watch(&programs.changed) {
            Ok(opens) => opens,
            Err(why) => return Ok(Err(why)),
        };
        let of_all_tests = match of_all_tests {
            Some(symbols) => places.find(symbols),
            None => Err(TraceFailure::Starts(executable.to_owned())),
        };
        Ok(Ok(Self {
            executable: ProgramFile::at(executable)?,
            folder: places.folder.clone(),
            entry: places.entry,
            of_test,
            of_all_tests,
            programs: Arc::clone(programs),
            opens,
            known: BTreeMap::new(),
        }))
    }

    /// Sets the breakpoints after exec, or returns why later events are not seen; the first program must be the test
    /// executable.
    fn arm(&mut self, id: Pid, first: bool) -> Result<(), TraceFailure> {
        let executes = self.executes(id).map_err(|error| process_failure("see the program", &error))?;
        if let Executes::Changed { position, is_copy: false } = executes {
            self.opens.note_execution(position);
        }
        let (addresses, entry) = match &executes {
            Executes::TestExecutable if first => (&self.of_test, self.entry),
            _ if first => return Err(TraceFailure::OtherProgram),
            Executes::TestExecutable => (self.of_all_tests.as_ref().map_err(Clone::clone)?, self.entry),
            Executes::Changed { position, .. } => {
                let program = &self.programs.changed[*position];
                (program.watched.as_ref().map_err(Clone::clone)?, program.entry)
            }
            Executes::Same => return Ok(()),
            Executes::Unknown(why) => return Err(why.clone()),
        };
        if addresses.is_empty() {
            return Ok(());
        }
        let shift = shift(id, entry).map_err(|error| process_failure("find the addresses", &error))?;
        for address in addresses.keys() {
            ptrace::plant(id, address.wrapping_add(shift))
                .map_err(|error| process_failure("change the code", &error))?;
        }
        Ok(())
    }

    /// Returns what a process executes.
    fn executes(&mut self, id: Pid) -> std::io::Result<Executes> {
        let link = PathBuf::from(format!("/proc/{id}/exe"));
        let data = std::fs::metadata(&link)?;
        let version = (FileId::from(&data), data.len(), (data.ctime(), data.ctime_nsec()));
        if let Some(known) = self.known.get(&version) {
            return Ok(known.clone());
        }
        let executes = self.classify(version, &link, std::fs::read_link(&link)?);
        self.known.insert(version, executes.clone());
        Ok(executes)
    }

    fn classify(&self, (file, length, changed_at): Version, link: &Path, path: PathBuf) -> Executes {
        if file == self.executable.id {
            return Executes::TestExecutable;
        }
        let Programs { changed, same, built, since } = &*self.programs;
        let is_same = |known: &ProgramFile| known.is_same(file, length, link);
        if let Some(position) = changed.iter().position(|program| program.file.id == file) {
            return Executes::Changed { position, is_copy: false };
        }
        if same.iter().any(|program| program.id == file) {
            return Executes::Same;
        }
        // Copies.
        if let Some(position) = changed.iter().position(|program| is_same(&program.file)) {
            return Executes::Changed { position, is_copy: true };
        }
        if is_same(&self.executable) {
            return Executes::TestExecutable;
        }
        if same.iter().any(is_same) {
            return Executes::Same;
        }
        if self.folder.iter().chain(built).any(|folder| path.starts_with(folder)) {
            return Executes::Unknown(TraceFailure::Starts(path));
        }
        // If no program differs, nothing that tests make of programs differs either.
        if !changed.is_empty() && changed_at > *since {
            return Executes::Unknown(TraceFailure::StartsMade(path));
        }
        Executes::Same
    }

    /// Returns the function whose breakpoint stopped a thread that is about to get SIGTRAP; `None` for other SIGTRAPs.
    fn hit(&mut self, id: Pid) -> Option<Entered> {
        let address = ptrace::trap_address(id)?;
        // After exec another program may have code at the same address.
        let executes = self.executes(id).ok()?;
        let in_file = |entry: u64| Some(address.wrapping_sub(shift(id, entry).ok()?));
        match executes {
            Executes::TestExecutable => {
                let address = in_file(self.entry)?;
                let symbol = self.of_test.get(&address).or_else(|| self.of_all_tests.as_ref().ok()?.get(&address))?;
                Some(Entered { symbol: symbol.clone(), program: None })
            }
            Executes::Changed { position, .. } => {
                let program = &self.programs.changed[position];
                let symbol = program.watched.as_ref().ok()?.get(&in_file(program.entry)?)?;
                Some(Entered { symbol: symbol.clone(), program: Some(program.name.clone()) })
            }
            Executes::Same | Executes::Unknown(_) => None,
        }
    }

    /// Returns why a run without a hit gives no result; `None` if it gives one. `threads` are those that have not
    /// ended.
    fn after_end(&mut self, threads: &BTreeSet<Pid>) -> Option<TraceFailure> {
        if self.programs.is_unchanged() {
            return None;
        }
        let deadline = Instant::now() + ENDING;
        while threads.iter().any(|thread| is_running(*thread)) {
            if Instant::now() >= deadline {
                return Some(TraceFailure::LeavesProcesses);
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        let position = self.opens.first_unexplained()?;
        Some(TraceFailure::Opened(self.programs.changed[position].name.clone()))
    }
}

fn process_failure(what: &'static str, error: &dyn std::fmt::Display) -> TraceFailure {
    TraceFailure::Process { what, why: error.to_string() }
}

/// Returns true if a thread has neither ended nor been killed.
fn is_running(thread: Pid) -> bool {
    let state = std::fs::read_to_string(format!("/proc/{thread}/stat")).unwrap_or_default();
    let state = state.rsplit_once(") ").and_then(|(_, state)| state.chars().next());
    state.is_some_and(|state| !matches!(state, 'Z' | 'X'))
}

/// Returns the distance between the address where a program is loaded and the address where it was linked: zero, or any
/// number for position-independent executables.
fn shift(id: Pid, entry: u64) -> std::io::Result<u64> {
    let vector = std::fs::read(format!("/proc/{id}/auxv"))?;
    let word = |bytes: &[u8]| bytes.try_into().map_or(0, u64::from_ne_bytes);
    let loaded = vector.chunks_exact(16).find(|pair| word(&pair[..8]) == AT_ENTRY).map(|pair| word(&pair[8..]));
    loaded.map(|loaded| loaded.wrapping_sub(entry)).ok_or_else(|| std::io::ErrorKind::NotFound.into())
}
