//! What the change can reach: source difference, workspace graph, targets.

use super::data;
use super::options::Options;
use super::rules::{Data, TestRules};
use super::scope::{self, InScope};
use super::setup::Setup;
use crate::build::shadow::Injections;
use crate::cargo::{self, Workspace};
use crate::error::{Error, Result};
use crate::git::{FileSet, Request};
use crate::model::{Selection, Sides, TargetId};
use crate::select::reach::{self, Cause, Files, Graph, PackageNode, Reached, TargetNode};
use crate::select::source::{self, FileChange, InputKind, Irrelevance, SourceDiff};
use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The targets to build, and what is known about the change.
#[derive(Debug)]
pub struct Selected {
    /// Head's workspace.
    pub workspace: Workspace,
    pub diff: SourceDiff,
    /// Targets to build, with the reason in words.
    pub targets: BTreeMap<TargetId, String>,
    /// Targets in scope that hold tests.
    pub in_scope: BTreeSet<TargetId>,
    /// Packages in scope, also those without tests: what they need of others decides the features of these.
    pub packages: BTreeSet<String>,
    /// Files of each target and side.
    pub target_files: TargetFiles,
    /// Changed files that the tests of a target may read when they run.
    pub data_files: BTreeMap<TargetId, Vec<String>>,
    /// The packages and how they depend on each other; empty if nothing differs.
    pub graph: Graph,
    /// What filters and the configuration say of tests.
    pub rules: TestRules,
    /// Changed files that mean nothing by the configuration, in words.
    ignored: Vec<String>,
    /// Changed data files that are in no package, and that no code names.
    nowhere: Vec<String>,
    nothing_because: Option<String>,
}

impl Selected {
    /// The root files of all targets.
    pub fn roots(&self) -> BTreeSet<String> {
        let targets = self.workspace.packages.iter().flat_map(|package| &package.targets);
        targets.map(|target| target.root.clone()).collect()
    }

    /// The root file of a target.
    pub fn root(&self, id: &TargetId) -> Option<&str> {
        let mut targets = self.workspace.packages.iter().flat_map(|package| &package.targets);
        targets.find(|target| target.id == *id).map(|target| target.root.as_str())
    }

    /// For the report, before tests are known.
    pub fn summary(&self) -> Selection {
        let packages: BTreeSet<_> = self.targets.keys().map(|target| &target.package).collect();
        let doctests =
            self.workspace.packages.iter().filter(|package| package.doctests && packages.contains(&package.name));
        Selection {
            targets: self.in_scope.len(),
            targets_reached: self.targets.len(),
            changes: changes(&self.diff),
            effects: self.effects(),
            nothing_because: self.nothing_because.clone(),
            unmeasured_targets: doctests
                .map(|package| format!("doc tests of {}: rustdoc runs them, outside of our reach", package.name))
                .collect(),
            ..Selection::default()
        }
    }
}

impl Selected {
    /// What became of the changes that no target sees.
    fn effects(&self) -> Vec<String> {
        let irrelevant = self.diff.irrelevant.iter().map(|(path, why)| format!("{path}: {why}"));
        let ignored = self.ignored.iter().cloned();
        let unseen = if self.targets.is_empty() { changes(&self.diff) } else { Vec::new() };
        let nowhere: &[String] = if self.targets.is_empty() { &[] } else { &self.nowhere };
        irrelevant
            .chain(ignored)
            .chain(nowhere.iter().map(|path| format!("{path}: in no package of the workspace, and no code names it")))
            .chain(unseen.into_iter().map(|change| format!("{change}: no test target in scope depends on it")))
            .collect()
    }
}

