//! The words behind a subcommand: a version, then parts of tests' names. Who leaves the version out, or names two, is
//! understood if the sources leave no doubt, as git takes a path where it finds no revision.

use super::options::Options;
use perfunit_model::error::{Error, Result};
use perfunit_project::cargo::{self, Cargo, Workspace};
use perfunit_project::git::{Repository, Request};
use perfunit_select::Filter;
use perfunit_select::source::{items, modules};
use perfunit_system::fs;
use perfunit_system::term::Terminal;
use std::collections::BTreeSet;
use std::path::Path;

/// The options with what was meant.
pub fn adopt(options: &Options, terminal: Terminal) -> Result<Options> {
    let mut options = options.clone();
    let repository = Repository::discover(&options.folder)?;
    let typed = match &options.request {
        Request::Against { base: Some(word), .. } if repository.has_nothing_like(word) => Some(word.clone()),
        _ => None,
    };
    let versions: Vec<String> =
        options.filter.names.iter().filter(|name| repository.has_commit(name)).cloned().collect();
    if typed.is_none() && versions.is_empty() {
        return Ok(options);
    }
    let tests = tests(&options, repository.root())?;
    let is_test = |word: &str| {
        let filter = Filter { names: vec![word.to_owned()], exact: options.filter.exact, ..Filter::default() };
        tests.iter().any(|test| filter.takes(test))
    };
    if let Some(version) = versions.iter().find(|version| !is_test(version)) {
        return Err(Error::usage(format!("`{version}` is a revision, and no test has that in its name"))
            .hint("`BASE..HEAD` compares two versions; `-E 'test(NAME)'` chooses tests whatever revisions there are"));
    }
    if let Some(word) = typed.filter(|word| is_test(word)) {
        let which = if options.filter.exact { "tests of that name" } else { "tests with that in their names" };
        terminal.status("Filter", &format!("`{word}` is not a revision: only {which} are compared"));
        if let Request::Against { base, .. } = &mut options.request {
            *base = None;
        }
        options.filter.names.insert(0, word);
    }
    Ok(options)
}

/// The tests that the working tree's sources have; those that macros make are known to who builds them only.
fn tests(options: &Options, git_root: &Path) -> Result<BTreeSet<String>> {
    let cargo = Cargo::find(&options.folder)?;
    let location = cargo::locate(&cargo, &options.folder, options.manifest.as_deref())?;
    let workspace = cargo::load(&cargo, git_root, &location.workspace_root.join("Cargo.toml"))?;
    Ok(names(&workspace, &|path| fs::read_if_exists(&git_root.join(path)).ok().flatten()))
}

fn names(workspace: &Workspace, read: &dyn Fn(&str) -> Option<Vec<u8>>) -> BTreeSet<String> {
    let targets = workspace.members().flat_map(|package| &package.targets);
    let files = targets.filter(|target| target.tested).flat_map(|target| modules(&target.root, read).files);
    let names = files.flat_map(|(path, file)| {
        let items = read(&path).and_then(|content| items(&content)).unwrap_or_default();
        let tests = items.into_iter().filter(|item| item.is_test);
        tests.map(move |test| match file.module.as_str() {
            "" => test.name,
            module => format!("{module}::{}", test.name),
        })
    });
    names.collect()
}
