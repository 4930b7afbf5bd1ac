//! The executable as cargo's `RUSTC_WORKSPACE_WRAPPER`: has test crates captured by attribute and by runner, and makes the machine code of
//! two versions comparable.
//!
//! Cargo fingerprints only the wrapper's *path*. So everything that decides what happens here lies beside the
//! executable, in a folder named by its content; the environment decides nothing.

use super::debug_information::DebugInformation;
use super::embedded::LIBTEST;
use super::wrapper::{HARNESS_SUFFIX, Inlining, Probes, WRAPPER_NAME, WrapperConfig};
use super::{doctests, link};
use crate::build::shadow;
use crate::error::{Error, Result};
use crate::system::cache::KeyBuilder;
use crate::system::fs;
use crate::system::os;
use crate::system::os::unix::process::CommandExt;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The role's main: becomes rustc (or the user's wrapper). Returns only on failure.
pub fn wrap(mut arguments: impl Iterator<Item = OsString>) -> Error {
    let Some(rustc) = arguments.next() else {
        return Error::usage(format!("{WRAPPER_NAME} is called by cargo, with rustc as its first argument"));
    };
    let arguments: Vec<OsString> = arguments.collect();
    match prepare(&rustc, &arguments) {
        Ok(mut command) => {
            let _ = os::die_with_parent();
            Error::setup(format!("cannot start rustc: {}", command.exec()))
        }
        Err(error) => error,
    }
}

fn prepare(rustc: &OsStr, arguments: &[OsString]) -> Result<Command> {
    let executable = std::env::current_exe().map_err(|error| Error::setup(error.to_string()))?;
    let folder = executable.parent().unwrap_or(Path::new("/"));
    let config = WrapperConfig::load(folder)?;
    let call = Call::parse(arguments);
    let mut command = match &config.chained {
        Some(wrapper) => {
            let mut command = Command::new(wrapper);
            command.arg(rustc);
            command
        }
        None => Command::new(rustc),
    };
    if !call.compiles() {
        command.args(arguments);
        return Ok(command);
    }
    let debug_information = match config.inlining {
        _ if call.is_build_script() || call.is("proc-macro") => DebugInformation::AsAsked,
        Inlining::Told => DebugInformation::Linked,
        Inlining::AsBuilt => DebugInformation::of_measured(arguments),
    };
    let kept = kept_arguments(arguments, debug_information);
    let is_bench = (call.cfg_test || call.test) && call.has_root(shadow::is_bench);
    if is_bench {
        command.args(with_stand_ins(kept, &config.stand_ins));
    } else {
        command.args(kept);
    }
    let identity = |name: &str| std::env::var(name).unwrap_or_default();
    let metadata = call.metadata(&identity("CARGO_PKG_NAME"), &identity("CARGO_MANIFEST_DIR"));
    command.args(["-C", &format!("metadata={metadata}"), "-C", "symbol-mangling-version=v0"]);
    // Lints are not our business: an old base must build although this compiler has new ones and it denies warnings.
    command.args(["--cap-lints", "allow"]);
    if !call.is_build_script() {
        // With 16 units an unrelated edit changes what is inlined elsewhere.
        command.args(["-C", "codegen-units=1"]);
    }
    command.args(debug_information.options());
    if let Some(out_dir) = call.out_dir.as_ref().filter(|_| call.may_have_doc_tests()) {
        let name = format!("{}{}", call.crate_name, call.extra_filename);
        doctests::keep_options(arguments, Path::new(out_dir), &name)?;
    }
    if call.links() {
        let linker = link::users_linker(arguments).or_else(|| call.default_linker().map(OsString::from));
        if let Some(place) = linker.and_then(|linker| link::place_for(folder, &linker)) {
            // The last one counts. rustc does not track it, so that nothing else depends on it.
            let mut option = OsString::from("linker=");
            option.push(place);
            command.arg("-C").arg(option);
        }
    }
    let probes = config.probes != Probes::Without && call.carries_probes();
    if probes {
        command.args(["--cfg", shadow::PROBES_CFG]);
        if config.probes == Probes::Counting {
            count_work(&mut command, &config, &call);
        }
    }
    if probes || call.test || call.cfg_test {
        add_our_crates(&mut command, &config, &call)?;
    }
    if is_bench {
        add_libtest(&mut command, &config, &call);
        call.note_harness("bench")?;
    } else if call.test {
        add_our_runner(&mut command, &config, &call)?;
    }
    for (name, value) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("CARGO_BIN_EXE_")) {
        command.env(name, super::dispatch_role::dispatcher_path(Path::new(&value)));
    }
    Ok(command)
}

