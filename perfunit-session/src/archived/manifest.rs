//! What an archive says of itself.

use super::recipe::Recipe;
use crate::options::Options;
use perfunit_build as build;
use perfunit_model::error::{Error, Result};
use perfunit_model::{Sides, VersionName};
use perfunit_project::cargo::Context;
use perfunit_project::git::{Request, Versions};
use perfunit_select::Scope;
use perfunit_system::archive as packed;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// Changes with the format of the manifest.
const FORMAT: u32 = 2;

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Manifest {
    format: u32,
    /// Version of the tool that made it.
    tool: String,
    /// Key of what the tool links into test executables.
    parts: String,
    /// Output of `rustc -vV`, of both sides where it differs.
    pub compiler: String,
    /// The toolchain's folder: links that are made again take the standard library from it.
    pub sysroot: PathBuf,
    /// Our folder: executables know where they were built.
    pub ours: PathBuf,
    pub versions: Sides<VersionName>,
    /// Keys of the versions' contents.
    pub contents: Sides<String>,
    pub asked: Asked,
    pub recipes: Vec<Recipe>,
}

/// What of the options decided the builds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Asked {
    pub request: Request,
    pub scope: Scope,
    pub all_tests: bool,
    pub build: build::Options,
}

/// What the compilers of both sides say of themselves.
pub fn compilers(context: &Context) -> String {
    let base = context.base_cargo.as_ref();
    let base = base.map(|base| format!("base: {}{}\n", base.version, base.sysroot.display()));
    context.cargo.version.clone() + &base.unwrap_or_default()
}

/// What an archive is to say of itself: how its builds came about, of what was asked for and found here.
pub fn note(
    options: &Options,
    context: &Context,
    versions: &Versions,
    contents: Sides<String>,
    recipes: Vec<Recipe>,
) -> Result<Vec<u8>> {
    let manifest = Manifest {
        format: FORMAT,
        tool: env!("CARGO_PKG_VERSION").to_owned(),
        parts: build::parts_key(),
        compiler: compilers(context),
        sysroot: context.cargo.sysroot.clone(),
        ours: context.ours.clone(),
        versions: versions.names(),
        contents,
        asked: Asked::of(options),
        recipes,
    };
    serde_json::to_vec(&manifest).map_err(|error| Error::setup(error.to_string()))
}

/// What every format of a manifest says.
#[derive(Deserialize)]
struct Header {
    format: u32,
    tool: String,
}

impl Asked {
    pub fn of(options: &Options) -> Self {
        Self {
            request: options.request.clone(),
            scope: options.scope.clone(),
            all_tests: options.all_tests,
            build: options.build.clone(),
        }
    }
}

impl Manifest {
    pub fn read(archive: &Path) -> Result<Self> {
        let note = packed::note(archive)?;
        let damaged = |error: serde_json::Error| {
            Error::usage(format!("{} is damaged: {error}", archive.display()))
                .hint("make it anew with `cargo perfunit archive`")
        };
        let header: Header = serde_json::from_slice(&note).map_err(damaged)?;
        let (own, theirs) = (env!("CARGO_PKG_VERSION"), &header.tool);
        let other = |what: &str| {
            Error::usage(format!("{} was made by {what} of cargo-perfunit, {theirs}; this is {own}", archive.display()))
                .hint("install the same version on all machines, or make the archive anew")
        };
        if header.format != FORMAT || *theirs != own {
            return Err(other("another version"));
        }
        let manifest: Self = serde_json::from_slice(&note).map_err(damaged)?;
        if manifest.parts == build::parts_key() { Ok(manifest) } else { Err(other("another build")) }
    }
}
