//! Functions and lines that a program executes, as counted by callgrind: ground truth independent of the tool.

use super::{Result, tool};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Function through which libtest calls every test; its name is the same in both mangling schemes.
const TEST_CALLER: &str = "*4test28_*rust_begin_short_backtrace*";

/// Extent of a count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// The test's own thread between its first and last instruction.
    Test,
    /// The whole process with its threads and children.
    Process,
}

/// One test of an executable.
#[derive(Debug, Clone, Copy)]
pub struct Job<'a> {
    /// Executable with the test.
    pub executable: &'a Path,
    /// Name as libtest prints it.
    pub test: &'a str,
    /// Working folder.
    pub folder: &'a Path,
    /// Variables in addition to our own environment.
    pub environment: &'a BTreeMap<String, String>,
}

/// Executed code.
#[derive(Debug, Clone, Default)]
pub struct Profile {
    /// Instructions by name of the object file and of the function.
    pub functions: BTreeMap<(String, String), u64>,
    /// Lines by source file, for files that the caller wants.
    pub lines: BTreeMap<String, BTreeSet<usize>>,
}

impl Profile {
    /// Returns whether the test started a thread or a process, which [`Extent::Test`] does not include.
    pub fn has_company(&self) -> bool {
        let starts = ["pthread_create", "posix_spawn", "fork", "clone"];
        self.functions.keys().any(|(object, name)| {
            object.starts_with("libc") && starts.iter().any(|start| name.trim_start_matches('_').starts_with(start))
        })
    }

    fn read(&mut self, text: &str, wanted: &dyn Fn(&str) -> bool) {
        let (mut object, mut function) = (String::new(), String::new());
        let mut file: Option<String> = None;
        let mut is_call = false;
        for line in text.lines() {
            if let Some((key, value)) = line.split_once('=') {
                match key {
                    "ob" => value.rsplit('/').next().unwrap_or(value).clone_into(&mut object),
                    "fl" | "fi" | "fe" => file = wanted(value).then(|| value.to_owned()),
                    // Callgrind marks recursion levels by a quote and a number.
                    "fn" => value.split('\'').next().unwrap_or(value).clone_into(&mut function),
                    "calls" => is_call = true,
                    _ => {}
                }
                continue;
            }
            let mut fields = line.split_ascii_whitespace().map(str::parse::<u64>);
            let (Some(Ok(number)), Some(Ok(cost))) = (fields.next(), fields.next()) else { continue };
            if let Some(file) = &file {
                self.lines.entry(file.clone()).or_default().insert(number as usize);
            }
            // The line after a call has the cost of the called function, which is counted separately.
            if !std::mem::take(&mut is_call) {
                *self.functions.entry((object.clone(), function.clone())).or_default() += cost;
            }
        }
    }
}

/// Runs callgrind in a scratch folder.
pub struct Callgrind {
    scratch: PathBuf,
    limit: Duration,
}

impl Callgrind {
    /// Creates a runner; `scratch` is emptied before each run, and `limit` is the longest time of a run.
    pub fn new(scratch: PathBuf, limit: Duration) -> Self {
        Self { scratch, limit }
    }

    /// Fails if callgrind is missing.
    pub fn probe() -> Result<()> {
        let output = Command::new("valgrind").arg("--version").output();
        output.map_err(|error| format!("valgrind is needed for the truth: {error}"))?;
        Ok(())
    }

    /// Runs a test; `None` if it did not end in time. It need not pass, because an edit may break it.
    pub fn run(&self, job: Job<'_>, extent: Extent, wanted: &dyn Fn(&str) -> bool) -> Result<Option<Profile>> {
        let _ = std::fs::remove_dir_all(&self.scratch);
        std::fs::create_dir_all(&self.scratch)?;
        let mut command = tool::clean("valgrind", job.folder);
        command.envs(job.environment);
        // For a backtrace, std would read the executable's own symbols, which differ between versions.
        command.env("RUST_BACKTRACE", "0");
        command.args(["--tool=callgrind", "--quiet", "--demangle=no", "--compress-strings=no", "--compress-pos=no"]);
        command.arg(format!("--callgrind-out-file={}/out.%p", self.scratch.display()));
        match extent {
            Extent::Test => command.arg(format!("--toggle-collect={TEST_CALLER}")),
            Extent::Process => command.arg("--trace-children=yes"),
        };
        command.arg(job.executable).args(["--exact", job.test, "--test-threads=1"]);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn()?;
        let started = Instant::now();
        while child.try_wait()?.is_none() {
            if started.elapsed() > self.limit {
                child.kill()?;
                child.wait()?;
                return Ok(None);
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        let mut profile = Profile::default();
        for entry in std::fs::read_dir(&self.scratch)? {
            let path = entry?.path();
            if path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("out.")) {
                profile.read(&String::from_utf8_lossy(&std::fs::read(path)?), wanted);
            }
        }
        Ok(Some(profile))
    }
}
