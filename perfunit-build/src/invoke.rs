//! Runs cargo on one side of the shadow tree.

use super::capture_role::{self, FOLDER_VARIABLE, RUNNER_ARGUMENT};
use super::cargo_output::{ErrorPlace, Messages, follow, only_tests, read_messages};
use super::configuration::configured_targets;
use super::doctests::{self, Order, RUSTDOC_NAME};
use super::fingerprint::Fingerprint;
use super::full_disk::full_disk;
use super::key::{self, side_key};
use super::request::Request;
use super::side_build::{self, Artifacts, SideBuild};
use super::toolchain::Toolchain;
use super::unify::Flags;
use super::{in_place, undeclared_inputs};
use perfunit_model::Lto;
use perfunit_model::error::{Error, ExitCode, Result, Stop, Tried};
use perfunit_model::guesses::RUNNER_CONFLICT;
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

/// Folder for builds of sides.
const SIDES: &str = "sides";

/// Progress display of a build.
pub struct Watch<'a> {
    pub progress: &'a Progress,
    /// Description of the side for messages.
    pub name: String,
}

/// Failure of rustc or cargo to build a side.
#[derive(Debug, Default, Clone)]
pub struct BuildFailure {
    /// Root files (in the tree) of the targets with errors, with the first error of each.
    pub roots: BTreeMap<PathBuf, String>,
    /// Positions of the errors, including calls of macros that contain an error.
    pub places: Vec<ErrorPlace>,
    /// True if only test targets failed, so that our capture method may be the cause.
    pub only_tests: bool,
    /// Root files (in the tree) of the test executables that were built.
    pub built: BTreeSet<PathBuf>,
    /// True if the build was stopped at its deadline.
    pub stopped: bool,
    /// Complete output of cargo.
    pub output: String,
}

impl BuildFailure {
    /// Renames the files in the failure.
    #[must_use]
    pub fn rename_files(self, name: &dyn Fn(&Path) -> PathBuf) -> Self {
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

/// The build of a side.
pub(super) struct BuildTask<'a> {
    toolchain: &'a Toolchain,
    pub request: Request<'a>,
    watch: Watch<'a>,
    /// Key of the side with its own doc tests.
    own_key: String,
    /// Doc tests of the other side, if this side uses them.
    texts: Option<Texts>,
}

/// Doc tests of the other side.
struct Texts {
    key: String,
    /// Key of a side that uses them.
    side_key: String,
}

impl<'a> BuildTask<'a> {
    pub fn new(toolchain: &'a Toolchain, request: Request<'a>, watch: Watch<'a>) -> Result<Self> {
        let texts = request.texts.filter(|_| !request.doctests().is_empty()).map(doctests::texts_key).transpose()?;
        let texts = texts.map(|key| Ok(Texts { side_key: side_key(toolchain, &request, Some(&key))?, key }));
        Ok(Self { own_key: side_key(toolchain, &request, None)?, texts: texts.transpose()?, toolchain, request, watch })
    }

    /// Returns the build from an earlier run, and installs stand-ins for its binaries.
    pub fn load_kept(&self) -> Result<Option<SideBuild>> {
        let kept = self.find_kept();
        if let Some(build) = &kept {
            side_build::stand_in(self.request.ours, build, &self.toolchain.dispatcher)?;
        }
        Ok(kept)
    }

