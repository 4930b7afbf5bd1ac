//! Whether a test's own code is among what changed: then two workloads would be compared, not two versions.
//!
//! The idea of changed tests is that of Chen and Shang.

use super::graph::Files;
use super::names::{NameIndex, Named, TestSource};
use crate::source::{ChangedItem, ItemKind, SourceDiff};
use perfunit_model::{ChangeKind, Sides, TargetKind, TestCodeItem};
use std::collections::HashSet;

/// Where to look for a test's code in one version.
#[derive(Debug, Clone, Copy)]
pub struct TestCode<'a> {
    /// The items of that version.
    pub index: &'a NameIndex,
    /// The files of the test's target in that version.
    pub files: &'a Files,
}

/// The changed item of a test's own code, or `None` if its code is the same in both versions.
///
/// A test's own code is its function without attributes that leave its work alone (`#[ignore]`), and all test code that
/// it names, directly or through other test code: helper functions, types, constants, macros. Test code is what is below
/// `#[cfg(test)]`, in files that only test builds hold, or in a target of `kind` `Test`, `Example` or `Bench`. An item
/// added or changed beside it that it does not name does not matter; nor do imports, because an item that moved changes
/// the imports of tests whose work is the same.
///
/// Call it for tests that exist in both versions: of a new test the own code counts as changed.
///
/// A test made by a macro is found by the macro calls that mention the last segment of its `name`; of a benchmark all code of
/// its target counts.
pub fn changed_test_code(
    name: &str,
    kind: TargetKind,
    code: &Sides<TestCode<'_>>,
    diff: &SourceDiff,
) -> Option<TestCodeItem> {
    let base = Version { code: code.base, kind };
    let head = Version { code: code.head, kind };
    let (old, new) = (base.function(name), head.function(name));
    // On one side only: spelled out here, made by a macro there. A new or removed test is not for us to tell.
    if old.map(workload) != new.map(workload) {
        return Some(TestCodeItem::Function(name.rsplit("::").next().unwrap_or(name).to_owned()));
    }
    let changed: Vec<&ChangedItem> = diff
        .items
        .iter()
        .filter(|item| item.change != ChangeKind::Moved && can_matter(item.kind))
        .filter(|item| base.is_test_code(item) || head.is_test_code(item))
        .collect();
    if changed.is_empty() {
        return None;
    }
    if old.is_none() && kind == TargetKind::Bench {
        // The names of benchmarks are made when they run: all code of the target counts as theirs.
        return changed.first().map(|item| test_item(item));
    }
    if old.is_none()
        && let Some(item) = changed_generator(name, &head, &changed)
    {
        return Some(test_item(item));
    }
    let (of_base, of_head) = (base.named_by(name), head.named_by(name));
    let is_named = |item: &&&ChangedItem| of_base.holds(item) || of_head.holds(item);
    changed.iter().find(is_named).map(|item| test_item(item))
}

fn test_item(item: &ChangedItem) -> TestCodeItem {
    let change = item.code_change();
    match item.kind {
        ItemKind::Macro => TestCodeItem::Macro(change),
        ItemKind::MacroCall => TestCodeItem::MacroCall(change),
        _ => TestCodeItem::Helper(change),
    }
}

fn workload(entry: &Named) -> &str {
    entry.item.workload.as_deref().unwrap_or(&entry.item.code.text)
}

/// Imports, module headers and attributes of files do no work.
fn can_matter(kind: ItemKind) -> bool {
    !matches!(kind, ItemKind::Use | ItemKind::Module | ItemKind::Attributes)
}

/// For a test that no file spells out: the changed macro call or definition of its target that mentions it.
fn changed_generator<'a>(name: &str, head: &Version<'_>, changed: &[&'a ChangedItem]) -> Option<&'a ChangedItem> {
    let last = name.rsplit("::").next().unwrap_or(name);
    changed.iter().copied().find(|item| {
        matches!(item.kind, ItemKind::Macro | ItemKind::MacroCall)
            && head.code.index.at(&item.path, item.line, item.kind).is_some_and(|entry| entry.item.code.mentions(last))
    })
}

/// One version's test code of a target.
struct Version<'a> {
    code: TestCode<'a>,
    kind: TargetKind,
}

impl<'a> Version<'a> {
    fn source<'n>(&self, name: &'n str) -> TestSource<'n>
    where
        'a: 'n,
    {
        TestSource { name, kind: self.kind, files: self.code.files }
    }

    fn function(&self, name: &str) -> Option<&'a Named> {
        let position = self.code.index.test_position(self.source(name))?;
        Some(&self.code.index.entries[position])
    }

    fn is_test_code(&self, item: &ChangedItem) -> bool {
        self.holds_test_code(&item.path, item.test_only)
    }

    fn holds_test_code(&self, path: &str, test_only: bool) -> bool {
        let Some(file) = self.code.files.get(path) else { return false };
        test_only || file.test_only || !self.kind.holds_code()
    }

    /// All names in a test and in the test code that it names.
    fn named_by(&self, name: &str) -> NamedCode<'a> {
        let index = self.code.index;
        let start = match self.function(name) {
            Some(function) => vec![function],
            None => index.generators(self.source(name)).into_iter().map(|entry| &index.entries[entry]).collect(),
        };
        let mut named = NamedCode { names: HashSet::new(), calls: HashSet::new(), index };
        let mut queue = start;
        while let Some(entry) = queue.pop() {
            if entry.item.kind == ItemKind::MacroCall && !named.calls.insert((&entry.path, entry.item.line)) {
                continue;
            }
            for ident in &entry.item.code.names {
                // An item is visited again for each of its names; its own names are new only once.
                if named.names.insert(ident) {
                    queue.extend(self.defined_as(ident));
                }
            }
        }
        named
    }

    /// Test code of this name: items, and what is in the impl blocks of a type of this name.
    fn defined_as(&self, ident: &'a str) -> impl Iterator<Item = &'a Named> {
        let index = self.code.index;
        let members = index.members(ident);
        index.by_ident(ident).chain(members).filter(move |entry| {
            let item = &entry.item;
            let by_type = item.owner.is_empty() || item.owner == ident || !index.is_common(&item.ident);
            by_type && !item.is_test && can_matter(item.kind) && self.holds_test_code(&entry.path, item.test_only)
        })
    }
}

/// The names in a test and in the test code that it names.
struct NamedCode<'a> {
    names: HashSet<&'a str>,
    /// Macro calls that define one of them, by file and line.
    calls: HashSet<(&'a str, usize)>,
    index: &'a NameIndex,
}

impl NamedCode<'_> {
    fn holds(&self, item: &ChangedItem) -> bool {
        let named = |name: &str| self.names.contains(name);
        if item.kind == ItemKind::MacroCall {
            return self.calls.contains(&(item.path.as_str(), item.line));
        }
        if item.owner.is_empty() || item.kind == ItemKind::Impl {
            return !item.is_test && named(&item.ident);
        }
        named(&item.owner) || (named(&item.ident) && !self.index.is_common(&item.ident))
    }
}

#[cfg(test)]
mod tests;
