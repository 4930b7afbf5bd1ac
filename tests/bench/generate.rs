//! For how many functions of a crate are there generated calls that compile?
//!
//! `cargo bench --bench generate -- FOLDER... --work W` makes calls for all functions of two statements and more of each
//! clone's libraries, puts them into a copy, and drops those with errors until the rest compiles.

mod copy;

use cargo_perfunit::generate::{CrateSources, calls};
use cargo_perfunit::model::{Function, GeneratedCall, NotGenerated};
use cargo_perfunit::select::source::modules;
use clap::Parser;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Attribute, Block, ImplItemFn, Item, ItemFn, ItemMod, Signature, TraitItemFn};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// Borrows are checked once all types are right, and so on.
const MOST_ROUNDS: usize = 8;

/// Generated calls of whole crates.
#[derive(Debug, Parser)]
#[command(name = "generate", max_term_width = 100)]
struct Arguments {
    /// Clones of repositories.
    #[arg(value_name = "FOLDER")]
    clones: Vec<PathBuf>,
    /// Where copies go.
    #[arg(long, value_name = "FOLDER")]
    work: PathBuf,
    /// Print functions without a call that compiles, with the reason.
    #[arg(long)]
    failures: bool,
    /// Print all calls that compile.
    #[arg(long)]
    calls: bool,
}

fn main() -> Result<()> {
    // Cargo tells benchmarks that they are some.
    let typed: Vec<_> = std::env::args_os().filter(|argument| argument != "--bench").collect();
    if typed.len() < 2 {
        println!("usage: cargo bench --bench generate -- FOLDER... --work FOLDER [OPTIONS]; --help tells more");
        return Ok(());
    }
    let arguments = Arguments::parse_from(typed);
    println!(
        "{:<24} {:>9} {:>6} {:>7} {:>9} {:>9} {:>6} {:>8}  without a call",
        "package", "functions", "unsafe", "fragile", "candidate", "compiles", "%", "calls"
    );
    for clone in &arguments.clones {
        let clone = copy::typed(clone);
        let name = clone.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let tree = copy::of(&clone, &arguments.work.join(name))?;
        for package in packages(&tree)? {
            if let Err(error) = examine(&tree, &package, &arguments) {
                println!("{:<24} {error}", package.name);
            }
        }
    }
    Ok(())
}

/// A package with a library.
struct Package {
    name: String,
    library: String,
    root: String,
    folder: String,
    features: BTreeSet<String>,
}

fn packages(tree: &Path) -> Result<Vec<Package>> {
    let output =
        Command::new("cargo").args(["metadata", "--no-deps", "--format-version", "1"]).current_dir(tree).output()?;
    let metadata: Value =
        serde_json::from_slice(&output.stdout).map_err(|_| String::from_utf8_lossy(&output.stderr).into_owned())?;
    let top = tree.canonicalize()?;
    let relative = |path: &str| Path::new(path).strip_prefix(&top).ok().map(|path| path.to_string_lossy().into_owned());
    let mut found = Vec::new();
    for package in metadata["packages"].as_array().into_iter().flatten() {
        let mut targets = package["targets"].as_array().into_iter().flatten();
        let library = targets.find(|target| {
            target["kind"].as_array().is_some_and(|kinds| kinds.iter().any(|kind| kind == "lib" || kind == "rlib"))
        });
        let Some(library) = library else { continue };
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let (Some(root), Some(manifest)) =
            (relative(&text(&library["src_path"])), relative(&text(&package["manifest_path"])))
        else {
            continue;
        };
        found.push(Package {
            name: text(&package["name"]),
            library: text(&library["name"]).replace('-', "_"),
            root,
            folder: manifest.trim_end_matches("Cargo.toml").to_owned(),
            features: default_features(&package["features"]),
        });
    }
    Ok(found)
}

fn default_features(features: &Value) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut open = vec!["default".to_owned()];
    while let Some(feature) = open.pop() {
        if let Some(implied) = features[&feature].as_array()
            && found.insert(feature)
        {
            open.extend(implied.iter().filter_map(|name| name.as_str().map(str::to_owned)));
        }
    }
    found
}

