//! Tracing: what `nix` lacks of it, and what differs between processors.

use nix::errno::Errno;
use nix::sys::ptrace::{self, Options};
use nix::unistd::Pid;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;

/// We follow every thread and child, learn of every exec, and what we trace ends with the thread that traces it.
pub const OPTIONS: Options = Options::PTRACE_O_TRACECLONE
    .union(Options::PTRACE_O_TRACEFORK)
    .union(Options::PTRACE_O_TRACEVFORK)
    .union(Options::PTRACE_O_TRACEEXEC)
    .union(Options::PTRACE_O_EXITKILL);

/// The number of a request, as libc declares it.
#[cfg(target_env = "musl")]
pub type Request = libc::c_int;
/// The number of a request, as libc declares it.
#[cfg(not(target_env = "musl"))]
pub type Request = libc::c_uint;

/// Ours only: neither children of other threads (the keeper!) nor, with `__WALL`, threads of a test left out.
const TRACED: i32 = libc::__WALL | libc::__WNOTHREAD;

/// The breakpoint instruction, `int3`.
#[cfg(target_arch = "x86_64")]
const TRAP: [u8; 1] = [0xcc];
/// The breakpoint instruction, `brk #0`.
#[cfg(not(target_arch = "x86_64"))]
const TRAP: [u8; 4] = 0xd420_0000_u32.to_le_bytes();

/// What happened to a traced thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    Ended,
    /// It is to be sent this signal; it waits for our word.
    Signal(i32),
    /// All threads of its process stop, as after SIGSTOP.
    Stopped,
    /// Its process became another program.
    Exec,
    /// It made a new thread or process.
    Made,
    /// It is new, or goes on after a stop.
    Other,
}

/// In a new process, before exec: waits until the process at the other end of the line traces it. Allocates nothing.
pub fn introduce(mut line: &UnixStream) -> std::io::Result<()> {
    line.write_all(&std::process::id().to_ne_bytes())?;
    line.read_exact(&mut [0])
}

/// Returns the process that [introduces](introduce) itself; `None` if none is started.
pub fn introduced(mut line: &UnixStream) -> Option<Pid> {
    let mut id = [0; 4];
    line.read_exact(&mut id).ok()?;
    Some(Pid::from_raw(i32::from_ne_bytes(id)))
}

/// Lets the process that introduced itself go on to exec; returns whether it is still there.
pub fn let_go(mut line: &UnixStream) -> bool {
    line.write_all(&[1]).is_ok()
}

/// Waits until something happens to a traced thread; `None` if there is none left. Only shows it: see [`take`].
pub fn wait() -> Result<Option<(Pid, Event)>, Errno> {
    loop {
        match wait_for(libc::P_ALL, 0, libc::WEXITED | libc::WSTOPPED | libc::WNOWAIT) {
            Ok(info) => {
                // SAFETY: these fields are there for all events of children.
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

/// Takes note of an event that [`wait`] showed, so that the next one can be seen.
///
/// A SIGKILL may have revoked a stop meanwhile. Then this does nothing, and the end is shown next.
pub fn take(id: Pid, event: Event) {
    let kind = if event == Event::Ended { libc::WEXITED } else { libc::WSTOPPED };
    let _ = wait_for(libc::P_PID, id.as_raw().cast_unsigned(), kind | libc::WNOHANG);
}

fn wait_for(kind: libc::idtype_t, id: libc::id_t, flags: i32) -> Result<libc::siginfo_t, Errno> {
    // SAFETY: all zero is a valid value of this plain structure.
    let mut info: libc::siginfo_t = unsafe { std::mem::zeroed() };
    // SAFETY: `info` lives through the call.
    Errno::result(unsafe { libc::waitid(kind, id, &raw mut info, flags | TRACED) })?;
    Ok(info)
}

/// The signal is in the low byte, the kind of a stop that is not for a signal above it.
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

/// Returns what a thread made that stopped because of it.
pub fn made(id: Pid) -> Option<Pid> {
    Some(Pid::from_raw(i32::try_from(ptrace::getevent(id).ok()?).ok()?))
}

/// Lets a stopped thread run, with the signal it is to get (0: none).
///
/// Fails only if the thread was killed meanwhile, as [`leave_stopped`] does.
pub fn resume(id: Pid, signal: i32) {
    request(libc::PTRACE_CONT, id, signal);
}

/// As [`resume`], up to the next entry to or exit from a system call.
pub fn resume_to_call(id: Pid, signal: i32) {
    request(libc::PTRACE_SYSCALL, id, signal);
}

/// Leaves a thread stopped, but so that SIGCONT wakes it and its parent sees the stop.
pub fn leave_stopped(id: Pid) {
    request(libc::PTRACE_LISTEN, id, 0);
}

/// Makes a request without an address, with a signal: `nix` knows no real-time signals.
fn request(request: Request, id: Pid, signal: i32) {
    let signal = std::ptr::without_provenance_mut::<libc::c_void>(signal.cast_unsigned() as usize);
    // SAFETY: reads and writes no memory of ours.
    unsafe { libc::ptrace(request, id.as_raw(), std::ptr::null_mut::<libc::c_void>(), signal) };
}

/// Writes the breakpoint instruction at an address of the thread's process.
pub fn plant(id: Pid, address: u64) -> Result<(), Errno> {
    // Whole words at multiples of their length never reach into a page that is not there.
    let offset = (address % 8) as usize;
    let word = std::ptr::without_provenance_mut::<libc::c_void>((address - offset as u64) as usize);
    let mut bytes = ptrace::read(id, word)?.to_ne_bytes();
    bytes[offset..offset + TRAP.len()].copy_from_slice(&TRAP);
    ptrace::write(id, word, libc::c_long::from_ne_bytes(bytes))
}

/// The address of the breakpoint at which a thread stopped, if it was one and not a SIGTRAP that somebody sent.
pub fn trap_address(id: Pid) -> Option<u64> {
    // Zero and below: sent by a process.
    (ptrace::getsiginfo(id).ok()?.si_code > 0).then(|| instruction(id))?
}

/// `int3` leaves the address behind itself.
#[cfg(target_arch = "x86_64")]
fn instruction(id: Pid) -> Option<u64> {
    ptrace::getregs(id).ok()?.rip.checked_sub(TRAP.len() as u64)
}

/// `brk` leaves its own address.
#[cfg(target_arch = "aarch64")]
fn instruction(id: Pid) -> Option<u64> {
    Some(ptrace::getregs(id).ok()?.pc)
}

/// No breakpoints are planted on other processors.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn instruction(_id: Pid) -> Option<u64> {
    None
}
