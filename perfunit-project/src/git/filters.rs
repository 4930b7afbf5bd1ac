//! Git's conversions on checkout: line endings, encodings, `ident` and filter drivers.
//!
//! libgit2 neither runs filter drivers nor converts encodings, so the `git` program converts the files. It runs only if
//! attributes or the configuration demand a conversion. Each version is converted by its own attributes.

use super::command::Git;
use super::files::{Entry, Mode, Source};
use super::problem;
use git2::Oid;
use perfunit_model::error::{Error, Result};
use perfunit_model::{Unfiltered, Warning};
use perfunit_system::fs;
use perfunit_system::os::unix::ffi::OsStrExt as _;
use perfunit_system::process;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Output;

/// Attributes that can cause a conversion.
const ATTRIBUTES: [&str; 6] = ["text", "crlf", "eol", "working-tree-encoding", "ident", "filter"];
/// First git version that can read the attributes of a commit.
const ATTRIBUTES_OF_COMMITS: &str = "git 2.41 or newer";

/// Converter with a cache of results and a record of failures.
#[derive(Default)]
pub(super) struct Filters {
    converted: RefCell<BTreeMap<Conversion, Entry>>,
    failed: RefCell<BTreeSet<Unfiltered>>,
}

/// Key of a converted file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Conversion {
    blob: Oid,
    /// Filter drivers can use the path.
    path: PathBuf,
    attributes: Attributes,
}

/// Values of [`ATTRIBUTES`] for a file.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Attributes([String; ATTRIBUTES.len()]);

impl Attributes {
    fn get(&self, name: &str) -> Option<&str> {
        let index = ATTRIBUTES.iter().position(|known| *known == name)?;
        Some(self.0[index].as_str()).filter(|value| !matches!(*value, "unspecified" | ""))
    }

    /// Returns the filter driver, except git-lfs: [`super::lfs`] resolves its pointers without network access.
    fn driver(&self) -> Option<&str> {
        self.get("filter").filter(|value| !matches!(*value, "set" | "unset" | "lfs"))
    }

    /// Checks whether git may convert the file on checkout. `crlf` says whether the configuration demands CRLF.
    fn convert(&self, crlf: bool) -> bool {
        if self.get("filter") == Some("lfs") {
            return false;
        }
        let is_text = self.get("text") != Some("unset") && self.get("crlf") != Some("unset");
        let ends_with_crlf = self.get("eol").map_or(crlf, |eol| eol == "crlf");
        let encoding = self.get("working-tree-encoding").is_some_and(|value| value != "unset");
        (is_text && ends_with_crlf) || encoding || self.get("ident") == Some("set") || self.driver().is_some()
    }
}

impl Filters {
    /// Replaces the content of a commit's files by what git writes on checkout.
    pub(super) fn convert(
        &self,
        repository: &git2::Repository,
        commit: Oid,
        files: &mut BTreeMap<PathBuf, Entry>,
    ) -> Result<()> {
        let config = repository.config().map_err(problem::git_error("read git's configuration"))?;
        let crlf = writes_crlf(&config);
        if !crlf && !mention_conversions(repository, &config, files) {
            return Ok(());
        }
        let git = Git { repository, commit };
        let Some(attributes) = self.attributes(&git, files)? else { return Ok(()) };
        self.note_unconfigured(&config, attributes.values());
        let odb = repository.odb().map_err(problem::git_error("open the object database"))?;
        let wanted = attributes.into_iter().filter(|(_, attributes)| attributes.convert(crlf));
        let wanted = wanted.filter_map(|(path, attributes)| {
            let blob = files.get(&path)?.id;
            // A blob missing from a partial clone is reported when it is read.
            odb.exists(blob).then_some(Conversion { blob, path, attributes })
        });
        let (known, new): (Vec<_>, Vec<_>) =
            wanted.partition(|conversion| self.converted.borrow().contains_key(conversion));
        let contents = self.contents(&git, &new)?;
        let mut converted = self.converted.borrow_mut();
        for (conversion, content) in new.iter().cloned().zip(contents) {
            let entry = Entry::snapshot(content);
            // Unchanged content need not stay in memory.
            let same = entry.id == conversion.blob;
            let source = if same { Source::ObjectDatabase } else { entry.source };
            converted.insert(conversion, Entry { source, ..entry });
        }
        for conversion in known.iter().chain(&new) {
            let (Some(entry), Some(found)) = (files.get_mut(&conversion.path), converted.get(conversion)) else {
                continue;
            };
            *entry = Entry { mode: entry.mode, ..found.clone() };
        }
        Ok(())
    }

