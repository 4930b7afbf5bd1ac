//! Resolves the modules of a crate: follows `mod` declarations from its root to their files.
//!
//! Works on tokens, so that declarations inside macro calls (`cfg_if! { .. mod unix; }`) are found too.

use super::attributes::is_test_only;
use super::condition::{Condition, Configuration};
use super::normalise::bare;
use perfunit_project::git::path::{is_rust, join, parent};
use proc_macro2::{Delimiter, TokenStream, TokenTree};
use std::collections::{BTreeMap, VecDeque};
use syn::parse::Parser;
use syn::punctuated::Punctuated;
use syn::{Attribute, Expr, ExprLit, Lit, LitStr, Meta, Token};

/// A file as part of a target.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileInTarget {
    /// Module path inside the crate, empty for the root: `a::b`.
    pub module: String,
    /// True if only test builds contain the file.
    pub test_only: bool,
    /// True if the file is reached through a symbolic link. The compiler names it by the link.
    pub is_behind_link: bool,
}

/// Files of a target, with their modules.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ModuleTree {
    /// Every existing file, by path, including those of modules for other platforms.
    pub files: BTreeMap<String, FileInTarget>,
    /// Possible files of each module, by the declaring file and the module's path in it: `inline::name`.
    declarations: BTreeMap<(String, String), Vec<Declared>>,
}

/// A file of a declaration, and the condition under which it is used.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Declared {
    path: String,
    condition: Condition,
}

impl ModuleTree {
    /// Returns the file of a module that another file declares, in such a build: the first possible one that exists.
    pub fn file_of(&self, declared_in: &str, module: &str, build: &Configuration<'_>) -> Option<&str> {
        let declared = self.declarations.get(&(declared_in.to_owned(), module.to_owned()))?;
        let mut files = declared.iter().filter(|declared| build.may_satisfy(&declared.condition));
        files.find(|declared| self.files.contains_key(&declared.path)).map(|declared| declared.path.as_str())
    }
}

/// Resolves the `mod` declarations from the root file of a target. `read` returns a file's content by its path relative
/// to the repository; declared files that it does not have are skipped.
pub fn modules(root_path: &str, read: &dyn Fn(&str) -> Option<Vec<u8>>) -> ModuleTree {
    let mut tree = ModuleTree::default();
    let mut queue = VecDeque::from([QueuedFile {
        path: root_path.to_owned(),
        children: parent(root_path).to_owned(),
        info: FileInTarget::default(),
    }]);
    while let Some(mut place) = queue.pop_front() {
        // Visit a file again only if it turns out to be part of builds other than tests.
        if tree.files.get(&place.path).is_some_and(|known| !known.test_only || place.info.test_only) {
            continue;
        }
        let Some(content) = read(&place.path) else { continue };
        let text = String::from_utf8_lossy(&content);
        let tokens = without_first_line_script(&text).parse::<TokenStream>();
        if let Ok(tokens) = &tokens {
            let inner = Attribute::parse_inner.parse2(inner_attributes(tokens)).unwrap_or_default();
            place.info.test_only |= is_test_only(&inner);
        }
        let known = tree.files.entry(place.path.clone()).or_insert_with(|| place.info.clone());
        known.test_only = place.info.test_only;
        if let Ok(tokens) = tokens {
            Walker { place: &place, queue: &mut queue, declarations: &mut tree.declarations }.file(tokens);
        }
    }
    tree
}

/// A file to read.
struct QueuedFile {
    path: String,
    /// Folder that contains the files of its modules.
    children: String,
    info: FileInTarget,
}

/// Position in a file.
#[derive(Clone)]
struct Scope {
    /// Folder of the modules declared here.
    folder: String,
    /// Folder that `#[path]` is relative to.
    path_base: String,
    module: String,
    /// Enclosing inline modules, relative to the file: `a::b`.
    inline: String,
    test_only: bool,
    condition: Condition,
}

struct Walker<'a> {
    place: &'a QueuedFile,
    queue: &'a mut VecDeque<QueuedFile>,
    declarations: &'a mut BTreeMap<(String, String), Vec<Declared>>,
}

