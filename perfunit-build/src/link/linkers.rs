//! Linkers that can place functions in a given order, for our own links of the measured executables.
//!
//! The project's linker builds the project. Because the measured executables are linked again anyway, any available
//! linker that orders functions will do: lld with a list of symbols, or GNU ld with a linker script.

use super::arguments::Scope;
use super::record::{Argument, LinkRecord};
use perfunit_model::MeasuringLinker;
use perfunit_model::error::{Error, Result};
use perfunit_project::cargo::Cargo;
use perfunit_system::fs;
use std::path::{Path, PathBuf};

/// Driver options that choose the linker; each is followed by its value.
const CHOOSING: [&str; 2] = ["-fuse-ld=", "--ld-path="];
/// Prefixes of linker options that only some linkers know and that do not change the executable.
const IRRELEVANT: [&str; 5] = ["--thread", "--no-thread", "--warn-", "--no-warn-", "--fatal-warnings"];
/// Name of GNU ld.
const GNU_LD: &str = "ld.bfd";

/// Format in which a linker accepts an order of functions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// lld: a list of symbols.
    Lld,
    /// GNU ld: a linker script.
    Gnu,
}

/// A linker for our own links.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Linker {
    pub kind: MeasuringLinker,
    /// Name in messages.
    pub name: String,
    /// Folder that contains it as `ld.lld`, if it is an lld other than the project's linker.
    folder: Option<PathBuf>,
}

impl Linker {
    /// Returns the project's linker.
    pub fn of_project(record: &LinkRecord) -> Self {
        Self { kind: MeasuringLinker::Project, name: record.linker.clone(), folder: None }
    }

    /// Returns the format in which this linker accepts an order.
    pub fn dialect(&self) -> Dialect {
        match self.kind {
            MeasuringLinker::Project | MeasuringLinker::RustLld | MeasuringLinker::Lld => Dialect::Lld,
            MeasuringLinker::GnuLd => Dialect::Gnu,
        }
    }
}

/// Available linkers that order functions, other than the project's.
#[derive(Debug, Clone, Default)]
pub struct Linkers {
    rust_lld: Option<PathBuf>,
    lld: Option<PathBuf>,
}

impl Linkers {
    /// Finds the linkers available with a toolchain.
    pub fn of(cargo: &Cargo) -> Self {
        Self::find(&cargo.sysroot, &cargo.host)
    }

    /// Searches an lld in the toolchain and one in `PATH`.
    fn find(sysroot: &Path, host: &str) -> Self {
        let programs = sysroot.join("lib/rustlib").join(host).join("bin");
        let rust_lld = ["rust-lld", "gcc-ld/ld.lld"].into_iter().map(|name| programs.join(name));
        let path = std::env::var_os("PATH").unwrap_or_default();
        let in_path = std::env::split_paths(&path).map(|folder| folder.join("ld.lld"));
        let is_there = |program: &PathBuf| program.is_file();
        Self { rust_lld: rust_lld.into_iter().find(is_there), lld: in_path.into_iter().find(is_there) }
    }

    /// Checks whether any lld is available.
    pub fn has_lld(&self) -> bool {
        self.rust_lld.is_some() || self.lld.is_some()
    }

    /// Returns the linkers to try for two links, best first. `are_by_lld` says whether the project links both with lld.
    /// Puts links to programs into `folder`.
    pub fn candidates(&self, links: [&LinkRecord; 2], are_by_lld: bool, folder: &Path) -> Result<Vec<Linker>> {
        let mut candidates = Vec::new();
        if are_by_lld && links[0].linker_choice() == links[1].linker_choice() {
            candidates.push(Linker::of_project(links[0]));
        }
        let others =
            [(MeasuringLinker::RustLld, "rust-lld", &self.rust_lld), (MeasuringLinker::Lld, "ld.lld", &self.lld)];
        for (kind, name, program) in others {
            let Some(program) = program else { continue };
            let folder = folder.join(name);
            place(program, &folder.join("ld.lld"))?;
            candidates.push(Linker { kind, name: name.to_owned(), folder: Some(folder) });
        }
        candidates.push(Linker { kind: MeasuringLinker::GnuLd, name: GNU_LD.to_owned(), folder: None });
        Ok(candidates)
    }
}

/// Links a program under a name, because drivers search linkers by name and lld's behavior depends on its own name.
fn place(program: &Path, name: &Path) -> Result<()> {
    if name.exists() {
        return Ok(());
    }
    name.parent().map_or(Ok(()), fs::create_dir_all)?;
    perfunit_system::os::unix::fs::symlink(program, name)
        .map_err(|error| Error::setup(format!("cannot link {} to {}: {error}", name.display(), program.display())))
}

impl LinkRecord {
    /// Returns everything that decides which linker runs: the program, and the driver options that choose one.
    pub(super) fn linker_choice(&self) -> Vec<&str> {
        let options = self.arguments.iter().map(|argument| argument.text.as_str());
        std::iter::once(self.linker.as_str()).chain(options.filter(|option| chooses_linker(option))).collect()
    }

