//! Builds both versions in one tree, one after the other, and retries until both are built or no attempt is left.

use super::invoke::{BuildFailure, BuildTask, Watch};
use super::request::{Options, Request};
use super::shadow::{Injections, Tree};
use super::side_build::SideBuild;
use super::toolchain::{self, Toolchain, Variant};
use super::unify::Named;
use super::{configuration, key, lto};
use perfunit_model::error::{Error, Result, Stop, Tried};
use perfunit_model::{Lto, LtoKind, Side, Sides, TargetId, TargetKind};
use perfunit_project::cargo::{self, Context, Counterpart, FeatureResolver, Features, Package, Target, Workspace};
use perfunit_project::git::{Entry, FileSet, Repository, Versions};
use perfunit_system::cache::{self, KeyBuilder};
use perfunit_system::fs;
use perfunit_system::interrupt;
use perfunit_system::progress::Progress;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Instant;

/// Cargo's target folder, relative to our state folder.
const TARGET_DIR: &str = "build";
/// Cargo's target folder for a second tree that cannot share the first one.
const APART: &str = "build/probed";

/// Owner of the trees in which versions are built and measured.
pub struct Builder<'a> {
    context: &'a Context,
    repository: Rc<Repository>,
    /// Descriptions of the versions for messages.
    names: Sides<String>,
    tree: Tree,
    /// Opened on first use.
    probed: Option<Tree>,
}

/// Tree of a build.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// The tree in which tests are measured.
    Measured,
    /// A separate tree for builds with probes, which leaves the files of the measured tree fresh for the next `diff`.
    Probed {
        /// True if cargo also gets a separate target folder.
        apart: bool,
    },
}

/// The targets and options to build both versions with.
#[derive(Clone, Copy)]
pub struct Job<'a> {
    pub options: &'a Options,
    /// Head's workspace.
    pub workspace: &'a Workspace,
    /// Packages that the user selected.
    pub packages: &'a BTreeSet<String>,
    pub targets: &'a BTreeSet<TargetId>,
    /// Time at which to stop cargo.
    pub deadline: Option<Instant>,
}

/// Source of both builds, and the strategy after a failure.
pub trait Attempt {
    fn place(&self) -> Place;
    fn variant(&self) -> Variant;
    /// Returns the sides in the order in which to build them.
    fn order(&self) -> [Side; 2];
    fn files(&self, side: Side) -> &FileSet;
    /// Returns the crate roots to which code is appended.
    fn injections(&self) -> &Injections;
    /// Checks whether a target is excluded from the build.
    fn is_left_out(&self, target: &TargetId) -> bool;
    /// Decides what to build next after a failure. `tree` is the folder in which the side failed to build.
    fn after(&mut self, side: Side, failure: &BuildFailure, tree: &Path) -> Result<Next>;
}

/// Next step after a failed build.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// Build the same side again.
    SameSide,
    /// Build both sides again.
    BothSides,
    /// Give up.
    Stop,
}

/// The builds of both versions.
pub struct Both {
    pub sides: Sides<SideBuild>,
    pub toolchains: Sides<Toolchain>,
    /// Link-time optimization of the profile that the builds disabled.
    pub lto_off: Option<LtoKind>,
}

/// The next build.
struct BuildStep {
    side: Side,
    /// True if an earlier build of this side failed.
    again: bool,
    /// Doc tests of the other side.
    texts: Option<PathBuf>,
    lto: Lto,
}

impl<'a> Builder<'a> {
    /// Opens the tree in our state folder.
    pub fn open(context: &'a Context, versions: &Versions) -> Result<Self> {
        let tree = open_tree(context, versions.repository.root(), "shadow")?;
        let names = Sides { base: versions.describe(Side::Base), head: versions.describe(Side::Head) };
        Ok(Self { context, repository: Rc::clone(&versions.repository), names, tree, probed: None })
    }

    /// Returns descriptions of the versions for messages.
    pub fn names(&self) -> &Sides<String> {
        &self.names
    }

