//! Decides whether two links can be compared input by input, or differ in something that affects the whole executable.

use super::linkers::chooses_linker;
use super::record::{Argument, InputKind, LinkRecord, Named};
use perfunit_model::Uncompared;
use perfunit_model::error::Result;
use perfunit_system::fs;
use std::path::{Path, PathBuf};

impl LinkRecord {
    /// Returns the stored texts that control the linker: linker scripts, version scripts, lists of symbols, and the
    /// linker itself if it is a script.
    pub fn scripts(&self) -> Vec<PathBuf> {
        self.kept_inputs(|input| input.kind == InputKind::Script && !is_list_of_rustc(&input.path))
    }

    /// Returns the command line without parts that may differ between two links of the same program: stored inputs, the
    /// output, library folders, and the choice of linker. If the rest differs, the links cannot be compared.
    pub fn options(&self) -> Vec<String> {
        let mut options = Vec::new();
        let mut is_static = false;
        for Argument { text, names, .. } in &self.arguments {
            match text.as_str() {
                // Such a switch may come and go with an input. Its effect is recorded with the library.
                "-Bstatic" | "-Bdynamic" => is_static = text == "-Bstatic",
                // The machine code of the inputs shows what changed, and both versions are measured with one linker.
                _ if names.is_none() && is_choice_of_linker(text) => {}
                _ if text.starts_with("-l") && is_static => options.push(format!("{text} (static)")),
                _ => options.extend(self.option(text, names.as_ref()).map(|option| without_hashes(&option))),
            }
        }
        options
    }

    fn option(&self, text: &str, names: Option<&Named>) -> Option<String> {
        match names {
            None => Some(text.to_owned()),
            Some(Named::Folder(_)) => None,
            Some(Named::Output) => Some(format!("{text}<output>")),
            Some(Named::Dylib { name, .. }) => Some(format!("-l{name}")),
            Some(Named::Input(number)) => {
                let input = self.inputs.get(*number)?;
                let name = || input.path.file_name().unwrap_or_default().to_string_lossy();
                match input.kind {
                    InputKind::Object | InputKind::Archive => None,
                    InputKind::Script => Some(format!("{text}<script>")),
                    InputKind::Dylib => Some(format!("{text}{}", name())),
                    InputKind::Toolchain => Some(format!("{text}<toolchain>/{}", name())),
                    InputKind::System => Some(format!("{text}{}", input.path.display())),
                }
            }
        }
    }

    /// Returns the reason why two links cannot be compared input by input: one is incomplete, or they differ in
    /// something that affects the whole executable. Shared libraries are compared elsewhere.
    pub fn incomparable(&self, other: &Self) -> Result<Option<Uncompared>> {
        if let Some(why) = self.incomplete().or(other.incomplete()) {
            return Ok(Some(Uncompared::IncompleteInputs { why: why.clone() }));
        }
        let (own, others) = (self.options(), other.options());
        if let Some(option) = own.iter().find(|option| renames(option)) {
            return Ok(Some(Uncompared::RenamedSymbols { option: option.clone() }));
        }
        let mut both = own.iter().zip(&others);
        if let Some((one, two)) = both.find(|(one, two)| one != two) {
            return Ok(Some(Uncompared::LinkerOptions { differ: vec![one.clone(), two.clone()] }));
        }
        if own.len() != others.len() {
            let longer = if own.len() > others.len() { &own } else { &others };
            let differ = vec![longer[own.len().min(others.len())].clone()];
            return Ok(Some(Uncompared::LinkerOptions { differ }));
        }
        if self.env.iter().filter(|(name, _)| decides(name)).ne(other.env.iter().filter(|(name, _)| decides(name))) {
            return Ok(Some(Uncompared::LinkerEnvironment));
        }
        let (own, others) = (self.scripts(), other.scripts());
        let mut same = own.len() == others.len();
        for (one, two) in own.iter().zip(&others) {
            same = same && fs::same_content(one, two)?;
        }
        Ok((!same).then_some(Uncompared::LinkerScripts))
    }
}

