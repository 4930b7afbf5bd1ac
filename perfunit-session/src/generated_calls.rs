//! Compares generated calls of changed functions that no test executes. They have separate builds, so that they do not
//! change the executables of tests.

use super::compare::{Compared, compare_opened};
use super::list::list_opened;
use super::news::Announce;
use super::open::{Lock, Opened, open};
use super::options::{Accepting, Options};
use super::pairings;
use super::second_comparison::{self, not_compared};
use super::session::{Session, select_to_build};
use perfunit_build::{Builder, with_code_settings};
use perfunit_generate as generate;
use perfunit_generate::{CrateSources, Placing, Sources, Store, Trials};
use perfunit_model::error::{Error, Result};
use perfunit_model::{
    Capture, Function, GeneratedCalls, GeneratedWorkload, Generation, Ignored, Listed, NotCompared, NotGenerated, Run,
    Side, Sides, TargetKind, TestId, Uncovered, Unused, Warning, WithoutWorkload,
};
use perfunit_project::config::Rules;
use perfunit_project::git::{Entry, Versions};
use perfunit_select::{Filter, Names, Scope, TargetSelection, Wanted, find_coverage_gaps};
use perfunit_system::cache::KeyBuilder;
use perfunit_system::interrupt;
use perfunit_system::term::Terminal;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Rejects combinations of options that are not supported.
pub fn check(options: &Options) -> Result<()> {
    if options.archive.is_some() {
        return Err(Error::usage("`--generated` cannot be used with `--use-archive`: it needs another build")
            .hint("remove --generated, or compare where both versions can be built"));
    }
    if options.partition.is_some() {
        return Err(Error::usage("`--generated` cannot be used with `--partition`")
            .hint("remove --generated here, and run it without --partition in a separate job"));
    }
    Ok(())
}

/// Returns the options for comparing generated calls in the remaining time, without the filters of tests. [`only`] sets
/// the calls to compare.
fn of_calls(options: &Options, elapsed: Duration) -> Options {
    let mut calls = second_comparison::second(options, elapsed);
    calls.all_tests = false;
    calls.filter = Filter::default();
    calls.rules = Rules { accepted: Vec::new(), default_filter: None, ..calls.rules };
    // Those of the comparison of tests are used.
    calls.accepting = Accepting::Nothing;
    calls
}

/// Results for the tests of the same versions.
pub struct OfTests<'a> {
    /// Keys of the versions' content.
    pub contents: &'a Sides<String>,
    /// Changed functions that no test executes, as far as filters allow to know.
    pub uncovered: &'a [Uncovered],
    /// The lock of our folder, unless it must be taken.
    pub lock: Option<&'a Lock>,
}

/// Compares generated calls of the functions that no test executes. `elapsed` is the time since the run began. An error
/// here does not discard the results of tests.
pub fn compare_calls(
    options: &Options,
    elapsed: Duration,
    tests: &Compared,
    terminal: Terminal,
    announce: Announce<'_>,
) -> GeneratedCalls {
    let of_tests =
        OfTests { contents: &tests.contents, uncovered: &tests.run.selection.uncovered, lock: tests.lock.as_ref() };
    let nothing = |comparison| GeneratedCalls { generation: Generation::default(), comparison };
    let (ground, generation) = match Found::find(options, elapsed, &of_tests, terminal) {
        Ok(None) => return nothing(None),
        Ok(Some(Found { ground, generation })) => (ground, generation),
        Err(why) => return nothing(Some(Err(why))),
    };
    let comparison = (!generation.workloads.is_empty()).then(|| {
        let compared = ground.compare(options, &generation, announce).map(|run| without_known(run, &tests.run));
        compared.map(Box::new).map_err(|error| not_compared(&error))
    });
    GeneratedCalls { generation, comparison }
}

/// Lists the generated calls that `diff` would compare, and the functions without one.
pub fn list_calls(
    options: &Options,
    tests: &OfTests<'_>,
    terminal: Terminal,
) -> Result<(Vec<Listed>, Vec<WithoutWorkload>)> {
    let Found { mut ground, generation } = match Found::find(options, Duration::ZERO, tests, terminal) {
        Ok(None) => return Ok((Vec::new(), Vec::new())),
        Ok(Some(found)) => found,
        Err(why) => return Err(Error::setup(format!("cannot list generated calls: {why}"))),
    };
    if generation.workloads.is_empty() {
        return Ok((Vec::new(), generation.without));
    }
    lay_over(&mut ground.opened.versions, &generation.workloads);
    let only = only(ground.options, options);
    let mut calls = list_opened(ground.opened, &only, ground.started)?.listing.tests;
    calls.retain(|listed| generation.workload(&listed.test).is_some());
    for listed in &mut calls {
        listed.capture = Some(Capture::Generated);
    }
    Ok((calls, generation.without))
}

/// Generated calls, and the versions in which they can be compared.
struct Found {
    ground: Ground,
    generation: Generation,
}

