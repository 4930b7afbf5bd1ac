//! Tracing functions that `nix` lacks or that depend on the processor.

use nix::errno::Errno;
use nix::sys::ptrace::{self, Options};
use nix::unistd::Pid;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;

/// Options that follow every thread and child, report every exec, and end traced processes together with the tracing
/// thread.
pub const OPTIONS: Options = Options::PTRACE_O_TRACECLONE
    .union(Options::PTRACE_O_TRACEFORK)
    .union(Options::PTRACE_O_TRACEVFORK)
    .union(Options::PTRACE_O_TRACEEXEC)
    .union(Options::PTRACE_O_EXITKILL);

/// Type of a request number, as declared by libc.
#[cfg(target_env = "musl")]
pub type Request = libc::c_int;
/// Type of a request number, as declared by libc.
#[cfg(not(target_env = "musl"))]
pub type Request = libc::c_uint;

/// Wait flags. Excludes children of other threads, such as the keeper; `__WALL` includes threads of a test.
const TRACED: i32 = libc::__WALL | libc::__WNOTHREAD;

/// Breakpoint instruction, `int3`.
#[cfg(target_arch = "x86_64")]
const TRAP: [u8; 1] = [0xcc];
/// Breakpoint instruction, `brk #0`.
#[cfg(not(target_arch = "x86_64"))]
const TRAP: [u8; 4] = 0xd420_0000_u32.to_le_bytes();

/// Event of a traced thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    Ended,
    /// The thread received this signal and waits for our decision.
    Signal(i32),
    /// The threads of the process stop, as after SIGSTOP.
    Stopped,
    /// The process executed another program.
    Exec,
    /// The thread created a thread or process.
    Made,
    /// The thread is new, or continues after a stop.
    Other,
}

/// Runs in a new process before exec: waits until the process at the other end of `line` traces it. Allocates nothing.
pub fn introduce(mut line: &UnixStream) -> std::io::Result<()> {
    line.write_all(&std::process::id().to_ne_bytes())?;
    line.read_exact(&mut [0])
}

/// Returns the process that [introduces](introduce) itself; `None` if none was started.
pub fn receive_introduction(mut line: &UnixStream) -> Option<Pid> {
    let mut id = [0; 4];
    line.read_exact(&mut id).ok()?;
    Some(Pid::from_raw(i32::from_ne_bytes(id)))
}

/// Lets the introduced process continue to exec. Returns false if it is gone.
pub fn let_go(mut line: &UnixStream) -> bool {
    line.write_all(&[1]).is_ok()
}

/// Waits for an event of a traced thread; `None` if no thread is left. Does not consume the event: see [`take`].
pub fn wait() -> Result<Option<(Pid, Event)>, Errno> {
    loop {
        match wait_for(libc::P_ALL, 0, libc::WEXITED | libc::WSTOPPED | libc::WNOWAIT) {
            Ok(info) => {
                // SAFETY: these fields are valid for all events of children.
                let (id, status) = unsafe { (info.si_pid(), info.si_status()) };
                let ended = matches!(info.si_code, libc::CLD_EXITED | libc::CLD_KILLED | libc::CLD_DUMPED);
                return Ok(Some((Pid::from_raw(id), if ended { Event::Ended } else { event(status) })));
            }
            Err(Errno::EINTR) => {}
            Err(Errno::ECHILD) => return Ok(None),
            Err(errno) => return Err(errno),
        }
    }
}

/// Consumes an event that [`wait`] returned, so that the next one becomes visible.
///
/// If a SIGKILL has revoked a stop meanwhile, this does nothing, and the thread's end is the next event.
pub fn take(id: Pid, event: Event) {
    let kind = if event == Event::Ended { libc::WEXITED } else { libc::WSTOPPED };
    let _ = wait_for(libc::P_PID, id.as_raw().cast_unsigned(), kind | libc::WNOHANG);
}

