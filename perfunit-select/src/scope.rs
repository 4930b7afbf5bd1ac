//! Finds the targets that cargo would test with the given package and target flags.

use super::target_files::{self, TargetFiles};
use globset::{Glob, GlobMatcher};
use perfunit_build::contains;
use perfunit_model::error::{Error, Result};
use perfunit_model::{Ignored, TargetId, TargetKind, UnmeasuredTarget, suggest};
use perfunit_project::cargo::{Location, Package, Target, Workspace};
use perfunit_project::config::{Rules, Terms};
use perfunit_project::git::Versions;
use perfunit_project::git::path::is_rust;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::path::Path;

/// Packages and targets that cargo would test.
pub struct InScope {
    /// Packages, including those without tests.
    pub packages: BTreeSet<String>,
    /// Targets with tests.
    pub targets: BTreeSet<TargetId>,
}

/// Resolves the selection. Returns an error for a name or pattern that matches nothing.
pub fn find(location: &Location, scope: &Scope, workspace: &Workspace) -> Result<InScope> {
    let members: Vec<&Package> = workspace.members().collect();
    let by_default = workspace.selected_by_default(location.own.as_ref());
    let (chosen, excluded) = (specs(&scope.packages, &members)?, specs(&scope.exclude, &members)?);
    let wanted = |package: &&&Package| {
        if scope.only.contains(&package.name) {
            true
        } else if scope.workspace {
            !excluded.iter().any(|spec| spec.takes(package))
        } else if chosen.is_empty() {
            by_default.contains(&package.name)
        } else {
            chosen.iter().any(|spec| spec.takes(package))
        }
    };
    let packages: Vec<&&Package> = members.iter().filter(wanted).collect();
    let holding = packages.iter().filter(|package| scope.only.is_empty() || scope.only.contains(&package.name));
    let targets: Vec<&Target> = holding.flat_map(|package| &package.targets).collect();
    let kinds = kinds(scope, &targets)?;
    let has = |target: &&&Target| {
        kinds.is_empty()
            || kinds.iter().any(|(kind, name)| {
                let is_bench = *kind == TargetKind::Bench && name.is_none() && target.id.kind.beside().is_some();
                is_bench || (*kind == target.id.kind && name.as_ref().is_none_or(|name| name.takes(&target.id.name)))
            })
    };
    Ok(InScope {
        packages: packages.iter().map(|package| package.name.clone()).collect(),
        targets: targets.iter().filter(|target| target.tested).filter(has).map(|target| target.id.clone()).collect(),
    })
}

/// A name, or a pattern of names.
enum Name {
    Whole(String),
    Pattern(GlobMatcher),
}

impl Name {
    fn new(text: &str) -> Result<Self> {
        if !text.contains(['*', '?', '[']) {
            return Ok(Self::Whole(text.to_owned()));
        }
        let pattern = Glob::new(text).map_err(|error| {
            Error::usage(format!("invalid name pattern `{text}`: {}", error.kind()))
                .hint("`*` and `?` match parts of a name, `[ab]` matches one of the letters")
        })?;
        Ok(Self::Pattern(pattern.compile_matcher()))
    }

    fn takes(&self, name: &str) -> bool {
        match self {
            Self::Whole(whole) => whole == name,
            Self::Pattern(pattern) => pattern.is_match(name),
        }
    }
}

/// Value of `-p` or `--exclude`: a name, a pattern, or a package ID.
struct Spec {
    name: Name,
    /// First part of the version.
    version: Option<String>,
}

impl Spec {
    fn new(text: &str) -> Result<Self> {
        let is_version = |text: &str| text.starts_with(|c: char| c.is_ascii_digit());
        let split = |text: &str| -> (String, Option<String>) {
            let found =
                text.split_once('@').or_else(|| text.rsplit_once(':').filter(|(_, version)| is_version(version)));
            found.map_or_else(|| (text.to_owned(), None), |(name, version)| (name.to_owned(), Some(version.to_owned())))
        };
        let folder = |url: &str| url.trim_end_matches('/').rsplit('/').next().unwrap_or_default().to_owned();
        // `path+file:///folder/name#0.1.0`, `path+file:///folder#name@0.1.0`, `file:///folder/name`.
        let (name, version) = match text.split_once('#') {
            Some((url, version)) if is_version(version) => (folder(url), Some(version.to_owned())),
            Some((_, fragment)) => split(fragment),
            None if text.contains("://") => (folder(text), None),
            None => split(text),
        };
        Ok(Self { name: Name::new(&name)?, version })
    }

    fn takes(&self, package: &Package) -> bool {
        let of_version =
            |version: &String| package.version == *version || package.version.starts_with(&format!("{version}."));
        self.name.takes(&package.name) && self.version.as_ref().is_none_or(of_version)
    }
}

