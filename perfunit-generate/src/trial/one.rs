//! One trial: a process in the cage, and its report.

use super::candidate::Candidate;
use perfunit_build::TestExecutable;
use perfunit_model::error::{Error, Stop, Tried};
use perfunit_model::{CallFailure, SystemCall};
use perfunit_runtime::page::{TRIAL_REPORT, TRIAL_VARIABLE};
use perfunit_system::interrupt;
use perfunit_system::os::{self, unix::process::ExitStatusExt as _};
use perfunit_system::process::{self, Output, Streams};
use perfunit_system::temporary::TestFolder;
use std::process::Command;
use std::time::Duration;

/// Time limit for a trial. Computing is limited to two seconds of processor time, but a future that is never woken
/// would wait forever.
const LONGEST: Duration = Duration::from_secs(5);

/// Result of a call that passed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Passed {
    pub ns: u64,
    /// Number of times that the function was executed.
    pub executed: u64,
    /// True if two consecutive calls returned the same.
    pub repeats: bool,
    pub fingerprint: String,
    /// Printed result, if it implements `Debug`.
    pub text: Option<String>,
}

/// Tries a candidate with arguments of this size.
pub fn run(
    executable: &TestExecutable,
    candidate: &Candidate,
    n: usize,
    temporary: &TestFolder,
) -> Tried<Passed, CallFailure> {
    interrupt::check()?;
    process::spare_children();
    temporary.empty()?;
    let mut command = Command::new(&executable.path);
    command.args(["--exact", candidate.test.as_str(), "--nocapture", "--test-threads=1"]).current_dir(&executable.cwd);
    command.env_clear().envs(executable.environment());
    // A process that runs out of memory would read debug information from files for its backtrace.
    command.envs([temporary.variable()]).env("RUST_BACKTRACE", "0");
    command.env(TRIAL_VARIABLE, format!("{n}:{}", candidate.number));
    let output = process::output_within(&mut command, Streams::Out, LONGEST)?;
    read(&output)
}

fn read(output: &Output) -> Tried<Passed, CallFailure> {
    let report = output.text.lines().rev().find_map(|line| line.strip_prefix(TRIAL_REPORT));
    let fields: Vec<&str> = report.unwrap_or_default().split('\t').collect();
    let passed = |ns: &str, executed: &str, repeats: &str, fingerprint: &str, text: &str| {
        Some(Passed {
            ns: ns.parse().ok()?,
            executed: executed.parse().ok()?,
            repeats: repeats == "true",
            fingerprint: fingerprint.to_owned(),
            text: (!text.is_empty()).then(|| unescape(text)),
        })
    };
    let failure = match fields[..] {
        ["uncaged"] => return Err(no_cage().into()),
        ["passed", ns, executed, repeats, fingerprint, text] => {
            return passed(ns, executed, repeats, fingerprint, text).ok_or_else(|| Stop::Because(describe_end(output)));
        }
        ["panicked", message] => CallFailure::Panics { message: unescape(message) },
        ["left", number] => {
            let system_call = number.parse().map_or(SystemCall::Other { number: u32::MAX }, os::system_call);
            CallFailure::LeavesCage { system_call }
        }
        _ => describe_end(output),
    };
    Err(Stop::Because(failure))
}

fn no_cage() -> Error {
    Error::setup("the kernel refuses to restrict a process with seccomp; generated workloads never run unrestricted")
        .hint("allow seccomp, or run without `--generated`")
}

/// Returns how a process ended that reported nothing.
fn describe_end(output: &Output) -> CallFailure {
    match output.status {
        None => CallFailure::DoesNotEnd,
        Some(status) if status.signal() == Some(os::OUT_OF_TIME) => CallFailure::DoesNotEnd,
        // All signals are blocked while a process is started, including the one whose handler would have reported.
        Some(status) if status.signal() == Some(os::OUT_OF_CAGE) => {
            CallFailure::LeavesCage { system_call: SystemCall::StartProcess }
        }
        Some(status) => CallFailure::EndsProcess { status: status.to_string() },
    }
}

/// Reverses `escape_debug`.
fn unescape(text: &str) -> String {
    syn::parse_str::<syn::LitStr>(&format!("\"{text}\"")).map_or_else(|_| text.to_owned(), |literal| literal.value())
}

#[cfg(test)]
mod tests {
    use super::*;
    use perfunit_model::error::apart;

    #[track_caller]
    fn check(text: &str, expected: &Result<Passed, CallFailure>) {
        let output = Output { status: None, text: format!("running 1 test\n{text}\n") };
        assert_eq!(&apart(read(&output)).unwrap(), expected);
    }

    #[test]
    fn reports_are_read() {
        let passed = Passed { ns: 7, executed: 2, repeats: true, fingerprint: "1f".to_owned(), text: None };
        check("perfunit-trial: passed\t7\t2\ttrue\t1f\t", &Ok(passed.clone()));
        let text = Some("Some(\"a\tb\")".to_owned());
        check("perfunit-trial: passed\t7\t2\ttrue\t1f\tSome(\\\"a\\tb\\\")", &Ok(Passed { text, ..passed }));
        check("perfunit-trial: panicked\tno\\nway", &Err(CallFailure::Panics { message: "no\nway".to_owned() }));
        check("test x ... ", &Err(CallFailure::DoesNotEnd));
    }

    #[test]
    fn what_left_the_cage_is_named() {
        let number = libc::SYS_execve;
        let system_call = SystemCall::StartProcess;
        check(&format!("perfunit-trial: left\t{number}"), &Err(CallFailure::LeavesCage { system_call }));
    }
}