    /// Returns a warning for each conversion that failed so far.
    pub(super) fn warnings(&self) -> Vec<Warning> {
        self.failed.borrow().iter().cloned().map(Warning::Unfiltered).collect()
    }

    fn note_failure(&self, why: Unfiltered) {
        self.failed.borrow_mut().insert(why);
    }

    /// Reads the attributes of all regular files from git. Returns `None` if git cannot do that.
    fn attributes(
        &self,
        git: &Git<'_>,
        files: &BTreeMap<PathBuf, Entry>,
    ) -> Result<Option<BTreeMap<PathBuf, Attributes>>> {
        let regular = files.iter().filter(|(_, entry)| entry.mode != Mode::Symlink);
        let mut input = Vec::new();
        for (path, _) in regular {
            input.extend_from_slice(path.as_os_str().as_bytes());
            input.push(0);
        }
        let arguments = [&["check-attr", "--stdin", "-z"][..], &ATTRIBUTES].concat();
        let Some(output) = self.run(git, &arguments, input)? else { return Ok(None) };
        let mut found: BTreeMap<PathBuf, Attributes> = BTreeMap::new();
        let fields: Vec<&[u8]> = output.stdout.split(|byte| *byte == 0).collect();
        for triple in fields.chunks_exact(3) {
            let name = ATTRIBUTES.iter().position(|name| name.as_bytes() == triple[1]);
            let Some(index) = name else { continue };
            let attributes = found.entry(super::files::path_from(triple[0])).or_default();
            attributes.0[index] = String::from_utf8_lossy(triple[2]).into_owned();
        }
        Ok(Some(found))
    }

    /// Returns the converted contents, in order, or nothing if git cannot convert them.
    fn contents(&self, git: &Git<'_>, wanted: &[Conversion]) -> Result<Vec<Vec<u8>>> {
        if wanted.is_empty() {
            return Ok(Vec::new());
        }
        let mut input = Vec::new();
        for Conversion { blob, path, .. } in wanted {
            input.extend_from_slice(format!("{blob} ").as_bytes());
            input.extend_from_slice(path.as_os_str().as_bytes());
            input.push(0);
        }
        // `cat-file` prints the size of the unconverted blob, so a unique line must separate the contents.
        let mark = perfunit_system::cache::hash(&input);
        let format = format!("--batch={mark} %(objectname)");
        let Some(output) = self.run(git, &["cat-file", "--filters", "-z", &format], input)? else {
            return Ok(Vec::new());
        };
        let mut rest = output.stdout.as_slice();
        let mut contents = Vec::new();
        for (index, Conversion { blob, path, .. }) in wanted.iter().enumerate() {
            let unreadable = || Error::setup(format!("git did not print {} ({blob})", path.display()));
            let header = format!("{mark} {blob}\n");
            rest = rest.strip_prefix(header.as_bytes()).ok_or_else(unreadable)?;
            let end = match wanted.get(index + 1) {
                Some(next) => find(rest, format!("\n{mark} {}\n", next.blob).as_bytes()).ok_or_else(unreadable)?,
                None => rest.len().checked_sub(1).ok_or_else(unreadable)?,
            };
            contents.push(rest[..end].to_vec());
            rest = &rest[end + 1..];
        }
        Ok(contents)
    }

    /// Runs git in the repository with the attributes of the commit. Returns `None` if this git version cannot do that.
    fn run(&self, git: &Git<'_>, arguments: &[&str], input: Vec<u8>) -> Result<Option<Output>> {
        let output = match process::output_of(&mut git.command(arguments), input) {
            Ok(output) => output,
            Err(error) => {
                self.note_failure(Unfiltered::NoGit { why: format!("cannot run git: {error}") });
                return Ok(None);
            }
        };
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        if !output.status.success() && errors.contains("unknown option") {
            self.note_failure(Unfiltered::NoGit { why: format!("{ATTRIBUTES_OF_COMMITS} is needed") });
            return Ok(None);
        }
        if !output.status.success() {
            return Err(problem::not_filtered(&errors));
        }
        // If a filter fails and is not `required`, git continues with the stored file. It reports the failure twice,
        // the first time with the exit status.
        let is_first =
            |line: &str| line.starts_with("external filter") && line.ends_with(|end: char| end.is_ascii_digit());
        for line in errors.lines().filter_map(|line| line.strip_prefix("error: ")).filter(|line| !is_first(line)) {
            self.note_failure(Unfiltered::Failed { why: line.to_owned() });
        }
        Ok(Some(output))
    }

