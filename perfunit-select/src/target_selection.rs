//! Selects the targets that the change can reach, from source difference and workspace graph.

use super::graph::graph;
use super::moves;
use super::reach::{self, Graph, Reached};
use super::rules::{Data, TestRules};
use super::scope::{self, InScope, Wanted};
use super::source::{self, ChangedInput, FileChange, Holder, SourceDiff};
use super::target_files::{TargetFiles, modules};
use super::test_inputs::{self, Ruled, taken_in};
use super::without_tests::is_without_tests;
use perfunit_build::shadow::{Injected, Injections};
use perfunit_build::{Builder, Pairing, Place, TestCode, contains};
use perfunit_model::error::{Error, Result};
use perfunit_model::{
    ChangeKind, ChangedPart, CodeChange, Effect, Irrelevance, NothingBecause, ReachedBy, Selection, Side, TargetId,
    TargetKind, UnmeasuredTarget, Warning,
};
use perfunit_project::cargo::{self, Package, Target, Workspace};
use perfunit_project::git::path::is_rust;
use perfunit_project::git::{FileSet, Versions};
use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

/// Targets to build, and facts about the change.
#[derive(Debug)]
pub struct TargetSelection {
    /// Head's workspace.
    pub workspace: Workspace,
    pub diff: SourceDiff,
    /// Targets to build, with the change that reaches each.
    pub targets: BTreeMap<TargetId, ReachedBy>,
    /// Targets that would be built if they had tests.
    pub without_tests: BTreeSet<TargetId>,
    /// Targets in scope that have tests.
    pub in_scope: BTreeSet<TargetId>,
    /// Packages in scope, including those without tests. Their needs decide the features of dependencies.
    pub packages: BTreeSet<String>,
    /// Files of each target and side.
    pub target_files: TargetFiles,
    /// Changed files that the tests of a target may read at run time.
    pub data_files: BTreeMap<TargetId, Vec<String>>,
    /// Packages and their dependencies; empty if nothing differs.
    pub graph: Graph,
    /// Rules of filters and configuration for tests.
    pub rules: TestRules,
    /// True if all tests in scope are selected.
    pub all_tests: bool,
    /// True if the harnesses of benchmarks are replaced.
    benches: bool,
    /// Warnings to show to the user.
    pub warnings: Vec<Warning>,
    /// Changed files that the configuration ignores.
    ignored: Vec<Effect>,
    /// Changed data files in no package that no code names.
    nowhere: Vec<String>,
    /// The function that changed, if nothing else differs that could affect a test.
    only_change: Option<CodeChange>,
    nothing_because: Option<NothingBecause>,
    /// Doc tests and benchmarks of the built packages that were not requested.
    on_request: Vec<UnmeasuredTarget>,
}

impl TargetSelection {
    /// Returns the root files of all targets.
    pub fn roots(&self) -> BTreeSet<String> {
        let targets = self.workspace.packages.iter().flat_map(|package| &package.targets);
        targets.map(|target| target.root.clone()).collect()
    }

    /// Returns the root file of a target.
    pub fn root(&self, id: &TargetId) -> Option<&str> {
        let mut targets = self.workspace.packages.iter().flat_map(|package| &package.targets);
        targets.find(|target| target.id == *id).map(|target| target.root.as_str())
    }

    /// Returns the injections into the root files of all test targets in the built packages. Cargo may build more
    /// targets than requested.
    pub fn injections(&self) -> Injections {
        let packages: BTreeSet<&str> = self.targets.keys().map(|target| target.package.as_str()).collect();
        let built = self.workspace.packages.iter().filter(|package| packages.contains(package.name.as_str()));
        let tested = built.flat_map(|package| &package.targets).filter(|target| target.tested);
        let what = |target: &Target| match target.id.kind {
            TargetKind::Bench if self.benches => Injected::Bench,
            kind if kind.beside().is_some() => Injected::MacroAndBench,
            _ => Injected::Macro,
        };
        // A root shared with other targets gets our `#[test]`.
        let mut injected: Vec<_> = tested.map(|target| (&target.root, what(target))).collect();
        injected.sort_by_key(|(_, what)| *what);
        injected.into_iter().collect()
    }

