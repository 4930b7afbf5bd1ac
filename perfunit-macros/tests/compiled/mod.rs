//! Compiles sources with our macros as the tool does: with rustc, the macros passed by `--extern`, and lints silenced.
//! A stand-in of the runtime records calls.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

pub const FOLDER: &str = env!("CARGO_TARGET_TMPDIR");

/// Runs a command that must succeed, and returns its output.
#[track_caller]
pub fn succeed(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{command:?}:\n{stdout}{stderr}");
    stdout.into_owned()
}

/// Compiles a source file below `tests`, and returns the folder with the result.
#[track_caller]
pub fn rustc(source: impl AsRef<Path>, edition: &str, arguments: &[&str]) -> PathBuf {
    let out = Path::new(FOLDER).join(format!("compiled-{edition}"));
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(source);
    let mut command = Command::new(std::env::var_os("RUSTC").unwrap_or("rustc".into()));
    command.args(["--edition", edition, "--cap-lints", "allow", "-C", "debuginfo=0"]);
    command.args(arguments).arg("--out-dir").arg(&out).arg(source);
    succeed(&mut command);
    out
}

/// Returns the arguments that add macros and runtime.
pub fn externs() -> &'static [String; 4] {
    static EXTERNS: OnceLock<[String; 4]> = OnceLock::new();
    EXTERNS.get_or_init(|| {
        let out = rustc("compiled/perfunit_runtime.rs", "2021", &["--crate-type", "rlib"]);
        let runtime = format!("__perfunit_runtime={}", out.join("libperfunit_runtime.rlib").display());
        ["--extern".into(), runtime, "--extern".into(), format!("perfunit_macros={}", macros().display())]
    })
}

/// Returns the macro library that cargo built for this test. Alongside the executable there may be older ones, with other
/// features.
fn macros() -> PathBuf {
    let folder = std::env::current_exe().unwrap().parent().unwrap().to_owned();
    let start = format!("{}perfunit_macros-", std::env::consts::DLL_PREFIX);
    let entries = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap());
    let libraries = entries.filter(|entry| {
        let name = entry.file_name().to_string_lossy().into_owned();
        name.starts_with(&start) && name.ends_with(std::env::consts::DLL_SUFFIX)
    });
    let newest = libraries.max_by_key(|entry| entry.metadata().unwrap().modified().unwrap());
    newest.unwrap_or_else(|| panic!("no {start}* in {}", folder.display())).path()
}