    /// Records the filter drivers that git's configuration does not define.
    fn note_unconfigured<'a>(&self, config: &git2::Config, attributes: impl Iterator<Item = &'a Attributes>) {
        let mut files = BTreeMap::<&str, usize>::new();
        for driver in attributes.filter_map(Attributes::driver) {
            *files.entry(driver).or_default() += 1;
        }
        for (driver, files) in files {
            let is_set = |what: &str| config.get_entry(&format!("filter.{driver}.{what}")).is_ok();
            if !["smudge", "clean", "process"].into_iter().any(is_set) {
                self.note_failure(Unfiltered::NotConfigured { driver: driver.to_owned(), files });
            }
        }
    }
}

/// Checks whether the configuration demands CRLF in text files.
fn writes_crlf(config: &git2::Config) -> bool {
    let get = |name| config.get_string(name).unwrap_or_default().to_ascii_lowercase();
    // git2 accepts every true value; `input` is not a boolean.
    config.get_bool("core.autocrlf").unwrap_or(false) || get("core.eol") == "crlf"
}

/// Checks whether an attributes file that applies to this version demands a conversion.
fn mention_conversions(repository: &git2::Repository, config: &git2::Config, files: &BTreeMap<PathBuf, Entry>) -> bool {
    let tracked = files.iter().filter(|(path, _)| path.ends_with(".gitattributes"));
    let mut tracked = tracked.filter_map(|(_, entry)| repository.find_blob(entry.id).ok());
    let mut others = vec![repository.commondir().join("info/attributes"), PathBuf::from("/etc/gitattributes")];
    others.extend(config.get_path("core.attributesFile").ok().or_else(users_attributes));
    tracked.any(|blob| mentions_conversions(blob.content()))
        || others.iter().any(|file| fs::read(file).is_ok_and(|text| mentions_conversions(&text)))
}

/// Returns the default path of the user's attributes file.
fn users_attributes() -> Option<PathBuf> {
    let home = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let config = home("XDG_CONFIG_HOME").map(PathBuf::from);
    let config = config.or_else(|| Some(Path::new(&home("HOME")?).join(".config")))?;
    Some(config.join("git/attributes"))
}

fn mentions_conversions(attributes: &[u8]) -> bool {
    let is_conversion = |word: &[u8]| {
        matches!(word, b"eol=crlf" | b"ident")
            || word.starts_with(b"working-tree-encoding=")
            || (word.starts_with(b"filter=") && word != b"filter=lfs")
    };
    attributes.split(u8::is_ascii_whitespace).any(is_conversion)
}

fn find(text: &[u8], wanted: &[u8]) -> Option<usize> {
    // Contents may be long, so search for the first byte before comparing the rest.
    let first = *wanted.first()?;
    let mut from = 0;
    while let Some(at) = text[from..].iter().position(|byte| *byte == first) {
        if text[from + at..].starts_with(wanted) {
            return Some(from + at);
        }
        from += at + 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_attributes_that_convert_start_git() {
        for none in ["", "* text=auto\n*.sh eol=lf", "*.bin filter=lfs diff=lfs merge=lfs -text", "*.rs -ident"] {
            assert!(!mentions_conversions(none.as_bytes()), "{none}");
        }
        for some in ["*.txt eol=crlf", "a working-tree-encoding=UTF-16", "*\tident", "secret/** filter=git-crypt"] {
            assert!(mentions_conversions(some.as_bytes()), "{some}");
        }
    }

    #[test]
    fn a_file_is_converted_by_its_attributes_and_the_configuration() {
        let attributes = |set: &[(&str, &str)]| {
            let value = |name| set.iter().find(|(known, _)| *known == name).map_or("unspecified", |(_, value)| value);
            Attributes(ATTRIBUTES.map(|name| value(name).to_owned()))
        };
        let converts = |set: &[(&str, &str)]| [false, true].map(|crlf| attributes(set).convert(crlf));
        assert_eq!(converts(&[]), [false, true]);
        assert_eq!(converts(&[("text", "unset")]), [false, false]);
        assert_eq!(converts(&[("text", "auto"), ("eol", "lf")]), [false, false]);
        assert_eq!(converts(&[("eol", "crlf")]), [true, true]);
        assert_eq!(converts(&[("filter", "lfs")]), [false, false]);
        assert_eq!(converts(&[("text", "unset"), ("filter", "git-crypt")]), [true, true]);
        assert_eq!(converts(&[("text", "unset"), ("working-tree-encoding", "UTF-16LE")]), [true, true]);
    }
}
