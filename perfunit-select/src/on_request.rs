//! What of a project is measured only if it is asked for: doc tests and benchmarks.

use super::target_files::{self, TargetFiles};
use perfunit_build::contains;
use perfunit_model::{TargetKind, UnmeasuredTarget};
use perfunit_project::cargo::{Package, Target};
use perfunit_project::git::Versions;
use perfunit_project::git::path::is_rust;
use std::path::Path;

/// What these packages have of it, and was not asked for.
pub fn unmeasured<'a>(
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

/// Whether some file of a target of unit tests has a `#[bench]`. Modules are followed only where the package has one.
pub fn has_benches(versions: &Versions, package: &Package, target: &Target) -> bool {
    let head = &versions.files.head;
    let has = |path: &str| versions.read_file(head, path).is_some_and(|text| contains(&text, b"#[bench]"));
    let benches = Path::new(&package.dir).join("benches");
    let of_package = head.entries.keys().filter(|path| path.starts_with(&package.dir) && !path.starts_with(&benches));
    let mut rust = of_package.filter(|path| is_rust(path));
    rust.any(|path| has(&path.to_string_lossy()))
        && target_files::modules(versions, head, &target.root).keys().any(|path| has(path))
}

/// Whether some file of the package's library has what can be code in documentation.
fn may_have_doctests(versions: &Versions, files: &TargetFiles, package: &Package) -> bool {
    let library = package.targets.iter().find(|target| target.id.kind == TargetKind::Lib);
    let paths = library.and_then(|library| files.get(&library.id)).into_iter().flat_map(|sides| sides.head.keys());
    let mut texts = paths.filter_map(|path| versions.read_file(&versions.files.head, path));
    texts.any(|text| may_hold_doctests(&String::from_utf8_lossy(&text)))
}

/// Whether a source has a fence, an indented line in a documentation comment, or documentation from another file.
fn may_hold_doctests(source: &str) -> bool {
    let is_indented = |line: &str| {
        let comment = line.trim_start();
        let text = comment.strip_prefix("///").or_else(|| comment.strip_prefix("//!"));
        text.is_some_and(|text| text.starts_with("     ") || text.starts_with('\t') || text.starts_with(" \t"))
    };
    let holds_any = ["```", "~~~", "include_str!"].iter().any(|mark| source.contains(mark));
    holds_any || source.lines().any(is_indented)
}

#[cfg(test)]
mod tests {
    use super::may_hold_doctests;

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
}
