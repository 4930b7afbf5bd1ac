//! Reads the sources of a checkout: crates, rooms, arrows between rooms, circles, sizes.
//!
//! Input: the folder of a checkout. Output: a [`House`] for the rules in `tests/it/tidy.rs` and the benchmark `house`.
//!
//! A *room* is a module in the `lib.rs` of a crate with ordered modules; an *arrow* leads from a room to one that it
//! uses, through re-exports. Between crates, cargo enforces the order. Test code has neither arrows nor sizes.

#![allow(dead_code, reason = "rules and figures use their own parts")]

mod arrows;
mod functions;

use arrows::Module;
pub use functions::{Function, TextError};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// Sources of crates with modules ordered by data flow in `lib.rs`.
const ORDERED: [&str; 2] = ["perfunit-project/src/", "cargo-perfunit/src/"];
/// Folders of code that goes into test executables.
const IN_TESTS: [&str; 4] = ["perfunit-macros/", "perfunit-meter/", "perfunit-runtime/", "perfunit-seeds/"];

/// Figures of a checkout's sources.
#[derive(Debug, Default)]
pub struct House {
    /// Crates of the tool, by folder.
    pub crates: BTreeSet<String>,
    /// Modules of the ordered crates, in the order of each `lib.rs`.
    pub rooms: Vec<String>,
    /// Files of product code by path from the root, with their number of lines outside of tests.
    pub product: BTreeMap<String, usize>,
    /// Number of lines of tests, including unit tests.
    pub test_lines: usize,
    /// Functions of product code.
    pub functions: Vec<Function>,
    /// `Result<_, String>` in product code.
    pub text_errors: Vec<TextError>,
    /// Type names of product code, with the number of types of each name.
    pub types: BTreeMap<String, usize>,
    /// Number of uses from one room to another of the same crate.
    pub arrows: BTreeMap<(String, String), usize>,
    /// Groups of files of one crate that depend on each other.
    pub circles: Vec<BTreeSet<String>>,
    /// Number of words in the documents.
    pub words: usize,
}

impl House {
    /// Reads a checkout.
    pub fn read(root: &Path) -> Self {
        let mut house = Self::default();
        let mut crates: BTreeMap<&str, Vec<Module>> = BTreeMap::new();
        let paths = files(root, Path::new(""));
        let roots: Vec<&str> = paths.iter().filter_map(|path| path.strip_suffix("lib.rs")).collect();
        let only_tested: Vec<String> = paths.iter().flat_map(|path| modules_of_tests(root, path)).collect();
        let is_test = |path: &str| {
            let is_below =
                |folder: &String| path.strip_prefix(folder.as_str()).is_some_and(|rest| rest.starts_with(['.', '/']));
            is_test(path) || only_tested.iter().any(is_below)
        };
        for path in &paths {
            let ending = Path::new(path).extension().and_then(|ending| ending.to_str());
            let is_document = ending == Some("md") && (path.starts_with("docs/") || !path.contains('/'));
            if !is_document && ending != Some("rs") {
                continue;
            }
            let Ok(text) = fs::read_to_string(root.join(path)) else { continue };
            if is_document {
                house.words += text.split_whitespace().count();
            } else if is_test(path) {
                house.test_lines += text.lines().count();
            } else if is_of_tool(path) || IN_TESTS.iter().any(|folder| path.starts_with(folder)) {
                let content = house.enter(path, &text);
                // The executable is a separate crate, and a module with `#[path]` belongs to no crate here.
                if let Some(crate_root) =
                    roots.iter().find(|root| path.starts_with(**root)).filter(|_| !path.ends_with("/main.rs"))
                {
                    let inside = &path[crate_root.len()..];
                    crates.entry(*crate_root).or_default().push(Module::new(path, inside, &content));
                }
            }
        }
        for ordered in ORDERED {
            house.connect(crates.get(ordered).map(Vec::as_slice).unwrap_or_default());
        }
        house.circles = crates.values().flat_map(|modules| arrows::Graph::new(modules).circles()).collect();
        house
    }