impl Walker<'_> {
    fn file(&mut self, tokens: TokenStream) {
        let scope = Scope {
            folder: self.place.children.clone(),
            path_base: parent(&self.place.path).to_owned(),
            module: self.place.info.module.clone(),
            inline: String::new(),
            test_only: self.place.info.test_only,
            condition: Condition::default(),
        };
        self.tokens(tokens, &scope);
    }

    fn tokens(&mut self, tokens: TokenStream, scope: &Scope) {
        let trees: Vec<TokenTree> = tokens.into_iter().collect();
        // Index of the first attribute of the current item.
        let mut start = 0;
        let mut at = 0;
        while at < trees.len() {
            match &trees[at] {
                TokenTree::Ident(word) if word == "mod" => {
                    let attributes = || attributes(&trees[start..at]);
                    match (trees.get(at + 1), trees.get(at + 2)) {
                        (Some(TokenTree::Ident(name)), Some(TokenTree::Punct(end))) if end.as_char() == ';' => {
                            self.declaration(&bare(name), &attributes(), scope);
                            (at, start) = (at + 2, at + 3);
                        }
                        (Some(TokenTree::Ident(name)), Some(TokenTree::Group(body)))
                            if body.delimiter() == Delimiter::Brace =>
                        {
                            self.tokens(body.stream(), &inline(&bare(name), &attributes(), scope));
                            (at, start) = (at + 2, at + 3);
                        }
                        _ => {}
                    }
                }
                TokenTree::Ident(word) if word == "include" => self.include(&trees[at + 1..], scope),
                TokenTree::Group(body) if body.delimiter() != Delimiter::Bracket => {
                    let attributes = attributes(&trees[start..at]);
                    let test_only = scope.test_only || is_test_only(&attributes);
                    let condition = scope.condition.and(Condition::of(&attributes));
                    self.tokens(body.stream(), &Scope { test_only, condition, ..scope.clone() });
                    if body.delimiter() == Delimiter::Brace {
                        start = at + 1;
                    }
                }
                TokenTree::Punct(punct) if punct.as_char() == ';' => start = at + 1,
                _ => {}
            }
            at += 1;
        }
    }

    fn declaration(&mut self, name: &str, attributes: &[Attribute], scope: &Scope) {
        let info = FileInTarget {
            module: join_module(&scope.module, name),
            test_only: scope.test_only || is_test_only(attributes),
            is_behind_link: false,
        };
        let condition = scope.condition.and(Condition::of(attributes));
        let mut declare = |path: &str, children: &str, condition| {
            let key = (self.place.path.clone(), join_module(&scope.inline, name));
            self.declarations.entry(key).or_default().push(Declared { path: path.to_owned(), condition });
            self.queue.push_back(QueuedFile {
                path: path.to_owned(),
                children: children.to_owned(),
                info: info.clone(),
            });
        };
        for (path, own) in paths(attributes) {
            let Some(path) = join(&scope.path_base, &path) else { continue };
            declare(&path, parent(&path), condition.and(own));
        }
        if attributes.iter().any(|attribute| attribute.path().is_ident("path")) {
            return;
        }
        let Some(children) = join(&scope.folder, name) else { return };
        for path in [format!("{children}.rs"), format!("{children}/mod.rs")] {
            declare(&path, &children, condition.clone());
        }
    }

    /// Parses the arguments after the word `include`: `!("file.rs")`.
    fn include(&mut self, after: &[TokenTree], scope: &Scope) {
        let [TokenTree::Punct(mark), TokenTree::Group(arguments), ..] = after else { return };
        let Ok(literal) = syn::parse2::<LitStr>(arguments.stream()) else { return };
        let path = join(parent(&self.place.path), &literal.value());
        let Some(path) = path.filter(|path| mark.as_char() == '!' && is_rust(path)) else { return };
        let info = FileInTarget { module: scope.module.clone(), test_only: scope.test_only, is_behind_link: false };
        self.queue.push_back(QueuedFile { children: parent(&path).to_owned(), path, info });
    }
}

/// Returns the scope inside `mod name { .. }`.
fn inline(name: &str, attributes: &[Attribute], scope: &Scope) -> Scope {
    let folder = match paths(attributes).first() {
        Some((path, _)) => join(&scope.path_base, path),
        None => join(&scope.folder, name),
    }
    .unwrap_or_default();
    Scope {
        path_base: folder.clone(),
        folder,
        module: join_module(&scope.module, name),
        inline: join_module(&scope.inline, name),
        test_only: scope.test_only || is_test_only(attributes),
        condition: scope.condition.and(Condition::of(attributes)),
    }
}

/// Returns the values of `#[path = ".."]`, with the conditions of those in `cfg_attr`.
fn paths(attributes: &[Attribute]) -> Vec<(String, Condition)> {
    let mut found = Vec::new();
    for attribute in attributes {
        add_paths(&attribute.meta, &Condition::default(), &mut found);
    }
    found
}

