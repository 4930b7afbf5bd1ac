//! The generated repository: the effect of each commit, and its files.

use super::{Arguments, Result, copy, repository};
use fastrand::Rng;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

/// Number of functions, each with a test. The rounds of the last one are defined in the dependency.
pub const FUNCTIONS: usize = 6;
const OF_DEPENDENCY: usize = FUNCTIONS - 1;
/// Initial rounds of a function; opaque, because the compiler unrolls loops by factors of known numbers.
const ROUNDS: f64 = 4000.0;
/// Sizes of steps in percent.
pub const SIZES: [f64; 4] = [2.0, 3.0, 5.0, 10.0];
/// Effect of each commit of a pair in percent: one alone is below the threshold, both together reach it.
const SMALL: f64 = 0.5;
/// One of this many commits merges a branch.
const MERGES: usize = 10;

/// Effect of a commit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Deed {
    /// Adds comments, unused functions and constants.
    Adds,
    /// Renames an executed function.
    Renames(usize),
    /// Moves a function to another file.
    Moves(usize),
    /// Updates the dependency to a version with more functions.
    Updates,
    /// Breaks the build; the next commit repairs it.
    Breaks,
    /// Makes a function slower by this many percent.
    Step { function: usize, percent: f64 },
    /// Makes a function slower by less than the threshold.
    Small { function: usize },
}

/// A commit on the first-parent line.
#[derive(Debug, Clone, Copy)]
pub struct Commit {
    pub deed: Deed,
    /// True if it merges a branch with the change.
    pub is_merge: bool,
}

impl Commit {
    /// Returns the function and the change in percent, if this is a step.
    pub fn step(self) -> Option<(usize, f64)> {
        match self.deed {
            Deed::Step { function, percent } => Some((function, percent)),
            _ => None,
        }
    }
}

/// Draws all commits; neither the first nor the last one breaks the build.
pub fn draw(arguments: &Arguments) -> Vec<Commit> {
    let mut random = Rng::with_seed(arguments.seed);
    let mut deeds: Vec<Deed> = (0..arguments.commits).map(|_| harmless(&mut random)).collect();
    let mut places: Vec<usize> = (1..arguments.commits.saturating_sub(1)).collect();
    random.shuffle(&mut places);
    let mut places = places.into_iter();
    for (number, place) in places.by_ref().take(arguments.steps).enumerate() {
        let size = SIZES[number % SIZES.len()];
        let percent = if random.u8(0..3) == 0 { -size } else { size };
        deeds[place] = Deed::Step { function: random.usize(0..FUNCTIONS), percent };
    }
    for place in places.by_ref().take(arguments.broken) {
        deeds[place] = Deed::Breaks;
    }
    for (number, place) in places.take(2 * arguments.pairs).enumerate() {
        deeds[place] = Deed::Small { function: number / 2 % FUNCTIONS };
    }
    deeds.into_iter().map(|deed| Commit { deed, is_merge: random.usize(0..MERGES) == 0 }).collect()
}

fn harmless(random: &mut Rng) -> Deed {
    let function = random.usize(0..FUNCTIONS);
    match random.u8(0..8) {
        0 => Deed::Renames(function),
        1 => Deed::Moves(function),
        2 => Deed::Updates,
        _ => Deed::Adds,
    }
}

/// A function at a commit.
#[derive(Debug, Clone, Copy)]
struct Function {
    rounds: f64,
    /// Number after its name.
    version: usize,
    /// Index of its file; 0 is `lib.rs`.
    file: usize,
}

/// The files at a commit.
struct Files {
    functions: [Function; FUNCTIONS],
    extras: String,
    of_dependency: String,
    updates: usize,
    is_broken: bool,
}

/// Creates the repository commit by commit.
pub fn make(tree: &Path, commits: &[Commit]) -> Result<()> {
    fs::create_dir_all(tree)?;
    copy::git(tree, &["init", "--quiet"])?;
    for [name, value] in [["user.name", "Tester"], ["user.email", "tester@example.org"], ["commit.gpgsign", "false"]] {
        copy::git(tree, &["config", name, value])?;
    }
    fs::write(tree.join(".gitignore"), "target\nCargo.lock\n")?;
    let mut files = Files {
        functions: [Function { rounds: ROUNDS, version: 0, file: 0 }; FUNCTIONS],
        extras: String::new(),
        of_dependency: String::new(),
        updates: 0,
        is_broken: false,
    };
    files.write(tree)?;
    repository::commit(tree, "base")?;
    for (number, commit) in commits.iter().enumerate() {
        files.apply(number, commit.deed);
        let message = format!("{number}: {:?}", commit.deed);
        if commit.is_merge {
            copy::git(tree, &["checkout", "--quiet", "-b", &format!("branch-{number}")])?;
            fs::write(tree.join("NOTES"), format!("{number}\n"))?;
            repository::commit(tree, "Notes")?;
        }
        files.write(tree)?;
        repository::commit(tree, &message)?;
        if commit.is_merge {
            copy::git(tree, &["checkout", "--quiet", "-"])?;
            copy::git(tree, &["merge", "--quiet", "--no-ff", "-m", &message, &format!("branch-{number}")])?;
        }
    }
    Ok(())
}

