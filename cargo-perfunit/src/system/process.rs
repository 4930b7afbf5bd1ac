//! Starting processes so that none outlives us.
//!
//! Everything we start joins the process group of a *keeper*, a small process of our own that waits for its standard
//! input to end and then kills the group. So even `kill -9` of the tool leaves nothing behind. Being a subreaper, the
//! tool also finds what a test left behind.

use crate::error::{Error, Result};
use crate::system::interrupt;
use nix::sys::signal::{SigHandler, Signal, kill, signal};
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid};
use nix::unistd::Pid;
use std::collections::BTreeSet;
use std::io::Read;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// `argv[0]` of the keeper, by which `main` knows the role and `pkill cargo-perfunit` spares it.
pub const KEEPER_NAME: &str = "perfunit-keeper";

/// In the environment of measured processes: the keeper's id.
const MARK_VARIABLE: &str = "PERFUNIT_KEEPER";
/// Times that the keeper looks for marked processes.
const SWEEPS: usize = 64;
/// Generations of leftovers that are ended at once.
const LEFTOVER_ROUNDS: usize = 64;

/// Bytes of a process's output that are kept, from its end.
const MOST_OUTPUT: usize = 4 << 20;
/// How often it is looked whether a process has ended that prints.
const OUTPUT_POLL: Duration = Duration::from_millis(2);

static KEEPER: OnceLock<Child> = OnceLock::new();

/// Starts a command in the keeper's group, on standard streams that the caller has set.
///
/// Without code of ours between fork and exec, so that std need not copy our page tables (`posix_spawn`).
pub fn spawn(command: &mut Command) -> Result<Child> {
    let group = group()?;
    command.process_group(group.as_raw());
    tracing::debug!(?command, "started");
    command
        .spawn()
        .map_err(|error| Error::setup(format!("cannot start {}: {error}", command.get_program().to_string_lossy())))
}

/// Runs a command that ends by itself, and reads all that it prints.
pub fn output(command: &mut Command) -> std::io::Result<std::process::Output> {
    tracing::debug!(?command, "run");
    command.output()
}

/// What of a process's output is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Streams {
    /// Standard output; standard error is discarded.
    Out,
    /// Both, as they come.
    Both,
}

/// What a process printed, and how it ended.
#[derive(Debug, Default)]
pub struct Output {
    /// `None` if it was killed at its time limit or by Ctrl-C.
    pub status: Option<ExitStatus>,
    /// The last [`MOST_OUTPUT`] bytes.
    pub text: String,
}

/// Runs a command, without input, to its end or its time limit, and ends what it leaves behind.
///
/// Call only while no child is wanted any more (see [`kill_leftovers`]).
pub fn output_within(command: &mut Command, streams: Streams, limit: Duration) -> Result<Output> {
    let failed = |error: std::io::Error| {
        Error::setup(format!("cannot read what {} prints: {error}", command.get_program().to_string_lossy()))
    };
    let (reader, writer) = std::io::pipe().map_err(failed)?;
    let errors = match streams {
        Streams::Out => Stdio::null(),
        Streams::Both => writer.try_clone().map_err(failed)?.into(),
    };
    let output = std::thread::spawn(|| read_end(reader));
    mark(command)?;
    command.stdin(Stdio::null()).stdout(writer).stderr(errors);
    let child = spawn(command);
    // With these go our ends of the pipe, which would never end otherwise.
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = child?;
    let deadline = Instant::now() + limit;
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break Some(status),
            _ if interrupt::requested() || Instant::now() >= deadline => break None,
            _ => std::thread::sleep(OUTPUT_POLL),
        }
    };
    let _ = child.kill();
    let _ = child.wait();
    kill_leftovers();
    Ok(Output { status, text: output.join().unwrap_or_default() })
}

