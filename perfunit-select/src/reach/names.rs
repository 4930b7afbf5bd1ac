//! Index of names: which item names which, across all parsed files.

use super::graph::Files;
use crate::source::{Item, ItemKind, items};
use perfunit_model::TargetKind;
use std::collections::{BTreeSet, HashMap};

/// An item of a parsed file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Named {
    pub path: String,
    /// Path inside the crate, without the crate's name and the enclosing type: `a::b::name`.
    pub full_name: String,
    pub item: Item,
}

/// The items of a version of the workspace, indexed by name.
#[derive(Debug, Clone, Default)]
pub struct NameIndex {
    pub entries: Vec<Named>,
    by_full_name: HashMap<String, Vec<usize>>,
    by_ident: HashMap<String, Vec<usize>>,
    by_owner: HashMap<String, Vec<usize>>,
    by_path: HashMap<String, Vec<usize>>,
    /// Macro calls outside of functions, which may generate tests.
    macro_calls: Vec<usize>,
}

/// A test to look up in an index.
#[derive(Debug, Clone, Copy)]
pub struct TestSource<'a> {
    /// Name that libtest prints: `a::b::name`.
    pub name: &'a str,
    /// Kind of its target.
    pub kind: TargetKind,
    /// Files of its target.
    pub files: &'a Files,
}

/// Parses files, given as path, module path in their crate, and content. A file of several targets is given once for
/// each module path. Files that cannot be parsed are skipped.
pub fn index(files: &[(String, String, Vec<u8>)]) -> NameIndex {
    let mut index = NameIndex::default();
    index.parse(files);
    index
}

/// Returns the names that an item defines: its own; for a macro call the words after `static`, `struct` and similar
/// ones.
pub(super) fn defined_names(item: &Item) -> Vec<String> {
    if item.kind != ItemKind::MacroCall {
        return vec![item.ident.clone()];
    }
    let words = item.code.text.split(' ').filter(|word| !matches!(*word, "ref" | "mut")).collect::<Vec<_>>();
    let defines = |word: &str| matches!(word, "static" | "const" | "struct" | "enum" | "union" | "type" | "trait");
    let names = words.windows(2).filter(|pair| defines(pair[0]) && item.code.mentions(pair[1]));
    names.map(|pair| pair[1].to_owned()).collect()
}

impl NameIndex {
    /// Returns the indices of entries, by the names in them.
    pub fn by_name(&self) -> HashMap<&str, Vec<usize>> {
        let mut naming = HashMap::<_, Vec<_>>::new();
        for (position, entry) in self.entries.iter().enumerate() {
            for name in &entry.item.code.names {
                naming.entry(name.as_str()).or_default().push(position);
            }
        }
        naming
    }

    /// Builds the index of another version: these files replace those at `paths`, everything else is the same. Two
    /// versions share most files, and parsing is the largest cost.
    #[must_use]
    pub fn replace_files(&self, paths: &BTreeSet<String>, files: &[(String, String, Vec<u8>)]) -> NameIndex {
        let mut index = NameIndex::default();
        for named in self.entries.iter().filter(|named| !paths.contains(&named.path)) {
            index.add(named.clone());
        }
        index.parse(files);
        index
    }

    fn parse(&mut self, files: &[(String, String, Vec<u8>)]) {
        for (path, module, content) in files {
            for item in items(content).unwrap_or_default() {
                let segments = [module.as_str(), &item.scope, &item.ident];
                let full_name = segments.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("::");
                self.add(Named { path: path.clone(), full_name, item });
            }
        }
    }

    fn add(&mut self, named: Named) {
        let position = self.entries.len();
        self.by_full_name.entry(named.full_name.clone()).or_default().push(position);
        for ident in defined_names(&named.item) {
            self.by_ident.entry(ident).or_default().push(position);
        }
        if named.item.kind == ItemKind::MacroCall {
            self.macro_calls.push(position);
        }
        if !named.item.owner.is_empty() {
            self.by_owner.entry(named.item.owner.clone()).or_default().push(position);
        }
        self.by_path.entry(named.path.clone()).or_default().push(position);
        self.entries.push(named);
    }

    /// Returns the items with this name, and the macro calls that define it.
    pub fn by_ident(&self, ident: &str) -> impl Iterator<Item = &Named> {
        self.by_ident.get(ident).into_iter().flatten().map(|position| &self.entries[*position])
    }

    /// Returns the item of this kind at this position.
    pub fn at(&self, path: &str, line: usize, kind: ItemKind) -> Option<&Named> {
        let mut here = self.by_path.get(path).into_iter().flatten().map(|position| &self.entries[*position]);
        here.find(|entry| entry.item.line == line && entry.item.kind == kind)
    }

    /// Returns the members of a type's impl blocks or of a trait.
    pub fn members(&self, owner: &str) -> impl Iterator<Item = &Named> {
        self.by_owner.get(owner).into_iter().flatten().map(|position| &self.entries[*position])
    }

