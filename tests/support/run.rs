//! One run of the tool: exit code and what it printed.

use serde_json::Value;
use std::process::{Command, Stdio};

/// What a finished process left behind.
#[derive(Debug)]
pub struct Run {
    /// Exit code; a killed process has none, which is never right.
    pub code: i32,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

impl Run {
    /// Runs a command to its end, without input.
    pub fn of(mut command: Command) -> Self {
        let output = command.stdin(Stdio::null()).output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        let (stdout, stderr) = (text(output.stdout), text(output.stderr));
        let code = output.status.code().unwrap_or_else(|| panic!("{}\n{stderr}", output.status));
        Self { code, stdout, stderr }
    }

    /// Fails with everything that was printed unless the exit code is the expected one.
    #[track_caller]
    pub fn expect(self, code: i32) -> Self {
        assert_eq!(self.code, code, "exit code\nstdout:\n{}\nstderr:\n{}", self.stdout, self.stderr);
        self
    }

    /// The JSON document, which must be all that is on stdout.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| {
            panic!("no document on stdout: {error}\nstdout:\n{}\nstderr:\n{}", self.stdout, self.stderr)
        })
    }
}
