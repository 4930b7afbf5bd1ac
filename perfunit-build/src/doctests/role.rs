//! The executable as cargo's rustdoc: extracts the doc tests of a library and compiles them as a test executable.

use super::bundle::{Attribute, Bundle, Part, module_for, test_in};
use super::extraction::{self, DocTest};
use super::order::{Bundled, Doctests, Extracted, Order, RUSTDOC_NAME};
use super::rustc;
use crate::capture_role;
use cargo_metadata::diagnostic::{Diagnostic, DiagnosticLevel, DiagnosticSpan};
use perfunit_model::error::{Error, Result, Stop, Tried, apart};
use perfunit_model::{NoDoctest, NotExtracted};
use perfunit_system::cache;
use perfunit_system::fs;
use perfunit_system::os;
use perfunit_system::os::unix::process::CommandExt as _;
use perfunit_system::process;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Runs the role with the arguments of `rustdoc --test`.
pub fn rustdoc(arguments: impl Iterator<Item = OsString>) -> Result<()> {
    let _ = os::die_with_parent();
    let arguments: Vec<OsString> = arguments.collect();
    let (order, answers) = Order::take()?;
    if !arguments.iter().any(|argument| argument == "--test") {
        let error = Command::new(&order.rustdoc).args(&arguments).exec();
        return Err(Error::setup(format!("cannot start rustdoc: {error}")));
    }
    let package = std::env::var("CARGO_PKG_NAME").unwrap_or_default();
    if !order.packages.contains(&package) {
        return Ok(());
    }
    let library = Library::parse(&arguments)?;
    let bundled = apart(library.extract(&order).and_then(|own| library.bundle(&order, &package, own)))?;
    if let Ok(bundled) = &bundled {
        capture_role::note(&bundled.executable, &library.folder)?;
    }
    Extracted { package, bundled }.answer(&answers)
}

/// The library with the doc tests that cargo runs.
#[derive(Debug, Default)]
struct Library {
    name: String,
    edition: String,
    target: Option<String>,
    /// Folder in which doc tests run.
    folder: PathBuf,
    /// The library's file, as cargo built it.
    file: PathBuf,
    /// Dependencies that doc tests can use, as arguments for rustc.
    dependencies: Vec<String>,
    /// Rustdoc's arguments, except those about running.
    arguments: Vec<OsString>,
}

