//! Generated workloads: calls made up for functions that no test executes.

use super::format::one_line;
use super::{Function, TargetId, TestId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A call of a function with arguments made up for it, as source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GeneratedCall {
    pub function: Function,
    /// Where it stands: private items of this module are in reach.
    pub module: ModulePlace,
    /// A block that makes the arguments, `{ ((first,), (second,)) }`: those that are given to the function, and those that
    /// are lent to it. `n: usize` is the size asked for.
    pub setup: String,
    /// The expression that is measured. `input` are the arguments given, by value, and `lent` those that outlive the call;
    /// all are fresh for each.
    pub call: String,
    /// Whether the arguments depend on `n`.
    pub is_sized: bool,
    /// Whether it calls a caller of the function: whether that calls it is to be seen.
    #[serde(default)]
    pub by_caller: bool,
}

/// A module of a crate.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ModulePlace {
    /// Its file, from the root of the repository.
    pub file: String,
    /// Inline modules from the file's own to it.
    pub inline: Vec<String>,
}

/// Why there is no workload for a function.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum NotGenerated {
    /// A macro writes it, or a condition leaves it out: the source of its crate has no such function.
    NotInSource,
    /// An `unsafe fn`.
    Unsafe,
    /// Private, and it relies on what only its module guarantees: it has unsafe code or takes raw pointers.
    ReliesOnInvariants,
    /// No value of a type could be made.
    NoValue { of: String },
    /// It is in no library or binary whose unit tests are built.
    NoTarget,
    /// It is new, or its module is.
    NotOnBase,
    /// None of the calls compiles with both versions.
    DoesNotCompile { error: String },
    /// Every call fails, leaves the cage, or does not end.
    Fails { how: CallFailure },
    /// Calls pass, but none executes the function.
    NotExecuted,
    /// Not the same work twice.
    NotRepeatable,
    /// Time was up.
    OutOfBudget,
}

/// How a call ended that is no workload.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum CallFailure {
    Panics {
        message: String,
    },
    /// It asked the kernel for something that the cage does not allow.
    LeavesCage {
        system_call: SystemCall,
    },
    /// It exits, aborts or crashes.
    EndsProcess {
        status: String,
    },
    DoesNotEnd,
}

/// What a call must not ask the kernel for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum SystemCall {
    OpenFile,
    ChangeFiles,
    Read,
    StartProcess,
    Network,
    Sleep,
    Other { number: u32 },
}

/// A call that is kept as a workload.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GeneratedWorkload {
    pub call: GeneratedCall,
    /// The target whose unit tests it joins.
    pub target: TargetId,
    /// The name of its test function.
    pub name: String,
    /// Its path inside the crate, as libtest prints it.
    pub test: String,
    /// The size of its arguments.
    pub n: usize,
    /// Time of a call on base, roughly.
    pub ns: u64,
    /// What it returns on base, if that can be printed.
    pub value: Option<String>,
}

/// What was found for some functions.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Generation {
    pub workloads: Vec<GeneratedWorkload>,
    pub without: Vec<WithoutWorkload>,
}

/// A function without a workload.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WithoutWorkload {
    #[serde(flatten)]
    pub function: Function,
    pub because: NotGenerated,
}

impl Generation {
    /// What a test calls.
    pub fn workload(&self, test: &TestId) -> Option<&GeneratedWorkload> {
        self.workloads.iter().find(|workload| workload.target == test.target && workload.test == test.name)
    }

    /// Whether there was no time for some functions.
    pub fn is_cut_short(&self) -> bool {
        self.without.iter().any(|without| without.because == NotGenerated::OutOfBudget)
    }
}

impl fmt::Display for NotGenerated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotInSource => {
                f.write_str("not in the source of its crate: a macro writes it, or a condition leaves it out")
            }
            Self::Unsafe => f.write_str("unsafe: only its callers know what it relies on"),
            Self::ReliesOnInvariants => f.write_str(
                "private, with unsafe code or raw pointers in it or behind it: only its crate knows what they rely on",
            ),
            Self::NoValue { of } => write!(f, "no value of `{}` could be made", one_line(of)),
            Self::NoTarget => f.write_str("in no library or binary whose unit tests are built"),
            Self::NotOnBase => f.write_str("it is not in base: there is nothing to compare with"),
            Self::DoesNotCompile { error } => write!(f, "no call compiles with both versions: {}", one_line(error)),
            Self::Fails { how } => write!(f, "{how}"),
            Self::NotExecuted => f.write_str("no call executes it"),
            Self::NotRepeatable => f.write_str("its calls do not return the same twice"),
            Self::OutOfBudget => f.write_str("the budget was used up"),
        }
    }
}

impl fmt::Display for CallFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Panics { message } => write!(f, "its calls panic: {}", one_line(message)),
            Self::LeavesCage { system_call } => write!(f, "its calls {system_call}, which is not allowed"),
            Self::EndsProcess { status } => write!(f, "its calls end the process ({})", one_line(status)),
            Self::DoesNotEnd => f.write_str("its calls do not end in time"),
        }
    }
}

impl fmt::Display for SystemCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OpenFile => f.write_str("open a file"),
            Self::ChangeFiles => f.write_str("change files"),
            Self::Read => f.write_str("read input"),
            Self::StartProcess => f.write_str("start a process"),
            Self::Network => f.write_str("use the network"),
            Self::Sleep => f.write_str("sleep"),
            Self::Other { number } => write!(f, "make the system call {number}"),
        }
    }
}
