//! The machine's profile: the last complete calibration, in the user's cache folder.

use perfunit_model::Calibration;
use perfunit_model::error::{Error, Result};
use perfunit_system::cache;
use perfunit_system::fs;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Its name in the cache folder, which `clean --cache` removes.
const NAME: &str = "calibration.json";
/// Version of its form; 2 was a document as `calibrate --message-format json` prints it.
const SCHEMA_VERSION: u32 = 3;

#[derive(Serialize, Deserialize)]
struct Profile {
    schema_version: u32,
    calibration: Calibration,
}

/// Keeps a calibration, instead of an earlier one; says where.
pub fn keep(calibration: Calibration) -> Result<PathBuf> {
    let path = path()?;
    fs::write_atomically(&path, text(calibration)?)?;
    Ok(path)
}

pub fn kept() -> Result<Calibration> {
    let path = path()?;
    let Some(text) = fs::read_if_exists(&path)? else {
        return Err(Error::setup("this machine has not been calibrated yet").hint("run `cargo perfunit calibrate`"));
    };
    parse(&text, &path)
}

fn text(calibration: Calibration) -> Result<Vec<u8>> {
    let profile = Profile { schema_version: SCHEMA_VERSION, calibration };
    serde_json::to_vec_pretty(&profile).map_err(|error| Error::setup(error.to_string()))
}

/// A profile of another form is refused: its figures may mean something else.
fn parse(text: &[u8], path: &Path) -> Result<Calibration> {
    let refused = |why: String| {
        Error::setup(format!("cannot use the profile {}: {why}", path.display()))
            .hint("run `cargo perfunit calibrate` again")
    };
    let value: Value = serde_json::from_slice(text).map_err(|error| refused(error.to_string()))?;
    if value["schema_version"] != SCHEMA_VERSION {
        return Err(refused(format!("its form is version {}, not {SCHEMA_VERSION}", value["schema_version"])));
    }
    let profile: Profile = serde_json::from_value(value).map_err(|error| refused(error.to_string()))?;
    Ok(profile.calibration)
}

fn path() -> Result<PathBuf> {
    let folder = cache::users_folder()?.ok_or_else(|| {
        Error::setup("no folder of yours can be written to keep the machine's profile in")
            .hint("name a folder in PERFUNIT_CACHE_DIR")
    })?;
    Ok(folder.join(NAME))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let error = parse(text.as_bytes(), Path::new("calibration.json")).unwrap_err();
        assert!(error.message().contains(expected), "{error}");
        assert!(error.to_string().contains("hint:"), "{error}");
    }

    #[test]
    fn a_profile_of_another_form_is_refused() {
        check(r#"{"schema_version": 999}"#, "its form is version 999, not");
        check(r#"{"schema_version": null}"#, "its form is version null");
        check("no document", "calibration.json");
        check(&format!(r#"{{"schema_version": {SCHEMA_VERSION}}}"#), "missing field");
    }
}
