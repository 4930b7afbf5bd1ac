//! Runs a test once under breakpoints.

use super::failure::TraceFailure;
use super::traced_run::{Execution, Functions, Program};
use super::tracer::{self, End, Watch};
use nix::sys::personality::{self, Persona};
use nix::sys::resource::{Resource, setrlimit};
use perfunit_model::error::{Error, Result};
use perfunit_runtime::page::CALLS_VARIABLE;
use perfunit_system::interrupt;
use perfunit_system::os::ptrace;
use perfunit_system::process;
use std::io::{Read, Seek};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

/// Interval of checks for Ctrl-C.
const LOOK: Duration = Duration::from_millis(100);

/// Runs one test once, under breakpoints at the entries of these functions and of those of the programs.
///
/// `test` must be a name that the executable itself listed: for another name libtest runs nothing. Must be called from
/// the main thread, while no child process is needed anymore (see [`process::kill_leftovers`]).
pub fn executes(program: &Program<'_>, test: &str, functions: Functions<'_>, limit: Duration) -> Result<Execution> {
    if program.has_nothing_to_watch(functions) {
        return Ok(Execution::No);
    }
    let command = command(program, &program.executable.harness.arguments(test));
    with_keeper(|start| run(program, command, functions, limit, start))
}

/// Runs tests that have the same code one after the other in one process. Returns true if all of them passed, and
/// neither executed nor opened a program that differs. The conditions of [`executes`] apply.
pub fn pass_by_programs(
    program: &Program<'_>,
    tests: &[&str],
    functions: Functions<'_>,
    limit: Duration,
) -> Result<bool> {
    if program.has_nothing_to_watch(functions) {
        return Ok(true);
    }
    with_keeper(|start| run_together(program, tests, functions, limit, start))
}

/// Does the work of [`pass_by_programs`] with a given way to start a process.
pub(super) fn run_together(
    program: &Program<'_>,
    tests: &[&str],
    functions: Functions<'_>,
    limit: Duration,
    start: impl FnOnce(&mut Command) -> Result<Child>,
) -> Result<bool> {
    let Some(arguments) = program.executable.harness.arguments_of_all(tests) else { return Ok(false) };
    let failed = |error: std::io::Error| Error::setup(format!("cannot trace {}: {error}", program.executable.target));
    let mut output = tempfile::tempfile().map_err(failed)?;
    let mut command = command(program, &arguments);
    command.stdout(output.try_clone().map_err(failed)?);
    if run(program, command, functions, limit, start)? != Execution::No {
        return Ok(false);
    }
    // A test that ends the process successfully ends it before the others.
    let mut text = Vec::new();
    output.rewind().and_then(|()| output.read_to_end(&mut text)).map_err(failed)?;
    let summary = format!("test result: ok. {} passed; 0 failed;", tests.len());
    Ok(String::from_utf8_lossy(&text).lines().any(|line| line.starts_with(&summary)))
}

/// Calls a function that starts a process. The keeper ends the process if we end before it.
fn with_keeper<T>(then: impl FnOnce(&mut dyn FnMut(&mut Command) -> Result<Child>) -> T) -> T {
    process::spare_children();
    let done = then(&mut |command| {
        process::mark(command)?;
        process::spawn(command)
    });
    process::kill_leftovers();
    done
}

