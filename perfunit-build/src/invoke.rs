//! Runs cargo on one side of the shadow tree.

use super::capture_role::{self, FOLDER_VARIABLE, RUNNER_ARGUMENT};
use super::cargo_output::{ErrorPlace, Messages, follow, only_tests, read_messages};
use super::configuration::configured_targets;
use super::doctests::{self, Order, RUSTDOC_NAME};
use super::fingerprint::Fingerprint;
use super::kept::{self, Artifacts, SideBuild};
use super::key::{self, side_key};
use super::request::Request;
use super::toolchain::Toolchain;
use super::unify::Flags;
use super::{in_place, undeclared};
use perfunit_model::Lto;
use perfunit_model::error::{Error, ExitCode, Result, Stop, Tried};
use perfunit_model::guesses::{BUS_ERROR, DISK_FULL, RUNNER_CONFLICT};
use perfunit_project::cargo::{Cargo, Package};
use perfunit_project::git::{FileSet, Repository};
use perfunit_system::os::unix::fs::symlink;
use perfunit_system::progress::Progress;
use perfunit_system::{cache, fs, interrupt, os, process, term};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Instant;

/// Fewer bytes than this do not hold a test executable.
const LITTLE_SPACE: u64 = 64 << 20;

/// Name of the folder with what is kept of sides.
const SIDES: &str = "sides";

/// Where a build shows how far it is.
pub struct Watch<'a> {
    pub progress: &'a Progress,
    /// Which side it is, for people.
    pub name: String,
}

/// Why a side does not build: rustc or cargo refused.
#[derive(Debug, Default, Clone)]
pub struct BuildFailure {
    /// Root files (in the tree) of the targets with errors, with the first error of each.
    pub roots: BTreeMap<PathBuf, String>,
    /// Where the errors are; of one in a macro also where the macro is called.
    pub places: Vec<ErrorPlace>,
    /// True if only test targets failed, so that our capturing them may be the cause.
    pub only_tests: bool,
    /// Root files (in the tree) of the test executables that were built.
    pub built: BTreeSet<PathBuf>,
    /// It was stopped at a deadline.
    pub stopped: bool,
    /// Everything that cargo wrote.
    pub output: String,
}

impl BuildFailure {
    /// Gives the files in it other names.
    #[must_use]
    pub fn renamed(self, name: &dyn Fn(&Path) -> PathBuf) -> Self {
        let place = |place: ErrorPlace| ErrorPlace { file: name(&place.file), ..place };
        Self {
            roots: self.roots.into_iter().map(|(root, error)| (name(&root), error)).collect(),
            places: self.places.into_iter().map(place).collect(),
            built: self.built.iter().map(|root| name(root)).collect(),
            ..self
        }
    }

    pub fn first_error(&self) -> &str {
        self.output.lines().find(|line| line.starts_with("error")).unwrap_or("cargo failed")
    }
}

/// A side to be built.
pub(super) struct Making<'a> {
    toolchain: &'a Toolchain,
    pub request: Request<'a>,
    watch: Watch<'a>,
    /// The key of the side with its own doc tests.
    own_key: String,
    /// The doc tests of the other side, if this one gets them.
    texts: Option<Texts>,
}

/// Doc tests of the other side.
struct Texts {
    key: String,
    /// The key of a side that gets them.
    side_key: String,
}

impl<'a> Making<'a> {
    pub fn new(toolchain: &'a Toolchain, request: Request<'a>, watch: Watch<'a>) -> Result<Self> {
        let texts = request.texts.filter(|_| !request.doctests().is_empty()).map(doctests::texts_key).transpose()?;
        let texts = texts.map(|key| Ok(Texts { side_key: side_key(toolchain, &request, Some(&key))?, key }));
        Ok(Self { own_key: side_key(toolchain, &request, None)?, texts: texts.transpose()?, toolchain, request, watch })
    }