    /// Reads a file of product code and returns its content without tests.
    fn enter(&mut self, path: &str, text: &str) -> syn::File {
        let mut file = syn::parse_file(text).unwrap_or_else(|error| panic!("{path}: {error}"));
        let lines = text.lines().count();
        let tests = functions::remove_tests(&mut file.items);
        self.test_lines += tests;
        self.product.insert(path.to_owned(), lines - tests);
        let (functions, text_errors) = functions::find(path, &file);
        self.functions.extend(functions);
        self.text_errors.extend(text_errors);
        self.types_of(&file.items);
        if let Some(folder) = path.strip_suffix("/src/lib.rs").filter(|_| is_of_tool(path)) {
            self.crates.insert(folder.to_owned());
        }
        if path.strip_suffix("lib.rs").is_some_and(|folder| ORDERED.contains(&folder)) {
            let modules = file.items.iter().filter_map(|item| match item {
                syn::Item::Mod(module) => Some(module.ident.to_string()),
                _ => None,
            });
            self.rooms.extend(modules);
        }
        file
    }

    fn types_of(&mut self, items: &[syn::Item]) {
        for item in items {
            let name = match item {
                syn::Item::Struct(item) => &item.ident,
                syn::Item::Enum(item) => &item.ident,
                syn::Item::Trait(item) => &item.ident,
                syn::Item::Type(item) => &item.ident,
                syn::Item::Mod(module) => {
                    let inner = module.content.as_ref().map(|(_, items)| items.as_slice()).unwrap_or_default();
                    self.types_of(inner);
                    continue;
                }
                _ => continue,
            };
            *self.types.entry(name.to_string()).or_default() += 1;
        }
    }

    fn connect(&mut self, modules: &[Module]) {
        let graph = arrows::Graph::new(modules);
        for module in modules {
            let own = module.room();
            for used in &module.uses {
                let Some(room) = graph.room(module, used).filter(|room| self.rooms.contains(room)) else { continue };
                if room != own && !own.is_empty() {
                    *self.arrows.entry((own.clone(), room)).or_default() += 1;
                }
            }
        }
    }

    /// Returns the arrows to rooms that come later in `lib.rs`.
    pub fn upwards(&self) -> Vec<&(String, String)> {
        let place = |room: &String| self.rooms.iter().position(|known| known == room);
        self.arrows.keys().filter(|(from, to)| place(to) > place(from)).collect()
    }

    /// Returns the lines of the tool, and those of code that it puts into tests.
    pub fn product_lines(&self) -> [usize; 2] {
        let lines = |of_tool: bool| {
            let ours = self.product.iter().filter(|(path, _)| is_of_tool(path) == of_tool);
            ours.map(|(_, lines)| lines).sum()
        };
        [lines(true), lines(false)]
    }
}

/// Returns whether a file is product code of the tool itself.
fn is_of_tool(path: &str) -> bool {
    let is_ours = |folder: &str| folder == "cargo-perfunit" || folder.starts_with("perfunit-");
    path.split_once("/src/").is_some_and(|(folder, _)| is_ours(folder) && !folder.contains('/'))
        && !IN_TESTS.iter().any(|folder| path.starts_with(folder))
}

/// Returns the paths, without ending, of modules in other files that a file declares only for tests.
fn modules_of_tests(root: &Path, path: &str) -> Vec<String> {
    let Some(folder) = path.strip_suffix(".rs") else { return Vec::new() };
    let folder = ["/mod", "/lib"].iter().find_map(|file| folder.strip_suffix(file)).unwrap_or(folder);
    let text = fs::read_to_string(root.join(path)).unwrap_or_default();
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let declared = lines.windows(2).filter(|pair| pair[0] == "#[cfg(test)]").filter_map(|pair| {
        let name = pair[1].rsplit_once("mod ")?.1.strip_suffix(';')?;
        Some(format!("{folder}/{name}"))
    });
    declared.collect()
}

/// Returns whether a file contains only tests.
pub fn is_test(path: &str) -> bool {
    path.starts_with("tests/") || path.contains("/tests/") || path.ends_with("/tests.rs")
}

/// Returns the files below a folder by path from the root, without builds, fetched files and test data.
fn files(root: &Path, below: &Path) -> Vec<String> {
    const OTHERS: [&str; 4] = ["target", "examples", "fixtures", "embedded"];
    let mut found = Vec::new();
    for entry in fs::read_dir(root.join(below)).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = below.join(&name);
        match entry.file_type() {
            Ok(kind) if kind.is_dir() && !name.starts_with('.') && !OTHERS.contains(&name.as_str()) => {
                found.extend(files(root, &path));
            }
            Ok(kind) if kind.is_file() => found.push(path.to_string_lossy().into_owned()),
            _ => {}
        }
    }
    found.sort();
    found
}
