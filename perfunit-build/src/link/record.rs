//! Record of a link: the stored files and the command line, sufficient to repeat the link.

use super::arguments::Scope;
use perfunit_model::LostInputs;
use perfunit_model::error::{Error, Result};
use perfunit_system::fs;
use perfunit_system::json;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

/// File of the record, in the folder of the stored files. It is written last, so its existence means that the folder is
/// complete.
const NOTE: &str = "link.json";
/// Suffix of the folder next to the executable.
const FOLDER_SUFFIX: &str = ".perfunit-link";

/// Folder with the libraries of a side, next to the folder with its links.
pub(crate) const LIBRARIES: &str = "lib";

/// One link of an executable. Writer and reader may be different versions, so an unknown format version is rejected.
#[derive(Debug, Serialize, Deserialize)]
pub struct LinkRecord {
    pub(super) version: u32,
    /// The real linker, as passed to rustc.
    pub(super) linker: String,
    pub(super) cwd: PathBuf,
    /// Variables that affect linkers and their drivers.
    pub(super) env: BTreeMap<String, String>,
    pub(super) arguments: Vec<Argument>,
    pub(super) inputs: Vec<Input>,
    pub(super) output: Output,
    pub(super) incomplete: Option<LostInputs>,
    #[serde(skip)]
    pub(super) folder: PathBuf,
}

/// Version of the format.
pub(super) const VERSION: u32 = 1;

/// An argument, after expanding response files and `-Wl,` lists: a text, followed by what it names.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Argument {
    pub scope: Scope,
    pub text: String,
    pub names: Option<Named>,
}

/// Object that an argument names.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Named {
    /// Index of the input.
    Input(usize),
    /// A library that is found by name and loaded at run time. The executable records the name, so a repeated link must
    /// use the name too.
    Dylib {
        name: String,
        input: usize,
    },
    Folder(String),
    Output,
}

/// One input of the link.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Input {
    pub kind: InputKind,
    pub path: PathBuf,
    /// Name in our folder.
    pub kept: Option<String>,
}

/// Kind of an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum InputKind {
    /// A relocatable object, or bitcode.
    Object,
    /// An archive of objects: `.rlib` or `.a`.
    Archive,
    /// A dynamic library outside of the system, stored with all libraries that the tests of a side load.
    Dylib,
    /// A text that controls the linker, compared as a whole.
    Script,
    /// A part of the toolchain. It is the same on both sides, so it is not stored.
    Toolchain,
    /// A part of the system, not stored.
    System,
}

/// The executable, and data that distinguishes it from another one at the same path.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Output {
    pub path: PathBuf,
    pub bytes: u64,
    /// Modification time. The inode would be wrong, because a cached target folder may have been unpacked.
    pub modified_ns: i64,
}

impl Output {
    pub fn of(path: &Path) -> Option<Self> {
        use perfunit_system::os::unix::fs::MetadataExt;
        let data = path.metadata().ok()?;
        let modified_ns = data.mtime().checked_mul(1_000_000_000)?.checked_add(data.mtime_nsec())?;
        Some(Self { path: path.to_owned(), bytes: data.len(), modified_ns })
    }
}

/// Returns the record folder of an executable.
pub(super) fn folder_of(executable: &Path) -> PathBuf {
    fs::with_ending(executable, FOLDER_SUFFIX)
}

/// Returns the executable of a record folder.
pub(crate) fn executable_of(folder: &Path) -> Option<PathBuf> {
    Some(folder.with_file_name(folder.file_name()?.to_str()?.strip_suffix(FOLDER_SUFFIX)?))
}

impl LinkRecord {
    /// Reads the record in a folder.
    pub fn load(folder: &Path) -> Result<Self> {
        let path = folder.join(NOTE);
        let record: Self = json::read(&path)?;
        if record.version != VERSION {
            let (path, found) = (path.display(), record.version);
            let other_form = Error::setup(format!("{path} is damaged: its form is {found}, not {VERSION}"));
            return Err(other_form.hint("run `cargo perfunit clean`"));
        }
        Ok(Self { folder: folder.to_owned(), ..record })
    }

