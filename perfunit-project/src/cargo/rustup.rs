//! Rustup toolchains: which one a version requests, and whether it is installed. Never installs anything.

use super::Cargo;
use perfunit_system::process;
use std::path::{Path, PathBuf};
use std::process::Command;
use toml::{Table, Value};

/// Names of the toolchain file, the one with precedence first.
pub const FILES: [&str; 2] = ["rust-toolchain", "rust-toolchain.toml"];

/// Toolchain that a version requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolchainRequest {
    Channel(String),
    /// A folder, relative to the folder of the toolchain file.
    Path(PathBuf),
}

impl ToolchainRequest {
    /// Parses a toolchain file. Returns `None` if it requests no toolchain, for example only components.
    pub fn read(text: &str) -> Option<Self> {
        // The older format, still valid in the file without extension, is a single line with the name.
        let Ok(table) = text.parse::<Table>() else {
            let name = text.trim();
            return (!name.is_empty() && name.lines().count() == 1).then(|| Self::Channel(name.to_owned()));
        };
        let toolchain = table.get("toolchain")?;
        let text = |key: &str| toolchain.get(key).and_then(Value::as_str);
        text("channel").map(|name| Self::Channel(name.to_owned())).or(text("path").map(|path| Self::Path(path.into())))
    }
}

impl std::fmt::Display for ToolchainRequest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Channel(name) => f.write_str(name),
            Self::Path(path) => path.display().fmt(f),
        }
    }
}

/// Reason why the toolchain file of a version does not apply.
#[derive(Debug, PartialEq, Eq)]
pub enum Overridden {
    NoRustup,
    /// The user selected a toolchain: by `+name`, an environment variable, or an override for the folder.
    ByName,
}

/// Checks whether something overrides the version's toolchain file in this folder.
pub fn find_override(folder: &Path) -> Option<Overridden> {
    if output(Command::new("rustup").arg("--version")).is_none() {
        return Some(Overridden::NoRustup);
    }
    let given = std::env::var("RUSTUP_TOOLCHAIN").ok();
    let answer = output(Command::new("rustup").args(["show", "active-toolchain"]).current_dir(folder));
    let by_name = is_chosen_by_name(std::env::var_os("RUSTC").is_some(), given.as_deref(), answer.as_deref());
    by_name.then_some(Overridden::ByName)
}

/// Returns whether the user chose a toolchain instead of the file's. `given` is `RUSTUP_TOOLCHAIN`, which rustup sets to
/// the file's toolchain when it runs cargo. `answer` is what rustup prints without that variable; nothing if the file's
/// toolchain is not installed, with which rustup would not have run cargo.
fn is_chosen_by_name(has_compiler: bool, given: Option<&str>, answer: Option<&str>) -> bool {
    let answer = answer.and_then(|answer| answer.lines().next()?.split_once(' '));
    match (given, answer) {
        _ if has_compiler => true,
        (_, Some((_, why))) if why.contains("directory override") => true,
        (Some(given), Some((name, _))) => name != given && !name.starts_with(&format!("{given}-")),
        (Some(_), None) => true,
        (None, _) => false,
    }
}

/// Finds the toolchain that a version requests, or rustup's default. `folder` holds the version's toolchain file.
/// Returns `None` if the toolchain is not installed or too old.
pub fn find(asked: Option<&ToolchainRequest>, folder: &Path) -> Option<Cargo> {
    let sysroot = match asked {
        Some(ToolchainRequest::Path(path)) => Some(folder.join(path)),
        Some(ToolchainRequest::Channel(name)) => sysroot(name),
        None => {
            let answer = output(Command::new("rustup").arg("default"));
            answer.and_then(|answer| sysroot(answer.split_whitespace().next()?))
        }
    };
    Cargo::at(&sysroot.filter(|sysroot| sysroot.join("bin/rustc").is_file())?).ok()
}

fn sysroot(name: &str) -> Option<PathBuf> {
    let answer = output(Command::new("rustup").args(["run", name, "rustc", "--print", "sysroot"]))?;
    Some(PathBuf::from(answer.trim()))
}

/// Runs rustup and returns its output. Removes the variable that rustup set when it started us.
fn output(command: &mut Command) -> Option<String> {
    command.env_remove("RUSTUP_TOOLCHAIN").env("RUSTUP_AUTO_INSTALL", "0");
    let output = process::output(command).ok().filter(|output| output.status.success())?;
    String::from_utf8(output.stdout).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_of_the_file_are_read() {
        let channel = |name: &str| Some(ToolchainRequest::Channel(name.to_owned()));
        assert_eq!(ToolchainRequest::read("nightly-2026-01-01\n"), channel("nightly-2026-01-01"));
        assert_eq!(ToolchainRequest::read("1.80.0\n"), channel("1.80.0"));
        assert_eq!(
            ToolchainRequest::read("[toolchain]\nchannel = \"1.80\"\ncomponents = [\"clippy\"]\n"),
            channel("1.80")
        );
        assert_eq!(
            ToolchainRequest::read("[toolchain]\npath = \"tools/rust\"\n"),
            Some(ToolchainRequest::Path("tools/rust".into()))
        );
        assert_eq!(ToolchainRequest::read("[toolchain]\ncomponents = [\"clippy\"]\n"), None);
        assert_eq!(ToolchainRequest::read(""), None);
    }

    #[test]
    fn a_toolchain_that_the_user_names_stands_above_files() {
        let by_file = Some("1.80.0-x86_64-unknown-linux-gnu (overridden by '/p/rust-toolchain.toml')\n");
        let full = Some("1.80.0-x86_64-unknown-linux-gnu");
        assert!(!is_chosen_by_name(false, None, by_file));
        assert!(!is_chosen_by_name(false, full, by_file));
        assert!(!is_chosen_by_name(false, Some("1.80.0"), by_file));
        assert!(is_chosen_by_name(false, Some("nightly"), by_file));
        assert!(is_chosen_by_name(true, None, by_file));
        let default = Some("stable-x86_64-unknown-linux-gnu (default)");
        assert!(!is_chosen_by_name(false, None, default));
        let folder = Some("stable-x86_64-unknown-linux-gnu (directory override for '/p')");
        assert!(is_chosen_by_name(false, None, folder));
        assert!(is_chosen_by_name(false, full, None));
        assert!(!is_chosen_by_name(false, None, None));
    }
}
