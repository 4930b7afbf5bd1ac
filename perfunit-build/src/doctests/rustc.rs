//! Compiler options of a library, which its doc tests must share. Rustdoc does not receive them.

use perfunit_model::error::Result;
use perfunit_system::json;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Suffix of the file that our wrapper writes next to a library.
const SUFFIX: &str = ".perfunit-options";
/// Codegen options that are specific to one file or to libraries.
const OF_LIBRARY: [&str; 5] = ["metadata", "extra-filename", "incremental", "linker-plugin-lto", "prefer-dynamic"];

/// Saves the options of a library for its doc tests. `name` is the library's file name without `lib` and extension.
pub fn keep_options(arguments: &[OsString], out_dir: &Path, name: &str) -> Result<()> {
    json::write(&out_dir.join(format!("{name}{SUFFIX}")), &options(arguments))
}

/// Reads the options of a library; `None` if our wrapper did not compile it.
pub fn options_of(library: &Path) -> Result<Option<Vec<String>>> {
    let stem = library.file_stem().unwrap_or_default().to_string_lossy();
    let note: PathBuf = library.with_file_name(format!("{}{SUFFIX}", stem.strip_prefix("lib").unwrap_or(&stem)));
    json::read_if_exists(&note)
}

/// Returns the codegen options and features among rustc's arguments.
fn options(arguments: &[OsString]) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = arguments.iter().map(|argument| argument.to_string_lossy().into_owned());
    while let Some(argument) = rest.next() {
        let inline = argument.strip_prefix("-C").or_else(|| argument.strip_prefix("--codegen="));
        let (flag, value) = match (argument.as_str(), inline) {
            ("-C" | "--codegen", _) => ("-C", rest.next()),
            (_, Some(value)) => ("-C", Some(value.to_owned())),
            ("--cfg", _) => ("--cfg", rest.next()),
            _ => continue,
        };
        let Some(value) = value else { continue };
        if flag == "--cfg" || !OF_LIBRARY.contains(&value.split('=').next().unwrap_or_default()) {
            found.extend([flag.to_owned(), value]);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doc_tests_are_compiled_as_their_library() {
        let line = "--crate-name demo --emit=link -C opt-level=3 -Cmetadata=1f -C extra-filename=-1f --cfg feature=\"a\" -Ctarget-cpu=native --codegen=debuginfo=0 -L x";
        let arguments: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        let expected = "-C opt-level=3 --cfg feature=\"a\" -C target-cpu=native -C debuginfo=0";
        assert_eq!(options(&arguments).join(" "), expected);
    }
}
