//! Filters and rules of the configuration for targets, tests and files, with compiled expressions and patterns.

use super::scope::{Filter, Wanted};
use super::target_files::TargetFiles;
use crate::source::{self, Directive};
use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use perfunit_build::shadow::Injections;
use perfunit_build::{Builder, Place};
use perfunit_model::error::{Error, Result};
use perfunit_model::{AcceptedLoss, Generated, Reason, TargetId, TestId, Unused};
use perfunit_project::cargo::{self, Package, Resolution, Workspace};
use perfunit_project::config::filterset::{Expression, Universe, needs_dependencies};
use perfunit_project::config::{DataFate, DataRule, Override, Rules, SkipRule, Source, Sourced, Step, StepKind, Terms};
use perfunit_project::git::Versions;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Name of command-line expressions in messages.
const TYPED: &str = "--filterset";

/// Package with the attributes to read.
const RUNTIME: &str = "perfunit-runtime";

/// The rules of a run.
#[derive(Debug)]
pub struct TestRules {
    pub filter: Filter,
    /// Settings of tests without rules of their own.
    terms: Terms,
    /// Packages that expressions refer to; `None` without expressions.
    universe: Option<Universe>,
    /// Expressions of the command line, one of which must match a test.
    wanted: Vec<Expression>,
    default: Option<(Expression, Source)>,
    overrides: Vec<(Expression, Override)>,
    skips: Vec<(Expression, SkipRule)>,
    data: Vec<FileRule>,
    /// Attributes by target and function name.
    directives: BTreeMap<(TargetId, String), Vec<LocatedAttribute>>,
    /// True if the threshold comes from the command line or the environment, and attributes do not apply.
    typed_threshold: bool,
    accepted: Vec<AcceptedLoss>,
    /// Steps before tests, with the expressions for the tests that need them; none stands for all tests.
    steps: Vec<(Step, Vec<Expression>)>,
}

/// An attribute with its position.
#[derive(Debug)]
struct LocatedAttribute {
    what: Directive,
    place: String,
}

/// A rule for data files.
#[derive(Debug)]
struct FileRule {
    paths: GlobSet,
    /// Tests that may read them; `None` if no test may.
    reaches: Option<Expression>,
    from: Source,
}

