//! The functions that changed: which they are, and what they are called in machine code.

use super::code::SourceName;
use super::source::{ChangedItem, ItemKind, SourceDiff};
use perfunit_model::ChangeKind;

/// Functions that head has and that are new or other than base's; tests are none of them.
pub fn changed_functions(diff: &SourceDiff) -> Vec<&ChangedItem> {
    let is_function = |item: &&ChangedItem| {
        matches!(item.kind, ItemKind::Function | ItemKind::Method)
            && matches!(item.change, ChangeKind::Added | ChangeKind::Changed)
            && !item.test_only
    };
    diff.items.iter().filter(is_function).collect()
}

/// What a function is called among others.
pub fn key(item: &ChangedItem) -> String {
    format!("{}:{} {}", item.path, item.line, item.name)
}

/// What its symbol holds.
pub fn name(item: &ChangedItem) -> SourceName<'_> {
    let around = [item.owner.as_str(), &item.implements];
    SourceName { ident: &item.ident, around: around.into_iter().filter(|name| !name.is_empty()).collect() }
}
