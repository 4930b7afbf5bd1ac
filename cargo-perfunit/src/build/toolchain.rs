//! The part that is built once per toolchain and kept in the user's cache: runtime, runner, macros, wrapper.

use super::embedded::{EmbeddedFile, LOCK_FILE, MACROS, MACROS_MANIFEST, RUNNER, RUNTIME};
use super::rustc_role::{CONFIG_NAME, WRAPPER_NAME, WrapperConfig};
use crate::cache::{self, KeyBuilder};
use crate::error::{Error, Result};
use crate::progress::Progress;
use crate::term::Terminal;
use crate::workspace::Cargo;
use crate::{fs, process};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Toolchain parts kept in the cache.
const KEPT: usize = 8;

/// What differs between toolchain parts for one compiler.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Variant {
    /// Use door 2, the test runner; off when a crate does not build with it.
    pub runner: bool,
    /// Keep literals in test bodies opaque to the optimiser.
    pub opaque: bool,
}

/// The prepared parts.
#[derive(Debug, Clone)]
pub struct Toolchain {
    /// Our executable in the role of the rustc workspace wrapper. Its path stands for everything that it does.
    pub wrapper: PathBuf,
    /// Content key of all parts.
    pub key: String,
    /// Whether door 2 is open.
    pub runner: bool,
}

/// Returns the parts for this toolchain, building them on first use.
pub fn prepare(cargo: &Cargo, cache: &Path, variant: Variant, terminal: Terminal) -> Result<Toolchain> {
    let executable = std::env::current_exe().map_err(|error| Error::setup(format!("cannot find our own executable: {error}")))?;
    let own = fs::read(&executable)?;
    let chained = std::env::var_os("RUSTC_WORKSPACE_WRAPPER").filter(|value| !value.is_empty()).map(PathBuf::from);
    let key = KeyBuilder::default()
        .add(&own)
        .add(&cargo.version)
        .add(format!("{variant:?} {chained:?}"))
        .finish()?;
    let root = cache.join("toolchains");
    let dir = root.join(&key);
    if !dir.join(CONFIG_NAME).exists() {
        let progress = Progress::spinner(terminal, "Preparing");
        progress.message(format!("the runtime for {} (once per toolchain)", cargo.rustc_release()));
        fs::create_dir_all(&root)?;
        let draft = root.join(format!("{key}.{}", std::process::id()));
        cache::private_dir(&draft)?;
        let made = make(cargo, &draft, &dir, variant, chained, &own);
        if made.is_err() {
            let _ = fs::remove_dir_all(&draft);
        }
        made?;
        // Somebody else may have been quicker: theirs is the same.
        if fs::rename(&draft, &dir).is_err() && !dir.join(CONFIG_NAME).exists() {
            return Err(Error::setup(format!("cannot create {}", dir.display())));
        }
        cache::prune(&root, KEPT)?;
    }
    let config = WrapperConfig::load(&dir)?;
    Ok(Toolchain { wrapper: dir.join(WRAPPER_NAME), key, runner: config.runner.is_some() })
}

/// Builds all parts in `draft`, which will be renamed to `dir`.
fn make(cargo: &Cargo, draft: &Path, dir: &Path, variant: Variant, chained: Option<PathBuf>, own: &[u8]) -> Result<()> {
    write_sources(&draft.join("runtime"), RUNTIME)?;
    rustc(cargo, draft, "perfunit_runtime", &draft.join("runtime/lib.rs"), &[], false)?;
    let runner = variant.runner && make_runner(cargo, draft);
    let macros = make_macros(cargo, draft, variant)?;
    let wrapper = draft.join(WRAPPER_NAME);
    fs::write(&wrapper, own)?;
    fs::make_executable(&wrapper)?;
    let config = WrapperConfig {
        runtime: dir.join("libperfunit_runtime.rlib"),
        runner: runner.then(|| dir.join("libperfunit_runner.rlib")),
        macros: dir.join(macros),
        chained,
    };
    config.save(draft)
}

