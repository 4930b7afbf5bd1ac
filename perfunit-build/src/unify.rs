//! Which packages to name to cargo, so that all features are those of the packages that the user asked for.
//!
//! Cargo enables in a package what any of the packages on the command line needs of it. A build of fewer packages
//! may so have fewer features, and fewer tests. Naming all costs what cargo builds of the others, so only those
//! are named that make a difference; which these are cargo's own resolver says (`cargo tree`).
//!
//! Cargo builds targets of each package that is named. The code of one that is named for its features alone, and that
//! nothing wanted depends on, is never run: it is *idle*, and its crates are compiled empty.

use super::request::Request;
use perfunit_model::error::{Error, Result};
use perfunit_model::{TargetId, TargetKind};
use perfunit_project::cargo::{Cargo, Package};
use perfunit_system::process;
use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Stdio;

/// So many questions are worth less than building what may be needless.
const MOST_QUESTIONS: usize = 40;

/// The packages to name to cargo.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Named<'a> {
    packages: BTreeSet<&'a str>,
    /// Those of them that are idle.
    idle: BTreeSet<&'a str>,
}

/// Cargo's flags for packages and targets: those that make test executables, and those that run doc tests.
pub(super) struct Flags {
    /// None if no such target is wanted.
    pub tests: Option<Vec<String>>,
    pub doctests: Option<Vec<String>>,
}

impl<'a> Named<'a> {
    /// Asks cargo's resolver.
    pub fn find(cargo: &Cargo, request: &Request<'a>) -> Result<Self> {
        packages(request, &mut |packages| resolved(cargo, request, packages))
    }

    /// Cargo does not take both kinds of targets at once.
    pub fn flags(&self, request: &Request<'_>) -> Flags {
        let is_doctest = |target: &TargetId| target.kind == TargetKind::Doctest;
        let tests = request.targets.iter().any(|target| !is_doctest(target)).then(|| flags(request, &self.packages));
        let doctests = request.targets.iter().any(is_doctest).then(|| {
            let mut flags = named(request, &self.packages);
            flags.push("--doc".to_owned());
            flags
        });
        Flags { tests, doctests }
    }

