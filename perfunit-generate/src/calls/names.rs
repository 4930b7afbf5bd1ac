//! Resolution of paths in a module, and paths by which an item can be named there.

use super::index::{Index, Meaning, ModuleId, ROOT, Visible};
use std::collections::BTreeSet;

/// The target of a path.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Definition {
    Module(usize),
    Type(usize),
    Trait(usize),
    Function(usize),
    Alias(usize),
    /// An item of the standard library, without `std::`: `collections::HashMap`.
    Std(String),
    /// An item of another crate.
    Foreign(String),
}

/// Names of the prelude and other well-known names, by their path below `std`.
const WELL_KNOWN: [&str; 62] = [
    "vec::Vec",
    "string::String",
    "string::ToString",
    "option::Option",
    "result::Result",
    "boxed::Box",
    "rc::Rc",
    "sync::Arc",
    "borrow::Cow",
    "borrow::ToOwned",
    "borrow::Borrow",
    "cell::Cell",
    "cell::RefCell",
    "collections::HashMap",
    "collections::HashSet",
    "collections::BTreeMap",
    "collections::BTreeSet",
    "collections::VecDeque",
    "collections::BinaryHeap",
    "path::Path",
    "path::PathBuf",
    "ffi::OsStr",
    "ffi::OsString",
    "time::Duration",
    "cmp::Ordering",
    "cmp::Ord",
    "cmp::PartialOrd",
    "cmp::Eq",
    "cmp::PartialEq",
    "clone::Clone",
    "marker::Copy",
    "marker::Send",
    "marker::Sync",
    "marker::Sized",
    "marker::Unpin",
    "marker::PhantomData",
    "ops::Drop",
    "ops::Fn",
    "ops::FnMut",
    "ops::FnOnce",
    "ops::Range",
    "ops::RangeInclusive",
    "ops::RangeBounds",
    "ops::Deref",
    "ops::DerefMut",
    "convert::AsRef",
    "convert::AsMut",
    "convert::From",
    "convert::Into",
    "convert::TryFrom",
    "convert::TryInto",
    "default::Default",
    "iter::Iterator",
    "iter::IntoIterator",
    "iter::ExactSizeIterator",
    "iter::DoubleEndedIterator",
    "iter::Extend",
    "iter::FromIterator",
    "hash::Hash",
    "hash::Hasher",
    "str::FromStr",
    "num::NonZeroUsize",
];

/// Longest chain of imports to follow.
const LONGEST_WAY: usize = 12;

/// The names of a crate.
pub struct Names<'a> {
    pub index: &'a Index,
    /// Name of the crate in other crates.
    crate_name: &'a str,
    bindings: Vec<Binding>,
}

/// A name of an item in a module.
struct Binding {
    definition: Definition,
    module: ModuleId,
    ident: String,
    visible: Visible,
}

impl<'a> Names<'a> {
    pub fn new(index: &'a Index, crate_name: &'a str) -> Self {
        let mut names = Self { index, crate_name, bindings: Vec::new() };
        let mut bindings = Vec::new();
        for module in 0..index.modules.len() {
            let own = index.modules[module].names.iter().map(|name| (name.ident.clone(), name.visible));
            // Items imported `as _` have no name.
            let mut idents: Vec<(String, Visible)> = own.filter(|(ident, _)| ident != "_").collect();
            for (path, visible) in &index.modules[module].globs {
                for definition in names.resolve(module, path) {
                    let Definition::Module(inner) = definition else { continue };
                    let public =
                        index.modules[inner].names.iter().filter(|name| index.sees(Some(module), name.visible));
                    idents.extend(public.map(|name| (name.ident.clone(), *visible)));
                }
            }
            for (ident, visible) in idents {
                for definition in names.lookup(module, &ident, LONGEST_WAY) {
                    bindings.push(Binding { definition, module, ident: ident.clone(), visible });
                }
            }
        }
        names.bindings = bindings;
        names
    }

    /// Returns all meanings of a path in a module, because types and functions may share a name.
    pub fn resolve(&self, module: ModuleId, path: &[String]) -> Vec<Definition> {
        self.follow(module, path, LONGEST_WAY)
    }

    fn follow(&self, module: ModuleId, path: &[String], steps: usize) -> Vec<Definition> {
        let (Some((first, rest)), Some(steps)) = (path.split_first(), steps.checked_sub(1)) else { return Vec::new() };
        let mut reached = match first.as_str() {
            "crate" => vec![Definition::Module(ROOT)],
            "self" => vec![Definition::Module(module)],
            "super" => self.index.modules[module].parent.map(Definition::Module).into_iter().collect(),
            _ => self.lookup(module, first, steps),
        };
        if reached.is_empty() {
            reached.push(self.outside(first));
        }
        for segment in rest {
            reached = reached.into_iter().flat_map(|at| self.below(&at, module, segment, steps)).collect();
        }
        reached
    }

