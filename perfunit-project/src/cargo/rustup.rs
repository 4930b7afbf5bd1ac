//! Toolchains by rustup: which one a version asks for, and whether it is there. Nothing is ever installed.

use super::Cargo;
use perfunit_system::process;
use std::path::{Path, PathBuf};
use std::process::Command;
use toml::{Table, Value};

/// The names of a version's file, the one that wins first.
pub const FILES: [&str; 2] = ["rust-toolchain", "rust-toolchain.toml"];

/// The toolchain that a version asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Asked {
    Channel(String),
    /// By its folder, from the folder of the file.
    Path(PathBuf),
}

impl Asked {
    /// Reads a version's file; `None` if it asks for none (but for components, say).
    pub fn read(text: &str) -> Option<Self> {
        // The older form is a name in a line, as the file without an extension may still have it.
        let Ok(table) = text.parse::<Table>() else {
            let name = text.trim();
            return (!name.is_empty() && name.lines().count() == 1).then(|| Self::Channel(name.to_owned()));
        };
        let toolchain = table.get("toolchain")?;
        let text = |key: &str| toolchain.get(key).and_then(Value::as_str);
        text("channel").map(|name| Self::Channel(name.to_owned())).or(text("path").map(|path| Self::Path(path.into())))
    }
}

impl std::fmt::Display for Asked {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Channel(name) => f.write_str(name),
            Self::Path(path) => path.display().fmt(f),
        }
    }
}

/// Why a version's file does not decide.
#[derive(Debug, PartialEq, Eq)]
pub enum Overridden {
    /// rustup is not there, or does not answer.
    NoRustup,
    /// The user named a toolchain: `+name`, a variable, an override for the folder.
    ByName,
}

/// Whether the file of a version would decide in this folder.
pub fn overridden(folder: &Path) -> Option<Overridden> {
    let given = std::env::var("RUSTUP_TOOLCHAIN").ok();
    let answer = output(Command::new("rustup").args(["show", "active-toolchain"]).current_dir(folder));
    why_overridden(std::env::var_os("RUSTC").is_some(), given.as_deref(), answer.as_deref())
}

/// `given` is what the environment says. Cargo, run by rustup, says there what the file said. `answer` is rustup's, with
/// nothing in the environment.
fn why_overridden(has_compiler: bool, given: Option<&str>, answer: Option<&str>) -> Option<Overridden> {
    let answer = answer.and_then(|answer| answer.lines().next()?.split_once(' '));
    match (given, answer) {
        _ if has_compiler => Some(Overridden::ByName),
        (_, Some((_, why))) if why.contains("directory override") => Some(Overridden::ByName),
        (Some(given), Some((name, _))) if name != given && !name.starts_with(&format!("{given}-")) => {
            Some(Overridden::ByName)
        }
        (_, Some(_)) => None,
        (_, None) => Some(Overridden::NoRustup),
    }
}

/// The toolchain that a version asks for, in whose tree `folder` holds the file, or rustup's default; `None` where it is
/// not installed or cannot build for us.
pub fn find(asked: Option<&Asked>, folder: &Path) -> Option<Cargo> {
    let sysroot = match asked {
        Some(Asked::Path(path)) => Some(folder.join(path)),
        Some(Asked::Channel(name)) => sysroot(name),
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

/// What rustup prints; without what our own start says about toolchains.
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
        let channel = |name: &str| Some(Asked::Channel(name.to_owned()));
        assert_eq!(Asked::read("nightly-2026-01-01\n"), channel("nightly-2026-01-01"));
        assert_eq!(Asked::read("1.80.0\n"), channel("1.80.0"));
        assert_eq!(Asked::read("[toolchain]\nchannel = \"1.80\"\ncomponents = [\"clippy\"]\n"), channel("1.80"));
        assert_eq!(Asked::read("[toolchain]\npath = \"tools/rust\"\n"), Some(Asked::Path("tools/rust".into())));
        assert_eq!(Asked::read("[toolchain]\ncomponents = [\"clippy\"]\n"), None);
        assert_eq!(Asked::read(""), None);
    }

    #[test]
    fn a_toolchain_that_the_user_names_stands_above_files() {
        let by_file = Some("1.80.0-x86_64-unknown-linux-gnu (overridden by '/p/rust-toolchain.toml')\n");
        let full = Some("1.80.0-x86_64-unknown-linux-gnu");
        assert_eq!(why_overridden(false, None, by_file), None);
        assert_eq!(why_overridden(false, full, by_file), None);
        assert_eq!(why_overridden(false, Some("1.80.0"), by_file), None);
        assert_eq!(why_overridden(false, Some("nightly"), by_file), Some(Overridden::ByName));
        assert_eq!(why_overridden(true, None, by_file), Some(Overridden::ByName));
        let default = Some("stable-x86_64-unknown-linux-gnu (default)");
        assert_eq!(why_overridden(false, None, default), None);
        let folder = Some("stable-x86_64-unknown-linux-gnu (directory override for '/p')");
        assert_eq!(why_overridden(false, None, folder), Some(Overridden::ByName));
        assert_eq!(why_overridden(false, full, None), Some(Overridden::NoRustup));
    }
}
