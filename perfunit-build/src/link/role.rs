//! The executable as rustc's linker: runs the real one, and keeps the inputs meanwhile.

use super::super::rustc_call;
use super::super::rustc_role::{WRAPPER_NAME, WrapperConfig};
use super::arguments::{expand, parse};
use super::inputs::Keeper;
use super::record::{LinkRecord, Output, VERSION, folder_of};
use perfunit_model::error::{Error, Result};
use perfunit_model::guesses::LINKER_VARIABLES;
use perfunit_system::os::unix::ffi::{OsStrExt, OsStringExt};
use perfunit_system::{cache, fs, os, process, term};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// Status of a program that could not be started, as shells have it.
const NOT_STARTED: u8 = 127;

/// True if `argv[0]` says that rustc calls us as its linker.
pub fn is_link(name: &OsStr) -> bool {
    is_place(Path::new(name))
}

/// The role's main: ends as the real linker ends.
pub fn link(place: &OsStr, arguments: impl Iterator<Item = OsString>) -> ExitCode {
    let _ = os::die_with_parent();
    let arguments: Vec<OsString> = arguments.collect();
    match run(Path::new(place), &arguments) {
        Ok(code) => code,
        Err(error) => {
            term::error(&error.to_string());
            ExitCode::from(NOT_STARTED)
        }
    }
}

fn run(place: &Path, arguments: &[OsString]) -> Result<ExitCode> {
    let (wrapper_folder, linker) = behind(place)?;
    let failed =
        |verb: &str, error| Error::setup(format!("cannot {verb} the linker {}: {error}", linker.to_string_lossy()));
    let mut command = Command::new(&linker);
    let mut child = process::start_in_our_place(command.args(arguments)).map_err(|error| failed("start", error))?;
    // Linkers only read their inputs, and rustc removes none before we end.
    let draft = draft(&wrapper_folder, &linker, arguments);
    let status = child.wait().map_err(|error| failed("wait for", error))?;
    if let Some(draft) = draft {
        if status.success() {
            draft.finish();
        } else {
            draft.discard();
        }
    }
    Ok(process::end_like(status))
}

/// What was kept of the link; it counts when the executable is there.
struct Draft {
    folder: PathBuf,
    record: LinkRecord,
}

/// Keeps the inputs. None if this call makes no file, or if a record is not possible (arguments that are no text,
/// no room for a folder): an executable without a record counts as changed.
fn draft(wrapper_folder: &Path, linker: &OsStr, arguments: &[OsString]) -> Option<Draft> {
    let cwd = std::env::current_dir().ok()?;
    let arguments = arguments.iter().map(|argument| argument.to_str().map(str::to_owned));
    let arguments = expand(arguments.collect::<Option<_>>()?, &|path| std::fs::read_to_string(cwd.join(path)).ok());
    let parsed = parse(&arguments);
    let output = parsed.iter().find_map(|argument| argument.output())?;
    let output = cwd.join(output);
    let folder = fs::with_ending(&folder_of(&output), ".new");
    // Of a link that was killed. Cargo's lock keeps others out of its folder.
    fs::remove_dir_all(&folder).and_then(|()| fs::create_dir_all(&folder)).ok()?;
    let env =
        LINKER_VARIABLES.into_iter().filter_map(|name| Some((name.to_owned(), std::env::var(name).ok()?))).collect();
    let config = WrapperConfig::load(wrapper_folder).ok()?;
    let mut keeper = Keeper::new(&folder, &cwd, &config.sysroot, &env);
    let linker = linker.to_string_lossy().into_owned();
    keeper.linker(&linker, env.get("PATH"));
    let arguments = keeper.keep(parsed);
    let (inputs, incomplete) = (keeper.inputs, keeper.incomplete);
    let output = Output { path: output, bytes: 0, modified_ns: 0 };
    let record = LinkRecord {
        version: VERSION,
        linker,
        cwd,
        env,
        arguments,
        inputs,
        output,
        incomplete,
        folder: PathBuf::new(),
    };
    Some(Draft { folder, record })
}

