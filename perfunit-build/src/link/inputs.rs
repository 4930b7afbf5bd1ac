//! Finds the inputs of a link and stores them.

use super::arguments::{Meaning, Parsed};
use super::record::{Argument, Input, InputKind, LinkRecord, Named, folder_of};
use perfunit_model::LostInputs;
use perfunit_model::error::Result;
use perfunit_system::fs;
use perfunit_system::os::unix::fs::MetadataExt;
use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Component, Path, PathBuf};

/// Words of a linker script that name more files.
const SCRIPT_INPUTS: [&str; 4] = ["INCLUDE", "INPUT", "GROUP", "STARTUP"];
/// Length of an ELF header up to the file type.
const HEADER: usize = 18;

/// Storage for inputs in a folder.
#[derive(Debug)]
pub(super) struct Keeper<'a> {
    folder: &'a Path,
    cwd: &'a Path,
    /// The toolchain's folder.
    sysroot: &'a Path,
    /// Library search path.
    search: Vec<PathBuf>,
    pub inputs: Vec<Input>,
    /// First reason why inputs may be missing.
    pub incomplete: Option<LostInputs>,
}

impl<'a> Keeper<'a> {
    /// Creates the storage. `env` contains the variables that the linker reads.
    pub fn new(folder: &'a Path, cwd: &'a Path, sysroot: &'a Path, env: &BTreeMap<String, String>) -> Self {
        let search = env.get("LIBRARY_PATH").into_iter().flat_map(|list| std::env::split_paths(list));
        let search = search.filter(|path| !path.as_os_str().is_empty()).collect();
        Self { folder, cwd, sysroot, search, inputs: Vec::new(), incomplete: None }
    }

    /// Stores the files that the arguments name. `-L` applies to all libraries, including those before it.
    pub fn keep(&mut self, parsed: Vec<Parsed>) -> Vec<Argument> {
        let folders = parsed.iter().filter_map(|argument| match &argument.meaning {
            Meaning::Folder(folder) => Some(self.cwd.join(folder)),
            _ => None,
        });
        // These come before those of the environment.
        self.search = folders.chain(std::mem::take(&mut self.search)).collect();
        parsed.into_iter().map(|argument| self.argument(argument)).collect()
    }

    fn argument(&mut self, Parsed { scope, text, meaning }: Parsed) -> Argument {
        let plain = |value: &str| Argument { scope, text: format!("{text}{value}"), names: None };
        let (text, names) = match meaning {
            Meaning::Plain => return plain(""),
            Meaning::Output(_) => (text, Named::Output),
            Meaning::Folder(folder) => (text, Named::Folder(folder)),
            Meaning::File(word) => {
                if word.starts_with('@') {
                    self.miss(LostInputs::Arguments { file: word.clone() });
                }
                let path = self.cwd.join(&word);
                if !path.is_file() {
                    return plain(&word);
                }
                (text, Named::Input(self.input(path)))
            }
            Meaning::Script(word) => {
                // The linker finds its own scripts by name, in its own folders.
                let candidates = std::iter::once(self.cwd).chain(self.search.iter().map(PathBuf::as_path));
                let Some(path) = candidates.map(|folder| folder.join(&word)).find(|path| path.is_file()) else {
                    return plain(&word);
                };
                (text, Named::Input(self.store_script(path)))
            }
            Meaning::Library { name, is_static } => match self.library(&name, is_static) {
                Some(path) => {
                    let input = self.input(path);
                    let is_archive = matches!(self.inputs[input].kind, InputKind::Archive | InputKind::Object);
                    (text, if is_archive { Named::Input(input) } else { Named::Dylib { name, input } })
                }
                None => return plain(&format!("-l{name}")),
            },
        };
        Argument { scope, text, names: Some(names) }
    }

    /// Finds the file for `-l`; `None` if it is in the linker's own search folders.
    fn library(&self, name: &str, is_static: bool) -> Option<PathBuf> {
        let names = match name.strip_prefix(':') {
            Some(file) => vec![file.to_owned()],
            None if is_static => vec![format!("lib{name}.a")],
            None => vec![format!("lib{name}.so"), format!("lib{name}.a")],
        };
        let places = self.search.iter().flat_map(|folder| names.iter().map(move |name| folder.join(name)));
        places.into_iter().find(|path| path.is_file())
    }