/// Compares the sources and decides which targets to build.
pub fn select(setup: &mut Setup, options: &Options) -> Result<Selected> {
    let _span = tracing::info_span!("select").entered();
    let mut diff = source_diff(setup)?;
    let (workspace, root) = load_workspace(setup, options)?;
    let InScope { packages, targets: mut in_scope } = scope::find(setup, options, &workspace)?;
    let mut rules = TestRules::new(setup, options, &workspace, &root)?;
    if !in_scope.is_empty() {
        in_scope.retain(|target| rules.may_take(target));
        if in_scope.is_empty() {
            setup.warnings.push("the filters leave no test target to look at".to_owned());
        }
    }
    let (ruled_files, ignored) = data::apart(setup, &rules, &mut diff);
    if !options.all_tests && diff.is_empty() && ruled_files.is_empty() {
        let nothing_because = Some(nothing_because(setup, &diff, &in_scope, &ignored));
        return Ok(Selected {
            workspace,
            diff,
            targets: BTreeMap::new(),
            in_scope,
            packages,
            target_files: TargetFiles::new(),
            data_files: BTreeMap::new(),
            graph: Graph::default(),
            rules,
            ignored,
            nowhere: Vec::new(),
            nothing_because,
        });
    }
    let (graph, target_files) = graph(setup, &workspace, &diff)?;
    rules.heed_attributes(setup, &workspace, &target_files);
    let Reached { targets: reached, mut nowhere } = reach::reach(&graph, &diff);
    nowhere.retain(|path| diff.inputs.iter().any(|input| input.path == *path && input.kind == InputKind::Data));
    let mut data_files = data::files(&reached, &diff);
    let mut targets: BTreeMap<TargetId, String> = if options.all_tests {
        in_scope.iter().map(|target| (target.clone(), "all tests were asked for (--all-tests)".to_owned())).collect()
    } else {
        let first = |causes: Vec<Cause>| causes.first().map(ToString::to_string).unwrap_or_default();
        reached
            .into_iter()
            .filter(|(target, _)| in_scope.contains(target))
            .map(|(target, causes)| (target, first(causes)))
            .collect()
    };
    for input in ruled_files {
        let Data::Reaches(expression) = rules.data(&input.path) else { continue };
        for target in in_scope.iter().filter(|target| rules.may_reach(expression, target)) {
            data_files.entry(target.clone()).or_default().push(input.path.clone());
            targets.entry(target.clone()).or_insert_with(|| format!("{} changed", input.path));
        }
        diff.inputs.push(input);
    }
    let nothing_because = targets.is_empty().then(|| nothing_because(setup, &diff, &in_scope, &ignored));
    Ok(Selected {
        workspace,
        diff,
        targets,
        in_scope,
        packages,
        target_files,
        data_files,
        graph,
        rules,
        ignored,
        nowhere,
        nothing_because,
    })
}

fn source_diff(setup: &Setup) -> Result<SourceDiff> {
    let files = &setup.files;
    let mut changes = Vec::new();
    for path in files.base.changed(&files.head) {
        let read = |set: &FileSet| set.entries.get(&path).map(|entry| setup.repository.read(entry, &path)).transpose();
        changes.push(FileChange {
            path: path.to_string_lossy().into_owned(),
            base: read(&files.base)?,
            head: read(&files.head)?,
        });
    }
    let texts = OnceCell::new();
    let mentioned = |name: &str| {
        texts
            .get_or_init(|| data::all_rust(&setup.repository, files))
            .windows(name.len())
            .any(|window| window == name.as_bytes())
    };
    Ok(source::diff(&changes, &mentioned))
}

/// Head's workspace, with the packages that only base puts in the place of others, and the root of its tree.
fn load_workspace(setup: &mut Setup, options: &Options) -> Result<(Workspace, PathBuf)> {
    let (mut workspace, git_root) = head_workspace(setup, options)?;
    let read = |path: &str| setup.read_file(&setup.files.base, path);
    cargo::add_patched(&setup.cargo, &git_root, &read, &mut workspace)?;
    Ok((workspace, git_root))
}

/// Head's workspace and the root of its tree: the user's tree if that is what head is, else the shadow tree.
fn head_workspace(setup: &mut Setup, options: &Options) -> Result<(Workspace, PathBuf)> {
    let live = matches!(options.request, Request::Against { head: None, .. });
    if live {
        return Ok((setup.live.clone(), setup.repository.root().to_owned()));
    }
    setup.tree.checkout(&setup.repository, &setup.files.head, &Injections::none())?;
    let root = setup.location.workspace_root.strip_prefix(setup.repository.root()).unwrap_or(Path::new(""));
    let manifest = setup.tree.path(root.join("Cargo.toml"));
    if !manifest.exists() {
        let name = Setup::name(&setup.comparison.versions.head);
        return Err(Error::setup(format!("head ({name}) has no {}", root.join("Cargo.toml").display())));
    }
    let git_root = setup.tree.root();
    Ok((cargo::load(&setup.cargo, &git_root, &manifest)?, git_root))
}

/// The files of each target, on each side.
pub type TargetFiles = BTreeMap<TargetId, Sides<Files>>;