    /// Pairs both versions with the test code of `tests_of`.
    pub fn pairing(&self, versions: &Versions, tests_of: Side) -> Pairing {
        let holds =
            |side: Side| source::holds(self.target_files.iter().map(|(target, files)| (target.kind, files.get(side))));
        let read = |side: Side| move |path: &str| versions.read_file(versions.files.get(side), path);
        let code = tests_of.other();
        let files = source::overlay(
            &versions.changed_paths(),
            &self.roots(),
            &Holder { files: &holds(code), read: &read(code) },
            &Holder { files: &holds(tests_of), read: &read(tests_of) },
        );
        let mut files_of_roots: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for target in self.workspace.packages.iter().flat_map(|package| &package.targets) {
            let known = files_of_roots.entry(target.root.clone()).or_default();
            let sides = self.target_files.get(&target.id).into_iter();
            known.extend(sides.flat_map(|sides| sides.base.keys().chain(sides.head.keys())).cloned());
        }
        Pairing::new(&versions.files, TestCode { tests_of, files, files_of_roots })
    }

    /// Summarizes the selection for the report, before tests are known.
    pub fn summary(&self) -> Selection {
        Selection {
            targets: self.in_scope.len(),
            targets_reached: self.targets.len(),
            changes: changes(&self.diff).collect(),
            only_change: self.only_change.clone(),
            effects: self.effects(),
            nothing_because: self.nothing_because,
            unmeasured_targets: self.on_request.clone(),
            ..Selection::default()
        }
    }
}

impl TargetSelection {
    /// Returns what happened to the changes that reach no target.
    fn effects(&self) -> Vec<Effect> {
        let irrelevant = self.diff.irrelevant.iter();
        let irrelevant = irrelevant.map(|(path, why)| Effect::Irrelevant { path: path.clone(), why: *why });
        let effects = irrelevant.chain(self.ignored.iter().cloned());
        if self.targets.is_empty() {
            let effect = |change| match self.nothing_because {
                Some(because @ NothingBecause::NoTests { .. }) => Effect::NoTest { change, because },
                _ => Effect::NoTarget(change),
            };
            return effects.chain(changes(&self.diff).map(effect)).collect();
        }
        effects.chain(self.nowhere.iter().map(|path| Effect::Nowhere { path: path.clone() })).collect()
    }
}

