//! Rules that the sources keep. Each says which file breaks it.

use crate::support::repository_root;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// Files may be that long; a function hardly ever needs more room.
const LONGEST_FILE: usize = 600;

/// Rooms in which no file uses one that uses it, directly or by way of others.
const WITHOUT_CIRCLES: [&str; 3] = ["explain", "select", "session"];

/// Where system calls, shared memory and threads make `unsafe` necessary.
const MAY_BE_UNSAFE: [&str; 24] = [
    "cargo-perfunit/src/build/made.rs",
    "cargo-perfunit/src/doctor/counters.rs",
    "cargo-perfunit/src/select/trace/available.rs",
    "cargo-perfunit/src/select/trace/ptrace.rs",
    "cargo-perfunit/src/select/trace/run.rs",
    "cargo-perfunit/src/git/discover.rs",
    "cargo-perfunit/src/measure/call_trees.rs",
    "cargo-perfunit/src/measure/common_pages.rs",
    "cargo-perfunit/src/measure/inheritance.rs",
    "cargo-perfunit/src/measure/running.rs",
    "cargo-perfunit/src/measure/shared_page.rs",
    "cargo-perfunit/src/system/process.rs",
    "cargo-perfunit/src/system/term.rs",
    "perfunit-meter/src/lib.rs",
    "perfunit-runtime/src/gauges.rs",
    "perfunit-runtime/src/memory.rs",
    "perfunit-runtime/src/pages.rs",
    "perfunit-runtime/src/probe/arena.rs",
    "perfunit-runtime/src/probe/future.rs",
    "perfunit-runtime/src/probe/ticks.rs",
    "perfunit-runtime/src/serve.rs",
    "perfunit-runtime/src/streams.rs",
    "perfunit-runtime/src/sys.rs",
    "perfunit-seeds/src/lib.rs",
];

/// All files that git knows or would take, by path from the root.
fn tracked() -> BTreeMap<String, String> {
    let root = repository_root();
    let repository = git2::Repository::open(&root).expect("the tests run in a clone");
    let index = repository.index().unwrap();
    let paths = index.iter().map(|entry| String::from_utf8(entry.path).unwrap());
    // Symbolic links lead to files that are in the list by themselves; files being removed are not there any more.
    let is_file = |path: &String| root.join(path).symlink_metadata().is_ok_and(|data| data.is_file());
    paths.filter(is_file).filter_map(|path| Some((path.clone(), fs::read_to_string(root.join(path)).ok()?))).collect()
}

/// The Rust files of our crates and tests.
fn sources() -> BTreeMap<String, String> {
    let ours = |path: &str| !path.starts_with("examples/") && !path.starts_with("tests/fixtures/");
    let is_rust = |path: &str| Path::new(path).extension().is_some_and(|extension| extension == "rs");
    tracked().into_iter().filter(|(path, _)| ours(path) && is_rust(path)).collect()
}

/// The numbered lines of a file without its unit tests and its comments.
fn code(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let lines = text.lines().enumerate().map(|(number, line)| (number + 1, line));
    lines
        .take_while(|(_, line)| !line.starts_with("#[cfg(test)]"))
        .filter(|(_, line)| !line.trim_start().starts_with("//"))
}

/// True for files that hold tests only.
fn is_test(path: &str) -> bool {
    path.starts_with("tests/") || path.contains("/tests/") || path.ends_with("/tests.rs")
}

#[track_caller]
fn none(broken: impl IntoIterator<Item = String>, rule: &str) {
    let broken: Vec<String> = broken.into_iter().collect();
    assert!(broken.is_empty(), "{rule}:\n{}", broken.join("\n"));
}

#[test]
fn a_module_uses_only_modules_above_it() {
    let sources = sources();
    let library = &sources["cargo-perfunit/src/lib.rs"];
    let order: Vec<&str> =
        library.lines().filter_map(|line| line.strip_prefix("pub mod ")?.strip_suffix(';')).collect();
    assert!(order.len() > 10, "the modules of lib.rs were not found");
    let place = |module: &str| order.iter().position(|known| *known == module);
    let mut broken = Vec::new();
    for (path, text) in &sources {
        let Some(inside) = path.strip_prefix("cargo-perfunit/src/") else { continue };
        let module = inside.split(['/', '.']).next().unwrap();
        let Some(own) = place(module) else { continue };
        for (number, line) in text.lines().enumerate() {
            for used in line.split("crate::").skip(1) {
                for name in heads(used) {
                    if place(name).is_some_and(|used| used > own) {
                        broken.push(format!("{path}:{}: {module} uses {name}", number + 1));
                    }
                }
            }
        }
    }
    none(broken, "the order of the modules in lib.rs is the pipeline");
}

/// The modules that a path after `crate::` begins with: one, or those in the braces.
fn heads(path: &str) -> Vec<&str> {
    let head = |part: &'static str, text: &str| text.starts_with(part);
    if head("{", path) {
        return path[1..].split([',', '}']).map(|part| part.trim().split("::").next().unwrap_or_default()).collect();
    }
    path.split(|c: char| !c.is_alphanumeric() && c != '_').take(1).collect()
}

#[test]
fn no_file_uses_one_of_its_room_that_uses_it() {
    let sources = sources();
    let mut broken = Vec::new();
    for room in WITHOUT_CIRCLES {
        let uses = uses_inside(&sources, room);
        assert!(uses.values().any(|used| !used.is_empty()), "no file of {room} uses another one");
        for file in uses.keys() {
            let mut reached = BTreeSet::new();
            let mut open: Vec<&String> = uses[file].iter().collect();
            while let Some(next) = open.pop() {
                if reached.insert(next) {
                    open.extend(&uses[next]);
                }
            }
            if reached.contains(file) {
                broken.push(format!("{room}/{file}"));
            }
        }
    }
    none(broken, "circles of files cannot be read one after the other");
}