/// The end of a stream, however much comes before it.
fn read_end(mut reader: impl Read) -> String {
    let (mut end, mut piece) = (Vec::new(), vec![0; 1 << 16]);
    while let Ok(read @ 1..) = reader.read(&mut piece) {
        end.extend_from_slice(&piece[..read]);
        if end.len() > 2 * MOST_OUTPUT {
            end.drain(..end.len() - MOST_OUTPUT);
        }
    }
    let surplus = end.len().saturating_sub(MOST_OUTPUT);
    String::from_utf8_lossy(&end[surplus..]).into_owned()
}

/// Whether a process has ended; leaves it to be reaped.
pub fn is_over(child: &Child) -> bool {
    let flags = WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG | WaitPidFlag::WNOWAIT;
    waitid(Id::Pid(Pid::from_raw(child.id().cast_signed())), flags).is_ok_and(|status| status != WaitStatus::StillAlive)
}

/// How a process ended, and the processor time that it took, its threads and the children that it waited for included.
pub fn reap(child: &Child) -> Result<(ExitStatus, Duration)> {
    let mut status = 0;
    // SAFETY: plain numbers, for which zeros are valid.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: both places live through the call. Nobody else waits for this child.
    if unsafe { libc::wait4(child.id().cast_signed(), &raw mut status, 0, &raw mut usage) } < 0 {
        let error = std::io::Error::last_os_error();
        return Err(Error::setup(format!("cannot wait for a measured process: {error}")));
    }
    let time = |time: libc::timeval| Duration::new(time.tv_sec as u64, time.tv_usec as u32 * 1000);
    Ok((ExitStatus::from_raw(status), time(usage.ru_utime) + time(usage.ru_stime)))
}

/// Marks a command whose descendants are all to end with us, even those that leave the keeper's group (`setsid`).
pub fn mark(command: &mut Command) -> Result<()> {
    command.env(MARK_VARIABLE, group()?.to_string());
    Ok(())
}

/// Processes that builds left behind: a compiler cache's server, say. They serve others too.
static SPARED: OnceLock<BTreeSet<u32>> = OnceLock::new();

/// Lets what is there now live: it was not a test that left it. Takes effect once.
pub fn spare_children() {
    let _ = SPARED.set(children());
}

/// Kills what finished tests left behind (children that were re-parented to us), and reaps it. Returns how many.
///
/// Call only while no child is wanted any more.
pub fn kill_leftovers() -> usize {
    let keeper = KEEPER.get().map_or(0, Child::id);
    let mut killed = 0;
    // A leftover's own children come to us when it ends, so there may be more each time; a process that forks faster
    // than this is the keeper's.
    for _ in 0..LEFTOVER_ROUNDS {
        let leftovers: Vec<u32> = children()
            .into_iter()
            .filter(|id| *id != keeper && !SPARED.get().is_some_and(|spared| spared.contains(id)))
            .collect();
        if leftovers.is_empty() {
            break;
        }
        for child in leftovers {
            let child = Pid::from_raw(child.cast_signed());
            let _ = kill(child, Signal::SIGKILL);
            let _ = nix::sys::wait::waitpid(child, None);
            killed += 1;
        }
    }
    killed
}

/// Our children, adopted ones included.
fn children() -> BTreeSet<u32> {
    let path = format!("/proc/self/task/{}/children", std::process::id());
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.split_whitespace().filter_map(|id| id.parse().ok()).collect()
}

/// The keeper's group, started on first use.
fn group() -> Result<Pid> {
    if KEEPER.get().is_none() {
        let keeper = start_keeper()?;
        let _ = KEEPER.set(keeper);
    }
    let keeper = KEEPER.get().ok_or_else(|| Error::setup("the keeper process did not start"))?;
    Ok(Pid::from_raw(keeper.id().cast_signed()))
}