/// Has each basic block call us, and what moves, sets or compares bytes of a linked program.
fn count_work(command: &mut Command, config: &WrapperConfig, call: &Call) {
    command.args(["--cfg", shadow::GROWTH_CFG, "--extern", &library("__perfunit_growth", &config.growth)]);
    command.args(["-C", "passes=sancov-module", "-C", "llvm-args=-sanitizer-coverage-level=3"]);
    command.args(["-C", "llvm-args=-sanitizer-coverage-trace-pc"]);
    // A static C library calls these before threads have memory of their own, which ours count in.
    if call.links() && !call.is_static() {
        for function in ["memcpy", "memmove", "memset", "memcmp", "bcmp"] {
            // Asked for, so that the linker has ours before it comes to libraries that want it.
            command.arg("-C").arg(format!("link-arg=-Wl,--wrap={function},-u,__wrap_{function}"));
        }
    }
}

/// Makes our crates known, and tells the injected lines which root is compiled.
fn add_our_crates(command: &mut Command, config: &WrapperConfig, call: &Call) -> Result<()> {
    if let Some(input) = &call.input {
        let file = std::path::absolute(input).map_err(|error| Error::setup(error.to_string()))?;
        if let Some(place) = shadow::place_in_tree(&file) {
            command.arg("--cfg").arg(format!("{}=\"{}\"", shadow::ROOT_CFG, shadow::root_key(place)));
        }
    }
    // Not by its own name: a crate may depend on the published runtime, for the attributes.
    command.args(["--extern", &library("__perfunit_runtime", &config.runtime)]);
    command.args(["--extern", &library("perfunit_macros", &config.macros)]);
    // Where the runtime is found that a dependency with probes names.
    if let Some(folder) = config.runtime.parent() {
        command.arg("-L").arg(format!("dependency={}", folder.display()));
    }
    Ok(())
}

fn library(name: &str, path: &Path) -> String {
    format!("{name}={}", path.display())
}

fn add_our_runner(command: &mut Command, config: &WrapperConfig, call: &Call) -> Result<()> {
    if let Some(runner) = &config.runner {
        command.env("RUSTC_BOOTSTRAP", "1");
        // A leading `::` means an external crate only since 2018.
        let path = if call.edition == "2015" { "perfunit_runner::main" } else { "::perfunit_runner::main" };
        command.arg("-Zcrate-attr=feature(custom_test_frameworks)");
        command.arg(format!("-Zcrate-attr=test_runner({path})"));
        command.args(["--extern", &library("perfunit_runner", runner)]);
    }
    call.note_harness(if config.runner.is_some() { "runner" } else { "libtest" })
}

/// Gives a bench target with the built-in harness our stand-in of that; `#[bench]` is unstable.
fn add_libtest(command: &mut Command, config: &WrapperConfig, call: &Call) {
    if let Some(libtest) = config.stand_ins.get(LIBTEST).filter(|_| call.test) {
        command.env("RUSTC_BOOTSTRAP", "1").args(["--extern", &library(LIBTEST, libtest)]);
    }
}

/// Arguments with our stand-ins in the place of the crates that they stand for.
fn with_stand_ins(arguments: Vec<&OsStr>, stand_ins: &BTreeMap<String, PathBuf>) -> Vec<OsString> {
    let stand_in = |argument: &OsStr| {
        let (name, _) = argument.to_str()?.split_once('=')?;
        Some(OsString::from(library(name, stand_ins.get(name)?)))
    };
    let mut after_extern = false;
    let replaced = arguments.into_iter().map(|argument| {
        let is_crate = std::mem::replace(&mut after_extern, argument == "--extern");
        stand_in(argument).filter(|_| is_crate).unwrap_or_else(|| argument.to_owned())
    });
    replaced.collect()
}

