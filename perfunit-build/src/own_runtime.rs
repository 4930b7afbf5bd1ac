//! Compiles the stand-in of criterion with the target's own tokio, for bench targets with benchmarks that use tokio
//! runtimes.

use super::embedded::CRITERION_NAME;
use super::rustc_call::Call;
use super::wrapper::WrapperConfig;
use perfunit_model::error::Result;
use perfunit_system::fs;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Crate with runtimes that can run futures.
const TOKIO: &str = "tokio=";
/// Cfg that enables them in the stand-in.
const CFG: &str = "perfunit_tokio";

/// Returns the stand-ins for a bench target. If criterion's does not compile with the target's tokio, which may lack
/// runtimes, uses the plain one.
pub(super) fn stand_ins(
    config: &WrapperConfig,
    compiler: Command,
    call: &Call,
    arguments: &[&OsStr],
) -> Result<BTreeMap<String, PathBuf>> {
    let mut stand_ins = config.stand_ins.clone();
    let (Some(tokio), Some(out_dir)) = (tokio(arguments), &call.out_dir) else { return Ok(stand_ins) };
    let Some(plain) = stand_ins.get(CRITERION_NAME) else { return Ok(stand_ins) };
    let folder = Path::new(out_dir).join(format!("perfunit-{}{}", call.crate_name, call.extra_filename));
    fs::create_dir_all(&folder)?;
    let root = plain.with_file_name("lib.rs");
    if compile(compiler, &config.runtime, (&root, &folder), tokio, arguments) {
        stand_ins.insert(CRITERION_NAME.to_owned(), folder.join(format!("lib{CRITERION_NAME}.rlib")));
    }
    Ok(stand_ins)
}

/// Returns the value of `--extern` for tokio.
fn tokio<'a>(arguments: &[&'a OsStr]) -> Option<&'a OsStr> {
    let mut externs = arguments.windows(2).filter(|pair| pair[0] == "--extern").map(|pair| pair[1]);
    externs.find(|library| library.to_string_lossy().starts_with(TOKIO))
}

/// Returns rustc's search paths for dependencies.
fn search_paths(arguments: &[&OsStr]) -> Vec<OsString> {
    let pairs = arguments.windows(2).filter(|pair| pair[0] == "-L");
    pairs.flat_map(|pair| [pair[0].to_owned(), pair[1].to_owned()]).collect()
}

fn compile(
    mut compiler: Command,
    runtime: &Path,
    (root, out_dir): (&Path, &Path),
    tokio: &OsStr,
    arguments: &[&OsStr],
) -> bool {
    compiler.args([
        "--crate-name",
        CRITERION_NAME,
        "--crate-type",
        "rlib",
        "--edition",
        "2021",
        "--cap-lints",
        "allow",
    ]);
    compiler.args(["-C", "opt-level=3", "-C", "embed-bitcode=yes", "-C", "symbol-mangling-version=v0", "--cfg", CFG]);
    compiler.args(["--extern", &format!("perfunit_runtime={}", runtime.display())]).arg("--extern").arg(tokio);
    compiler.args(search_paths(arguments)).arg("--out-dir").arg(out_dir).arg(root);
    compiler.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    compiler.status().is_ok_and(|status| status.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_users_tokio_is_among_the_crates_that_are_named() {
        let line = "--crate-name tokio=x --extern tokio_util=/u.rlib --extern tokio=/t.rlib -L dependency=/deps";
        let arguments: Vec<&OsStr> = line.split(' ').map(OsStr::new).collect();
        assert_eq!(tokio(&arguments), Some(OsStr::new("tokio=/t.rlib")));
        assert_eq!(search_paths(&arguments), ["-L", "dependency=/deps"]);
        assert_eq!(tokio(&arguments[..4]), None);
    }
}
