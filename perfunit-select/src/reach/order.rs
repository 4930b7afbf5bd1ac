//! Orders tests: those that name a changed item come first, then those that reach one through other items. Direct
//! before indirect tests is the idea of `PerfDetect`.

use super::graph::Files;
use super::names::{NameIndex, Named, TestSource};
use crate::source::{ChangedItem, Item, ItemKind, SourceDiff};
use perfunit_model::{ChangeKind, SelectedBecause, TargetKind};
use std::collections::{HashMap, HashSet};

/// A test with its rank.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ranked {
    /// Index in the given list.
    pub test: usize,
    /// Nearest change; `None` if names lead to no changed item, which does not exclude the test.
    pub nearest: Option<SelectedBecause>,
}

/// Ranks tests, nearest first; tests of equal rank keep their order. `index` is head's.
pub fn order(tests: &[TestSource<'_>], index: &NameIndex, diff: &SourceDiff) -> Vec<Ranked> {
    let targets = targets(tests);
    let changed = diff.items.iter().filter(|item| can_be_named(item) && !is_test_code(item, &targets));
    let trails = Search::new(index).run(changed);
    let nearest = |test: &TestSource<'_>| {
        entries(*test, index).iter().filter_map(|entry| trails.get(entry)).min_by_key(|trail| trail.distance())
    };
    let mut found: Vec<(usize, Option<&Trail<'_>>)> = tests.iter().map(nearest).enumerate().collect();
    found.sort_by_key(|(_, trail)| trail.map_or(usize::MAX, Trail::distance));
    let ranked =
        |(test, trail): (usize, Option<&Trail<'_>>)| Ranked { test, nearest: trail.map(|trail| trail.because(index)) };
    found.into_iter().map(ranked).collect()
}

/// The number of changed items above which [`unreached`] finds none, because it follows each of them.
const MOST_FOLLOWED: usize = 100;

/// Returns the changed items to which no names lead from a test, although other code names them; none if names lead to no
/// changed item at all: then they do not show how the change reaches the test.
pub fn unreached<'d>(test: TestSource<'_>, index: &NameIndex, diff: &'d SourceDiff) -> Vec<&'d ChangedItem> {
    let items: Vec<&ChangedItem> = diff.items.iter().filter(|item| can_be_named(item) && !item.test_only).collect();
    if items.len() > MOST_FOLLOWED {
        return Vec::new();
    }
    let search = Search::new(index);
    let entries = entries(test, index);
    let is_reached = |item: &&ChangedItem| {
        let trails = search.run(std::iter::once(*item));
        entries.iter().any(|entry| trails.contains_key(entry))
    };
    let (reached, unreached): (Vec<_>, Vec<_>) = items.into_iter().partition(is_reached);
    if reached.is_empty() { Vec::new() } else { unreached }
}

/// Returns the function of a test, or the macro calls that may generate it.
fn entries(test: TestSource<'_>, index: &NameIndex) -> Vec<usize> {
    index.test_position(test).map_or_else(|| index.generators(test), |found| vec![found])
}

/// Returns the files of each target once, with its kind.
fn targets<'a>(tests: &[TestSource<'a>]) -> Vec<(TargetKind, &'a Files)> {
    let mut seen = HashSet::new();
    let is_new = |test: &&TestSource<'a>| seen.insert((test.kind, std::ptr::from_ref(test.files)));
    tests.iter().filter(is_new).map(|test| (test.kind, test.files)).collect()
}

/// Checks for items of test code. Such a change belongs to the test and is not reached from other code.
fn is_test_code(item: &ChangedItem, targets: &[(TargetKind, &Files)]) -> bool {
    let mut holders = targets.iter().filter(|(_, files)| files.contains_key(&item.path)).peekable();
    let is_held = holders.peek().is_some();
    item.test_only || (is_held && holders.all(|(kind, _)| !kind.holds_code()))
}

/// Path from an entry to a changed item.
#[derive(Clone)]
struct Trail<'a> {
    /// Nearest changed item.
    changed: &'a ChangedItem,
    /// Number of other items at the same distance.
    more: usize,
    /// Entries in between, nearest to the test first.
    between: Vec<usize>,
    /// Number of other steps: a trait's method reached by the name of its type.
    unnamed: usize,
}

impl Trail<'_> {
    fn distance(&self) -> usize {
        self.between.len() + self.unnamed
    }

    fn because(&self, index: &NameIndex) -> SelectedBecause {
        let Self { changed, between, .. } = self;
        let item = changed.code_change();
        if self.distance() == 0 {
            return SelectedBecause::Names { item, more: self.more };
        }
        if between.is_empty() {
            return SelectedBecause::UsesType { name: changed.owner.clone(), item, method: changed.ident.clone() };
        }
        let between = between.iter().map(|entry| index.entries[*entry].item.name.clone()).collect();
        SelectedBecause::Through { item, between, is_call: is_called(changed.kind) }
    }
}

/// Breadth-first search from the changed items, from named to naming entries.
struct Search<'a> {
    index: &'a NameIndex,
    /// Entries by the names in them.
    naming: HashMap<&'a str, Vec<usize>>,
}

/// Names that an entry must contain to continue a trail.
#[derive(Clone, Copy)]
struct Goal<'a> {
    ident: &'a str,
    owner: &'a str,
    /// True if it is part of a trait implementation, which operators, formatting and generic code call without naming
    /// it.
    is_implicit: bool,
}

