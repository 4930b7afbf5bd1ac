//! The targets that cargo would test with the flags for packages and targets.

use super::wanted::Scope;
use globset::{Glob, GlobMatcher};
use perfunit_model::error::{Error, Result};
use perfunit_model::suggest;
use perfunit_model::{TargetId, TargetKind};
use perfunit_project::cargo::{Location, Package, Target, Workspace};
use std::collections::BTreeSet;

/// What cargo would test.
pub struct InScope {
    /// The packages, also those without tests.
    pub packages: BTreeSet<String>,
    /// The targets that hold tests.
    pub targets: BTreeSet<TargetId>,
}

/// All of them; an error for a name or pattern that means none.
pub fn find(location: &Location, scope: &Scope, workspace: &Workspace) -> Result<InScope> {
    let members: Vec<&Package> = workspace.members().collect();
    let (chosen, excluded) = (specs(&scope.packages, &members)?, specs(&scope.exclude, &members)?);
    let wanted = |package: &&&Package| {
        if scope.workspace {
            !excluded.iter().any(|spec| spec.takes(package))
        } else if chosen.is_empty() {
            location.default_packages.contains(&package.name)
        } else {
            chosen.iter().any(|spec| spec.takes(package))
        }
    };
    let packages: Vec<&&Package> = members.iter().filter(wanted).collect();
    let targets: Vec<&Target> = packages.iter().flat_map(|package| &package.targets).collect();
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
            Error::usage(format!("`{text}` is no pattern of names: {}", error.kind()))
                .hint("`*` and `?` stand for parts of a name, `[ab]` for one of some letters")
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

/// What `-p` and `--exclude` take: a name, a pattern, or one of cargo's package ids.
struct Spec {
    name: Name,
    /// The beginning of its version.
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
        Err(Error::usage(format!("there is no package `{text}` in the workspace"))
            .hint(near.unwrap_or_else(|| format!("it has {}", known.join(", ")))))
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
    let error = Error::usage(format!("there is no {kind} `{name}` in the chosen packages"));
    match known {
        [] => error.hint(format!("they have no {kind} at all")),
        known => error.hint(format!("they have {}", known.join(", "))),
    }
}

#[cfg(test)]
mod tests {
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
        assert!(error("x*").contains("it has core-io, app"));
        assert!(error("co[re").contains("no pattern of names"));
    }
}
