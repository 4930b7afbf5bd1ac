//! The thread that traces one test.
//!
//! A thread of its own, because that gives the kernel three jobs: it shows this thread the events of what it traces and
//! of nothing else; it ends all of that together with this thread, daemons included; and the main thread, which must
//! be the one that starts processes, can wait with a time limit meanwhile.

use super::breakpoints::{Became, Breakpoints};
use super::ptrace::{self, Event};
use super::unseen::Unseen;
use nix::errno::Errno;
use nix::unistd::Pid;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;

/// How the tracing of a test ended.
#[derive(Debug, PartialEq, Eq)]
pub enum End {
    /// The process ended before it became the test executable.
    NotStarted,
    /// The system does not let us trace it.
    Refused(Errno),
    /// It came to a breakpoint.
    Hit,
    /// It ended, without a hit, and all of its code was watched. How it ended its parent learns.
    Over,
    /// It ended, without a hit, but might have executed the functions where we could not see it.
    Unseen(Unseen),
}

/// Called in the new process, before exec: waits until it is traced. Allocates nothing.
pub fn introduce(mut line: &UnixStream) -> std::io::Result<()> {
    line.write_all(&std::process::id().to_ne_bytes())?;
    line.read_exact(&mut [0])
}

/// Traces the process that introduces itself at the other end of `line`. Leaves its end for its parent to wait for.
pub fn follow(mut line: UnixStream, breakpoints: &Breakpoints) -> End {
    let mut id = [0; 4];
    if line.read_exact(&mut id).is_err() {
        return End::NotStarted;
    }
    let test = Pid::from_raw(i32::from_ne_bytes(id));
    if let Err(errno) = nix::sys::ptrace::seize(test, ptrace::OPTIONS) {
        return End::Refused(errno);
    }
    if line.write_all(&[1]).is_err() {
        return End::NotStarted;
    }
    drop(line);
    let mut started = false;
    let mut unseen = None;
    loop {
        let (id, event) = match ptrace::wait() {
            Ok(Some(happened)) => happened,
            Ok(None) => return End::Unseen(Unseen::Lost),
            Err(errno) => return End::Unseen(Unseen::Wait(errno as i32)),
        };
        if id == test && event == Event::Ended {
            // Not taken: std waits for it itself, and insists on it if the exec failed.
            return match unseen {
                _ if !started => End::NotStarted,
                Some(why) => End::Unseen(why),
                None => End::Over,
            };
        }
        ptrace::take(id, event);
        match event {
            Event::Signal(libc::SIGTRAP) if breakpoints.hit(id) => return End::Hit,
            Event::Signal(signal) => ptrace::resume(id, signal),
            Event::Stopped => ptrace::leave_stopped(id),
            Event::Exec => {
                let seen = arm(breakpoints, id, !started);
                started = true;
                unseen = unseen.or(seen.err());
                ptrace::resume(id, 0);
            }
            Event::Other => ptrace::resume(id, 0),
            Event::Ended => {}
        }
    }
}

/// Plants the breakpoints after exec, or says why what follows is not seen; the first program must be the executable.
fn arm(breakpoints: &Breakpoints, id: Pid, first: bool) -> Result<(), Unseen> {
    match breakpoints.arm(id)? {
        Became::Sibling(path) => Err(Unseen::Starts(path)),
        Became::Other if first => Err(Unseen::OtherProgram),
        Became::Armed | Became::Other => Ok(()),
    }
}