    /// Returns the side from an earlier run, with stand-ins for its binaries in place.
    pub fn kept(&self) -> Result<Option<SideBuild>> {
        let kept = self.find_kept();
        if let Some(build) = &kept {
            kept::stand_in(self.request.ours, build, self.toolchain.dispatcher.as_deref())?;
        }
        Ok(kept)
    }

    /// Returns the side from an earlier run, whichever side it was in that run. It may have more targets.
    fn find_kept(&self) -> Option<SideBuild> {
        let Request { ours, targets, .. } = self.request;
        let of = |key: &str, read: &Fingerprint| kept::load(&ours.join(SIDES), &read.key(key));
        let load = |key: &str| of(key, &Fingerprint::load(ours, key)?);
        let own = load(&self.own_key).filter(|build| match &self.texts {
            Some(texts) => doctests::texts_key(&build.doctests()).is_ok_and(|own| own == texts.key),
            None => true,
        });
        let with_more = || {
            // Doc tests may be those of the other side.
            let family =
                key::family_key(self.toolchain, &self.request).ok().filter(|_| self.request.doctests().is_empty())?;
            Fingerprint::with_more(ours, &family, targets).iter().find_map(|(key, read)| of(key, read))
        };
        let with_texts = || load(&self.texts.as_ref()?.side_key);
        let build = own.or_else(with_texts).or_else(with_more)?;
        tracing::info!(folder = %build.folder.display(), "kept side reused");
        Some(build)
    }

    /// Says that it is going to be built.
    pub fn begin(&self) {
        let Self { request, watch, .. } = self;
        if !request.target_dir.exists() {
            let profile = &request.options.profile;
            watch.progress.note("First build", &format!(
                "with the profile `{profile}`, dependencies included, takes as long as after `cargo clean`; later ones build what changed"
            ));
        }
        watch.progress.begin(watch.name.as_str());
    }

    /// Has cargo build again what it last built from other files, as far as it does not see that itself.
    pub fn forget_stale(&self, repository: &Repository, files: &FileSet, packages: &[Package]) -> Result<()> {
        let read = |path: &PathBuf| std::fs::read_to_string(path).ok();
        let configuration: Vec<String> = self.request.config_files.iter().filter_map(read).collect();
        let version = undeclared::Version { repository, files, packages, configuration: &configuration };
        undeclared::forget_stale(self.request.target_dir, &version)
    }

    /// Runs cargo with these flags, and keeps what it built. Nothing that is wanted may read a file of `empty`.
    pub fn run(&self, cargo: &Cargo, flags: &Flags, empty: &BTreeSet<PathBuf>) -> Tried<SideBuild, BuildFailure> {
        let _span = tracing::info_span!("build").entered();
        let Self { toolchain, request, watch, own_key, texts } = self;
        in_place::put_back(request.ours)?;
        let notes = request.ours.join("capture");
        cache::empty_private_dir(&notes)?;
        let workspace = request.manifest.parent().unwrap_or(Path::new("/"));
        let call = Call { cargo, toolchain, request, notes: &notes };
        let answers = request.ours.join("doctests");
        let mut artifacts =
            call.both(flags, &answers, watch.progress).map_err(|stop| unless_full(request.ours, stop))?;
        if let Some(read) = artifacts.leave_out(empty)? {
            let output = format!("error: {} is read by what is wanted", read.display());
            return Err(Stop::Because(BuildFailure { output, ..BuildFailure::default() }));
        }
        let extracted = doctests::collect(&answers, &request.doctests())?;
        artifacts.add_doctests(&extracted);
        let invocations = capture_role::collect(&notes)?;
        if invocations.is_empty() && !artifacts.tests.is_empty() {
            let error = Error::setup(format!("cargo did not run the tests on this machine ({})", cargo.host));
            return Err(error
                .hint("tests are measured here: leave out `build.target` of cargo's configuration, CARGO_BUILD_TARGET and --target")
                .into());
        }
        let key = match texts {
            Some(texts) if doctests::own_texts_key(&extracted)? != texts.key => &texts.side_key,
            _ => own_key,
        };
        let mut read = Fingerprint::of(&artifacts.traces, request.ours, &cargo.sysroot, workspace)?;
        (read.family, read.targets) = (key::family_key(toolchain, request)?, request.targets.clone());
        read.save(request.ours, key)?;
        let build = kept::keep(&request.ours.join(SIDES), &read.key(key), &artifacts, &invocations, &extracted)?;
        kept::stand_in(request.ours, &build, toolchain.dispatcher.as_deref())?;
        Ok(build)
    }
}