fn add_paths(meta: &Meta, condition: &Condition, found: &mut Vec<(String, Condition)>) {
    match meta {
        Meta::NameValue(pair) if pair.path.is_ident("path") => {
            if let Expr::Lit(ExprLit { lit: Lit::Str(path), .. }) = &pair.value {
                found.push((path.value(), condition.clone()));
            }
        }
        Meta::List(list) if list.path.is_ident("cfg_attr") => {
            let Ok(metas) = list.parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated) else { return };
            let mut metas = metas.iter();
            let Some(first) = metas.next() else { return };
            let condition = condition.and(Condition::of_argument(first));
            metas.for_each(|meta| add_paths(meta, &condition, found));
        }
        _ => {}
    }
}

/// Parses the outer attributes among the tokens before an item.
fn attributes(before: &[TokenTree]) -> Vec<Attribute> {
    let mut found = Vec::new();
    for window in before.windows(2) {
        if let [TokenTree::Punct(hash), TokenTree::Group(group)] = window
            && hash.as_char() == '#'
            && group.delimiter() == Delimiter::Bracket
        {
            let tokens = window.iter().cloned().collect::<TokenStream>();
            found.extend(Attribute::parse_outer.parse2(tokens).unwrap_or_default());
        }
    }
    found
}

/// Returns the tokens of the `#![..]` at the start of a file.
fn inner_attributes(tokens: &TokenStream) -> TokenStream {
    let trees: Vec<TokenTree> = tokens.clone().into_iter().collect();
    let is_inner = |chunk: &[TokenTree]| {
        matches!(chunk, [TokenTree::Punct(hash), TokenTree::Punct(mark), TokenTree::Group(_)]
            if hash.as_char() == '#' && mark.as_char() == '!')
    };
    let count = trees.chunks(3).take_while(|chunk| is_inner(chunk)).count();
    trees.into_iter().take(3 * count).collect()
}

/// Removes a byte order mark and a `#!/usr/bin/..` line.
pub(super) fn without_first_line_script(text: &str) -> &str {
    let text = text.trim_start_matches('\u{feff}');
    if text.starts_with("#!") && !text[2..].trim_start().starts_with('[') {
        return text.find('\n').map_or("", |end| &text[end..]);
    }
    text
}