fn specs(typed: &[String], members: &[&Package]) -> Result<Vec<Spec>> {
    let spec = |text: &String| {
        let spec = Spec::new(text)?;
        if members.iter().any(|package| spec.takes(package)) {
            return Ok(spec);
        }
        let known: Vec<&str> = members.iter().map(|package| package.name.as_str()).collect();
        let near = suggest::hint(&suggest::near(text, known.iter().copied(), "\0"));
        Err(Error::usage(format!("no package `{text}` in the workspace"))
            .hint(near.unwrap_or_else(|| format!("the workspace has {}", known.join(", ")))))
    };
    typed.iter().map(spec).collect()
}

fn kinds(scope: &Scope, targets: &[&Target]) -> Result<Vec<(TargetKind, Option<Name>)>> {
    let named = |(kind, name): &(TargetKind, Option<String>)| {
        let Some(text) = name else { return Ok((*kind, None)) };
        let name = Name::new(text)?;
        let known: Vec<_> =
            targets.iter().filter(|target| target.id.kind == *kind).map(|target| target.id.name.as_str()).collect();
        if known.iter().any(|known| name.takes(known)) {
            Ok((*kind, Some(name)))
        } else {
            Err(unknown(*kind, text, &known))
        }
    };
    scope.targets.iter().map(named).collect()
}

fn unknown(kind: TargetKind, name: &str, known: &[&str]) -> Error {
    let kind = match kind {
        TargetKind::Bin => "binary",
        TargetKind::Bench => "bench target",
        _ => "integration test",
    };
    let error = Error::usage(format!("no {kind} `{name}` in the selected packages"));
    match known {
        [] => error.hint(format!("the selected packages have no {kind}")),
        known => error.hint(format!("the selected packages have {}", known.join(", "))),
    }
}

/// Returns the doc tests and benchmarks of these packages that were not requested.
pub fn unmeasured_targets<'a>(
    versions: &Versions,
    files: &TargetFiles,
    packages: impl Iterator<Item = &'a Package>,
    asks_for: &dyn Fn(TargetKind) -> bool,
) -> Vec<UnmeasuredTarget> {
    let (doctests, benches) = (asks_for(TargetKind::Doctest), asks_for(TargetKind::Bench));
    let of_package = |package: &Package| {
        let name = &package.name;
        let has_benches = || package.targets.iter().any(|target| target.id.kind == TargetKind::Bench && target.benched);
        let of_doc = !doctests && package.doctests && may_have_doctests(versions, files, package);
        let of_bench = !benches && has_benches();
        let of_doc = of_doc.then(|| UnmeasuredTarget::Doctests { package: name.clone() });
        let of_bench = of_bench.then(|| UnmeasuredTarget::Benches { package: name.clone() });
        of_doc.into_iter().chain(of_bench)
    };
    packages.flat_map(of_package).collect()
}

/// Checks whether a file of a unit test target contains `#[bench]`. Resolves modules only if the package has one.
pub fn has_benches(versions: &Versions, package: &Package, target: &Target) -> bool {
    let head = &versions.files.head;
    let has = |path: &str| versions.read_file(head, path).is_some_and(|text| contains(&text, b"#[bench]"));
    let benches = Path::new(&package.dir).join("benches");
    let of_package = head.entries.keys().filter(|path| path.starts_with(&package.dir) && !path.starts_with(&benches));
    let mut rust = of_package.filter(|path| is_rust(path));
    rust.any(|path| has(&path.to_string_lossy()))
        && target_files::modules(versions, head, &target.root).keys().any(|path| has(path))
}

/// Checks whether a file of the package's library may contain code in documentation.
fn may_have_doctests(versions: &Versions, files: &TargetFiles, package: &Package) -> bool {
    let library = package.targets.iter().find(|target| target.id.kind == TargetKind::Lib);
    let paths = library.and_then(|library| files.get(&library.id)).into_iter().flat_map(|sides| sides.head.keys());
    let mut texts = paths.filter_map(|path| versions.read_file(&versions.files.head, path));
    texts.any(|text| may_hold_doctests(&String::from_utf8_lossy(&text)))
}

/// Checks whether a source has a code fence, an indented line in a doc comment, or documentation from another file.
fn may_hold_doctests(source: &str) -> bool {
    let is_indented = |line: &str| {
        let comment = line.trim_start();
        let text = comment.strip_prefix("///").or_else(|| comment.strip_prefix("//!"));
        text.is_some_and(|text| text.starts_with("     ") || text.starts_with('\t') || text.starts_with(" \t"))
    };
    let holds_any = ["```", "~~~", "include_str!"].iter().any(|mark| source.contains(mark));
    holds_any || source.lines().any(is_indented)
}

/// Everything except the change that decides which tests to select.
pub struct Wanted<'a> {
    /// True if head is the user's working tree.
    pub is_head_live: bool,
    pub scope: &'a Scope,
    pub filter: &'a Filter,
    pub rules: &'a Rules,
    /// True to select all tests in scope, whether or not the change reaches them.
    pub all_tests: bool,
    /// Settings of tests without rules of their own.
    pub terms: Terms,
}