/// A side that does not build because the disk is full says nothing about the side.
fn unless_full(ours: &Path, stop: Stop<BuildFailure>) -> Stop<BuildFailure> {
    match stop {
        Stop::Because(failure) if is_full(ours, &failure.output) => {
            term::eprint(&failure.output);
            let error = Error::setup(format!("the disk that holds {} is full", ours.display()));
            error.hint("free some disk space; `cargo perfunit clean` removes what the tool keeps").into()
        }
        stop => stop,
    }
}

/// Whether a build failed for want of space. Linkers write through mapped memory, where a full disk is a bus error.
fn is_full(folder: &Path, output: &str) -> bool {
    let is_tight = || os::free_space(folder).is_some_and(|space| space < LITTLE_SPACE);
    output.contains(DISK_FULL) || (output.contains(BUS_ERROR) && is_tight())
}

/// Runs cargo to its end; rustc names files by their path from the folder of the workspace.
fn run(
    command: &mut Command,
    deadline: Option<Instant>,
    workspace: &Path,
    progress: &Progress,
    artifacts: Artifacts,
) -> Tried<Artifacts, BuildFailure> {
    interrupt::check()?;
    let mut child = process::spawn(command)?;
    let stderr = child.stderr.take();
    let id = child.id();
    let (messages, output, stopped) = std::thread::scope(|scope| {
        let output = scope.spawn(|| stderr.map_or_else(String::new, |stderr| follow(stderr, progress)));
        let (ended, end) = channel::<()>();
        let watch = deadline.map(|deadline| scope.spawn(move || stop_at(deadline, id, &end)));
        let messages = read_messages(&mut child, artifacts);
        drop(ended);
        let stopped = watch.is_some_and(|watch| watch.join().unwrap_or(false));
        (messages, output.join().unwrap_or_default(), stopped)
    });
    let status = child.wait().map_err(|error| Error::setup(format!("cannot wait for cargo: {error}")))?;
    if interrupt::requested() {
        return Err(Error::new(ExitCode::Interrupted, "interrupted while building").into());
    }
    if stopped {
        return Err(Stop::Because(BuildFailure { stopped, output, ..BuildFailure::default() }));
    }
    let Messages { mut artifacts, roots, built, places, errors } = messages?;
    if !status.success() {
        let in_tree = |place: ErrorPlace| ErrorPlace { file: workspace.join(&place.file), ..place };
        let places = places.into_iter().map(in_tree).collect();
        let only_tests = only_tests(&output);
        let output = errors + &output;
        return Err(Stop::Because(BuildFailure { roots, places, only_tests, built, stopped: false, output }));
    }
    workspace.clone_into(&mut artifacts.reported.workspace);
    Ok(artifacts)
}

/// Stops a process at a deadline unless it ends before; whether it did not. The compilers that it started end with it.
fn stop_at(deadline: Instant, id: u32, end: &Receiver<()>) -> bool {
    let left = deadline.saturating_duration_since(Instant::now());
    let is_late = end.recv_timeout(left) == Err(RecvTimeoutError::Timeout);
    is_late && os::kill_process(id)
}

/// Where insta looks for snapshots. Without it every process asks cargo, for 30 ms, in the first assertion that it makes.
/// It is read when a test is compiled, so cargo has to know of it as well.
const INSTA_ROOT: &str = "INSTA_WORKSPACE_ROOT";