impl<'a> Search<'a> {
    fn new(index: &'a NameIndex) -> Self {
        Self { index, naming: index.by_name() }
    }

    /// Returns the shortest trail of every entry that has one of at most [`Self::FAR`] steps.
    fn run<'d>(&self, changed: impl Iterator<Item = &'d ChangedItem>) -> HashMap<usize, Trail<'d>> {
        let mut trails: HashMap<usize, Trail<'d>> = HashMap::new();
        let mut front: Vec<(usize, Trail<'d>)> = Vec::new();
        for changed in changed {
            let goal = self.goal_of(changed);
            let start = Trail { changed, more: 0, between: Vec::new(), unnamed: 0 };
            front.extend(self.naming(goal).into_iter().map(|entry| (entry, start.clone())));
            if goal.is_implicit {
                let start = Trail { unnamed: 1, ..start };
                front.extend(self.using(goal).into_iter().map(|entry| (entry, start.clone())));
            }
        }
        for _ in 0..Self::FAR {
            front = self.step(front, &mut trails);
        }
        trails
    }

    /// Maximum number of steps. A longer trail of names has no meaning.
    const FAR: usize = 8;

    /// Adds the trails of the front, and returns those that are one step longer.
    fn step<'d>(
        &self,
        mut front: Vec<(usize, Trail<'d>)>,
        trails: &mut HashMap<usize, Trail<'d>>,
    ) -> Vec<(usize, Trail<'d>)> {
        front.sort_by_key(|(_, trail)| (trail.distance(), telling(trail.changed)));
        let mut new = Vec::new();
        for (entry, trail) in front {
            match trails.get_mut(&entry) {
                Some(known) if known.distance() == trail.distance() && known.between == trail.between => {
                    known.more += 1;
                }
                Some(_) => {}
                None => {
                    trails.insert(entry, trail);
                    new.push(entry);
                }
            }
        }
        let mut next = Vec::new();
        let mut led = HashSet::new();
        for entry in new {
            let named = &self.index.entries[entry];
            if !leads_on(named) {
                continue;
            }
            let trail = &trails[&entry];
            let between = [entry].into_iter().chain(trail.between.iter().copied()).collect();
            let trail = Trail { between, more: 0, ..trail.clone() };
            let Item { ident, owner, .. } = &named.item;
            for caller in self.naming(Goal { ident, owner, is_implicit: false }) {
                if caller != entry && !trails.contains_key(&caller) && led.insert(caller) {
                    next.push((caller, trail.clone()));
                }
            }
        }
        next
    }

    fn goal_of<'d>(&self, changed: &'d ChangedItem) -> Goal<'d> {
        let is_this = |entry: &&Named| entry.path == changed.path && entry.item.name == changed.name;
        let entry = self.index.by_ident(&changed.ident).find(is_this);
        let is_implicit =
            entry.is_some_and(|entry| entry.item.kind == ItemKind::Method && !entry.item.implements.is_empty());
        let owner = if changed.kind == ItemKind::Impl { "" } else { &changed.owner };
        Goal { ident: &changed.ident, owner, is_implicit }
    }

    /// Returns the entries that name the goal. A method with a common name counts only together with the name of its
    /// type.
    fn naming(&self, goal: Goal<'_>) -> Vec<usize> {
        let needs_owner = !goal.owner.is_empty() && self.index.is_common(goal.ident);
        let counts = |entry: &&usize| {
            let entry = &self.index.entries[**entry];
            let item = &entry.item;
            let is_definition = leads_on(entry) && item.ident == goal.ident && item.owner == goal.owner;
            !is_definition && (!needs_owner || item.owner == goal.owner || item.code.mentions(goal.owner))
        };
        self.naming.get(goal.ident).into_iter().flatten().filter(counts).copied().collect()
    }

    /// Returns the tests that name the type of the goal, which is in a trait implementation.
    fn using(&self, goal: Goal<'_>) -> Vec<usize> {
        let is_test = |entry: &&usize| self.index.entries[**entry].item.is_test;
        self.naming.get(goal.owner).into_iter().flatten().filter(is_test).copied().collect()
    }
}

/// Checks for changed items that other code can refer to by name.
fn can_be_named(item: &ChangedItem) -> bool {
    let kind = !matches!(
        item.kind,
        ItemKind::Use | ItemKind::Module | ItemKind::Attributes | ItemKind::Other | ItemKind::MacroCall
    );
    kind && !item.is_test && item.change != ChangeKind::Removed
}

/// Checks for entries that other code can name: not tests, not imports.
fn leads_on(entry: &Named) -> bool {
    let silent =
        [ItemKind::Use, ItemKind::Module, ItemKind::Attributes, ItemKind::Impl, ItemKind::Other, ItemKind::MacroCall];
    !entry.item.is_test && !silent.contains(&entry.item.kind)
}

fn is_called(kind: ItemKind) -> bool {
    matches!(kind, ItemKind::Function | ItemKind::Method | ItemKind::Macro)
}

/// Ranks changed items for display: code before types, changed before moved.
fn telling(item: &ChangedItem) -> usize {
    let kind = match item.kind {
        kind if is_called(kind) => 0,
        ItemKind::Const | ItemKind::Static => 1,
        _ => 2,
    };
    kind + if item.change == ChangeKind::Moved { 3 } else { 0 }
}

#[cfg(test)]
mod tests;
