//! Parses a rustc command line from cargo: the crate, and how it is compiled.

use super::shadow;
use perfunit_project::git::path::is_rust;
use perfunit_system::cache::KeyBuilder;
use perfunit_system::fs;
use perfunit_system::os::unix::ffi::OsStrExt;
use std::ffi::{OsStr, OsString};
use std::path::Path;

/// Relevant parts of a rustc command line.
#[derive(Debug, Default, PartialEq)]
pub struct Call {
    pub crate_name: String,
    pub edition: String,
    pub extra_filename: String,
    pub out_dir: Option<String>,
    /// Root file of the crate.
    pub input: Option<String>,
    pub test: bool,
    pub cfg_test: bool,
    /// Crate types; empty with `--test`.
    types: Vec<String>,
    /// Target triple, unless it is the host's.
    target: Option<String>,
    /// True for a statically linked C library, if specified.
    crt_static: Option<bool>,
    optimizes: bool,
    /// True for enabled debug assertions, if specified.
    debug_assertions: Option<bool>,
    /// Everything that distinguishes two compilations of a crate: types, features, optimization.
    identity: Vec<String>,
}

impl Call {
    pub fn parse(arguments: &[OsString]) -> Self {
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
            } else if call.input.is_none() && !argument.starts_with('-') && is_rust(argument) {
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
            }
        }
        for (name, value) in options(arguments) {
            call.codegen(name, &value.to_string_lossy());
        }
        call.identity.sort();
        call
    }

    fn codegen(&mut self, name: &str, value: &str) {
        match name {
            "target-feature" => {
                for feature in value.split(',').filter(|feature| feature.ends_with("crt-static")) {
                    self.crt_static = Some(feature.starts_with('+'));
                }
            }
            "extra-filename" => value.clone_into(&mut self.extra_filename),
            "debug-assertions" => self.debug_assertions = Some(matches!(value, "" | "y" | "yes" | "on" | "true")),
            "opt-level" | "panic" => {
                self.optimizes = if name == "opt-level" { value != "0" } else { self.optimizes };
                self.identity.push(format!("{name}={value}"));
            }
            _ => {}
        }
    }

    /// Checks whether `cfg(debug_assertions)` holds; the default is true if rustc does not optimize.
    pub fn has_debug_assertions(&self) -> bool {
        self.debug_assertions.unwrap_or(!self.optimizes)
    }

    /// Checks whether the call compiles a crate. Cargo also calls rustc to query the compiler.
    pub fn compiles(&self) -> bool {
        !self.crate_name.is_empty() && self.crate_name != "___"
    }

    pub fn is(&self, kind: &str) -> bool {
        self.types.iter().any(|known| known == kind)
    }

    pub fn is_build_script(&self) -> bool {
        // A library may have such a name.
        self.crate_name.starts_with("build_script_") && self.is("bin")
    }

    pub fn may_have_doc_tests(&self) -> bool {
        ["lib", "rlib", "dylib", "proc-macro"].iter().any(|kind| self.is(kind)) && !self.is_build_script()
    }

    /// Checks whether the crate can be part of a test executable and has the injected line that probes need.
    pub fn carries_probes(&self) -> bool {
        !self.is_build_script() && !self.is("proc-macro") && self.has_root(shadow::has_probes)
    }

    pub fn has_root(&self, is_wanted: fn(&[u8]) -> bool) -> bool {
        self.root().is_some_and(|text| is_wanted(&text))
    }

    /// Reads the text of the crate root.
    pub fn root(&self) -> Option<Vec<u8>> {
        self.input.as_ref().and_then(|input| fs::read(Path::new(input)).ok())
    }

    /// Checks whether the call links a test executable, or a binary or shared library of the workspace.
    pub fn links(&self) -> bool {
        // Cargo passes no type for a test target with its own main, and rustc creates a program.
        let has_own_main = self.cfg_test && self.types.is_empty();
        let is_linked = ["bin", "dylib", "cdylib"].iter().any(|kind| self.is(kind));
        (self.test || has_own_main || is_linked) && !self.is_build_script()
    }

    /// Checks whether the C library is linked statically, which is the default for musl.
    pub fn is_static(&self) -> bool {
        self.crt_static.unwrap_or_else(|| self.target.as_ref().is_some_and(|target| target.contains("musl")))
    }

    /// Returns rustc's default linker; `None` if it is unknown or the target's tests cannot run here.
    pub fn default_linker(&self) -> Option<&'static str> {
        let Some(target) = &self.target else { return Some("cc") };
        let known = ["x86_64", "i686", "aarch64", "armv7", "riscv64gc", "powerpc64le", "s390x", "loongarch64"];
        let (architecture, system) = target.split_once('-')?;
        let is_linux = system.contains("-linux-gnu") || system.contains("-linux-musl");
        (known.contains(&architecture) && is_linux).then_some("cc")
    }

    /// Returns a value for `-C metadata` that does not depend on the package's version. With cargo's value, a version
    /// bump would rename every symbol.
    pub fn metadata(&self, package: &str, manifest_dir: &str) -> String {
        let start = KeyBuilder::default().with(package).with(manifest_dir).with(&self.crate_name).with(if self.test {
            "test"
        } else {
            ""
        });
        self.identity.iter().fold(start, KeyBuilder::with).finish()
    }
}

/// An argument, with the next word if that is the value of a codegen option.
pub(super) struct Argument<'a> {
    pub words: &'a [OsString],
    /// The codegen option of the argument: `name=value`, or only a name.
    pub codegen: Option<&'a OsStr>,
}