impl Library {
    fn parse(arguments: &[OsString]) -> Result<Self> {
        let mut library = Self { edition: "2015".to_owned(), ..Self::default() };
        let mut externs = Vec::new();
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            let text = argument.to_string_lossy();
            let (flag, inline) = match text.split_once('=') {
                Some((flag, value)) if flag.starts_with("--") => (flag, Some(value.to_owned())),
                _ => (&*text, None),
            };
            let takes = ["--crate-name", "--edition", "--target", "--test-run-directory", "--extern", "-L"];
            let runs = ["--test-runtool", "--test-runtool-arg"];
            if !takes.contains(&flag) && !runs.contains(&flag) {
                library.arguments.push(argument.clone());
                continue;
            }
            let value = inline.or_else(|| rest.next().map(|value| value.to_string_lossy().into_owned()));
            let value = value.unwrap_or_default();
            if runs.contains(&flag) {
                continue;
            }
            library.arguments.extend([flag, &value].map(OsString::from));
            match flag {
                "--crate-name" => library.name = value,
                "--edition" => library.edition = value,
                "--target" => library.target = Some(value),
                "--test-run-directory" => library.folder = PathBuf::from(value),
                "--extern" => {
                    library.dependencies.extend([flag.to_owned(), value.clone()]);
                    externs.push(value);
                }
                _ => library.dependencies.extend([flag.to_owned(), value]),
            }
        }
        let own = externs.iter().find_map(|value| {
            let (name, file) = value.split_once('=')?;
            (name.rsplit(':').next() == Some(&library.name)).then(|| PathBuf::from(file))
        });
        let error = || Error::setup(format!("{RUSTDOC_NAME} got no `--extern` argument for the library"));
        library.file = own.ok_or_else(error)?;
        let failed = |error: std::io::Error| Error::setup(error.to_string());
        library.folder = std::path::absolute(&library.folder).map_err(failed)?;
        Ok(library)
    }

    /// Extracts the doc tests of this version, or returns the reason why rustdoc cannot.
    fn extract(&self, order: &Order) -> Tried<Vec<DocTest>, NotExtracted> {
        let mut command = Command::new(&order.rustdoc);
        command.args(&self.arguments).args(["-Zunstable-options", "--output-format=doctest"]);
        // Allow unstable options for this process only.
        let output = run(command.env("RUSTC_BOOTSTRAP", "1"))?;
        if !output.status.success() {
            return Err(Stop::Because(NotExtracted::Refused { error: first_error(&output) }));
        }
        let triple = self.target.as_deref().unwrap_or(&order.host);
        extraction::read(&String::from_utf8_lossy(&output.stdout), &self.edition, triple).map_err(Stop::Because)
    }

    /// Compiles the doc tests of the version that provides the texts, leaving out those that do not compile.
    fn bundle(&self, order: &Order, package: &str, own: Vec<DocTest>) -> Tried<Bundled, NotExtracted> {
        let options = rustc::options_of(&self.file)?.ok_or(Stop::Because(NotExtracted::NotRun))?;
        let texts = order.texts(package)?.unwrap_or_else(|| own.clone());
        let (mut modules, mut doctests) = (BTreeSet::new(), Doctests::default());
        let mut parts = Vec::new();
        for test in &texts {
            match &test.code {
                Ok(code) => {
                    let module = module_for(&test.name, &mut modules);
                    doctests.known_as.insert(test.name.clone(), test_in(&module));
                    let part = Part { module, should_panic: test.should_panic, code, attribute: Attribute::Ours };
                    parts.push((test, part));
                }
                Err(why) => drop(doctests.left_out.insert(test.name.clone(), Some(why.clone()))),
            }
        }
        let compiler = Compiler::new(self, order, package, options)?;
        let executable = loop {
            let source: Vec<Part<'_>> = parts.iter().map(|(_, part)| part.clone()).collect();
            let bundle = Bundle::new(&source, &self.name, &self.edition);
            let responsible = match apart(compiler.compile(&bundle))? {
                Ok(executable) => break executable,
                Err(error) if parts.is_empty() => {
                    return Err(Stop::Because(NotExtracted::Refused { error: error.first }));
                }
                Err(error) if error.parts.is_empty() => {
                    (0..parts.len()).map(|part| (part, error.first.clone())).collect()
                }
                Err(error) => error.parts,
            };
            let mut left = Vec::new();
            for (number, (test, mut part)) in parts.into_iter().enumerate() {
                match (responsible.get(&number), part.attribute) {
                    (None, _) => {}
                    (Some(_), Attribute::Ours) => part.attribute = Attribute::BuiltIn,
                    (Some(error), Attribute::BuiltIn) => {
                        doctests.known_as.remove(&test.name);
                        let why = not_compiled(test, &own, error);
                        doctests.left_out.extend(why.map(|why| (test.name.clone(), Some(why))));
                        continue;
                    }
                }
                left.push((test, part));
            }
            parts = left;
        };
        let others = own.iter().filter(|test| !texts.iter().any(|known| known.name == test.name));
        doctests.left_out.extend(others.map(|test| (test.name.clone(), None)));
        Ok(Bundled { executable, own, doctests })
    }
}

/// Returns the reason why a doc test does not compile; `None` if this version does not have the doc test.
fn not_compiled(test: &DocTest, own: &[DocTest], error: &str) -> Option<NoDoctest> {
    let same = own.iter().find(|known| known.name == test.name)?;
    let error = error.to_owned();
    Some(if same.code == test.code { NoDoctest::DoesNotCompile { error } } else { NoDoctest::TextChanged { error } })
}

