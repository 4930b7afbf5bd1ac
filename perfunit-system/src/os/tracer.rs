//! Counts the system calls of a process and its descendants by ptrace.

use super::linux::keep_beside;
use super::ptrace::{self, Event};
use super::{Counted, SystemCalls, Traceable};
use libc::{c_int, c_void};
use nix::errno::Errno;
use nix::sys::ptrace::Options;
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, waitpid};
use nix::unistd::Pid;
use perfunit_model::error::{Error, Result};
use std::collections::{BTreeMap, BTreeSet};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Child;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering::Relaxed};
use std::thread::{Scope, ScopedJoinHandle};
use std::time::Duration;

/// Signal of a stop at a system call, with the flag that distinguishes it from other stops.
const AT_SYSTEM_CALL: c_int = libc::SIGTRAP | 0x80;
/// Interval at which to check whether the time is over.
const LOOK: Duration = Duration::from_millis(1);

/// Request `PTRACE_GET_SYSCALL_INFO`, which `libc` does not define on all systems.
const GET_SYSCALL_INFO: ptrace::Request = 0x420e;
/// Value of [`CallInfo::op`] at the entry of a call.
const ENTRY: u8 = 1;

/// First part of `struct ptrace_syscall_info` at the entry of a call.
#[repr(C)]
#[derive(Default)]
struct CallInfo {
    op: u8,
    padding: [u8; 3],
    architecture: u32,
    instruction: u64,
    stack: u64,
    number: u64,
    arguments: [u64; 6],
}

/// Starts processes and counts the system calls of each and its descendants until all have ended or `is_over`.
///
/// A process selects a section by calling `prctl` with the option `mark`, which the kernel refuses. The second
/// argument is the section number, or 0 for none; a third argument clears the section. Returns inner errors if the system
/// does not allow tracing.
pub fn count_system_calls(
    processes: Vec<Traceable<'_>>,
    mark: i32,
    mut is_over: impl FnMut() -> bool,
) -> Result<Vec<std::result::Result<Counted, Errno>>> {
    // Before any process starts, so that none is left running by an error.
    let lines = processes.iter().map(|_| UnixStream::pair()).collect::<std::io::Result<Vec<_>>>().map_err(failed)?;
    std::thread::scope(|scope| {
        let start = |(process, line)| Started::start(scope, process, line, mark);
        let mut started: Vec<Started<'_>> = processes.into_iter().zip(lines).map(start).collect();
        while started.iter().any(Started::is_running) {
            if is_over() {
                started.iter_mut().filter(|process| process.is_running()).for_each(Started::kill);
            }
            std::thread::sleep(LOOK);
        }
        // All are waited for before an error is returned.
        let ends: Vec<_> = started.into_iter().map(Started::end).collect();
        ends.into_iter().collect()
    })
}

/// A process with its tracer.
struct Started<'scope> {
    /// A separate thread, so that it waits only for events of traced processes.
    tracer: ScopedJoinHandle<'scope, std::result::Result<BTreeMap<u64, SystemCalls>, Errno>>,
    /// The process as it introduced itself; 0 before that.
    introduced: Arc<AtomicI32>,
    spawned: Result<Child>,
    is_killed: bool,
}

impl<'scope> Started<'scope> {
    /// Starts a process that introduces itself to its tracer by a line.
    fn start(
        scope: &'scope Scope<'scope, '_>,
        process: Traceable<'_>,
        (ours, theirs): (UnixStream, UnixStream),
        mark: i32,
    ) -> Self {
        let Traceable { mut command, spawn, spared } = process;
        let line = Arc::new(ours);
        let ours = Arc::clone(&line);
        // SAFETY: only system calls that are safe between fork and exec; no allocation.
        unsafe { command.pre_exec(move || ptrace::introduce(&theirs)) };
        let introduced = Arc::new(AtomicI32::new(0));
        let noted = Arc::clone(&introduced);
        let tracer = scope.spawn(move || {
            let Some(id) = ptrace::receive_introduction(&ours) else { return Ok(BTreeMap::new()) };
            noted.store(id.as_raw(), Relaxed);
            // Each stop wakes this thread, which takes several times as long on another core.
            let _ = keep_beside(id);
            let sections = Tracer::new(id, mark, spared.as_deref())
                .and_then(|tracer| if ptrace::let_go(&ours) { tracer.run() } else { Err(Errno::EPIPE) });
            if sections.is_err() {
                let _ = kill(id, Signal::SIGKILL);
            }
            sections
        });
        let spawned = spawn(&mut command);
        if spawned.is_err() {
            // A process that was not created never introduces itself. One whose exec failed may be stopped for good: std waits
            // for its end, and this consumes a stop that the tracer waits for.
            let _ = line.shutdown(Shutdown::Both);
            if let id @ 1.. = introduced.load(Relaxed) {
                let _ = kill(Pid::from_raw(id), Signal::SIGKILL);
            }
        }
        Self { tracer, introduced, spawned, is_killed: false }
    }

    fn is_running(&self) -> bool {
        !self.tracer.is_finished()
    }

    fn kill(&mut self) {
        if let (false, Ok(child)) = (self.is_killed, &self.spawned) {
            let _ = kill(Pid::from_raw(child.id().cast_signed()), Signal::SIGKILL);
            self.is_killed = true;
        }
    }

    /// Waits for the process. Its tracer has ended.
    fn end(self) -> Result<std::result::Result<Counted, Errno>> {
        let sections = self.tracer.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        if let (Err(_), id @ 1..) = (&self.spawned, self.introduced.load(Relaxed)) {
            let _ = waitpid(Pid::from_raw(id), Some(WaitPidFlag::WNOHANG));
        }
        let status = self.spawned?.wait().map_err(failed)?;
        Ok(sections.map(|sections| Counted { status: (!self.is_killed).then_some(status), sections }))
    }
}