fn examine(tree: &Path, package: &Package, arguments: &Arguments) -> Result<()> {
    let listed = copy::git(tree, &["ls-files", "*.rs"])?;
    let read = |path: &str| Some((path.to_owned(), fs::read_to_string(tree.join(path)).ok()?));
    let files: BTreeMap<String, String> =
        listed.lines().filter(|path| path.starts_with(&package.folder)).filter_map(read).collect();
    let wanted = functions(package, &files);
    let sources =
        CrateSources { files: &files, root: &package.root, name: &package.library, features: &package.features };
    let (made, without) = calls(&sources, &wanted);
    let with: BTreeSet<&Function> = made.iter().map(|call| &call.function).collect();
    let (compiling, errors) = compiling(tree, package, &files, &made)?;
    let good: BTreeSet<&Function> = compiling.iter().map(|call| &call.function).collect();
    let count = |kind: fn(&NotGenerated) -> bool| without.iter().filter(|(_, reason)| kind(reason)).count();
    let unsafe_ = count(|reason| *reason == NotGenerated::Unsafe);
    let fragile = count(|reason| *reason == NotGenerated::ReliesOnInvariants);
    let unknown = count(|reason| *reason == NotGenerated::NotInSource);
    let safe = wanted.len() - unsafe_ - fragile - unknown;
    println!(
        "{:<24} {:>9} {unsafe_:>6} {fragile:>7} {:>9} {:>9} {:>6.1} {:>8}  not compiled here: {unknown}, no value: {}",
        package.name,
        wanted.len(),
        with.len(),
        good.len(),
        100.0 * good.len() as f64 / safe.max(1) as f64,
        compiling.len(),
        count(|reason| matches!(reason, NotGenerated::NoValue { .. })),
    );
    if arguments.failures {
        for (function, reason) in &without {
            println!("  {}:{} {}: {reason:?}", function.file, function.line, function.name);
        }
        for call in made.iter().filter(|call| !good.contains(&call.function)) {
            let error = errors.get(&(call.function.clone(), call.setup.clone(), call.call.clone()));
            println!(
                "  {}:{} {}: {}\n      {}\n      {}",
                call.function.file,
                call.function.line,
                call.function.name,
                error.map_or("", String::as_str),
                call.setup,
                call.call
            );
        }
    }
    if arguments.calls {
        for call in &compiling {
            println!("  + {} {}\n      {}\n      {}", call.function.file, call.function.name, call.setup, call.call);
        }
    }
    Ok(())
}

/// All functions of two statements and more that are no test code.
fn functions(package: &Package, files: &BTreeMap<String, String>) -> Vec<Function> {
    let tree = modules(&package.root, &|path| files.get(path).map(|text| text.clone().into_bytes()));
    let mut found = Vec::new();
    for (path, info) in &tree.files {
        let Ok(file) = syn::parse_file(&files[path]) else { continue };
        if info.test_only {
            continue;
        }
        Finder { package: &package.name, path, found: &mut found }.visit_file(&file);
    }
    found
}

struct Finder<'a> {
    package: &'a str,
    path: &'a str,
    found: &'a mut Vec<Function>,
}

impl Finder<'_> {
    fn function(&mut self, attributes: &[Attribute], signature: &Signature, body: &Block) {
        if body.stmts.len() < 2 || is_test(attributes) {
            return;
        }
        self.found.push(Function {
            package: self.package.to_owned(),
            file: self.path.to_owned(),
            line: signature.ident.span().start().line,
            name: signature.ident.to_string(),
        });
    }
}

impl<'ast> Visit<'ast> for Finder<'_> {
    fn visit_item_fn(&mut self, item: &'ast ItemFn) {
        self.function(&item.attrs, &item.sig, &item.block);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast ImplItemFn) {
        self.function(&item.attrs, &item.sig, &item.block);
    }

    fn visit_trait_item_fn(&mut self, item: &'ast TraitItemFn) {
        if let Some(body) = &item.default {
            self.function(&item.attrs, &item.sig, body);
        }
    }

    fn visit_item_mod(&mut self, item: &'ast ItemMod) {
        if !is_test(&item.attrs) {
            visit::visit_item_mod(self, item);
        }
    }
}

fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let text = quote::quote!(#attribute).to_string().replace(' ', "");
        text == "#[test]" || text == "#[cfg(test)]" || text.starts_with("#[cfg(all(test")
    })
}

type Errors = BTreeMap<(Function, String, String), String>;

/// The calls without errors, and the first error of each of the others.
fn compiling(
    tree: &Path,
    package: &Package,
    files: &BTreeMap<String, String>,
    made: &[GeneratedCall],
) -> Result<(Vec<GeneratedCall>, Errors)> {
    let mut rest: Vec<&GeneratedCall> = made.iter().collect();
    let mut errors = Errors::new();
    for _ in 0..MOST_ROUNDS {
        let places = write(tree, files, &rest)?;
        let found = check(tree, package)?;
        if found.is_empty() {
            restore(tree, files)?;
            return Ok((rest.into_iter().cloned().collect(), errors));
        }
        let mut dropped = BTreeSet::new();
        for (file, line, message) in &found {
            let holding = places.iter().find(|(place, _)| place.0 == *file && (place.1..=place.2).contains(line));
            if let Some((_, at)) = holding {
                let call = rest[*at];
                errors.entry((call.function.clone(), call.setup.clone(), call.call.clone())).or_insert(message.clone());
                dropped.insert(*at);
            }
        }
        if dropped.is_empty() {
            restore(tree, files)?;
            return Err(format!("errors elsewhere: {:?}", found.first()).into());
        }
        rest = rest.into_iter().enumerate().filter(|(at, _)| !dropped.contains(at)).map(|(_, call)| call).collect();
    }
    restore(tree, files)?;
    Err("still errors".into())
}

