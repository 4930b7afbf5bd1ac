//! Finds everything that leads to a function by names: the code that names it, the code that names that code, and so
//! on.
//!
//! Names are looked up without types, so the result may contain too much, but not too little. Code that calls something
//! without naming it, such as an operator or formatting, at least names the type.

use super::names::{NameIndex, Named, defined_names};
use crate::source::ItemKind;
use std::collections::{BTreeSet, HashMap};

pub struct Callers<'a> {
    index: &'a NameIndex,
    /// Items by the names in them.
    naming: HashMap<&'a str, Vec<usize>>,
    /// Other names under which a name is imported.
    renamed: HashMap<&'a str, Vec<&'a str>>,
}

impl<'a> Callers<'a> {
    pub fn new(index: &'a NameIndex) -> Self {
        let mut renamed = HashMap::<_, Vec<_>>::new();
        for entry in &index.entries {
            let import = entry.item.code.text.split_once(" as ").filter(|_| entry.item.kind == ItemKind::Use);
            if let Some((path, name)) = import {
                let path = path.trim_start_matches("use ");
                renamed.entry(path.rsplit("::").next().unwrap_or(path)).or_default().push(name);
            }
        }
        Self { index, naming: index.by_name(), renamed }
    }

    /// Returns an item and everything that leads to it.
    pub fn of(&self, item: &'a Named) -> Vec<&'a Named> {
        let mut seen: BTreeSet<String> = BTreeSet::new();
        let mut found: BTreeSet<usize> = BTreeSet::new();
        let mut queue = self.referring_names(item);
        while let Some(name) = queue.pop() {
            if !seen.insert(name.clone()) {
                continue;
            }
            queue.extend(self.renamed.get(name.as_str()).into_iter().flatten().map(|name| (*name).to_owned()));
            for position in self.naming.get(name.as_str()).into_iter().flatten() {
                if found.insert(*position) {
                    queue.extend(self.referring_names(&self.index.entries[*position]));
                }
            }
        }
        let others = found.into_iter().map(|position| &self.index.entries[position]);
        std::iter::once(item).chain(others.filter(|other| *other != item)).collect()
    }

    /// Returns the names by which other code refers to an item.
    fn referring_names(&self, entry: &Named) -> Vec<String> {
        let item = &entry.item;
        if matches!(item.kind, ItemKind::Use | ItemKind::Module | ItemKind::Attributes) || item.is_test {
            return Vec::new();
        }
        let mut names = defined_names(item);
        if !item.implements.is_empty() {
            let is_ours = |name: &str| self.index.by_ident(name).any(|entry| entry.item.kind == ItemKind::Type);
            if is_ours(&item.owner) {
                names.push(item.owner.clone());
            } else {
                names.push(item.implements.clone());
                // `impl Distribution<Ours> for Standard`: code that needs the trait names our type.
                let words = item.header.split(|c: char| !c.is_alphanumeric() && c != '_');
                names.extend(words.filter(|word| is_ours(word)).map(str::to_owned));
            }
        }
        names
    }

    /// Checks whether a string contains the name, as in attributes of derive macros.
    pub fn is_in_string(&self, ident: &str) -> bool {
        let ends = [format!("\"{ident}\""), format!("::{ident}\"")];
        self.index.entries.iter().any(|entry| ends.iter().any(|end| entry.item.code.text.contains(end)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reach::index;

    #[track_caller]
    fn check(code: &str, of: &str, expected: &[&str]) {
        let index = index(&[("src/lib.rs".to_owned(), String::new(), code.as_bytes().to_vec())]);
        let item = index.by_ident(of).find(|entry| entry.item.kind != ItemKind::Use).unwrap();
        let found = Callers::new(&index).of(item);
        let names: Vec<&str> = found.iter().map(|entry| entry.item.name.as_str()).collect();
        assert_eq!(names, expected);
    }

    #[test]
    fn what_names_it_leads_to_it_over_any_number_of_steps() {
        let code = "fn a() {} fn b() { a() } fn c() { b() } fn other() {} #[test] fn t() { c() }";
        check(code, "a", &["a", "b", "c", "t"]);
        check(code, "other", &["other"]);
    }

    #[test]
    fn an_import_under_another_name_leads_on() {
        check("fn a() {} use crate::a as z; fn b() { z() }", "a", &["a", "b"]);
    }

    #[test]
    fn what_is_called_without_a_name_is_reached_from_its_type() {
        let code = "struct Sum; impl std::ops::Add for Sum { fn add(self, _: Sum) -> Sum { Sum } } \
            #[test] fn adds() { let _ = Sum + Sum; } #[test] fn other() {}";
        let index = index(&[("src/lib.rs".to_owned(), String::new(), code.as_bytes().to_vec())]);
        let item = index.by_ident("add").next().unwrap();
        let found = Callers::new(&index).of(item);
        assert!(found.iter().any(|entry| entry.item.name == "adds"), "{found:?}");
        assert!(found.iter().all(|entry| entry.item.name != "other"), "{found:?}");
    }

    #[test]
    fn what_is_implemented_for_a_foreign_type_is_reached_from_ours() {
        let code = "struct Table; impl Distribution<Table> for Standard { fn sample(&self) -> Table { Table } } \
            fn new() -> Table { random() } #[test] fn draws() { new(); }";
        check(code, "sample", &["Standard::sample", "Table", "Standard", "new", "draws"]);
    }
}
