//! Parts that are built once per toolchain and stored in the user's cache: runtime, runner, seeds, meter, dispatcher,
//! macros, wrapper.

use super::dispatcher::{Dispatcher, NoDispatcher};
use super::embedded::{
    DISPATCHER, EmbeddedFile, GROWTH, LOCK_FILE, MACROS, MACROS_MANIFEST, METER, RUNNER, RUNTIME, SEEDS, STAND_INS,
};
use super::wrapper::{CONFIG_NAME, Inlining, Probes, WRAPPER_NAME, WrapperConfig};
use perfunit_model::error::{Error, Result};
use perfunit_project::cargo::{Cargo, make_absolute};
use perfunit_system::cache::{self, KeyBuilder};
use perfunit_system::fs;
use perfunit_system::interrupt;
use perfunit_system::process;
use perfunit_system::progress::Progress;
use perfunit_system::term::Terminal;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// Number of folders to keep in each part of the cache.
const KEPT: usize = 8;
/// Minimum age of folders to remove, because another run may use a newer one.
const SPARED: Duration = Duration::from_hours(24);
const RUNTIME_LIBRARY: &str = "libperfunit_runtime.rlib";
const GROWTH_LIBRARY: &str = "libperfunit_growth.rlib";
const RUNNER_LIBRARY: &str = "libperfunit_runner.rlib";
const SEEDS_LIBRARY: &str = "libperfunit_seeds.so";
const METER_LIBRARY: &str = "libperfunit_meter.so";
const DISPATCHER_NAME: &str = "perfunit_dispatcher";
/// File with the error of a failed build of the dispatcher.
const NO_DISPATCHER: &str = "perfunit_dispatcher.failed";
/// Projects with LTO can only link libraries with bitcode.
const RLIB: [&str; 6] = ["--crate-type", "rlib", "-C", "embed-bitcode=yes", "-C", "symbol-mangling-version=v0"];
/// Preloaded libraries do without std, which would have to be loaded too.
const PRELOADED: [&str; 4] = ["--crate-type", "cdylib", "-C", "panic=abort"];
/// Options for a static program without libc.
#[rustfmt::skip]
const FREESTANDING: [&str; 12] = [
    "--crate-type", "bin", "-C", "panic=abort", "-C", "relocation-model=static", "-C", FREESTANDING_FEATURES,
    "-C", "link-arg=-nostartfiles", "-C", "strip=symbols",
];
/// Atomic operations are inline, because the functions for them ask libc for features of the processor.
#[cfg(target_arch = "aarch64")]
const FREESTANDING_FEATURES: &str = "target-feature=+crt-static,-outline-atomics";
#[cfg(not(target_arch = "aarch64"))]
const FREESTANDING_FEATURES: &str = "target-feature=+crt-static";

/// Differences between the parts for one compiler.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Variant {
    /// True to capture tests by our runner too; false if a crate does not build with it.
    pub runner: bool,
    /// Instrumentation of functions.
    pub probes: Probes,
    /// Inlining information in executables.
    pub inlining: Inlining,
}

#[derive(Debug, Clone)]
pub struct Toolchain {
    /// Our executable in the role of the rustc workspace wrapper. Its path identifies everything that it does.
    pub wrapper: PathBuf,
    /// Key of the content of all parts.
    pub key: String,
    /// Library that gives both processes of a pair the same random numbers; `None` if it could not be built.
    pub seeds: Option<PathBuf>,
    /// Library that counts allocations; `None` if it could not be built.
    pub meter: Option<PathBuf>,
    /// Program that stands in for the packages' binaries; `None` if it could not be built.
    pub dispatcher: Dispatcher,
}