/// Whether `cargo build` takes these flags as `cargo test` does: of libraries and programs it builds no tests.
fn names_tests_alone(flags: &[String]) -> bool {
    !flags.iter().any(|flag| ["--lib", "--bin", "--example"].contains(&flag.as_str()))
}

/// Builds and runs tests, up to the first that does not compile.
const TEST: [&str; 2] = ["test", "--no-fail-fast"];
/// Builds tests, also behind one that does not compile.
const ALL_TESTS: [&str; 2] = ["build", "--keep-going"];

/// How the test runner is written down. Cargo joins the values of all configuration files: a text replaces a text, a
/// list is appended to a list, and one does not go with the other.
#[derive(Debug, Clone, Copy)]
enum RunnerForm {
    Text,
    List,
}

impl RunnerForm {
    /// Our executable by a path without spaces, at which cargo would split the text.
    fn value(self) -> String {
        let own = format!("/proc/{}/exe", std::process::id());
        match self {
            RunnerForm::Text => format!("\"{own} {RUNNER_ARGUMENT}\""),
            RunnerForm::List => format!("[\"{own}\", \"{RUNNER_ARGUMENT}\"]"),
        }
    }
}

/// From this release on cargo has a folder for what is not final.
const BUILD_FOLDER_MINOR: u32 = 91;

/// What all calls of cargo for one side have in common.
struct Call<'a> {
    cargo: &'a Cargo,
    toolchain: &'a Toolchain,
    request: &'a Request<'a>,
    /// Where test executables are noted.
    notes: &'a Path,
}