    /// Stores an input and returns its index.
    fn input(&mut self, path: PathBuf) -> usize {
        if let Some(kind) = self.foreign(&path) {
            return self.note(kind, path, None);
        }
        let header = header(&path);
        let kind = match header.as_slice() {
            [b'!', b'<', b'a', b'r', b'c', b'h', b'>', ..] => InputKind::Archive,
            [b'!', b'<', b't', b'h', b'i', b'n', b'>', ..] => {
                self.miss(LostInputs::ThinArchive { file: path.display().to_string() });
                InputKind::Archive
            }
            // An executable can be linked like a library.
            [0x7f, b'E', b'L', b'F', ..] if !is_relocatable(&header) => {
                // It is stored elsewhere, where processes find it.
                return self.note(InputKind::Dylib, path, None);
            }
            [0x7f, b'E', b'L', b'F', ..] | [b'B', b'C', 0xc0, 0xde, ..] | [0xde, 0xc0, 0x17, 0x0b, ..] => {
                InputKind::Object
            }
            _ => return self.store_script(path),
        };
        let kept = self.file(&path);
        self.note(kind, path, kept)
    }

    /// Stores a text for the linker and returns its index.
    fn store_script(&mut self, path: PathBuf) -> usize {
        if let Some(kind) = self.foreign(&path) {
            return self.note(kind, path, None);
        }
        let text = fs::read(&path).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let mut words = text.split(|c: char| !c.is_alphanumeric() && c != '_');
        if words.any(|word| SCRIPT_INPUTS.contains(&word)) {
            self.miss(LostInputs::Script { file: path.display().to_string() });
        }
        let kept = self.file(&path);
        self.note(InputKind::Script, path, kept)
    }

    /// Stores the linker itself if it is the user's script, because it may add arguments that we do not see.
    pub fn linker(&mut self, linker: &str, search: Option<&String>) {
        let mut candidates: Vec<PathBuf> = Vec::new();
        if linker.contains('/') {
            candidates.push(self.cwd.join(linker));
        } else if let Some(search) = search {
            candidates.extend(std::env::split_paths(search).map(|folder| self.cwd.join(folder).join(linker)));
        }
        let Some(path) = candidates.into_iter().find(|path| path.is_file()) else { return };
        let is_systems = path.starts_with("/usr/bin") || path.starts_with("/bin") || self.foreign(&path).is_some();
        if !is_systems && header(&path).starts_with(b"#!") {
            let kept = self.file(&path);
            self.note(InputKind::Script, path, kept);
        }
    }

    /// Checks whether a file belongs to the toolchain or the system; those files are not stored.
    fn foreign(&self, path: &Path) -> Option<InputKind> {
        if path.starts_with(self.sysroot) {
            return Some(InputKind::Toolchain);
        }
        is_system(path).then_some(InputKind::System)
    }

    /// Stores one file under its index, and returns its name.
    fn file(&mut self, path: &Path) -> Option<String> {
        let name = path.file_name()?.to_string_lossy();
        let kept = format!("{:04}-{name}", self.inputs.len());
        let place = self.folder.join(&kept);
        // Rustc replaces its archives as a whole and removes its objects, so a hard link preserves the content. Other
        // programs, such as GNU ar, write into the file.
        let is_rustcs = name.ends_with(".rlib") || name.ends_with(".rcgu.o");
        let done = if is_rustcs { fs::link_or_copy(path, &place) } else { fs::copy(path, &place) };
        if let Err(error) = done {
            self.miss(LostInputs::NotCopied { error: error.message().to_owned() });
            return None;
        }
        Some(kept)
    }

    fn note(&mut self, kind: InputKind, path: PathBuf, kept: Option<String>) -> usize {
        self.inputs.push(Input { kind, path, kept });
        self.inputs.len() - 1
    }

    fn miss(&mut self, why: LostInputs) {
        self.incomplete.get_or_insert(why);
    }
}