    /// The root files of idle packages, of no use to others: a build script of theirs may be linked with another of them.
    pub fn empty_roots(&self, packages: &[Package]) -> BTreeSet<PathBuf> {
        let is_idle = |package: &&Package| package.member && self.idle.contains(package.name.as_str());
        let mut needed: BTreeSet<&str> = BTreeSet::new();
        let mut queue: Vec<&Package> =
            packages.iter().filter(is_idle).filter(|package| package.build_script.is_some()).collect();
        while let Some(package) = queue.pop() {
            for dependency in package.dependencies.iter().filter(|dependency| !dependency.dev) {
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

/// A package and the features that are enabled in it, as `cargo tree` prints both.
type Features = BTreeSet<(String, String)>;

/// The packages to name: those with targets to build, and those without which these would be built otherwise.
/// `resolved` tells what is enabled if packages are named; nothing if cargo refuses them.
fn packages<'a>(
    request: &Request<'a>,
    resolved: &mut dyn FnMut(&BTreeSet<&'a str>) -> Result<Option<Features>>,
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
    for package in dispensable.into_iter().take(MOST_QUESTIONS) {
        named.remove(package);
        if !resolved(&named)?.is_some_and(|features| is_part(&features, &wanted)) {
            named.insert(package);
        }
    }
    // Without the resolver's word nothing is idle.
    let idle = of_needed.map_or_else(BTreeSet::new, |features| {
        let used: BTreeSet<&str> = features.iter().filter_map(|(package, _)| package.split(' ').next()).collect();
        named.iter().copied().filter(|package| !needed.contains(package) && !used.contains(package)).collect()
    });
    Ok(Named { packages: named, idle })
}

/// True if what is enabled in some packages is what is enabled in them among others.
fn is_part(some: &Features, all: &Features) -> bool {
    let packages: BTreeSet<&str> = some.iter().map(|(package, _)| package.as_str()).collect();
    all.iter().filter(|(package, _)| packages.contains(package.as_str())).eq(some)
}

/// True if cargo builds something of a package besides what is asked for.
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

fn resolved(cargo: &Cargo, request: &Request<'_>, packages: &BTreeSet<&str>) -> Result<Option<Features>> {
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
    // What is wrong, the build will say.
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let output = process::spawn(&mut command)?.wait_with_output();
    let output = output.map_err(|error| Error::setup(format!("cannot wait for cargo: {error}")))?;
    Ok(output.status.success().then(|| features(&String::from_utf8_lossy(&output.stdout))))
}

/// A package that was shown before with all that is below it is marked.
fn features(lines: &str) -> Features {
    let lines = lines.lines().filter_map(|line| line.split_once('\t'));
    lines
        .map(|(package, features)| (package.to_owned(), features.trim_end_matches("(*)").trim_end().to_owned()))
        .collect()
}

fn flags(request: &Request<'_>, packages: &BTreeSet<&str>) -> Vec<String> {
    let mut flags = named(request, packages);
    let needs_all = packages.iter().all(|package| request.targets.iter().any(|target| target.package == *package));
    // Cargo's `--tests` leaves out what has `test = false` and may hold benchmarks all the same.
    let is_no_test = |target: &TargetId| {
        let tests = target.kind.beside().map(|kind| TargetId { kind, ..target.clone() });
        tests.is_some_and(|tests| !request.targets.contains(&tests))
    };
    let beyond_tests = request.targets.iter().any(is_no_test);
    // Cargo refuses to build a named target whose features are off, and silently leaves it out otherwise.
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

fn named(request: &Request<'_>, packages: &BTreeSet<&str>) -> Vec<String> {
    packages.iter().flat_map(|package| ["--package".to_owned(), specification(request, package)]).collect()
}

/// A name alone may also be that of a dependency.
fn specification(request: &Request<'_>, package: &str) -> String {
    let folder = request.package_folders.get(package);
    folder.map_or_else(|| package.to_owned(), |folder| format!("path+{}#{package}", file_url(folder)))
}

/// RFC 8089, as the `url` crate that cargo uses writes it for a Unix path.
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
    use perfunit_project::cargo::{Dependency, Target};
    use std::collections::BTreeMap;
    use std::path::PathBuf;

    fn id(package: &str, kind: TargetKind, name: &str) -> TargetId {
        TargetId { package: package.to_owned(), kind, name: name.to_owned() }
    }

    /// A workspace: `demo`, what needs a feature of it, and what does not.
    struct Story {
        options: Options,
        targets: BTreeSet<TargetId>,
        packages: BTreeMap<String, BTreeSet<TargetId>>,
        folders: BTreeMap<String, PathBuf>,
    }

    impl Story {
        fn new(targets: &[TargetId]) -> Self {
            let library = |package: &str| BTreeSet::from([id(package, TargetKind::Lib, package)]);
            let packages = ["demo", "needy", "other"].map(|package| (package.to_owned(), library(package)));
            let folders = BTreeMap::from([("demo".to_owned(), PathBuf::from("/a tree"))]);
            let (options, targets) = (Options::default(), targets.iter().cloned().collect());
            Self { options, targets, packages: packages.into(), folders }
        }

        fn request(&self) -> Request<'_> {
            Request {
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
                deadline: None,
            }
        }

        /// The packages that are named, with those that are idle, and how often cargo was asked, if `needy` enables such a
        /// feature and `demo` depends on `other`.
        fn named(&self, feature: &str) -> (Vec<&str>, Vec<&str>, usize) {
            let mut asked = 0;
            let request = self.request();
            let named = packages(&request, &mut |packages| {
                asked += 1;
                let has = |name: &str| packages.contains(name);
                let demo = if has("needy") { feature } else { "" };
                let others = packages.iter().map(|package| ((*package).to_owned(), String::new()));
                let others = others.filter(|(package, _)| package != "demo");
                let always = [("demo v1 (/a)", demo), ("other v1 (/b)", "")];
                let always = always.map(|(package, features)| (package.to_owned(), features.to_owned()));
                Ok(Some(others.chain(always).collect()))
            });
            let Named { packages, idle } = named.unwrap();
            (packages.into_iter().collect(), idle.into_iter().collect(), asked)
        }
    }

    #[test]
    fn who_enables_features_is_named_as_well() {
        let story = Story::new(&[id("demo", TargetKind::Lib, "demo")]);
        assert_eq!(story.named(""), (vec!["demo"], vec![], 2));
        // Without `needy`, without `other`.
        assert_eq!(story.named("fast"), (vec!["demo", "needy"], vec!["needy"], 4));
        // Cargo builds nothing of the others.
        let story = Story::new(&[id("demo", TargetKind::Test, "it")]);
        assert_eq!(story.named("fast"), (vec!["demo", "needy", "other"], vec!["needy"], 2));
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
            let dependency = |name: &&str| Dependency { package: (*name).to_owned(), dev: false };
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
        assert_eq!(story.named("fast"), (vec!["demo"], vec![], 0));
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
}
