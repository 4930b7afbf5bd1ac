//! Values stored in files, for later runs and for our other roles.

use super::fs;
use perfunit_model::error::{Error, Result};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::path::Path;

/// Writes a value atomically: a reader or a crash sees either the old or the new one.
pub fn write(path: &Path, value: &(impl Serialize + ?Sized)) -> Result<()> {
    let text = serde_json::to_vec(value);
    let failed = |error| Error::setup(format!("cannot write {}: {error}", path.display()));
    fs::write_atomically(path, text.map_err(failed)?)
}

/// Reads a value that exists.
pub fn read<T: DeserializeOwned>(path: &Path) -> Result<T> {
    parse(path, &fs::read(path)?)
}

/// Reads a value that may not exist.
pub fn read_if_exists<T: DeserializeOwned>(path: &Path) -> Result<Option<T>> {
    fs::read_if_exists(path)?.map(|text| parse(path, &text)).transpose()
}

/// Reads a value that may not exist and can be recreated. Returns `None` if the file is damaged.
pub fn read_if_understood<T: DeserializeOwned>(path: &Path) -> Result<Option<T>> {
    Ok(fs::read_if_exists(path)?.and_then(|text| serde_json::from_slice(&text).ok()))
}

fn parse<T: DeserializeOwned>(path: &Path, text: &[u8]) -> Result<T> {
    serde_json::from_slice(text).map_err(|error| {
        Error::setup(format!("{} is damaged: {error}", path.display())).hint("run `cargo perfunit clean`")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_damaged_is_an_error_unless_it_can_be_made_again() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("numbers.json");
        assert_eq!(read_if_exists::<Vec<u32>>(&path).unwrap(), None);
        assert!(read::<Vec<u32>>(&path).is_err());
        write(&path, &[1, 2]).unwrap();
        assert_eq!(read::<Vec<u32>>(&path).unwrap(), [1, 2]);
        fs::write(&path, "[1, 2").unwrap();
        let error = read_if_exists::<Vec<u32>>(&path).unwrap_err();
        assert!(error.message().starts_with(&format!("{} is damaged: EOF", path.display())), "{error}");
        assert_eq!(read_if_understood::<Vec<u32>>(&path).unwrap(), None);
    }
}
