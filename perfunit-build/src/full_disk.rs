//! Full disks, as compilers and linkers report them.

use perfunit_model::error::Error;
use perfunit_model::guesses::{BUS_ERROR, DISK_FULL};
use perfunit_system::{fs, os};
use std::path::Path;

/// Space in bytes below which a disk counts as full.
const LITTLE_SPACE: u64 = 64 << 20;

/// Returns an error if a compiler or linker that writes to a folder failed with this output because the disk is full.
/// Linkers write through mapped memory, where a full disk raises a bus error.
pub fn full_disk(folder: &Path, output: &str) -> Option<Error> {
    let is_tight = || os::free_space(folder).is_some_and(|space| space < LITTLE_SPACE);
    let is_full = output.contains(DISK_FULL) || (output.contains(BUS_ERROR) && is_tight());
    is_full.then(|| Error::setup(format!("the disk that holds {} is full", folder.display())).hint(fs::FREE_SPACE))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_output_shows_that_the_disk_is_full() {
        let folder = std::env::temp_dir();
        let message = |output| full_disk(&folder, output).map(|error| error.message().to_owned());
        let full = message("rust-lld: error: failed to write output 'x': No space left on device\n");
        assert_eq!(full, Some(format!("the disk that holds {} is full", folder.display())));
        assert_eq!(message("error: linking with `cc` failed\n"), None);
    }
}