/// The parts of a rustc command line that matter here.
#[derive(Debug, Default, PartialEq)]
struct Call {
    crate_name: String,
    edition: String,
    extra_filename: String,
    out_dir: Option<String>,
    /// The crate's root file.
    input: Option<String>,
    test: bool,
    cfg_test: bool,
    /// The crate's types; none with `--test`.
    types: Vec<String>,
    /// The triple, unless it is the compiler's own.
    target: Option<String>,
    /// Whether the C library is linked statically, if that is said.
    crt_static: Option<bool>,
    /// Everything that tells two compilations of one crate apart: types, features, optimisation.
    identity: Vec<String>,
}

impl Call {
    fn parse(arguments: &[OsString]) -> Self {
        let mut call = Call { edition: "2015".to_owned(), ..Call::default() };
        let text: Vec<_> = arguments.iter().map(|argument| argument.to_string_lossy()).collect();
        let mut rest = text.iter().map(AsRef::as_ref).peekable();
        while let Some(argument) = rest.next() {
            let mut value = |flag: &str| match argument.strip_prefix(flag)? {
                "" => rest.peek().map(|next: &&str| (*next).to_owned()),
                inline => inline.strip_prefix('=').map(str::to_owned),
            };
            if argument == "--test" {
                call.test = true;
            } else if call.input.is_none()
                && !argument.starts_with('-')
                && Path::new(argument).extension().is_some_and(|end| end == "rs")
            {
                call.input = Some(argument.to_owned());
            } else if let Some(name) = value("--crate-name") {
                call.crate_name = name;
            } else if let Some(edition) = value("--edition") {
                call.edition = edition;
            } else if let Some(dir) = value("--out-dir") {
                call.out_dir = Some(dir);
            } else if let Some(kind) = value("--crate-type") {
                call.identity.push(format!("type {kind}"));
                call.types.push(kind);
            } else if let Some(cfg) = value("--cfg") {
                call.cfg_test |= cfg == "test";
                call.identity.push(format!("cfg {cfg}"));
            } else if let Some(target) = value("--target") {
                call.identity.push(format!("target {target}"));
                call.target = Some(target);
            } else if let Some(option) = value("-C").or_else(|| {
                argument.strip_prefix("-Ctarget-feature=").map(|features| format!("target-feature={features}"))
            }) {
                if let Some(features) = option.strip_prefix("target-feature=") {
                    for feature in features.split(',').filter(|feature| feature.ends_with("crt-static")) {
                        call.crt_static = Some(feature.starts_with('+'));
                    }
                } else if let Some(name) = option.strip_prefix("extra-filename=") {
                    name.clone_into(&mut call.extra_filename);
                } else if option.starts_with("opt-level") || option.starts_with("panic") {
                    call.identity.push(option);
                }
            }
        }
        call.identity.sort();
        call
    }

    /// False for cargo's questions about the compiler.
    fn compiles(&self) -> bool {
        !self.crate_name.is_empty() && self.crate_name != "___"
    }

    fn is(&self, kind: &str) -> bool {
        self.types.iter().any(|known| known == kind)
    }

    fn is_build_script(&self) -> bool {
        self.crate_name.starts_with("build_script_")
    }

    fn may_have_doc_tests(&self) -> bool {
        ["lib", "rlib", "dylib", "proc-macro"].iter().any(|kind| self.is(kind)) && !self.is_build_script()
    }

    /// True for what can become part of a test executable, and has the injected line that the probes need.
    fn carries_probes(&self) -> bool {
        !self.is_build_script() && !self.is("proc-macro") && self.has_root(shadow::has_probes)
    }

    fn has_root(&self, is_wanted: fn(&[u8]) -> bool) -> bool {
        let root = self.input.as_ref().and_then(|input| fs::read(Path::new(input)).ok());
        root.is_some_and(|text| is_wanted(&text))
    }

