//! Starting processes so that none outlives us.
//!
//! Everything we start joins the process group of a *keeper*, a small process of our own that waits for its standard
//! input to end, kills the group and removes the temporary folders that it was told of. So even `kill -9` of the tool leaves nothing behind. Being a subreaper, the
//! tool also finds what a test left behind.

use crate::fs;
use crate::interrupt;
use crate::os;
use crate::os::unix::ffi::OsStrExt;
use crate::os::unix::process::{CommandExt, ExitStatusExt};
use perfunit_model::error::{Error, Result};
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::io::{Read, Write as _};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// `argv[0]` of the keeper, by which it knows its role and `pkill cargo-perfunit` spares it.
const KEEPER_NAME: &str = "perfunit-keeper";

/// Whether this executable becomes a keeper when it is started by that name.
static CAN_KEEP: AtomicBool = AtomicBool::new(false);

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

/// How the names of the folders begin that the keeper removes.
pub const TEMPORARY_PREFIX: &str = "perfunit-";
/// Times that the keeper tries to remove a folder: what it has killed may still write there.
const REMOVALS: usize = 50;
/// Between two of these.
const REMOVAL_PAUSE: Duration = Duration::from_millis(10);

static KEEPER: OnceLock<Child> = OnceLock::new();
/// Paths of folders that the keeper has not been told of yet, each with a zero byte behind it.
static FOLDERS: Mutex<Vec<u8>> = Mutex::new(Vec::new());

/// Starts a command in the keeper's group, on standard streams that the caller has set.
///
/// Without code of ours between fork and exec, so that std need not copy our page tables (`posix_spawn`).
pub fn spawn(command: &mut Command) -> Result<Child> {
    command.process_group(group()?.cast_signed());
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

/// Runs a command that ends by itself on this input, and reads all that it prints.
pub fn output_of(command: &mut Command, input: Vec<u8>) -> std::io::Result<std::process::Output> {
    tracing::debug!(?command, "run");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn()?;
    let stdin = child.stdin.take();
    // In a thread of its own: the command may print before it has read everything.
    let writer = std::thread::spawn(move || stdin.map(|mut stdin| stdin.write_all(&input)));
    let output = child.wait_with_output();
    // A command that ends without reading everything says why.
    let _ = writer.join();
    output
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

/// How a process ended, and the processor time that it took, its threads and the children that it waited for included.
pub fn reap(child: &Child) -> Result<(ExitStatus, Duration)> {
    os::reap(child).map_err(|error| Error::setup(format!("cannot wait for a measured process: {error}")))
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
    let _ = SPARED.set(os::children());
}

/// Our children that serve test after test: their ends are not ends of tests.
static SERVERS: Mutex<BTreeSet<u32>> = Mutex::new(BTreeSet::new());

/// A child that [`kill_leftovers`] leaves alone, and that is killed when this is dropped.
#[derive(Debug)]
pub struct Server(Child);

impl Server {
    pub fn new(child: Child) -> Self {
        SERVERS.lock().unwrap_or_else(PoisonError::into_inner).insert(child.id());
        Self(child)
    }

    /// Tells whether the process has ended by itself.
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

/// The processor time of our children that have ended, and of servers with theirs.
pub fn childrens_time() -> Duration {
    let servers = SERVERS.lock().unwrap_or_else(PoisonError::into_inner);
    servers.iter().fold(os::childrens_time(), |time, server| time + os::time_with_children(*server))
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

/// To be called first by `main`: becomes the keeper if this process was started as one.
///
/// An executable whose `main` does not call this has no keeper, and its children are in its own group. Else it would start
/// itself, again and again: the executable of a crate's unit tests would run all tests.
pub fn keep_if_asked() {
    if std::env::args_os().next().is_some_and(|name| name == KEEPER_NAME) {
        keep();
    }
    CAN_KEEP.store(true, Relaxed);
}

/// The keeper's group, started on first use.
fn group() -> Result<u32> {
    if !CAN_KEEP.load(Relaxed) {
        return Ok(os::own_group());
    }
    if KEEPER.get().is_none() {
        let keeper = start_keeper()?;
        let _ = KEEPER.set(keeper);
        tell_keeper(&mut FOLDERS.lock().unwrap_or_else(PoisonError::into_inner));
    }
    let keeper = KEEPER.get().ok_or_else(|| Error::setup("the keeper process did not start"))?;
    Ok(keeper.id())
}

fn start_keeper() -> Result<Child> {
    // Where that is refused they are left to the keeper.
    os::adopt_orphans();
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
    interrupt::watch_group(keeper.id());
    Ok(keeper)
}

/// The keeper's whole life: ends its group, itself included, when the tool is gone.
fn keep() -> ! {
    os::ignore_signals();
    let mut folders = Vec::new();
    let _ = std::io::stdin().read_to_end(&mut folders);
    // More than once: what is about to be killed may start others meanwhile.
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

/// Has the keeper remove a folder for temporary files when the tool is gone, if the folder is still there then.
pub fn remove_after_us(folder: &Path) {
    let mut folders = FOLDERS.lock().unwrap_or_else(PoisonError::into_inner);
    folders.extend(folder.as_os_str().as_bytes());
    folders.push(0);
    tell_keeper(&mut folders);
}

/// Tells the keeper of these folders, once there is one.
fn tell_keeper(folders: &mut Vec<u8>) {
    if let Some(mut keeper) = KEEPER.get().and_then(|keeper| keeper.stdin.as_ref()) {
        // Without a keeper that listens the folders stay after a kill: no reason to end the run.
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

/// Kills the processes that carry our mark. Returns how many there were.
fn kill_marked() -> usize {
    let marked = os::processes_with(&format!("{MARK_VARIABLE}={}", std::process::id()));
    marked.into_iter().filter(|id| os::kill_process(*id)).count()
}

/// Starts a command that we stand for, on our standard streams and in our group: it ends when we are killed.
pub fn start_in_our_place(command: &mut Command) -> std::io::Result<Child> {
    os::bind_to_us(command);
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
        // Now it is one of those that have ended.
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
