//! The executable as cargo's `RUSTC_WORKSPACE_WRAPPER`: captures tests by attribute and by runner, and makes the
//! machine code of two versions comparable.
//!
//! Cargo fingerprints only the wrapper's *path*. Everything that decides what happens here is therefore in a folder
//! named by its content, next to the executable; the environment decides nothing.

use super::compiled_files::note_debug_assertions;
use super::embedded::LIBTEST;
use super::rustc_call::{Call, DebugInformation};
use super::wrapper::{HARNESS_SUFFIX, Inlining, Probes, WRAPPER_NAME, WrapperConfig};
use super::{doctests, link, own_runtime, rustc_call};
use crate::shadow;
use perfunit_model::error::{Error, Result};
use perfunit_system::os::unix::process::CommandExt;
use perfunit_system::{fs, os};
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Runs the role: replaces this process by rustc or the user's wrapper. Returns only on failure.
pub fn wrap(mut arguments: impl Iterator<Item = OsString>) -> Error {
    let Some(rustc) = arguments.next() else {
        return Error::usage(format!("{WRAPPER_NAME} is for internal use by cargo; the first argument must be rustc"));
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
    let mut command = compiler(&config, rustc);
    if !call.compiles() {
        command.args(arguments);
        return Ok(command);
    }
    let debug_information = match config.inlining {
        _ if call.is_build_script() || call.is("proc-macro") => DebugInformation::AsConfigured,
        Inlining::Told => DebugInformation::Linked,
        Inlining::AsBuilt => DebugInformation::of_measured(arguments),
    };
    let kept = kept_arguments(arguments, debug_information);
    let is_bench = (call.cfg_test || call.test) && call.has_root(shadow::is_bench);
    if is_bench {
        let stand_ins = own_runtime::stand_ins(&config, compiler(&config, rustc), &call, &kept)?;
        command.args(with_stand_ins(kept, &stand_ins));
    } else {
        command.args(kept);
    }
    let identity = |name: &str| std::env::var(name).unwrap_or_default();
    let metadata = call.metadata(&identity("CARGO_PKG_NAME"), &identity("CARGO_MANIFEST_DIR"));
    command.args(["-C", &format!("metadata={metadata}"), "-C", "symbol-mangling-version=v0"]);
    // Ignore lints: an old base must build even if it denies warnings and this compiler has new ones.
    command.args(["--cap-lints", "allow"]);
    if !call.is_build_script() {
        // With 16 units, an unrelated edit changes what is inlined elsewhere.
        command.args(["-C", "codegen-units=1"]);
    }
    command.args(debug_information.options());
    if let Some(out_dir) = call.out_dir.as_ref().filter(|_| call.may_have_doc_tests()) {
        let name = format!("{}{}", call.crate_name, call.extra_filename);
        doctests::keep_options(arguments, Path::new(out_dir), &name)?;
    }
    if let Some(out_dir) = &call.out_dir {
        let name = format!("{}{}", call.crate_name, call.extra_filename);
        note_debug_assertions(Path::new(out_dir), &name, call.has_debug_assertions())?;
    }
    if call.links() {
        add_linker(&mut command, folder, &call, arguments);
    }
    let probes = config.probes != Probes::Without && call.carries_probes();
    if probes {
        command.args(["--cfg", shadow::PROBES_CFG]);
        if config.probes == Probes::Counting {
            count_work(&mut command, &config, &call);
        }
    }
    let uses_ours = probes || call.test || call.cfg_test;
    if uses_ours {
        add_our_crates(&mut command, &config, &call)?;
    }
    // A dependency may carry probes, also one of a procedural macro.
    if let Some(folder) = config.runtime.parent().filter(|_| uses_ours || config.probes != Probes::Without) {
        command.arg("-L").arg(format!("dependency={}", folder.display()));
    }
    if is_bench {
        add_libtest(&mut command, &config, &call);
        note_harness(&call, "bench")?;
    } else if call.test && call.has_root(shadow::has_unit_benches) && add_libtest(&mut command, &config, &call) {
        note_harness(&call, "runner and bench")?;
    } else if call.test {
        add_our_runner(&mut command, &config, &call)?;
    }
    for (name, value) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("CARGO_BIN_EXE_")) {
        command.env(name, super::dispatcher::dispatcher_path(Path::new(&value)));
    }
    Ok(command)
}

/// Builds the command for rustc, or for the user's wrapper around it.
fn compiler(config: &WrapperConfig, rustc: &OsStr) -> Command {
    let Some(wrapper) = &config.chained else { return Command::new(rustc) };
    let mut command = Command::new(wrapper);
    command.arg(rustc);
    command
}

/// Replaces the linker by our executable, if the linker is known.
fn add_linker(command: &mut Command, folder: &Path, call: &Call, arguments: &[OsString]) {
    let linker = link::users_linker(arguments).or_else(|| call.default_linker().map(OsString::from));
    if let Some(place) = linker.and_then(|linker| link::place_for(folder, &linker)) {
        // The last option wins. Rustc does not track it, so nothing else depends on it.
        let mut option = OsString::from("linker=");
        option.push(place);
        command.arg("-C").arg(option);
    }
}