    /// Returns the function of a test. Cases (`name::case_1` of rstest and test-case) share the function that generates
    /// them.
    pub fn test(&self, test: TestSource<'_>) -> Option<&Named> {
        self.test_position(test).map(|position| &self.entries[position])
    }

    pub fn test_position(&self, test: TestSource<'_>) -> Option<usize> {
        let function = |name: &str| {
            let positions = self.by_full_name.get(name)?;
            let here = |position: &&usize| {
                let entry = &self.entries[**position];
                entry.item.kind == ItemKind::Function && test.files.contains_key(&entry.path)
            };
            let mut found: Vec<usize> = positions.iter().filter(here).copied().collect();
            found.sort_by_key(|position| !self.entries[*position].item.is_test);
            found.first().copied()
        };
        function(test.name).or_else(|| {
            let parent = function(test.name.rsplit_once("::")?.0)?;
            self.entries[parent].item.is_test.then_some(parent)
        })
    }

    /// Returns the function of a test, or the macro calls that may generate it.
    pub fn sources(&self, test: TestSource<'_>) -> Vec<&Named> {
        let positions = self.test_position(test).map_or_else(|| self.generators(test), |position| vec![position]);
        positions.into_iter().map(|position| &self.entries[position]).collect()
    }

    /// Returns the macro calls that may generate a test without a function: those of its target that mention its name.
    pub fn generators(&self, test: TestSource<'_>) -> Vec<usize> {
        let last = test.name.rsplit("::").next().unwrap_or(test.name);
        let generates = |position: &usize| {
            let entry = &self.entries[*position];
            entry.item.code.mentions(last) && test.files.contains_key(&entry.path)
        };
        self.macro_calls.iter().copied().filter(generates).collect()
    }

    /// Checks whether a name is too common to identify an item.
    pub fn is_common(&self, ident: &str) -> bool {
        const MANY: usize = 4;
        is_common_in_std(ident) || self.by_ident.get(ident).is_some_and(|positions| positions.len() >= MANY)
    }
}

/// Checks for method names that types of the standard library also have.
fn is_common_in_std(ident: &str) -> bool {
    COMMON_IN_STD.split_whitespace().any(|common| common == ident)
}

const COMMON_IN_STD: &str = "
    add as_bytes as_mut as_ref as_slice as_str borrow bytes call capacity chars clear clone cmp
    collect contains count default deref deref_mut div drain drop end entry eq extend filter find
    first flush fmt from from_iter from_str get get_mut hash index index_mut insert into into_iter
    is_empty iter iter_mut join keys last len lock map max min mul name ne neg new next next_back
    not open parse partial_cmp path peek pop position push push_str read remove replace reserve run
    seek send set size_hint skip sort split start sub swap take to_owned to_string to_vec truncate
    try_from try_into unwrap value values with_capacity write write_str
";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::FileInTarget;

    fn sample() -> NameIndex {
        let file =
            |path: &str, module: &str, text: &str| (path.to_owned(), module.to_owned(), text.as_bytes().to_vec());
        index(&[
            file("src/a.rs", "a", "#[cfg(test)] mod tests { #[test] fn works() {} #[rstest] fn cases() {} }"),
            file("src/main.rs", "", "made!(works_too, 1); fn ( "),
            file("tests/b.rs", "", "#[test] fn works() {} made!(also, 1);"),
        ])
    }

    #[track_caller]
    fn check(name: &str, files: &[&str], expected: Option<&str>) {
        let files = files.iter().map(|path| ((*path).to_owned(), FileInTarget::default())).collect();
        let index = sample();
        let found = index.test(TestSource { name, kind: TargetKind::Lib, files: &files });
        assert_eq!(found.map(|entry| format!("{} {}", entry.path, entry.item.name)).as_deref(), expected);
    }

    #[test]
    fn tests_are_found_by_their_full_name_in_their_target() {
        check("a::tests::works", &["src/a.rs"], Some("src/a.rs tests::works"));
        check("works", &["tests/b.rs"], Some("tests/b.rs works"));
        check("works", &["src/a.rs"], None);
        check("a::tests::cases::case_1", &["src/a.rs"], Some("src/a.rs tests::cases"));
        check("also", &["tests/b.rs"], None);
    }

    #[test]
    fn generated_tests_have_generators() {
        let (index, files) = (sample(), [("tests/b.rs".to_owned(), FileInTarget::default())].into());
        let generators = |name| index.generators(TestSource { name, kind: TargetKind::Lib, files: &files }).len();
        assert_eq!((generators("also"), generators("m::also"), generators("other")), (1, 1, 0));
    }

    #[test]
    fn names_of_std_are_common() {
        let index = sample();
        assert!(["add", "fmt", "new", "write_str"].iter().all(|name| index.is_common(name)));
        assert!(!index.is_common("works"));
    }
}
