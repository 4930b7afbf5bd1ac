//! Expected failures: what was wrong, where, what to do, and the exit code. Anything else is our bug (code 70).

use super::guesses::PASSING_FAILURES;
use super::{Conclusion, Side};
use std::fmt;

/// Exit codes, the ones of cargo-nextest where it has one. Documented in `docs/exit-codes.md`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum ExitCode {
    Success = 0,
    /// The command line or the configuration is wrong.
    Usage = 2,
    /// Nothing to measure, with `--no-tests=fail`.
    NothingToMeasure = 4,
    /// A bug of ours.
    Internal = 70,
    /// At least one test got slower.
    Regression = 100,
    /// One of the two versions does not build.
    BuildFailed = 101,
    /// git or cargo metadata failed, or the environment is unusable.
    SetupFailed = 102,
    /// Selected tests fail on base and none could be measured.
    TestsFailOnBase = 103,
    /// At least one test passes on base and fails or crashes on head.
    TestsFailOnHead = 104,
    /// At least one test is inconclusive, with `--deny inconclusive`, or probably slower, with `--deny unconfirmed`; or there
    /// is no answer to something else that is denied, or was no time for any test.
    Inconclusive = 105,
    /// At least one changed function is executed by no test, with `--deny uncovered`.
    Uncovered = 106,
    Interrupted = 130,
}

impl ExitCode {
    /// All of them, by number.
    pub const ALL: [Self; 12] = [
        Self::Success,
        Self::Usage,
        Self::NothingToMeasure,
        Self::Internal,
        Self::Regression,
        Self::BuildFailed,
        Self::SetupFailed,
        Self::TestsFailOnBase,
        Self::TestsFailOnHead,
        Self::Inconclusive,
        Self::Uncovered,
        Self::Interrupted,
    ];

    /// What it says, as the help and the man pages put it.
    pub fn meaning(self) -> &'static str {
        match self {
            Self::Success => "no regression",
            Self::Usage => "wrong usage of the command line",
            Self::NothingToMeasure => "nothing to measure (with --no-tests=fail)",
            Self::Internal => "a bug in cargo-perfunit",
            Self::Regression => "at least one test got slower",
            Self::BuildFailed => "base or head does not build",
            Self::SetupFailed => "git, cargo metadata or the environment failed",
            Self::TestsFailOnBase => "all selected tests fail on base",
            Self::TestsFailOnHead => "at least one test passes on base and fails on head",
            Self::Inconclusive => {
                "at least one test is inconclusive (with --deny inconclusive), or probably slower (with --deny unconfirmed), \
                 or something else that is denied could not be decided; or --budget left no time for any test"
            }
            Self::Uncovered => "at least one changed function is executed by no test (with --deny uncovered)",
            Self::Interrupted => "interrupted",
        }
    }
}

impl From<Conclusion> for ExitCode {
    fn from(conclusion: Conclusion) -> Self {
        match conclusion {
            Conclusion::Passed => Self::Success,
            Conclusion::Slower | Conclusion::Grows | Conclusion::SlowerThanRatchet | Conclusion::GeneratedSlower => {
                Self::Regression
            }
            Conclusion::Interrupted => Self::Interrupted,
            Conclusion::FailsOnHead => Self::TestsFailOnHead,
            Conclusion::FailsOnBase => Self::TestsFailOnBase,
            Conclusion::Undecided => Self::Inconclusive,
            Conclusion::Uncovered => Self::Uncovered,
            Conclusion::NothingMeasured => Self::NothingToMeasure,
            Conclusion::NotBuilt => Self::BuildFailed,
            Conclusion::NotCompared => Self::SetupFailed,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    code: ExitCode,
    message: String,
    hint: Option<String>,
    broken: Option<Box<Broken>>,
}

/// A version that does not build.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Broken {
    pub side: Side,
    /// What cargo said.
    pub output: String,
}

impl Broken {
    /// Whether another try may end otherwise.
    pub fn may_pass(&self) -> bool {
        PASSING_FAILURES.iter().any(|sign| self.output.contains(sign))
    }

    /// Cargo's first error, in a line.
    pub fn first_error(&self) -> &str {
        let lines = || self.output.lines();
        let is_error = |line: &&str| line.trim_start().starts_with("error");
        lines().find(is_error).or_else(|| lines().find(|line| !line.trim().is_empty())).unwrap_or("").trim()
    }
}

/// The result of every stage.
pub type Result<T> = std::result::Result<T, Error>;

/// Why a step ended early.
#[derive(Debug)]
pub enum Stop<Why> {
    /// What was asked for cannot be had: a fact, to be reported.
    Because(Why),
    /// The whole run fails.
    Failed(Error),
}

/// The result of a step that may find that what was asked for cannot be had.
pub type Tried<T, Why> = std::result::Result<T, Stop<Why>>;

impl<Why> Stop<Why> {
    /// The same with the fact in the words of who asked.
    pub fn map<Other>(self, other: impl FnOnce(Why) -> Other) -> Stop<Other> {
        match self {
            Self::Because(why) => Stop::Because(other(why)),
            Self::Failed(error) => Stop::Failed(error),
        }
    }
}

impl<Why> From<Error> for Stop<Why> {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

/// Facts apart from failures.
pub fn apart<T, Why>(tried: Tried<T, Why>) -> Result<std::result::Result<T, Why>> {
    match tried {
        Ok(done) => Ok(Ok(done)),
        Err(Stop::Because(why)) => Ok(Err(why)),
        Err(Stop::Failed(error)) => Err(error),
    }
}

impl Error {
    /// A failure with its exit code; `message` is lowercase and names the path, revision or command.
    pub fn new(code: ExitCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), hint: None, broken: None }
    }

    /// git, cargo metadata or the environment failed.
    pub fn setup(message: impl Into<String>) -> Self {
        Self::new(ExitCode::SetupFailed, message)
    }

    /// The command line or the configuration is wrong.
    pub fn usage(message: impl Into<String>) -> Self {
        Self::new(ExitCode::Usage, message)
    }

    /// Adds what the user can do about it.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Adds which version does not build.
    #[must_use]
    pub fn broken(mut self, side: Side, output: impl Into<String>) -> Self {
        self.broken = Some(Box::new(Broken { side, output: output.into() }));
        self
    }

    /// The version that does not build, if it is that.
    pub fn as_broken(&self) -> Option<&Broken> {
        self.broken.as_deref()
    }

    pub fn code(&self) -> ExitCode {
        self.code
    }

    /// What happened, without the hint.
    pub fn message(&self) -> &str {
        &self.message
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        if let Some(hint) = &self.hint {
            write!(f, "\nhint: {hint}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_error_is_shown() {
        let first = |output: &str| Broken { side: Side::Base, output: output.to_owned() }.first_error().to_owned();
        let output = "   Compiling a v0.1.0\nwarning: unused\nerror[E0425]: cannot find value `x`\n --> src/lib.rs:1:1\nerror: could not compile";
        assert_eq!(first(output), "error[E0425]: cannot find value `x`");
        assert_eq!(first("\nsomething else\n"), "something else");
        assert_eq!(first(""), "");
    }
}