/// Splits a command line into arguments, in order.
pub(super) fn arguments(all: &[OsString]) -> impl Iterator<Item = Argument<'_>> {
    let mut rest = all;
    std::iter::from_fn(move || {
        let first = rest.first()?.as_bytes();
        let (length, codegen) = match first {
            b"-C" | b"--codegen" => (rest.len().min(2), rest.get(1).map(OsString::as_os_str)),
            b"-g" => (1, Some(OsStr::new("debuginfo=2"))),
            b"-O" => (1, Some(OsStr::new("opt-level=3"))),
            _ => (1, first.strip_prefix(b"--codegen=").or_else(|| first.strip_prefix(b"-C")).map(OsStr::from_bytes)),
        };
        let (words, after) = rest.split_at(length);
        rest = after;
        Some(Argument { words, codegen })
    })
}

/// Returns names and values of the codegen options, in order. The last value of a name wins.
pub(super) fn options(all: &[OsString]) -> impl Iterator<Item = (&str, &OsStr)> {
    arguments(all).filter_map(|argument| Some(split(argument.codegen?)))
}

/// Splits a codegen option into name and value; the value may be empty.
pub(super) fn split(option: &OsStr) -> (&str, &OsStr) {
    let bytes = option.as_bytes();
    let end = bytes.iter().position(|byte| *byte == b'=').unwrap_or(bytes.len());
    let value = bytes.get(end + 1..).unwrap_or_default();
    (std::str::from_utf8(&bytes[..end]).unwrap_or_default(), OsStr::from_bytes(value))
}

/// Debug information of a crate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DebugInformation {
    /// As in the profile.
    AsConfigured,
    /// In the stored objects only. Linked files have what the profile specifies.
    InObjects,
    /// In the objects and in linked files.
    Linked,
}

impl DebugInformation {
    /// Chooses the debug information of measured builds. Objects get it if the profile has none and the linker strips
    /// that of std; adding it to the executable would make a panic's backtrace longer than in the user's build.
    pub fn of_measured(arguments: &[OsString]) -> Self {
        let (mut is_stripped, mut is_asked) = (false, false);
        for (name, value) in options(arguments) {
            match name {
                "strip" => is_stripped = value != "none",
                "debuginfo" => is_asked = value != "0" && value != "none",
                _ => {}
            }
        }
        if is_stripped && !is_asked { Self::InObjects } else { Self::AsConfigured }
    }

    /// Returns the rustc options for positions and inlining of functions, without variables and types.
    pub fn options(self) -> &'static [&'static str] {
        match self {
            Self::AsConfigured => &[],
            Self::InObjects => &["-C", "debuginfo=limited", "-C", "split-debuginfo=off", "-C", "strip=debuginfo"],
            Self::Linked => &["-C", "debuginfo=limited", "-C", "split-debuginfo=off"],
        }
    }
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
    fn debug_assertions_are_on_where_nothing_says_otherwise_and_nothing_is_optimized() {
        let has = |line: &str| Call::parse(&arguments(&format!("--crate-name demo {line}"))).has_debug_assertions();
        assert!(has("src/lib.rs") && has("-C opt-level=0") && !has("-C opt-level=3") && !has("-O"));
        assert!(has("-C opt-level=3 -C debug-assertions=on") && !has("-C debug-assertions=off"));
        // The later option wins; it comes from `RUSTFLAGS`.
        assert!(has("-C opt-level=3 -C debug-assertions=off -Cdebug-assertions"));
    }

    #[test]
    fn metadata_depends_on_features_but_not_on_cargos_value() {
        let metadata = |line: &str| Call::parse(&arguments(line)).metadata("demo", "/tree");
        let plain = metadata("--crate-name demo --test -C metadata=abc");
        assert_eq!(plain, metadata("--crate-name demo --test -C metadata=def"));
        assert_ne!(plain, metadata("--crate-name demo --test --cfg feature=\"x\""));
        assert_ne!(plain, metadata("--crate-name demo"));
    }

    #[test]
    fn an_option_counts_in_every_spelling() {
        let line = "--test -C a=1 -Cb=x=y --codegen c --codegen=d=2 -g src/lib.rs -O -C";
        let all: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        let found: Vec<_> = options(&all).map(|(name, value)| format!("{name} {}", value.display())).collect();
        assert_eq!(found, ["a 1", "b x=y", "c ", "d 2", "debuginfo 2", "opt-level 3"]);
        let words: Vec<OsString> = super::arguments(&all).flat_map(|argument| argument.words).cloned().collect();
        assert_eq!(words, all);
    }

    #[track_caller]
    fn check(line: &str, expected: DebugInformation) {
        let arguments: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
        assert_eq!(DebugInformation::of_measured(&arguments), expected, "{line}");
    }

    #[test]
    fn objects_get_debug_information_that_the_link_drops_again() {
        check("--crate-name demo -C strip=debuginfo", DebugInformation::InObjects);
        check("--crate-name demo -C debuginfo=0 -Cstrip=symbols", DebugInformation::InObjects);
    }

    #[test]
    fn what_is_linked_stays_what_the_profile_says() {
        check("--crate-name demo -C opt-level=3", DebugInformation::AsConfigured);
        check("--crate-name demo -C debuginfo=2 -C strip=debuginfo", DebugInformation::AsConfigured);
        check("--crate-name demo -C strip=debuginfo -Cdebuginfo=line-tables-only", DebugInformation::AsConfigured);
        check("--crate-name demo -g -C strip=debuginfo", DebugInformation::AsConfigured);
        check("--crate-name demo -C strip=debuginfo -C strip=none", DebugInformation::AsConfigured);
    }
}