    /// Leaves beside the executable who drives its tests.
    fn note_harness(&self, harness: &str) -> Result<()> {
        let Some(out_dir) = &self.out_dir else { return Ok(()) };
        let name = format!("{}{}{HARNESS_SUFFIX}", self.crate_name, self.extra_filename);
        fs::write(&Path::new(out_dir).join(name), harness)
    }

    /// True for test executables, and for the workspace's binaries and shared libraries.
    fn links(&self) -> bool {
        // Cargo names no type for a test target with a main of its own: rustc makes a program of it.
        let has_own_main = self.cfg_test && self.types.is_empty();
        let is_linked = ["bin", "dylib", "cdylib"].iter().any(|kind| self.is(kind));
        (self.test || has_own_main || is_linked) && !self.is_build_script()
    }

    /// Whether the C library is linked statically: by default where it is musl.
    fn is_static(&self) -> bool {
        self.crt_static.unwrap_or_else(|| self.target.as_ref().is_some_and(|target| target.contains("musl")))
    }

    /// The linker that rustc takes by itself; None for targets of which we do not know it, or cannot run the tests.
    fn default_linker(&self) -> Option<&'static str> {
        let Some(target) = &self.target else { return Some("cc") };
        let known = ["x86_64", "i686", "aarch64", "armv7", "riscv64gc", "powerpc64le", "s390x", "loongarch64"];
        let (architecture, system) = target.split_once('-')?;
        let is_linux = system.contains("-linux-gnu") || system.contains("-linux-musl");
        (known.contains(&architecture) && is_linux).then_some("cc")
    }

    /// Independent of the package's version, which cargo's own value is not: a version bump would rename every symbol.
    fn metadata(&self, package: &str, manifest_dir: &str) -> String {
        let start = KeyBuilder::default().with(package).with(manifest_dir).with(&self.crate_name).with(if self.test {
            "test"
        } else {
            ""
        });
        self.identity.iter().fold(start, KeyBuilder::with).finish()
    }
}

/// The arguments without those that we set ourselves.
fn kept_arguments(arguments: &[OsString], debug_information: DebugInformation) -> Vec<&OsStr> {
    let mut kept = Vec::with_capacity(arguments.len());
    let mut rest = arguments.iter().map(OsString::as_os_str);
    while let Some(argument) = rest.next() {
        let text = argument.to_string_lossy();
        match &*text {
            "-C" => {
                let Some(value) = rest.next() else { break };
                if !is_ours(&value.to_string_lossy(), debug_information) {
                    kept.extend([argument, value]);
                }
            }
            "--cap-lints" => {
                rest.next();
            }
            _ if text.strip_prefix("-C").is_some_and(|option| is_ours(option, debug_information)) => {}
            _ if text.starts_with("--cap-lints=") => {}
            _ => kept.push(argument),
        }
    }
    kept
}

