//! Which branches do generated workloads take in addition to a crate's tests?
//!
//! `cargo bench --bench branches -- FOLDER... [OPTIONS]` writes workloads of all functions of each clone as tests into
//! their modules, and counts the branches that these and the crate's own tests take, by rustc's coverage.

mod copy;
#[expect(dead_code, reason = "functions are not changed")]
mod functions;
mod invocation;
#[expect(dead_code, reason = "nothing is compared")]
mod tool;

use cargo_metadata::Message;
use clap::Parser;
use functions::Functions;
use invocation::Place;
use llvm_profparser::coverage::coverage_mapping::read_object_file;
use llvm_profparser::coverage::{Counter, CounterType, ExprKind, FunctionRecordV3, RegionKind};
use llvm_profparser::{merge_profiles, parse};
use perfunit_generate::module_ends;
use std::collections::BTreeSet;
use std::fs;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use tool::{Tool, clean};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// Module of the generated tests.
const MODULE: &str = "generated";

/// Count the branches that generated workloads take.
#[derive(Debug, Parser)]
#[command(name = "branches", max_term_width = 100)]
struct Arguments {
    /// Clones of repositories; they are copied, never changed
    #[arg(required = true, value_name = "FOLDER")]
    clones: Vec<PathBuf>,
    #[command(flatten)]
    place: Place,
}

fn main() -> Result<()> {
    invocation::arguments("branches -- FOLDER... [OPTIONS]").map_or(Ok(()), |arguments| run(&arguments))
}

fn run(arguments: &Arguments) -> Result<()> {
    let work = arguments.place.work()?;
    let tool = arguments.place.tool(&[])?;
    println!("{}", Counts::heading());
    let mut total = Counts::default();
    for clone in &arguments.clones {
        let clone = copy::typed(clone);
        let name = clone.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let folder = work.as_ref().join(&name);
        let tree = copy::of(&clone, &folder)?.canonicalize()?;
        match examine(&tool, &tree, &folder) {
            Ok(counts) => {
                println!("{}", counts.row(&name));
                total.add(&counts);
            }
            Err(error) => println!("{name}: {error}"),
        }
    }
    println!("{}", total.row("all"));
    Ok(())
}

fn examine(tool: &Tool, tree: &Path, folder: &Path) -> Result<Counts> {
    let written = folder.join("generated.rs");
    if written.exists() {
        fs::remove_file(&written)?;
    }
    let output = tool.command(tree, "generate", "HEAD").arg("--all").arg("--write").arg(&written).output()?;
    if !output.status.success() {
        return Err(last_lines(&output.stderr));
    }
    put_into_modules(tree, &fs::read_to_string(&written)?)?;
    let functions = functions::of(tree)?;
    let coverage = Coverage { tree, folder };
    let own = coverage.of("own", &["--skip", &format!("{MODULE}::")], &functions)?;
    let generated = coverage.of("generated", &[&format!("{MODULE}::")], &functions)?;
    Ok(Counts::new(&own, &generated))
}

fn last_lines(text: &[u8]) -> Box<dyn std::error::Error> {
    String::from_utf8_lossy(text).lines().rev().take(5).collect::<Vec<_>>().join(" ").into()
}

/// Inserts written tests at the places named in their first lines.
fn put_into_modules(tree: &Path, written: &str) -> Result<()> {
    for section in written.split("// For ").skip(1) {
        let (place, tests) = section.split_once('\n').ok_or("a section without tests")?;
        let place = place.strip_suffix(", where private items are in scope.").ok_or("a section without a place")?;
        let (file, module) = place.split_once(", inside `mod ").unwrap_or((place, ""));
        let names = module.trim_end_matches('`').split("::").filter(|name| !name.is_empty());
        let inline: Vec<String> = names.map(str::to_owned).collect();
        let path = tree.join(file);
        let mut text = fs::read_to_string(&path)?;
        let ends = module_ends(&text, &inline);
        ends.iter().rev().for_each(|end| text.insert_str(*end, &format!("\n{tests}")));
        fs::write(path, text)?;
    }
    Ok(())
}

/// A side of a branch: file, lines and columns of the condition, and the side.
type Outcome = (String, [usize; 4], bool);

/// Executed code of some tests.
#[derive(Debug, Default)]
struct Passed {
    known: BTreeSet<Outcome>,
    taken: BTreeSet<Outcome>,
    /// Functions by file and line of their names.
    functions: BTreeSet<(String, usize)>,
    executed: BTreeSet<(String, usize)>,
}

struct Coverage<'a> {
    tree: &'a Path,
    folder: &'a Path,
}

