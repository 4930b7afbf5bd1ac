//! Compiles source text and compares the results.

use crate::code::compare::Changed;
use crate::code::{Code, Comparison, Program, Unit, What, compare, link, read};
use perfunit_build::CompiledFiles;
use perfunit_model::Sides;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

/// Compiles a test crate to an object, as the build stage does.
pub fn rust(source: &str) -> Arc<Unit> {
    rust_with(source, &["--test"])
}

/// Compiles a crate with these arguments instead of `--test`.
pub fn rust_with(source: &str, arguments: &[&str]) -> Arc<Unit> {
    unit(source, &rust_object(source, arguments))
}

/// Compiles a crate to the bytes of an object.
pub fn rust_object(source: &str, arguments: &[&str]) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("story.rs"), source).unwrap();
    let mut rustc = rustc();
    rustc.args(["story.rs", "--edition=2024", "--emit=obj=story.o", "-Copt-level=3", "-Ccodegen-units=1"]);
    rustc.args(["-Csymbol-mangling-version=v0", "-Cmetadata=story", "--cap-lints=allow"]).args(arguments);
    object(folder.path(), rustc)
}

/// Reads an object that was compiled from this source.
pub fn unit(source: &str, object: &[u8]) -> Arc<Unit> {
    let mut files = CompiledFiles::default();
    files.insert("story.rs", source);
    Arc::new(read("story.o", object, &files).unwrap())
}

pub fn rustc() -> Command {
    Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()))
}

/// Compiles C code to an object.
pub fn c(source: &str) -> Arc<Unit> {
    Arc::new(read("story.o", &c_object(source), &CompiledFiles::default()).unwrap())
}

/// Compiles C code to the bytes of an object.
pub fn c_object(source: &str) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("story.c"), source).unwrap();
    let mut cc = Command::new("cc");
    cc.args(["-c", "story.c", "-o", "story.o", "-O2"]);
    object(folder.path(), cc)
}

fn object(folder: &Path, mut compiler: Command) -> Vec<u8> {
    let output = compiler.current_dir(folder).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    std::fs::read(folder.join("story.o")).unwrap()
}

/// Compares two lists of objects for these tests.
pub fn between(base: &[&Arc<Unit>], head: &[&Arc<Unit>], tests: &[&str]) -> Comparison {
    let tests: BTreeSet<String> = tests.iter().map(|name| (*name).to_owned()).collect();
    compare(&programs(base, head), &tests)
}

pub fn programs(base: &[&Arc<Unit>], head: &[&Arc<Unit>]) -> Sides<Program> {
    Sides { base, head }.map(|units| link(&units.iter().map(|unit| Arc::clone(unit)).collect::<Vec<_>>()))
}

/// Compares a test crate with an edited copy, in which `to` replaces `from`.
#[track_caller]
pub fn edit(base: &str, from: &str, to: &str, tests: &[&str]) -> Comparison {
    assert!(base.contains(from), "{from}");
    between(&[&rust(base)], &[&rust(&base.replace(from, to))], tests)
}

#[track_caller]
pub fn same(comparison: &Comparison, test: &str) {
    assert_eq!(comparison.tests[test], Code::Same, "{test}");
}

#[track_caller]
pub fn changed_code<'a>(comparison: &'a Comparison, test: &str) -> &'a Changed {
    let Code::Changed(changed) = &comparison.tests[test] else { panic!("{test}: {:?}", comparison.tests[test]) };
    assert!(!changed.frontier.is_empty() && changed.path[0] == test, "{changed:#?}");
    changed
}

/// Checks that the test has changed through exactly these functions.
#[track_caller]
pub fn changed_by(comparison: &Comparison, test: &str, expected: &[(&str, What)]) {
    let changed = changed_code(comparison, test);
    let found: Vec<(&str, What)> =
        changed.frontier.iter().map(|code| (code.name.as_str(), code.what.clone())).collect();
    assert_eq!(found, expected, "{changed:#?}");
    for code in &changed.frontier {
        let watched = code.symbols.as_ref().map(|symbols| !symbols.is_empty());
        let expected = Sides { base: code.what != What::Added, head: code.what != What::Removed };
        assert_eq!(watched, expected, "{code:#?}");
    }
}
