//! The user's options, resolved: no strings with units, no open choices.

use perfunit_build as build;
use perfunit_explain::Explaining;
use perfunit_measure::Measuring;
use perfunit_model::error::{Error, Result};
use perfunit_model::{Generated, Ignored, Lto, Partition, Repeat, Sides, TargetKind, VersionName};
use perfunit_project::cargo::{self, Cargo, Workspace};
use perfunit_project::config::Value as _;
use perfunit_project::config::{Gates, RatchetRequest, Rules, Time, word_of};
use perfunit_project::git::{Repository, Request};
use perfunit_select::source::{items, modules};
use perfunit_select::{Filter, Scope, Wanted};
use perfunit_system::fs;
use perfunit_system::term::Terminal;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The acceptances that a comparison reads.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Accepting {
    /// None. A comparison of commits of a history describes what happened.
    #[default]
    Nothing,
    /// Those of a change that is about to be merged. Its commits are one step, and the author can correct them.
    Change,
    /// Those since an older version. Each merge is a step, and nobody can correct them.
    History,
}

/// Options of a comparison.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Options {
    /// The user's current folder.
    pub folder: PathBuf,
    pub manifest: Option<PathBuf>,
    pub target_dir: Option<PathBuf>,
    pub request: Request,
    /// An older version to compare with too.
    #[serde(default)]
    pub ratchet: Option<RatchetRequest>,
    /// Which generated calls to compare.
    #[serde(skip)]
    pub generated: Generated,
    /// The selected packages and targets.
    pub scope: Scope,
    pub filter: Filter,
    /// The configuration's rules for tests and files.
    pub rules: Rules,
    /// The accepted slowdowns to read.
    #[serde(skip)]
    pub accepting: Accepting,
    /// The options that selected the configuration, as typed.
    #[serde(default)]
    pub configuration: Vec<String>,
    /// The shard to measure.
    #[serde(default)]
    pub partition: Option<Partition>,
    /// The archive to take the builds from.
    #[serde(skip)]
    pub archive: Option<PathBuf>,
    /// Absolute paths of files and folders for results. They are not changes of the project if they are inside it.
    #[serde(default)]
    pub results: Vec<PathBuf>,
    /// An additional folder for the record of the run.
    #[serde(skip)]
    pub output: Option<PathBuf>,
    /// True to run all tests in scope, whether the change can reach them or not.
    pub all_tests: bool,
    /// Cargo's options.
    pub build: build::Options,
    /// How to measure and decide.
    pub measuring: Measuring,
    /// How to find the responsible functions.
    pub explaining: Explaining,
    /// True to count the growth of functions' work.
    #[serde(default)]
    pub growth: bool,
}

impl Options {
    /// Returns the default options.
    pub fn new(folder: PathBuf, request: Request) -> Self {
        let build = build::Options { profile: "bench".to_owned(), ..build::Options::default() };
        Self { folder, request, build, ..Self::default() }
    }

    /// Returns the filter of tests.
    pub fn test_filter(&self) -> Wanted<'_> {
        Wanted {
            is_head_live: self.request.is_head_live(),
            scope: &self.scope,
            filter: &self.filter,
            rules: &self.rules,
            all_tests: self.all_tests,
            terms: self.measuring.terms(),
        }
    }
}