/// Returns the parts for this toolchain, building them on first use.
///
/// There are two folders: the libraries depend on their sources and the compiler; the wrapper also depends on our
/// executable. A new version of the tool need not rebuild the macros.
pub fn prepare(cargo: &Cargo, cache: &Path, variant: Variant, terminal: Terminal) -> Result<Toolchain> {
    let libraries = libraries(cargo, &cache.join("libraries"), terminal)?;
    let executable = process::own_executable()?;
    let chained = std::env::var_os("RUSTC_WORKSPACE_WRAPPER").filter(|value| !value.is_empty());
    let chained = chained.map(|wrapper| make_absolute(Path::new(&wrapper)));
    let key = KeyBuilder::default()
        .with_file(&executable)?
        .with(libraries.as_os_str().as_encoded_bytes())
        .with(chained.as_deref().map_or(&[][..], |wrapper| wrapper.as_os_str().as_encoded_bytes()))
        .with(cargo.sysroot.as_os_str().as_encoded_bytes())
        .with(serde_json::to_vec(&(variant.runner, variant.probes, variant.inlining)).unwrap_or_default())
        .finish();
    let dir = once(&cache.join("wrappers"), &key, CONFIG_NAME, |draft| {
        let wrapper = draft.join(WRAPPER_NAME);
        fs::copy(&executable, &wrapper)?;
        fs::make_executable(&wrapper)?;
        let runner = Some(libraries.join(RUNNER_LIBRARY)).filter(|runner| variant.runner && runner.exists());
        let config = WrapperConfig {
            runtime: libraries.join(RUNTIME_LIBRARY),
            runner: runner.clone(),
            macros: libraries.join(macros_library()),
            growth: libraries.join(GROWTH_LIBRARY),
            stand_ins: stand_ins(&libraries),
            chained: chained.clone(),
            sysroot: cargo.sysroot.clone(),
            probes: variant.probes,
            inlining: variant.inlining,
        };
        config.save(draft)
    })?;
    // Report a damaged folder once here, and not in every rustc call.
    WrapperConfig::load(&dir)?;
    let [seeds, meter] =
        [SEEDS_LIBRARY, METER_LIBRARY].map(|name| Some(libraries.join(name)).filter(|library| library.exists()));
    let dispatcher = match fs::read_if_exists(&libraries.join(NO_DISPATCHER))? {
        Some(why) => Err(NoDispatcher(String::from_utf8_lossy(&why).into_owned())),
        None => Ok(libraries.join(DISPATCHER_NAME)),
    };
    Ok(Toolchain { wrapper: dir.join(WRAPPER_NAME), key, seeds, meter, dispatcher })
}

/// Returns the folder with runtime, runner, seeds, meter and macros for this compiler.
fn libraries(cargo: &Cargo, root: &Path, terminal: Terminal) -> Result<PathBuf> {
    let key = sources_key().with(LOCK_FILE).with(&cargo.version).finish();
    once(root, &key, &macros_library(), |draft| {
        let progress = Progress::spinner(terminal, "Preparing");
        progress.message(format!("the runtime for {} (once per toolchain)", cargo.rustc_release()));
        // The macros take longest, so build them in parallel.
        std::thread::scope(|scope| {
            let macros = scope.spawn(|| make_macros(cargo, draft));
            let others = make_libraries(cargo, draft);
            let macros = macros.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            others.and(macros)
        })?;
        for (name, sources) in STAND_INS {
            // Without it, targets with that harness keep their own.
            optional(make_stand_in(cargo, draft, name, sources))?;
        }
        Ok(())
    })
}

/// Ignores a failure, unless Ctrl-C caused it, because the result is cached permanently.
fn optional(made: Result<()>) -> Result<()> {
    made.or_else(|_| interrupt::check())
}

