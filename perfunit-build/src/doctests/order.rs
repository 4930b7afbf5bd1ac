//! What the tool asks of its role as rustdoc, and what that answers: both are files in one folder.

use super::extracted::DocTest;
use perfunit_model::error::{Error, Result};
use perfunit_model::{NoDoctest, NotExtracted, Sides, TargetId, TestCodeDifference, TestCodeItem};
use perfunit_system::cache::{self, KeyBuilder};
use perfunit_system::fs;
use perfunit_system::json;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// File name by which `main` knows the role.
pub const RUSTDOC_NAME: &str = "perfunit-rustdoc";
/// Names the folder to the role.
pub const FOLDER_VARIABLE: &str = "PERFUNIT_DOCTESTS_DIR";
const ORDER: &str = "order.json";

/// What is to be done with each library.
#[derive(Debug, Serialize, Deserialize)]
pub struct Order {
    /// The real one.
    pub rustdoc: PathBuf,
    pub rustc: PathBuf,
    /// Ours around rustc.
    pub wrapper: PathBuf,
    /// The compiler's own target.
    pub host: String,
    /// The packages whose doc tests are wanted; cargo may ask for more.
    pub packages: BTreeSet<String>,
    /// Where the other side's doc tests are, if this one is to have the same.
    pub texts: Option<PathBuf>,
    /// Where bundles are made: the same place for both sides.
    pub bundles: PathBuf,
}

/// What became of a library's doc tests.
#[derive(Debug, Serialize, Deserialize)]
pub struct Extracted {
    pub package: String,
    pub bundled: std::result::Result<Bundled, NotExtracted>,
}

/// A library's doc tests in one executable.
#[derive(Debug, Serialize, Deserialize)]
pub struct Bundled {
    pub executable: PathBuf,
    /// The doc tests of this version, whosever are in the bundle.
    pub own: Vec<DocTest>,
    pub doctests: Doctests,
}

/// What the doc tests in an executable are called, and which are not in it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Doctests {
    /// By the name of each the one that libtest knows it by.
    pub known_as: BTreeMap<String, String>,
    /// Why others are left out; none for those that are not of the version whose doc tests these are.
    pub left_out: BTreeMap<String, Option<NoDoctest>>,
}

impl Order {
    /// With an empty folder for the answers.
    pub fn give(&self, folder: &Path) -> Result<()> {
        cache::empty_private_dir(folder)?;
        json::write(&folder.join(ORDER), self)
    }

    /// In the role.
    pub fn take() -> Result<(Self, PathBuf)> {
        let folder = std::env::var_os(FOLDER_VARIABLE).map(PathBuf::from);
        let folder = folder.ok_or_else(|| Error::usage(format!("{RUSTDOC_NAME} is called by cargo")))?;
        Ok((json::read(&folder.join(ORDER))?, folder))
    }

    /// The doc tests of the other side.
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

/// The answers about all targets that were asked for; cargo may not have come to some.
pub fn collect(folder: &Path, targets: &BTreeSet<&TargetId>) -> Result<BTreeMap<TargetId, Extracted>> {
    let mut found = BTreeMap::new();
    for target in targets {
        let path = text_of(folder, &target.package);
        let missing = || Extracted { package: target.package.clone(), bundled: Err(NotExtracted::NotRun) };
        found.insert((*target).clone(), json::read_if_exists(&path)?.unwrap_or_else(missing));
    }
    Ok(found)
}

/// Keeps the doc tests of a side, for the other to have the same.
pub fn write_texts(folder: &Path, package: &str, own: &[DocTest]) -> Result<()> {
    json::write(&text_of(folder, package), &own)
}

/// Returns the key of the doc tests that are kept in a folder.
pub fn texts_key(folder: &Path) -> Result<String> {
    let files = if folder.is_dir() { fs::list_dir(folder)? } else { Vec::new() };
    let read = |file: PathBuf| Ok((file.file_name().unwrap_or_default().to_owned(), fs::read(&file)?));
    Ok(key_of(&files.into_iter().map(read).collect::<Result<_>>()?))
}

/// Returns the key of a side's own doc tests before they are kept: that of the folder that will hold them.
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

/// How the doc tests of a package differ between two versions, by their names, where they do.
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