/// Returns the command that repeats the comparison in the repository with this root. Only the owner of uncommitted
/// changes can repeat theirs.
pub fn repeat(options: &Options, root: &Path, versions: &Sides<VersionName>) -> Repeat {
    let Sides { base, head } = versions;
    let head = if head.dirty { String::new() } else { format!("..{}", head.commit) };
    let mut words = vec!["perfunit".to_owned(), "diff".to_owned(), format!("{}{head}", base.commit)];
    words.extend(filter(&options.filter));
    words.extend(scope(&options.scope));
    words.extend(options.all_tests.then(|| "--all-tests".to_owned()));
    words.extend(options.configuration.iter().cloned());
    if options.build.profile != "bench" {
        words.extend(["--cargo-profile".to_owned(), options.build.profile.clone()]);
    }
    if options.build.lto == Lto::Keep {
        words.extend(["--lto".to_owned(), Lto::Keep.shown()]);
    }
    words.extend(options.build.arguments.iter().cloned());
    words.extend(options.ratchet.iter().flat_map(|ratchet| ["--ratchet".to_owned(), ratchet.revision.clone()]));
    words.extend((options.generated == Generated::Uncovered).then(|| "--generated".to_owned()));
    words.extend(options.growth.then(|| "--growth".to_owned()));
    words.extend(measuring(&options.measuring));
    let explaining = &options.explaining;
    words.extend(explaining.engine.iter().flat_map(|engine| ["--engine".to_owned(), word_of(engine)]));
    words.extend(explaining.strategy.iter().flat_map(|strategy| ["--strategy".to_owned(), word_of(strategy)]));
    let folder = options.folder.strip_prefix(root).unwrap_or(Path::new(""));
    Repeat { folder: folder.to_string_lossy().into_owned(), arguments: words }
}

/// Returns the words of the command line that measure and decide like this.
fn measuring(measuring: &Measuring) -> Vec<String> {
    let usual = Measuring::default();
    let mut words = vec!["--threshold".to_owned(), measuring.threshold.fraction().to_string()];
    if measuring.bound != usual.bound {
        words.extend(["--bound".to_owned(), measuring.bound.fraction().to_string()]);
    }
    if measuring.gates != usual.gates {
        words.extend(["--metric".to_owned(), Gates::of(&measuring.gates).shown()]);
    }
    if measuring.instructions != usual.instructions {
        words.extend(["--instructions".to_owned(), word_of(&measuring.instructions)]);
    }
    for (option, time, usual) in [
        ("--timeout", measuring.timeout, usual.timeout),
        ("--per-test-budget", measuring.per_test_budget, usual.per_test_budget),
    ] {
        if time != usual {
            words.extend([option.to_owned(), Time(time).shown()]);
        }
    }
    words
}

/// Returns the words of the command line that choose these tests.
pub(super) fn filter(filter: &Filter) -> Vec<String> {
    let mut words = filter.names.clone();
    words.extend(each("--filterset", &filter.expressions));
    words.extend(each("--skip", &filter.skip));
    words.extend(filter.exact.then(|| "--exact".to_owned()));
    if filter.ignored != Ignored::default() {
        words.extend(["--run-ignored".to_owned(), filter.ignored.shown()]);
    }
    words
}

/// Returns the words of the command line that choose these packages and targets.
pub(super) fn scope(scope: &Scope) -> Vec<String> {
    let mut words: Vec<String> = each("--package", &scope.packages).collect();
    words.extend(scope.workspace.then(|| "--workspace".to_owned()));
    words.extend(each("--exclude", &scope.exclude));
    let is_tests = scope.targets.contains(&(TargetKind::Test, None));
    words.extend(is_tests.then(|| "--tests".to_owned()));
    for target in &scope.targets {
        match target {
            (TargetKind::Lib, None) if !is_tests => words.push("--lib".to_owned()),
            (TargetKind::Bin, None) if !is_tests => words.push("--bins".to_owned()),
            (TargetKind::Doctest, None) => words.push("--doc".to_owned()),
            (TargetKind::Bench, None) => words.push("--benches".to_owned()),
            (TargetKind::Bench, Some(name)) => words.extend(["--bench".to_owned(), name.clone()]),
            (TargetKind::Bin, Some(name)) => words.extend(["--bin".to_owned(), name.clone()]),
            (TargetKind::Test, Some(name)) => words.extend(["--test".to_owned(), name.clone()]),
            _ => {}
        }
    }
    words
}

fn each<'a>(option: &'a str, values: &'a [String]) -> impl Iterator<Item = String> + 'a {
    values.iter().flat_map(move |value| [option.to_owned(), value.clone()])
}