fn wait_for(kind: libc::idtype_t, id: libc::id_t, flags: i32) -> Result<libc::siginfo_t, Errno> {
    // SAFETY: all zero is a valid value of this plain structure.
    let mut info: libc::siginfo_t = unsafe { std::mem::zeroed() };
    // SAFETY: `info` outlives the call.
    Errno::result(unsafe { libc::waitid(kind, id, &raw mut info, flags | TRACED) })?;
    Ok(info)
}

/// Parses a wait status. The signal is in the low byte, the kind of a stop without signal above it.
fn event(status: i32) -> Event {
    let (signal, kind) = (status & 0xff, status >> 8);
    match kind {
        0 => Event::Signal(signal),
        libc::PTRACE_EVENT_EXEC => Event::Exec,
        libc::PTRACE_EVENT_FORK | libc::PTRACE_EVENT_VFORK | libc::PTRACE_EVENT_CLONE => Event::Made,
        libc::PTRACE_EVENT_STOP if signal != libc::SIGTRAP => Event::Stopped,
        _ => Event::Other,
    }
}

/// Returns the thread or process that a stopped thread has just created.
pub fn made(id: Pid) -> Option<Pid> {
    Some(Pid::from_raw(i32::try_from(ptrace::getevent(id).ok()?).ok()?))
}

/// Resumes a stopped thread and delivers a signal (0: none).
///
/// Fails only if the thread was killed meanwhile, like [`leave_stopped`].
pub fn resume(id: Pid, signal: i32) {
    request(libc::PTRACE_CONT, id, signal);
}

/// Resumes a stopped thread until the next entry to or exit from a system call.
pub fn resume_to_call(id: Pid, signal: i32) {
    request(libc::PTRACE_SYSCALL, id, signal);
}

/// Leaves a thread stopped, but so that SIGCONT wakes it and its parent sees the stop.
pub fn leave_stopped(id: Pid) {
    request(libc::PTRACE_LISTEN, id, 0);
}

/// Makes a request with a signal. `nix` does not support real-time signals.
fn request(request: Request, id: Pid, signal: i32) {
    let signal = std::ptr::without_provenance_mut::<libc::c_void>(signal.cast_unsigned() as usize);
    // SAFETY: reads and writes no memory of ours.
    unsafe { libc::ptrace(request, id.as_raw(), std::ptr::null_mut::<libc::c_void>(), signal) };
}

/// Writes the breakpoint instruction at an address of the thread's process.
pub fn plant(id: Pid, address: u64) -> Result<(), Errno> {
    // An aligned word never extends into another page, which may not exist.
    let offset = (address % 8) as usize;
    let word = std::ptr::without_provenance_mut::<libc::c_void>((address - offset as u64) as usize);
    let mut bytes = ptrace::read(id, word)?.to_ne_bytes();
    bytes[offset..offset + TRAP.len()].copy_from_slice(&TRAP);
    ptrace::write(id, word, libc::c_long::from_ne_bytes(bytes))
}

/// Returns the address of the breakpoint at which a thread stopped; `None` if a process sent the SIGTRAP.
pub fn trap_address(id: Pid) -> Option<u64> {
    // A code of at most zero means that a process sent the signal.
    (ptrace::getsiginfo(id).ok()?.si_code > 0).then(|| instruction(id))?
}

/// Returns the address of the breakpoint; `int3` advances the instruction pointer past it.
#[cfg(target_arch = "x86_64")]
fn instruction(id: Pid) -> Option<u64> {
    ptrace::getregs(id).ok()?.rip.checked_sub(TRAP.len() as u64)
}

/// Returns the address of the breakpoint; `brk` does not advance the program counter.
#[cfg(target_arch = "aarch64")]
fn instruction(id: Pid) -> Option<u64> {
    Some(ptrace::getregs(id).ok()?.pc)
}

/// Other processors have no breakpoints.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn instruction(_id: Pid) -> Option<u64> {
    None
}
