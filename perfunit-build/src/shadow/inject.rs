//! The lines that we append to crate roots, such as the one that replaces `#[test]`.

use perfunit_model::error::Result;
use perfunit_project::git::{Entry, FileSet, Mode, Repository};
use perfunit_system::cache::KeyBuilder;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

/// Cfg by which the rustc wrapper passes on the crate root that is being compiled.
pub const ROOT_CFG: &str = "perfunit_root";

/// Makes our `#[test]` available in a crate, without names that could conflict with the project's macros.
pub const MACROS: &str = "#[macro_use(test, perfunit_executed)] extern crate perfunit_macros;";

/// Returns the line for the crate root at `place`, a path from the root of the tree. The first line break completes a
/// last line that has none.
///
/// The condition is for files that are the root of one crate and a module of another, where `#[macro_use]` is an error.
pub fn injected_text(place: &Path) -> String {
    let root = root_key(place);
    format!("\n#[cfg(all(test, {ROOT_CFG} = \"{root}\"))] {MACROS}\n")
}

/// Cfg that adds probes to functions.
pub const PROBES_CFG: &str = "perfunit_probes";
/// Cfg that also counts work.
pub const GROWTH_CFG: &str = "perfunit_growth";
/// Name of the probe macro's crate in an instrumented crate.
const PROBES_CRATE: &str = "__perfunit_probes";

/// Returns the lines that make the probe attributes available in the whole crate.
pub fn probes_text(place: &Path) -> String {
    let root = root_key(place);
    format!(
        "\n#[cfg(all({PROBES_CFG}, {ROOT_CFG} = \"{root}\"))] #[macro_use(perfunit_probe)] extern crate perfunit_macros as {PROBES_CRATE};\n\
         #[cfg(all({GROWTH_CFG}, {ROOT_CFG} = \"{root}\"))] extern crate __perfunit_growth;\n"
    )
}

/// Checks whether a crate root has [`probes_text`].
pub fn has_probes(text: &[u8]) -> bool {
    text.windows(PROBES_CRATE.len()).any(|window| window == PROBES_CRATE.as_bytes())
}

/// Returns the value of [`ROOT_CFG`] for a crate root. A path could need escaping, so it is a hash.
pub fn root_key(place: &Path) -> String {
    perfunit_system::cache::hash(place.as_os_str().as_encoded_bytes())
}

/// Line for the root of a bench target with a replaced harness. It is not code; the wrapper looks for it.
const BENCH_LINE: &str = "// perfunit: its harness is replaced";

/// Checks whether a crate root has [`BENCH_LINE`].
pub fn is_bench(text: &[u8]) -> bool {
    text.trim_ascii_end().ends_with(BENCH_LINE.as_bytes())
}

/// Line for the root of unit tests with benchmarks among them. It is not code; the wrapper looks for it.
const UNIT_BENCH_LINE: &str = "// perfunit: its benchmarks are measured";

/// Checks whether a crate root has [`UNIT_BENCH_LINE`].
pub fn has_unit_benches(text: &[u8]) -> bool {
    text.windows(UNIT_BENCH_LINE.len()).any(|window| window == UNIT_BENCH_LINE.as_bytes())
}

/// Prefix of the line that lists the tests of a crate that our `#[test]` must not change. It is not code; the wrapper
/// passes the names to the macro.
const WHOLE_LINE: &str = "// perfunit: called whole: ";

/// Returns the names in [`WHOLE_LINE`], separated by commas.
pub fn called_whole(text: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(text);
    text.lines().rev().find_map(|line| line.strip_prefix(WHOLE_LINE)).map(str::to_owned)
}

/// Change to a crate root. If several targets share the root, the last change wins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Injected {
    /// Adds [`BENCH_LINE`].
    Bench,
    /// Adds [`injected_text`].
    Macro,
    /// Adds [`injected_text`] and [`UNIT_BENCH_LINE`].
    MacroAndBench,
    /// Replaces the content by [`EMPTY`].
    Empty,
}

/// A valid root of any kind of crate, without content.
const EMPTY: &str = "fn main() {}\n";

/// Maximum number of symbolic links to follow, as in the kernel (`path_resolution(7)`).
const MOST_LINKS: usize = 40;

