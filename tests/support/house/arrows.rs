//! Uses between modules: the paths of each file, resolved through imports and re-exports to the defining file.

use proc_macro2::{TokenStream, TokenTree};
use std::collections::{BTreeMap, BTreeSet};
use syn::visit::{self, Visit};

/// Largest number of nested re-exports to follow.
const MOST_STEPS: usize = 16;

/// A path as written, without arguments: `crate`, `report`, `Style`.
type Written = Vec<String>;

/// A file as a module of its crate.
#[derive(Debug)]
pub struct Module {
    /// Path from the root of the checkout.
    pub file: String,
    /// Module path from the crate's root.
    path: Written,
    /// Used paths, as written.
    pub uses: Vec<Written>,
    /// Defined items.
    items: BTreeSet<String>,
    /// Names with the path that they stand for, and whole modules (`*`).
    imports: Vec<(String, Written)>,
    /// Number of enclosing inline modules while reading.
    inline: usize,
}

impl Module {
    /// Reads a module; `inside` is the path of the file from the crate's `src`.
    pub fn new(file: &str, inside: &str, content: &syn::File) -> Self {
        let mut path: Written = inside.trim_end_matches(".rs").split('/').map(str::to_owned).collect();
        path.pop_if(|last| last == "mod" || last == "lib");
        let mut module = Self {
            file: file.to_owned(),
            path,
            uses: Vec::new(),
            items: BTreeSet::new(),
            imports: Vec::new(),
            inline: 0,
        };
        module.visit_file(content);
        module
    }

    /// Returns the first module of the path; empty for the crate's root.
    pub fn room(&self) -> String {
        self.path.first().cloned().unwrap_or_default()
    }

    /// Returns the path as it would be written outside of inline modules.
    fn outwards(&self, path: Written) -> Written {
        let inner = path.iter().take(self.inline).take_while(|name| *name == "super").count();
        match path.get(inner) {
            _ if inner == 0 => path,
            Some(next) if next == "super" => path[inner..].to_vec(),
            _ => std::iter::once("self".to_owned()).chain(path[inner..].iter().cloned()).collect(),
        }
    }

    fn import(&mut self, tree: &syn::UseTree, before: &Written, arrow: bool) {
        let with = |name: &syn::Ident| before.iter().cloned().chain([name.to_string()]).collect::<Written>();
        let (name, path) = match tree {
            syn::UseTree::Path(path) => return self.import(&path.tree, &with(&path.ident), arrow),
            syn::UseTree::Group(group) => {
                return group.items.iter().for_each(|tree| self.import(tree, before, arrow));
            }
            syn::UseTree::Name(name) if name.ident == "self" => {
                (before.last().cloned().unwrap_or_default(), before.clone())
            }
            syn::UseTree::Name(name) => (name.ident.to_string(), with(&name.ident)),
            syn::UseTree::Rename(rename) => (rename.rename.to_string(), with(&rename.ident)),
            syn::UseTree::Glob(_) => ("*".to_owned(), before.clone()),
        };
        let path = self.outwards(path);
        if arrow {
            self.uses.push(path.clone());
        }
        self.imports.push((name, path));
    }

    /// Collects paths in the arguments of a macro, which are not parsed.
    fn tokens(&mut self, tokens: TokenStream) {
        let mut path = Written::new();
        let mut colons = 0;
        for token in tokens {
            match token {
                TokenTree::Ident(name) => {
                    if colons != 2 {
                        self.uses.extend((path.len() > 1).then(|| std::mem::take(&mut path)));
                        path.clear();
                    }
                    path.push(name.to_string());
                    colons = 0;
                }
                TokenTree::Punct(mark) if mark.as_char() == ':' => colons += 1,
                other => {
                    self.uses.extend((path.len() > 1).then(|| std::mem::take(&mut path)));
                    (path, colons) = (Written::new(), 0);
                    if let TokenTree::Group(group) = other {
                        self.tokens(group.stream());
                    }
                }
            }
        }
        self.uses.extend((path.len() > 1).then_some(path));
    }
}

impl<'ast> Visit<'ast> for Module {
    fn visit_item(&mut self, item: &'ast syn::Item) {
        let name = match item {
            syn::Item::Const(item) => Some(&item.ident),
            syn::Item::Enum(item) => Some(&item.ident),
            syn::Item::Fn(item) => Some(&item.sig.ident),
            syn::Item::Macro(item) => item.ident.as_ref(),
            syn::Item::Static(item) => Some(&item.ident),
            syn::Item::Struct(item) => Some(&item.ident),
            syn::Item::Trait(item) => Some(&item.ident),
            syn::Item::Type(item) => Some(&item.ident),
            _ => None,
        };
        self.items.extend(name.map(ToString::to_string));
        visit::visit_item(self, item);
    }

