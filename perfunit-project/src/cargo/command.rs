//! The cargo executable and toolchain of a comparison.

use perfunit_model::error::{Error, Result};
use perfunit_system::process;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Minor version of the oldest supported toolchain, which is the oldest that CI tests with. Before 1.77, package IDs
/// had another format, and the build output cannot be read.
pub const OLDEST_MINOR: u32 = 78;

/// A toolchain: cargo, rustc and what they report about themselves.
#[derive(Debug, Clone)]
pub struct Cargo {
    /// Path of the cargo executable.
    pub cargo: PathBuf,
    /// Path of the rustc executable.
    pub rustc: PathBuf,
    /// Output of `rustc -vV`.
    pub version: String,
    pub host: String,
    /// The toolchain's folder.
    pub sysroot: PathBuf,
    /// Value for `RUSTUP_TOOLCHAIN` if rustup chose the toolchain.
    pub rustup_toolchain: Option<String>,
    /// True if the user forbids network access (`--offline` or `--frozen`).
    pub offline: bool,
}

impl Cargo {
    /// Finds the toolchain that `cargo` uses in `folder`.
    pub fn find(folder: &Path) -> Result<Cargo> {
        let rustc =
            std::env::var_os("RUSTC").map_or_else(|| PathBuf::from("rustc"), |rustc| make_absolute(Path::new(&rustc)));
        let version = output(Command::new(&rustc).arg("-vV").current_dir(folder))?;
        let sysroot = output(Command::new(&rustc).args(["--print", "sysroot"]).current_dir(folder))?;
        let sysroot = PathBuf::from(sysroot.trim());
        let host = host(&rustc, &version)?;
        check_version(&version)?;
        // Cargo sets `CARGO` for subcommands. Without it, prefer the cargo of the same toolchain to the one in PATH.
        let beside = sysroot.join("bin/cargo");
        let cargo = std::env::var_os("CARGO")
            .map_or_else(|| if beside.exists() { beside } else { "cargo".into() }, PathBuf::from);
        let by_rustup = sysroot.parent().is_some_and(|parent| parent.ends_with("toolchains"));
        let name = sysroot.file_name().map(|name| name.to_string_lossy().into_owned());
        let rustup_toolchain = std::env::var("RUSTUP_TOOLCHAIN").ok().or(if by_rustup { name } else { None });
        Ok(Cargo { cargo, rustc, version, host, sysroot, rustup_toolchain, offline: false })
    }

    /// Reads the toolchain installed in `sysroot`.
    pub(super) fn at(sysroot: &Path) -> Result<Cargo> {
        let (cargo, rustc) = (sysroot.join("bin/cargo"), sysroot.join("bin/rustc"));
        let version = output(Command::new(&rustc).arg("-vV"))?;
        check_version(&version)?;
        let host = host(&rustc, &version)?;
        // A custom toolchain may consist of a compiler only.
        let cargo =
            if cargo.exists() { cargo } else { std::env::var_os("CARGO").map_or("cargo".into(), PathBuf::from) };
        let name = sysroot.file_name().map(|name| name.to_string_lossy().into_owned());
        let rustup_toolchain = name.filter(|_| sysroot.parent().is_some_and(|parent| parent.ends_with("toolchains")));
        let sysroot = sysroot.to_owned();
        Ok(Cargo { cargo, rustc, version, host, sysroot, rustup_toolchain, offline: false })
    }

    /// Returns the toolchain with network access disabled if cargo's `options` demand it.
    #[must_use]
    pub fn with(self, options: &[String]) -> Self {
        let offline = options.iter().any(|option| option == "--offline" || option == "--frozen");
        Self { offline, ..self }
    }

    /// Returns the first line of `rustc -vV`.
    pub fn rustc_release(&self) -> &str {
        self.version.lines().next().unwrap_or_default()
    }

    /// Returns the minor version of rustc.
    pub fn minor(&self) -> u32 {
        release(&self.version).1.1
    }