/// Compares the sources and selects the targets to build. Renames moved files of base to their paths in head.
pub fn select(builder: &mut Builder<'_>, versions: &mut Versions, wanted: &Wanted<'_>) -> Result<TargetSelection> {
    let _span = tracing::info_span!("select").entered();
    let code = OnceCell::new();
    let (mut workspace, root) = load_workspace(builder, versions, wanted)?;
    wanted.complete(&mut workspace, &|package, target| scope::has_benches(versions, package, target));
    let all_code = || code.get_or_init(|| test_inputs::all_rust(versions)).as_slice();
    let mut diff = source_diff(versions, &all_code)?;
    let moved = moves::find(builder, versions, &workspace, &diff, wanted)?;
    if let Some((counterpart, moves)) = moved {
        workspace.counterpart = Some(Rc::new(counterpart));
        if !moves.is_empty() {
            versions.files.base.relocate(Arc::new(moves));
            let all_code = || code.get_or_init(|| test_inputs::all_rust(versions)).as_slice();
            diff = source_diff(versions, &all_code)?;
        }
    }
    let versions = &*versions;
    let code = || code.get_or_init(|| test_inputs::all_rust(versions)).as_slice();
    let taken_in = taken_in(versions, &workspace, &mut diff);
    let InScope { packages, targets: in_scope } = scope::find(&builder.context().location, wanted.scope, &workspace)?;
    let rules = TestRules::new(builder, versions, wanted, &workspace, &root)?;
    let mut selected = TargetSelection {
        workspace,
        targets: BTreeMap::new(),
        without_tests: BTreeSet::new(),
        in_scope,
        packages,
        target_files: TargetFiles::new(),
        data_files: BTreeMap::new(),
        graph: Graph::default(),
        rules,
        all_tests: wanted.all_tests,
        benches: wanted.scope.asks_for(TargetKind::Bench),
        warnings: Vec::new(),
        ignored: Vec::new(),
        nowhere: Vec::new(),
        only_change: only_change(&diff).filter(|_| taken_in.is_empty()),
        nothing_because: None,
        on_request: Vec::new(),
        diff,
    };
    selected.leave_out_unwanted();
    let Ruled { reaching, ignored, warnings } = test_inputs::apply_rules(&code, &selected.rules, &mut selected.diff);
    selected.ignored = ignored;
    selected.warnings.extend(warnings);
    let moved = selected.workspace.counterpart.is_some();
    if wanted.all_tests || moved || !selected.diff.is_empty() || !reaching.is_empty() || !taken_in.is_empty() {
        (selected.graph, selected.target_files) =
            graph(builder, versions, &selected.workspace, &selected.diff, &taken_in)?;
        selected.rules.heed_attributes(versions, &selected.workspace, &selected.target_files);
        let left_out = selected.reach();
        if !left_out.is_empty() && !wanted.scope.workspace {
            selected.warnings.push(Warning::PackagesLeftOut { packages: left_out.into_iter().collect() });
        }
        selected.reach_moved(versions);
        selected.reach_by_rules(reaching);
        selected.leave_out_without_tests(versions);
        let read = test_inputs::source_input_warnings(versions, &selected.target_files, selected.targets.keys());
        selected.warnings.extend(read);
    }
    if selected.targets.is_empty() && !selected.in_scope.is_empty() {
        selected.nothing_because = Some(nothing_because(versions, &selected));
    }
    selected.on_request = selected.on_request(versions, &|kind| wanted.scope.asks_for(kind));
    Ok(selected)
}

impl TargetSelection {
    /// Drops the targets in which the filters match no test. Where nothing is left, the change may still reach other targets.
    fn leave_out_unwanted(&mut self) {
        if self.in_scope.is_empty() {
            self.warnings.push(Warning::NoTargets);
            return;
        }
        self.in_scope.retain(|target| self.rules.may_take(target));
        if self.in_scope.is_empty() {
            self.warnings.push(Warning::NoTargetLeft);
        }
    }

    /// Selects the targets that the difference reaches, or all. Returns the reached members with tests that are not in
    /// a selected package.
    fn reach(&mut self) -> BTreeSet<String> {
        let Reached { targets: reached, mut nowhere } = reach::reach(&self.graph, &self.diff);
        nowhere.retain(|path| self.diff.is_data(path));
        self.nowhere = nowhere;
        self.data_files = test_inputs::data_files(&reached, &self.diff);
        let members = self.workspace.members();
        let others = members.filter(|package| !self.packages.contains(&package.name));
        let is_reached =
            |package: &&Package| package.targets.iter().any(|target| target.tested && reached.contains_key(&target.id));
        let left_out = others.filter(is_reached).map(|package| package.name.clone()).collect();
        self.targets = if self.all_tests {
            let all = self.in_scope.iter();
            all.map(|target| (target.clone(), ReachedBy::Request)).collect()
        } else {
            let reached = reached.into_iter().filter(|(target, _)| self.in_scope.contains(target));
            reached.filter_map(|(target, by)| Some((target, by.into_iter().next()?))).collect()
        };
        left_out
    }

