//! Compares two versions: matches items by identity, then by content.

use super::change::{ChangedInput, ChangedItem, FileChange, InputKind, ItemKind, SourceDiff};
use super::inputs::{self, Fate};
use super::items::{Item, coarse, items};
use perfunit_model::{ChangeKind, Irrelevance};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Computes the difference. `mentioned` checks whether a string literal in any Rust file of the repository contains
/// this file name, so that documentation that is also data (`include_str!("../README.md")`) is not taken for
/// irrelevant.
pub fn diff(changes: &[FileChange], mentioned: &dyn Fn(&str) -> bool) -> SourceDiff {
    let mut diff = SourceDiff::default();
    let mut added = Vec::new();
    let mut removed = Vec::new();
    for change in changes {
        match inputs::fate(change, mentioned) {
            Fate::Irrelevant(reason) => diff.irrelevant.push((change.path.clone(), reason)),
            Fate::Input(kind) => diff.inputs.push(ChangedInput { path: change.path.clone(), kind }),
            Fate::Rust => {
                let unmatched = rust_file(change, &mut diff);
                removed.extend(unmatched.removed.into_iter().map(|item| (change.path.clone(), item)));
                added.extend(unmatched.added.into_iter().map(|item| (change.path.clone(), item)));
            }
        }
    }
    match_moved(removed, added, &mut diff.items);
    diff.items.sort_by(|left, right| (&left.path, left.line, &left.name).cmp(&(&right.path, right.line, &right.name)));
    diff.inputs.sort_by(|left, right| left.path.cmp(&right.path));
    diff.irrelevant.sort();
    diff
}

/// Items without a counterpart in the other version of their file.
#[derive(Default)]
struct Unmatched {
    removed: Vec<Item>,
    added: Vec<Item>,
}

/// Compares a Rust file. Adds changed items and the file's category to `diff`, and returns the unmatched items.
fn rust_file(change: &FileChange, diff: &mut SourceDiff) -> Unmatched {
    let (mut base, mut head) = both_items(change);
    without_repeated_blocks(&mut base);
    without_repeated_blocks(&mut head);
    if inputs::is_build_script(&change.path) {
        if same_code(&base, &head) {
            diff.irrelevant.push((change.path.clone(), Irrelevance::OnlyCommentsOrFormatting));
        } else {
            diff.inputs.push(ChangedInput { path: change.path.clone(), kind: InputKind::BuildScript });
        }
        return Unmatched::default();
    }
    let mut found = out_of_order(&base, &head);
    let unmatched = compare(base, head, &mut found);
    if found.is_empty() && unmatched.removed.is_empty() && unmatched.added.is_empty() {
        diff.irrelevant.push((change.path.clone(), Irrelevance::OnlyCommentsOrFormatting));
    }
    diff.items.extend(found.into_iter().map(|item| changed_item(&change.path, item, ChangeKind::Changed)));
    unmatched
}

/// Parses both versions into items. If either cannot be parsed, both become a single item, so that they are comparable.
fn both_items(change: &FileChange) -> (Vec<Item>, Vec<Item>) {
    let parse = |content: &Option<Vec<u8>>| content.as_deref().map_or(Some(Vec::new()), items);
    if let (Some(base), Some(head)) = (parse(&change.base), parse(&change.head)) {
        return (base, head);
    }
    let whole = |content: &Option<Vec<u8>>| content.iter().map(|content| coarse(&change.path, content)).collect();
    (whole(&change.base), whole(&change.head))
}

/// Returns the items of head that define or call macros if only their order changed. The order decides which macro a
/// name refers to.
fn out_of_order(base: &[Item], head: &[Item]) -> Vec<Item> {
    let scoped = |item: &&Item| {
        matches!(item.kind, ItemKind::Macro | ItemKind::MacroCall | ItemKind::Module) || item.code.text.contains("! ")
    };
    let sequence = |items: &[Item]| items.iter().filter(scoped).map(|item| item.code.text.clone()).collect::<Vec<_>>();
    let (base, ordered) = (sequence(base), sequence(head));
    let sorted = |mut texts: Vec<String>| {
        texts.sort_unstable();
        texts
    };
    let has_macros = head.iter().any(|item| {
        item.kind == ItemKind::Macro || (item.kind == ItemKind::Module && item.code.text.contains("macro_use"))
    });
    if !has_macros || base == ordered || sorted(base) != sorted(ordered) {
        return Vec::new();
    }
    head.iter().filter(scoped).cloned().collect()
}

/// Keeps one of several equal inherent impl headers, because the number of blocks does not matter.
fn without_repeated_blocks(items: &mut Vec<Item>) {
    let mut seen = BTreeSet::new();
    items.retain(|item| {
        item.kind != ItemKind::Impl
            || !item.implements.is_empty()
            || seen.insert((item.scope.clone(), item.test_only, item.decided_by.clone(), item.code.text.clone()))
    });
}

fn same_code(base: &[Item], head: &[Item]) -> bool {
    base.len() == head.len() && base.iter().zip(head).all(|(base, head)| base.code.text == head.code.text)
}

