//! The comparison of generated calls: for changed functions that no test executes, in builds of their own, so that no test is
//! measured in another executable because of them.

use super::compare::{self, Compared, compare_opened};
use super::news::Announce;
use super::open::{Opened, open};
use super::options::Options;
use super::pairings;
use super::second::{self, not_compared};
use super::shared::Session;
use crate::build::Builder;
use crate::config::Rules;
use crate::error::{Error, Result};
use crate::generate::{self, CrateSources, Placing, Sources, Store, Trials};
use crate::git::{Entry, Repository, Request, Versions};
use crate::model::{
    Capture, Function, GeneratedCalls, GeneratedWorkload, Generation, NotCompared, NotGenerated, Run, Side, Sides,
    TargetKind, VersionName,
};
use crate::select::{Filter, Names, Scope, Selected, select, unseen};
use crate::system::interrupt;
use crate::system::term::Terminal;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Refuses what does not go together.
pub fn check(options: &Options) -> Result<()> {
    if options.archive.is_some() {
        return Err(Error::usage("generated calls are built, and with --use-archive nothing is")
            .hint("leave out --generated, or compare where both versions can be built"));
    }
    if options.partition.is_some() {
        return Err(Error::usage("generated calls are compared in one run, not in shards")
            .hint("leave out --generated here, and run it without --partition in a job of its own"));
    }
    Ok(())
}

/// How to compare generated calls in the time that is left. What is said of tests means none of them.
pub fn of_calls(options: &Options, elapsed: Duration) -> Options {
    let mut calls = second::second(options, elapsed);
    calls.all_tests = false;
    calls.filter = Filter::default();
    calls.rules = Rules { accepted: Vec::new(), default_filter: None, ..calls.rules };
    calls
}

/// Compares generated calls of the functions that no test executes. What was found of the tests is not lost because this
/// cannot be done.
pub fn compare_calls(
    options: &Options,
    tests: &Compared,
    terminal: Terminal,
    announce: Announce<'_>,
) -> GeneratedCalls {
    let functions: Vec<Function> =
        tests.run.selection.uncovered.iter().map(|uncovered| uncovered.function.clone()).collect();
    let nothing = |comparison| GeneratedCalls { generation: Generation::default(), comparison };
    if functions.is_empty() {
        return nothing(None);
    }
    if interrupt::requested() {
        return nothing(Some(Err(NotCompared::Interrupted)));
    }
    let opened = match open(options, terminal, tests.lock.as_ref()) {
        Ok(opened) if opened.versions.contents() != tests.contents => {
            return nothing(Some(Err(NotCompared::HeadChanged)));
        }
        Ok(opened) => opened,
        Err(error) => return nothing(Some(Err(not_compared(&error)))),
    };
    let started = Instant::now();
    let ground = Ground { opened, options: with_code_of(options, &functions), started };
    match ground.generation(&functions) {
        Ok(generation) => {
            let comparison = (!generation.workloads.is_empty()).then(|| {
                let compared = ground.compare(&generation, announce).map(|run| without_known(run, &tests.run));
                compared.map(Box::new).map_err(|error| not_compared(&error))
            });
            GeneratedCalls { generation, comparison }
        }
        Err(error) => nothing(Some(Err(not_compared(&error)))),
    }
}

/// Without what the report of the tests says already.
fn without_known(mut run: Run, tests: &Run) -> Run {
    run.warnings.retain(|warning| !tests.warnings.contains(warning));
    run.selection.unmeasured_targets.clear();
    // Their names mean nothing to a command.
    run.repeat = None;
    run
}

/// The same with the unit tests of the packages that hold the functions, and nothing else, in scope.
fn with_code_of(options: &Options, functions: &[Function]) -> Options {
    let packages: BTreeSet<&String> = functions.iter().map(|function| &function.package).collect();
    let scope = Scope {
        packages: packages.into_iter().cloned().collect(),
        targets: vec![(TargetKind::Lib, None), (TargetKind::Bin, None)],
        ..Scope::default()
    };
    Options { scope, ..options.clone() }
}