    /// Checks whether a compiler driver calls the linker.
    pub(super) fn is_driven(&self) -> bool {
        self.arguments.iter().any(|argument| argument.scope == Scope::Linker)
    }

    /// Changes the record so that another linker creates the executable.
    pub(super) fn link_by(&mut self, linker: &Linker) {
        if linker.kind == MeasuringLinker::Project {
            return;
        }
        let is_foreign = |text: &str| chooses_linker(text) || IRRELEVANT.iter().any(|begin| text.starts_with(begin));
        self.arguments.retain(|argument| argument.names.is_some() || !is_foreign(&argument.text));
        let scope = if self.is_driven() { Scope::Linker } else { Scope::Program };
        let mut add = |scope, text: String| self.arguments.push(Argument { scope, text, names: None });
        if linker.dialect() == Dialect::Lld {
            // Other linkers keep sections that `__start_NAME` refers to.
            add(scope, "-z".to_owned());
            add(scope, "nostart-stop-gc".to_owned());
        }
        match (scope, &linker.folder) {
            (Scope::Program, Some(folder)) => self.linker = folder.join("ld.lld").display().to_string(),
            (Scope::Program, None) => GNU_LD.clone_into(&mut self.linker),
            (Scope::Linker, Some(folder)) => {
                add(Scope::Program, format!("-B{}", folder.display()));
                add(Scope::Program, "-fuse-ld=lld".to_owned());
            }
            (Scope::Linker, None) => add(Scope::Program, "-fuse-ld=bfd".to_owned()),
        }
    }
}

/// Checks whether a driver option selects the linker or the folder of its programs.
pub(super) fn chooses_linker(option: &str) -> bool {
    CHOOSING.iter().any(|choosing| option.starts_with(choosing))
}

#[cfg(test)]
mod tests {
    use super::super::record::tests::{ONE, record};
    use super::MeasuringLinker::{GnuLd, Project, RustLld};
    use super::*;

    fn linker(kind: MeasuringLinker, folder: Option<&str>) -> Linker {
        Linker { kind, name: String::new(), folder: folder.map(PathBuf::from) }
    }

    /// Checks the program, and the options that remain of `more` or are added.
    #[track_caller]
    fn check(more: &[&str], is_driven: bool, linker: &Linker, expected: &str) {
        let dir = tempfile::tempdir().unwrap();
        let mut record = record(dir.path(), ONE, more);
        if is_driven {
            record.arguments.push(Argument { scope: Scope::Linker, text: "-O1".to_owned(), names: None });
        }
        let skipped = record.arguments.len() - more.len() - usize::from(is_driven);
        record.link_by(linker);
        let left = record.arguments[skipped..].iter().map(|argument| argument.text.as_str());
        let words: Vec<&str> = std::iter::once(record.linker.as_str()).chain(left).collect();
        assert_eq!(words.join(" "), expected);
    }

    #[test]
    fn a_driver_is_told_which_linker_to_call() {
        let more = ["-fuse-ld=mold", "--ld-path=/opt/wild", "-pie"];
        let lld = linker(MeasuringLinker::RustLld, Some("/lld"));
        check(&more, true, &lld, "cc -pie -O1 -z nostart-stop-gc -B/lld -fuse-ld=lld");
        check(&more, true, &linker(MeasuringLinker::GnuLd, None), "cc -pie -O1 -fuse-ld=bfd");
        let own = "cc -fuse-ld=mold --ld-path=/opt/wild -pie -O1";
        check(&more, true, &linker(MeasuringLinker::Project, None), own);
    }

    #[test]
    fn a_linker_without_a_driver_is_replaced() {
        let lld = linker(MeasuringLinker::Lld, Some("/lld"));
        check(&["--thread-count=2", "-s"], false, &lld, "/lld/ld.lld -s -z nostart-stop-gc");
        check(&["-s"], false, &linker(MeasuringLinker::GnuLd, None), "ld.bfd -s");
    }

    #[test]
    fn the_best_linker_comes_first() {
        let dirs = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
        let lld = dirs[0].path().join("lib/rustlib/host/bin/rust-lld");
        fs::write(&lld, "").unwrap();
        let linkers = Linkers { lld: None, ..Linkers::find(dirs[0].path(), "host") };
        assert!(linkers.has_lld() && !Linkers::default().has_lld());
        let (base, head) = (record(dirs[0].path(), ONE, &[]), record(dirs[0].path(), ONE, &["-fuse-ld=mold"]));
        let kinds = |head: &LinkRecord, are_by_lld| -> Vec<MeasuringLinker> {
            let candidates = linkers.candidates([&base, head], are_by_lld, dirs[1].path()).unwrap();
            candidates.into_iter().map(|linker| linker.kind).collect()
        };
        assert_eq!(kinds(&base, true), [Project, RustLld, GnuLd]);
        assert_eq!(kinds(&base, false), [RustLld, GnuLd]);
        // Two linkers of the project order the same functions differently.
        assert_eq!(kinds(&head, true), [RustLld, GnuLd]);
        assert!(dirs[1].path().join("rust-lld/ld.lld").is_file());
    }
}