fn start_keeper() -> Result<Child> {
    // Orphans come to us instead of init; where that is refused they are left to the keeper.
    // SAFETY: takes no pointers.
    unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1) };
    let executable =
        std::env::current_exe().map_err(|error| Error::setup(format!("cannot find our own executable: {error}")))?;
    let keeper = Command::new(executable)
        .arg0(KEEPER_NAME)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .current_dir("/")
        .process_group(0)
        .spawn()
        .map_err(|error| Error::setup(format!("cannot start the keeper process: {error}")))?;
    interrupt::watch_group(Pid::from_raw(keeper.id().cast_signed()));
    Ok(keeper)
}

/// The keeper's whole life: ends its group, itself included, when the tool is gone.
pub fn keep() -> ! {
    for ignored in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP, Signal::SIGQUIT] {
        // SAFETY: installs no handler of ours, only "ignore".
        let _ = unsafe { signal(ignored, SigHandler::SigIgn) };
    }
    let mut rest = Vec::new();
    let _ = std::io::stdin().read_to_end(&mut rest);
    // More than once: what is about to be killed may start others meanwhile.
    for _ in 0..SWEEPS {
        if kill_marked() == 0 {
            break;
        }
    }
    let _ = kill(Pid::from_raw(0), Signal::SIGKILL);
    std::process::exit(0)
}

/// Kills the processes that carry our mark. Returns how many there were.
fn kill_marked() -> usize {
    let mark = format!("{MARK_VARIABLE}={}", std::process::id());
    let is_marked = |id: &u32| {
        let environment = std::fs::read(format!("/proc/{id}/environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|variable| variable == mark.as_bytes())
    };
    let names = std::fs::read_dir("/proc").into_iter().flatten().flatten().map(|entry| entry.file_name());
    let marked = names.filter_map(|name| name.to_str()?.parse().ok()).filter(is_marked);
    marked.filter(|id| kill(Pid::from_raw(id.cast_signed()), Signal::SIGKILL).is_ok()).count()
}

/// Starts a command that we stand for, on our standard streams and in our group: it ends when we are killed.
pub fn start_in_our_place(command: &mut Command) -> std::io::Result<Child> {
    // SAFETY: a system call that is safe between fork and exec; no allocation.
    unsafe { command.pre_exec(die_with_parent) };
    command.spawn()
}

/// Becomes this program anew, with the same arguments and standard streams but without these variables. Returns only if that
/// is not possible.
pub fn restart_without(variables: &[&str]) -> Error {
    let failed = |error: std::io::Error| Error::setup(format!("cannot start our own executable: {error}"));
    let executable = match std::env::current_exe() {
        Ok(executable) => executable,
        Err(error) => return failed(error),
    };
    let mut arguments = std::env::args_os();
    let mut command = Command::new(executable);
    command.arg0(arguments.next().unwrap_or_default()).args(arguments);
    for name in variables {
        command.env_remove(name);
    }
    failed(command.exec())
}

/// Ends this process the way another one ended, by the same signal if it was one.
pub fn end_like(status: ExitStatus) -> std::process::ExitCode {
    let number = status.signal().unwrap_or_default();
    if let Ok(by) = Signal::try_from(number) {
        // SAFETY: installs no handler of ours, only the default action.
        let _ = unsafe { signal(by, SigHandler::SigDfl) };
        let _ = nix::sys::signal::raise(by);
    }
    std::process::ExitCode::from(status.code().unwrap_or(128 + number) as u8)
}

/// Has the kernel kill this process when its parent thread ends. Survives exec.
pub fn die_with_parent() -> std::io::Result<()> {
    // SAFETY: takes no pointers.
    if unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) } == 0 {
        Ok(())
    } else {
        Err(std::io::Error::last_os_error())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_flood_the_end_is_kept() {
        assert_eq!(read_end(&b"a few words"[..]), "a few words");
        let flood = [vec![b'x'; 3 * MOST_OUTPUT], b"the end".to_vec()].concat();
        let kept = read_end(&flood[..]);
        assert!(kept.len() == MOST_OUTPUT && kept.ends_with("xthe end"));
    }
}