    pub fn context(&self) -> &'a Context {
        self.context
    }

    /// Returns the folder of a tree that holds the repository's files.
    pub fn root(&mut self, place: Place) -> Result<PathBuf> {
        Ok(self.tree(place)?.root())
    }

    fn tree(&mut self, place: Place) -> Result<&mut Tree> {
        match place {
            Place::Measured => Ok(&mut self.tree),
            Place::Probed { .. } => {
                let tree = match self.probed.take() {
                    Some(tree) => tree,
                    None => open_tree(self.context, self.repository.root(), "probed")?,
                };
                Ok(self.probed.insert(tree))
            }
        }
    }

    /// Writes the files of a version into a tree.
    pub fn checkout(&mut self, place: Place, files: &FileSet, injections: &Injections) -> Result<()> {
        let _span = tracing::debug_span!("files").entered();
        self.write(place, &files.place_all(), &injections.place_roots(files))
    }

    /// Writes files into a tree at their current paths.
    fn write(&mut self, place: Place, files: &FileSet, injections: &Injections) -> Result<()> {
        let repository = Rc::clone(&self.repository);
        self.tree(place)?.checkout(&repository, files, injections).map(drop)
    }

    /// Reverts changes that tests made to the measured tree since the checkout of this version, and returns the changed
    /// paths.
    pub fn restore(&mut self, files: &FileSet, injections: &Injections) -> Result<Vec<PathBuf>> {
        let _span = tracing::debug_span!("files").entered();
        self.tree.restore(&self.repository, &files.place_all(), &injections.place_roots(files))
    }

    /// Returns the paths that a program changed in the measured tree since the last checkout.
    pub(super) fn changes(&self) -> Result<Vec<PathBuf>> {
        self.tree.changes()
    }

    /// Gives both versions a lock file. A version without one gets the other's. If neither has one, both get a
    /// generated lock file that is kept in our state folder.
    pub fn settle_lock_file(&mut self, versions: &mut Versions, workspace_root: &str) -> Result<()> {
        let path = Path::new(workspace_root).join("Cargo.lock");
        let entry = |files: &FileSet| files.entries.get(&path).cloned();
        let entry = match (entry(&versions.files.base), entry(&versions.files.head)) {
            (Some(_), Some(_)) => return Ok(()),
            (Some(entry), None) | (None, Some(entry)) => entry,
            (None, None) => {
                let kept = self.context.ours.join("Cargo.lock");
                let text = match fs::read_if_exists(&kept)? {
                    Some(text) => text,
                    None => self.make_lock_file(&versions.files.head, &path, &kept)?,
                };
                Entry::snapshot(text)
            }
        };
        for files in [&mut versions.files.base, &mut versions.files.head] {
            files.entries.entry(path.clone()).or_insert_with(|| entry.clone());
        }
        Ok(())
    }

    fn make_lock_file(&mut self, head: &FileSet, path: &Path, kept: &Path) -> Result<Vec<u8>> {
        self.checkout(Place::Measured, head, &Injections::none())?;
        let lock = self.tree.path(path);
        cargo::generate_lock_file(&self.context.cargo, &lock.with_file_name("Cargo.toml"))?;
        let text = fs::read(&lock)?;
        fs::write_atomically(kept, &text)?;
        Ok(text)
    }

    /// Returns the features of all packages that builds of these packages of head enable; `None` if only cargo can
    /// tell.
    pub fn features(
        &mut self,
        versions: &Versions,
        workspace: &Workspace,
        options: &Options,
        packages: &BTreeSet<String>,
    ) -> Result<Option<Features>> {
        self.checkout(Place::Measured, &versions.files.head, &Injections::none())?;
        let manifest = self.tree.path(Path::new(&workspace.root).join("Cargo.toml"));
        let resolver = FeatureResolver::open(&self.context.cargo, &manifest, &options.arguments);
        let packages = packages.iter().map(String::as_str).collect();
        let features = resolver.and_then(|resolver| resolver.resolve(&packages));
        Ok(features.inspect_err(|error| tracing::debug!(%error, "features cannot be resolved here")).ok())
    }

    /// Builds both versions, and retries as long as `attempt` has something left to try.
    pub fn both_sides(&mut self, job: &Job<'_>, attempt: &mut dyn Attempt) -> Tried<Both, BuildFailure> {
        let lto_off = self.lto_off(job, attempt)?;
        let mut failed = Sides::<bool>::default();
        // Side that failed last. Build it first, because nothing else matters until it builds.
        let mut last = None;
        'again: loop {
            let toolchains = self.toolchains(attempt.variant())?;
            let order = attempt.order();
            let mut built: Sides<Option<SideBuild>> = Sides::default();
            // If it builds now, its build is kept and found again in the regular order.
            let before = last.take().filter(|side| *side != order[0]);
            for side in before.into_iter().chain(order) {
                // Both sides get the doc tests of the side that is built first.
                let first = built.get(order[0]).as_ref().filter(|_| side != order[0]);
                let texts = first.map(SideBuild::doctests);
                let lto = if lto_off.is_some() { Lto::Off } else { Lto::Keep };
                let mut step = BuildStep { side, again: *failed.get(side), texts, lto };
                let done = self.until_built(job, attempt, &mut step, &toolchains)?;
                *failed.get_mut(side) = step.again;
                let Some(done) = done else {
                    last = Some(side);
                    continue 'again;
                };
                *built.get_mut(side) = Some(done);
            }
            let (Some(base), Some(head)) = (built.base, built.head) else {
                return Err(Error::setup("a side was not built").into());
            };
            return Ok(Both { sides: Sides { base, head }, toolchains, lto_off });
        }
    }

    /// Builds a side, and retries while the retry concerns only this side. Returns `None` if both sides must be built
    /// again.
    fn until_built(
        &mut self,
        job: &Job<'_>,
        attempt: &mut dyn Attempt,
        step: &mut BuildStep,
        toolchains: &Sides<Toolchain>,
    ) -> Tried<Option<SideBuild>, BuildFailure> {
        let side = step.side;
        loop {
            interrupt::check()?;
            let failure = match self.one_side(job, attempt, step, toolchains.get(side)) {
                Err(Stop::Because(failure)) => failure,
                built => return built.map(Some),
            };
            tracing::info!(%side, error = failure.first_error(), "does not build");
            tracing::debug!(output = failure.output);
            step.again = true;
            let tree = self.root(attempt.place())?;
            let files = attempt.files(side);
            let known = failure.clone().rename_files(&|file| {
                file.strip_prefix(&tree).map_or_else(|_| file.to_owned(), |place| tree.join(files.name(place)))
            });
            match attempt.after(side, &known, &tree)? {
                Next::SameSide => {}
                Next::BothSides => return Ok(None),
                Next::Stop => return Err(Stop::Because(failure)),
            }
        }
    }

    /// Returns the prepared toolchains of both sides.
    fn toolchains(&self, variant: Variant) -> Result<Sides<Toolchain>> {
        let Context { cargo, base_cargo, ours, terminal, .. } = self.context;
        let cache = cache::folder(ours)?;
        let head = toolchain::prepare(cargo, &cache, variant, *terminal)?;
        let base = base_cargo.as_ref().map(|cargo| toolchain::prepare(cargo, &cache, variant, *terminal));
        Ok(Sides { base: base.transpose()?.unwrap_or_else(|| head.clone()), head })
    }

    /// Returns the link-time optimization to disable: that of the profile, unless the user keeps it or the versions
    /// differ.
    fn lto_off(&mut self, job: &Job<'_>, attempt: &dyn Attempt) -> Result<Option<LtoKind>> {
        if job.options.lto == Lto::Keep {
            return Ok(None);
        }
        let base = self.lto_of(Side::Base, job, attempt)?;
        let head = self.lto_of(Side::Head, job, attempt)?;
        Ok(base.filter(|_| base == head))
    }

    /// Returns the link-time optimization in a version's profile, without checking out the version.
    fn lto_of(&mut self, side: Side, job: &Job<'_>, attempt: &dyn Attempt) -> Result<Option<LtoKind>> {
        let Context { location, .. } = self.context;
        let repository = Rc::clone(&self.repository);
        let tree = self.tree(attempt.place())?;
        let [own, other] = [side, side.other()].map(|side| attempt.files(side).place_all());
        let workspace = job.workspace.counterpart.as_ref().filter(|_| side == Side::Base);
        let workspace = workspace.map_or(job.workspace, |base| &base.workspace);
        let manifest = tree.path(Path::new(&workspace.root).join("Cargo.toml"));
        let configuration = configuration::files_of(location, repository.root(), tree, [&own, &other]);
        let root = tree.root();
        let content = |path: &Path| match path.strip_prefix(&root) {
            Ok(place) => own.entries.get(place).map(|entry| repository.read(entry, place)).transpose(),
            Err(_) if path.is_file() => fs::read(path).map(Some),
            Err(_) => Ok(None),
        };
        let tables = key::profile_tables(&manifest, configuration, &job.options.arguments, &content)?;
        Ok(lto::of_profile(&job.options.profile, &tables))
    }

    fn one_side(
        &mut self,
        job: &Job<'_>,
        attempt: &dyn Attempt,
        &BuildStep { side, again, ref texts, lto }: &BuildStep,
        toolchain: &Toolchain,
    ) -> Tried<SideBuild, BuildFailure> {
        let Context { location, ours, terminal, .. } = self.context;
        let progress = Progress::spinner(*terminal, "Building");
        let wanted = job.targets.iter().filter(|target| !attempt.is_left_out(target)).cloned().collect();
        let SideJob { workspace, wanted, there, packages } = SideJob::of_side(job, side, attempt.files(side), wanted);
        if there.is_empty() {
            return Ok(SideBuild::empty(ours));
        }
        let files = &*attempt.files(side).place_all();
        let injections = &attempt.injections().place_roots(attempt.files(side));
        let target_dir = ours.join(match attempt.place() {
            Place::Measured | Place::Probed { apart: false } => TARGET_DIR,
            Place::Probed { apart: true } => APART,
        });
        let repository = Rc::clone(&self.repository);
        let tree = self.tree(attempt.place())?;
        tree.checkout(&repository, files, injections)?;
        let content_key = injections.add_to(KeyBuilder::default().with(files.key())).finish();
        let packages_of_all = &workspace.packages;
        // If names are equal, the member must win, so members come last.
        let (members, others): (Vec<_>, Vec<_>) = packages_of_all.iter().partition(|package| package.member);
        let package_folders = others
            .into_iter()
            .chain(members)
            .map(|package| (package.name.clone(), tree.path(&package.dir).components().collect()))
            .collect();
        let built: BTreeSet<&str> = wanted.iter().map(|target| target.package.as_str()).collect();
        let built = packages_of_all.iter().filter(|package| built.contains(package.name.as_str()));
        let built: Vec<&Target> = built.flat_map(tested_targets).collect();
        let is_only_named = |target: &Target| target.id.kind == TargetKind::Bench && !target.benched;
        let request = Request {
            options: job.options,
            lto,
            content_key: &content_key,
            manifest: tree.path(Path::new(&workspace.root).join("Cargo.toml")),
            config_files: configuration::files_of(
                location,
                repository.root(),
                tree,
                [files, &*attempt.files(side.other()).place_all()],
            ),
            targets: &there,
            package_folders: &package_folders,
            packages: &packages,
            whole_packages: built.iter().all(|target| wanted.contains(&target.id)),
            requires_features: built.iter().any(|target| target.requires_features && wanted.contains(&target.id)),
            names_benches: built.iter().any(|target| is_only_named(target) && wanted.contains(&target.id)),
            ours,
            target_dir: &target_dir,
            texts: texts.as_deref(),
            variables: &files.variables,
            deadline: job.deadline,
        };
        let watch = Watch {
            progress: &progress,
            name: format!("{side} ({}){}", self.names.get(side), if again { ", again" } else { "" }),
        };
        let task = BuildTask::new(toolchain, request, watch)?;
        let side_files = SideFiles { packages: packages_of_all, place: attempt.place(), files, injections };
        let built = task.load_kept()?.map_or_else(|| self.build(&side_files, side, &task), Ok)?;
        Ok(built.named_by_head(job.workspace, side))
    }

    /// Builds a side whose files are in the tree. Tries first without the code of idle packages.
    fn build(
        &mut self,
        side_files: &SideFiles<'_>,
        side: Side,
        task: &BuildTask<'_>,
    ) -> Tried<SideBuild, BuildFailure> {
        task.begin();
        let SideFiles { packages, place, files, injections } = *side_files;
        let cargo = self.context.cargo_of(side);
        task.forget_stale(&self.repository, files, packages)?;
        let named = Named::find(cargo, &task.request)?;
        let flags = named.flags(&task.request);
        let empty = named.empty_roots(packages);
        if !empty.is_empty() {
            self.write(place, files, &injections.emptying(&empty))?;
            let tree = self.tree(place)?;
            let empty = empty.iter().map(|root| tree.path(root)).collect();
            let built = task.run(cargo, &flags, &empty);
            self.write(place, files, injections)?;
            match built {
                // The build needs an idle package after all, or it fails for another reason.
                Err(Stop::Because(failure)) if !failure.stopped => {
                    tracing::info!(error = failure.first_error(), "does not build without idle packages");
                }
                built => return built,
            }
        }
        task.run(cargo, &flags, &BTreeSet::new())
    }
}

