//! What went into one link: the kept files and the command line, enough to do it again.

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

/// The record's file in the folder of the kept files; written last: its presence says that the folder is complete.
const NOTE: &str = "link.json";
/// Ending of the folder beside the executable.
const FOLDER_SUFFIX: &str = ".perfunit-link";

/// Name of the folder with the libraries of a side, beside that with its links.
pub(crate) const LIBRARIES: &str = "lib";

/// One link of an executable. Two ends read it, so it is refused when they disagree on its form.
#[derive(Debug, Serialize, Deserialize)]
pub struct LinkRecord {
    pub(super) version: u32,
    /// The real linker, as rustc was told of it.
    pub(super) linker: String,
    pub(super) cwd: PathBuf,
    /// The variables that linkers and their drivers obey.
    pub(super) env: BTreeMap<String, String>,
    pub(super) arguments: Vec<Argument>,
    pub(super) inputs: Vec<Input>,
    pub(super) output: Output,
    pub(super) incomplete: Option<LostInputs>,
    #[serde(skip)]
    pub(super) folder: PathBuf,
}

/// The form of the record.
pub(super) const VERSION: u32 = 1;

/// An argument with response files and `-Wl,` lists taken apart: a text, followed by what it names.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Argument {
    pub scope: Scope,
    pub text: String,
    pub names: Option<Named>,
}

/// What an argument names.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Named {
    /// Number of the input.
    Input(usize),
    /// A library that is found by name, and loaded at run time: the executable remembers the name, so it is linked by
    /// name again.
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
    /// Its name in our folder.
    pub kept: Option<String>,
}

/// What an input is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum InputKind {
    /// A relocatable object, or bitcode.
    Object,
    /// An archive of objects: `.rlib` or `.a`.
    Archive,
    /// A dynamic library that is not the system's: kept with all that the tests of a side load.
    Dylib,
    /// Text that steers the linker: compared as a whole.
    Script,
    /// Part of the toolchain: not kept, the same on both sides.
    Toolchain,
    /// Part of the system: not kept.
    System,
}

/// The executable, and what tells it from another one at its place.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Output {
    pub path: PathBuf,
    pub bytes: u64,
    /// Time of its last change. Not the inode: a cache of target folders may have been unpacked.
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

/// The folder beside an executable.
pub(super) fn folder_of(executable: &Path) -> PathBuf {
    fs::with_ending(executable, FOLDER_SUFFIX)
}

/// The executable that a folder lies beside.
pub(crate) fn executable_of(folder: &Path) -> Option<PathBuf> {
    Some(folder.with_file_name(folder.file_name()?.to_str()?.strip_suffix(FOLDER_SUFFIX)?))
}

impl LinkRecord {
    /// Reads the record of a folder of kept files.
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

    /// Why something that went into the executable may not be among the inputs: then nothing can be said about what
    /// changed between two links.
    pub fn incomplete(&self) -> Option<&LostInputs> {
        self.incomplete.as_ref()
    }

    /// The kept objects and archives, in the order of the link.
    pub fn inputs(&self) -> Vec<PathBuf> {
        self.numbered_inputs().into_iter().map(|(_, path)| path).collect()
    }

    /// The same with their numbers.
    pub(super) fn numbered_inputs(&self) -> Vec<(usize, PathBuf)> {
        let inputs = self.inputs.iter().enumerate();
        let wanted = inputs.filter(|(_, input)| matches!(input.kind, InputKind::Object | InputKind::Archive));
        wanted.filter_map(|(number, input)| Some((number, self.folder.join(input.kept.as_ref()?)))).collect()
    }

    /// Puts other files in the place of inputs, by their numbers.
    pub(super) fn replace(&mut self, files: &BTreeMap<usize, PathBuf>) {
        for (number, file) in files {
            let input = &mut self.inputs[*number];
            (input.path, input.kept) = (file.clone(), None);
        }
    }

    /// The dynamic libraries as they were found, in the order of the link: neither the toolchain's nor the system's.
    pub fn dynamic_libraries(&self) -> Vec<PathBuf> {
        let libraries = self.inputs.iter().filter(|input| input.kind == InputKind::Dylib);
        libraries.map(|input| input.path.clone()).collect()
    }

    pub(super) fn kept(&self, wanted: impl Fn(&Input) -> bool) -> Vec<PathBuf> {
        let wanted = self.inputs.iter().filter(|input| wanted(input));
        wanted.filter_map(|input| Some(self.folder.join(input.kept.as_ref()?))).collect()
    }

    /// Leaves out the options that drop debug information: the inputs hold more of it than the executable.
    pub(super) fn keep_debug_information(&mut self) {
        const DROPPING: [&str; 4] = ["--strip-debug", "--strip-all", "-S", "-s"];
        self.arguments.retain(|argument| argument.names.is_some() || !DROPPING.contains(&argument.text.as_str()));
    }

    /// Keeps the names of functions in an executable that drops them, by which they are ordered and found.
    pub(super) fn keep_symbols(&mut self) {
        const DROPPING: [&str; 2] = ["--strip-all", "-s"];
        let scope = if self.is_driven() { Scope::Linker } else { Scope::Program };
        for argument in self.arguments.iter_mut().filter(|argument| argument.names.is_none()) {
            if DROPPING.contains(&argument.text.as_str()) {
                (argument.scope, argument.text) = (scope, "--strip-debug".to_owned());
            }
        }
    }

    /// The command that does the link again, from the kept files, to another place.
    pub fn command(&self, output: &Path) -> Command {
        let mut command = Command::new(&self.linker);
        command.current_dir(&self.cwd).envs(&self.env);
        // Those that were found by name: in cargo's folder another version may have taken their place.
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

    /// True if the executable at this place came out of this link.
    pub(super) fn belongs_to(&self, executable: &Path) -> bool {
        Output::of(executable)
            .is_some_and(|output| (output.bytes, output.modified_ns) == (self.output.bytes, self.output.modified_ns))
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A record of what is kept in a folder as `a.o` and `v.map`, with a hash in most names.
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
