//! The executable as rustc's linker: runs the real linker, and stores the inputs meanwhile.

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

/// Exit status of shells for a program that cannot be started.
const NOT_STARTED: u8 = 127;

/// Checks by `argv[0]` whether rustc calls us as its linker.
pub fn is_link(name: &OsStr) -> bool {
    is_place(Path::new(name))
}

/// Runs the role. Ends with the status of the real linker.
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
    // Linkers only read their inputs, and rustc removes them only after we end.
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

/// Stored inputs of a link; valid once the executable exists.
struct Draft {
    folder: PathBuf,
    record: LinkRecord,
}

/// Stores the inputs. Returns `None` if this call creates no file or if storing fails (arguments that are not text, no
/// space): an executable without a record counts as changed.
fn draft(wrapper_folder: &Path, linker: &OsStr, arguments: &[OsString]) -> Option<Draft> {
    let cwd = std::env::current_dir().ok()?;
    let arguments = arguments.iter().map(|argument| argument.to_str().map(str::to_owned));
    let arguments = expand(arguments.collect::<Option<_>>()?, &|path| std::fs::read_to_string(cwd.join(path)).ok());
    let parsed = parse(&arguments);
    let output = parsed.iter().find_map(|argument| argument.output())?;
    let output = cwd.join(output);
    let folder = fs::with_ending(&folder_of(&output), ".new");
    // A killed link may have left the folder. Cargo's lock excludes other processes.
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
    /// Moves the folder next to the executable. Failures are ignored: readers detect that an older record does not
    /// belong to the new executable.
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
