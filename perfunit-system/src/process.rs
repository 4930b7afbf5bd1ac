//! Starts processes so that none outlives us.
//!
//! Every child process joins the process group of a *keeper*, a small process of our own. When its standard input ends,
//! it kills the group and removes the registered temporary folders, so that even `kill -9` of the tool leaves nothing
//! behind. The tool is a subreaper, so it also finds processes that a test left behind.

use crate::fs;
use crate::interrupt;
use crate::os;
use crate::os::unix::ffi::OsStrExt;
use crate::os::unix::process::{CommandExt, ExitStatusExt};
use perfunit_model::error::{Error, Result};
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::io::{Read, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// `argv[0]` of the keeper. It selects the role, and `pkill cargo-perfunit` does not match it.
const KEEPER_NAME: &str = "perfunit-keeper";

/// True if this executable takes a role, such as the keeper's, when started by its name.
static TAKES_ROLES: AtomicBool = AtomicBool::new(false);

/// Environment variable of measured processes with the keeper's process ID.
const MARK_VARIABLE: &str = "PERFUNIT_KEEPER";
/// Maximum number of rounds in which the keeper searches marked processes.
const SWEEPS: usize = 64;
/// Maximum number of generations of leftover processes to kill in one call.
const LEFTOVER_ROUNDS: usize = 64;

/// Number of bytes to keep from the end of a process's output.
const MOST_OUTPUT: usize = 4 << 20;
/// Interval at which to check whether a process with captured output has ended.
const OUTPUT_POLL: Duration = Duration::from_millis(2);

/// Prefix of folder names that the keeper removes.
pub const TEMPORARY_PREFIX: &str = "perfunit-";
/// Number of attempts to remove a folder, because killed processes may still be writing there.
const REMOVALS: usize = 50;
/// Pause between two attempts.
const REMOVAL_PAUSE: Duration = Duration::from_millis(10);

static KEEPER: OnceLock<Child> = OnceLock::new();
/// Paths of folders that the keeper does not know yet, each followed by a zero byte.
static FOLDERS: Mutex<Vec<u8>> = Mutex::new(Vec::new());

/// Starts a command in the keeper's group. The caller sets the standard streams.
///
/// There is no code between fork and exec, so std can use `posix_spawn` and need not copy our page tables.
pub fn spawn(command: &mut Command) -> Result<Child> {
    command.process_group(group()?.cast_signed());
    tracing::debug!(?command, "started");
    command
        .spawn()
        .map_err(|error| Error::setup(format!("cannot start {}: {error}", command.get_program().to_string_lossy())))
}

/// Runs a command until it ends, and returns its output.
pub fn output(command: &mut Command) -> std::io::Result<std::process::Output> {
    tracing::debug!(?command, "run");
    command.output()
}

/// Runs a command with this input until it ends, and returns its output.
pub fn output_of(command: &mut Command, input: Vec<u8>) -> std::io::Result<std::process::Output> {
    tracing::debug!(?command, "run");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn()?;
    let stdin = child.stdin.take();
    // Write in a thread, because the command may print before it has read everything.
    let writer = std::thread::spawn(move || stdin.map(|mut stdin| stdin.write_all(&input)));
    let output = child.wait_with_output();
    // A command that ends without reading everything reports the reason itself.
    let _ = writer.join();
    output
}

/// Captured streams of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Streams {
    /// Standard output only.
    Out,
    /// Both streams, interleaved.
    Both,
}

/// Output and status of a process.
#[derive(Debug, Default)]
pub struct Output {
    /// Exit status; `None` if the process was killed at its time limit or by Ctrl-C.
    pub status: Option<ExitStatus>,
    /// The last [`MOST_OUTPUT`] bytes.
    pub text: String,
}

/// Runs a command without input until it ends or its time limit is over, and kills leftover processes.
///
/// Call this only while no other child is needed (see [`kill_leftovers`]).
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
    // This drops our ends of the pipe, which otherwise would never close.
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = child?;
    let deadline = Instant::now() + limit;
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break Some(status),
            _ if interrupt::is_requested() || Instant::now() >= deadline => break None,
            _ => std::thread::sleep(OUTPUT_POLL),
        }
    };
    let _ = child.kill();
    let _ = child.wait();
    kill_leftovers();
    Ok(Output { status, text: output.join().unwrap_or_default() })
}

