//! What filters and the configuration say of targets, tests and files, understood: expressions and patterns, compiled.

use super::scope::{Filter, Wanted};
use super::target_files::TargetFiles;
use crate::source::{self, Asked};
use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use perfunit_build::shadow::Injections;
use perfunit_build::{Builder, Place};
use perfunit_model::error::{Error, Result};
use perfunit_model::{AcceptedLoss, Generated, Reason, TargetId, TestId, Unused};
use perfunit_project::cargo::{self, Package, Resolution, Workspace};
use perfunit_project::config::filterset::{Expression, Universe, needs_dependencies};
use perfunit_project::config::{DataFate, DataRule, Override, Rules, SkipRule, Source, Sourced, Terms};
use perfunit_project::git::Versions;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// How an expression of the command line is called.
const TYPED: &str = "--filterset";

/// The package whose attributes we heed.
const RUNTIME: &str = "perfunit-runtime";

/// All rules of a run.
#[derive(Debug)]
pub struct TestRules {
    pub filter: Filter,
    /// The terms of a test of which nothing else is said.
    terms: Terms,
    /// What the expressions speak about; absent if there are none.
    universe: Option<Universe>,
    /// Typed: one of them has to take a test.
    wanted: Vec<Expression>,
    default: Option<(Expression, Source)>,
    overrides: Vec<(Expression, Override)>,
    skips: Vec<(Expression, SkipRule)>,
    data: Vec<FileRule>,
    /// What attributes say, by target and the name of the function.
    asked: BTreeMap<(TargetId, String), Vec<Placed>>,
    /// Attributes yield to a threshold that was typed.
    typed_threshold: bool,
    accepted: Vec<AcceptedLoss>,
}

/// An attribute with its place.
#[derive(Debug)]
struct Placed {
    what: Asked,
    place: String,
}

/// A rule about data files.
#[derive(Debug)]
struct FileRule {
    paths: GlobSet,
    /// The tests that may read them; none may if absent.
    reaches: Option<Expression>,
    from: Source,
}

