//! Placement of generated workloads: in a separate module inside the target module, with its content in a separate file, so
//! that no line of the project moves. Pure: texts in, texts out.

use perfunit_build::GENERATED_MARKER;
use perfunit_model::{GENERATED_MODULE as MODULE, GeneratedCall, ModulePlace};
use std::collections::BTreeMap;
use syn::visit::{self, Visit};
use syn::{Item, ItemMod};

/// A call to place.
#[derive(Debug, Clone, Copy)]
pub struct Placing<'a> {
    pub call: &'a GeneratedCall,
    /// Name of the test function.
    pub name: &'a str,
    /// Size of the arguments; `None` if several sizes are to be tried.
    pub n: Option<usize>,
}

/// Lines of a call in a generated file, from 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lines {
    pub file: String,
    pub first: usize,
    pub last: usize,
    /// Index of the call.
    pub index: usize,
}

/// Changed and generated files of a version.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Placed {
    pub files: BTreeMap<String, String>,
    pub lines: Vec<Lines>,
    /// Indices of calls with a module that the version lacks.
    pub homeless: Vec<usize>,
}

/// Returns the name of a generated test as libtest prints it; `module` is the path of the file's module in its crate.
pub fn test_name(module: &str, place: &ModulePlace, name: &str) -> String {
    let inline = place.inline.iter().map(String::as_str);
    let segments = std::iter::once(module).chain(inline).chain([MODULE, name]);
    segments.filter(|segment| !segment.is_empty()).collect::<Vec<_>>().join("::")
}

/// Places calls in a version; `read` returns a file of the version.
pub fn place(calls: &[Placing<'_>], read: &dyn Fn(&str) -> Option<String>) -> Placed {
    let mut by_file: BTreeMap<&str, BTreeMap<&[String], Vec<usize>>> = BTreeMap::new();
    for (index, Placing { call, .. }) in calls.iter().enumerate() {
        let modules = by_file.entry(&call.module.file).or_default();
        modules.entry(&call.module.inline).or_default().push(index);
    }
    let mut placed = Placed::default();
    for (file, modules) in by_file {
        let Some(text) = read(file) else {
            placed.homeless.extend(modules.into_values().flatten());
            continue;
        };
        let mut insertions = Vec::new();
        for (inline, members) in modules {
            let own = own_file(file, inline);
            let ends = module_ends(&text, inline);
            if ends.is_empty() {
                placed.homeless.extend(members);
                continue;
            }
            // The last line of a file may be a comment; the text before a brace cannot be one.
            let space = if inline.is_empty() { "\n" } else { " " };
            let declaration = format!("{space}{}{space}", declaration(base_name(&own)));
            insertions.extend(ends.into_iter().map(|end| (end, declaration.clone())));
            let (content, lines) = content(calls, &members, &own);
            placed.files.insert(own, content);
            placed.lines.extend(lines);
        }
        if !insertions.is_empty() {
            placed.files.insert(file.to_owned(), insert(text, insertions));
        }
    }
    placed
}

fn insert(mut text: String, mut insertions: Vec<(usize, String)>) -> String {
    insertions.sort();
    for (at, declaration) in insertions.into_iter().rev() {
        text.insert_str(at, &declaration);
    }
    text
}

/// Returns the offsets at which a module ends; several if conditions choose between definitions.
pub fn module_ends(text: &str, inline: &[String]) -> Vec<usize> {
    if inline.is_empty() {
        return vec![text.len()];
    }
    let Ok(parsed) = syn::parse_str(text) else { return Vec::new() };
    let mut finder = Finder { wanted: inline, path: Vec::new(), ends: Vec::new() };
    finder.visit_file(&parsed);
    finder.ends
}

/// Returns the module declaration. It includes the file, because the folder of an inline module's files depends on the
/// module's parents. Names resolve in any edition and without a prelude; `extern crate std` must not come from a macro.
fn declaration(own: &str) -> String {
    format!(
        "#[cfg(test)] #[allow(warnings)] mod {MODULE} {{ extern crate core as __perfunit_core; extern crate std; \
         extern crate __perfunit_runtime as __perfunit; \
         self::__perfunit_core::include! {{ \"{MODULE}/{own}\" }} }}"
    )
}

/// Finds the closing braces of an inline module.
struct Finder<'a> {
    wanted: &'a [String],
    path: Vec<String>,
    ends: Vec<usize>,
}

impl<'ast> Visit<'ast> for Finder<'_> {
    fn visit_item(&mut self, item: &'ast Item) {
        if matches!(item, Item::Mod(_)) {
            visit::visit_item(self, item);
        }
    }

    fn visit_item_mod(&mut self, item: &'ast ItemMod) {
        let Some((brace, _)) = &item.content else { return };
        self.path.push(item.ident.to_string());
        if self.path == self.wanted {
            self.ends.push(brace.span.close().byte_range().start);
        }
        visit::visit_item_mod(self, item);
        self.path.pop();
    }
}

/// Returns the file of a module's generated workloads; never directly below a folder in which cargo looks for targets.
fn own_file(file: &str, inline: &[String]) -> String {
    let name = base_name(file);
    let folder = file.strip_suffix(name).unwrap_or_default();
    let parts =
        [name.trim_end_matches(".rs")].into_iter().chain(inline.iter().map(|name| name.trim_start_matches("r#")));
    format!("{folder}{MODULE}/of_{}.rs", parts.collect::<Vec<_>>().join("."))
}