    /// Builds a cargo command that uses this toolchain, whatever folder the command starts in.
    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.cargo);
        for name in ["RUSTC", "RUSTC_WRAPPER"] {
            if let Some(program) = std::env::var_os(name).filter(|value| !value.is_empty()) {
                command.env(name, make_absolute(Path::new(&program)));
            }
        }
        // Without a rustup name, select the compiler by its path.
        match &self.rustup_toolchain {
            Some(name) => command.env("RUSTUP_TOOLCHAIN", name),
            None if self.rustc.is_absolute() => command.env("RUSTC", &self.rustc),
            None => &mut command,
        };
        command
    }
}

fn host(rustc: &Path, version: &str) -> Result<String> {
    let host = version.lines().find_map(|line| line.strip_prefix("host: ")).map(str::to_owned);
    host.ok_or_else(|| Error::setup(format!("`{} -vV` reports no host", rustc.display())))
}

/// Makes the path of a program absolute, because we run cargo in another folder than the user's.
pub fn make_absolute(program: &Path) -> PathBuf {
    // A name without a slash is looked up in PATH.
    let is_path = program.as_os_str().as_encoded_bytes().contains(&b'/');
    if is_path { std::path::absolute(program).unwrap_or_else(|_| program.to_owned()) } else { program.to_owned() }
}

/// Parses the release and its major and minor number from the output of `rustc -vV`.
fn release(version: &str) -> (&str, (u32, u32)) {
    let release = version.lines().find_map(|line| line.strip_prefix("release: ")).unwrap_or_default();
    let mut numbers = release.split(['.', '-']).map_while(|part| part.parse::<u32>().ok());
    (release, (numbers.next().unwrap_or(1), numbers.next().unwrap_or(0)))
}

fn check_version(version: &str) -> Result<()> {
    let (release, numbers) = release(version);
    if numbers >= (1, OLDEST_MINOR) {
        return Ok(());
    }
    Err(Error::setup(format!("rustc {release} is too old: cargo-perfunit needs at least 1.{OLDEST_MINOR}"))
        .hint("use a newer toolchain: run `cargo +stable perfunit ..`, or change rust-toolchain.toml"))
}

fn output(command: &mut Command) -> Result<String> {
    let words: Vec<_> =
        std::iter::once(command.get_program()).chain(command.get_args()).map(OsStr::to_string_lossy).collect();
    let shown = words.join(" ");
    // Never install a toolchain.
    command.env("RUSTUP_AUTO_INSTALL", "0");
    let output = process::output(command).map_err(|error| {
        Error::setup(format!("cannot run `{shown}`: {error}")).hint("is Rust installed and on PATH?")
    })?;
    if !output.status.success() {
        let stderr = String::from_utf8_lossy(&output.stderr);
        return Err(Error::setup(format!("`{shown}` failed:\n{}", stderr.trim_end())));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Returns cargo's home folder.
pub fn user_folder() -> Option<PathBuf> {
    let given = std::env::var_os("CARGO_HOME").filter(|home| !home.is_empty()).map(PathBuf::from);
    given.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cargo")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_toolchains_are_refused_with_both_versions() {
        let error = check_version("rustc 1.60.0\nrelease: 1.60.0\n").unwrap_err().to_string();
        assert!(error.contains("rustc 1.60.0") && error.contains("1.78"), "{error}");
    }

    #[test]
    fn only_relative_paths_of_programs_are_anchored() {
        let here = std::env::current_dir().unwrap();
        let anchored = |program: &str| make_absolute(Path::new(program));
        assert_eq!(anchored("sccache"), Path::new("sccache"));
        assert_eq!(anchored("./wrapper"), here.join("wrapper"));
        assert_eq!(anchored("tools/wrapper"), here.join("tools/wrapper"));
        assert_eq!(anchored("/bin/wrapper"), Path::new("/bin/wrapper"));
    }

    #[test]
    fn current_and_nightly_toolchains_pass() {
        assert!(check_version("release: 1.95.0\n").is_ok());
        assert!(check_version("release: 1.97.0-nightly\n").is_ok());
        assert!(check_version("release: 2.0.0\n").is_ok());
    }
}
