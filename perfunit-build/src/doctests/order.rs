//! Requests from the tool to its rustdoc role, and the results, as files in one folder.

use super::extraction::DocTest;
use perfunit_model::error::{Error, Result};
use perfunit_model::{NoDoctest, NotExtracted, Sides, TargetId, TestCodeDifference, TestCodeItem};
use perfunit_system::cache::{self, KeyBuilder};
use perfunit_system::fs;
use perfunit_system::json;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// File name of the executable that selects the role.
pub const RUSTDOC_NAME: &str = "perfunit-rustdoc";
/// Environment variable with the folder for requests and results.
pub const FOLDER_VARIABLE: &str = "PERFUNIT_DOCTESTS_DIR";
const ORDER: &str = "order.json";

/// Instructions for the rustdoc role.
#[derive(Debug, Serialize, Deserialize)]
pub struct Order {
    /// The real rustdoc.
    pub rustdoc: PathBuf,
    pub rustc: PathBuf,
    /// Our rustc wrapper.
    pub wrapper: PathBuf,
    /// The compiler's host target.
    pub host: String,
    /// Packages with wanted doc tests; cargo may run others.
    pub packages: BTreeSet<String>,
    /// Folder with the other side's doc tests, if this side must use the same.
    pub texts: Option<PathBuf>,
    /// Folder for bundles, the same for both sides.
    pub bundles: PathBuf,
}

/// Result for a library's doc tests.
#[derive(Debug, Serialize, Deserialize)]
pub struct Extracted {
    pub package: String,
    pub bundled: std::result::Result<Bundled, NotExtracted>,
}

/// Doc tests of a library in one executable.
#[derive(Debug, Serialize, Deserialize)]
pub struct Bundled {
    pub executable: PathBuf,
    /// Doc tests of this version, even if the bundle has those of the other version.
    pub own: Vec<DocTest>,
    pub doctests: Doctests,
}

/// Doc tests of an executable, and those left out.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Doctests {
    /// Names for libtest, by doc test name.
    pub known_as: BTreeMap<String, String>,
    /// Reasons for doc tests that are left out; `None` for those that only the other version has.
    pub left_out: BTreeMap<String, Option<NoDoctest>>,
}

impl Order {
    /// Writes the order and clears the folder for results.
    pub fn give(&self, folder: &Path) -> Result<()> {
        cache::empty_private_dir(folder)?;
        json::write(&folder.join(ORDER), self)
    }

    /// Reads the order, in the rustdoc role.
    pub fn take() -> Result<(Self, PathBuf)> {
        let folder = std::env::var_os(FOLDER_VARIABLE).map(PathBuf::from);
        let folder = folder.ok_or_else(|| Error::usage(format!("{RUSTDOC_NAME} is for internal use by cargo")))?;
        Ok((json::read(&folder.join(ORDER))?, folder))
    }

    /// Returns the doc tests of the other side.
    pub fn texts(&self, package: &str) -> Result<Option<Vec<DocTest>>> {
        let Some(folder) = &self.texts else { return Ok(None) };
        let path = text_of(folder, package);
        json::read_if_exists(&path)
    }
}

impl Extracted {
    pub fn answer(&self, folder: &Path) -> Result<()> {
        json::write(&text_of(folder, &self.package), self)
    }
}

/// Reads the results for all requested targets. Cargo may not have reached some of them.
pub fn collect(folder: &Path, targets: &BTreeSet<&TargetId>) -> Result<BTreeMap<TargetId, Extracted>> {
    let mut found = BTreeMap::new();
    for target in targets {
        let path = text_of(folder, &target.package);
        let missing = || Extracted { package: target.package.clone(), bundled: Err(NotExtracted::NotRun) };
        found.insert((*target).clone(), json::read_if_exists(&path)?.unwrap_or_else(missing));
    }
    Ok(found)
}

/// Saves the doc tests of a side, so that the other side can use the same.
pub fn write_texts(folder: &Path, package: &str, own: &[DocTest]) -> Result<()> {
    json::write(&text_of(folder, package), &own)
}

/// Returns the key of the doc tests saved in a folder.
pub fn texts_key(folder: &Path) -> Result<String> {
    let files = if folder.is_dir() { fs::list_dir(folder)? } else { Vec::new() };
    let read = |file: PathBuf| Ok((file.file_name().unwrap_or_default().to_owned(), fs::read(&file)?));
    Ok(key_of(&files.into_iter().map(read).collect::<Result<_>>()?))
}

/// Returns the key that a side's own doc tests will have once they are saved.
pub fn own_texts_key(extracted: &BTreeMap<TargetId, Extracted>) -> Result<String> {
    let bundled = extracted.iter().filter_map(|(target, extracted)| Some((target, extracted.bundled.as_ref().ok()?)));
    let text = |(target, bundled): (&TargetId, &Bundled)| {
        let text = serde_json::to_vec(&bundled.own).map_err(|error| Error::setup(error.to_string()))?;
        Ok((text_of(Path::new(""), &target.package).into_os_string(), text))
    };
    Ok(key_of(&bundled.map(text).collect::<Result<_>>()?))
}

fn key_of(texts: &BTreeMap<OsString, Vec<u8>>) -> String {
    let texts = texts.iter();
    texts.fold(KeyBuilder::default(), |key, (name, text)| key.with(name.as_encoded_bytes()).with(text)).finish()
}

/// Returns the differences between two versions' doc tests of a package, by name.
pub fn differences(texts: Sides<&Path>, package: &str) -> Result<BTreeMap<String, TestCodeDifference>> {
    let by_name = |folder: &Path| -> Result<BTreeMap<String, DocTest>> {
        let path = text_of(folder, package);
        let own: Vec<DocTest> = json::read_if_exists(&path)?.unwrap_or_default();
        Ok(own.into_iter().map(|test| (test.name.clone(), test)).collect())
    };
    let Sides { base, head } = texts.try_map(|_, folder| by_name(folder))?;
    let names: BTreeSet<&String> = base.keys().chain(head.keys()).collect();
    let difference = |name: &String| match (base.get(name), head.get(name)) {
        (Some(base), Some(head)) => {
            (base != head).then(|| TestCodeDifference::Changed { item: TestCodeItem::Function(name.clone()) })
        }
        (Some(_), None) => Some(TestCodeDifference::GoneInHead),
        (None, _) => Some(TestCodeDifference::NewInHead),
    };
    Ok(names.into_iter().filter_map(|name| Some((name.clone(), difference(name)?))).collect())
}

fn text_of(folder: &Path, package: &str) -> PathBuf {
    folder.join(format!("of-{package}.json"))
}
