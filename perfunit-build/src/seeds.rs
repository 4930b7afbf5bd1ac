//! Gives both processes of a pair the same random numbers, different ones in each pair, and hides that they are pinned.
//!
//! Hash maps, `rand` and property tests get random numbers from the kernel. A preloaded library replaces the kernel's
//! answers by a stream from the pair's seed (see `perfunit-seeds`), so that both sides do the same work. If it cannot
//! be loaded, each process gets its own random numbers, and pairs are noisier.
//!
//! The same library hides that measured processes are pinned to one core.

use super::TestExecutable;
use object::Endianness;
use object::elf::{FileHeader64, PT_INTERP};
use object::read::elf::{FileHeader, ProgramHeader};
use perfunit_model::{OwnRandomNumbers, TargetId, Warning};
use perfunit_runtime::page::{CLOCK_VARIABLE, CORES_VARIABLE, PRELOAD_VARIABLE, SEED_VARIABLE, STREAM_VARIABLE};
use perfunit_system::os::unix::ffi::OsStrExt;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::io::Read;
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};

/// Property tests store failing cases in files next to the sources and start with them. A file written by one process
/// of a pair would change the others. Setting the variable to any value disables that.
const NO_PROPTEST_FILES: &str = "PROPTEST_DISABLE_FAILURE_PERSISTENCE";

/// Length of a program's beginning that contains its headers.
const HEADERS: u64 = 4096;

/// Seed of a pair, or `None` for processes with their own random numbers.
pub type Seed = Option<NonZeroU64>;

/// File name of the library that also replaces the clock. It is next to the one that does not.
pub const CLOCK_LIBRARY: &str = "libperfunit_clock.so";

/// Clock of a measured process.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum TestClock {
    /// The real clock.
    #[default]
    True,
    /// The real clock, with its readings counted.
    Counted,
    /// A clock that advances by this many nanoseconds with each reading.
    Stepped(NonZeroU64),
}

/// Libraries that give processes their seed and clock.
#[derive(Debug, Default)]
pub struct Seeds {
    library: Option<PathBuf>,
    /// The library that also replaces the clock.
    with_clock: Option<PathBuf>,
}

impl Seeds {
    /// Uses this library if it exists and the dynamic linker can load its path.
    pub fn new(library: Option<PathBuf>) -> Self {
        let library = library.filter(|path| is_loadable(path));
        let with_clock = library.as_ref().map(|library| library.with_file_name(CLOCK_LIBRARY));
        Self { library, with_clock: with_clock.filter(|path| path.exists()) }
    }

    /// Checks whether dynamically linked programs get a seed.
    pub fn are_given(&self) -> bool {
        self.library.is_some()
    }

    /// Returns the variables to add to `environment`. They have the same length for both processes of a pair and for
    /// all pairs. `cores` are the cores to report, if they differ from what the process would find.
    pub fn variables(
        &self,
        seed: Seed,
        clock: TestClock,
        cores: Option<&str>,
        environment: &BTreeMap<OsString, OsString>,
    ) -> Vec<(&'static str, OsString)> {
        let mut variables = vec![(NO_PROPTEST_FILES, OsString::from("1"))];
        let with_clock = self.with_clock.as_ref().filter(|_| clock != TestClock::True && seed.is_some());
        let Some(library) = with_clock.or(self.library.as_ref()) else { return variables };
        if seed.is_some() || cores.is_some() {
            let mut libraries = library.clone().into_os_string();
            if let Some(theirs) = environment.get(&OsString::from(PRELOAD_VARIABLE)).filter(|theirs| !theirs.is_empty())
            {
                libraries.push(":");
                libraries.push(theirs);
            }
            variables.push((PRELOAD_VARIABLE, libraries));
        }
        if let Some(seed) = seed {
            variables.push((SEED_VARIABLE, format!("{seed:016x}").into()));
            variables.push((STREAM_VARIABLE, "0".repeat(16).into()));
            if with_clock.is_some() {
                let step = if let TestClock::Stepped(step) = clock { step.get() } else { 0 };
                variables.push((CLOCK_VARIABLE, format!("{step:016x}").into()));
            }
        }
        variables.extend(cores.map(|cores| (CORES_VARIABLE, cores.into())));
        variables
    }

    /// Returns a warning if some of these programs get their own random numbers.
    pub fn shortcoming<'a>(&self, programs: impl IntoIterator<Item = &'a TestExecutable>) -> Option<Warning> {
        let fixed = programs.into_iter().filter(|program| !self.are_given() || !is_dynamic(&program.path));
        let targets: BTreeSet<&TargetId> = fixed.map(|program| &program.target).collect();
        let why = if self.are_given() { OwnRandomNumbers::LinkedStatically } else { OwnRandomNumbers::NoLibrary };
        let targets: Vec<TargetId> = targets.into_iter().cloned().collect();
        (!targets.is_empty()).then_some(Warning::OwnRandomNumbers { targets, why })
    }
}

