//! cargo-perfunit as a program: where it is, what it is asked, what it answers.

use serde_json::Value;
use std::env;
use std::fmt;
use std::io;
use std::path::PathBuf;
use std::process::{Command, ExitStatus, Stdio};

/// The version to compare with.
const BASE_VARIABLE: &str = "PERFUNIT_BASE";
/// The version of its documents that we understand.
const SCHEMA: u64 = 4;
/// Digits that name a commit.
const SHORT: usize = 16;
/// What cargo and cargo-nextest tell a test about its own package and run; about others it would be wrong.
const NOT_HANDED_ON: [&str; 7] =
    ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_BIN_", "CARGO_CRATE_NAME", "CARGO_PRIMARY_PACKAGE", "OUT_DIR", "NEXTEST"];

/// The program with its arguments.
pub struct Tool {
    program: PathBuf,
    arguments: Vec<String>,
}

/// A test that a change can reach.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// Its target, as cargo-nextest names it.
    pub target: String,
    /// Its name in the target.
    pub name: String,
}

impl fmt::Display for Listed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.target, self.name)
    }
}

/// Why it gives no answer.
#[derive(Debug)]
pub enum NoAnswer {
    NotStarted {
        program: PathBuf,
        error: io::Error,
    },
    /// It printed no document; its message is on stderr.
    Failed {
        subcommand: &'static str,
        status: ExitStatus,
    },
    /// Its document is not one that we understand.
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
                return write!(f, "cargo perfunit {subcommand} failed, see its message ({status})");
            }
            Self::OtherSchema { found } => format!("schema version {found} instead of {SCHEMA}"),
            Self::MissingTests => "no tests".to_owned(),
            Self::MissingText => "a text is missing".to_owned(),
        };
        write!(
            f,
            "cargo-perfunit's answer is not understood ({why}): do its version and that of perfunit-runtime go together?"
        )
    }
}

impl Tool {
    /// Looks where cargo looks for its subcommands.
    pub fn find(arguments: &[&str]) -> Option<Self> {
        let home = env::var_os("CARGO_HOME").map(PathBuf::from);
        let home = home.or_else(|| Some(PathBuf::from(env::var_os("HOME")?).join(".cargo")));
        let path = env::var_os("PATH").unwrap_or_default();
        let folders = env::split_paths(&path).chain(home.map(|home| home.join("bin")));
        let program = folders.map(|folder| folder.join("cargo-perfunit")).find(|program| program.is_file())?;
        Some(Self { program, arguments: arguments.iter().map(|argument| (*argument).to_owned()).collect() })
    }

    /// The version that is compared with, and the tests that the change can reach.
    pub fn list(&self) -> Result<(String, Vec<Listed>), NoAnswer> {
        let typed = env::var(BASE_VARIABLE).ok().filter(|base| !base.is_empty());
        let document = self.ask("list", &[], typed.as_slice())?;
        let base = match typed {
            Some(base) => base,
            // In full it would fill the line of a message.
            None => text(&document["base"]["commit"])?.chars().take(SHORT).collect(),
        };
        let tests = document["tests"].as_array().ok_or(NoAnswer::MissingTests)?;
        let selected = tests.iter().filter(|test| test["selected"] == true);
        let listed = |test: &Value| Ok(Listed { target: text(&test["target"])?, name: text(&test["name"])? });
        Ok((base, selected.map(listed).collect::<Result<_, NoAnswer>>()?))
    }

    /// Has these tests measured, or all if there are none; so many others are measured by other processes, and all of
    /// them together may err as rarely as one run.
    pub fn diff(&self, base: &str, names: &[String], others: usize) -> Result<Value, NoAnswer> {
        let others = others.to_string();
        let mut options = vec!["--explain", "never"];
        if !names.is_empty() {
            options.extend(["--exact", "--others", &others]);
        }
        let words = [&[base.to_owned()], names].concat();
        self.ask("diff", &options, &words)
    }

    /// Runs a subcommand; its notes and errors go where ours go.
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