impl Call<'_> {
    /// What may be built for: this machine, and what is asked for by option, variable or configuration.
    fn triples(&self) -> Result<BTreeSet<String>> {
        let arguments = &self.request.options.arguments;
        let given = arguments.windows(2).filter(|pair| pair[0] == "--target").map(|pair| pair[1].clone());
        let mut triples = configured_targets(&key::configuration_files(self.request))?;
        triples.extend(given.chain(std::env::var("CARGO_BUILD_TARGET").ok()).chain([self.cargo.host.clone()]));
        Ok(triples)
    }

    /// Runs cargo for the tests that are targets, then for doc tests.
    fn both(&self, flags: &Flags, answers: &Path, progress: &Progress) -> Tried<Artifacts, BuildFailure> {
        let mut artifacts = Artifacts::default();
        if let Some(tests) = &flags.tests {
            artifacts = self.run(artifacts, tests, None, progress)?;
        }
        if let Some(doctests) = &flags.doctests {
            let rustdoc = self.order_doctests(answers)?;
            artifacts = self.run(artifacts, doctests, Some((&rustdoc, answers)), progress)?;
        }
        Ok(artifacts)
    }

    /// Runs cargo, in the form of runner that goes with the project's own.
    fn run(
        &self,
        artifacts: Artifacts,
        flags: &[String],
        rustdoc: Option<(&Path, &Path)>,
        progress: &Progress,
    ) -> Tried<Artifacts, BuildFailure> {
        let workspace = self.request.manifest.parent().unwrap_or(Path::new("/"));
        let deadline = self.request.deadline;
        let attempt = |verb, form, artifacts| {
            run(&mut self.command(verb, flags, rustdoc, form)?, deadline, workspace, progress, artifacts)
        };
        let (end, form) = match attempt(&TEST, RunnerForm::Text, artifacts.clone()) {
            Err(Stop::Because(failure)) if failure.output.contains(RUNNER_CONFLICT) => {
                (attempt(&TEST, RunnerForm::List, artifacts), RunnerForm::List)
            }
            end => (end, RunnerForm::Text),
        };
        match end {
            // The others that fail as well are found at once, and what does not fail is built for the next attempt.
            Err(Stop::Because(failure)) if failure.only_tests && names_tests_alone(flags) => {
                match attempt(&ALL_TESTS, form, Artifacts::default()) {
                    Err(Stop::Because(all)) if all.only_tests => Err(Stop::Because(all)),
                    Err(Stop::Failed(error)) => Err(Stop::Failed(error)),
                    _ => Err(Stop::Because(failure)),
                }
            }
            end => end,
        }
    }

    /// Writes down what our role as rustdoc is to do, and says where it is.
    fn order_doctests(&self, answers: &Path) -> Result<PathBuf> {
        let order = Order {
            rustdoc: self.cargo.sysroot.join("bin/rustdoc"),
            rustc: self.cargo.rustc.clone(),
            wrapper: self.toolchain.wrapper.clone(),
            host: self.cargo.host.clone(),
            packages: self.request.doctests().into_iter().map(|target| target.package.clone()).collect(),
            texts: self.request.texts.map(Path::to_owned),
            bundles: self.request.target_dir.join("doctests"),
        };
        order.give(answers)?;
        let role = answers.join(RUSTDOC_NAME);
        let own = std::env::current_exe().map_err(|error| Error::setup(error.to_string()))?;
        symlink(&own, &role).map_err(fs::failed("create the link", &role))?;
        Ok(role)
    }

    fn command(
        &self,
        verb: &[&str],
        flags: &[String],
        rustdoc: Option<(&Path, &Path)>,
        runner: RunnerForm,
    ) -> Result<Command> {
        let Self { cargo, toolchain, request, notes } = self;
        let options = request.options;
        let mut command = cargo.command();
        let (format, color) =
            if term::stderr_has_color() { ("json-diagnostic-rendered-ansi", "always") } else { ("json", "never") };
        command.args(verb).args(["--message-format", format, "--color", color]);
        command.args(["--profile", &options.profile]);
        // Its progress bar says how many crates are left; not in the environment, which tests would see.
        command.args(["--config", "term.progress.when='always'", "--config", "term.progress.width=100"]);
        request.configure(&mut command)?;
        command.arg("--target-dir").arg(request.target_dir);
        // Last, so that a runner of the project does not run the tests now.
        command.args(&options.arguments);
        if request.lto == Lto::Off {
            command.arg("--config").arg(format!("profile.{}.lto=false", options.profile));
        }
        for triple in self.triples()? {
            command.arg("--config").arg(format!("target.{triple}.runner={}", runner.value()));
        }
        if cargo.minor() >= BUILD_FOLDER_MINOR {
            // Also what is not final belongs below our folder, whatever the configuration says.
            let folder = toml::Value::String(request.target_dir.display().to_string());
            command.arg("--config").arg(format!("build.build-dir={folder}"));
        }
        command.args(flags);
        command.env("RUSTC_WORKSPACE_WRAPPER", &toolchain.wrapper).env(FOLDER_VARIABLE, notes);
        if let Some((rustdoc, answers)) = rustdoc {
            command.env("RUSTDOC", rustdoc).env(doctests::FOLDER_VARIABLE, answers);
        }
        if std::env::var_os(INSTA_ROOT).is_none()
            && let Some(root) = insta_root(&request.manifest, request.package_folders)
        {
            command.env(INSTA_ROOT, root);
        }
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        Ok(command)
    }
}

/// None in insta's own workspace: its tests start `cargo insta`, which inherits it, on projects that lie elsewhere.
fn insta_root<'a>(manifest: &'a Path, packages: &BTreeMap<String, PathBuf>) -> Option<&'a Path> {
    if packages.contains_key("insta") { None } else { manifest.parent() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn insta_is_told_the_workspace_but_for_its_own() {
        let root = |package: &str| {
            let packages = BTreeMap::from([(package.to_owned(), PathBuf::from("/tree/package"))]);
            insta_root(Path::new("/tree/Cargo.toml"), &packages).map(Path::to_owned)
        };
        assert_eq!(root("demo"), Some(PathBuf::from("/tree")));
        assert_eq!(root("insta"), None);
    }
}