    pub(super) fn save(&self, folder: &Path) -> Result<()> {
        json::write(&folder.join(NOTE), self)
    }

    /// Returns the reason why inputs of the executable may be missing. Then the links cannot be compared.
    pub fn incomplete(&self) -> Option<&LostInputs> {
        self.incomplete.as_ref()
    }

    /// Returns the stored objects and archives, in link order.
    pub fn inputs(&self) -> Vec<PathBuf> {
        self.numbered_inputs().into_iter().map(|(_, path)| path).collect()
    }

    /// Returns the stored objects and archives with their indices, in link order.
    pub(super) fn numbered_inputs(&self) -> Vec<(usize, PathBuf)> {
        let inputs = self.inputs.iter().enumerate();
        let wanted = inputs.filter(|(_, input)| matches!(input.kind, InputKind::Object | InputKind::Archive));
        wanted.filter_map(|(number, input)| Some((number, self.folder.join(input.kept.as_ref()?)))).collect()
    }

    /// Replaces inputs, given by index, by other files.
    pub(super) fn replace(&mut self, files: &BTreeMap<usize, PathBuf>) {
        for (number, file) in files {
            let input = &mut self.inputs[*number];
            (input.path, input.kept) = (file.clone(), None);
        }
    }

    /// Returns the dynamic libraries as found, in link order, without the toolchain's and the system's.
    pub fn dynamic_libraries(&self) -> Vec<PathBuf> {
        let libraries = self.inputs.iter().filter(|input| input.kind == InputKind::Dylib);
        libraries.map(|input| input.path.clone()).collect()
    }

    pub(super) fn kept_inputs(&self, wanted: impl Fn(&Input) -> bool) -> Vec<PathBuf> {
        let wanted = self.inputs.iter().filter(|input| wanted(input));
        wanted.filter_map(|input| Some(self.folder.join(input.kept.as_ref()?))).collect()
    }

    /// Removes the options that strip debug information, because the inputs contain more of it than the executable.
    pub(super) fn keep_debug_information(&mut self) {
        const DROPPING: [&str; 4] = ["--strip-debug", "--strip-all", "-S", "-s"];
        self.arguments.retain(|argument| argument.names.is_some() || !DROPPING.contains(&argument.text.as_str()));
    }

    /// Replaces options that strip symbols, because functions are found and ordered by their symbols.
    pub(super) fn keep_symbols(&mut self) {
        const DROPPING: [&str; 2] = ["--strip-all", "-s"];
        let scope = if self.is_driven() { Scope::Linker } else { Scope::Program };
        for argument in self.arguments.iter_mut().filter(|argument| argument.names.is_none()) {
            if DROPPING.contains(&argument.text.as_str()) {
                (argument.scope, argument.text) = (scope, "--strip-debug".to_owned());
            }
        }
    }

    /// Builds the command that repeats the link, from the stored files, to another output path.
    pub fn command(&self, output: &Path) -> Command {
        let mut command = Command::new(&self.linker);
        command.current_dir(&self.cwd).envs(&self.env);
        // Add the side's libraries, because another version may have replaced those in cargo's folder.
        if let Some(libraries) = self.folder.ancestors().nth(2).map(|side| side.join(LIBRARIES)) {
            command.args(libraries.is_dir().then(|| format!("-L{}", libraries.display())));
        }
        for Argument { scope, text, names } in &self.arguments {
            let mut argument = OsString::from(text);
            match names {
                None => {}
                Some(Named::Output) => argument.push(output),
                Some(Named::Folder(folder)) => argument.push(folder),
                Some(Named::Dylib { name, .. }) => argument.push(format!("-l{name}")),
                Some(Named::Input(number)) => {
                    let Some(input) = self.inputs.get(*number) else { continue };
                    match &input.kept {
                        Some(name) if input.kind != InputKind::Dylib => argument.push(self.folder.join(name)),
                        _ => argument.push(&input.path),
                    }
                }
            }
            if *scope == Scope::Linker {
                command.arg("-Xlinker");
            }
            command.arg(argument);
        }
        command
    }

