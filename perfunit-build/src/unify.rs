//! Selects the packages to pass to cargo, so that features are the same as for all packages that the user selected.
//!
//! Cargo unifies the features that the packages on the command line need. A build of fewer packages may therefore have
//! fewer features, and fewer tests. Passing all of them costs time for building the others, so only those that make a
//! difference are passed. The selection is computed in this process, and cargo's own resolver (`cargo tree`) confirms
//! it.
//!
//! Cargo builds targets of each package that is passed. A package that is passed only for its features, and that no
//! wanted package depends on, is *idle*: its code never runs, and its crates are compiled empty.

use super::request::Request;
use perfunit_model::error::{Error, Result};
use perfunit_model::{TargetId, TargetKind};
use perfunit_project::cargo::{Cargo, FeatureResolver, Features, Package};
use perfunit_system::process;
use std::cell::LazyCell;
use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Stdio;

/// Stop after this many `cargo tree` calls; a superfluous build is cheaper.
const MOST_CALLS: usize = 40;

/// The packages to pass to cargo.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Named<'a> {
    packages: BTreeSet<&'a str>,
    /// Idle packages among them.
    idle: BTreeSet<&'a str>,
}

/// Cargo's flags for packages and targets: those that build test executables, and those that run doc tests.
pub(super) struct Flags {
    /// `None` if no such target is wanted.
    pub tests: Option<Vec<String>>,
    pub doctests: Option<Vec<String>>,
}

impl<'a> Named<'a> {
    /// Selects the packages to pass for a request.
    pub fn find(cargo: &Cargo, request: &Request<'a>) -> Result<Self> {
        // Resolve lazily, and only once.
        let resolver = LazyCell::new(|| {
            let resolver = FeatureResolver::open(cargo, &request.manifest, &request.options.arguments);
            resolver.inspect_err(|error| tracing::debug!(%error, "features cannot be resolved here")).ok()
        });
        packages(request, &mut |packages| resolve_features(cargo, request, packages), &mut |packages| {
            resolver.as_ref().and_then(|resolver| resolver.resolve(packages).ok())
        })
    }

    /// Builds the flags. Cargo does not accept both kinds of targets in one call.
    pub fn flags(&self, request: &Request<'_>) -> Flags {
        let is_doctest = |target: &TargetId| target.kind == TargetKind::Doctest;
        let tests = request.targets.iter().any(|target| !is_doctest(target)).then(|| flags(request, &self.packages));
        let doctests = request.targets.iter().any(is_doctest).then(|| {
            let mut flags = package_flags(request, &self.packages);
            flags.push("--doc".to_owned());
            flags
        });
        Flags { tests, doctests }
    }

    /// Returns the root files of idle packages whose code nothing needs. The build script of an idle package may be
    /// linked with another one.
    pub fn empty_roots(&self, packages: &[Package]) -> BTreeSet<PathBuf> {
        let is_idle = |package: &&Package| package.member && self.idle.contains(package.name.as_str());
        let mut needed: BTreeSet<&str> = BTreeSet::new();
        let mut queue: Vec<&Package> =
            packages.iter().filter(is_idle).filter(|package| package.build_script.is_some()).collect();
        while let Some(package) = queue.pop() {
            for dependency in package.dependencies.iter().filter(|dependency| !dependency.is_dev()) {
                if needed.insert(&dependency.package) {
                    queue.extend(packages.iter().filter(|package| package.name == dependency.package));
                }
            }
        }
        let roots = |package: &Package| {
            let built = package.targets.iter().map(|target| PathBuf::from(&target.root));
            built.chain(package.build_script.iter().map(PathBuf::from)).collect::<BTreeSet<_>>()
        };
        let is_empty = |package: &&Package| is_idle(package) && !needed.contains(package.name.as_str());
        let (empty, others): (Vec<_>, Vec<_>) = packages.iter().partition(is_empty);
        let scripts = empty.iter().filter_map(|package| package.build_script.as_ref().map(PathBuf::from));
        let kept: BTreeSet<PathBuf> = others.into_iter().flat_map(roots).chain(scripts).collect();
        empty.into_iter().flat_map(roots).filter(|root| !kept.contains(root)).collect()
    }
}