    /// Also selects targets with another name or path in base, and warns about those without a counterpart in head.
    fn reach_moved(&mut self, versions: &Versions) {
        let Some(base) = self.workspace.counterpart.clone() else { return };
        for target in &self.in_scope {
            let (Some(theirs), Some(root)) = (base.target(target), self.root(target)) else { continue };
            if theirs.id != *target || theirs.root != root {
                let path = root.to_owned();
                self.targets.entry(target.clone()).or_insert(ReachedBy::File { path });
            }
        }
        let base_files = &versions.files.base;
        let holds_tests = |id: &&TargetId| {
            let targets = base.workspace.packages.iter().flat_map(|package| &package.targets);
            let mut roots = targets.filter(|target| target.id == **id).map(|target| base_files.name(&target.root));
            roots.any(|root| {
                let files = modules(versions, base_files, &root.to_string_lossy());
                let mut texts = files.keys().filter_map(|path| versions.read_file(base_files, path));
                texts.any(|text| source::holds_tests(&String::from_utf8_lossy(&text)))
            })
        };
        let gone: Vec<TargetId> = base.gone.iter().filter(holds_tests).cloned().collect();
        if !gone.is_empty() {
            let is_new = |target: &&TargetId| !base.targets.contains_key(*target) && target.kind != TargetKind::Doctest;
            let new = self.targets.keys().filter(is_new).cloned().collect();
            self.warnings.push(Warning::NoCounterpart { gone, new });
        }
    }

    fn leave_out_without_tests(&mut self, versions: &Versions) {
        let is_without = |target: &&TargetId| is_without_tests(versions, &self.workspace, &self.target_files, target);
        self.without_tests = self.targets.keys().filter(is_without).cloned().collect();
        self.targets.retain(|target, _| !self.without_tests.contains(target));
    }

    fn on_request(&self, versions: &Versions, asks_for: &dyn Fn(TargetKind) -> bool) -> Vec<UnmeasuredTarget> {
        let reached = self.targets.keys().chain(&self.without_tests);
        let reached: BTreeSet<&String> = reached.map(|target| &target.package).collect();
        let packages = self.workspace.packages.iter().filter(|package| reached.contains(&package.name));
        scope::unmeasured_targets(versions, &self.target_files, packages, asks_for)
    }

    /// Also selects the targets that changed data files reach by the configuration.
    fn reach_by_rules(&mut self, reaching: Vec<ChangedInput>) {
        for input in reaching {
            let Data::Reaches(expression) = self.rules.data(&input.path) else { continue };
            for target in self.in_scope.iter().filter(|target| self.rules.may_reach(expression, target)) {
                self.data_files.entry(target.clone()).or_default().push(input.path.clone());
                self.targets.entry(target.clone()).or_insert_with(|| ReachedBy::File { path: input.path.clone() });
            }
            self.diff.inputs.push(input);
        }
    }
}

/// Compares the sources of both versions. `code` returns all Rust code.
fn source_diff<'a>(versions: &Versions, code: &dyn Fn() -> &'a [u8]) -> Result<SourceDiff> {
    let Versions { repository, files, .. } = versions;
    let mut changes = Vec::new();
    let mut add = |name: String, path: &Path| {
        let read = |set: &FileSet| set.entries.get(path).map(|entry| repository.read(entry, path)).transpose();
        changes.push(FileChange { path: name, base: read(&files.base)?, head: read(&files.head)? });
        Ok::<_, Error>(())
    };
    for path in files.base.changed_paths(&files.head) {
        add(path.to_string_lossy().into_owned(), &path)?;
    }
    for (link, path) in versions.changed_behind_links() {
        // Modules behind links are found at their own paths.
        if !is_rust(&path) || path.ends_with("build.rs") {
            add(link, &path)?;
        }
    }
    // Files in an embedded folder are not named in the code.
    let embeds = OnceCell::new();
    let has_any = || ["include_dir!", "RustEmbed", "rust_embed"].iter().any(|mark| contains(code(), mark.as_bytes()));
    let embeds = || *embeds.get_or_init(has_any);
    Ok(source::diff(&changes, &|name| contains(code(), name.as_bytes()) || embeds()))
}