/// Rule for a changed data file.
#[derive(Debug, Clone, Copy)]
pub enum Data<'a> {
    /// No rule matches.
    Unruled,
    /// The rule at this position ignores it.
    Ignored(&'a Source),
    /// Only tests that match this expression may read it.
    Reaches(&'a Expression),
}

impl TestRules {
    /// Parses all rules. Runs `cargo metadata` only if an expression needs the packages; if one needs dependencies,
    /// runs it in the shadow tree, because cargo may write a lock file. `root` is the folder of head's files.
    pub fn new(
        builder: &mut Builder<'_>,
        versions: &Versions,
        wanted: &Wanted<'_>,
        workspace: &Workspace,
        root: &Path,
    ) -> Result<Self> {
        let Rules { default_filter, overrides, skips, data, steps, .. } = wanted.rules;
        let typed = &wanted.filter.expressions;
        let reaches = data.iter().filter_map(test_expression);
        let of_file = default_filter.iter().chain(overrides.iter().map(|rule| &rule.filter));
        let of_file = of_file.chain(skips.iter().map(|rule| &rule.filter)).chain(reaches);
        let of_file = of_file.chain(steps.iter().flat_map(|step| &step.filters));
        let texts: Vec<&String> = of_file.map(|filter| &filter.value).chain(typed).collect();
        let mut rules = Self::none(wanted);
        let mut universe = if texts.is_empty() {
            None
        } else {
            let dependencies = texts.iter().any(|text| needs_dependencies(text));
            let packages = packages(builder, versions, workspace, root, dependencies.then_some(Resolution::Full))?;
            Some(Universe::new(&packages)?)
        };
        if let Some(universe) = &mut universe {
            if let Some(Sourced { value, from }) = default_filter {
                rules.default = Some((universe.parse_default(value, &from.to_string())?, from.clone()));
            }
            let parse = |filter: &Sourced<String>| universe.parse(&filter.value, &filter.from.to_string());
            for rule in overrides {
                rules.overrides.push((parse(&rule.filter)?, rule.clone()));
            }
            for rule in skips {
                rules.skips.push((parse(&rule.filter)?, rule.clone()));
            }
            rules.wanted = typed.iter().map(|text| universe.parse(text, TYPED)).collect::<Result<_>>()?;
        }
        for rule in data {
            let parse = |filter: &Sourced<String>| {
                let universe = universe.as_ref()?;
                Some(universe.parse(&filter.value, &filter.from.to_string()))
            };
            let reaches = test_expression(rule).and_then(parse).transpose()?;
            rules.data.push(FileRule { paths: patterns(rule)?, reaches, from: rule.from.clone() });
        }
        for step in steps.iter().filter(|step| step.kind == StepKind::Test) {
            let parse = |filter: &Sourced<String>| {
                let universe = universe.as_ref()?;
                Some(universe.parse(&filter.value, &filter.from.to_string()))
            };
            rules.steps.push((step.clone(), step.filters.iter().filter_map(parse).collect::<Result<_>>()?));
        }
        rules.universe = universe;
        Ok(rules)
    }

    fn none(wanted: &Wanted<'_>) -> Self {
        Self {
            filter: wanted.filter.clone(),
            terms: wanted.terms.clone(),
            universe: None,
            wanted: Vec::new(),
            default: None,
            overrides: Vec::new(),
            skips: Vec::new(),
            data: Vec::new(),
            directives: BTreeMap::new(),
            typed_threshold: wanted.rules.typed_threshold,
            accepted: wanted.rules.accepted.clone(),
            steps: Vec::new(),
        }
    }

    /// Returns the steps before tests with the targets whose tests need each, leaving out steps that no test needs.
    pub fn steps_for<'a>(&self, tests: &[&'a TestId]) -> Vec<(&Step, BTreeSet<&'a TargetId>)> {
        let needs = |filters: &[Expression], test: &TestId| {
            let takes = |universe: &Universe| filters.iter().any(|filter| universe.takes(filter, test));
            filters.is_empty() || self.universe.as_ref().is_some_and(takes)
        };
        let of_step = self.steps.iter().map(|(step, filters)| {
            let needing = tests.iter().filter(|test| needs(filters, test));
            (step, needing.map(|test| &test.target).collect::<BTreeSet<_>>())
        });
        of_step.filter(|(_, targets)| !targets.is_empty()).collect()
    }

    /// Returns false if no test of the target can match, whatever its name.
    pub fn may_take(&self, target: &TargetId) -> bool {
        let Some(universe) = &self.universe else { return true };
        let may = |expression: &Expression| universe.takes_target(expression, target) != Some(false);
        (self.wanted.is_empty() || self.wanted.iter().any(may))
            && self.default.as_ref().is_none_or(|(default, _)| may(default))
    }

    /// Adds the attributes in head's sources, for packages that depend on the runtime crate.
    pub fn heed_attributes(&mut self, versions: &Versions, workspace: &Workspace, files: &TargetFiles) {
        let has_runtime = |package: &&Package| {
            package.dependencies.iter().chain(&package.elsewhere).any(|dependency| dependency.package == RUNTIME)
        };
        for target in workspace.packages.iter().filter(has_runtime).flat_map(|package| &package.targets) {
            let Some(sides) = files.get(&target.id) else { continue };
            for (path, file) in &sides.head {
                for directive in
                    source::test_directives(&versions.read_file(&versions.files.head, path).unwrap_or_default())
                {
                    let name = if file.module.is_empty() {
                        directive.name
                    } else {
                        format!("{}::{}", file.module, directive.name)
                    };
                    let located =
                        LocatedAttribute { what: directive.what, place: format!("{path}:{}", directive.line) };
                    self.directives.entry((target.id.clone(), name)).or_default().push(located);
                }
            }
        }
    }

    /// Returns the attributes of a test. Cases (`name::case_1`) share the attributes of the function that generates
    /// them.
    fn directives(&self, test: &TestId) -> &[LocatedAttribute] {
        let of = |name: &str| self.directives.get(&(test.target.clone(), name.to_owned()));
        let parent = || of(test.name.rsplit_once("::")?.0);
        of(&test.name).or_else(parent).map_or(&[], Vec::as_slice)
    }

    /// Returns the reason why a test is excluded, if it is.
    pub fn exclusion_reason(&self, test: &TestId) -> Option<Reason> {
        self.excluded_by_filter(test).or_else(|| {
            self.directives(test).iter().find_map(|LocatedAttribute { what, place }| match what {
                Directive::Skip { reason } => {
                    let why = reason.clone().unwrap_or_else(|| "its attribute says so".to_owned());
                    Some(Reason::Skipped { why, place: place.clone() })
                }
                Directive::Threshold(_) => None,
            })
        })
    }

    fn excluded_by_filter(&self, test: &TestId) -> Option<Reason> {
        let universe = self.universe.as_ref()?;
        let takes = |expression: &Expression| universe.takes(expression, test);
        let wanted = (self.wanted.is_empty() || self.wanted.iter().any(takes))
            && self.default.as_ref().is_none_or(|(default, _)| takes(default));
        if !wanted {
            return Some(Reason::Filtered);
        }
        let skip = self.skips.iter().find(|(expression, _)| takes(expression));
        skip.map(|(_, rule)| Reason::Skipped { why: rule.reason.clone(), place: rule.filter.from.to_string() })
    }

    /// Returns the settings of a test. Each comes from the first matching override that sets it, else from the test's
    /// attribute, else from the run.
    pub fn terms(&self, test: &TestId) -> Terms {
        let mut terms = self.terms.clone();
        let name = test.to_string();
        terms.accepted = self.accepted.iter().find(|accepted| accepted.test == name).cloned();
        for LocatedAttribute { what, place } in self.directives(test).iter().filter(|_| !self.typed_threshold) {
            // Another value would not compile.
            if let Directive::Threshold(text) = what
                && let Ok(threshold) = text.parse()
            {
                (terms.threshold, terms.threshold_from) = (threshold, Some(place.clone()));
            }
        }
        let Some(universe) = &self.universe else { return terms };
        let of_test: Vec<&Override> = self
            .overrides
            .iter()
            .filter(|(expression, _)| universe.takes(expression, test))
            .map(|(_, rule)| rule)
            .collect();
        let place = |rule: &Override| rule.filter.from.to_string();
        if let Some((threshold, from)) = first(&of_test, |rule| Some((rule.threshold?, place(rule)))) {
            (terms.threshold, terms.threshold_from) = (threshold, Some(from));
        }
        if let Some(time) = first(&of_test, |rule| rule.per_test_budget) {
            terms.per_test_budget = time;
        }
        if let Some(time) = first(&of_test, |rule| rule.timeout) {
            terms.timeout = time;
        }
        if let Some((gates, from)) = first(&of_test, |rule| Some((rule.metrics.clone()?, place(rule)))) {
            (terms.gates, terms.gates_from) = (gates, Some(from));
        }
        terms
    }

    /// Returns the first rule that matches a data file.
    pub fn data(&self, path: &str) -> Data<'_> {
        let rule = self.data.iter().find(|rule| rule.paths.is_match(path));
        match rule {
            None => Data::Unruled,
            Some(FileRule { reaches: None, from, .. }) => Data::Ignored(from),
            Some(FileRule { reaches: Some(expression), .. }) => Data::Reaches(expression),
        }
    }

    /// Checks whether the expression can match tests of the target.
    pub fn may_reach(&self, expression: &Expression, target: &TargetId) -> bool {
        self.universe.as_ref().is_none_or(|universe| universe.takes_target(expression, target) != Some(false))
    }

    /// Checks whether the rules allow the test to read the data file.
    pub fn may_read(&self, test: &TestId, path: &str) -> bool {
        match (self.data(path), &self.universe) {
            (Data::Reaches(expression), Some(universe)) => universe.takes(expression, test),
            (Data::Ignored(_), _) => false,
            _ => true,
        }
    }

    /// Returns the command-line expressions and the default filter that match no test, the latter with its source.
    /// `calls` says whether generated workloads are compared too.
    pub fn idle(&self, tests: &[&TestId], calls: Generated) -> Vec<(String, Option<String>)> {
        let Some(universe) = &self.universe else { return Vec::new() };
        let is_idle = |expression: &&Expression| takes_nothing(universe, expression, tests, calls);
        let typed = self.wanted.iter().filter(is_idle).map(|expression| (expression.text.clone(), None));
        let default = self.default.iter().filter(|(expression, _)| is_idle(&expression));
        let default = default.map(|(expression, from)| (expression.text.clone(), Some(from.to_string())));
        typed.chain(default).collect()
    }

    /// Returns the rules of the configuration that match no test. All tests must be known.
    pub fn useless(&self, tests: &[&TestId], calls: Generated) -> Vec<Unused> {
        let Some(universe) = &self.universe else { return Vec::new() };
        let is_idle = |expression: &Expression| takes_nothing(universe, expression, tests, calls);
        let overrides =
            self.overrides.iter().filter(|(expression, _)| is_idle(expression)).map(|(_, rule)| &rule.filter);
        let skips = self.skips.iter().filter(|(expression, _)| is_idle(expression)).map(|(_, rule)| &rule.filter);
        let rule = |rule: &Sourced<String>| Unused::Rule { text: rule.value.clone(), from: rule.from.to_string() };
        overrides.chain(skips).map(rule).collect()
    }
}