/// Instruments each basic block, and the memory functions of a linked program, to count work.
fn count_work(command: &mut Command, config: &WrapperConfig, call: &Call) {
    command.args(["--cfg", shadow::GROWTH_CFG, "--extern", &library("__perfunit_growth", &config.growth)]);
    command.args(["-C", "passes=sancov-module", "-C", "llvm-args=-sanitizer-coverage-level=3"]);
    command.args(["-C", "llvm-args=-sanitizer-coverage-trace-pc"]);
    // A static C library calls these functions before thread-local storage exists, which our counters need.
    if call.links() && !call.is_static() {
        for function in ["memcpy", "memmove", "memset", "memcmp", "bcmp"] {
            // Request our symbols explicitly, so that the linker has them before it reads libraries that use them.
            command.arg("-C").arg(format!("link-arg=-Wl,--wrap={function},-u,__wrap_{function}"));
        }
    }
}

/// Environment variable for our `#[test]` with the names of the tests that it must not change.
const CALLED_WHOLE: &str = "PERFUNIT_CALLED_WHOLE";

/// Adds our crates, and passes on the root being compiled and the tests that the macro must not change.
fn add_our_crates(command: &mut Command, config: &WrapperConfig, call: &Call) -> Result<()> {
    if let Some(input) = &call.input {
        let file = std::path::absolute(input).map_err(|error| Error::setup(error.to_string()))?;
        if let Some(place) = shadow::place_in_tree(&file) {
            command.arg("--cfg").arg(format!("{}=\"{}\"", shadow::ROOT_CFG, shadow::root_key(place)));
        }
    }
    match call.root().and_then(|text| shadow::called_whole(&text)) {
        Some(names) => command.env(CALLED_WHOLE, names),
        None => command.env_remove(CALLED_WHOLE),
    };
    // The crate needs another name, because a project may depend on the published runtime for its attributes.
    command.args(["--extern", &library("__perfunit_runtime", &config.runtime)]);
    command.args(["--extern", &library("perfunit_macros", &config.macros)]);
    Ok(())
}

fn library(name: &str, path: &Path) -> String {
    format!("{name}={}", path.display())
}

fn add_our_runner(command: &mut Command, config: &WrapperConfig, call: &Call) -> Result<()> {
    if let Some(runner) = &config.runner {
        command.env("RUSTC_BOOTSTRAP", "1");
        // A leading `::` means an external crate only since edition 2018.
        let path = if call.edition == "2015" { "perfunit_runner::main" } else { "::perfunit_runner::main" };
        command.arg("-Zcrate-attr=feature(custom_test_frameworks)");
        command.arg(format!("-Zcrate-attr=test_runner({path})"));
        command.args(["--extern", &library("perfunit_runner", runner)]);
    }
    note_harness(call, if config.runner.is_some() { "runner" } else { "libtest" })
}

/// Adds our stand-in for the built-in harness, if there is one. `#[bench]` is unstable.
fn add_libtest(command: &mut Command, config: &WrapperConfig, call: &Call) -> bool {
    let Some(libtest) = config.stand_ins.get(LIBTEST).filter(|_| call.test) else { return false };
    command.env("RUSTC_BOOTSTRAP", "1").args(["--extern", &library(LIBTEST, libtest)]);
    true
}

/// Replaces crates in the arguments by our stand-ins.
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

/// Writes the harness of the tests next to the executable.
fn note_harness(call: &Call, harness: &str) -> Result<()> {
    let Some(out_dir) = &call.out_dir else { return Ok(()) };
    let name = format!("{}{}{HARNESS_SUFFIX}", call.crate_name, call.extra_filename);
    fs::write(&Path::new(out_dir).join(name), harness)
}

/// Returns the arguments without those that we set ourselves.
fn kept_arguments(arguments: &[OsString], debug_information: DebugInformation) -> Vec<&OsStr> {
    let is_dropped = |option: &OsStr| is_ours(rustc_call::split(option), debug_information);
    let asked = rustc_call::arguments(arguments).filter(|argument| !argument.codegen.is_some_and(is_dropped));
    let mut words = asked.flat_map(|argument| argument.words).map(OsString::as_os_str);
    let mut kept = Vec::with_capacity(arguments.len());
    while let Some(word) = words.next() {
        match word.to_str() {
            Some("--cap-lints") => drop(words.next()),
            Some(text) if text.starts_with("--cap-lints=") => {}
            _ => kept.push(word),
        }
    }
    kept
}

fn is_ours((name, value): (&str, &OsStr), debug_information: DebugInformation) -> bool {
    // Symbols are needed to find functions. They are not loaded, so they change nothing.
    let is_debug_info = (name == "strip" && value == "debuginfo") || matches!(name, "debuginfo" | "split-debuginfo");
    (name == "strip" && value == "symbols")
        || (is_debug_info && debug_information != DebugInformation::AsConfigured)
        || matches!(name, "metadata" | "symbol-mangling-version" | "codegen-units")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arguments(line: &str) -> Vec<OsString> {
        line.split_whitespace().map(OsString::from).collect()
    }

    #[test]
    fn our_options_replace_cargos() {
        let line = arguments(
            "--crate-name demo --test -C metadata=abc -C opt-level=3 -Ccodegen-units=16 --cap-lints warn -C strip=symbols",
        );
        let kept: Vec<_> = kept_arguments(&line, DebugInformation::AsConfigured)
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
}