    /// Checks whether this link created the executable at this path.
    pub(super) fn belongs_to(&self, executable: &Path) -> bool {
        Output::of(executable)
            .is_some_and(|output| (output.bytes, output.modified_ns) == (self.output.bytes, self.output.modified_ns))
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Creates a record with stored files `a.o` and `v.map`, and with a hash in most names.
    pub fn record(folder: &Path, hash: &str, more: &[&str]) -> LinkRecord {
        let input = |kind, name: &str, kept: Option<&str>| {
            if let Some(kept) = kept {
                fs::write(&folder.join(kept), kept).unwrap();
            }
            Input { kind, path: PathBuf::from(format!("/build/{name}")), kept: kept.map(str::to_owned) }
        };
        let inputs = vec![
            input(InputKind::Object, &format!("a-{hash}.o"), Some("a.o")),
            input(InputKind::Toolchain, "libstd.rlib", None),
            input(InputKind::Script, &format!("rustc{hash}/v.map"), Some("v.map")),
            input(InputKind::Dylib, "libd.so", None),
        ];
        let argument = |text: &str, names| Argument { scope: Scope::Program, text: text.to_owned(), names };
        let mut arguments = vec![
            argument("", Some(Named::Input(0))),
            argument("", Some(Named::Input(1))),
            argument("--version-script=", Some(Named::Input(2))),
            argument("-L", Some(Named::Folder(format!("/build/x-{hash}/out")))),
            argument("", Some(Named::Dylib { name: "d".to_owned(), input: 3 })),
            argument(&format!("-rpath=/build/x-{hash}/out"), None),
            argument("-Bstatic", None),
            argument("-lz", None),
            argument("-o", None),
            argument("", Some(Named::Output)),
        ];
        arguments.extend(more.iter().map(|text| argument(text, None)));
        LinkRecord {
            version: VERSION,
            linker: "cc".to_owned(),
            cwd: PathBuf::from("/"),
            env: BTreeMap::from([("PATH".to_owned(), hash.to_owned())]),
            arguments,
            inputs,
            output: Output { path: PathBuf::from("/build/out"), bytes: 0, modified_ns: 0 },
            incomplete: None,
            folder: folder.to_owned(),
        }
    }

    pub const ONE: &str = "0123456789abcdef";
    #[test]
    fn a_record_is_read_back_and_refused_in_another_form() {
        let dir = tempfile::tempdir().unwrap();
        let record = record(dir.path(), ONE, &[]);
        record.save(dir.path()).unwrap();
        let read = LinkRecord::load(dir.path()).unwrap();
        assert_eq!(read.options(), record.options());
        assert_eq!(read.inputs(), [dir.path().join("a.o")]);
        LinkRecord { version: VERSION + 1, ..record }.save(dir.path()).unwrap();
        assert!(LinkRecord::load(dir.path()).unwrap_err().message().contains("its form is"));
    }

    #[test]
    fn debug_information_can_be_kept() {
        let dir = tempfile::tempdir().unwrap();
        let mut record = record(dir.path(), ONE, &["--strip-debug", "--gc-sections"]);
        let stripped = record.options();
        record.keep_debug_information();
        let (kept, dropped): (Vec<_>, Vec<_>) = stripped.into_iter().partition(|option| option != "--strip-debug");
        assert_eq!((record.options(), dropped.len()), (kept, 1));
    }

    #[test]
    fn symbols_can_be_kept() {
        let dir = tempfile::tempdir().unwrap();
        let mut record = record(dir.path(), ONE, &["-s", "--gc-sections", "--strip-all"]);
        record.keep_symbols();
        assert!(record.options().ends_with(&["--strip-debug", "--gc-sections", "--strip-debug"].map(str::to_owned)));
    }

    #[test]
    fn a_link_does_not_belong_to_another_executable() {
        let dir = tempfile::tempdir().unwrap();
        let executable = dir.path().join("out");
        fs::write(&executable, "one").unwrap();
        let record = LinkRecord { output: Output::of(&executable).unwrap(), ..record(dir.path(), ONE, &[]) };
        assert!(record.belongs_to(&executable));
        fs::write(&executable, "another").unwrap();
        assert!(!record.belongs_to(&executable));
    }
}
