//! The executables that the tool kept of a version, and the code that a test executes in them.

use super::Result;
use super::callgrind::{Callgrind, Extent, Job, Profile};
use perfunit_build::{SIDE_VARIABLE, SideBuild, TestExecutable};
use std::path::{Path, PathBuf};

/// The executables of one version.
pub struct Kept {
    /// Folder of the executables.
    pub folder: PathBuf,
    /// The tool's description of the build.
    pub build: SideBuild,
}

impl Kept {
    /// Loads the tool's description.
    pub fn load(folder: &Path) -> Result<Self> {
        let build = serde_json::from_slice(&std::fs::read(folder.join("build.json"))?)?;
        Ok(Self { folder: folder.to_owned(), build })
    }

    /// Returns the executable of a target.
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