/// Two versions, and how to build them.
struct Ground {
    opened: Opened,
    options: Options,
    started: Instant,
}

impl Ground {
    fn deadline(&self) -> Option<Instant> {
        self.options.measuring.budget.map(|budget| self.started + budget)
    }

    /// What was or is generated for the functions.
    fn generation(&self, functions: &[Function]) -> Result<Generation> {
        let Opened { context, versions, .. } = &self.opened;
        let store = Store::new(&context.ours);
        let build = &self.options.build;
        let how = format!("{}\n{}\n{}", context.cargo.version, build.profile, build.arguments.join("\n"));
        let key = generate::key(&versions.contents(), &how, functions);
        if let Some(known) = store.load(&key)? {
            return Ok(known);
        }
        let mut versions = versions.clone();
        let mut builder = Builder::open(context, &versions)?;
        let selected = select(&mut builder, &versions, &self.options.wanted())?;
        builder.settle_lock_file(&mut versions, &selected.workspace.root)?;
        let generation = self.generate(&mut builder, &versions, &selected, functions)?;
        if !interrupt::requested() && !generation.is_cut_short() {
            store.save(&key, &generation)?;
        }
        Ok(generation)
    }

    fn generate(
        &self,
        builder: &mut Builder<'_>,
        versions: &Versions,
        selected: &Selected,
        functions: &[Function],
    ) -> Result<Generation> {
        let (crates, homeless) = generate::sources(versions, selected, &self.options.build.arguments, functions);
        let mut failures: Vec<_> = homeless.into_iter().map(|function| (function, NotGenerated::NoTarget)).collect();
        let mut calls = Vec::new();
        for Sources { files, root, name, features, wanted } in &crates {
            let (found, without) = generate::calls(&CrateSources { files, root, name, features }, wanted);
            calls.extend(found);
            failures.extend(without);
        }
        // Half of what is left: the rest is for measuring.
        let half = |deadline: Instant| Instant::now() + deadline.saturating_duration_since(Instant::now()) / 2;
        let deadline = self.deadline().map(half);
        let trials = Trials { versions, selected, options: &self.options.build, deadline };
        generate::try_calls(builder, &trials, calls, failures)
    }

    /// Compares the calls as tests of both versions.
    fn compare(self, generation: &Generation, announce: Announce<'_>) -> Result<Run> {
        let Self { mut opened, mut options, started } = self;
        options.filter.names = generation.workloads.iter().map(|workload| workload.test.clone()).collect();
        options.filter.exact = true;
        lay_over(&mut opened.versions, &opened.context.live, &generation.workloads);
        let mut run = compare_opened(opened, &options, started, announce)?.run;
        run.outcomes.retain(|outcome| generation.workload(&outcome.test).is_some());
        for outcome in &mut run.outcomes {
            outcome.capture = Some(Capture::Generated);
        }
        Ok(run)
    }
}

/// Places the calls in both versions.
fn lay_over(versions: &mut Versions, workspace: &crate::cargo::Workspace, workloads: &[GeneratedWorkload]) {
    let roots = workspace.packages.iter().flat_map(|package| &package.targets).map(|target| target.root.clone());
    let roots: BTreeSet<String> = roots.collect();
    let calls: Vec<Placing<'_>> =
        workloads.iter().map(|GeneratedWorkload { call, name, n, .. }| Placing { call, name, n: Some(*n) }).collect();
    for side in Side::BOTH {
        let read = |path: &str| String::from_utf8(versions.read_file(versions.files.get(side), path)?).ok();
        let placed = generate::place(&calls, &roots, &read);
        let entries = &mut versions.files.get_mut(side).entries;
        for (path, text) in placed.files {
            let (path, entry) = (PathBuf::from(path), Entry::snapshot(text.into_bytes()));
            let mode = entries.get(&path).map_or(entry.mode, |known| known.mode);
            entries.insert(path, Entry { mode, ..entry });
        }
    }
}