    /// Finds the build of an earlier run, in which it may have been the other side. It may have more targets.
    fn find_kept(&self) -> Option<SideBuild> {
        let Request { ours, targets, .. } = self.request;
        let of = |key: &str, read: &Fingerprint| side_build::load(&ours.join(SIDES), &read.key(key));
        let load = |key: &str| of(key, &Fingerprint::load(ours, key)?);
        let own = load(&self.own_key).filter(|build| match &self.texts {
            Some(texts) => doctests::texts_key(&build.doctests()).is_ok_and(|own| own == texts.key),
            None => true,
        });
        let with_more = || {
            // That build's doc tests may be those of the other side.
            let family =
                key::family_key(self.toolchain, &self.request).ok().filter(|_| self.request.doctests().is_empty())?;
            Fingerprint::with_more(ours, &family, targets).iter().find_map(|(key, read)| of(key, read))
        };
        let with_texts = || load(&self.texts.as_ref()?.side_key);
        let build = own.or_else(with_texts).or_else(with_more)?;
        tracing::info!(folder = %build.folder.display(), "kept side reused");
        Some(build)
    }

    /// Announces the build.
    pub fn begin(&self) {
        let Self { request, watch, .. } = self;
        if !request.target_dir.exists() {
            let profile = &request.options.profile;
            watch.progress.note("First build", &format!(
                "with the `{profile}` profile compiles all dependencies, as after `cargo clean`; later builds are incremental"
            ));
        }
        watch.progress.begin(watch.name.as_str());
    }

    /// Makes cargo rebuild units with changed inputs that it does not notice.
    pub fn forget_stale(&self, repository: &Repository, files: &FileSet, packages: &[Package]) -> Result<()> {
        let read = |path: &PathBuf| std::fs::read_to_string(path).ok();
        let configuration: Vec<String> = self.request.config_files.iter().filter_map(read).collect();
        let version = undeclared_inputs::Version { repository, files, packages, configuration: &configuration };
        undeclared_inputs::forget_stale(self.request.target_dir, &version)
    }

    /// Runs cargo with these flags, and stores what it built. No requested target may read a file of `empty`.
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
            let output = format!("error: a requested target reads {}", read.display());
            return Err(Stop::Because(BuildFailure { output, ..BuildFailure::default() }));
        }
        let extracted = doctests::collect(&answers, &request.doctests())?;
        artifacts.add_doctests(&extracted);
        let invocations = capture_role::collect(&notes)?;
        if invocations.is_empty() && !artifacts.tests.is_empty() {
            let error = Error::setup(format!("cargo did not run any tests on this machine ({})", cargo.host));
            return Err(error
                .hint("only tests for this machine can be measured: remove `build.target` from cargo's configuration, CARGO_BUILD_TARGET and --target")
                .into());
        }
        let key = match texts {
            Some(texts) if doctests::own_texts_key(&extracted)? != texts.key => &texts.side_key,
            _ => own_key,
        };
        let mut read = Fingerprint::of(&artifacts.traces, request.ours, &cargo.sysroot, workspace)?;
        (read.family, read.targets) = (key::family_key(toolchain, request)?, request.targets.clone());
        read.save(request.ours, key)?;
        let build = side_build::keep(&request.ours.join(SIDES), &read.key(key), &artifacts, &invocations, &extracted)?;
        side_build::stand_in(request.ours, &build, &toolchain.dispatcher)?;
        Ok(build)
    }
}

/// Converts a build failure into a setup error if the disk is full.
fn unless_full(ours: &Path, stop: Stop<BuildFailure>) -> Stop<BuildFailure> {
    let Stop::Because(failure) = stop else { return stop };
    let Some(error) = full_disk(ours, &failure.output) else { return Stop::Because(failure) };
    term::eprint(&failure.output);
    error.into()
}

