//! A small program that is built like the user's programs, with its link record, to test what the linker supports.

use super::link;
use super::wrapper::{Inlining, Probes, WRAPPER_NAME, WrapperConfig};
use perfunit_model::error::{Error, Result};
use perfunit_project::cargo::Cargo;
use perfunit_system::fs;
use perfunit_system::process;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The program with the folder of its link record.
#[derive(Debug)]
pub struct Sample {
    pub executable: PathBuf,
    pub link: PathBuf,
}

const MANIFEST: &str = "[package]\nname = \"sample\"\nversion = \"0.0.0\"\nedition = \"2021\"\n\n[workspace]\n\n[profile.dev]\ndebug = false\n";
const MAIN: &str = "#[inline(never)]\nfn sum(values: &[String]) -> usize {\n    values.iter().map(String::len).sum()\n}\n\n\
                    fn main() {\n    std::process::exit(i32::from(sum(&std::env::args().collect::<Vec<_>>()) > 1000));\n}\n";

/// Builds the program in `scratch` with cargo's configuration of `folder`, which may set linker and options.
pub fn build_sample(cargo: &Cargo, folder: &Path, scratch: &Path) -> Result<Sample> {
    let (package, target) = (scratch.join("sample"), scratch.join("target"));
    fs::write(&package.join("Cargo.toml"), MANIFEST)?;
    fs::write(&package.join("src/main.rs"), MAIN)?;
    let wrapper = wrapper(cargo, &scratch.join("wrapper"))?;
    let mut command = cargo.command();
    command.args(["build", "--quiet", "--manifest-path"]).arg(package.join("Cargo.toml"));
    command.arg("--target-dir").arg(&target).env("RUSTC_WORKSPACE_WRAPPER", wrapper).current_dir(folder);
    let output = process::output(&mut command).map_err(|error| Error::setup(format!("cannot run cargo: {error}")))?;
    if !output.status.success() {
        let message = String::from_utf8_lossy(&output.stderr);
        let first = message.lines().find(|line| line.starts_with("error")).or_else(|| message.lines().next());
        return Err(Error::setup(first.unwrap_or("cargo failed without a message").to_owned()));
    }
    find(&target).ok_or_else(|| Error::setup("the linker is unknown"))
}

/// Searches a folder for the program and its link record. Their path depends on cargo's version and configuration.
fn find(folder: &Path) -> Option<Sample> {
    fs::list_dir(folder).ok()?.into_iter().filter(|path| path.is_dir()).find_map(|path| {
        match link::executable_of(&path) {
            Some(executable) => Some(Sample { executable, link: path }),
            None => find(&path),
        }
    })
}

/// Sets up our executable as rustc wrapper in a folder, for a program that is not a test.
fn wrapper(cargo: &Cargo, folder: &Path) -> Result<PathBuf> {
    let ours = std::env::current_exe().map_err(|error| Error::setup(error.to_string()))?;
    let wrapper = folder.join(WRAPPER_NAME);
    fs::link_or_copy(&ours, &wrapper)?;
    let none = PathBuf::new;
    let config = WrapperConfig {
        runtime: none(),
        runner: None,
        macros: none(),
        growth: none(),
        stand_ins: BTreeMap::new(),
        chained: None,
        sysroot: cargo.sysroot.clone(),
        probes: Probes::Without,
        inlining: Inlining::AsBuilt,
    };
    config.save(folder)?;
    Ok(wrapper)
}