/// Selects the packages to pass: those with targets to build, and those that affect how these are built. `resolved`
/// returns the features enabled for a set of packages, or `None` if cargo refuses the set; `simulated` does the same
/// faster but may be wrong.
fn packages<'a>(
    request: &Request<'a>,
    resolved: &mut dyn FnMut(&BTreeSet<&'a str>) -> Result<Option<Features>>,
    simulated: &mut dyn FnMut(&BTreeSet<&'a str>) -> Option<Features>,
) -> Result<Named<'a>> {
    let needed: BTreeSet<&str> = request.targets.iter().map(|target| target.package.as_str()).collect();
    let mut named: BTreeSet<&str> = needed.iter().copied().chain(request.packages.keys().map(String::as_str)).collect();
    let alone = |needed| Named { packages: needed, idle: BTreeSet::new() };
    if named == needed {
        return Ok(alone(needed));
    }
    let Some(wanted) = resolved(&named)? else { return Ok(alone(needed)) };
    let of_needed = resolved(&needed)?;
    if of_needed.as_ref().is_some_and(|features| is_part(features, &wanted)) {
        return Ok(alone(needed));
    }
    let dispensable = |package: &&str| !needed.contains(package) && costs(request, package);
    let dispensable: Vec<&str> = named.iter().copied().filter(dispensable).collect();
    let mut suffices = |packages: &BTreeSet<&'a str>| -> Result<bool> {
        Ok(resolved(packages)?.is_some_and(|features| is_part(&features, &wanted)))
    };
    match propose(&named, &dispensable, simulated)? {
        Some(proposed) if proposed == named || suffices(&proposed)? => named = proposed,
        _ => {
            let mut calls = 0;
            drop_dispensable(&mut named, &dispensable, &mut |packages| {
                calls += 1;
                Ok(calls <= MOST_CALLS && suffices(packages)?)
            })?;
        }
    }
    // Without the resolver's answer no package is idle.
    let idle = of_needed.map_or_else(BTreeSet::new, |features| {
        let used: BTreeSet<&str> = features.iter().filter_map(|(package, _)| package.split(' ').next()).collect();
        named.iter().copied().filter(|package| !needed.contains(package) && !used.contains(package)).collect()
    });
    Ok(Named { packages: named, idle })
}

/// Returns the packages to pass according to the simulation.
fn propose<'a>(
    named: &BTreeSet<&'a str>,
    dispensable: &[&'a str],
    simulated: &mut dyn FnMut(&BTreeSet<&'a str>) -> Option<Features>,
) -> Result<Option<BTreeSet<&'a str>>> {
    if dispensable.is_empty() {
        return Ok(None);
    }
    let Some(wanted) = simulated(named) else { return Ok(None) };
    let mut proposed = named.clone();
    drop_dispensable(&mut proposed, dispensable, &mut |packages| {
        Ok(simulated(packages).is_some_and(|features| is_part(&features, &wanted)))
    })?;
    Ok(Some(proposed))
}