/// Loads head's workspace, including packages that only base patches, and returns the root of its tree.
fn load_workspace(builder: &mut Builder<'_>, versions: &Versions, wanted: &Wanted<'_>) -> Result<(Workspace, PathBuf)> {
    let (mut workspace, git_root) = head_workspace(builder, versions, wanted)?;
    let read = |path: &str| versions.read_file(&versions.files.base, path);
    cargo::add_patched(&builder.context().cargo, &git_root, &read, &mut workspace)?;
    Ok((workspace, git_root))
}

/// Loads head's workspace and returns the root of its tree: the user's tree if head is the working tree, else the
/// shadow tree.
fn head_workspace(builder: &mut Builder<'_>, versions: &Versions, wanted: &Wanted<'_>) -> Result<(Workspace, PathBuf)> {
    let context = builder.context();
    let root = versions.repository.root();
    if wanted.is_head_live {
        return Ok((context.live.clone(), root.to_owned()));
    }
    builder.checkout(Place::Measured, &versions.files.head, &Injections::none())?;
    let workspace = context.location.workspace_root.strip_prefix(root).unwrap_or(Path::new(""));
    let git_root = builder.root(Place::Measured)?;
    let manifest = git_root.join(workspace).join("Cargo.toml");
    if !manifest.exists() {
        let name = versions.describe(Side::Head);
        return Err(Error::setup(format!("head ({name}) has no {}", workspace.join("Cargo.toml").display())));
    }
    Ok((cargo::load(&context.cargo, &git_root, &manifest)?, git_root))
}

/// Returns the changed item if nothing else differs, apart from tests.
fn only_change(diff: &SourceDiff) -> Option<CodeChange> {
    let mut items = diff.items.iter().filter(|item| !item.is_test && !item.test_only);
    let only = items.next().filter(|_| items.next().is_none() && diff.inputs.is_empty())?;
    (only.change == ChangeKind::Changed).then(|| only.code_change())
}

/// Returns the changed items and inputs.
fn changes(diff: &SourceDiff) -> impl Iterator<Item = ChangedPart> {
    let items = diff.items.iter().map(|item| ChangedPart::Item(item.code_change()));
    items.chain(diff.inputs.iter().map(|input| ChangedPart::File(input.path.clone())))
}

fn nothing_because(versions: &Versions, selected: &TargetSelection) -> NothingBecause {
    let TargetSelection { diff, ignored, without_tests, .. } = selected;
    let files = versions.files.base.changed_paths(&versions.files.head).len();
    if files == 0 {
        return NothingBecause::Identical;
    }
    if !without_tests.is_empty() {
        return NothingBecause::NoTests { targets: without_tests.len() };
    }
    if !diff.is_empty() {
        return NothingBecause::NoTargetDepends { files };
    }
    if !ignored.is_empty() {
        return NothingBecause::Ignored { files };
    }
    let reasons: Vec<Irrelevance> = diff.irrelevant.iter().map(|(_, why)| *why).collect();
    NothingBecause::irrelevant(files, &reasons)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_only_changed_item_outside_of_tests_is_found_whatever_it_is() {
        let base =
            "impl A { fn read(&self) { 1 } }\nconst WIDTH: usize = 1;\n#[cfg(test)] mod tests { fn help() { 1 } }";
        let only = |head: &str| {
            let sides = [base, head].map(|text| Some(text.as_bytes().to_vec()));
            let [base, head] = sides;
            let change = FileChange { path: "src/lib.rs".to_owned(), base, head };
            only_change(&source::diff(&[change], &|_| false)).map(|change| change.item)
        };
        let method = base.replace("&self) { 1 }", "&self) { 2 }");
        assert_eq!(only(&method).as_deref(), Some("A::read"));
        assert_eq!(only(&method.replace("help() { 1 }", "help() { 2 }")).as_deref(), Some("A::read"));
        assert_eq!(only(&base.replace("WIDTH: usize = 1", "WIDTH: usize = 2")).as_deref(), Some("WIDTH"));
        assert_eq!(only(&method.replace("WIDTH: usize = 1", "WIDTH: usize = 2")), None);
        assert_eq!(only(base), None);
    }
}