impl Coverage<'_> {
    /// Runs the tests selected by libtest's `arguments`.
    fn of(&self, name: &str, arguments: &[&str], functions: &Functions) -> Result<Passed> {
        let objects = self.build()?;
        let profiles = self.folder.join(name);
        if profiles.exists() {
            fs::remove_dir_all(&profiles)?;
        }
        for object in &objects {
            let mut command = clean(&object.path, &object.folder);
            command.args(arguments).env("LLVM_PROFILE_FILE", profiles.join("%p-%m.profraw"));
            let output = command.stdout(Stdio::null()).output()?;
            if !output.status.success() {
                eprintln!("{} ended with {}", object.path.display(), output.status);
            }
        }
        let files: Vec<PathBuf> = fs::read_dir(&profiles)?.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?;
        let version = parse(files.first().ok_or("no test ran")?)?.version().ok_or("a profile without a version")?;
        let profile = merge_profiles(&files)?;
        let mut passed = Passed::default();
        for object in &objects {
            // Executables without a function of the workspace have no coverage map.
            let Ok(info) = read_object_file(&object.path, version) else { continue };
            for record in &info.cov_fun {
                let names = info.get_files_from_id(record.header.filenames_ref);
                let counts =
                    profile.find_record_by_hash(record.header.name_hash).map_or(&[][..], |known| known.counts());
                let relative =
                    |index: usize| Some(names.get(index)?.strip_prefix(self.tree).ok()?.to_str()?.to_owned());
                passed.add(record, counts, &relative, functions);
            }
        }
        Ok(passed)
    }

    fn build(&self) -> Result<Vec<Object>> {
        let mut command = clean("cargo", self.tree);
        // Branch coverage is an unstable option of the stable compiler.
        command
            .env("RUSTC_BOOTSTRAP", "1")
            .env("RUSTFLAGS", "-Cinstrument-coverage -Zcoverage-options=branch --cap-lints=allow");
        // Build scripts also write profiles.
        command.env("LLVM_PROFILE_FILE", self.folder.join("build/%p-%m.profraw"));
        command.args(["test", "--release", "--tests", "--no-run", "--message-format", "json"]);
        let output = command.arg("--target-dir").arg(self.folder.join("target")).output()?;
        if !output.status.success() {
            return Err(last_lines(&output.stderr));
        }
        let messages = Message::parse_stream(BufReader::new(&output.stdout[..])).filter_map(std::result::Result::ok);
        let artifacts = messages.filter_map(|message| match message {
            Message::CompilerArtifact(artifact) if artifact.profile.test => Some(artifact),
            _ => None,
        });
        let object = |artifact: cargo_metadata::Artifact| {
            let folder = artifact.manifest_path.parent()?.as_std_path().to_owned();
            Some(Object { path: artifact.executable?.into(), folder })
        };
        Ok(artifacts.filter_map(object).collect())
    }
}

/// A test executable, and the folder in which cargo runs it.
struct Object {
    path: PathBuf,
    folder: PathBuf,
}

impl Passed {
    fn add(
        &mut self,
        record: &FunctionRecordV3,
        counts: &[u64],
        file: &dyn Fn(usize) -> Option<String>,
        functions: &Functions,
    ) {
        for region in &record.regions {
            let Some(file) = file(region.file_id) else { continue };
            let line = region.loc.line_start;
            // The innermost enclosing function.
            let before = functions.range((file.clone(), 0)..=(file.clone(), line)).rev();
            let Some((place, found)) = before.into_iter().find(|(_, found)| line <= found.last) else { continue };
            match region.kind {
                RegionKind::Code if found.is_wanted() => {
                    self.functions.insert(place.clone());
                    if count(&region.count, record, counts) > 0 {
                        self.executed.insert(place.clone());
                    }
                }
                RegionKind::Branch => {
                    let location = &region.loc;
                    let span = [line, location.column_start, location.line_end, location.column_end];
                    for (side, counter) in [(true, &region.count), (false, &region.false_count)] {
                        let outcome = (file.clone(), span, side);
                        if count(counter, record, counts) > 0 {
                            self.taken.insert(outcome.clone());
                        }
                        self.known.insert(outcome);
                    }
                }
                _ => {}
            }
        }
    }
}

/// Returns the value of a counter or of an expression of counters.
fn count(counter: &Counter, record: &FunctionRecordV3, counts: &[u64]) -> i64 {
    match counter.kind {
        CounterType::Zero => 0,
        CounterType::ProfileInstrumentation => {
            counts.get(counter.id as usize).map_or(0, |count| i64::try_from(*count).unwrap_or(i64::MAX))
        }
        CounterType::Expression(kind) => {
            let Some(expression) = record.expressions.get(counter.id as usize) else { return 0 };
            let (left, right) = (count(&expression.lhs, record, counts), count(&expression.rhs, record, counts));
            match kind {
                ExprKind::Subtract => left.saturating_sub(right),
                ExprKind::Add => left.saturating_add(right),
            }
        }
    }
}

/// Numbers of functions and of sides of branches, and of those executed by each kind of test.
#[derive(Debug, Default)]
struct Counts {
    functions: [usize; 4],
    outcomes: [usize; 4],
}

impl Counts {
    fn new(own: &Passed, generated: &Passed) -> Self {
        fn counted<T: Ord>(known: [&BTreeSet<T>; 2], [own, generated]: [&BTreeSet<T>; 2]) -> [usize; 4] {
            [known[0].union(known[1]).count(), own.len(), generated.len(), own.union(generated).count()]
        }
        Self {
            functions: counted([&own.functions, &generated.functions], [&own.executed, &generated.executed]),
            outcomes: counted([&own.known, &generated.known], [&own.taken, &generated.taken]),
        }
    }

    fn add(&mut self, other: &Self) {
        let pairs = self.functions.iter_mut().zip(other.functions);
        pairs.chain(self.outcomes.iter_mut().zip(other.outcomes)).for_each(|(own, other)| *own += other);
    }

    fn heading() -> String {
        format!(
            "{:<24} {:>9} {:>5} {:>9} {:>5}   {:>8} {:>5} {:>9} {:>5}",
            "crate", "functions", "own", "generated", "both", "branches", "own", "generated", "both"
        )
    }

    fn row(&self, name: &str) -> String {
        let cells = |[all, own, generated, both]: [usize; 4]| {
            let share = |part: usize| format!("{:.0}%", 100.0 * part as f64 / all.max(1) as f64);
            (all, share(own), share(generated), share(both))
        };
        let (functions, outcomes) = (cells(self.functions), cells(self.outcomes));
        format!(
            "{name:<24} {:>9} {:>5} {:>9} {:>5}   {:>8} {:>5} {:>9} {:>5}",
            functions.0, functions.1, functions.2, functions.3, outcomes.0, outcomes.1, outcomes.2, outcomes.3
        )
    }
}