/// Checks whether libraries can be preloaded into a program. Returns false only if it is known to be linked statically.
pub fn is_dynamic(program: &Path) -> bool {
    let mut bytes = Vec::new();
    let Ok(file) = std::fs::File::open(program) else { return true };
    if file.take(HEADERS).read_to_end(&mut bytes).is_err() {
        return true;
    }
    interpreter(&bytes).unwrap_or(true)
}

/// Checks whether a program names a dynamic linker; `None` if it cannot be parsed.
fn interpreter(bytes: &[u8]) -> Option<bool> {
    let header = FileHeader64::<Endianness>::parse(bytes).ok()?;
    let endian = header.endian().ok()?;
    let segments = header.program_headers(endian, bytes).ok()?;
    Some(segments.iter().any(|segment| segment.p_type(endian) == PT_INTERP))
}

/// Checks whether the dynamic linker can load a path. Colons and spaces separate paths, and a dollar sign starts a name
/// that it replaces.
pub fn is_loadable(path: &Path) -> bool {
    !path.as_os_str().as_bytes().iter().any(|byte| b": \t\n$".contains(byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(library: &str, seed: u64, theirs: Option<&str>, expected: &[&str]) {
        let seeds = Seeds::new(Some(library.into()));
        let environment = theirs.map(|theirs| (PRELOAD_VARIABLE.into(), theirs.into())).into_iter().collect();
        let variables = seeds.variables(NonZeroU64::new(seed), TestClock::True, None, &environment);
        let variables: Vec<String> =
            variables.into_iter().map(|(name, value)| format!("{name}={}", value.to_string_lossy())).collect();
        assert_eq!(variables[0], "PROPTEST_DISABLE_FAILURE_PERSISTENCE=1");
        let stream = (!expected.is_empty()).then_some("PERFUNIT_STREAM=0000000000000000");
        let expected: Vec<&str> = expected.iter().copied().chain(stream).collect();
        assert_eq!(variables[1..], expected);
    }

    #[test]
    fn our_library_stands_before_the_users() {
        check("/a/seeds.so", 0xab, None, &["LD_PRELOAD=/a/seeds.so", "PERFUNIT_SEED=00000000000000ab"]);
        check("/a/seeds.so", 1, Some(""), &["LD_PRELOAD=/a/seeds.so", "PERFUNIT_SEED=0000000000000001"]);
        let both = "LD_PRELOAD=/a/seeds.so:/b/theirs.so /b/more.so";
        check("/a/seeds.so", 1, Some("/b/theirs.so /b/more.so"), &[both, "PERFUNIT_SEED=0000000000000001"]);
    }

    #[test]
    fn the_library_with_the_clock_stands_in_the_place_of_the_other() {
        let (library, with_clock) = (Some("/a/seeds.so".into()), Some("/a/clock.so".into()));
        let check = |clock, expected: &[&str]| {
            let seeds = Seeds { library: library.clone(), with_clock: with_clock.clone() };
            let variables = seeds.variables(NonZeroU64::new(1), clock, None, &BTreeMap::new());
            let of = |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| value.clone());
            let found: Vec<OsString> = [PRELOAD_VARIABLE, CLOCK_VARIABLE].into_iter().filter_map(of).collect();
            assert_eq!(found, expected);
        };
        check(TestClock::True, &["/a/seeds.so"]);
        check(TestClock::Counted, &["/a/clock.so", "0000000000000000"]);
        check(TestClock::Stepped(NonZeroU64::new(255).unwrap()), &["/a/clock.so", "00000000000000ff"]);
        assert!(Seeds::new(Some("/nowhere/seeds.so".into())).with_clock.is_none());
    }

    #[test]
    fn a_process_without_a_seed_is_told_of_cores() {
        let variables = |library: &str| {
            let variables =
                Seeds::new(Some(library.into())).variables(None, TestClock::True, Some("3,1,2"), &BTreeMap::new());
            variables.into_iter().skip(1).collect::<Vec<_>>()
        };
        assert_eq!(
            variables("/a/seeds.so"),
            [("LD_PRELOAD", "/a/seeds.so".into()), ("PERFUNIT_CORES", "3,1,2".into())]
        );
        assert_eq!(variables("/a b/seeds.so"), []);
    }

    #[test]
    fn without_a_seed_or_a_path_that_can_be_told_nothing_is_loaded() {
        check("/a/seeds.so", 0, Some("/b/theirs.so"), &[]);
        check("/a b/seeds.so", 1, None, &[]);
        check("/a:b/seeds.so", 1, None, &[]);
        assert!(!Seeds::default().are_given());
    }

    #[test]
    fn only_what_names_a_dynamic_linker_can_be_given_a_seed() {
        let own = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        let mut headers = own[..HEADERS as usize].to_vec();
        assert_eq!(interpreter(&headers), Some(true));
        // The type is the first field of a segment's 56 bytes. The segments follow the file's header.
        for segment in headers[64..].chunks_mut(56).take(4).filter(|segment| segment[..4] == [3, 0, 0, 0]) {
            segment[0] = 4;
        }
        assert_eq!(interpreter(&headers), Some(false));
        assert_eq!(interpreter(b"#!/bin/sh"), None);
        assert!(is_dynamic(Path::new("/nowhere")));
    }
}