/// Opens a tree in our state folder. Links project folders outside of the repository into it, so that relative path
/// dependencies resolve.
fn open_tree(context: &Context, root: &Path, name: &str) -> Result<Tree> {
    let outside: Vec<&Path> = context.live.outside.iter().map(PathBuf::as_path).collect();
    let common = outside.iter().fold(root.to_owned(), |common, path| common_ancestor(&common, path));
    let relative = |path: &Path| path.strip_prefix(&common).unwrap_or(path).to_string_lossy().into_owned();
    let prefix = if outside.is_empty() { String::new() } else { relative(root) };
    let mut tree = Tree::open(&context.ours.join(name), &prefix)?;
    for path in outside {
        tree.link_outside(&relative(path), path);
    }
    Ok(tree)
}

fn common_ancestor(a: &Path, b: &Path) -> PathBuf {
    a.components().zip(b.components()).take_while(|(a, b)| a == b).map(|(a, _)| a).collect()
}

/// Files of a side as they are written, and the injections into them.
#[derive(Clone, Copy)]
struct SideFiles<'a> {
    packages: &'a [Package],
    place: Place,
    files: &'a FileSet,
    injections: &'a Injections,
}

/// A job expressed in one side's packages and targets.
struct SideJob<'a> {
    workspace: &'a Workspace,
    /// Targets to build, whether or not this side has them.
    wanted: BTreeSet<TargetId>,
    there: BTreeSet<TargetId>,
    /// Packages that the user selected, with their targets that hold tests.
    packages: BTreeMap<String, BTreeSet<TargetId>>,
}