fn make_libraries(cargo: &Cargo, draft: &Path) -> Result<()> {
    compile(&mut rustc(cargo, draft, "perfunit_runtime", &RLIB), draft, "perfunit_runtime", RUNTIME)?;
    // Without it, pairs are noisier.
    optional(compile(&mut rustc(cargo, draft, "perfunit_seeds", &PRELOADED), draft, "perfunit_seeds", SEEDS))?;
    // Without it, tests that run by the clock are not recognized.
    let with_clock = [&PRELOADED[..], &["--cfg", "feature=\"clock\""]].concat();
    optional(compile(&mut rustc(cargo, draft, "perfunit_clock", &with_clock), draft, "perfunit_clock", SEEDS))?;
    // Without it, allocations cannot be counted.
    optional(compile(&mut rustc(cargo, draft, "perfunit_meter", &PRELOADED), draft, "perfunit_meter", METER))?;
    // Without it, packages with tests that start their binaries cannot be measured.
    let dispatcher = &mut rustc(cargo, draft, DISPATCHER_NAME, &FREESTANDING);
    if let Err(error) = compile(dispatcher, draft, DISPATCHER_NAME, DISPATCHER) {
        interrupt::check()?;
        fs::write(&draft.join(NO_DISPATCHER), error.to_string())?;
    }
    // The runner needs an unstable interface. If the toolchain lacks it, tests are captured by attribute only.
    optional(make_runner(cargo, draft))?;
    make_growth(cargo, draft)
}

fn sources_key() -> KeyBuilder {
    let parts = [RUNTIME, GROWTH, RUNNER, SEEDS, METER, DISPATCHER, MACROS]
        .into_iter()
        .chain(STAND_INS.map(|(_, sources)| sources));
    parts.flatten().fold(KeyBuilder::default(), |key, (name, text)| key.with(name).with(text))
}

/// Returns the stand-ins. Each is in its own folder, because in a common search path rustc could find one in place of
/// another crate.
fn stand_ins(libraries: &Path) -> BTreeMap<String, PathBuf> {
    let library = |name: &str| libraries.join(name).join(format!("lib{name}.rlib"));
    let all = STAND_INS.map(|(name, _)| (name.to_owned(), library(name)));
    all.into_iter().filter(|(_, library)| library.exists()).collect()
}

fn make_stand_in(cargo: &Cargo, draft: &Path, name: &str, sources: &[EmbeddedFile]) -> Result<()> {
    let folder = draft.join(name);
    write_sources(&folder, sources)?;
    let library = |name: &str, file: &str| format!("{name}={}", draft.join(file).display());
    let runtime = library("perfunit_runtime", RUNTIME_LIBRARY);
    let macros = library("perfunit_macros", &macros_library());
    let crates = ["--extern", &runtime, "--extern", &macros];
    let mut command = rustc(cargo, &folder, name, &[&RLIB[..], &crates].concat());
    run(command.arg(folder.join("lib.rs")), name)
}

/// Returns a key of everything that goes into test executables and measured processes. Another version of the tool
/// cannot use them.
pub fn parts_key() -> String {
    sources_key().finish()
}

/// Returns the folder `key` of `root`, creating it once. `make` must write the file `last` at the end.
fn once(root: &Path, key: &str, last: &str, make: impl FnOnce(&Path) -> Result<()>) -> Result<PathBuf> {
    cache::private_dir(root)?;
    cache::trust(root)?;
    let dir = root.join(key);
    let existing = || -> Result<bool> {
        if !dir.join(last).exists() {
            return Ok(false);
        }
        cache::trust(&dir)?;
        cache::touch(&dir);
        Ok(true)
    };
    if existing()? {
        return Ok(dir);
    }
    // Waiting for a process that creates the folder takes less than creating it twice at the same time.
    let _lock = cache::lock(&fs::with_ending(root, ".lock"))?;
    if existing()? {
        return Ok(dir);
    }
    cache::prune(root, KEPT, SPARED)?;
    let draft = root.join(format!("{key}.{}", std::process::id()));
    cache::private_dir(&draft)?;
    if let Err(error) = make(&draft) {
        let _ = fs::remove_dir_all(&draft);
        return Err(error);
    }
    // Where files cannot be locked, another process may have created the same folder meanwhile.
    if fs::rename(&draft, &dir).is_err() {
        let _ = fs::remove_dir_all(&draft);
        if !existing()? {
            return Err(Error::setup(format!("cannot create {}", dir.display())));
        }
    }
    Ok(dir)
}