/// Which functions to generate calls for.
#[derive(Clone)]
pub struct GenerateRequest {
    pub options: Options,
    /// Their names; those that no test executes if there are none.
    pub names: Vec<String>,
    /// All functions, whether tests execute them or not.
    pub all: bool,
}

/// What `generate` found.
pub struct Generating {
    pub versions: Sides<VersionName>,
    pub generation: Generation,
}

/// `cargo perfunit generate`.
pub fn generate(request: &GenerateRequest, terminal: Terminal) -> Result<Generating> {
    let request = &without_version(request)?;
    let GenerateRequest { options, .. } = request;
    check(options)?;
    compare::check(options)?;
    let started = Instant::now();
    let opened = open(options, terminal, None)?;
    let functions = functions(&opened, request)?;
    let versions = opened.versions.names();
    if functions.is_empty() {
        return Ok(Generating { versions, generation: Generation::default() });
    }
    let ground = Ground { opened, options: with_code_of(&of_calls(options, Duration::ZERO), &functions), started };
    Ok(Generating { versions, generation: ground.generation(&functions)? })
}

/// The first word is a function if it is nothing like a version.
fn without_version(request: &GenerateRequest) -> Result<GenerateRequest> {
    let GenerateRequest { mut options, mut names, all } = request.clone();
    let repository = Repository::discover(&options.folder)?;
    if let Request::Against { base, .. } = &mut options.request
        && let Some(word) = base.take_if(|word| repository.has_nothing_like(word))
    {
        names.insert(0, word);
    }
    Ok(GenerateRequest { options, names, all })
}

fn functions(opened: &Opened, request: &GenerateRequest) -> Result<Vec<Function>> {
    let Opened { context, versions, .. } = opened;
    let mut versions = versions.clone();
    let GenerateRequest { options, names, all } = request;
    let mut builder = Builder::open(context, &versions)?;
    let by_name = *all || !names.is_empty();
    let options = Options { all_tests: by_name || options.all_tests, filter: Filter::default(), ..options.clone() };
    let selected = select(&mut builder, &versions, &options.wanted())?;
    if by_name {
        return crate::select::functions(&versions, &selected, names);
    }
    let found = if selected.targets.is_empty() {
        unseen(&selected, &Names::of_versions(&versions, &selected), &[]).uncovered
    } else {
        builder.settle_lock_file(&mut versions, &selected.workspace.root)?;
        let session = Session::new(context, &versions, &selected, &options);
        let plan = pairings::prepare(&session, &mut builder)?;
        plan.describe(selected.summary(), &session).uncovered
    };
    Ok(found.into_iter().map(|uncovered| uncovered.function).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Generated, Partition};

    fn options() -> Options {
        let mut options = Options { generated: Generated::Uncovered, all_tests: true, ..Options::default() };
        options.measuring.budget = Some(Duration::from_mins(10));
        options.filter.names = vec!["parser".to_owned()];
        options
    }

    #[test]
    fn what_is_said_of_tests_means_no_call() {
        let calls = of_calls(&options(), Duration::from_mins(2));
        assert!(calls.filter.names.is_empty() && !calls.all_tests && calls.generated == Generated::Never);
        assert_eq!(calls.measuring.budget, Some(Duration::from_mins(8)));
    }

    #[test]
    fn what_is_not_built_or_shared_out_is_refused() {
        check(&options()).unwrap();
        let archive = Options { archive: Some("a.tar.zst".into()), ..options() };
        assert!(check(&archive).unwrap_err().to_string().contains("--use-archive"));
        let shard = Options { partition: Some("slice:1/2".parse::<Partition>().unwrap()), ..options() };
        assert!(check(&shard).unwrap_err().to_string().contains("not in shards"));
    }
}
