//! Counts the system calls of a process and of those that it starts, by ptrace.

use libc::{c_int, c_long, c_void};
use nix::errno::Errno;
use nix::sys::ptrace::{self, Options};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use perfunit_model::error::{Error, Result};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus};
use std::time::Duration;

/// Threads and processes are followed from their start, and killed when the thread ends that traces them.
const OPTIONS: Options = Options::PTRACE_O_TRACECLONE
    .union(Options::PTRACE_O_TRACEFORK)
    .union(Options::PTRACE_O_TRACEVFORK)
    .union(Options::PTRACE_O_TRACEEXEC)
    .union(Options::PTRACE_O_TRACESYSGOOD)
    .union(Options::PTRACE_O_EXITKILL);
/// What [`OPTIONS`] adds to the signal of a stop at a system call.
const AT_SYSTEM_CALL: c_int = libc::SIGTRAP | 0x80;
/// Pause between two looks whether the time is over.
const LOOK: Duration = Duration::from_millis(1);

/// The request `PTRACE_GET_SYSCALL_INFO`, for which `libc` has no name on all systems.
const GET_SYSCALL_INFO: u32 = 0x420e;
/// In [`CallInfo::op`]: the call has not been made yet.
const ENTRY: u8 = 1;

/// The beginning of `struct ptrace_syscall_info` at the entry of a call.
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

/// System calls by their numbers.
pub type SystemCalls = BTreeMap<u64, u64>;

/// What a traced process did.
#[derive(Debug)]
pub struct Counted {
    /// `None` if the process was killed because its time was over.
    pub status: Option<ExitStatus>,
    /// The calls of each section, by its number.
    pub sections: BTreeMap<u64, SystemCalls>,
}

/// Starts a process by `spawn` and counts the system calls of it and of its descendants until it ends or `is_over`.
///
/// Calls count in the section of the last call of `prctl` with the option `mark`, which the kernel refuses: its second
/// argument is the number of the section, or 0 for none; with a third argument the section begins anew. Programs in the
/// folder `spared` do not count. The error says why the system does not let the tool trace.
pub fn count_system_calls(
    command: &mut Command,
    spawn: impl FnOnce(&mut Command) -> Result<Child>,
    mark: i32,
    spared: &Path,
    mut is_over: impl FnMut() -> bool,
) -> Result<std::result::Result<Counted, Errno>> {
    let failed = |error| Error::setup(format!("cannot talk to a traced process: {error}"));
    let (ours, theirs) = UnixStream::pair().map_err(failed)?;
    let line = ours.try_clone().map_err(failed)?;
    // SAFETY: only system calls that are safe between fork and exec; no allocation.
    unsafe { command.pre_exec(move || wait_for_tracer(&theirs)) };
    std::thread::scope(|scope| {
        // Events of the tracer's own processes are all that a thread of its own waits for.
        let tracer = scope.spawn(move || {
            let Some(id) = introduced(&ours) else { return Ok(BTreeMap::new()) };
            let sections = Tracer::new(id, mark, spared).and_then(|tracer| {
                (&ours).write_all(&[1]).map_err(|_| Errno::EPIPE)?;
                tracer.run()
            });
            if sections.is_err() {
                let _ = kill(id, Signal::SIGKILL);
            }
            sections
        });
        let spawned = spawn(command);
        if spawned.is_err() {
            // A process that was not made does not introduce itself.
            let _ = line.shutdown(Shutdown::Both);
        }
        let mut is_killed = false;
        while !tracer.is_finished() {
            if !is_killed
                && is_over()
                && let Ok(child) = &spawned
            {
                let _ = kill(Pid::from_raw(child.id().cast_signed()), Signal::SIGKILL);
                is_killed = true;
            }
            std::thread::sleep(LOOK);
        }
        let sections = tracer.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        let status = spawned?.wait().map_err(failed)?;
        Ok(sections.map(|sections| Counted { status: (!is_killed).then_some(status), sections }))
    })
}

/// In the new process, before exec: waits until it is traced. Allocates nothing.
fn wait_for_tracer(mut line: &UnixStream) -> std::io::Result<()> {
    line.write_all(&std::process::id().to_ne_bytes())?;
    line.read_exact(&mut [0])
}

/// Returns the process that introduces itself at the other end of the line; `None` if none is started.
fn introduced(mut line: &UnixStream) -> Option<Pid> {
    let mut id = [0; 4];
    line.read_exact(&mut id).ok()?;
    Some(Pid::from_raw(i32::from_ne_bytes(id)))
}

struct Tracer<'a> {
    main: Pid,
    mark: i32,
    spared: &'a Path,
    /// The current section; 0 for none.
    section: u64,
    sections: BTreeMap<u64, SystemCalls>,
    /// Processes that run a spared program.
    sparing: BTreeSet<Pid>,
}

