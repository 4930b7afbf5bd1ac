//! The same link again, with more options: other places for the same functions.

use super::arguments::Scope;
use super::free::Freed;
use super::linkers::Linker;
use super::record::LinkRecord;
use perfunit_model::NoLayout;
use perfunit_model::error::{Error, Stop, Tried};
use perfunit_system::fs;
use perfunit_system::process;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

/// Where the kernel may load what is linked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Position {
    /// As in the link that is repeated: by default anywhere.
    #[default]
    AsBuilt,
    /// At the addresses that the linker gave it.
    Fixed,
}

/// A link under way.
#[derive(Debug)]
pub struct Relink {
    child: Child,
    linker: String,
    output: PathBuf,
}

/// An argument of our own for a link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Extra {
    Input(PathBuf),
    /// One word for the linker, not for a driver.
    Option(OsString),
}

/// Starts the link again from the kept files, by this linker, with `more` behind its options and with what was freed in
/// them. The executable keeps its symbols. Or says why this linker cannot do that.
pub fn relink(
    link: &Path,
    freed: &Freed,
    output: &Path,
    position: Position,
    linker: &Linker,
    more: &[Extra],
) -> Tried<Relink, NoLayout> {
    let mut record = LinkRecord::load(link)?;
    record.replace(&freed.inputs);
    record.keep_symbols();
    record.link_by(linker);
    start(&record, &linker.name, output, position, more)
}

/// Starts the same link, with the debug information that the inputs hold: of the same code at the same addresses.
pub fn relink_with_debug_information(link: &Path, output: &Path) -> Tried<Relink, NoLayout> {
    let mut record = LinkRecord::load(link)?;
    record.keep_debug_information();
    let linker = record.linker.clone();
    start(&record, &linker, output, Position::AsBuilt, &[])
}

fn start(
    record: &LinkRecord,
    linker: &str,
    output: &Path,
    position: Position,
    more: &[Extra],
) -> Tried<Relink, NoLayout> {
    if let Some(why) = record.incomplete() {
        return Err(Stop::Because(NoLayout::Incomplete { why: why.clone() }));
    }
    if let Some(folder) = output.parent() {
        fs::create_dir_all(folder)?;
    }
    let mut command = record.command(output);
    if position == Position::Fixed {
        if !is_free_to_move(record) {
            return Err(Stop::Because(NoLayout::NotPositionIndependent));
        }
        // Of the two options the last counts, and the driver chooses the files that begin a program accordingly.
        command.arg("-no-pie");
    }
    for extra in more {
        match extra {
            Extra::Input(path) => command.arg(path),
            Extra::Option(option) if record.is_driven() => command.arg("-Xlinker").arg(option),
            Extra::Option(option) => command.arg(option),
        };
    }
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let child = process::spawn(&mut command).map_err(|error| {
        let (linker, message) = (linker.to_owned(), error.message().to_owned());
        Stop::Because(NoLayout::Refused { linker, message })
    })?;
    Ok(Relink { child, linker: linker.to_owned(), output: output.to_owned() })
}

impl Relink {
    /// Waits for the end; or says why the linker refuses.
    pub fn finish(self) -> Tried<(), NoLayout> {
        let Self { child, linker, output } = self;
        let ended = child
            .wait_with_output()
            .map_err(|error| Error::setup(format!("cannot link {} again: {error}", output.display())))?;
        if ended.status.success() {
            return Ok(());
        }
        let message = String::from_utf8_lossy(&ended.stderr);
        let first = message.lines().find(|text| !text.trim().is_empty()).unwrap_or("no message");
        Err(Stop::Because(NoLayout::Refused { linker, message: first.trim().to_owned() }))
    }
}

/// Whether a compiler driver was asked for an executable that runs anywhere, and may say itself how a program begins. What
/// rustc brings for static ones (musl) is made for such executables only.
fn is_free_to_move(record: &LinkRecord) -> bool {
    let has = |option: &str| record.arguments.iter().any(|known| known.scope == Scope::Program && known.text == option);
    has("-pie") && !has("-nostartfiles") && !has("-static")
}

#[cfg(test)]
mod tests {
    use super::super::record::{Argument, Output, VERSION};
    use super::*;
    use std::collections::BTreeMap;

    #[track_caller]
    fn check(line: &str, expected: bool) {
        let argument = |text: &str| Argument { scope: Scope::Program, text: text.to_owned(), names: None };
        let record = LinkRecord {
            version: VERSION,
            linker: "cc".to_owned(),
            cwd: PathBuf::from("/"),
            env: BTreeMap::new(),
            arguments: line.split_whitespace().map(argument).collect(),
            inputs: Vec::new(),
            output: Output { path: PathBuf::from("/out"), bytes: 0, modified_ns: 0 },
            incomplete: None,
            folder: PathBuf::new(),
        };
        assert_eq!(is_free_to_move(&record), expected, "{line}");
    }

    #[test]
    fn only_what_a_driver_made_position_independent_can_be_fixed() {
        check("-m64 a.o -pie -nodefaultlibs", true);
        check("-m64 a.o -nodefaultlibs", false);
        check("-nostartfiles rcrt1.o a.o -static-pie", false);
        check("-nostartfiles Scrt1.o a.o -pie", false);
    }
}