impl<'a> SideJob<'a> {
    fn of_side(job: &Job<'a>, side: Side, files: &FileSet, wanted: BTreeSet<TargetId>) -> Self {
        match &job.workspace.counterpart {
            Some(base) if side == Side::Base => Self::of_counterpart(job, base, files, &wanted),
            _ => {
                let there = there(files, job, &wanted);
                Self { workspace: job.workspace, wanted, there, packages: packages(files, job) }
            }
        }
    }

    /// Translates the job to base's names. Test code of head adds targets that cargo discovers by path.
    fn of_counterpart(job: &Job<'a>, base: &'a Counterpart, files: &FileSet, wanted: &BTreeSet<TargetId>) -> Self {
        let discovered = |id: &TargetId| {
            let is_discovered = matches!(id.kind, TargetKind::Test | TargetKind::Bench | TargetKind::Example);
            let targets = job.workspace.packages.iter().flat_map(|package| &package.targets);
            let root = targets.filter(|target| target.id == *id).find(|target| files.may_have(Path::new(&target.root)));
            let package = base.packages.get(&id.package).filter(|_| is_discovered && root.is_some())?;
            Some(TargetId { package: package.clone(), ..id.clone() })
        };
        let theirs = |id: &TargetId| base.targets.get(id).cloned().or_else(|| discovered(id));
        let here: BTreeSet<TargetId> = wanted.iter().filter_map(theirs).collect();
        let asked = job.packages.iter().filter_map(|name| base.package(name)).filter(|package| package.member);
        let packages = asked
            .map(|package| (package.name.clone(), tested_targets(package).map(|target| target.id.clone()).collect()))
            .collect();
        Self { workspace: &base.workspace, there: here.clone(), wanted: here, packages }
    }
}