/// Removes packages that are not needed. More packages enable more features of each other and never fewer, so whole
/// groups can be tried at once.
fn drop_dispensable<'a>(
    packages: &mut BTreeSet<&'a str>,
    dispensable: &[&'a str],
    suffices: &mut dyn FnMut(&BTreeSet<&'a str>) -> Result<bool>,
) -> Result<()> {
    if dispensable.is_empty() {
        return Ok(());
    }
    let fewer: BTreeSet<&str> = packages.iter().copied().filter(|package| !dispensable.contains(package)).collect();
    if suffices(&fewer)? {
        *packages = fewer;
    } else if dispensable.len() > 1 {
        let (first, second) = dispensable.split_at(dispensable.len() / 2);
        drop_dispensable(packages, first, suffices)?;
        drop_dispensable(packages, second, suffices)?;
    }
    Ok(())
}

/// Checks whether the packages in `some` have the same features as in `all`.
fn is_part(some: &Features, all: &Features) -> bool {
    let packages: BTreeSet<&str> = some.iter().map(|(package, _)| package.as_str()).collect();
    all.iter().filter(|(package, _)| packages.contains(package.as_str())).eq(some)
}

/// Checks whether cargo would build something of a package that was not requested.
fn costs(request: &Request<'_>, package: &str) -> bool {
    let is_built = |target: &TargetId| {
        let alike = |asked: &TargetId| match asked.kind {
            TargetKind::Lib => target.kind == TargetKind::Lib,
            kind => target.kind == kind && target.name == asked.name,
        };
        request.requires_features || request.targets.iter().any(alike)
    };
    request.packages.get(package).is_some_and(|targets| targets.iter().any(is_built))
}

fn resolve_features(cargo: &Cargo, request: &Request<'_>, packages: &BTreeSet<&str>) -> Result<Option<Features>> {
    let mut command = cargo.command();
    command.args(["tree", "--color", "never", "--prefix", "none", "--format", "{p}\t{f}"]);
    request.configure(&mut command)?;
    let mut arguments = request.options.arguments.iter();
    while let Some(argument) = arguments.next() {
        if argument == "--jobs" {
            arguments.next();
        } else {
            command.arg(argument);
        }
    }
    command.args(packages.iter().flat_map(|package| ["--package".to_owned(), specification(request, package)]));
    // The build will report errors.
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let output = process::spawn(&mut command)?.wait_with_output();
    let output = output.map_err(|error| Error::setup(format!("cannot wait for cargo: {error}")))?;
    Ok(output.status.success().then(|| features(&String::from_utf8_lossy(&output.stdout))))
}

/// Parses the output of `cargo tree`, which marks packages that it has already printed.
fn features(lines: &str) -> Features {
    let lines = lines.lines().filter_map(|line| line.split_once('\t'));
    lines
        .map(|(package, features)| (package.to_owned(), features.trim_end_matches("(*)").trim_end().to_owned()))
        .collect()
}

fn flags(request: &Request<'_>, packages: &BTreeSet<&str>) -> Vec<String> {
    let mut flags = package_flags(request, packages);
    let needs_all = packages.iter().all(|package| request.targets.iter().any(|target| target.package == *package));
    // Cargo's `--tests` omits targets with `test = false`, which may contain benchmarks.
    let is_no_test = |target: &TargetId| {
        let tests = target.kind.beside().map(|kind| TargetId { kind, ..target.clone() });
        tests.is_some_and(|tests| !request.targets.contains(&tests))
    };
    let beyond_tests = request.targets.iter().any(is_no_test);
    // Cargo refuses to build a target by name if its features are off, and otherwise omits it silently.
    if request.requires_features || (request.whole_packages && needs_all && !beyond_tests) {
        flags.push("--tests".to_owned());
        let benches = request.targets.iter().filter(|target| target.kind == TargetKind::Bench);
        let any = beyond_tests || benches.clone().next().is_some();
        if request.requires_features && any && !request.names_benches {
            flags.push("--benches".to_owned());
        } else {
            flags.extend(benches.flat_map(|target| ["--bench".to_owned(), target.name.clone()]));
        }
        return flags;
    }
    let mut named = BTreeSet::new();
    for target in request.targets {
        let (flag, name) = match target.kind {
            TargetKind::Lib | TargetKind::LibBench => ("--lib", None),
            TargetKind::Bin | TargetKind::BinBench => ("--bin", Some(&target.name)),
            TargetKind::Test => ("--test", Some(&target.name)),
            TargetKind::Example => ("--example", Some(&target.name)),
            TargetKind::Bench => ("--bench", Some(&target.name)),
            TargetKind::Doctest => continue,
        };
        named.insert((flag, name));
    }
    flags.extend(named.into_iter().flat_map(|(flag, name)| std::iter::once(flag.to_owned()).chain(name.cloned())));
    flags
}

fn package_flags(request: &Request<'_>, packages: &BTreeSet<&str>) -> Vec<String> {
    packages.iter().flat_map(|package| ["--package".to_owned(), specification(request, package)]).collect()
}

/// Returns the package ID specification. A name alone is ambiguous if a dependency has the same name.
fn specification(request: &Request<'_>, package: &str) -> String {
    let folder = request.package_folders.get(package);
    folder.map_or_else(|| package.to_owned(), |folder| format!("path+{}#{package}", file_url(folder)))
}

/// Formats a Unix path as a URL (RFC 8089) like the `url` crate that cargo uses.
fn file_url(path: &Path) -> String {
    let mut url = String::from("file://");
    for byte in path.as_os_str().as_encoded_bytes() {
        if byte.is_ascii_alphanumeric() || b"/-._~!$&'()*+,;=:@".contains(byte) {
            url.push(char::from(*byte));
        } else {
            let _ = write!(url, "%{byte:02X}");
        }
    }
    url
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Options;
    use perfunit_model::Lto;
    use perfunit_project::cargo::{Dependency, DependencyKind, Target};
    use std::collections::BTreeMap;
    use std::path::PathBuf;

    fn id(package: &str, kind: TargetKind, name: &str) -> TargetId {
        TargetId { package: package.to_owned(), kind, name: name.to_owned() }
    }

    /// A workspace with `demo`, packages that need a feature of it, and others.
    struct Story {
        options: Options,
        targets: BTreeSet<TargetId>,
        packages: BTreeMap<String, BTreeSet<TargetId>>,
        folders: BTreeMap<String, PathBuf>,
        variables: BTreeMap<String, String>,
    }

    impl Story {
        fn new(targets: &[TargetId]) -> Self {
            let library = |package: &str| BTreeSet::from([id(package, TargetKind::Lib, package)]);
            let packages = ["demo", "needy", "other"].map(|package| (package.to_owned(), library(package)));
            let folders = BTreeMap::from([("demo".to_owned(), PathBuf::from("/a tree"))]);
            let (options, targets) = (Options::default(), targets.iter().cloned().collect());
            Self { options, targets, packages: packages.into(), folders, variables: BTreeMap::new() }
        }

        fn request(&self) -> Request<'_> {
            Request {
                lto: Lto::Keep,
                options: &self.options,
                content_key: "",
                manifest: PathBuf::new(),
                config_files: Vec::new(),
                targets: &self.targets,
                package_folders: &self.folders,
                packages: &self.packages,
                whole_packages: false,
                requires_features: false,
                names_benches: false,
                ours: Path::new("/t"),
                target_dir: Path::new("/t/build"),
                texts: None,
                variables: &self.variables,
                deadline: None,
            }
        }

        /// Returns the selected packages, the idle ones, and the number of cargo calls, if `needy` enables such a
        /// feature and `demo` depends on `other`. A wrong simulation finds every package dispensable.
        fn select_with(&self, feature: &str, simulation_errs: bool) -> (Vec<&str>, Vec<&str>, usize) {
            let features = |packages: &BTreeSet<&str>, feature: &str| -> Features {
                let has = |name: &str| packages.contains(name);
                let demo = if has("needy") { feature } else { "" };
                let others = packages.iter().map(|package| ((*package).to_owned(), String::new()));
                let others = others.filter(|(package, _)| package != "demo");
                let always = [("demo v1 (/a)", demo), ("other v1 (/b)", "")];
                let always = always.map(|(package, features)| (package.to_owned(), features.to_owned()));
                others.chain(always).collect()
            };
            let mut calls = 0;
            let request = self.request();
            let mut resolved = |packages: &BTreeSet<&str>| {
                calls += 1;
                Ok(Some(features(packages, feature)))
            };
            let simulated = |packages: &BTreeSet<&str>| features(packages, if simulation_errs { "" } else { feature });
            let named = packages(&request, &mut resolved, &mut |packages| Some(simulated(packages)));
            let Named { packages, idle } = named.unwrap();
            (packages.into_iter().collect(), idle.into_iter().collect(), calls)
        }
    }

    #[test]
    fn who_enables_features_is_named_as_well() {
        let story = Story::new(&[id("demo", TargetKind::Lib, "demo")]);
        assert_eq!(story.select_with("", false), (vec!["demo"], vec![], 2));
        // The third call confirms the simulation.
        assert_eq!(story.select_with("fast", false), (vec!["demo", "needy"], vec!["needy"], 3));
        // Cargo contradicts the simulation. The next calls try without both, without `needy`, and without `other`.
        assert_eq!(story.select_with("fast", true), (vec!["demo", "needy"], vec!["needy"], 6));
        // Cargo builds nothing of the others.
        let story = Story::new(&[id("demo", TargetKind::Test, "it")]);
        assert_eq!(story.select_with("fast", false), (vec!["demo", "needy", "other"], vec!["needy"], 2));
    }

    #[test]
    fn few_questions_find_what_is_indispensable() {
        let names: Vec<String> = (0..100).map(|number| format!("p{number:02}")).collect();
        let mut packages: BTreeSet<&str> = names.iter().map(String::as_str).collect();
        let all: Vec<&str> = packages.iter().copied().collect();
        let mut questions = 0;
        drop_dispensable(&mut packages, &all, &mut |packages| {
            questions += 1;
            Ok(["p07", "p93"].iter().all(|package| packages.contains(package)))
        })
        .unwrap();
        assert_eq!(packages.into_iter().collect::<Vec<_>>(), ["p07", "p93"]);
        assert!(questions < 30, "{questions}");
    }

    #[test]
    fn roots_of_idle_packages_are_empty_but_for_what_others_need() {
        let package = |name: &str, roots: &[&str], build_script: Option<&str>, dependencies: &[&str]| {
            let target = |root: &&str| Target {
                id: id(name, TargetKind::Test, root),
                root: (*root).to_owned(),
                tested: true,
                benched: false,
                requires_features: false,
            };
            let dependency = |name: &&str| Dependency { package: (*name).to_owned(), kind: DependencyKind::Normal };
            Package {
                name: name.to_owned(),
                member: true,
                targets: roots.iter().map(target).collect(),
                build_script: build_script.map(str::to_owned),
                dependencies: dependencies.iter().map(dependency).collect(),
                ..Package::default()
            }
        };
        let packages = [
            package("demo", &["lib.rs", "shared.rs"], None, &[]),
            package("idle", &["idle.rs", "shared.rs", "build.rs"], Some("build.rs"), &["codegen"]),
            package("codegen", &["codegen.rs"], None, &[]),
            package("other", &["other.rs"], None, &["idle"]),
        ];
        let idle = BTreeSet::from(["idle", "codegen", "other"]);
        let named = Named { packages: BTreeSet::new(), idle };
        let empty = ["idle.rs", "other.rs"].map(PathBuf::from);
        assert_eq!(named.empty_roots(&packages), BTreeSet::from(empty));
    }

    #[test]
    fn nothing_is_asked_where_all_packages_are_built() {
        let mut story = Story::new(&[id("demo", TargetKind::Lib, "demo")]);
        story.packages.retain(|package, _| package == "demo");
        assert_eq!(story.select_with("fast", false), (vec!["demo"], vec![], 0));
    }

    #[test]
    fn the_same_package_may_have_features_for_build_scripts_and_others_for_code() {
        let lines = "a v1 (/a)\tx,y\nb v1\t\nb v1\tz\na v1 (/a)\tx,y (*)\n";
        let all = features(lines);
        assert_eq!(all.len(), 3);
        assert!(is_part(&features("a v1 (/a)\tx,y\n"), &all));
        assert!(!is_part(&features("b v1\t\n"), &all));
    }

    #[test]
    fn named_targets_become_cargo_flags() {
        let story = Story::new(&[id("demo", TargetKind::Lib, "demo"), id("demo", TargetKind::Test, "it")]);
        let flags =
            |request: &Request<'_>, packages: &[&str]| flags(request, &packages.iter().copied().collect()).join(" ");
        let package = "--package path+file:///a%20tree#demo";
        assert_eq!(flags(&story.request(), &["demo"]), format!("{package} --lib --test it"));
        let whole = Request { whole_packages: true, ..story.request() };
        assert_eq!(flags(&whole, &["demo"]), format!("{package} --tests"));
        assert_eq!(flags(&whole, &["demo", "needy"]), format!("{package} --package needy --lib --test it"));
        let requires = Request { requires_features: true, ..story.request() };
        assert_eq!(flags(&requires, &["demo", "needy"]), format!("{package} --package needy --tests"));
    }

    #[test]
    fn benchmarks_are_built_although_cargo_leaves_their_target_out() {
        let check = |targets: &[&TargetId], change: &dyn Fn(&mut Request<'_>), expected: &str| {
            let targets: Vec<TargetId> = targets.iter().copied().cloned().collect();
            let story = Story::new(&targets);
            let mut request = story.request();
            change(&mut request);
            let found = flags(&request, &BTreeSet::from(["demo"])).join(" ");
            assert_eq!(found, format!("--package path+file:///a%20tree#demo {expected}"));
        };
        let (bench, in_lib) = (id("demo", TargetKind::Bench, "speed"), id("demo", TargetKind::LibBench, "demo"));
        let library = id("demo", TargetKind::Lib, "demo");
        let whole = |request: &mut Request<'_>| request.whole_packages = true;
        check(&[&library, &in_lib], &whole, "--tests");
        // A library with `test = false`.
        check(&[&in_lib], &whole, "--lib");
        let requires = |request: &mut Request<'_>| request.requires_features = true;
        check(&[&in_lib], &requires, "--tests --benches");
        check(&[&bench], &requires, "--tests --benches");
        // A bench target with `bench = false`.
        let named = |request: &mut Request<'_>| (request.requires_features, request.names_benches) = (true, true);
        check(&[&bench], &named, "--tests --bench speed");
    }

    /// Members that enable features of each other: for builds, for tests, by macros, by optional dependencies.
    const MEMBERS: [(&str, &str); 6] = [
        ("engine", "[features]\ndefault = [\"std\"]\nstd = []\nturbo = []\nquiet = []\nslim = []\n"),
        (
            "user",
            "[dependencies]\nengine = { path = \"../engine\", features = [\"turbo\"], default-features = false }\n",
        ),
        ("tester", "[dev-dependencies]\nengine = { path = \"../engine\", features = [\"quiet\"] }\n"),
        ("builder", "[build-dependencies]\nengine = { path = \"../engine\", features = [\"slim\"] }\n"),
        ("macros", "[lib]\nproc-macro = true\n[dependencies]\nengine = { path = \"../engine\" }\n"),
        (
            "chooser",
            "[dependencies]\nengine = { path = \"../engine\", optional = true }\nmacros = { path = \"../macros\" }\n\
             [features]\nfast = [\"engine?/turbo\"]\nall = [\"dep:engine\", \"fast\"]\n",
        ),
    ];

    #[test]
    fn the_simulation_enables_what_cargo_enables() {
        let cargo = Cargo::find(Path::new("/")).unwrap();
        let dir = tempfile::tempdir().unwrap();
        let write = |file: &str, text: &str| perfunit_system::fs::write(&dir.path().join(file), text).unwrap();
        for (name, rest) in MEMBERS {
            let head = format!("[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2021\"\n");
            write(&format!("{name}/Cargo.toml"), &(head + rest));
            write(&format!("{name}/src/lib.rs"), "");
            write(&format!("{name}/build.rs"), "fn main() {}");
        }
        let all = MEMBERS.map(|(name, _)| name);
        let mut story = Story::new(&[]);
        story.folders = all.map(|name| (name.to_owned(), dir.path().join(name))).into();
        for (resolver, arguments) in [("1", &[][..]), ("2", &[]), ("2", &["--features", "all"])] {
            write("Cargo.toml", &format!("[workspace]\nmembers = {all:?}\nresolver = \"{resolver}\"\n"));
            story.options.arguments = arguments.iter().map(|argument| (*argument).to_owned()).collect();
            let mut request = story.request();
            request.manifest = dir.path().join("Cargo.toml");
            let simulation = FeatureResolver::open(&cargo, &request.manifest, &story.options.arguments).unwrap();
            for packages in [&all[..], &["engine", "chooser", "tester"], &["builder", "chooser"]] {
                let packages = packages.iter().copied().collect();
                let of_cargo =
                    resolve_features(&cargo, &request, &packages).unwrap().expect("cargo takes these packages");
                // Cargo prints the folder of each package.
                let without_folder = |(package, features): (String, String)| {
                    (package.split(' ').take(2).collect::<Vec<_>>().join(" "), features)
                };
                let of_cargo: Features = of_cargo.into_iter().map(without_folder).collect();
                assert_eq!(simulation.resolve(&packages).unwrap(), of_cargo, "{packages:?} {arguments:?}");
            }
        }
    }
}