/// Reads the first bytes, by which linkers recognize file types.
fn header(path: &Path) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(HEADER);
    if let Ok(file) = std::fs::File::open(path) {
        let _ = file.take(HEADER as u64).read_to_end(&mut bytes);
    }
    bytes
}

/// Checks for a relocatable ELF file. Its type is a two-byte number in the file's own byte order; 1 is relocatable.
fn is_relocatable(header: &[u8]) -> bool {
    matches!(header.get(16..18), Some([1, 0] | [0, 1]))
}

/// Checks whether a file is in a system library folder. Projects may be in `/usr/src` or `/usr/local`.
fn is_system(path: &Path) -> bool {
    let mut names = path.components().filter_map(|part| match part {
        Component::Normal(name) => Some(name.to_string_lossy()),
        _ => None,
    });
    let is_lib = |name: Option<std::borrow::Cow<'_, str>>| {
        matches!(name.as_deref(), Some("lib" | "lib32" | "lib64" | "libx32" | "libexec"))
    };
    match names.next().as_deref() {
        Some("usr") => is_lib(names.next()),
        Some("nix" | "gnu") => names.next().as_deref() == Some("store"),
        first => is_lib(first.map(std::borrow::Cow::Borrowed)),
    }
}

/// Copies the stored inputs of rustc's output into a side's folder. Returns `None` if there are none, or if they belong
/// to another link.
pub fn carry(executable: &Path, place: PathBuf) -> Result<Option<PathBuf>> {
    match record_of(executable) {
        Some(record) => carry_record(&record, place).map(Some),
        None => Ok(None),
    }
}

/// Loads the record of the link that created the executable.
fn record_of(executable: &Path) -> Option<LinkRecord> {
    LinkRecord::load(&folder_of(executable)).ok().filter(|record| record.belongs_to(executable))
}

/// Copies a record. The files also stay in cargo's folder, because the next build may find the executable fresh.
fn carry_record(record: &LinkRecord, place: PathBuf) -> Result<PathBuf> {
    for input in &record.inputs {
        let Some(name) = &input.kept else { continue };
        let (from, to) = (record.folder.join(name), place.join(name));
        if may_be_overwritten(input, &from) { fs::copy(&from, &to)? } else { fs::link_or_copy(&from, &to)? }
    }
    record.save(&place)?;
    Ok(place)
}

/// Checks whether rustc may overwrite an input. It replaces archives and removes objects after the link; with `-C
/// save-temps` it later writes new objects into the same files.
fn may_be_overwritten(input: &Input, kept: &Path) -> bool {
    let inode = |path: &Path| path.metadata().ok().map(|data| (data.dev(), data.ino()));
    input.path.extension().is_none_or(|end| end != "rlib") && inode(&input.path) == inode(kept)
}

#[cfg(test)]
mod tests {
    use super::super::arguments::Scope;
    use super::super::arguments::parse;
    use super::super::record::{Argument, InputKind, Named, Output, VERSION};
    use super::*;
    use std::collections::BTreeMap;

    const OBJECT: &[u8] = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x01\0>\0";
    const DYLIB: &[u8] = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x03\0>\0";
    const ARCHIVE: &[u8] = b"!<arch>\n";

    /// Checks each input's kind and name, and the reason why the record is incomplete.
    #[track_caller]
    fn check(files: &[(&str, &[u8])], line: &str, expected: &str) {
        let dir = tempfile::tempdir().unwrap();
        let (cwd, kept) = (dir.path().join("cwd"), dir.path().join("kept"));
        for (path, content) in files {
            fs::write(&cwd.join(path), content).unwrap();
        }
        let arguments: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        let sysroot = cwd.join("sysroot");
        let mut keeper = Keeper::new(&kept, &cwd, &sysroot, &BTreeMap::new());
        keeper.keep(parse(&arguments));
        let show = |input: &Input| {
            if let Some(kept_name) = &input.kept {
                assert!(fs::same_content(&kept.join(kept_name), &input.path).unwrap(), "{kept_name}");
            }
            format!("{:?} {}", input.kind, input.kept.clone().unwrap_or_default())
        };
        let mut found: Vec<String> = keeper.inputs.iter().map(show).collect();
        found.extend(keeper.incomplete.iter().map(|why| why.to_string().replace(cwd.to_str().unwrap(), "")));
        assert_eq!(found.join(", "), expected);
    }

