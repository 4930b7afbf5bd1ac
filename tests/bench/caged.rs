//! Does a generated workload leave its cage, or leave anything behind, however a run ends?
//!
//! `cargo bench --bench caged -- --runs 100` generates workloads for functions that delete, write, read, start
//! programs, connect, wait, and use up time and memory. It kills or starves the tool at random.

#[expect(dead_code, reason = "nothing is cloned")]
mod copy;
mod invocation;
mod repository;
#[expect(dead_code, reason = "no versions are listed")]
mod tool;

use clap::Parser;
use fastrand::Rng;
use invocation::Place;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};
use tool::{Tool, clean};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

const FILES: [(&str, &str); 3] = [
    (".gitignore", "/target\n"),
    ("Cargo.toml", "[package]\nname = \"trapped\"\nversion = \"0.0.0\"\nedition = \"2021\"\n"),
    ("src/lib.rs", include_str!("../fixtures/caged/base/src/lib.rs")),
];
const HEAD: &str = include_str!("../fixtures/caged/head/src/lib.rs");

/// Time in which the keeper and the kernel must end the tool's processes.
const GRACE: Duration = Duration::from_secs(5);
/// Longest time of an undisturbed run.
const LONGEST: Duration = Duration::from_mins(15);

/// End runs with dangerous workloads at random.
#[derive(Debug, Parser)]
#[command(name = "caged", max_term_width = 100)]
struct Arguments {
    /// Number of runs
    #[arg(long, default_value_t = 100, value_name = "N")]
    runs: usize,
    /// Seed of the draws
    #[arg(long, default_value_t = 1, value_name = "N")]
    seed: u64,
    #[command(flatten)]
    place: Place,
}

/// Disturbance of a run.
#[derive(Debug, Clone, Copy)]
enum Fate {
    Signal(&'static str, Duration),
    /// A limit by the shell's `ulimit`.
    Limit(&'static str, u64),
}

fn main() -> Result<()> {
    invocation::arguments("caged -- --runs N [OPTIONS]").map_or(Ok(()), |arguments| run(&arguments))
}

fn run(arguments: &Arguments) -> Result<()> {
    let work = arguments.place.work()?;
    let ground = Ground::new(work.as_ref(), &arguments.place.tool(&[])?)?;
    let mut random = Rng::with_seed(arguments.seed);
    // The first run builds everything for the others.
    println!("unharmed: {}; {}", ground.attempt(&["generate", "HEAD"], None)?, ground.wrongs()?.join(", "));
    ground.forget()?;
    let started = Instant::now();
    println!("again: {}; {}", ground.attempt(&["generate", "HEAD"], None)?, ground.wrongs()?.join(", "));
    let longest = started.elapsed();
    let mut tally: BTreeMap<&str, (usize, usize, usize)> = BTreeMap::new();
    let mut wrongs = Vec::new();
    for number in 1..=arguments.runs {
        let fate = draw(&mut random, longest);
        let asked: &[&str] = if random.bool() {
            &["generate", "HEAD"]
        } else {
            &["diff", "HEAD", "--generated", "--explain", "never", "--per-test-budget", "1s"]
        };
        ground.forget()?;
        let ended = ground.attempt(asked, Some(fate))?;
        let found = ground.wrongs()?;
        let row = tally.entry(kind(fate)).or_default();
        row.0 += 1;
        row.1 += usize::from(ended.ends_with("tried calls"));
        row.2 += usize::from(!found.is_empty());
        println!("{number}: {} {fate:?}: {ended}; {}", asked[0], found.join(", "));
        wrongs.extend(found);
    }
    println!("\n{:<12} {:>5} {:>12} {:>6}", "end", "runs", "tried calls", "wrong");
    for (kind, (runs, tried, wrong)) in tally {
        println!("{kind:<12} {runs:>5} {tried:>12} {wrong:>6}");
    }
    ground.forget()?;
    println!("\nafter all: {}; {}", ground.attempt(&["generate", "HEAD"], None)?, ground.wrongs()?.join(", "));
    if wrongs.is_empty() { Ok(()) } else { Err(format!("{} wrong", wrongs.len()).into()) }
}

fn draw(random: &mut Rng, longest: Duration) -> Fate {
    let within = |random: &mut Rng| longest.mul_f64(random.f64());
    match random.u8(0..5) {
        0 | 1 => Fate::Signal("KILL", within(random)),
        2 => Fate::Signal("INT", within(random)),
        3 => Fate::Limit("-v", random.u64(200_000..6_000_000)),
        _ => Fate::Limit("-t", random.u64(1..5)),
    }
}

fn kind(fate: Fate) -> &'static str {
    match fate {
        Fate::Signal(name, _) => name,
        Fate::Limit("-v", _) => "memory",
        Fate::Limit(..) => "time",
    }
}

/// A repository with dangerous functions, a home folder, and a temporary folder.
struct Ground {
    executable: PathBuf,
    work: PathBuf,
    tree: PathBuf,
    before: BTreeMap<PathBuf, Vec<u8>>,
}

impl Ground {
    fn new(work: &Path, tool: &Tool) -> Result<Self> {
        let tree = repository::write(&work.join("trapped"), FILES)?;
        fs::write(tree.join("src/lib.rs"), HEAD)?;
        for folder in ["home", "temporary", "cache"] {
            fs::create_dir_all(work.join(folder))?;
        }
        let mut ground =
            Self { executable: tool.executable.clone(), work: work.to_owned(), tree, before: BTreeMap::new() };
        ground.before = ground.contents()?;
        Ok(ground)
    }

