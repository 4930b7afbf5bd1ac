//! Counts the pushes that were not checked for lack of time since the last measured one, in a file in our folder.

use perfunit_model::error::Result;
use perfunit_system::fs;
use std::path::{Path, PathBuf};

/// Increments the count and returns it.
pub fn add(ours: &Path) -> Result<usize> {
    let text = fs::read_if_exists(&file(ours))?.unwrap_or_default();
    let before: usize = String::from_utf8_lossy(&text).trim().parse().unwrap_or(0);
    fs::create_dir_all(ours)?;
    fs::write_atomically(&file(ours), format!("{}\n", before + 1))?;
    Ok(before + 1)
}

/// Resets the count.
pub fn forget(ours: &Path) -> Result<()> {
    fs::remove_file(&file(ours))
}

fn file(ours: &Path) -> PathBuf {
    ours.join("unchecked-pushes")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_are_counted_until_one_is_checked() {
        let folder = tempfile::tempdir().unwrap();
        let ours = folder.path().join("perfunit");
        assert_eq!([add(&ours).unwrap(), add(&ours).unwrap()], [1, 2]);
        forget(&ours).unwrap();
        forget(&ours).unwrap();
        assert_eq!(add(&ours).unwrap(), 1);
        std::fs::write(file(&ours), "no number").unwrap();
        assert_eq!(add(&ours).unwrap(), 1);
    }
}