/// Runs a command without input until it ends or its time limit is over, with its output in a file. Returns its status;
/// `None` if it was killed at the limit or by Ctrl-C. Processes that it leaves behind run until our end.
pub fn run_logged(command: &mut Command, log: &Path, limit: Duration) -> Result<Option<ExitStatus>> {
    let failed = fs::io_error("write", log);
    let output = fs::create(log)?;
    let errors = output.try_clone().map_err(failed)?;
    mark(command)?;
    let mut child = spawn(command.stdin(Stdio::null()).stdout(output).stderr(errors))?;
    let deadline = Instant::now() + limit;
    loop {
        match child.try_wait() {
            Ok(Some(status)) => {
                keep_children();
                return Ok(Some(status));
            }
            _ if interrupt::is_requested() || Instant::now() >= deadline => break,
            _ => std::thread::sleep(OUTPUT_POLL),
        }
    }
    let _ = child.kill();
    let _ = child.wait();
    kill_leftovers();
    Ok(None)
}

/// Makes the existing children survive the end of tests, in addition to those of [`spare_children`].
fn keep_children() {
    let keeper = KEEPER.get().map_or(0, Child::id);
    let children = os::children().into_iter().filter(|id| *id != keeper);
    SERVERS.lock().unwrap_or_else(PoisonError::into_inner).extend(children);
}

/// Reads a stream and returns its end.
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

/// Waits for a process. Returns its status and its processor time, including threads and children that it waited for.
pub fn reap(child: &Child) -> Result<(ExitStatus, Duration)> {
    os::reap(child).map_err(|error| Error::setup(format!("cannot wait for a measured process: {error}")))
}

/// Marks a command, so that all descendants end with us, even those that leave the keeper's group (`setsid`).
pub fn mark(command: &mut Command) -> Result<()> {
    command.env(MARK_VARIABLE, group()?.to_string());
    Ok(())
}

/// Processes that builds left behind, such as the server of a compiler cache. Others may use them.
static SPARED: OnceLock<BTreeSet<u32>> = OnceLock::new();

/// Spares the existing children, which no test left behind. Takes effect once.
pub fn spare_children() {
    let _ = SPARED.set(os::children());
}

/// Children that serve one test after the other and must survive the end of a test.
static SERVERS: Mutex<BTreeSet<u32>> = Mutex::new(BTreeSet::new());

/// A child that [`kill_leftovers`] spares. It is killed when dropped.
#[derive(Debug)]
pub struct Server(Child);

impl Server {
    pub fn new(child: Child) -> Self {
        SERVERS.lock().unwrap_or_else(PoisonError::into_inner).insert(child.id());
        Self(child)
    }

    /// Checks whether the process has ended.
    pub fn is_gone(&mut self) -> bool {
        !matches!(self.0.try_wait(), Ok(None))
    }

    pub fn kill(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
        SERVERS.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.0.id());
    }
}

/// Returns the processor time of our ended children, and of servers with their children.
pub fn childrens_time() -> Duration {
    let servers = SERVERS.lock().unwrap_or_else(PoisonError::into_inner);
    servers.iter().fold(os::childrens_time(), |time, server| time + os::time_with_children(*server))
}

/// Kills and reaps processes that finished tests left behind (children that were re-parented to us). Returns their
/// number.
///
/// Call this only while no child is needed.
pub fn kill_leftovers() -> usize {
    let keeper = KEEPER.get().map_or(0, Child::id);
    let mut killed = 0;
    // Children of a leftover process come to us when it ends, so a round may find new ones. If a process forks faster
    // than this loop, the keeper kills it.
    for _ in 0..LEFTOVER_ROUNDS {
        let servers = SERVERS.lock().unwrap_or_else(PoisonError::into_inner);
        let is_spared = |id: &u32| SPARED.get().is_some_and(|spared| spared.contains(id)) || servers.contains(id);
        let leftovers: Vec<u32> = os::children().into_iter().filter(|id| *id != keeper && !is_spared(id)).collect();
        drop(servers);
        if leftovers.is_empty() {
            break;
        }
        for child in leftovers {
            os::kill_adopted(child);
            killed += 1;
        }
    }
    killed
}

/// Turns this process into the keeper if it was started as one. `main` must call this first.
///
/// If `main` does not call this, the executable has no keeper, and its children are in its own group. Starting itself
/// as keeper would be wrong: the executable of a crate's unit tests would run all tests.
pub fn keep_if_asked() {
    if std::env::args_os().next().is_some_and(|name| name == KEEPER_NAME) {
        keep();
    }
    TAKES_ROLES.store(true, Relaxed);
}

/// Returns whether this executable takes a role when started by its name.
pub(crate) fn can_take_role() -> bool {
    TAKES_ROLES.load(Relaxed)
}

/// Returns the keeper's group, starting the keeper on first use.
fn group() -> Result<u32> {
    if !can_take_role() {
        return Ok(os::own_group());
    }
    // Several threads may start their first process at once, and interrupts reach one group.
    let mut folders = FOLDERS.lock().unwrap_or_else(PoisonError::into_inner);
    if KEEPER.get().is_none() {
        let _ = KEEPER.set(start_keeper()?);
        tell_keeper(&mut folders);
    }
    let keeper = KEEPER.get().ok_or_else(|| Error::setup("the keeper process did not start"))?;
    Ok(keeper.id())
}