    /// Returns the user's files: all except builds, git's index, and the tool's cache.
    fn contents(&self) -> Result<BTreeMap<PathBuf, Vec<u8>>> {
        let mut found = BTreeMap::new();
        let mut open = vec![self.work.clone()];
        while let Some(folder) = open.pop() {
            for entry in fs::read_dir(folder)? {
                let path = entry?.path();
                if path == self.tree.join("target") || path == self.work.join("cache") || path.ends_with(".git/index") {
                    continue;
                }
                if path.is_dir() {
                    found.insert(path.clone(), Vec::new());
                    open.push(path);
                } else {
                    found.insert(path.clone(), fs::read(&path)?);
                }
            }
        }
        Ok(found)
    }

    /// Removes all results of generation.
    fn forget(&self) -> Result<()> {
        let known = self.tree.join("target/perfunit/generated");
        if known.exists() {
            fs::remove_dir_all(known)?;
        }
        Ok(())
    }

    /// Runs the tool until it ends or is disturbed, and describes the end.
    fn attempt(&self, arguments: &[&str], fate: Option<Fate>) -> Result<String> {
        let mut command = match fate {
            Some(Fate::Limit(what, most)) => {
                let mut command = clean("sh", &self.tree);
                command.args(["-c", &format!("ulimit {what} {most}; exec \"$0\" \"$@\"")]).arg(&self.executable);
                command
            }
            _ => clean(&self.executable, &self.tree),
        };
        // Cargo's and rustup's folders stay the same.
        let home = std::env::var_os("HOME").map(PathBuf::from).unwrap_or_default();
        for (name, below) in [("CARGO_HOME", ".cargo"), ("RUSTUP_HOME", ".rustup")] {
            command.env(name, std::env::var_os(name).map_or_else(|| home.join(below), PathBuf::from));
        }
        command.env("HOME", self.work.join("home")).env("TMPDIR", self.work.join("temporary"));
        command.env("XDG_CACHE_HOME", self.work.join("cache")).env("PERFUNIT_LOG", "off");
        let log = self.work.join("cache/stderr");
        let child = command.args(arguments).stdout(Stdio::null()).stderr(fs::File::create(&log)?).spawn()?;
        let ended = end(child, fate)?;
        let tried = if fs::read_to_string(&log)?.contains("Trying") { "tried calls" } else { "no call yet" };
        Ok(format!("{ended}, {tried}"))
    }

    /// Returns changed files and remaining processes.
    fn wrongs(&self) -> Result<Vec<String>> {
        let deadline = Instant::now() + GRACE;
        while !self.running().is_empty() && Instant::now() < deadline {
            sleep(Duration::from_millis(100));
        }
        let mut wrongs: Vec<String> = self.running().into_iter().map(|name| format!("runs: {name}")).collect();
        let now = self.contents()?;
        let paths = now.keys().chain(self.before.keys()).filter(|path| now.get(*path) != self.before.get(*path));
        wrongs.extend(paths.map(|path| format!("changed: {}", path.display())));
        Ok(wrongs)
    }

    /// Returns processes with executable, folder or arguments in our folder.
    fn running(&self) -> Vec<String> {
        let ours = self.work.to_string_lossy().into_owned();
        let own = std::process::id().to_string();
        let processes = fs::read_dir("/proc").into_iter().flatten().flatten().map(|entry| entry.path());
        let is_ours = |process: &PathBuf| {
            let link =
                |name: &str| fs::read_link(process.join(name)).unwrap_or_default().to_string_lossy().into_owned();
            let typed = fs::read(process.join("cmdline")).unwrap_or_default();
            [link("exe"), link("cwd"), String::from_utf8_lossy(&typed).into_owned()]
                .iter()
                .any(|text| text.contains(&ours))
        };
        let others = processes.filter(|process| !process.ends_with(&own));
        others.filter(is_ours).map(|process| process.display().to_string()).collect()
    }
}

fn end(mut child: Child, fate: Option<Fate>) -> Result<String> {
    let started = Instant::now();
    let (signal, after) = match fate {
        Some(Fate::Signal(name, after)) => (name, after),
        _ => ("KILL", LONGEST),
    };
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status.to_string());
        }
        if started.elapsed() >= after {
            Command::new("kill").args([format!("-{signal}"), child.id().to_string()]).status()?;
            return Ok(child.wait()?.to_string());
        }
        sleep(Duration::from_millis(20));
    }
}