/// Returns the wanted targets that a side has: those with an existing manifest and root file. Cargo
/// refuses to build missing targets, and a new test or package must not prevent measuring the old ones.
fn there(files: &FileSet, job: &Job<'_>, wanted: &BTreeSet<TargetId>) -> BTreeSet<TargetId> {
    let has = |path: &Path| files.may_have(path);
    let packages = job.workspace.members().filter(|package| has(&Path::new(&package.dir).join("Cargo.toml")));
    let found: BTreeSet<TargetId> = packages
        .flat_map(|package| &package.targets)
        .filter(|target| has(Path::new(&target.root)))
        .map(|target| target.id.clone())
        .collect();
    wanted.intersection(&found).cloned().collect()
}

/// Returns the packages that the user selected, if the version has them.
fn packages(files: &FileSet, job: &Job<'_>) -> BTreeMap<String, BTreeSet<TargetId>> {
    let has = |package: &&Package| files.may_have(&Path::new(&package.dir).join("Cargo.toml"));
    let asked = job.workspace.members().filter(|package| job.packages.contains(&package.name));
    asked
        .filter(has)
        .map(|package| (package.name.clone(), tested_targets(package).map(|target| target.id.clone()).collect()))
        .collect()
}

fn tested_targets(package: &Package) -> impl Iterator<Item = &Target> {
    package.targets.iter().filter(|target| target.tested)
}