/// Matches the items of one file. Adds changed ones, as in head, to `found`, and returns those without a counterpart.
fn compare(base: Vec<Item>, head: Vec<Item>, found: &mut Vec<Item>) -> Unmatched {
    let identity = |item: &Item| (item.kind, item.scope.clone(), item.header.clone(), item.name.clone());
    let same_code = |item: &Item| (identity(item), item.code.text.clone());
    let (base, head, _) = pair(base, head, |item| (same_code(item), item.decided_by.clone()));
    let (base, head, decided_otherwise) = pair(base, head, same_code);
    let (base, head, changed) = pair(base, head, identity);
    found.extend(changed.into_iter().map(|(_, head)| head));

    // If the header of an impl block changed, match its items by type, trait and name.
    let loose = |item: &Item| (item.kind, item.scope.clone(), item.implements.clone(), item.name.clone());
    let loose_unchanged = |item: &Item| (loose(item), item.code.text.clone());
    let (base, head, same_inside) = pair(base, head, loose_unchanged);
    let (removed, added, changed) = pair(base, head, loose);
    found.extend(changed.into_iter().map(|(_, head)| head));
    let headers: BTreeSet<String> =
        found.iter().chain(&added).filter(|item| item.kind == ItemKind::Impl).map(|item| item.header.clone()).collect();
    // A changed header represents all unchanged items below it.
    found.extend(same_inside.into_iter().map(|(_, head)| head).filter(|head| !headers.contains(&head.header)));
    // So does a changed condition. Without one, the conditions or contents of two parts were swapped.
    let stands_for = |around: &Item, item: &Item| decides(around.kind) && (item.test_only || !around.test_only);
    let is_covered = |item: &Item| found.iter().chain(&added).chain(&removed).any(|around| stands_for(around, item));
    let uncovered: Vec<Item> =
        decided_otherwise.into_iter().map(|(_, head)| head).filter(|item| !is_covered(item)).collect();
    found.extend(uncovered);
    Unmatched { removed, added }
}

/// Checks whether items below an item of this kind depend on its attributes or text.
fn decides(kind: ItemKind) -> bool {
    matches!(kind, ItemKind::Attributes | ItemKind::Impl | ItemKind::MacroCall | ItemKind::Module | ItemKind::Trait)
}

/// Pairs items with equal keys in order. Returns the unpaired items of both sides, and the pairs.
fn pair<K: Ord>(
    base: Vec<Item>,
    head: Vec<Item>,
    key: impl Fn(&Item) -> K,
) -> (Vec<Item>, Vec<Item>, Vec<(Item, Item)>) {
    let mut by_key: BTreeMap<K, VecDeque<Item>> = BTreeMap::new();
    for item in base {
        by_key.entry(key(&item)).or_default().push_back(item);
    }
    let (mut left, mut pairs) = (Vec::new(), Vec::new());
    for item in head {
        match by_key.get_mut(&key(&item)).and_then(VecDeque::pop_front) {
            Some(partner) => pairs.push((partner, item)),
            None => left.push(item),
        }
    }
    (by_key.into_values().flatten().collect(), left, pairs)
}

/// Pairs removed and added items with equal content as moved, and adds all changes to `found`.
fn match_moved(removed: Vec<(String, Item)>, added: Vec<(String, Item)>, found: &mut Vec<ChangedItem>) {
    type Content = (ItemKind, String, String, String, String);
    let content = |item: &Item| -> Content {
        let Item { kind, owner, implements, ident, code, .. } = item;
        (*kind, owner.clone(), implements.clone(), ident.clone(), code.text.clone())
    };
    // An import or a module declaration has no meaning without its place.
    let can_move = |item: &Item| !matches!(item.kind, ItemKind::Use | ItemKind::Module | ItemKind::Attributes);
    let mut sources: BTreeMap<Content, VecDeque<(String, Item)>> = BTreeMap::new();
    for (path, item) in removed {
        if can_move(&item) {
            sources.entry(content(&item)).or_default().push_back((path, item));
        } else {
            found.push(changed_item(&path, item, ChangeKind::Removed));
        }
    }
    for (path, item) in added {
        let source =
            if can_move(&item) { sources.get_mut(&content(&item)).and_then(VecDeque::pop_front) } else { None };
        let mut entry = changed_item(&path, item, if source.is_some() { ChangeKind::Moved } else { ChangeKind::Added });
        entry.from = source.map(|(from, _)| from).filter(|from| *from != path);
        found.push(entry);
    }
    let gone = sources.into_values().flatten();
    found.extend(gone.map(|(path, item)| changed_item(&path, item, ChangeKind::Removed)));
}

fn changed_item(path: &str, item: Item, change: ChangeKind) -> ChangedItem {
    ChangedItem {
        path: path.to_owned(),
        line: item.line,
        name: item.name,
        ident: item.ident,
        owner: item.owner,
        implements: item.implements,
        kind: item.kind,
        change,
        from: None,
        test_only: item.test_only,
        is_test: item.is_test,
    }
}

#[cfg(test)]
mod tests;
