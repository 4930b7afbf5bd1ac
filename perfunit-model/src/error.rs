//! Expected failures: the problem, its place, a hint and the exit code. All other failures are bugs (exit code 70).

use super::guesses::PASSING_FAILURES;
use super::{Conclusion, Side};
use std::fmt;

/// Exit codes, the same as cargo-nextest's where it has them. `docs/exit-codes.md` documents them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum ExitCode {
    Success = 0,
    /// The command line or the configuration is wrong.
    Usage = 2,
    /// There is nothing to measure, with `--no-tests=fail`.
    NothingToMeasure = 4,
    /// A bug in cargo-perfunit.
    Internal = 70,
    /// At least one test got slower.
    Regression = 100,
    /// Base or head does not build.
    BuildFailed = 101,
    /// git or cargo metadata failed, or the environment is unusable.
    SetupFailed = 102,
    /// Selected tests fail on base and none could be measured.
    TestsFailOnBase = 103,
    /// At least one test passes on base and fails or crashes on head.
    TestsFailOnHead = 104,
    /// At least one test is inconclusive with `--deny inconclusive` or probably slower with `--deny unconfirmed`,
    /// another denied finding could not be checked, or there was no time for any test.
    Inconclusive = 105,
    /// No test executes at least one changed function, with `--deny uncovered`.
    Uncovered = 106,
    Interrupted = 130,
}

impl ExitCode {
    /// All exit codes, by number.
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

    /// Returns the meaning of the code for help and man pages.
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
                "at least one test is inconclusive (with --deny inconclusive) or probably slower (with --deny unconfirmed), \
                 another denied finding could not be checked, or --budget left no time for any test"
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
            Conclusion::Slower
            | Conclusion::Grows
            | Conclusion::FunctionSlower
            | Conclusion::ProgramSlower
            | Conclusion::SlowerThanRatchet
            | Conclusion::GeneratedSlower => Self::Regression,
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
    /// Output of cargo.
    pub output: String,
}

impl Broken {
    /// Returns true if another attempt may succeed.
    pub fn may_pass(&self) -> bool {
        PASSING_FAILURES.iter().any(|sign| self.output.contains(sign))
    }

    /// Returns cargo's first error in one line.
    pub fn first_error(&self) -> &str {
        let lines = || self.output.lines();
        let is_error = |line: &&str| line.trim_start().starts_with("error");
        lines().find(is_error).or_else(|| lines().find(|line| !line.trim().is_empty())).unwrap_or("").trim()
    }
}

/// Result of a stage.
pub type Result<T> = std::result::Result<T, Error>;

/// Reason for ending a step early.
#[derive(Debug)]
pub enum Stop<Why> {
    /// The requested result is not available. This is a fact to report.
    Because(Why),
    /// The whole run fails.
    Failed(Error),
}

/// Result of a step that may not be available.
pub type Tried<T, Why> = std::result::Result<T, Stop<Why>>;

impl<Why> Stop<Why> {
    /// Converts the fact into the caller's type.
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

/// Separates facts from failures.
pub fn apart<T, Why>(tried: Tried<T, Why>) -> Result<std::result::Result<T, Why>> {
    match tried {
        Ok(done) => Ok(Ok(done)),
        Err(Stop::Because(why)) => Ok(Err(why)),
        Err(Stop::Failed(error)) => Err(error),
    }
}

impl Error {
    /// Creates a failure. `message` is lowercase and names the path, revision or command.
    pub fn new(code: ExitCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), hint: None, broken: None }
    }

    /// Creates a failure of git, cargo metadata or the environment.
    pub fn setup(message: impl Into<String>) -> Self {
        Self::new(ExitCode::SetupFailed, message)
    }

    /// Creates an error in the command line or the configuration.
    pub fn usage(message: impl Into<String>) -> Self {
        Self::new(ExitCode::Usage, message)
    }

    /// Adds a hint on how to solve the problem.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Adds a remark to the message, in parentheses.
    #[must_use]
    pub fn remark(mut self, remark: impl fmt::Display) -> Self {
        self.message = format!("{} ({remark})", self.message);
        self
    }

    /// Adds the version that does not build.
    #[must_use]
    pub fn with_broken(mut self, side: Side, output: impl Into<String>) -> Self {
        self.broken = Some(Box::new(Broken { side, output: output.into() }));
        self
    }

    /// Returns the version that does not build, if that is the failure.
    pub fn as_broken(&self) -> Option<&Broken> {
        self.broken.as_deref()
    }

    pub fn code(&self) -> ExitCode {
        self.code
    }

    /// Returns the message without the hint.
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
