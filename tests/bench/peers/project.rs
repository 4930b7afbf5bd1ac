//! The crate that all tools measure: its versions, and the benchmark executables of both sides.

use super::{Result, repository, tool};
use perfunit_model::Sides;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Number of operations of base's workloads; 300, so that whole percentages are whole operations.
pub const OPERATIONS: u32 = 300;
/// Kinds of work: names of the tests and benchmarks.
pub const WORKLOADS: [&str; 5] = ["add", "allocate", "format", "print", "hash_and_sort"];

const LIBRARY: &str = include_str!("project/src/lib.rs");
const FILES: [(&str, &str); 12] = [
    (".gitignore", "/target\n"),
    ("Cargo.toml", include_str!("project/Cargo.toml.fixture")),
    ("src/lib.rs", LIBRARY),
    ("peers/Cargo.toml", include_str!("project/peers/Cargo.toml.fixture")),
    ("peers/src/lib.rs", include_str!("project/peers/src/lib.rs")),
    ("peers/benches/criterion.rs", include_str!("project/peers/benches/criterion.rs")),
    ("peers/benches/divan.rs", include_str!("project/peers/benches/divan.rs")),
    ("peers/benches/tango.rs", include_str!("project/peers/benches/tango.rs")),
    ("tango7/Cargo.toml", include_str!("project/tango7/Cargo.toml.fixture")),
    ("tango7/build.rs", include_str!("project/tango7/build.rs")),
    ("tango7/src/lib.rs", include_str!("project/tango7/src/lib.rs")),
    ("tango7/benches/tango7.rs", include_str!("project/tango7/benches/tango7.rs")),
];
/// File with the function that is not measured.
const UNRELATED: &str = "src/unrelated.rs";

/// One version of the crate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Version {
    /// Number of operations of each workload.
    pub operations: u32,
    /// Length of the unrelated function.
    pub steps: usize,
}

/// Benchmark executables by name.
pub type Executables = BTreeMap<String, PathBuf>;

/// The project, with base committed and any version in the working tree.
pub struct Project {
    /// Its repository.
    pub tree: PathBuf,
    /// Key of its content: measurements of another project do not count.
    pub key: String,
    /// A target folder for each side, because executables run where the linker wrote them, as with cargo.
    targets: Sides<PathBuf>,
}

/// Builds of both sides of a pair.
pub struct Built {
    /// Executables for the peers.
    pub executables: Sides<Executables>,
    /// Build time of head, s.
    pub seconds: f64,
}

impl Version {
    /// The committed version.
    pub const BASE: Self = Self { operations: OPERATIONS, steps: 4 };

    fn unrelated(&self) -> String {
        // Generic, so that it is compiled into the executable's own crate, which linkers place before all libraries.
        let mut text = "//! Code that nobody measures.\n\n#[inline(never)]\n\
                        pub fn unrelated<N: Into<u64>>(value: N) -> u64 {\n    let mut value = value.into();\n"
            .to_owned();
        for step in 0..self.steps {
            let _ = writeln!(text, "    value = value.wrapping_mul({}) ^ (value >> {});", 2 * step + 3, step % 11 + 1);
        }
        text + "    value\n}\n"
    }

    fn library(&self) -> String {
        let constant = |operations: u32| format!("OPERATIONS: u32 = {operations};");
        LIBRARY.replacen(&constant(OPERATIONS), &constant(self.operations), 1)
    }
}

impl Project {
    /// Writes the project below `work`, with base committed.
    pub fn write(work: &Path) -> Result<Self> {
        let unrelated = Version::BASE.unrelated();
        let tree = repository::write(&work.join("project"), FILES.into_iter().chain([(UNRELATED, &*unrelated)]))?;
        // Creates or updates the lock file, which must not change later on either side.
        run(tool::clean("cargo", &tree).args(["fetch", "--quiet"]))?;
        repository::commit(&tree, "lock")?;
        let content: String = FILES.into_iter().flat_map(|(path, text)| [path, text]).collect();
        let key = perfunit_system::cache::hash(content.as_bytes());
        Ok(Self { tree, key, targets: Sides { base: work.join("target-base"), head: work.join("target-head") } })
    }

    /// Builds both sides for the peers and leaves head in the working tree.
    pub fn build(&self, head: Version) -> Result<Built> {
        self.lay_out(&Version::BASE)?;
        let base = self.executables(&self.targets.base)?;
        if head == Version::BASE {
            return Ok(Built { executables: Sides { head: base.clone(), base }, seconds: 0.0 });
        }
        self.lay_out(&head)?;
        let started = Instant::now();
        let head = self.executables(&self.targets.head)?;
        Ok(Built { executables: Sides { base, head }, seconds: started.elapsed().as_secs_f64() })
    }

    fn lay_out(&self, version: &Version) -> Result<()> {
        for (path, text) in [("src/lib.rs", version.library()), (UNRELATED, version.unrelated())] {
            let path = self.tree.join(path);
            // A file that is written again would be compiled again.
            if fs::read_to_string(&path)? != text {
                fs::write(&path, text)?;
            }
        }
        Ok(())
    }

    fn executables(&self, target: &Path) -> Result<Executables> {
        let mut cargo = tool::clean("cargo", &self.tree);
        cargo.args(["bench", "--no-run", "--quiet", "--package", "peers", "--package", "tango7"]);
        let printed = run(cargo.args(["--message-format", "json", "--target-dir"]).arg(target))?;
        let mut executables = Executables::new();
        for line in printed.lines() {
            let message: Value = serde_json::from_str(line)?;
            if let (Some(name), Some(path)) = (message["target"]["name"].as_str(), message["executable"].as_str()) {
                executables.insert(name.to_owned(), path.into());
            }
        }
        Ok(executables)
    }

    /// Returns the locked version of a dependency with this beginning.
    pub fn version(&self, name: &str, beginning: &str) -> Option<String> {
        let lock: toml::Table = fs::read_to_string(self.tree.join("Cargo.lock")).ok()?.parse().ok()?;
        let named = lock.get("package")?.as_array()?.iter().filter(|package| package["name"].as_str() == Some(name));
        let mut versions = named.filter_map(|package| package.get("version")?.as_str());
        versions.find(|version| version.starts_with(beginning)).map(str::to_owned)
    }
}

fn run(command: &mut std::process::Command) -> Result<String> {
    let output = command.output()?;
    if !output.status.success() {
        let error = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{command:?}: {}\n{error}", output.status).into());
    }
    Ok(String::from_utf8(output.stdout)?)
}
