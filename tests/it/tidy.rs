//! Rules for the sources. Each failure names the file that breaks the rule.

use crate::house::{House, is_test};
use crate::support::repository_root;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::LazyLock;

const LONGEST_FUNCTION: usize = 80;
/// Largest number of the tool's crates.
const MOST_CRATES: usize = 12;

/// Files in which system calls, shared memory and threads need `unsafe`.
const MAY_BE_UNSAFE: [&str; 33] = [
    "perfunit-select/src/trace/available.rs",
    "perfunit-select/src/trace/run.rs",
    "perfunit-project/src/git/discover.rs",
    "perfunit-measure/src/call_trees.rs",
    "perfunit-measure/src/shared_memory.rs",
    "perfunit-measure/src/starts.rs",
    "perfunit-measure/src/work_tables.rs",
    "perfunit-system/src/os/linux.rs",
    "perfunit-system/src/os/ptrace.rs",
    "perfunit-system/src/os/tracer.rs",
    "perfunit-runtime/preload/meter/src/lib.rs",
    "perfunit-runtime/growth/counter.rs",
    "perfunit-runtime/src/cage.rs",
    "perfunit-runtime/src/clock.rs",
    "perfunit-runtime/src/gauges.rs",
    "perfunit-runtime/src/growth.rs",
    "perfunit-runtime/src/memory.rs",
    "perfunit-runtime/src/pages.rs",
    "perfunit-runtime/src/preload_interface.rs",
    "perfunit-runtime/src/probe/arena.rs",
    "perfunit-runtime/src/probe/future.rs",
    "perfunit-runtime/src/probe/ticks.rs",
    "perfunit-runtime/src/serve.rs",
    "perfunit-runtime/src/serve/seat.rs",
    "perfunit-runtime/src/streams.rs",
    "perfunit-runtime/src/sys.rs",
    "perfunit-runtime/stand-ins/divan/alloc.rs",
    "perfunit-runtime/preload/seeds/src/clock.rs",
    "perfunit-runtime/preload/seeds/src/lib.rs",
    "perfunit-runtime/preload/seeds/src/kernel.rs",
    "perfunit-runtime/preload/seeds/src/libc.rs",
    "perfunit-runtime/preload/seeds/src/waits.rs",
    "perfunit-runtime/dispatcher/lib.rs",
];

/// All tracked files by path from the root. They are read once for all rules.
static TRACKED: LazyLock<BTreeMap<String, String>> = LazyLock::new(|| {
    let root = repository_root();
    let repository = git2::Repository::open(&root).expect("the tests run in a clone");
    let index = repository.index().unwrap();
    let paths = index.iter().map(|entry| String::from_utf8(entry.path).unwrap());
    // Symbolic links lead to files that are listed themselves; files that are being removed no longer exist.
    let is_file = |path: &String| root.join(path).symlink_metadata().is_ok_and(|data| data.is_file());
    paths.filter(is_file).filter_map(|path| Some((path.clone(), fs::read_to_string(root.join(path)).ok()?))).collect()
});

/// Returns the Rust files of our crates and tests.
fn sources() -> BTreeMap<&'static str, &'static str> {
    let ours = |path: &str| !path.starts_with("examples/") && !path.starts_with("tests/fixtures/");
    let is_rust = |path: &str| Path::new(path).extension().is_some_and(|extension| extension == "rs");
    let all = TRACKED.iter().map(|(path, text)| (path.as_str(), text.as_str()));
    all.filter(|(path, _)| ours(path) && is_rust(path)).collect()
}

/// Returns the numbered lines of a file without its unit tests and comments.
fn code(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let lines = text.lines().enumerate().map(|(number, line)| (number + 1, line));
    lines
        .take_while(|(_, line)| !line.starts_with("#[cfg(test)]"))
        .filter(|(_, line)| !line.trim_start().starts_with("//"))
}

#[track_caller]
fn none(broken: impl IntoIterator<Item = String>, rule: &str) {
    let broken: Vec<String> = broken.into_iter().collect();
    assert!(broken.is_empty(), "{rule}:\n{}", broken.join("\n"));
}

