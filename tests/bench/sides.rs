//! The executables that the tool kept of a version, and what a test executes in them.

use super::Result;
use super::callgrind::{Callgrind, Extent, Job, Profile};
use perfunit_build::{SIDE_VARIABLE, SideBuild, TestExecutable};
use std::path::{Path, PathBuf};

/// The executables of one version.
pub struct Kept {
    /// Where they are.
    pub folder: PathBuf,
    /// What the tool noted of them.
    pub build: SideBuild,
}

impl Kept {
    /// Reads what the tool noted.
    pub fn load(folder: &Path) -> Result<Self> {
        let build = serde_json::from_slice(&std::fs::read(folder.join("build.json"))?)?;
        Ok(Self { folder: folder.to_owned(), build })
    }

    /// The one of a target.
    pub fn executable(&self, target: &str) -> Option<&TestExecutable> {
        self.build.executables.iter().find(|executable| executable.target.to_string() == target)
    }

    /// Runs a test; `None` if it did not end in time.
    pub fn profile(
        &self,
        callgrind: &Callgrind,
        test: &str,
        executable: &TestExecutable,
        extent: Extent,
    ) -> Result<Option<Profile>> {
        let mut environment = executable.env.clone();
        environment.insert(SIDE_VARIABLE.to_owned(), self.folder.display().to_string());
        let job = Job { executable: &executable.path, test, folder: &executable.cwd, environment: &environment };
        callgrind.run(job, extent, &|_| false)
    }
}