    fn visit_item_mod(&mut self, module: &'ast syn::ItemMod) {
        self.inline += 1;
        visit::visit_item_mod(self, module);
        self.inline -= 1;
    }

    // A visibility is not a use.
    fn visit_visibility(&mut self, _: &'ast syn::Visibility) {}

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        // A re-export is not a use.
        self.import(&item.tree, &Written::new(), matches!(item.vis, syn::Visibility::Inherited));
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let written = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        self.uses.push(self.outwards(written));
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        self.tokens(call.tokens.clone());
    }
}

/// The modules of a crate by path.
pub struct Graph<'a> {
    modules: BTreeMap<&'a [String], &'a Module>,
}

impl<'a> Graph<'a> {
    pub fn new(modules: &'a [Module]) -> Self {
        Self { modules: modules.iter().map(|module| (module.path.as_slice(), module)).collect() }
    }

    /// Returns the room to which a path leads.
    pub fn room(&self, from: &Module, path: &[String]) -> Option<String> {
        self.resolve(from, path, 0).map(Module::room)
    }

    /// Returns the module that defines the target of a path; `None` if it is not in this crate.
    fn resolve(&self, from: &Module, path: &[String], steps: usize) -> Option<&'a Module> {
        let mut at = from.path.clone();
        let mut names = path.iter().peekable();
        match path.first()?.as_str() {
            "crate" => at.clear(),
            "self" => {}
            "super" => {
                while names.next_if(|name| *name == "super").is_some() {
                    at.pop();
                }
                return self.follow(at, names.cloned().collect(), steps);
            }
            child if self.modules.contains_key([at.as_slice(), &[child.to_owned()]].concat().as_slice()) => {
                return self.follow(at, path.to_vec(), steps);
            }
            import => {
                let (_, target) = from.imports.iter().find(|(name, _)| steps <= MOST_STEPS && name == import)?;
                let whole: Written = target.iter().chain(&path[1..]).cloned().collect();
                return self.resolve(from, &whole, steps + 1);
            }
        }
        self.follow(at, path[1..].to_vec(), steps)
    }

    fn follow(&self, mut at: Written, names: Written, steps: usize) -> Option<&'a Module> {
        let mut names = names.into_iter();
        loop {
            let module = *self.modules.get(at.as_slice())?;
            let Some(name) = names.next() else { return Some(module) };
            at.push(name.clone());
            if self.modules.contains_key(at.as_slice()) {
                continue;
            }
            if module.items.contains(&name) || steps > MOST_STEPS {
                return Some(module);
            }
            let known = module.imports.iter().filter(|(import, _)| *import == name || import == "*");
            let mut elsewhere = known.filter_map(|(import, path)| {
                let whole: Written = if import == "*" {
                    path.iter().cloned().chain([name.clone()]).collect()
                } else {
                    path.iter().cloned().chain(names.clone()).collect()
                };
                let found = self.resolve(module, &whole, steps + 1)?;
                (import != "*" || found.items.contains(&name)).then_some(found)
            });
            return elsewhere.next().or(Some(module));
        }
    }

    /// Returns groups of files that depend on each other.
    pub fn circles(&self) -> Vec<BTreeSet<String>> {
        let arrows: BTreeMap<&str, BTreeSet<&str>> =
            self.modules.values().map(|module| self.leading_from(module)).collect();
        let reach: BTreeMap<&str, BTreeSet<&str>> = arrows.keys().map(|file| (*file, reached(&arrows, file))).collect();
        let circle = |file: &&str| -> BTreeSet<String> {
            let mutual = reach[*file].iter().filter(|other| reach[*other].contains(*file));
            mutual.map(|other| (*other).to_owned()).collect()
        };
        let circles: BTreeSet<BTreeSet<String>> = arrows.keys().map(circle).filter(|files| files.len() > 1).collect();
        circles.into_iter().collect()
    }

    fn leading_from(&self, module: &'a Module) -> (&'a str, BTreeSet<&'a str>) {
        let others = module.uses.iter().filter_map(|used| self.resolve(module, used, 0));
        (&module.file, others.map(|other| other.file.as_str()).filter(|other| *other != module.file).collect())
    }
}

/// Returns everything that is reachable from a file by at least one arrow.
fn reached<'a>(arrows: &BTreeMap<&'a str, BTreeSet<&'a str>>, from: &str) -> BTreeSet<&'a str> {
    let mut found = BTreeSet::new();
    let mut queue: Vec<&str> = arrows[from].iter().copied().collect();
    while let Some(file) = queue.pop() {
        if found.insert(file) {
            queue.extend(&arrows[file]);
        }
    }
    found
}