/// Resolves the positional arguments as versions or filters.
pub fn adopt_positionals(options: &Options, terminal: Terminal) -> Result<Options> {
    let mut options = options.clone();
    let repository = Repository::discover(&options.folder)?;
    let typed = match &options.request {
        Request::Against { base: Some(word), .. } if repository.has_nothing_like(word) => Some(word.clone()),
        _ => None,
    };
    let versions: Vec<String> =
        options.filter.names.iter().filter(|name| repository.has_commit(name)).cloned().collect();
    if typed.is_none() && versions.is_empty() {
        return Ok(options);
    }
    let tests = tests(&options, repository.root())?;
    let is_test = |word: &str| {
        let filter = Filter { names: vec![word.to_owned()], exact: options.filter.exact, ..Filter::default() };
        tests.iter().any(|test| filter.takes(test))
    };
    if let Some(version) = versions.iter().find(|version| !is_test(version)) {
        return Err(Error::usage(format!("no tests match `{version}`, which is a revision"))
            .hint("use `BASE..HEAD` to compare two versions, or `-E 'test(NAME)'` to select tests that are named like a revision"));
    }
    // Tests that macros define are not found here, but no version has the name of a path.
    if let Some(word) = typed.filter(|word| is_test(word) || word.contains("::")) {
        let which = if options.filter.exact { "tests with this name" } else { "tests that match it" };
        terminal.status("Filter", &format!("`{word}` is not a revision; comparing only {which}"));
        if let Request::Against { base, .. } = &mut options.request {
            *base = None;
        }
        options.filter.names.insert(0, word);
    }
    Ok(options)
}

/// Returns the names of tests in the working tree's sources. Tests that macros define are only known after a build.
fn tests(options: &Options, git_root: &Path) -> Result<BTreeSet<String>> {
    let cargo = Cargo::find(&options.folder)?;
    let location = cargo::locate(&cargo, &options.folder, options.manifest.as_deref())?;
    let workspace = cargo::load(&cargo, git_root, &location.workspace_root.join("Cargo.toml"))?;
    Ok(names(&workspace, &|path| fs::read_if_exists(&git_root.join(path)).ok().flatten()))
}

fn names(workspace: &Workspace, read: &dyn Fn(&str) -> Option<Vec<u8>>) -> BTreeSet<String> {
    let targets = workspace.members().flat_map(|package| &package.targets);
    let files = targets.filter(|target| target.tested).flat_map(|target| modules(&target.root, read).files);
    let names = files.flat_map(|(path, file)| {
        let items = read(&path).and_then(|content| items(&content)).unwrap_or_default();
        let tests = items.into_iter().filter(|item| item.is_test);
        tests.map(move |test| match file.module.as_str() {
            "" => test.name,
            module => format!("{module}::{}", test.name),
        })
    });
    names.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use perfunit_model::{Engine, Instructions};
    use std::time::Duration;

    #[test]
    fn the_command_that_repeats_a_run_has_all_options_that_change_its_result() {
        let version = |commit: &str| VersionName { commit: commit.to_owned(), label: commit.to_owned(), dirty: false };
        let versions = Sides { base: version("1a"), head: version("2b") };
        let mut options = Options::new("/p/here".into(), Request::default());
        let command = |options: &Options| repeat(options, Path::new("/p"), &versions).arguments.join(" ");
        assert_eq!(command(&options), "perfunit diff 1a..2b --threshold 0.01");
        options.growth = true;
        options.measuring.timeout = Duration::from_secs(90);
        options.measuring.per_test_budget = Duration::from_millis(500);
        options.measuring.instructions = Instructions::Callgrind;
        options.explaining.engine = Some(Engine::Callgrind);
        let expected = "--growth --threshold 0.01 --instructions callgrind --timeout 90s --per-test-budget 500ms \
                        --engine callgrind";
        assert_eq!(command(&options), format!("perfunit diff 1a..2b {expected}"));
    }
}