/// Changes to crate roots, by path relative to the root of the repository.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Injections {
    roots: BTreeMap<PathBuf, Injected>,
    /// Names, without modules, of tests that our `#[test]` must not change.
    whole: CalledWhole,
}

/// Names of tests, without modules, by crate root.
pub type CalledWhole = BTreeMap<String, BTreeSet<String>>;

impl Injections {
    pub fn none() -> Injections {
        Injections::default()
    }

    pub fn roots(&self) -> impl Iterator<Item = (&Path, Injected)> {
        self.roots.iter().map(|(path, what)| (path.as_path(), *what))
    }

    /// Adds the changes to a key.
    pub fn add_to(&self, key: KeyBuilder) -> KeyBuilder {
        let of = |key: KeyBuilder, wanted| {
            let roots = self.roots().filter(|(_, what)| *what == wanted);
            roots.fold(key, |key, (path, _)| key.with(path.as_os_str().as_encoded_bytes()))
        };
        let key = of(of(key, Injected::Macro).with(BENCH_LINE), Injected::Bench);
        let key = of(key.with(UNIT_BENCH_LINE), Injected::MacroAndBench);
        let key = of(key.with(EMPTY), Injected::Empty);
        self.whole
            .iter()
            .fold(key, |key, (root, names)| names.iter().fold(key.with(WHOLE_LINE).with(root), KeyBuilder::with))
    }

    /// Sets the tests that our `#[test]` must not change.
    #[must_use]
    pub fn calling_whole(self, whole: &CalledWhole) -> Injections {
        Injections { whole: whole.clone(), ..self }
    }

    /// Returns the line that lists the tests of a root that must not be changed.
    fn whole_line(&self, root: &Path) -> String {
        let names = self.whole.iter().find(|(path, _)| Path::new(path) == root).map(|(_, names)| names);
        let line = |names: &BTreeSet<String>| {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            format!("{WHOLE_LINE}{}\n", names.join(","))
        };
        names.map(line).unwrap_or_default()
    }

    /// Sets or removes the change to a root.
    pub fn set(&mut self, root: &Path, what: Option<Injected>) {
        match what {
            Some(what) => drop(self.roots.insert(root.to_owned(), what)),
            None => drop(self.roots.remove(root)),
        }
    }

    /// Returns the change to a crate root.
    pub fn get(&self, root: &Path) -> Option<Injected> {
        self.roots.get(root).copied()
    }

    /// Adds [`Injected::Empty`] for these roots.
    #[must_use]
    pub fn emptying(&self, roots: &BTreeSet<PathBuf>) -> Injections {
        let mut all = self.clone();
        all.roots.extend(roots.iter().map(|root| (root.clone(), Injected::Empty)));
        all
    }

    /// Returns the injections with the roots' paths in the version itself.
    #[must_use]
    pub fn place_roots(&self, files: &FileSet) -> Injections {
        let place = |root: &str| files.place(Path::new(root)).to_string_lossy().into_owned();
        Injections {
            roots: self.roots().map(|(root, what)| (files.place(root), what)).collect(),
            whole: self.whole.iter().map(|(root, names)| (place(root), names.clone())).collect(),
        }
    }

    /// Returns the injections without these roots.
    #[must_use]
    pub fn without(&self, roots: &BTreeSet<String>) -> Injections {
        let mut others = self.clone();
        others.roots.retain(|path, _| !roots.iter().any(|root| Path::new(root) == path));
        others
    }
}

impl<P: Into<PathBuf>> FromIterator<(P, Injected)> for Injections {
    fn from_iter<I: IntoIterator<Item = (P, Injected)>>(roots: I) -> Injections {
        Injections { roots: roots.into_iter().map(|(path, what)| (path.into(), what)).collect(), ..Injections::none() }
    }
}

