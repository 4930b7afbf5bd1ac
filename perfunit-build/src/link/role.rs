//! The executable as rustc's linker: runs the real one, and keeps the inputs meanwhile.

use super::super::wrapper::WrapperConfig;
use super::arguments::{expand, parse};
use super::inputs::Keeper;
use super::place::{behind, is_place};
use super::record::{LinkRecord, Output, VERSION, folder_of};
use perfunit_model::error::{Error, Result};
use perfunit_model::guesses::LINKER_VARIABLES;
use perfunit_system::fs;
use perfunit_system::os;
use perfunit_system::process;
use perfunit_system::term;
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
