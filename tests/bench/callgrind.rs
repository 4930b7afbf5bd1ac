//! Which functions and lines a program executes, as callgrind counts them: a truth that owes nothing to the tool.

use super::{Result, tool};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// libtest calls every test through this function; its name is the same in both manglings.
const TEST_CALLER: &str = "*4test28_*rust_begin_short_backtrace*";

/// What to count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// What the test's own thread does between its first and its last instruction.
    Test,
    /// The whole process with its threads and children.
    Process,
}

/// One test of an executable.
#[derive(Debug, Clone, Copy)]
pub struct Job<'a> {
    /// The executable.
    pub executable: &'a Path,
    /// As libtest prints it.
    pub test: &'a str,
    /// Working folder.
    pub folder: &'a Path,
    /// What is set besides our own environment.
    pub environment: &'a BTreeMap<String, String>,
}

/// What was executed.
#[derive(Debug, Clone, Default)]
pub struct Profile {
    /// Instructions by name of the object's file and of the function.
    pub functions: BTreeMap<(String, String), u64>,
    /// Lines by source file, of files that the caller wanted.
    pub lines: BTreeMap<String, BTreeSet<usize>>,
}

impl Profile {
    /// True if the test started a thread or a process, which [`Extent::Test`] does not see.
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
                    // Callgrind tells recursion levels apart by a quote and a number.
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
            // What follows a call is the cost of the called function, which has lines of its own.
            if !std::mem::take(&mut is_call) {
                *self.functions.entry((object.clone(), function.clone())).or_default() += cost;
            }
        }
    }
}

/// Runs callgrind in a folder of its own.
pub struct Callgrind {
    scratch: PathBuf,
    limit: Duration,
}

impl Callgrind {
    /// `scratch` is emptied at each run; `limit` is the longest run.
    pub fn new(scratch: PathBuf, limit: Duration) -> Self {
        Self { scratch, limit }
    }

    /// Fails with the reason if there is no callgrind.
    pub fn probe() -> Result<()> {
        let output = Command::new("valgrind").arg("--version").output();
        output.map_err(|error| format!("valgrind is needed for the truth: {error}"))?;
        Ok(())
    }

    /// Runs a test; `None` if it did not end in time. Whether it passes does not matter: an edit may break it.
    pub fn run(&self, job: Job<'_>, extent: Extent, wanted: &dyn Fn(&str) -> bool) -> Result<Option<Profile>> {
        let _ = std::fs::remove_dir_all(&self.scratch);
        std::fs::create_dir_all(&self.scratch)?;
        let mut command = tool::clean("valgrind", job.folder);
        command.envs(job.environment);
        // To name the frames of a panic std goes through the executable's own symbols, of which the versions have others.
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