fn join_module(module: &str, name: &str) -> String {
    if module.is_empty() { name.to_owned() } else { format!("{module}::{name}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks the files of the target with root `src/lib.rs`: `path=module`, with `?` if test-only.
    #[track_caller]
    fn check(files: &[(&str, &str)], expected: &[&str]) {
        let read = |path: &str| files.iter().find(|(name, _)| *name == path).map(|(_, text)| text.as_bytes().to_vec());
        let found: Vec<String> = modules("src/lib.rs", &read)
            .files
            .iter()
            .map(|(path, file)| format!("{path}={}{}", file.module, if file.test_only { "?" } else { "" }))
            .collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn both_file_rules_are_followed() {
        check(
            &[
                ("src/lib.rs", "mod a; pub mod b; mod absent;"),
                ("src/a.rs", "pub mod c;"),
                ("src/a/c.rs", ""),
                ("src/b/mod.rs", "mod d;"),
                ("src/b/d.rs", ""),
                ("src/unused.rs", ""),
            ],
            &["src/a.rs=a", "src/a/c.rs=a::c", "src/b/d.rs=b::d", "src/b/mod.rs=b", "src/lib.rs="],
        );
    }

    #[test]
    fn inline_modules_add_a_folder() {
        check(
            &[("src/lib.rs", "mod a { mod b; }"), ("src/a/b.rs", "mod c { mod d; }"), ("src/a/b/c/d.rs", "")],
            &["src/a/b.rs=a::b", "src/a/b/c/d.rs=a::b::c::d", "src/lib.rs="],
        );
    }

    #[test]
    fn path_attributes_are_followed() {
        check(
            &[
                ("src/lib.rs", "#[path = \"x/y.rs\"] mod a; #[cfg_attr(unix, path = \"u.rs\")] mod os; mod r#type;"),
                ("src/x/y.rs", "mod z;"),
                ("src/x/z.rs", "#[path = \"../../shared.rs\"] mod s;"),
                ("shared.rs", ""),
                ("src/u.rs", ""),
                ("src/os.rs", ""),
                ("src/type.rs", ""),
            ],
            &[
                "shared.rs=a::z::s",
                "src/lib.rs=",
                "src/os.rs=os",
                "src/type.rs=type",
                "src/u.rs=os",
                "src/x/y.rs=a",
                "src/x/z.rs=a::z",
            ],
        );
    }

    #[test]
    fn a_declaration_stands_for_the_file_that_is_compiled() {
        let files = [
            (
                "src/lib.rs",
                "#[cfg(windows)] #[path = \"a.rs\"] mod os; #[cfg(not(windows))] #[path = \"b.rs\"] mod os;
                 #[cfg_attr(feature = \"x\", path = \"x.rs\")] mod choice; mod inner { mod deep; } mod absent;
                 cfg_if! { if #[cfg(windows)] { #[path = \"w.rs\"] mod imp; } else { #[path = \"u.rs\"] mod imp; } }",
            ),
            ("src/a.rs", ""),
            ("src/b.rs", ""),
            ("src/x.rs", ""),
            ("src/choice.rs", ""),
            ("src/inner/deep/mod.rs", "mod deeper;"),
            ("src/inner/deep/deeper.rs", ""),
            ("src/w.rs", ""),
            ("src/u.rs", ""),
        ];
        let read = |path: &str| files.iter().find(|(name, _)| *name == path).map(|(_, text)| text.as_bytes().to_vec());
        let tree = modules("src/lib.rs", &read);
        let file = |features: &[&str], from: &str, module: &str| {
            let features = features.iter().map(|name| (*name).to_owned()).collect();
            tree.file_of(from, module, &Configuration::of_unit_tests(Some(&features))).map(str::to_owned)
        };
        let of_root = |features: &[&str], module: &str| file(features, "src/lib.rs", module).unwrap_or_default();
        assert_eq!(of_root(&[], "os"), "src/b.rs");
        assert_eq!([of_root(&[], "choice"), of_root(&["x"], "choice")], ["src/choice.rs", "src/x.rs"]);
        assert_eq!([of_root(&[], "inner::deep"), of_root(&[], "absent")], ["src/inner/deep/mod.rs", ""]);
        assert_eq!(of_root(&[], "imp"), "src/u.rs");
        let deeper = file(&[], "src/inner/deep/mod.rs", "deeper");
        assert_eq!(deeper.as_deref(), Some("src/inner/deep/deeper.rs"));
    }

    #[test]
    fn files_below_cfg_test_are_test_only() {
        check(
            &[
                ("src/lib.rs", "#[cfg(test)] mod tests; #[cfg(all(test, unix))] mod a { mod b; } mod c;"),
                ("src/tests.rs", "mod deep;"),
                ("src/tests/deep.rs", ""),
                ("src/a/b.rs", ""),
                ("src/c.rs", "#![allow(dead_code)] #![cfg(test)] mod d;"),
                ("src/c/d.rs", ""),
            ],
            &[
                "src/a/b.rs=a::b?",
                "src/c.rs=c?",
                "src/c/d.rs=c::d?",
                "src/lib.rs=",
                "src/tests.rs=tests?",
                "src/tests/deep.rs=tests::deep?",
            ],
        );
    }

    #[test]
    fn a_file_that_other_builds_hold_too_is_not_test_only() {
        check(
            &[
                ("src/lib.rs", "#[cfg(test)] #[path = \"a.rs\"] mod t; mod a;"),
                ("src/a.rs", "mod b;"),
                ("src/a/b.rs", ""),
                ("src/b.rs", ""),
            ],
            &["src/a.rs=t", "src/a/b.rs=a::b", "src/b.rs=t::b?", "src/lib.rs="],
        );
    }

    #[test]
    fn macro_calls_and_includes_are_followed() {
        check(
            &[
                (
                    "src/lib.rs",
                    "cfg_if! { if #[cfg(unix)] { mod a; } } include!(\"gen.rs\"); include!(concat!(\"a\"));",
                ),
                ("src/a.rs", "fn f() { include!(\"table.rs\") }"),
                ("src/gen.rs", "mod b;"),
                ("src/b.rs", ""),
                ("src/table.rs", "[1]"),
            ],
            &["src/a.rs=a", "src/b.rs=b", "src/gen.rs=", "src/lib.rs=", "src/table.rs=a"],
        );
    }

    #[test]
    fn cycles_end() {
        check(
            &[
                ("src/lib.rs", "#[path = \"lib.rs\"] mod a; #[path = \"b.rs\"] mod b;"),
                ("src/b.rs", "include!(\"lib.rs\");"),
            ],
            &["src/b.rs=b", "src/lib.rs="],
        );
    }

    #[test]
    fn broken_and_foreign_files_are_no_obstacle() {
        check(&[("src/lib.rs", "#!/usr/bin/env run\nmod a;"), ("src/a.rs", "fn (")], &["src/a.rs=a", "src/lib.rs="]);
    }
}