/// What becomes of a changed data file.
#[derive(Debug, Clone, Copy)]
pub enum Data<'a> {
    /// No rule is about it.
    Unruled,
    /// It means nothing, by the rule at this place.
    Ignored(&'a Source),
    /// Only tests that this takes may read it.
    Reaches(&'a Expression),
}

impl TestRules {
    /// Understands everything. The packages are asked for only where an expression needs them; those that it asks about
    /// dependencies, in the shadow tree, because cargo then may write a lock file. `root` is the folder of head's files.
    pub fn new(
        builder: &mut Builder<'_>,
        versions: &Versions,
        wanted: &Wanted<'_>,
        workspace: &Workspace,
        root: &Path,
    ) -> Result<Self> {
        let Rules { default_filter, overrides, skips, data, .. } = wanted.rules;
        let typed = &wanted.filter.expressions;
        let reaches = data.iter().filter_map(reached);
        let of_file = default_filter.iter().chain(overrides.iter().map(|rule| &rule.filter));
        let of_file = of_file.chain(skips.iter().map(|rule| &rule.filter)).chain(reaches);
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
            let reaches = reached(rule).and_then(parse).transpose()?;
            rules.data.push(FileRule { paths: patterns(rule)?, reaches, from: rule.from.clone() });
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
            asked: BTreeMap::new(),
            typed_threshold: wanted.rules.typed_threshold,
            accepted: wanted.rules.accepted.clone(),
        }
    }

    /// False if no test of the target is wanted, whatever it is called.
    pub fn may_take(&self, target: &TargetId) -> bool {
        let Some(universe) = &self.universe else { return true };
        let may = |expression: &Expression| universe.takes_target(expression, target) != Some(false);
        (self.wanted.is_empty() || self.wanted.iter().any(may))
            && self.default.as_ref().is_none_or(|(default, _)| may(default))
    }

    /// Adds what attributes say in head's sources, where a package has the crate that they are from.
    pub fn heed_attributes(&mut self, versions: &Versions, workspace: &Workspace, files: &TargetFiles) {
        let has_runtime = |package: &&Package| {
            package.dependencies.iter().chain(&package.elsewhere).any(|dependency| dependency.package == RUNTIME)
        };
        for target in workspace.packages.iter().filter(has_runtime).flat_map(|package| &package.targets) {
            let Some(sides) = files.get(&target.id) else { continue };
            for (path, file) in &sides.head {
                for ask in source::asks(&versions.read_file(&versions.files.head, path).unwrap_or_default()) {
                    let name = if file.module.is_empty() { ask.name } else { format!("{}::{}", file.module, ask.name) };
                    let placed = Placed { what: ask.what, place: format!("{path}:{}", ask.line) };
                    self.asked.entry((target.id.clone(), name)).or_default().push(placed);
                }
            }
        }
    }

    /// The attributes of a test; of cases (`name::case_1`) those of the function that they are made from.
    fn asked(&self, test: &TestId) -> &[Placed] {
        let of = |name: &str| self.asked.get(&(test.target.clone(), name.to_owned()));
        let parent = || of(test.name.rsplit_once("::")?.0);
        of(&test.name).or_else(parent).map_or(&[], Vec::as_slice)
    }

    /// Why a test is left out, if it is.
    pub fn excluded(&self, test: &TestId) -> Option<Reason> {
        self.excluded_by_filter(test).or_else(|| {
            self.asked(test).iter().find_map(|Placed { what, place }| match what {
                Asked::Skip { reason } => {
                    let why = reason.clone().unwrap_or_else(|| "its attribute says so".to_owned());
                    Some(Reason::Skipped { why, place: place.clone() })
                }
                Asked::Threshold(_) => None,
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

    /// On what terms a test is measured: each of the first override that takes it and says something, else its attribute's,
    /// else the run's.
    pub fn terms(&self, test: &TestId) -> Terms {
        let mut terms = self.terms.clone();
        let name = test.to_string();
        terms.accepted = self.accepted.iter().find(|accepted| accepted.test == name).cloned();
        for Placed { what, place } in self.asked(test).iter().filter(|_| !self.typed_threshold) {
            // The attribute does not compile with anything else.
            if let Asked::Threshold(text) = what
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

    /// What the rules say of a data file; the first that is about it counts.
    pub fn data(&self, path: &str) -> Data<'_> {
        let rule = self.data.iter().find(|rule| rule.paths.is_match(path));
        match rule {
            None => Data::Unruled,
            Some(FileRule { reaches: None, from, .. }) => Data::Ignored(from),
            Some(FileRule { reaches: Some(expression), .. }) => Data::Reaches(expression),
        }
    }

    /// True if the expression can take tests of the target.
    pub fn may_reach(&self, expression: &Expression, target: &TargetId) -> bool {
        self.universe.as_ref().is_none_or(|universe| universe.takes_target(expression, target) != Some(false))
    }

    /// True if the rules let the test read the data file.
    pub fn may_read(&self, test: &TestId, path: &str) -> bool {
        match (self.data(path), &self.universe) {
            (Data::Reaches(expression), Some(universe)) => universe.takes(expression, test),
            (Data::Ignored(_), _) => false,
            _ => true,
        }
    }

    /// The typed expressions and the default filter that take none of the tests; of the latter also the place. `calls` are
    /// compared besides.
    pub fn idle(&self, tests: &[&TestId], calls: Generated) -> Vec<(String, Option<String>)> {
        let Some(universe) = &self.universe else { return Vec::new() };
        let is_idle = |expression: &&Expression| takes_nothing(universe, expression, tests, calls);
        let typed = self.wanted.iter().filter(is_idle).map(|expression| (expression.text.clone(), None));
        let default = self.default.iter().filter(|(expression, _)| is_idle(&expression));
        let default = default.map(|(expression, from)| (expression.text.clone(), Some(from.to_string())));
        typed.chain(default).collect()
    }

    /// The rules of the configuration about tests that take none of them, where all tests are known.
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

/// Whether the expression takes none of the tests, nor generated calls where some are compared.
fn takes_nothing(universe: &Universe, expression: &Expression, tests: &[&TestId], calls: Generated) -> bool {
    !tests.iter().any(|test| {
        universe.takes(expression, test)
            || calls != Generated::Never && universe.is_about_calls(expression, &test.target)
    })
}

/// What the first rule that says something says.
fn first<T>(rules: &[&Override], part: impl Fn(&Override) -> Option<T>) -> Option<T> {
    rules.iter().find_map(|rule| part(rule))
}

/// The expression for the tests that a data rule lets read.
fn reached(rule: &DataRule) -> Option<&Sourced<String>> {
    match &rule.fate {
        DataFate::Ignored => None,
        DataFate::Reaches(filter) => Some(filter),
    }
}

fn patterns(rule: &DataRule) -> Result<GlobSet> {
    let mut patterns = GlobSetBuilder::new();
    let wrong = |error: globset::Error| Error::usage(format!("{}: {error}", rule.from));
    for path in &rule.paths {
        // As in git: a star does not go beyond a folder.
        patterns.add(GlobBuilder::new(path).literal_separator(true).build().map_err(wrong)?);
    }
    patterns.build().map_err(wrong)
}

/// What cargo says of head's packages.
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
