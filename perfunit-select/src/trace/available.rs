//! Checks that this system allows tracing; containers (seccomp) and hardened kernels (yama) may refuse it.

use nix::errno::Errno;
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, waitpid};
use nix::unistd::{ForkResult, Pid, fork};
use perfunit_model::Untraceable;
use perfunit_system::os::ptrace;
use std::sync::OnceLock;

static ANSWER: OnceLock<Result<(), Untraceable>> = OnceLock::new();

/// Returns an error with the reason if tests cannot be traced here. Tried once, on a small child process.
pub fn available() -> Result<(), Untraceable> {
    *ANSWER.get_or_init(attempt)
}

fn attempt() -> Result<(), Untraceable> {
    if cfg!(not(any(target_arch = "x86_64", target_arch = "aarch64"))) {
        return Err(Untraceable::OtherProcessor);
    }
    // On its own thread, so that the child's events are the only ones to wait for.
    let tried = std::thread::spawn(trace_a_child).join().unwrap_or(Err(Errno::UnknownErrno));
    tried.map_err(|errno| match errno {
        Errno::EPERM | Errno::EACCES => Untraceable::Refused,
        _ => Untraceable::Failed(errno as i32),
    })
}

fn trace_a_child() -> Result<(), Errno> {
    // SAFETY: the child only makes system calls.
    match unsafe { fork() }? {
        ForkResult::Child => loop {
            let _ = perfunit_system::os::die_with_parent();
            nix::unistd::pause();
        },
        ForkResult::Parent { child } => {
            let traced = touch(child);
            let _ = kill(child, Signal::SIGKILL);
            while let Err(Errno::EINTR) = waitpid(child, Some(WaitPidFlag::__WALL)) {}
            traced
        }
    }
}

/// Does to a child what tracing does to a test: stops it, and writes to its code.
fn touch(child: Pid) -> Result<(), Errno> {
    nix::sys::ptrace::seize(child, ptrace::OPTIONS)?;
    nix::sys::ptrace::interrupt(child)?;
    ptrace::wait()?;
    // The child is a copy of this process, so it has this function at the same address.
    ptrace::plant(child, touch as *const () as u64)
}