/// Does the work of [`executes`] with a given way to start a process: the unit tests have no keeper.
pub(super) fn run(
    program: &Program<'_>,
    mut command: Command,
    functions: Functions<'_>,
    limit: Duration,
    start: impl FnOnce(&mut Command) -> Result<Child>,
) -> Result<Execution> {
    let addresses = match program.places.find(functions.of_test) {
        Ok(addresses) => addresses,
        Err(why) => return Ok(Execution::Unknown(why)),
    };
    let Program { executable, places, programs, .. } = program;
    let watch = match Watch::new(&executable.path, places, addresses, functions.of_all_tests, programs)? {
        Ok(watch) => watch,
        Err(why) => return Ok(Execution::Unknown(why)),
    };
    program.temporary.empty()?;
    let failed = |error: std::io::Error| Error::setup(format!("cannot trace {}: {error}", program.executable.target));
    let (ours, theirs) = UnixStream::pair().map_err(failed)?;
    prepare(&mut command, theirs, &ours);
    let (sender, receiver) = mpsc::channel();
    let tracer = std::thread::Builder::new().name("tracer".to_owned());
    let tracer = tracer.spawn(move || sender.send(tracer::follow(ours, watch))).map_err(failed)?;
    let started = start(&mut command);
    // This drops our copy of the child's end of the socket: if there is no child, the tracer does not wait for it.
    drop(command);
    let answer = match started {
        Ok(child) => answer(&receiver, child, limit),
        Err(error) => match receiver.recv() {
            Ok(End::Refused(errno)) => Ok(Execution::Unknown(TraceFailure::Refused(errno as i32))),
            _ => Err(error),
        },
    };
    let _ = tracer.join();
    answer
}

/// Builds the command of a measured run, except that the harness runs the tests.
pub(super) fn command(program: &Program<'_>, arguments: &[&str]) -> Command {
    let executable = program.executable;
    let mut command = Command::new(&executable.path);
    command
        .args(arguments)
        .current_dir(&executable.cwd)
        .env_clear()
        .envs(executable.environment())
        .envs(program.variables.iter().cloned())
        .envs([program.temporary.variable()])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command.env(CALLS_VARIABLE, program.calls.to_string());
    command
}

/// Sets up what the new process does before exec; `theirs` is its end of the socket to the tracer, `ours` the tracer's.
fn prepare(command: &mut Command, theirs: UnixStream, ours: &UnixStream) {
    let tracers = ours.as_raw_fd();
    // SAFETY: only system calls that are safe between fork and exec; no allocation. The closed descriptor is this
    // process's copy, which nothing here uses.
    unsafe {
        command.pre_exec(move || {
            // This process must not hold both ends, or the tracer would never see the end of the connection.
            libc::close(tracers);
            // Both as in measured runs; a container may refuse the first.
            let _ = personality::get().and_then(|now| personality::set(now | Persona::ADDR_NO_RANDOMIZE));
            let _ = setrlimit(Resource::RLIMIT_CORE, 0, 0);
            ptrace::introduce(&theirs)
        });
    }
}

/// Waits for the tracer and combines its result with the exit status of the test.
fn answer(tracer: &Receiver<End>, mut child: Child, limit: Duration) -> Result<Execution> {
    let deadline = Instant::now() + limit;
    let mut cut_short = None;
    let end = loop {
        let left = deadline.saturating_duration_since(Instant::now());
        match tracer.recv_timeout(left.min(LOOK)) {
            Ok(end) => break end,
            Err(RecvTimeoutError::Disconnected) => break End::Unseen(TraceFailure::TracerFailed),
            Err(RecvTimeoutError::Timeout) => {}
        }
        if interrupt::is_requested() {
            cut_short = Some(TraceFailure::Interrupted);
        } else if Instant::now() >= deadline {
            cut_short = Some(TraceFailure::TimedOut(limit));
        }
        if cut_short.is_some() {
            // The tracer sees that, too.
            let _ = child.kill();
        }
    };
    // When the tracer ends, everything that it still traced is killed.
    let status = child.wait().map_err(|error| Error::setup(format!("cannot wait for a traced test: {error}")))?;
    Ok(match (end, cut_short) {
        (End::Hit(entered), _) => Execution::Yes(entered),
        (_, Some(why)) | (End::Unseen(why), _) => Execution::Unknown(why),
        (End::NotStarted | End::Refused(_), _) => Execution::Unknown(TraceFailure::NotStarted(status)),
        (End::Over, _) if !status.success() => Execution::Unknown(TraceFailure::Fails(status)),
        (End::Over, _) => Execution::No,
    })
}