    #[test]
    fn inputs_are_told_apart_by_content_and_kept_in_order() {
        check(
            &[("a.o", OBJECT), ("b.rlib", ARCHIVE), ("c.so", DYLIB), ("d", b"VERSION {}")],
            "a.o -pie b.rlib c.so none.o -Wl,--version-script=d",
            "Object 0000-a.o, Archive 0001-b.rlib, Dylib , Script 0003-d",
        );
    }

    #[test]
    fn libraries_are_found_as_a_linker_finds_them() {
        let files: &[(&str, &[u8])] =
            &[("one/liba.a", ARCHIVE), ("two/liba.so", DYLIB), ("two/libb.so", DYLIB), ("two/libb.a", ARCHIVE)];
        check(files, "-la -lb -lc -L one -Ltwo", "Archive 0000-liba.a, Dylib ");
        check(files, "-L two -Wl,-Bstatic -lb -l:liba.so", "Archive 0000-libb.a, Dylib ");
    }

    #[test]
    fn the_toolchains_files_are_only_named() {
        check(&[("sysroot/lib/libstd.rlib", ARCHIVE)], "sysroot/lib/libstd.rlib", "Toolchain ");
    }

    #[test]
    fn what_lies_elsewhere_makes_the_record_incomplete() {
        check(&[("a.a", b"!<thin>\n")], "a.a", "Archive 0000-a.a, /a.a is a thin archive with members elsewhere");
        check(
            &[("a.ld", b"SECTIONS {} INPUT(b.o)")],
            "-T a.ld",
            "Script 0000-a.ld, the linker script /a.ld may name more files",
        );
    }

    #[test]
    fn system_folders() {
        let system = ["/usr/lib/x86_64-linux-gnu/libz.so", "/lib64/ld.so", "/usr/lib32/a.o", "/nix/store/x/lib/libz.a"];
        assert!(system.iter().all(|path| is_system(Path::new(path))));
        let others = ["/usr/src/app/target/a.o", "/usr/local/lib/libz.a", "/library/a.o", "/opt/lib/a.o"];
        assert!(others.iter().all(|path| !is_system(Path::new(path))));
    }

    /// Creates an executable in `deps` with a record of its link. Rustc has left its one object behind.
    fn create_linked_executable(dir: &Path) -> PathBuf {
        let executable = dir.join("deps/own_name-0123456789abcdef");
        fs::write(&executable, "executable").unwrap();
        let (object, folder) = (dir.join("deps/a.rcgu.o"), folder_of(&executable));
        fs::write(&object, "object").unwrap();
        fs::link_or_copy(&object, &folder.join("0000-a.rcgu.o")).unwrap();
        let record = LinkRecord {
            version: VERSION,
            linker: "cc".to_owned(),
            cwd: dir.to_owned(),
            env: BTreeMap::new(),
            arguments: vec![Argument { scope: Scope::Program, text: String::new(), names: Some(Named::Input(0)) }],
            inputs: vec![Input { kind: InputKind::Object, path: object, kept: Some("0000-a.rcgu.o".to_owned()) }],
            output: Output::of(&executable).unwrap(),
            incomplete: None,
            folder: PathBuf::new(),
        };
        record.save(&folder).unwrap();
        executable
    }

    #[test]
    fn what_rustc_writes_again_does_not_change_a_side() {
        let dir = tempfile::tempdir().unwrap();
        let executable = create_linked_executable(dir.path());
        let place = carry(&executable, dir.path().join("side")).unwrap().unwrap();
        fs::write(&dir.path().join("deps/a.rcgu.o"), "another").unwrap();
        let record = LinkRecord::load(&place).unwrap();
        assert_eq!(fs::read_to_string(&record.inputs()[0]).unwrap(), "object");
    }

    #[test]
    fn another_executable_has_no_link() {
        let dir = tempfile::tempdir().unwrap();
        let executable = create_linked_executable(dir.path());
        fs::write(&executable, "of another link").unwrap();
        assert_eq!(carry(&executable, dir.path().join("side")).unwrap(), None);
    }
}