/// Door 2 needs an unstable interface: a toolchain without it gets door 1 only.
fn make_runner(cargo: &Cargo, draft: &Path) -> bool {
    let made = write_sources(&draft.join("runner"), RUNNER).and_then(|()| {
        let runtime = format!("perfunit_runtime={}", draft.join("libperfunit_runtime.rlib").display());
        rustc(cargo, draft, "perfunit_runner", &draft.join("runner/lib.rs"), &["--extern", &runtime], true)
    });
    made.is_ok()
}

fn rustc(cargo: &Cargo, out: &Path, name: &str, root: &Path, more: &[&str], unstable: bool) -> Result<()> {
    let mut command = Command::new(&cargo.rustc);
    command.args(["--edition", "2021", "--crate-type", "rlib", "--crate-name", name, "--cap-lints", "allow"]);
    // Bitcode, or projects with LTO could not link it.
    command.args(["-C", "opt-level=3", "-C", "embed-bitcode=yes", "-C", "symbol-mangling-version=v0", "-C", "debuginfo=0"]);
    command.arg("--out-dir").arg(out).args(more).arg(root).current_dir(out);
    if unstable {
        command.env("RUSTC_BOOTSTRAP", "1");
    }
    if let Some(name) = &cargo.rustup_toolchain {
        command.env("RUSTUP_TOOLCHAIN", name);
    }
    run(&mut command, name).map(drop)
}

/// Builds the macros and returns the file name of the library.
fn make_macros(cargo: &Cargo, draft: &Path, variant: Variant) -> Result<String> {
    let folder = draft.join("macros");
    write_sources(&folder.join("src"), MACROS)?;
    fs::write(&folder.join("Cargo.toml"), MACROS_MANIFEST)?;
    fs::write(&folder.join("Cargo.lock"), LOCK_FILE)?;
    let attempt = |offline: bool| {
        let mut command = cargo.command();
        for (name, _) in std::env::vars_os() {
            // The project's settings are not for this build.
            let text = name.to_string_lossy();
            let project = ["CARGO_BUILD_", "CARGO_TARGET_", "CARGO_PROFILE_", "CARGO_ENCODED_"].iter().any(|p| text.starts_with(p));
            if project || matches!(&*text, "RUSTFLAGS" | "RUSTC_WRAPPER" | "RUSTC_WORKSPACE_WRAPPER" | "CARGO_MANIFEST_DIR") {
                command.env_remove(&name);
            }
        }
        command.args(["build", "--release", "--quiet", "--target-dir"]).arg(folder.join("target"));
        if offline {
            command.arg("--offline");
        }
        if !variant.opaque {
            command.env("RUSTFLAGS", "--cfg perfunit_transparent");
        }
        run(command.current_dir(&folder), "perfunit-macros")
    };
    // What installed us has usually left syn in cargo's cache.
    attempt(true).or_else(|_| attempt(false)).map_err(|error| {
        error.hint("the first run with a toolchain builds a proc macro and needs crates.io or a filled cargo cache")
    })?;
    let name = format!("{}perfunit_macros{}", std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
    fs::copy(&folder.join("target/release").join(&name), &draft.join(&name))?;
    fs::remove_dir_all(&folder)?;
    Ok(name)
}

fn run(command: &mut Command, what: &str) -> Result<()> {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let child = process::spawn(command)?;
    let output = child.wait_with_output().map_err(|error| Error::setup(format!("cannot build {what}: {error}")))?;
    if output.status.success() {
        return Ok(());
    }
    let stderr = String::from_utf8_lossy(&output.stderr);
    Err(Error::setup(format!("cannot build {what} for this toolchain:\n{}", stderr.trim_end())))
}

fn write_sources(folder: &Path, files: &[EmbeddedFile]) -> Result<()> {
    files.iter().try_for_each(|(name, text)| fs::write(&folder.join(name), text))
}
