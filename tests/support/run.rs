//! One run of the tool: its exit code and output.

use serde_json::Value;
use std::process::{Command, Stdio};

/// Result of a finished process.
#[derive(Debug)]
pub struct Run {
    /// Exit code, or a code that no test expects if the process was killed.
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

    /// Asserts the exit code; a failure shows the whole output.
    #[track_caller]
    pub fn expect(self, code: i32) -> Self {
        assert_eq!(self.code, code, "exit code\nstdout:\n{}\nstderr:\n{}", self.stdout, self.stderr);
        self
    }

    /// Parses the JSON document, which must be all of stdout.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| {
            panic!("no document on stdout: {error}\nstdout:\n{}\nstderr:\n{}", self.stdout, self.stderr)
        })
    }
}