fn is_ours(codegen_option: &str, debug_information: DebugInformation) -> bool {
    let name = codegen_option.split('=').next().unwrap_or_default();
    // Without symbols nobody could tell where a function is; they are not loaded, so they change nothing.
    let is_debug_info = codegen_option == "strip=debuginfo" || matches!(name, "debuginfo" | "split-debuginfo");
    codegen_option == "strip=symbols"
        || (is_debug_info && debug_information != DebugInformation::AsAsked)
        || matches!(name, "metadata" | "symbol-mangling-version" | "codegen-units")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arguments(line: &str) -> Vec<OsString> {
        line.split_whitespace().map(OsString::from).collect()
    }

    #[test]
    fn a_test_call_is_understood_in_both_spellings() {
        let line = "--crate-name demo --edition=2021 src/lib.rs --cfg feature=\"std\" --test -C opt-level=3 -C metadata=abc -C extra-filename=-1f --out-dir /t/deps";
        let call = Call::parse(&arguments(line));
        assert_eq!((call.crate_name.as_str(), call.edition.as_str()), ("demo", "2021"));
        assert_eq!((call.test, call.cfg_test, call.extra_filename.as_str()), (true, false, "-1f"));
        assert_eq!(call.out_dir.as_deref(), Some("/t/deps"));
        assert_eq!(call.input.as_deref(), Some("src/lib.rs"));
        assert_eq!(call.identity, ["cfg feature=\"std\"", "opt-level=3"]);
    }

    #[test]
    fn questions_about_the_compiler_pass_through() {
        assert!(!Call::parse(&arguments("-vV")).compiles());
        assert!(!Call::parse(&arguments("- --crate-name ___ --print=file-names")).compiles());
    }

    #[test]
    fn executables_are_linked_by_our_stand_in() {
        let links = |line: &str| Call::parse(&arguments(line)).links();
        assert!(links("--crate-name demo --test src/lib.rs"));
        assert!(links("--crate-name demo --crate-type bin src/main.rs"));
        assert!(links("--crate-name own_harness --cfg test tests/own_harness.rs"));
        assert!(links("--crate-name engine --crate-type lib --crate-type cdylib src/lib.rs"));
        assert!(!links("--crate-name demo --crate-type lib src/lib.rs"));
        assert!(!links("--crate-name demo --crate-type=proc-macro src/lib.rs"));
        assert!(!links("--crate-name build_script_build --crate-type bin build.rs"));
    }

    #[test]
    fn the_default_linker_is_known_for_common_targets() {
        let linker = |line: &str| Call::parse(&arguments(line)).default_linker();
        assert_eq!(linker("--crate-name demo"), Some("cc"));
        assert_eq!(linker("--crate-name demo --target x86_64-unknown-linux-musl"), Some("cc"));
        assert_eq!(linker("--crate-name demo --target=armv7-unknown-linux-gnueabihf"), Some("cc"));
        assert_eq!(linker("--crate-name demo --target x86_64-unknown-none"), None);
        assert_eq!(linker("--crate-name demo --target spec.json"), None);
    }

    #[test]
    fn a_static_c_library_is_seen() {
        let is_static = |line: &str| Call::parse(&arguments(line)).is_static();
        assert!(is_static("--crate-name demo -C target-feature=+avx2,+crt-static"));
        assert!(is_static("--crate-name demo --target x86_64-unknown-linux-musl"));
        assert!(!is_static("--crate-name demo --target x86_64-unknown-linux-musl -Ctarget-feature=-crt-static"));
        assert!(!is_static("--crate-name demo -C target-feature=+avx2"));
    }

    #[test]
    fn our_options_replace_cargos() {
        let line = arguments(
            "--crate-name demo --test -C metadata=abc -C opt-level=3 -Ccodegen-units=16 --cap-lints warn -C strip=symbols",
        );
        let kept: Vec<_> = kept_arguments(&line, DebugInformation::AsAsked)
            .into_iter()
            .map(|a| a.to_string_lossy().into_owned())
            .collect();
        assert_eq!(kept.join(" "), "--crate-name demo --test -C opt-level=3");
    }

    #[test]
    fn only_crates_with_a_stand_in_are_replaced() {
        let line =
            arguments("--crate-name criterion=x --extern criterion=/deps/libcriterion-1.rlib --extern serde=/s.rlib");
        let stand_ins = BTreeMap::from([("criterion".to_owned(), PathBuf::from("/ours.rlib"))]);
        let replaced = with_stand_ins(line.iter().map(OsString::as_os_str).collect(), &stand_ins);
        assert_eq!(
            replaced,
            arguments("--crate-name criterion=x --extern criterion=/ours.rlib --extern serde=/s.rlib")
        );
    }

    #[test]
    fn metadata_depends_on_features_but_not_on_cargos_value() {
        let metadata = |line: &str| Call::parse(&arguments(line)).metadata("demo", "/tree");
        let plain = metadata("--crate-name demo --test -C metadata=abc");
        assert_eq!(plain, metadata("--crate-name demo --test -C metadata=def"));
        assert_ne!(plain, metadata("--crate-name demo --test --cfg feature=\"x\""));
        assert_ne!(plain, metadata("--crate-name demo"));
    }
}