/// The parsed sources. Parsing takes most of the time of a rule, so it is done once for all.
static HOUSE: LazyLock<House> = LazyLock::new(|| {
    let house = House::read(&repository_root());
    assert!(house.crates.len() > 5 && house.functions.len() > 1000, "the sources were not found");
    house
});

#[test]
fn a_module_uses_only_modules_above_it() {
    let upwards = HOUSE.upwards().into_iter().map(|(from, to)| format!("{from} uses {to}")).collect::<Vec<_>>();
    none(upwards, "a module may only use modules above it in lib.rs");
}

#[test]
fn crates_are_few() {
    let crates = &HOUSE.crates;
    assert!(crates.len() <= MOST_CRATES, "{} crates are too many: {crates:?}", crates.len());
}

#[test]
fn files_have_no_circular_dependencies() {
    let files = HOUSE.circles.iter().flatten();
    none(files.cloned(), "files must not depend on each other in a circle");
}

#[test]
fn functions_are_short() {
    let long = HOUSE.functions.iter().filter(|function| function.lines > LONGEST_FUNCTION);
    none(long.map(|function| function.place.clone()), "functions must have at most 80 lines");
}

#[test]
fn errors_have_types() {
    let texts = HOUSE.text_errors.iter().map(|error| error.0.clone());
    none(texts, "errors must be types, not strings");
}

#[test]
fn only_commands_use_reports() {
    let may =
        |path: &str| ["perfunit-report/", "cargo-perfunit/src/cli/"].iter().any(|folder| path.starts_with(folder));
    let others = sources().into_iter().filter(|(path, _)| !may(path) && !is_test(path));
    let uses = others.flat_map(|(path, text)| {
        let uses = code(text).filter(|(_, line)| line.contains("perfunit_report"));
        uses.map(|(number, line)| format!("{path}:{number}: {}", line.trim())).collect::<Vec<_>>()
    });
    none(uses, "only commands and `perfunit-report` may format reports");
}

#[test]
fn only_the_terminal_prints() {
    let mut broken = Vec::new();
    for (path, text) in sources() {
        let may =
            path == "perfunit-system/src/term.rs" || path.starts_with("perfunit-runtime/runner/") || is_test(path);
        // A build script prints for cargo. The tables of the simulation are a test of their own, which runs on request.
        if may || path.ends_with("/build.rs") || path == "perfunit-decide/src/simulation.rs" {
            continue;
        }
        for (number, line) in code(text) {
            if ["println!", "eprintln!", "print!", "eprint!", "dbg!"].iter().any(|name| calls(line, name)) {
                broken.push(format!("{path}:{number}: {}", line.trim()));
            }
        }
    }
    none(broken, "print only through term.rs");
}

#[test]
fn temporary_files_have_unpredictable_names() {
    let others = sources().into_iter().filter(|(path, _)| *path != "perfunit-system/src/fs.rs" && !is_test(path));
    let broken = others.flat_map(|(path, text)| {
        let uses = code(text).filter(|(_, line)| line.contains("temp_dir()"));
        uses.map(|(number, line)| format!("{path}:{number}: {}", line.trim())).collect::<Vec<_>>()
    });
    none(broken, "use fs::temporary_dir, because other users share the temporary folder");
}

/// Returns whether the line calls the macro, not only in a string or as part of a longer name.
fn calls(line: &str, name: &str) -> bool {
    line.match_indices(name).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        !before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == '`' || c == '"')
    })
}

#[test]
fn unsafe_stays_where_it_is_needed_and_says_why_it_is_sound() {
    let mut broken = Vec::new();
    for (path, text) in sources() {
        // Tests of the macros contain source code as strings.
        if is_test(path) {
            continue;
        }
        let lines: Vec<&str> = text.lines().collect();
        for (number, line) in lines.iter().enumerate() {
            let line = line.trim_start();
            if line.starts_with("//") || !opens_unsafe(line) {
                continue;
            }
            if !MAY_BE_UNSAFE.contains(&path) {
                broken.push(format!("{path}:{}: unsafe in another file", number + 1));
            }
            // The comment is above the statement, which may span a few lines.
            let above = &lines[number.saturating_sub(6)..number];
            if !above.iter().any(|line| line.contains("SAFETY:") || line.contains("# Safety")) {
                broken.push(format!("{path}:{}: without SAFETY", number + 1));
            }
        }
    }
    none(broken, "unsafe code must be in a listed file and have a SAFETY comment");
}