impl<'a> Tracer<'a> {
    fn new(main: Pid, mark: i32, spared: &'a Path) -> std::result::Result<Self, Errno> {
        ptrace::seize(main, OPTIONS)?;
        // A process has to stop once before it can be told to stop at each call.
        ptrace::interrupt(main)?;
        Ok(Self { main, mark, spared, section: 0, sections: BTreeMap::new(), sparing: BTreeSet::new() })
    }

    /// Returns the calls of each section once the first process has ended, which is its parent's to wait for.
    fn run(mut self) -> std::result::Result<BTreeMap<u64, SystemCalls>, Errno> {
        while let Some((id, status)) = next_event(self.main)? {
            if !libc::WIFSTOPPED(status) {
                self.sparing.remove(&id);
                continue;
            }
            let (signal, event) = (libc::WSTOPSIG(status), status >> 16);
            match event {
                libc::PTRACE_EVENT_STOP if signal != libc::SIGTRAP => {
                    // All threads stop, as after SIGSTOP; SIGCONT has to wake them.
                    request(libc::PTRACE_LISTEN, id, 0);
                    continue;
                }
                libc::PTRACE_EVENT_EXEC => self.note_program(id),
                0 if signal == AT_SYSTEM_CALL => self.note_call(id),
                _ => {}
            }
            let delivered = if event == 0 && signal != AT_SYSTEM_CALL { signal } else { 0 };
            request(libc::PTRACE_SYSCALL, id, delivered);
        }
        Ok(self.sections)
    }

    fn note_program(&mut self, id: Pid) {
        let program = std::fs::read_link(format!("/proc/{id}/exe")).unwrap_or_default();
        if program.starts_with(self.spared) {
            self.sparing.insert(id);
        } else {
            self.sparing.remove(&id);
        }
    }

    fn note_call(&mut self, id: Pid) {
        let mut info = CallInfo::default();
        // SAFETY: the kernel writes at most as many bytes as it is told that there are.
        let written = unsafe {
            libc::ptrace(GET_SYSCALL_INFO as _, id.as_raw(), size_of::<CallInfo>() as *mut c_void, &raw mut info)
        };
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

/// Waits for the next event of a traced thread; `None` once `main` has ended, of which nothing is taken: std waits for it
/// itself, and insists on it if the exec failed. Children of other threads are not looked at.
fn next_event(main: Pid) -> std::result::Result<Option<(Pid, c_int)>, Errno> {
    const TRACED: c_int = libc::__WALL | libc::__WNOTHREAD;
    loop {
        // SAFETY: all zeros are a valid value, and the kernel fills it in.
        let mut seen: libc::siginfo_t = unsafe { std::mem::zeroed() };
        let kinds = TRACED | libc::WEXITED | libc::WSTOPPED | libc::WNOWAIT;
        // SAFETY: the value lives through the call.
        match Errno::result(unsafe { libc::waitid(libc::P_ALL, 0, &raw mut seen, kinds) }) {
            Ok(_) => {}
            Err(Errno::EINTR) => continue,
            Err(errno) => return Err(errno),
        }
        // SAFETY: of a child's event the process is set.
        let id = unsafe { seen.si_pid() };
        let has_ended = matches!(seen.si_code, libc::CLD_EXITED | libc::CLD_KILLED | libc::CLD_DUMPED);
        if has_ended && id == main.as_raw() {
            return Ok(None);
        }
        let mut status = 0;
        // SAFETY: the status lives through the call.
        match Errno::result(unsafe { libc::waitpid(id, &raw mut status, TRACED) }) {
            Ok(_) => return Ok(Some((Pid::from_raw(id), status))),
            Err(Errno::EINTR) => {}
            Err(errno) => return Err(errno),
        }
    }
}

/// Lets a stopped thread go on, with the signal that it gets (0: none). Fails only if it was killed meanwhile.
fn request(request: u32, id: Pid, signal: c_int) {
    let signal = std::ptr::without_provenance_mut::<c_void>(signal.cast_unsigned() as usize);
    // SAFETY: reads and writes no memory of ours.
    let _: c_long = unsafe { libc::ptrace(request as _, id.as_raw(), std::ptr::null_mut::<c_void>(), signal) };
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

    const MARK: i32 = 0x7065_7266;

    fn count(script: &str, limit: Duration) -> Counted {
        let started = std::time::Instant::now();
        let mut command = Command::new("/bin/sh");
        let spawn = |command: &mut Command| command.spawn().map_err(|error| Error::setup(error.to_string()));
        let is_over = || started.elapsed() > limit;
        count_system_calls(command.args(["-c", script]), spawn, MARK, Path::new("/nowhere"), is_over).unwrap().unwrap()
    }

    #[test]
    fn a_program_that_is_not_there_is_an_error() {
        let spawn = |command: &mut Command| command.spawn().map_err(|error| Error::setup(error.to_string()));
        let mut command = Command::new("/nowhere/program");
        assert!(count_system_calls(&mut command, spawn, MARK, Path::new("/nowhere"), || false).is_err());
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