fn macros_library() -> String {
    format!("{}perfunit_macros{}", std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX)
}

fn make_runner(cargo: &Cargo, draft: &Path) -> Result<()> {
    let runtime = format!("perfunit_runtime={}", draft.join(RUNTIME_LIBRARY).display());
    let mut command = rustc(cargo, draft, "perfunit_runner", &[&RLIB[..], &["--extern", &runtime]].concat());
    compile(command.env("RUSTC_BOOTSTRAP", "1"), draft, "perfunit_runner", RUNNER)
}

/// Builds the growth library as one unit, so that a linker that needs one of its symbols includes all.
fn make_growth(cargo: &Cargo, draft: &Path) -> Result<()> {
    let runtime = format!("perfunit_runtime={}", draft.join(RUNTIME_LIBRARY).display());
    let options = [&RLIB[..], &["-C", "codegen-units=1", "--extern", &runtime]].concat();
    compile(&mut rustc(cargo, draft, "perfunit_growth", &options), draft, "perfunit_growth", GROWTH)
}

/// Builds the rustc command for one of our crates, except its root file.
fn rustc(cargo: &Cargo, out_dir: &Path, name: &str, more: &[&str]) -> Command {
    let mut command = Command::new(&cargo.rustc);
    command.args(["--edition", "2021", "--crate-name", name, "--cap-lints", "allow"]);
    command.args(["-C", "opt-level=3", "-C", "debuginfo=0"]);
    command.arg("--out-dir").arg(out_dir).args(more).current_dir(out_dir);
    if let Some(name) = &cargo.rustup_toolchain {
        command.env("RUSTUP_TOOLCHAIN", name);
    }
    command
}

/// Compiles a crate. Its sources are written to a folder named like the crate without `perfunit`.
fn compile(rustc: &mut Command, draft: &Path, name: &str, sources: &[EmbeddedFile]) -> Result<()> {
    let folder = draft.join(name.trim_start_matches("perfunit_"));
    write_sources(&folder, sources)?;
    run(rustc.arg(folder.join("lib.rs")), name)
}

fn make_macros(cargo: &Cargo, draft: &Path) -> Result<()> {
    let folder = draft.join("macros");
    write_sources(&folder.join("src"), MACROS)?;
    fs::write(&folder.join("Cargo.toml"), MACROS_MANIFEST)?;
    fs::write(&folder.join("Cargo.lock"), LOCK_FILE)?;
    let attempt = |offline: bool| {
        let mut command = cargo.command();
        for (name, _) in std::env::vars_os() {
            // The project's settings do not apply to this build.
            let text = name.to_string_lossy();
            let project = ["CARGO_BUILD_", "CARGO_TARGET_", "CARGO_PROFILE_", "CARGO_ENCODED_"]
                .iter()
                .any(|p| text.starts_with(p));
            if project
                || matches!(&*text, "RUSTFLAGS" | "RUSTC_WRAPPER" | "RUSTC_WORKSPACE_WRAPPER" | "CARGO_MANIFEST_DIR")
            {
                command.env_remove(&name);
            }
        }
        command.args(["build", "--release", "--quiet", "--target-dir"]).arg(folder.join("target"));
        if offline {
            command.arg("--offline");
        }
        run(command.current_dir(&folder), "perfunit-macros")
    };
    // Installing cargo-perfunit usually leaves syn in cargo's cache.
    attempt(true).or_else(|error| if cargo.offline { Err(error) } else { attempt(false) }).map_err(|error| {
        error.hint("the first run with a toolchain builds a proc macro, which needs access to crates.io or a filled cargo cache")
    })?;
    let built = fs::read(&folder.join("target/release").join(macros_library()))?;
    fs::remove_dir_all(&folder)?;
    fs::write_atomically(&draft.join(macros_library()), built)
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