fn restore(tree: &Path, files: &BTreeMap<String, String>) -> Result<()> {
    for (path, text) in files {
        fs::write(tree.join(path), text)?;
    }
    Ok(())
}

/// File, first and last line of a call, and which one it is.
type Places = Vec<((String, usize, usize), usize)>;

/// Writes the calls into modules inside the functions' own.
fn write(tree: &Path, files: &BTreeMap<String, String>, calls: &[&GeneratedCall]) -> Result<Places> {
    restore(tree, files)?;
    let mut by_file: BTreeMap<&str, BTreeMap<&[String], Vec<usize>>> = BTreeMap::new();
    for (at, call) in calls.iter().enumerate() {
        by_file.entry(&call.module.file).or_default().entry(&call.module.inline).or_default().push(at);
    }
    let mut places = Vec::new();
    for (file, modules) in by_file {
        // From the end, so that earlier offsets stay.
        let text = &files[file];
        let mut inserted: Vec<(usize, &Vec<usize>)> =
            modules.iter().filter_map(|(inline, calls)| Some((end(text, inline)?, calls))).collect();
        inserted.sort();
        let mut out = String::new();
        let mut from = 0;
        for (end, inside) in inserted {
            out.push_str(&text[from..end]);
            from = end;
            out.push_str("\n#[cfg(test)] mod perfunit_generated {\n#![allow(warnings, clippy::all)]\n");
            out.push_str("extern crate std;\nuse super::*;\n");
            for at in inside {
                let call = calls[*at];
                let first = out.lines().count() + 1;
                write!(
                    out,
                    "fn call_{at}(n: usize) {{\nlet (input, mut lent) =\n{}\n;\nlet made = {{\n{}\n}};\n}}\n",
                    call.setup, call.call
                )?;
                places.push(((file.to_owned(), first, out.lines().count()), *at));
            }
            out.push_str("}\n");
        }
        out.push_str(&text[from..]);
        fs::write(tree.join(file), out)?;
    }
    Ok(places)
}

/// The offset at which the inline module ends.
fn end(text: &str, inline: &[String]) -> Option<usize> {
    if inline.is_empty() {
        return Some(text.len());
    }
    let file = syn::parse_file(text).ok()?;
    let mut items = &file.items;
    let mut end = None;
    for name in inline {
        let module = items.iter().find_map(|item| match item {
            Item::Mod(module) if module.ident == name && module.content.is_some() => Some(module),
            _ => None,
        })?;
        let (brace, inside) = module.content.as_ref()?;
        items = inside;
        end = Some(brace.span.close().span().byte_range().start);
    }
    end
}

/// Errors of a test build of the library: file, line, message.
fn check(tree: &Path, package: &Package) -> Result<Vec<(String, usize, String)>> {
    let output = Command::new("cargo")
        .args(["check", "--quiet", "--profile", "test", "--lib", "--message-format", "json", "--manifest-path"])
        .arg(tree.join(&package.folder).join("Cargo.toml"))
        .env("CARGO_TARGET_DIR", tree.join("target"))
        // What a crate denies is no error of a call.
        .env("RUSTFLAGS", "--cap-lints warn")
        .current_dir(tree)
        .output()?;
    let mut found = Vec::new();
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let Ok(message) = serde_json::from_str::<Value>(line) else { continue };
        let message = &message["message"];
        if message["level"] != "error" {
            continue;
        }
        for span in message["spans"].as_array().into_iter().flatten() {
            let place = outermost(span);
            let text = message["message"].as_str().unwrap_or_default();
            found.push((
                place["file_name"].as_str().unwrap_or_default().to_owned(),
                place["line_start"].as_u64().unwrap_or_default() as usize,
                text.to_owned(),
            ));
        }
    }
    if found.is_empty() && !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).lines().take(5).collect::<Vec<_>>().join(" ").into());
    }
    Ok(found)
}

/// What a macro's expansion stands for.
fn outermost(span: &Value) -> &Value {
    let mut at = span;
    while at["expansion"]["span"].is_object() {
        at = &at["expansion"]["span"];
    }
    at
}