    fn below(&self, at: &Definition, module: ModuleId, segment: &str, steps: usize) -> Vec<Definition> {
        match at {
            Definition::Module(_) if segment == "self" => vec![at.clone()],
            Definition::Module(inner) if segment == "super" => {
                self.index.modules[*inner].parent.map(Definition::Module).into_iter().collect()
            }
            Definition::Module(inner) => {
                let mut found = self.lookup(*inner, segment, steps);
                found.retain(|_| self.index.is_within(module, *inner) || self.is_seen(*inner, segment, module));
                found
            }
            Definition::Std(path) if path.is_empty() => vec![Definition::Std(segment.to_owned())],
            Definition::Std(path) => vec![Definition::Std(format!("{path}::{segment}"))],
            Definition::Foreign(path) => vec![Definition::Foreign(format!("{path}::{segment}"))],
            _ => Vec::new(),
        }
    }

    /// Returns whether a name is visible; names imported by a glob always count as visible.
    fn is_seen(&self, module: ModuleId, ident: &str, from: ModuleId) -> bool {
        let mut names = self.index.modules[module].names.iter().filter(|name| name.ident == ident).peekable();
        names.peek().is_none() || names.any(|name| self.index.sees(Some(from), name.visible))
    }

    /// Resolves a name that the crate does not define.
    fn outside(&self, ident: &str) -> Definition {
        if ["std", "core", "alloc"].contains(&ident) {
            return Definition::Std(String::new());
        }
        if ident == self.crate_name {
            return Definition::Module(ROOT);
        }
        let known = WELL_KNOWN.iter().find(|path| path.rsplit("::").next() == Some(ident));
        known.map_or_else(|| Definition::Foreign(ident.to_owned()), |path| Definition::Std((*path).to_owned()))
    }

    fn lookup(&self, module: ModuleId, ident: &str, steps: usize) -> Vec<Definition> {
        let Some(steps) = steps.checked_sub(1) else { return Vec::new() };
        let here = &self.index.modules[module];
        let mut found = BTreeSet::new();
        for name in here.names.iter().filter(|name| name.ident == ident) {
            match &name.meaning {
                Meaning::Module(id) => drop(found.insert(Definition::Module(*id))),
                Meaning::Type(id) => drop(found.insert(Definition::Type(*id))),
                Meaning::Trait(id) => drop(found.insert(Definition::Trait(*id))),
                Meaning::Function(id) => drop(found.insert(Definition::Function(*id))),
                Meaning::Alias(id) => drop(found.insert(Definition::Alias(*id))),
                // `use memchr::memchr` of another crate must not find itself.
                Meaning::Import(path) if path.first().is_some_and(|first| first == ident) && path.len() > 1 => {
                    found.extend(self.import_of_own_name(module, path, steps));
                }
                Meaning::Import(path) if path.len() == 1 && path[0] == ident => drop(found.insert(self.outside(ident))),
                Meaning::Import(path) => found.extend(self.follow(module, path, steps)),
            }
        }
        if found.is_empty() {
            for (path, _) in &here.globs {
                for definition in self.follow(module, path, steps) {
                    if let Definition::Module(inner) = definition
                        && inner != module
                        && self.is_seen(inner, ident, module)
                    {
                        found.extend(self.lookup(inner, ident, steps));
                    }
                }
            }
        }
        found.into_iter().collect()
    }

    fn import_of_own_name(&self, module: ModuleId, path: &[String], steps: usize) -> Vec<Definition> {
        let mut inner = self.index.modules[module].names.iter().filter(|name| name.ident == path[0]);
        let start = inner.find_map(|name| match name.meaning {
            Meaning::Module(id) => Some(Definition::Module(id)),
            _ => None,
        });
        let mut reached = vec![start.unwrap_or_else(|| self.outside(&path[0]))];
        for segment in &path[1..] {
            reached = reached.into_iter().flat_map(|at| self.below(&at, module, segment, steps)).collect();
        }
        reached
    }

    /// Returns a path by which the item can be named in a module, or in other crates for `None`.
    pub fn path(&self, of: &Definition, from: Option<ModuleId>) -> Option<String> {
        self.path_in(of, from, 6)
    }

    fn path_in(&self, of: &Definition, from: Option<ModuleId>, steps: usize) -> Option<String> {
        let steps = steps.checked_sub(1)?;
        match of {
            Definition::Std(path) => return Some(format!("std::{path}")),
            Definition::Foreign(path) => return Some(path.clone()),
            Definition::Module(ROOT) => return Some("crate".to_owned()),
            _ => {}
        }
        let bindings = self.bindings.iter().filter(|binding| binding.definition == *of);
        let seen = bindings.filter(|binding| self.index.sees(from, binding.visible));
        let paths = seen.filter_map(|binding| {
            if Some(binding.module) == from {
                return Some(binding.ident.clone());
            }
            let module = self.path_in(&Definition::Module(binding.module), from, steps)?;
            Some(format!("{module}::{}", binding.ident))
        });
        paths.min_by_key(|path| (path.matches("::").count(), path.len()))
    }
}
