//! What test executables were linked from, read for comparison: every file once, however many executables it is in.

use super::code::{self, Program, Unit, Unreadable};
use perfunit_build::{CompiledFiles, LinkRecord};
use perfunit_model::error::{Error, Stop, Tried};
use perfunit_system::fs;
use perfunit_system::os::unix::fs::MetadataExt;
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

/// The files read so far.
#[derive(Default)]
pub struct Units {
    /// By device and inode: kept files are links to one another where they are the same.
    known: HashMap<(u64, u64), Result<Arc<Unit>, Unreadable>>,
}

impl Units {
    /// The program of a link and of those of the libraries that it loads, or why it cannot be read. `files` are those that
    /// were compiled into it.
    pub fn program<'a>(
        &mut self,
        links: impl Iterator<Item = &'a LinkRecord>,
        files: &CompiledFiles,
    ) -> Tried<Program, Unreadable> {
        let mut units = Vec::new();
        for path in links.flat_map(LinkRecord::inputs) {
            units.push(self.unit(&path, files)?);
        }
        Ok(code::link(&units))
    }

    fn unit(&mut self, path: &Path, files: &CompiledFiles) -> Tried<Arc<Unit>, Unreadable> {
        let data = path.metadata().map_err(|error| {
            Error::setup(format!("cannot read {}: {error}", path.display())).hint("run `cargo perfunit clean`")
        })?;
        let key = (data.dev(), data.ino());
        if let Some(known) = self.known.get(&key) {
            return known.clone().map_err(Stop::Because);
        }
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let unit = code::read(&name, &fs::read(path)?, files).map(Arc::new);
        self.known.insert(key, unit.clone());
        unit.map_err(Stop::Because)
    }
}