impl Wanted<'_> {
    /// Adds the targets that are only built on request: doc tests, and benchmarks if `has_benches` finds some.
    pub fn complete(&self, workspace: &mut Workspace, has_benches: &dyn Fn(&Package, &Target) -> bool) {
        if self.scope.asks_for(TargetKind::Doctest) {
            workspace.add_doctests();
        }
        if self.scope.asks_for(TargetKind::Bench) {
            let all = self.scope.targets.contains(&(TargetKind::Bench, None));
            workspace.add_benches(all, has_benches);
        }
    }
}

/// Package and target selection, as for cargo.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Scope {
    /// Values of `-p`; empty for cargo's default.
    pub packages: Vec<String>,
    pub workspace: bool,
    pub exclude: Vec<String>,
    /// Requested kinds and names; empty for all.
    pub targets: Vec<(TargetKind, Option<String>)>,
    /// Names of packages with selected targets; empty for all. The other packages still affect the enabled
    /// features.
    #[serde(skip)]
    pub only: BTreeSet<String>,
}

impl Scope {
    /// Checks whether a kind was requested. Doc tests and benchmarks are measured on request only.
    pub fn asks_for(&self, wanted: TargetKind) -> bool {
        self.targets.iter().any(|(kind, _)| *kind == wanted)
    }

    /// Checks whether the whole workspace is selected.
    pub fn is_everything(&self) -> bool {
        self.workspace && self.exclude.is_empty() && self.targets.is_empty()
    }
}

/// Filter for test names.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Filter {
    /// Selects tests with one of these in their name; all if empty.
    pub names: Vec<String>,
    /// Selects, among these, tests that match one of these filtersets; all if empty.
    pub expressions: Vec<String>,
    /// True if names must be equal instead of contained.
    pub exact: bool,
    /// Excludes tests with one of these in their name.
    pub skip: Vec<String>,
    pub ignored: Ignored,
}

impl Filter {
    /// Checks whether a name passes the filter.
    pub fn takes(&self, name: &str) -> bool {
        let is = |filter: &String| if self.exact { name == filter } else { name.contains(filter.as_str()) };
        (self.names.is_empty() || self.names.iter().any(is)) && !self.skip.iter().any(is)
    }
}

#[cfg(test)]
mod tests {
    use super::may_hold_doctests;
    use super::*;

    fn package(name: &str, version: &str) -> Package {
        Package {
            name: name.to_owned(),
            version: version.to_owned(),
            dir: name.to_owned(),
            member: true,
            dependencies: Vec::new(),
            elsewhere: Vec::new(),
            targets: Vec::new(),
            build_script: None,
            doctests: false,
            is_macro: false,
        }
    }

    #[track_caller]
    fn check(spec: &str, expected: &[&str]) {
        let packages = [package("core-io", "0.1.0"), package("core-net", "1.2.3"), package("app", "1.0.0")];
        let spec = Spec::new(spec).unwrap();
        let taken: Vec<&str> =
            packages.iter().filter(|package| spec.takes(package)).map(|package| package.name.as_str()).collect();
        assert_eq!(taken, expected);
    }

    #[test]
    fn packages_are_named_as_to_cargo() {
        check("app", &["app"]);
        check("core-*", &["core-io", "core-net"]);
        check("core-[in]*", &["core-io", "core-net"]);
        check("core-net@1.2.3", &["core-net"]);
        check("core-net@1.2", &["core-net"]);
        check("core-net@1.3", &[]);
        check("app:1.0.0", &["app"]);
        check("path+file:///project/app#1.0.0", &["app"]);
        check("path+file:///project#app@1.0.0", &["app"]);
        check("file:///project/core-io", &["core-io"]);
        check("ap", &[]);
    }

    #[test]
    fn names_that_mean_nothing_are_errors() {
        let packages = [package("core-io", "0.1.0"), package("app", "1.0.0")];
        let members: Vec<&Package> = packages.iter().collect();
        let error = |text: &str| specs(&[text.to_owned()], &members).err().unwrap().to_string();
        assert!(error("aap").contains("did you mean app?"));
        assert!(error("x*").contains("the workspace has core-io, app"));
        assert!(error("co[re").contains("invalid name pattern"));
    }

    #[test]
    fn code_in_documentation_is_fenced_indented_or_elsewhere() {
        for source in [
            "/// ```\n/// f();\n/// ```\nfn f() {}",
            "#[doc = \"~~~\\nf();\\n~~~\"]\nfn f() {}",
            "//! So:\n//!\n//!     f();\n",
            "    ///\tf();\n",
            "#![doc = include_str!(\"../README.md\")]",
        ] {
            assert!(may_hold_doctests(source), "{source}");
        }
        assert!(!may_hold_doctests("/// Calls `g`,\n///   twice.\n//     g();\nfn f() { /* // */ g() }\n"));
    }

    #[test]
    fn filters_are_substrings_or_whole_names() {
        let filter = |exact| Filter {
            names: vec!["a::b".to_owned()],
            exact,
            skip: vec!["slow".to_owned()],
            ..Filter::default()
        };
        assert!(filter(false).takes("x::a::bc"));
        assert!(!filter(false).takes("a::b_slow"));
        assert!(filter(true).takes("a::b") && !filter(true).takes("a::bc"));
        assert!(Filter::default().takes("anything"));
    }
}