/// Returns whether an unsafe block, function or implementation begins in the line.
fn opens_unsafe(line: &str) -> bool {
    // `is_unsafe {` is a condition.
    let opens = |start: &&str| {
        let before = |at| line[..at].chars().next_back();
        line.match_indices(start).any(|(at, _)| !matches!(before(at), Some('_' | '"')))
    };
    ["unsafe {", "unsafe fn ", "unsafe impl "].iter().any(opens) || line.contains("unsafe extern")
}

#[test]
fn no_file_names_a_folder_of_a_developers_machine() {
    let mut broken = Vec::new();
    for (path, text) in TRACKED.iter() {
        for (number, line) in text.lines().enumerate() {
            let names = ["/ro\u{6f}t/", "/w\u{6f}rk/", "/h\u{6f}me/"].iter().any(|folder| starts_path(line, folder));
            if names {
                broken.push(format!("{path}:{}: {}", number + 1, line.trim()));
            }
        }
    }
    none(broken, "sources must not contain paths of a developer's machine");
}

/// Returns whether the folder is the beginning of an absolute path.
fn starts_path(line: &str, folder: &str) -> bool {
    line.match_indices(folder).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        !before.is_some_and(|c| c.is_alphanumeric() || "._-/~}$*".contains(c))
    })
}

#[test]
fn every_relative_link_leads_somewhere() {
    let root = repository_root();
    let mut broken = Vec::new();
    for (path, text) in TRACKED.iter().filter(|(path, _)| Path::new(path).extension().is_some_and(|e| e == "md")) {
        let folder = root.join(path).parent().unwrap().to_owned();
        for link in text.split("](").skip(1).filter_map(|rest| rest.split([')', ' ', '#']).next()) {
            let elsewhere = link.is_empty() || link.contains("://") || link.starts_with("mailto:");
            if !elsewhere && !folder.join(link).exists() {
                broken.push(format!("{path}: {link}"));
            }
        }
    }
    none(broken, "relative links in documents must lead to a file");
}

#[test]
fn every_file_of_an_embedded_crate_is_embedded() {
    let sources = sources();
    let embedded = sources["perfunit-build/src/embedded.rs"];
    let mut broken = Vec::new();
    for (list, folder) in [
        ("RUNTIME", "perfunit-runtime/src/"),
        ("GROWTH", "perfunit-runtime/growth/"),
        ("RUNNER", "perfunit-runtime/runner/"),
        ("SEEDS", "perfunit-runtime/preload/seeds/src/"),
        ("METER", "perfunit-runtime/preload/meter/src/"),
        ("DISPATCHER", "perfunit-runtime/dispatcher/"),
        ("MACROS", "perfunit-macros/src/"),
    ] {
        let start = embedded.find(&format!("pub const {list}:")).unwrap_or_else(|| panic!("no {list} in embedded.rs"));
        let list = embedded[start..].split(';').next().unwrap();
        let files =
            sources.keys().filter_map(|path| path.strip_prefix(folder)).filter(|file| !is_test(&format!("/{file}")));
        broken
            .extend(files.filter(|file| !list.contains(&format!("\"{file}\""))).map(|file| format!("{folder}{file}")));
    }
    none(broken, "embedded.rs must list every file, or the build of the embedded crates fails");
}

#[test]
fn the_harness_reads_documents_of_the_version_that_the_tool_writes() {
    let sources = sources();
    let version = |path: &str, constant: &str| {
        let line = sources[path].lines().find(|line| line.contains(constant));
        let line = line.unwrap_or_else(|| panic!("no {constant} in {path}"));
        line.rsplit(' ').next().unwrap().trim_end_matches(';').parse::<u32>().unwrap()
    };
    let (read, written) = ("perfunit-runtime/harness/tool.rs", "perfunit-report/src/wire.rs");
    assert_eq!(
        version(read, "const SCHEMA: "),
        version(written, "const SCHEMA_VERSION: "),
        "{read} understands another version than {written} writes"
    );
}
