//! Compiles and runs code full of probes, in every edition that has it, as the tool does: with rustc, the macros given
//! by `--extern`, and lints silenced. A stand-in of the runtime tells what was entered and left, and when.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

const FOLDER: &str = env!("CARGO_TARGET_TMPDIR");

#[track_caller]
fn succeed(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{command:?}:\n{stdout}{stderr}");
    stdout.into_owned()
}

/// Calls the compiler; what it makes is in the returned folder.
#[track_caller]
fn rustc(file: &str, edition: &str, arguments: &[&str]) -> PathBuf {
    let out = Path::new(FOLDER).join(format!("probe-{edition}"));
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/probe").join(file);
    let mut command = Command::new(std::env::var_os("RUSTC").unwrap_or("rustc".into()));
    command.args(["--edition", edition, "--cap-lints", "allow", "-C", "debuginfo=0"]);
    command.args(arguments).arg("--out-dir").arg(&out).arg(source);
    succeed(&mut command);
    out
}

/// The arguments that make macros and runtime known.
fn externs() -> &'static [String; 4] {
    static EXTERNS: OnceLock<[String; 4]> = OnceLock::new();
    EXTERNS.get_or_init(|| {
        let out = rustc("perfunit_runtime.rs", "2021", &["--crate-type", "rlib"]);
        let runtime = format!("__perfunit_runtime={}", out.join("libperfunit_runtime.rlib").display());
        ["--extern".into(), runtime, "--extern".into(), format!("perfunit_macros={}", macros().display())]
    })
}

/// The library of the macros, which cargo has built for us, and so only has to name.
fn macros() -> PathBuf {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--offline", "--lib", "--message-format=json-render-diagnostics", "--target-dir"]);
    let said = succeed(cargo.arg(Path::new(FOLDER).parent().unwrap()).current_dir(env!("CARGO_MANIFEST_DIR")));
    let ours = said.lines().filter(|line| line.contains("\"compiler-artifact\"") && line.contains("perfunit_macros"));
    let mut paths = ours.flat_map(|line| line.split('"')).map(PathBuf::from);
    let is_library = |path: &PathBuf| path.extension().is_some_and(|end| end == std::env::consts::DLL_EXTENSION);
    paths.rfind(is_library).expect("cargo names the library")
}

#[track_caller]
fn check(file: &str, edition: &str) {
    let externs: Vec<&str> = externs().iter().map(String::as_str).collect();
    let name = file.strip_suffix(".rs").unwrap();
    let out = rustc(file, edition, &[&["--test", "--cfg", "perfunit_probes"], &externs[..]].concat());
    let said = succeed(&mut Command::new(out.join(name)));
    assert!(!said.contains("running 0 tests"), "{said}");
}

#[test]
fn functions_of_2015() {
    check("functions.rs", "2015");
}

#[test]
fn functions_of_2018() {
    check("functions.rs", "2018");
}

#[test]
fn functions_of_2021() {
    check("functions.rs", "2021");
}

#[test]
fn functions_of_2024() {
    check("functions.rs", "2024");
}

#[test]
fn futures_of_2018() {
    check("futures.rs", "2018");
}

#[test]
fn futures_of_2021() {
    check("futures.rs", "2021");
}

#[test]
fn futures_of_2024() {
    check("futures.rs", "2024");
}

#[test]
fn crates_without_std() {
    let externs: Vec<&str> = externs().iter().map(String::as_str).collect();
    for edition in ["2018", "2021", "2024"] {
        rustc("no_std.rs", edition, &[&["--crate-type", "rlib", "--cfg", "perfunit_probes"], &externs[..]].concat());
    }
}