/// Returns the changed form of a file; `None` if the version has no such regular file.
///
/// A crate root that is a link becomes a regular file, because the link's target may be the root or a module of another
/// crate. Rustc searches modules next to the path that it was given, so nothing else changes.
///
/// `prefix` is the path from the root of the tree to the repository.
pub(super) fn inject(
    repository: &Repository,
    files: &FileSet,
    (path, what, injections): (&Path, Injected, &Injections),
    prefix: &Path,
) -> Result<Option<Entry>> {
    let Some((source, entry)) = follow(repository, files, path)? else { return Ok(None) };
    let mut text = if what == Injected::Empty { Vec::new() } else { repository.read(entry, &source)? };
    let more = match what {
        Injected::Macro => injected_text(&prefix.join(path)) + &injections.whole_line(path),
        Injected::MacroAndBench => {
            format!("{}{UNIT_BENCH_LINE}\n{}", injected_text(&prefix.join(path)), injections.whole_line(path))
        }
        Injected::Bench => format!("\n{BENCH_LINE}\n"),
        Injected::Empty => EMPTY.to_owned(),
    };
    text.extend_from_slice(more.as_bytes());
    Ok(Some(Entry { mode: entry.mode, ..Entry::snapshot(text) }))
}

fn follow<'a>(repository: &Repository, files: &'a FileSet, path: &Path) -> Result<Option<(PathBuf, &'a Entry)>> {
    let mut path = path.to_owned();
    for _ in 0..MOST_LINKS {
        let Some(entry) = files.entries.get(&path) else { return Ok(None) };
        if entry.mode != Mode::Symlink {
            return Ok(Some((path, entry)));
        }
        let target = repository.read(entry, &path)?;
        let target = String::from_utf8_lossy(&target).into_owned();
        let Some(next) = resolve(&path, Path::new(&target)) else { return Ok(None) };
        path = next;
    }
    Ok(None)
}

/// Resolves a link's target; `None` if it is outside of the repository. Does not follow links in the folders of the
/// path.
fn resolve(link: &Path, target: &Path) -> Option<PathBuf> {
    let mut path = link.parent()?.to_owned();
    for component in target.components() {
        match component {
            Component::Normal(name) => path.push(name),
            Component::CurDir => {}
            Component::ParentDir if path.pop() => {}
            _ => return None,
        }
    }
    Some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_resolved_inside_the_repository() {
        let resolve = |link: &str, target: &str| super::resolve(Path::new(link), Path::new(target));
        assert_eq!(resolve("a/lib.rs", "./b.rs"), Some("a/b.rs".into()));
        assert_eq!(resolve("a/lib.rs", "../b.rs"), Some("b.rs".into()));
        assert_eq!(resolve("a/lib.rs", "../../b.rs"), None);
        assert_eq!(resolve("a/lib.rs", "/b.rs"), None);
    }

    #[test]
    fn a_key_knows_which_root_gets_what() {
        let key = |roots: &[(&str, Injected)]| {
            roots.iter().copied().collect::<Injections>().add_to(KeyBuilder::default()).finish()
        };
        let (attribute, bench) = (Injected::Macro, Injected::Bench);
        assert_ne!(key(&[("a", attribute), ("b", bench)]), key(&[("a", attribute), ("b", attribute)]));
        assert_ne!(key(&[("a", bench)]), key(&[("a", attribute)]));
    }

    #[test]
    fn tests_that_are_called_whole_are_in_the_text_and_in_the_key() {
        let whole = CalledWhole::from([("a".to_owned(), BTreeSet::from(["one".to_owned(), "two".to_owned()]))]);
        let plain: Injections = [("a", Injected::Macro)].into_iter().collect();
        let named = plain.clone().calling_whole(&whole);
        let key = |injections: &Injections| injections.add_to(KeyBuilder::default()).finish();
        assert_ne!(key(&plain), key(&named));
        assert_eq!(called_whole(named.whole_line(Path::new("a")).as_bytes()).as_deref(), Some("one,two"));
        assert_eq!(named.whole_line(Path::new("b")), "");
        assert_eq!(called_whole(injected_text(Path::new("a")).as_bytes()), None);
    }

    #[test]
    fn a_replaced_harness_is_seen_at_the_end_of_the_root() {
        assert!(is_bench(format!("fn main() {{}}\n{BENCH_LINE}\n").as_bytes()));
        assert!(!is_bench(format!("{BENCH_LINE}\nfn main() {{}}\n").as_bytes()));
    }

    #[test]
    fn the_injected_text_is_one_line_that_starts_after_a_line_break() {
        let text = injected_text(Path::new("src/lib.rs"));
        assert!(text.starts_with('\n') && text.ends_with('\n'));
        assert_eq!(text.trim_matches('\n').lines().count(), 1);
    }
}