/// Returns the path of our executable.
pub fn own_executable() -> Result<PathBuf> {
    std::env::current_exe().map_err(|error| Error::setup(format!("cannot find our own executable: {error}")))
}

/// Returns the command of our executable in the role of this name, without input and output.
pub(crate) fn role(name: &str) -> Result<Command> {
    let mut command = Command::new(own_executable()?);
    command.arg0(name).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).current_dir("/");
    Ok(command)
}

fn start_keeper() -> Result<Child> {
    // If this is refused, orphans are left to the keeper.
    os::adopt_orphans();
    let keeper = role(KEEPER_NAME)?
        .stdin(Stdio::piped())
        .process_group(0)
        .spawn()
        .map_err(|error| Error::setup(format!("cannot start the keeper process: {error}")))?;
    interrupt::watch_group(keeper.id());
    Ok(keeper)
}

/// Runs the keeper: when the tool is gone, kills its own group.
fn keep() -> ! {
    os::ignore_signals();
    let mut folders = Vec::new();
    let _ = std::io::stdin().read_to_end(&mut folders);
    // Repeat, because processes that are about to be killed may start others.
    for _ in 0..SWEEPS {
        if kill_marked() == 0 {
            break;
        }
    }
    for folder in folders.split(|byte| *byte == 0) {
        remove_folder(Path::new(OsStr::from_bytes(folder)));
    }
    os::kill_own_group();
    std::process::exit(0)
}

/// Makes the keeper remove a temporary folder when the tool is gone, if the folder still exists then.
pub fn remove_after_us(folder: &Path) {
    let mut folders = FOLDERS.lock().unwrap_or_else(PoisonError::into_inner);
    folders.extend(folder.as_os_str().as_bytes());
    folders.push(0);
    tell_keeper(&mut folders);
}

/// Sends these folders to the keeper, once there is one.
fn tell_keeper(folders: &mut Vec<u8>) {
    if let Some(mut keeper) = KEEPER.get().and_then(|keeper| keeper.stdin.as_ref()) {
        // If the keeper is gone, the folders remain after a kill, which is no reason to end the run.
        let _ = keeper.write_all(folders);
        folders.clear();
    }
}

fn remove_folder(folder: &Path) {
    let name = folder.file_name().unwrap_or_default();
    if !name.as_bytes().starts_with(TEMPORARY_PREFIX.as_bytes()) {
        return;
    }
    for _ in 0..REMOVALS {
        if fs::remove_dir_all(folder).is_ok() {
            return;
        }
        std::thread::sleep(REMOVAL_PAUSE);
    }
}

/// Kills the processes with our mark. Returns their number.
fn kill_marked() -> usize {
    let marked = os::processes_with(&format!("{MARK_VARIABLE}={}", std::process::id()));
    marked.into_iter().filter(|id| os::kill_process(*id)).count()
}

/// Starts a command in our role, with our standard streams and in our group. It ends when we are killed.
pub fn start_in_our_place(command: &mut Command) -> std::io::Result<Child> {
    os::bind_to_us(command);
    command.spawn()
}

/// Restarts this program with the same arguments and standard streams, but without these variables. Returns only on
/// failure.
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

/// Ends this process like another one, with the same status or signal.
pub fn end_like(status: ExitStatus) -> std::process::ExitCode {
    let number = status.signal().unwrap_or_default();
    os::end_by(number);
    std::process::ExitCode::from(status.code().unwrap_or(128 + number) as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_servers_children_computed_counts_while_it_runs() {
        let count = "i=0; while [ $i -lt 400000 ]; do i=$((i+1)); done";
        let mut command = Command::new("sh");
        command.args(["-c", &format!("sh -c '{count}'; echo; read end")]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (_stdin, mut output) = (child.stdin.take(), child.stdout.take().unwrap());
        let before = os::childrens_time();
        let server = Server::new(child);
        output.read_exact(&mut [0]).unwrap();
        let counted = childrens_time();
        assert!(counted > before, "{counted:?}");
        drop(server);
        // The server counts as an ended child now.
        assert!(childrens_time() > before);
    }

    #[test]
    fn of_a_flood_the_end_is_kept() {
        assert_eq!(read_end(&b"a few words"[..]), "a few words");
        let flood = [vec![b'x'; 3 * MOST_OUTPUT], b"the end".to_vec()].concat();
        let kept = read_end(&flood[..]);
        assert!(kept.len() == MOST_OUTPUT && kept.ends_with("xthe end"));
    }
}