fn failed(error: impl std::fmt::Display) -> Error {
    Error::setup(format!("cannot talk to a traced process: {error}"))
}

struct Tracer<'a> {
    main: Pid,
    mark: i32,
    spared: Option<&'a Path>,
    /// Current section; 0 for none.
    section: u64,
    sections: BTreeMap<u64, SystemCalls>,
    /// Processes that run a spared program.
    sparing: BTreeSet<Pid>,
}

impl<'a> Tracer<'a> {
    fn new(main: Pid, mark: i32, spared: Option<&'a Path>) -> std::result::Result<Self, Errno> {
        nix::sys::ptrace::seize(main, ptrace::OPTIONS.union(Options::PTRACE_O_TRACESYSGOOD))?;
        // A process must stop once before it can be resumed up to a system call.
        nix::sys::ptrace::interrupt(main)?;
        Ok(Self { main, mark, spared, section: 0, sections: BTreeMap::new(), sparing: BTreeSet::new() })
    }

    /// Returns the calls of each section once the first process has ended. The process is left for its parent to wait
    /// for.
    fn run(mut self) -> std::result::Result<BTreeMap<u64, SystemCalls>, Errno> {
        loop {
            let (id, event) = ptrace::wait()?.ok_or(Errno::ECHILD)?;
            if id == self.main && event == Event::Ended {
                // Do not consume the event: std waits for the process itself, and requires that if the exec failed.
                return Ok(self.sections);
            }
            ptrace::take(id, event);
            match event {
                Event::Ended => {
                    self.sparing.remove(&id);
                    continue;
                }
                Event::Stopped => {
                    ptrace::leave_stopped(id);
                    continue;
                }
                Event::Exec => self.note_program(id),
                Event::Signal(AT_SYSTEM_CALL) => self.note_call(id),
                Event::Signal(_) | Event::Made | Event::Other => {}
            }
            let signal = if let Event::Signal(signal) = event { signal } else { 0 };
            ptrace::resume_to_call(id, if signal == AT_SYSTEM_CALL { 0 } else { signal });
        }
    }

    fn note_program(&mut self, id: Pid) {
        let program = std::fs::read_link(format!("/proc/{id}/exe")).unwrap_or_default();
        if self.spared.is_some_and(|folder| program.starts_with(folder)) {
            self.sparing.insert(id);
        } else {
            self.sparing.remove(&id);
        }
    }

    fn note_call(&mut self, id: Pid) {
        let mut info = CallInfo::default();
        // SAFETY: the kernel writes at most the number of bytes passed to it.
        let written =
            unsafe { libc::ptrace(GET_SYSCALL_INFO, id.as_raw(), size_of::<CallInfo>() as *mut c_void, &raw mut info) };
        if written <= 0 || info.op != ENTRY {
            return;
        }
        let [option, section, is_new, ..] = info.arguments;
        if info.number == libc::SYS_prctl.cast_unsigned() && option == u64::from(self.mark.cast_unsigned()) {
            self.section = section;
            if section != 0 {
                let calls = self.sections.entry(section).or_default();
                if is_new != 0 {
                    calls.clear();
                }
            }
        } else if self.section != 0 && !self.sparing.contains(&id) {
            *self.sections.entry(self.section).or_default().entry(info.number).or_default() += 1;
        }
    }
}

/// Returns the name of a system call on this processor.
pub fn system_call_name(number: u64) -> String {
    let known = usize::try_from(number).ok().and_then(syscalls::Sysno::new);
    known.map_or_else(|| format!("system call {number}"), |call| call.name().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt;
    use std::process::Command;

    const MARK: i32 = 0x7065_7266;

    fn traceable(mut command: Command, argument: &str) -> Traceable<'static> {
        command.args(["-c", argument]);
        let spawn = |command: &mut Command| command.spawn().map_err(|error| Error::setup(error.to_string()));
        Traceable { command, spawn: Box::new(spawn), spared: None }
    }

    fn count(script: &str, limit: Duration) -> Counted {
        let started = std::time::Instant::now();
        let process = traceable(Command::new("/bin/sh"), script);
        count_system_calls(vec![process], MARK, || started.elapsed() > limit).unwrap().remove(0).unwrap()
    }

    #[test]
    fn a_program_that_is_not_there_is_an_error_and_another_ends() {
        let of = |program: &str| traceable(Command::new(program), "exit 3");
        let counted = |processes| count_system_calls(processes, MARK, || false);
        assert!(counted(vec![of("/nowhere/program")]).is_err());
        assert!(counted(vec![of("/nowhere/program"), of("/bin/sh")]).is_err());
        assert_eq!(counted(vec![of("/bin/sh"), of("/bin/sh")]).unwrap().len(), 2);
    }

    #[test]
    fn a_process_that_ends_at_once_is_seen() {
        for _ in 0..50 {
            assert_eq!(count("exit 3", Duration::from_mins(1)).status.unwrap().code(), Some(3));
        }
    }

    #[test]
    fn a_process_ends_as_it_would() {
        let status = |script| count(script, Duration::from_mins(1)).status.unwrap();
        assert_eq!(status("(sleep 0.01 & wait); exit 7").code(), Some(7));
        assert_eq!(status("kill -TERM $$").signal(), Some(libc::SIGTERM));
        assert_eq!(count("sleep 60", Duration::from_millis(50)).status, None);
    }

    #[test]
    fn calls_have_names() {
        assert_eq!(system_call_name(libc::SYS_openat.cast_unsigned()), "openat");
        assert_eq!(system_call_name(9_999), "system call 9999");
    }
}