/// Compiler for bundles of one library.
struct Compiler<'a> {
    library: &'a Library,
    order: &'a Order,
    options: Vec<String>,
    source: PathBuf,
    /// Name of the executable.
    name: String,
    suffix: String,
}

/// Errors of a bundle.
struct BundleError {
    first: String,
    /// Parts with errors, each with its first error.
    parts: BTreeMap<usize, String>,
}

impl<'a> Compiler<'a> {
    fn new(library: &'a Library, order: &'a Order, package: &str, options: Vec<String>) -> Result<Self> {
        fs::create_dir_all(&order.bundles)?;
        // Libraries of different packages can have the same name.
        let suffix = format!("-{}", &cache::hash(package.as_bytes())[..16]);
        let name = format!("doctests_{}", library.name);
        let source = order.bundles.join(format!("{name}{suffix}.rs"));
        Ok(Self { library, order, options, source, name, suffix })
    }

    fn compile(&self, bundle: &Bundle) -> Tried<PathBuf, BundleError> {
        fs::write(&self.source, &bundle.text)?;
        let mut command = Command::new(&self.order.wrapper);
        command.arg(&self.order.rustc).args(["--crate-name", &self.name, "--edition", &self.library.edition]);
        command.arg(&self.source).args(["--test", "--emit", "dep-info,link", "--error-format", "json"]);
        command.arg("--out-dir").arg(&self.order.bundles).args(&self.options);
        command.arg("-C").arg(format!("extra-filename={}", self.suffix));
        command.args(self.library.target.iter().flat_map(|target| ["--target", target]));
        command.args(&self.library.dependencies);
        let output = run(&mut command)?;
        if output.status.success() {
            return Ok(self.order.bundles.join(format!("{}{}", self.name, self.suffix)));
        }
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        let diagnostics = text.lines().filter_map(|line| serde_json::from_str::<Diagnostic>(line).ok());
        let mut error = BundleError { first: String::new(), parts: BTreeMap::new() };
        for diagnostic in diagnostics.filter(|diagnostic| diagnostic.level == DiagnosticLevel::Error) {
            let message = describe(&diagnostic);
            for part in self.places(&diagnostic).flat_map(|line| bundle.parts_at(line)) {
                error.parts.entry(part).or_insert_with(|| message.clone());
            }
            if error.first.is_empty() {
                error.first = message;
            }
        }
        if error.first.is_empty() {
            error.first = first_error(&output);
        }
        Err(Stop::Because(error))
    }

    /// Returns the lines of the bundle that an error refers to.
    fn places<'d>(&self, diagnostic: &'d Diagnostic) -> impl Iterator<Item = usize> + use<'d> {
        let source = self.source.to_string_lossy().into_owned();
        let outwards =
            |span: &'d DiagnosticSpan| std::iter::successors(Some(span), |span| Some(&span.expansion.as_ref()?.span));
        let spans = diagnostic.spans.iter().filter(|span| span.is_primary).flat_map(outwards);
        spans.filter(move |span| span.file_name == source).map(|span| span.line_start)
    }
}

/// Formats an error like rustc: `error[E0425]: cannot find value`.
fn describe(diagnostic: &Diagnostic) -> String {
    let code = diagnostic.code.as_ref().map(|code| format!("[{}]", code.code)).unwrap_or_default();
    format!("error{code}: {}", diagnostic.message)
}

fn run(command: &mut Command) -> Result<Output> {
    let program = command.get_program().to_owned();
    process::output(command)
        .map_err(|error| Error::setup(format!("cannot run {}: {error}", Path::new(&program).display())))
}

fn first_error(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stderr);
    // Old rustdoc versions print errors as JSON, which the arguments request.
    let mut diagnostics = text.lines().filter_map(|line| serde_json::from_str::<Diagnostic>(line).ok());
    if let Some(error) = diagnostics.find(|diagnostic| diagnostic.level == DiagnosticLevel::Error) {
        return describe(&error);
    }
    let line = text.lines().find(|line| line.starts_with("error")).or_else(|| text.lines().next());
    line.map_or_else(|| output.status.to_string(), str::to_owned)
}