/// Checks whether the expression matches none of the tests, and no generated workloads if some are compared.
fn takes_nothing(universe: &Universe, expression: &Expression, tests: &[&TestId], calls: Generated) -> bool {
    !tests.iter().any(|test| {
        universe.takes(expression, test)
            || calls != Generated::Never && universe.is_about_calls(expression, &test.target)
    })
}

/// Returns the value of the first rule that sets it.
fn first<T>(rules: &[&Override], part: impl Fn(&Override) -> Option<T>) -> Option<T> {
    rules.iter().find_map(|rule| part(rule))
}

/// Returns the expression of a data rule for the tests that may read the files.
fn test_expression(rule: &DataRule) -> Option<&Sourced<String>> {
    match &rule.fate {
        DataFate::Ignored => None,
        DataFate::Reaches(filter) => Some(filter),
    }
}

fn patterns(rule: &DataRule) -> Result<GlobSet> {
    let mut patterns = GlobSetBuilder::new();
    let wrong = |error: globset::Error| Error::usage(format!("{}: {error}", rule.from));
    for path in &rule.paths {
        // As in git, a star does not match a slash.
        patterns.add(GlobBuilder::new(path).literal_separator(true).build().map_err(wrong)?);
    }
    patterns.build().map_err(wrong)
}

/// Runs `cargo metadata` for head's packages.
fn packages(
    builder: &mut Builder<'_>,
    versions: &Versions,
    workspace: &Workspace,
    root: &Path,
    resolution: Option<Resolution>,
) -> Result<String> {
    let cargo = &builder.context().cargo;
    let manifest = |root: PathBuf| root.join(&workspace.root).join("Cargo.toml");
    let Some(resolution) = resolution else {
        return cargo::package_graph(cargo, &manifest(root.to_owned()), Resolution::None);
    };
    let mut versions = versions.clone();
    builder.settle_lock_file(&mut versions, &workspace.root)?;
    builder.checkout(Place::Measured, &versions.files.head, &Injections::none())?;
    cargo::package_graph(cargo, &manifest(builder.root(Place::Measured)?), resolution)
}