impl Found {
    /// Generates calls; `None` if there are no functions to generate calls for.
    fn find(
        options: &Options,
        elapsed: Duration,
        tests: &OfTests<'_>,
        terminal: Terminal,
    ) -> std::result::Result<Option<Self>, NotCompared> {
        let is_all_known = !is_filtered(options);
        if is_all_known && tests.uncovered.is_empty() {
            return Ok(None);
        }
        second_comparison::check_time_left()?;
        let failed = |error: Error| not_compared(&error);
        let calls = of_calls(options, elapsed);
        let opened = open(&calls, terminal, tests.lock).map_err(failed)?;
        if opened.versions.contents() != *tests.contents {
            return Err(NotCompared::HeadChanged);
        }
        let started = Instant::now();
        let functions = if is_all_known {
            tests.uncovered.iter().map(|uncovered| uncovered.function.clone()).collect()
        } else {
            uncovered_functions(&opened, &calls).map_err(failed)?
        };
        if functions.is_empty() {
            return Ok(None);
        }
        let ground = Ground { opened, options: with_code_of(&calls, &functions), started };
        let generation = ground.generation(&functions).map_err(failed)?;
        Ok(Some(Self { ground, generation }))
    }
}

/// Returns true if some tests are excluded, so that their execution is unknown.
fn is_filtered(options: &Options) -> bool {
    let Filter { names, expressions, skip, ignored, .. } = &options.filter;
    let is_whole = names.is_empty() && expressions.is_empty() && skip.is_empty() && *ignored == Ignored::default();
    !is_whole || options.rules.default_filter.is_some()
}

/// Returns the changed functions that no test executes, regardless of filters.
pub fn uncovered_functions(opened: &Opened, options: &Options) -> Result<Vec<Function>> {
    let Opened { context, versions, .. } = opened;
    let mut versions = versions.clone();
    let (mut builder, selected) = select_to_build(context, &mut versions, &options.test_filter())?;
    let found = if selected.targets.is_empty() {
        find_coverage_gaps(&selected, &Names::of_versions(&versions, &selected), &[]).uncovered
    } else {
        let session = Session::new(context, &versions, &selected, options);
        let plan = pairings::prepare(&session, &mut builder)?;
        plan.describe(selected.summary(), &plan.find_coverage_gaps(&session), &session).uncovered
    };
    Ok(found.into_iter().map(|uncovered| uncovered.function).collect())
}

/// Returns true if a warning about an unmatched filter is obsolete because one of these generated calls matches it.
pub fn is_settled<'a>(warning: &Warning, mut calls: impl Iterator<Item = &'a TestId>) -> bool {
    match warning {
        Warning::Unused(Unused::Name { name, exact, .. }) => {
            let filter = Filter { names: vec![name.clone()], exact: *exact, ..Filter::default() };
            calls.any(|call| filter.takes(&call.name))
        }
        _ => false,
    }
}

/// Removes what the report of the tests already contains.
fn without_known(mut run: Run, tests: &Run) -> Run {
    let is_new = |warning: &Warning| !matches!(warning, Warning::Unused(_)) && !tests.warnings.contains(warning);
    run.warnings.retain(is_new);
    run.selection.unmeasured_targets.clear();
    // Commands cannot select generated calls by name.
    run.repeat = None;
    run
}

/// Returns options with only the unit tests of the packages that define the selected functions. Features stay those of
/// the comparison of tests.
fn with_code_of(options: &Options, functions: &[Function]) -> Options {
    let scope = Scope {
        only: functions.iter().map(|function| function.package.clone()).collect(),
        targets: vec![(TargetKind::Lib, None), (TargetKind::Bin, None)],
        ..options.scope.clone()
    };
    Options { scope, ..options.clone() }
}

/// Two versions and the options for building them.
pub struct Ground {
    pub opened: Opened,
    options: Options,
    started: Instant,
}

impl Ground {
    fn deadline(&self) -> Option<Instant> {
        self.options.measuring.budget.map(|budget| self.started + budget)
    }

    /// Prepares the versions for calls of these functions.
    pub fn new(opened: Opened, options: &Options, functions: &[Function]) -> Self {
        let options = with_code_of(&of_calls(options, Duration::ZERO), functions);
        Self { opened, options, started: Instant::now() }
    }

    /// Returns the key of the generation: everything that it depends on.
    fn key(&self, functions: &[Function]) -> Result<String> {
        let Opened { context, versions, .. } = &self.opened;
        let build = &self.options.build;
        let how = [&context.cargo.version, &build.profile].into_iter().chain(&build.arguments);
        let how = how.fold(generate::key(&versions.contents(), functions), KeyBuilder::with);
        let how = how.with(serde_json::to_vec(&(&self.options.scope, build.lto)).unwrap_or_default());
        let folder = context.location.manifest.parent().unwrap_or(&self.options.folder);
        Ok(with_code_settings(how, folder, &versions.repository, &build.arguments)?.finish())
    }