impl Files {
    fn apply(&mut self, number: usize, deed: Deed) {
        self.is_broken = deed == Deed::Breaks;
        match deed {
            Deed::Step { function, percent } => self.slow_down(function, percent),
            Deed::Small { function } => self.slow_down(function, SMALL),
            Deed::Renames(function) => self.functions[function].version = number,
            Deed::Moves(function) => self.functions[function].file = number,
            Deed::Updates => {
                self.updates += 1;
                let _ = writeln!(self.of_dependency, "pub fn update_{number}() -> usize {{ {number} }}");
            }
            Deed::Adds | Deed::Breaks => {
                let _ = match number % 3 {
                    0 => writeln!(self.extras, "// Remark {number}."),
                    1 => writeln!(self.extras, "pub fn unused_{number}() -> usize {{ {number} }}"),
                    _ => writeln!(self.extras, "pub const NUMBER_{number}: usize = {number};"),
                };
            }
        }
    }

    fn slow_down(&mut self, function: usize, percent: f64) {
        self.functions[function].rounds *= 1.0 + percent / 100.0;
        self.updates += usize::from(function == OF_DEPENDENCY);
    }

    fn write(&self, tree: &Path) -> Result<()> {
        for folder in ["src", "dependency/src"] {
            drop(fs::remove_dir_all(tree.join(folder)));
            fs::create_dir_all(tree.join(folder))?;
        }
        let package = |name: &str, version: usize| {
            format!("[package]\nname = \"{name}\"\nversion = \"0.1.{version}\"\nedition = \"2024\"\n")
        };
        let dependencies = "[dependencies]\ndependency = { path = \"dependency\" }\n";
        fs::write(tree.join("Cargo.toml"), package("mined", 0) + dependencies)?;
        fs::write(tree.join("dependency/Cargo.toml"), package("dependency", self.updates))?;
        let rounds = self.functions[OF_DEPENDENCY].rounds;
        let rounds = format!("pub fn rounds() -> u64 {{ std::hint::black_box({rounds:.0}) }}\n");
        fs::write(tree.join("dependency/src/lib.rs"), self.of_dependency.clone() + &rounds)?;
        let mut lib = self.extras.clone();
        let mut tests = String::new();
        for (index, Function { rounds, version, file }) in self.functions.into_iter().enumerate() {
            let rounds = if index == OF_DEPENDENCY {
                "dependency::rounds()".to_owned()
            } else {
                format!("std::hint::black_box({rounds:.0}u64)")
            };
            let text = format!(
                "#[inline(never)]\npub fn work_{index}_{version}(seed: u64) -> u64 {{\n    let mut state = seed | 1;\n    \
                 for round in 0..{rounds} {{ state = (state ^ state << {} ^ state >> 7).wrapping_add(round); }}\n    \
                 state\n}}\n",
                index + 3,
            );
            let (path, module) = match file {
                0 => (String::new(), String::new()),
                number => (format!("part_{number}::"), format!("mod part_{number};\n")),
            };
            if file == 0 {
                lib.push_str(&text);
            } else {
                fs::write(tree.join(format!("src/part_{file}.rs")), text)?;
            }
            let _ =
                writeln!(lib, "{module}pub fn run_{index}(seed: u64) -> u64 {{ {path}work_{index}_{version}(seed) }}");
            let _ = writeln!(
                tests,
                "    #[test] fn test_{index}() {{ assert_ne!(super::run_{index}(1), super::run_{index}(2)); }}"
            );
        }
        let _ = writeln!(lib, "#[cfg(test)]\nmod tests {{\n{tests}}}");
        if self.is_broken {
            lib.push_str("pub fn broken() -> usize { \"no number\" }\n");
        }
        Ok(fs::write(tree.join("src/lib.rs"), lib)?)
    }
}