/// Checks whether an option makes the linker replace one symbol by another, which the inputs do not show.
fn renames(option: &str) -> bool {
    ["--wrap", "--defsym"].iter().any(|renaming| option.contains(renaming))
}

/// Checks whether an option only selects the linker that a driver calls, or the folder of its programs.
fn is_choice_of_linker(option: &str) -> bool {
    chooses_linker(option) || option.strip_prefix("-B").is_some_and(|folder| folder.contains('/'))
}

/// Checks for the export list of a library, which rustc generates from the code in a temporary folder.
fn is_list_of_rustc(path: &Path) -> bool {
    let folder = path.parent().and_then(Path::file_name).unwrap_or_default().to_string_lossy();
    path.ends_with("list") && folder.starts_with("rustc")
}

/// Masks cargo's hashes, which depend on the package's version.
fn without_hashes(text: &str) -> String {
    const DIGITS: usize = 16;
    let mut parts = text.split('-');
    let mut masked = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let digits = part.bytes().take_while(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')).count();
        let is_hash = digits == DIGITS && !part[DIGITS..].starts_with(|c: char| c.is_alphanumeric());
        masked.push_str(if is_hash { "-<hash>" } else { "-" });
        masked.push_str(if is_hash { &part[DIGITS..] } else { part });
    }
    masked
}

/// Checks whether a variable affects a link. Search paths differ between terminals and builds, without effect.
fn decides(variable: &str) -> bool {
    !matches!(variable, "PATH" | "TMPDIR" | "LD_LIBRARY_PATH")
}

#[cfg(test)]
mod tests {
    use super::super::record::tests::{ONE, record};
    use super::*;
    use perfunit_model::LostInputs;

    const TWO: &str = "fedcba9876543210";

    #[test]
    fn places_and_hashes_are_no_options() {
        let dir = tempfile::tempdir().unwrap();
        let options = record(dir.path(), ONE, &["--gc-sections"]).options().join(" ");
        let expected = "<toolchain>/libstd.rlib --version-script=<script> -ld -rpath=/build/x-<hash>/out \
                        -lz (static) -o <output> --gc-sections";
        assert_eq!(options, expected);
    }

    #[test]
    fn two_links_are_comparable_unless_something_acts_on_the_whole_executable() {
        let dirs = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
        let base = record(dirs[0].path(), ONE, &[]);
        let reason = |head: &LinkRecord| base.incomparable(head).unwrap();
        assert_eq!(reason(&record(dirs[1].path(), TWO, &[])), None);
        let options = |differ: &[&str]| {
            let differ = differ.iter().map(|option| (*option).to_owned()).collect();
            Some(Uncompared::LinkerOptions { differ })
        };
        assert_eq!(reason(&record(dirs[1].path(), TWO, &["-pie"])), options(&["-pie"]));
        let renaming = "-Wl,--defsym=hot=hot_impl";
        let renamed = record(dirs[0].path(), ONE, &[renaming]).incomparable(&record(dirs[1].path(), TWO, &[renaming]));
        assert_eq!(renamed.unwrap(), Some(Uncompared::RenamedSymbols { option: renaming.to_owned() }));
        let mold = ["-fuse-ld=mold", "-B/usr/libexec/mold"];
        let head = LinkRecord { linker: "clang".to_owned(), ..record(dirs[1].path(), TWO, &mold) };
        assert_eq!(reason(&head), None);
        assert_eq!(reason(&record(dirs[1].path(), TWO, &["--icf=all"])), options(&["--icf=all"]));
        let why = LostInputs::NotCopied { error: "no room".to_owned() };
        let head = LinkRecord { incomplete: Some(why.clone()), ..record(dirs[1].path(), TWO, &[]) };
        assert_eq!(reason(&head), Some(Uncompared::IncompleteInputs { why }));
        let head = record(dirs[1].path(), TWO, &[]);
        fs::write(&dirs[1].path().join("a.o"), "another object").unwrap();
        assert_eq!(reason(&head), None);
        fs::write(&dirs[1].path().join("v.map"), "another script").unwrap();
        assert_eq!(reason(&head), Some(Uncompared::LinkerScripts));
    }
}