/// By file or folder of a room: the others of the room that its code names.
fn uses_inside(sources: &BTreeMap<String, String>, room: &str) -> BTreeMap<String, BTreeSet<String>> {
    let folder = format!("cargo-perfunit/src/{room}/");
    let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (path, text) in sources {
        let Some(inside) = path.strip_prefix(&folder).filter(|inside| *inside != "mod.rs" && !is_test(path)) else {
            continue;
        };
        let own = inside.split(['/', '.']).next().unwrap();
        let code: String = code(text).map(|(_, line)| line.trim()).collect();
        // In a folder of the room `super` is that folder.
        let by_super = if inside.contains('/') { None } else { Some("super::".to_owned()) };
        let used = found.entry(own.to_owned()).or_default();
        for prefix in by_super.into_iter().chain([format!("crate::{room}::")]) {
            let paths = code.split(&prefix).skip(1).map(|rest| rest.split(';').next().unwrap());
            used.extend(paths.flat_map(heads).filter(|name| *name != own).map(str::to_owned));
        }
    }
    let files: BTreeSet<String> = found.keys().cloned().collect();
    for used in found.values_mut() {
        used.retain(|name| files.contains(name));
    }
    found
}

#[test]
fn only_the_terminal_prints() {
    let mut broken = Vec::new();
    for (path, text) in sources() {
        let may = path == "cargo-perfunit/src/system/term.rs"
            || path.starts_with("perfunit-runtime/runner/")
            || is_test(&path);
        // The tables of the simulation are asked for by name: it is a test of its own.
        if may || path == "cargo-perfunit/src/decide/simulation.rs" {
            continue;
        }
        for (number, line) in code(&text) {
            if ["println!", "eprintln!", "print!", "eprint!", "dbg!"].iter().any(|name| calls(line, name)) {
                broken.push(format!("{path}:{number}: {}", line.trim()));
            }
        }
    }
    none(broken, "results and notes go through term.rs");
}

#[test]
fn temporary_files_have_names_that_nobody_can_foresee() {
    let others = sources().into_iter().filter(|(path, _)| path != "cargo-perfunit/src/system/fs.rs" && !is_test(path));
    let broken = others.flat_map(|(path, text)| {
        let uses = code(&text).filter(|(_, line)| line.contains("temp_dir()"));
        uses.map(|(number, line)| format!("{path}:{number}: {}", line.trim())).collect::<Vec<_>>()
    });
    none(broken, "the temporary folder is shared with others: take fs::temporary_dir");
}

/// True if the line calls the macro, and not only has it in a string or as part of a longer name.
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
        // Tests of the macros hold source text.
        if is_test(&path) {
            continue;
        }
        let lines: Vec<&str> = text.lines().collect();
        for (number, line) in lines.iter().enumerate() {
            let line = line.trim_start();
            if line.starts_with("//") || !opens_unsafe(line) {
                continue;
            }
            if !MAY_BE_UNSAFE.contains(&path.as_str()) {
                broken.push(format!("{path}:{}: unsafe in another file", number + 1));
            }
            // The comment stands above the statement, which may span a few lines.
            let above = &lines[number.saturating_sub(6)..number];
            if !above.iter().any(|line| line.contains("SAFETY:") || line.contains("# Safety")) {
                broken.push(format!("{path}:{}: without SAFETY", number + 1));
            }
        }
    }
    none(broken, "unsafe code is rare and argued for");
}

/// True if an unsafe block, function or implementation begins in the line.
fn opens_unsafe(line: &str) -> bool {
    ["unsafe {", "unsafe fn ", "unsafe impl "]
        .iter()
        .any(|start| line.contains(start) && !line.contains(&format!("\"{start}")))
        || line.contains("unsafe extern")
}

#[test]
fn no_file_is_too_long() {
    let length = |text: &str| text.lines().count();
    let long = sources().into_iter().filter(|(_, text)| length(text) > LONGEST_FILE);
    none(long.map(|(path, text)| format!("{path}: {} lines", length(&text))), "one concept fits into one file");
}

#[test]
fn no_file_names_a_folder_of_somebodys_machine() {
    let mut broken = Vec::new();
    for (path, text) in tracked() {
        for (number, line) in text.lines().enumerate() {
            let names = ["/ro\u{6f}t/", "/w\u{6f}rk/", "/h\u{6f}me/"].iter().any(|folder| starts_path(line, folder));
            if names {
                broken.push(format!("{path}:{}: {}", number + 1, line.trim()));
            }
        }
    }
    none(broken, "paths of a machine mean nothing on another one");
}

/// True if the folder is the beginning of an absolute path.
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
    for (path, text) in tracked().into_iter().filter(|(path, _)| Path::new(path).extension().is_some_and(|e| e == "md"))
    {
        let folder = root.join(&path).parent().unwrap().to_owned();
        for link in text.split("](").skip(1).filter_map(|rest| rest.split([')', ' ', '#']).next()) {
            let elsewhere = link.is_empty() || link.contains("://") || link.starts_with("mailto:");
            if !elsewhere && !folder.join(link).exists() {
                broken.push(format!("{path}: {link}"));
            }
        }
    }
    none(broken, "links in documents must not break");
}

#[test]
fn every_file_of_an_embedded_crate_is_embedded() {
    let sources = sources();
    let embedded = &sources["cargo-perfunit/src/build/embedded.rs"];
    let mut broken = Vec::new();
    for (list, folder) in [
        ("RUNTIME", "perfunit-runtime/src/"),
        ("RUNNER", "perfunit-runtime/runner/"),
        ("SEEDS", "perfunit-seeds/src/"),
        ("METER", "perfunit-meter/src/"),
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
