//! The project and its configuration.

use clap::Args;
use perfunit_model::error::{Error, Result};
use perfunit_project::config::{Configuration, Layer, Resolved};
use perfunit_system::term::Terminal;
use std::path::{Path, PathBuf};

/// Which configuration to use.
#[derive(Debug, Args)]
#[command(next_help_heading = "Configuration")]
pub struct ConfigurationArguments {
    /// Profile of the configuration: one of the file's, or `default`, `hook`, `ci` [default: default].
    #[arg(long, short = 'P', value_name = "NAME", env = "PERFUNIT_PROFILE")]
    pub profile: Option<String>,
    /// Configuration file to use instead of the workspace's `.config/perfunit.toml`.
    #[arg(long, value_name = "PATH")]
    pub config_file: Option<PathBuf>,
}

impl ConfigurationArguments {
    /// Finds and resolves the configuration of the project in a folder, and prints its warnings.
    pub fn find(&self, folder: &Path, manifest: Option<&Path>, typed: Layer, terminal: Terminal) -> Result<Resolved> {
        let configuration = Configuration::find(folder, manifest, self.config_file.as_deref())?;
        let resolved = configuration.resolve(self.profile.as_deref().filter(|name| !name.is_empty()), typed)?;
        resolved.warnings.iter().for_each(|warning| terminal.warning(warning));
        Ok(resolved)
    }
}

/// Returns the current folder and the named manifest.
pub fn place(manifest: Option<&Path>) -> Result<(PathBuf, Option<PathBuf>)> {
    let manifest = manifest.map(real).transpose()?;
    let folder = match manifest.as_deref().and_then(Path::parent) {
        Some(parent) => parent.to_owned(),
        None => folder()?,
    };
    Ok((folder, manifest))
}

/// Returns the current folder without symbolic links, like git and cargo see it.
pub fn folder() -> Result<PathBuf> {
    std::env::current_dir()
        .and_then(|dir| dir.canonicalize())
        .map_err(|error| Error::setup(format!("cannot determine the current folder: {error}")))
}

/// Returns a named manifest's path without symbolic links.
pub fn real(manifest: &Path) -> Result<PathBuf> {
    if manifest.file_name().is_none_or(|name| name != "Cargo.toml") {
        return Err(Error::usage(format!(
            "--manifest-path must be a path to a Cargo.toml, not {}",
            manifest.display()
        )));
    }
    manifest.canonicalize().map_err(|error| Error::usage(format!("--manifest-path {}: {error}", manifest.display())))
}