    /// Returns the stored generation for the functions, or generates calls.
    pub fn generation(&self, functions: &[Function]) -> Result<Generation> {
        let Opened { context, versions, .. } = &self.opened;
        let store = Store::new(&context.ours);
        let key = self.key(functions)?;
        if let Some(known) = store.load(&key)? {
            return Ok(known);
        }
        let mut versions = versions.clone();
        // Unchanged code may call the functions too.
        let wanted = Wanted { all_tests: true, ..self.options.test_filter() };
        let (mut builder, selected) = select_to_build(context, &mut versions, &wanted)?;
        let generation = self.generate(&mut builder, &versions, &selected, functions)?;
        if !interrupt::is_requested() && !generation.is_cut_short() {
            store.save(&key, &generation)?;
        }
        Ok(generation)
    }

    fn generate(
        &self,
        builder: &mut Builder<'_>,
        versions: &Versions,
        selected: &TargetSelection,
        functions: &[Function],
    ) -> Result<Generation> {
        let TargetSelection { workspace, packages, .. } = selected;
        let enabled = builder.features(versions, workspace, &self.options.build, packages)?;
        let (crates, homeless) = generate::sources(versions, selected, enabled.as_ref(), functions);
        let mut failures: Vec<_> = homeless.into_iter().map(|function| (function, NotGenerated::NoTarget)).collect();
        let mut calls = Vec::new();
        for Sources { files, root, name, features, wanted } in &crates {
            let (found, without) =
                generate::calls(&CrateSources { files, root, name, features: features.as_ref() }, wanted);
            calls.extend(found);
            failures.extend(without);
        }
        let deadline = self.deadline().map(interrupt::half_way);
        let trials = Trials { versions, selected, options: &self.options.build, deadline };
        generate::try_calls(builder, &trials, calls, failures)
    }

    /// Compares the requested calls as tests of both versions.
    fn compare(self, asked: &Options, generation: &Generation, announce: Announce<'_>) -> Result<Run> {
        let Self { mut opened, options, started } = self;
        let options = only(options, asked);
        lay_over(&mut opened.versions, &generation.workloads);
        let mut run = compare_opened(opened, &options, started, announce)?.run;
        run.outcomes.retain(|outcome| generation.workload(&outcome.test).is_some());
        for outcome in &mut run.outcomes {
            outcome.capture = Some(Capture::Generated);
        }
        Ok(run)
    }
}

/// Returns the options for comparing generated calls.
pub fn of_generation(options: &Options, generation: &Generation) -> Options {
    let functions: Vec<Function> = generation.workloads.iter().map(|workload| workload.call.function.clone()).collect();
    only(with_code_of(&of_calls(options, Duration::ZERO), &functions), options)
}

/// Restricts the options to the requested calls, without the existing tests.
fn only(mut options: Options, asked: &Options) -> Options {
    const CALLS: &str = "kind(generated)";
    options.filter = asked.filter.clone();
    let expressions = &mut options.filter.expressions;
    for expression in expressions.iter_mut() {
        *expression = format!("({expression}) & {CALLS}");
    }
    if expressions.is_empty() {
        expressions.push(CALLS.to_owned());
    }
    options.rules.default_filter.clone_from(&asked.rules.default_filter);
    options
}

/// Adds the calls to both versions.
pub fn lay_over(versions: &mut Versions, workloads: &[GeneratedWorkload]) {
    let calls: Vec<Placing<'_>> =
        workloads.iter().map(|GeneratedWorkload { call, name, n, .. }| Placing { call, name, n: Some(*n) }).collect();
    for side in Side::BOTH {
        let read = |path: &str| String::from_utf8(versions.read_file(versions.files.get(side), path)?).ok();
        let placed = generate::place(&calls, &read);
        let entries = &mut versions.files.get_mut(side).entries;
        for (path, text) in placed.files {
            let (path, entry) = (PathBuf::from(path), Entry::snapshot(text.into_bytes()));
            let mode = entries.get(&path).map_or(entry.mode, |known| known.mode);
            entries.insert(path, Entry { mode, ..entry });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use perfunit_model::{Generated, Partition};

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
    fn filters_of_tests_are_filters_of_calls() {
        let asked = options();
        let only = |asked: &Options| only(of_calls(asked, Duration::ZERO), asked).filter;
        assert_eq!(
            (only(&asked).names, only(&asked).expressions),
            (asked.filter.names, vec!["kind(generated)".to_owned()])
        );
        let mut asked = Options::default();
        asked.filter.expressions = vec!["test(a) + test(b)".to_owned()];
        assert_eq!(only(&asked).expressions, ["(test(a) + test(b)) & kind(generated)"]);
    }

    #[test]
    fn what_is_not_built_or_shared_out_is_refused() {
        check(&options()).unwrap();
        let archive = Options { archive: Some("a.tar.zst".into()), ..options() };
        assert!(check(&archive).unwrap_err().to_string().contains("--use-archive"));
        let shard = Options { partition: Some("slice:1/2".parse::<Partition>().unwrap()), ..options() };
        assert!(check(&shard).unwrap_err().to_string().contains("cannot be used with `--partition`"));
    }
}