impl Draft {
    /// Puts the folder beside the executable. Fails in silence: a record of an earlier link does not belong to the
    /// executable that is there now, and readers see that.
    fn finish(mut self) {
        let place = folder_of(&self.record.output.path);
        let Some(output) = Output::of(&self.record.output.path) else { return self.discard() };
        self.record.output = output;
        let done = self
            .record
            .save(&self.folder)
            .and_then(|()| fs::remove_dir_all(&place))
            .and_then(|()| fs::rename(&self.folder, &place));
        if done.is_err() {
            self.discard();
        }
    }

    fn discard(self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Name of the folder beside the wrapper.
const FOLDER: &str = "perfunit-linker";
/// Ending of the note.
const NOTE_SUFFIX: &str = ".real";

/// The linker that the user's settings name: cargo turns all of them into arguments, of which the last counts.
pub fn users_linker(arguments: &[OsString]) -> Option<OsString> {
    let linkers = rustc_call::options(arguments).filter(|(name, _)| *name == "linker");
    linkers.last().map(|(_, linker)| linker.to_owned())
}

/// Our executable under the name of a linker, put there on first use. None where that is not possible: then nothing is
/// kept.
pub fn place_for(wrapper_folder: &Path, linker: &OsStr) -> Option<PathBuf> {
    let name = Path::new(linker).file_name()?;
    let folder = wrapper_folder.join(FOLDER).join(cache::hash(linker.as_bytes()));
    let place = folder.join(name);
    if place.exists() {
        return Some(place);
    }
    // rustc runs many times at once: each makes its own, and the first stays.
    let draft = folder.with_extension(std::process::id().to_string());
    if fill(&draft, name, linker).is_err() || fs::rename(&draft, &folder).is_err() {
        let _ = fs::remove_dir_all(&draft);
    }
    place.exists().then_some(place)
}

fn fill(draft: &Path, name: &OsStr, linker: &OsStr) -> Result<()> {
    fs::write(&fs::with_ending(&draft.join(name), NOTE_SUFFIX), linker.as_bytes())?;
    let wrapper = Path::new("../..").join(WRAPPER_NAME);
    perfunit_system::os::unix::fs::symlink(wrapper, draft.join(name)).map_err(|error| Error::setup(error.to_string()))
}

/// True if this is a place that [`place_for`] made.
pub fn is_place(path: &Path) -> bool {
    path.parent().and_then(Path::parent).is_some_and(|folder| folder.ends_with(FOLDER))
}

/// The wrapper's folder, and the linker that a place stands for.
pub fn behind(place: &Path) -> Result<(PathBuf, OsString)> {
    let linker = OsString::from_vec(fs::read(&fs::with_ending(place, NOTE_SUFFIX))?);
    let folder = place.ancestors().nth(3).unwrap_or(Path::new("/"));
    Ok((folder.to_owned(), linker))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_users_last_linker_counts() {
        let linker = |line: &str| {
            let arguments: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
            users_linker(&arguments).map(|linker| linker.into_string().unwrap())
        };
        assert_eq!(linker("--test -C opt-level=3 -Clinker-flavor=gcc"), None);
        assert_eq!(linker("-C linker=/a/clang -Clinker=ld --test").as_deref(), Some("ld"));
        assert_eq!(linker("--codegen linker=a --codegen=linker=b").as_deref(), Some("b"));
    }

    #[test]
    fn a_place_has_the_linkers_name_and_knows_it() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(&dir.path().join(WRAPPER_NAME), "").unwrap();
        for linker in ["cc", "tools/cc", "/opt/clang-19"] {
            let place = place_for(dir.path(), OsStr::new(linker)).unwrap();
            assert_eq!(place.file_name(), Path::new(linker).file_name());
            assert!(is_place(&place) && place.canonicalize().unwrap().ends_with(WRAPPER_NAME));
            assert_eq!(behind(&place).unwrap(), (dir.path().to_owned(), linker.into()));
            assert_eq!(place_for(dir.path(), OsStr::new(linker)), Some(place));
        }
        assert_eq!(fs::list_dir(&dir.path().join(FOLDER)).unwrap().len(), 3);
    }
}