fn base_name(file: &str) -> &str {
    file.rsplit('/').next().unwrap_or(file)
}

/// Beginning of each generated file.
const HEAD: &str = "\
use super::*;
use self::__perfunit::__private::generated as __generated;
";

fn content(calls: &[Placing<'_>], members: &[usize], file: &str) -> (String, Vec<Lines>) {
    let (mut text, mut lines) = (HEAD.to_owned(), Vec::new());
    for index in members {
        let first = text.lines().count() + 1;
        text.push_str(&function(&calls[*index]));
        lines.push(Lines { file: file.to_owned(), first, last: text.lines().count(), index: *index });
    }
    (text, lines)
}

fn function(Placing { call, name, n }: &Placing<'_>) -> String {
    let GeneratedCall { setup, call, .. } = call;
    let marker = format!("concat!(\"{GENERATED_MARKER}\", module_path!(), \"::{name};\")");
    let body = match n {
        Some(n) => format!(
            "__generated::run({marker},\n\
             || {{ let n: usize = self::__perfunit_core::hint::black_box({n}usize); {setup}\n}},\n\
             |input, lent| {{ self::__perfunit_core::hint::black_box({call}\n); }});"
        ),
        None => format!(
            "use self::__generated::{{Printable as _, Unprintable as _}};\n\
             __generated::try_out({marker},\n\
             |n: usize| {{ {setup}\n}},\n\
             |input, lent, __watch| {{ let __value = {{ {call}\n}}; __watch.done(); \
             __watch.see((&__generated::Value(&__value)).seen()); }});"
        ),
    };
    format!("#[self::__perfunit_core::prelude::v1::test]\nfn {name}() {{\n{body}\n}}\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use perfunit_model::Function;

    fn call(file: &str, inline: &[&str]) -> GeneratedCall {
        let function =
            Function { package: "demo".to_owned(), file: file.to_owned(), line: 1, name: "twice".to_owned() };
        let inline = inline.iter().map(|name| (*name).to_owned()).collect();
        GeneratedCall {
            function,
            module: ModulePlace { file: file.to_owned(), inline },
            setup: "{ ((n,), ()) }".to_owned(),
            call: "twice(input.0)".to_owned(),
            is_sized: true,
            by_caller: false,
        }
    }

    fn place_call(call: &GeneratedCall, text: &str, n: Option<usize>) -> Placed {
        let (file, text) = (call.module.file.clone(), text.to_owned());
        place(&[Placing { call, name: "twice_0", n }], &move |path| (path == file).then(|| text.clone()))
    }

    #[track_caller]
    fn check(file: &str, inline: &[&str], text: &str, own: &str, rest: &str) {
        let Placed { files, lines, homeless } = place_call(&call(file, inline), text, None);
        assert!(homeless.is_empty());
        let space = if inline.is_empty() { "\n" } else { " " };
        let declared = format!("{space}{}{space}", declaration(base_name(own)));
        assert_eq!(files[file].replacen(&declared, "", 1), *text);
        assert!(files[file].ends_with(&format!("{declared}{rest}")));
        assert_eq!(files[file].lines().position(|line| line.contains("fn f")), Some(text.lines().count() - 1));
        let own = &files[own];
        let Lines { first, last, .. } = lines[0];
        let function: Vec<&str> = own.lines().skip(first - 1).take(last + 1 - first).collect();
        assert!(function[1].starts_with("fn twice_0") && *function.last().unwrap() == "}");
        syn::parse_file(own).unwrap();
    }

    #[test]
    fn a_file_declares_the_module_behind_its_last_line() {
        check("src/lib.rs", &[], "fn f() {}\n", "src/perfunit_generated/of_lib.rs", "");
        check("src/bin/x.rs", &[], "fn f() {}\n", "src/bin/perfunit_generated/of_x.rs", "");
    }

    #[test]
    fn an_inline_module_declares_it_in_its_last_line() {
        let text = "mod a { mod r#b { fn f() {} } }";
        check("src/lib.rs", &["a", "r#b"], text, "src/perfunit_generated/of_lib.a.b.rs", "} }");
        check("src/x/mod.rs", &["a", "r#b"], text, "src/x/perfunit_generated/of_mod.a.b.rs", "} }");
        check("x.rs", &["a", "r#b"], text, "perfunit_generated/of_x.a.b.rs", "} }");
    }

    #[test]
    fn a_module_that_a_version_lacks_is_told_apart() {
        let check = |file: &str, inline: &[&str]| {
            let placed = place(&[Placing { call: &call(file, inline), name: "twice_0", n: Some(16) }], &|path| {
                (path == "src/lib.rs").then(|| "mod other {}".to_owned())
            });
            assert_eq!((placed.homeless, placed.files.len()), (vec![0], 0));
        };
        check("src/gone.rs", &[]);
        check("src/lib.rs", &["a"]);
    }

    #[test]
    fn a_test_is_named_by_its_modules() {
        let place = call("src/x.rs", &["a"]).module;
        assert_eq!(test_name("x", &place, "f_0"), "x::a::perfunit_generated::f_0");
        assert_eq!(test_name("", &call("src/lib.rs", &[]).module, "f_0"), "perfunit_generated::f_0");
    }
}