/// Runs cargo to completion. Rustc's paths are relative to the workspace's folder.
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
    if interrupt::is_requested() {
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

/// Kills a process at a deadline unless it ends earlier. Returns whether it was killed; its compilers end with it.
fn stop_at(deadline: Instant, id: u32, end: &Receiver<()>) -> bool {
    let left = deadline.saturating_duration_since(Instant::now());
    let is_late = end.recv_timeout(left) == Err(RecvTimeoutError::Timeout);
    is_late && os::kill_process(id)
}

/// Folder in which insta looks for snapshots. Without it, every process runs cargo in its first assertion, which takes
/// 30 ms. It is read when a test is compiled, so cargo must know it too.
const INSTA_ROOT: &str = "INSTA_WORKSPACE_ROOT";

/// Checks whether `cargo build` builds the same tests with these flags as `cargo test`. It builds no tests of libraries
/// and binaries.
fn names_tests_alone(flags: &[String]) -> bool {
    !flags.iter().any(|flag| ["--lib", "--bin", "--example"].contains(&flag.as_str()))
}

/// Builds and runs tests. Stops at the first one that does not compile.
const TEST: [&str; 2] = ["test", "--no-fail-fast"];
/// Builds tests, and continues after one that does not compile.
const ALL_TESTS: [&str; 2] = ["build", "--keep-going"];

/// Form of the test runner setting. Cargo merges all configuration files: text replaces text, lists are joined, and
/// mixing the two is an error.
#[derive(Debug, Clone, Copy)]
enum RunnerForm {
    Text,
    List,
}

impl RunnerForm {
    /// Returns the setting. The path of our executable must not contain spaces, because cargo splits the text there.
    fn value(self) -> String {
        let own = format!("/proc/{}/exe", std::process::id());
        match self {
            RunnerForm::Text => format!("\"{own} {RUNNER_ARGUMENT}\""),
            RunnerForm::List => format!("[\"{own}\", \"{RUNNER_ARGUMENT}\"]"),
        }
    }
}

/// First cargo release with a separate folder for intermediate files.
const BUILD_FOLDER_MINOR: u32 = 91;

/// Arguments shared by all cargo calls for one side.
struct Call<'a> {
    cargo: &'a Cargo,
    toolchain: &'a Toolchain,
    request: &'a Request<'a>,
    /// Folder for records of test executables.
    notes: &'a Path,
}

impl Call<'_> {
    /// Returns the possible target triples: this machine's, and those from options, variables and configuration.
    fn triples(&self) -> Result<BTreeSet<String>> {
        let arguments = &self.request.options.arguments;
        let given = arguments.windows(2).filter(|pair| pair[0] == "--target").map(|pair| pair[1].clone());
        let mut triples = configured_targets(&key::configuration_files(self.request))?;
        triples.extend(given.chain(std::env::var("CARGO_BUILD_TARGET").ok()).chain([self.cargo.host.clone()]));
        Ok(triples)
    }

    /// Runs cargo for the test targets, then for doc tests.
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

    /// Runs cargo with the form of runner setting that is compatible with the project's own.
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
            // Building everything finds all failing targets at once, and builds the others for the next attempt.
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

    /// Writes the order for our rustdoc role, and returns the role's executable.
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
        symlink(&own, &role).map_err(fs::io_error("create the link", &role))?;
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
        command.envs(request.variables);
        let (format, color) =
            if term::stderr_has_color() { ("json-diagnostic-rendered-ansi", "always") } else { ("json", "never") };
        command.args(verb).args(["--message-format", format, "--color", color]);
        command.args(["--profile", &options.profile]);
        // The progress bar shows how many crates are left. Tests would see a setting in the environment.
        command.args(["--config", "term.progress.when='always'", "--config", "term.progress.width=100"]);
        request.configure(&mut command)?;
        command.arg("--target-dir").arg(request.target_dir);
        // Our runner comes after the user's arguments, so that a runner of the project does not run the tests now.
        command.args(&options.arguments);
        if request.lto == Lto::Off {
            command.arg("--config").arg(format!("profile.{}.lto=false", options.profile));
        }
        for triple in self.triples()? {
            command.arg("--config").arg(format!("target.{triple}.runner={}", runner.value()));
        }
        if cargo.minor() >= BUILD_FOLDER_MINOR {
            // Keep intermediate files in our folder, whatever the configuration says.
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

/// Returns insta's workspace root. There is none in insta's own workspace, because its tests run `cargo insta` on other
/// projects.
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
