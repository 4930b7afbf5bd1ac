//! The cargo-perfunit executable: where it is, how it is called, and what it prints.

use serde_json::Value;
use std::env;
use std::fmt;
use std::io;
use std::path::PathBuf;
use std::process::{Command, ExitStatus, Stdio};

/// The version to compare with.
const BASE_VARIABLE: &str = "PERFUNIT_BASE";
/// `schema_version` of the tool's JSON that this module understands.
const SCHEMA: u64 = 4;
/// Digits of an abbreviated commit ID.
const SHORT: usize = 16;
/// Prefixes of variables that cargo and cargo-nextest set for a test about its own package and run. They would be wrong
/// for other packages, so the tool does not get them.
const NOT_HANDED_ON: [&str; 7] =
    ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_BIN_", "CARGO_CRATE_NAME", "CARGO_PRIMARY_PACKAGE", "OUT_DIR", "NEXTEST"];

/// The executable and additional arguments.
pub struct Tool {
    program: PathBuf,
    arguments: Vec<String>,
}

/// A test that a change can reach.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// Target, as cargo-nextest names it.
    pub target: String,
    /// Name of the test in its target.
    pub name: String,
}

impl fmt::Display for Listed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.target, self.name)
    }
}

/// Reason why the tool gave no result.
#[derive(Debug)]
pub enum NoAnswer {
    NotStarted {
        program: PathBuf,
        error: io::Error,
    },
    /// The tool printed no JSON document; its message is on stderr.
    Failed {
        subcommand: &'static str,
        status: ExitStatus,
    },
    /// The document has another schema version.
    OtherSchema {
        found: String,
    },
    MissingTests,
    MissingText,
}

impl fmt::Display for NoAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let why = match self {
            Self::NotStarted { program, error } => return write!(f, "cannot start {}: {error}", program.display()),
            Self::Failed { subcommand, status } => {
                return write!(f, "cargo perfunit {subcommand} failed ({status}); see its message above");
            }
            Self::OtherSchema { found } => format!("schema version is {found}, expected {SCHEMA}"),
            Self::MissingTests => "the list of tests is missing".to_owned(),
            Self::MissingText => "a string is missing".to_owned(),
        };
        write!(
            f,
            "cannot read the output of cargo-perfunit ({why}); check that its version matches that of perfunit-runtime"
        )
    }
}

impl Tool {
    /// Finds the executable where cargo looks for its subcommands.
    pub fn find(arguments: &[&str]) -> Option<Self> {
        let home = env::var_os("CARGO_HOME").map(PathBuf::from);
        let home = home.or_else(|| Some(PathBuf::from(env::var_os("HOME")?).join(".cargo")));
        let path = env::var_os("PATH").unwrap_or_default();
        let folders = env::split_paths(&path).chain(home.map(|home| home.join("bin")));
        let program = folders.map(|folder| folder.join("cargo-perfunit")).find(|program| program.is_file())?;
        Some(Self { program, arguments: arguments.iter().map(|argument| (*argument).to_owned()).collect() })
    }

    /// Returns the base version and the tests that the change can reach.
    pub fn list(&self) -> Result<(String, Vec<Listed>), NoAnswer> {
        let typed = env::var(BASE_VARIABLE).ok().filter(|base| !base.is_empty());
        let document = self.ask("list", &[], typed.as_slice())?;
        let base = match typed {
            Some(base) => base,
            // A full commit ID would fill a line of a message.
            None => text(&document["base"]["commit"])?.chars().take(SHORT).collect(),
        };
        let tests = document["tests"].as_array().ok_or(NoAnswer::MissingTests)?;
        let selected = tests.iter().filter(|test| test["selected"] == true);
        let listed = |test: &Value| Ok(Listed { target: text(&test["target"])?, name: text(&test["name"])? });
        Ok((base, selected.map(listed).collect::<Result<_, NoAnswer>>()?))
    }

    /// Measures these tests, or all if `names` is empty. Other processes measure `others` further tests; the
    /// family-wise error rate covers all of them.
    pub fn diff(&self, base: &str, names: &[String], others: usize) -> Result<Value, NoAnswer> {
        let others = others.to_string();
        let mut options = vec!["--explain", "never"];
        if !names.is_empty() {
            options.extend(["--exact", "--others", &others]);
        }
        let words = [&[base.to_owned()], names].concat();
        self.ask("diff", &options, &words)
    }

    /// Runs a subcommand and returns its document; stderr is inherited.
    fn ask(&self, subcommand: &'static str, options: &[&str], words: &[String]) -> Result<Value, NoAnswer> {
        let mut command = Command::new(&self.program);
        command.arg(subcommand).args(["--message-format", "json"]).args(options).args(&self.arguments);
        command.arg("--").args(words);
        for (name, _) in env::vars_os() {
            if NOT_HANDED_ON.iter().any(|start| name.to_string_lossy().starts_with(start)) {
                command.env_remove(name);
            }
        }
        command.stdin(Stdio::null()).stderr(Stdio::inherit());
        let output = command.output().map_err(|error| NoAnswer::NotStarted { program: self.program.clone(), error })?;
        let Ok(document) = serde_json::from_slice::<Value>(&output.stdout) else {
            return Err(NoAnswer::Failed { subcommand, status: output.status });
        };
        if document["schema_version"] != SCHEMA {
            return Err(NoAnswer::OtherSchema { found: document["schema_version"].to_string() });
        }
        Ok(document)
    }
}

fn text(value: &Value) -> Result<String, NoAnswer> {
    value.as_str().map(str::to_owned).ok_or(NoAnswer::MissingText)
}