/// The graph for `reach`, with the files of both sides: a removed file belongs to the target that had it.
fn graph(setup: &mut Setup, workspace: &Workspace, diff: &SourceDiff) -> Result<(Graph, TargetFiles)> {
    let changed = setup.changed_paths();
    let mut files = TargetFiles::new();
    let mut packages = Vec::new();
    for package in &workspace.packages {
        let mut targets = Vec::new();
        for target in &package.targets {
            let head = modules(setup, &setup.files.head, &target.root);
            // Modules are followed from the root: without a changed file among them both sides have the same.
            let same = !head.is_empty() && !head.keys().any(|path| changed.contains(path));
            let base = if same { head.clone() } else { modules(setup, &setup.files.base, &target.root) };
            let sides = Sides { base, head };
            let mut union = sides.head.clone();
            for (path, info) in &sides.base {
                union.entry(path.clone()).or_insert_with(|| info.clone());
            }
            // Members come first: a patched package can have the name of one.
            files.entry(target.id.clone()).or_insert(sides);
            targets.push(TargetNode {
                id: target.id.clone(),
                root: target.root.clone(),
                files: union,
                has_tests: target.tested,
            });
        }
        let dependencies =
            package.dependencies.iter().map(|d| reach::Dependency { package: d.package.clone(), dev: d.dev }).collect();
        packages.push(PackageNode {
            name: package.name.clone(),
            dir: package.dir.clone(),
            dependencies,
            targets,
            build_script: package.build_script.clone(),
            member: package.member,
        });
    }
    let outside = outside_packages(&setup.files.head, workspace);
    let external = external(setup, workspace, diff)?;
    let mut graph = Graph { root: workspace.root.clone(), packages, external, outside, ..Graph::default() };
    graph.named_by = data::named_by(setup, &graph, diff);
    graph.started_by = data::started_by(setup, &graph);
    Ok((graph, files))
}

/// The files of the target with this root.
pub fn modules(setup: &Setup, files: &FileSet, root: &str) -> Files {
    source::modules(root, &|path| setup.read_file(files, path)).files
}

/// Folders with a manifest of their own that is no part of the workspace.
fn outside_packages(files: &FileSet, workspace: &Workspace) -> Vec<String> {
    let known: BTreeSet<&str> =
        workspace.packages.iter().map(|package| package.dir.as_str()).chain([workspace.root.as_str()]).collect();
    let manifests = files.entries.keys().filter(|path| path.ends_with("Cargo.toml"));
    let folders = manifests.filter_map(|path| path.parent()).map(|dir| dir.to_string_lossy().into_owned());
    folders.filter(|dir| !known.contains(dir.as_str())).collect()
}

/// Which external packages each package depends on; only needed, and only asked for, if the lock file changed.
fn external(setup: &mut Setup, workspace: &Workspace, diff: &SourceDiff) -> Result<BTreeMap<String, BTreeSet<String>>> {
    let locked = |kind: &InputKind| matches!(kind, InputKind::LockFile { packages } if !packages.is_empty());
    if !diff.inputs.iter().any(|input| locked(&input.kind)) {
        return Ok(BTreeMap::new());
    }
    setup.tree.checkout(&setup.repository, &setup.files.head, &Injections::none())?;
    let manifest = setup.tree.path(Path::new(&workspace.root).join("Cargo.toml"));
    // Without the graph (no network, say) every package counts as depending on everything.
    Ok(cargo::external_dependencies(&setup.cargo, &manifest).unwrap_or_default())
}

/// Changed items and inputs in words.
fn changes(diff: &SourceDiff) -> Vec<String> {
    let items = diff.items.iter().map(|item| format!("{} {item}", item.change));
    items.chain(diff.inputs.iter().map(|input| format!("changed {}", input.path))).collect()
}

fn nothing_because(setup: &Setup, diff: &SourceDiff, in_scope: &BTreeSet<TargetId>, ignored: &[String]) -> String {
    if in_scope.is_empty() {
        return "the chosen packages have no test targets".to_owned();
    }
    let files = setup.files.base.changed(&setup.files.head).len();
    let count = if files == 1 { "1 file".to_owned() } else { format!("{files} files") };
    if files == 0 {
        return "the two versions are identical".to_owned();
    }
    if !diff.is_empty() {
        return format!("the change ({count}) is in code that no test target in scope depends on");
    }
    if !ignored.is_empty() {
        return format!("only files differ that the configuration ignores or that no build reads ({count})");
    }
    let comments = diff.irrelevant.iter().filter(|(_, why)| *why == Irrelevance::OnlyCommentsOrFormatting).count();
    match comments {
        0 => format!("only documentation and files that no build reads differ ({count})"),
        _ if comments == diff.irrelevant.len() => {
            format!("only comments, documentation comments and formatting differ ({count})")
        }
        _ => format!("only comments, documentation and formatting differ ({count})"),
    }
}
