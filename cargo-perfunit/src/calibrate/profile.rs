//! The machine's profile: the last complete calibration, in the user's cache folder.

use perfunit_measure::{Bench, kernel};
use perfunit_model::error::{Error, ExitCode, Result};
use perfunit_model::{Calibration, Circumstances};
use perfunit_system::{cache, date, fs};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// Name of the file in the cache folder. `clean --cache` removes it.
const NAME: &str = "calibration.json";
/// Version of the file format; version 2 was the document of `calibrate --message-format json`.
const SCHEMA_VERSION: u32 = 3;

#[derive(Serialize, Deserialize)]
struct Profile {
    schema_version: u32,
    calibration: Calibration,
}

/// Saves a calibration in place of the last one, and returns its path.
pub fn keep(calibration: Calibration) -> Result<PathBuf> {
    let path = path()?;
    fs::write_atomically(&path, text(calibration)?)?;
    Ok(path)
}

pub fn load_calibration() -> Result<Calibration> {
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

/// Parses a profile. Other versions are refused, because their figures may have another meaning.
fn parse(text: &[u8], path: &Path) -> Result<Calibration> {
    let refused = |why: String| {
        Error::setup(format!("cannot use the profile {}: {why}", path.display()))
            .hint("run `cargo perfunit calibrate` again")
    };
    let value: Value = serde_json::from_slice(text).map_err(|error| refused(error.to_string()))?;
    if value["schema_version"] != SCHEMA_VERSION {
        return Err(refused(format!("its format is version {}, not {SCHEMA_VERSION}", value["schema_version"])));
    }
    let profile: Profile = serde_json::from_value(value).map_err(|error| refused(error.to_string()))?;
    Ok(profile.calibration)
}

fn path() -> Result<PathBuf> {
    let folder = cache::users_folder()?.ok_or_else(|| {
        Error::setup("no writable folder for the machine's profile").hint("set PERFUNIT_CACHE_DIR to a writable folder")
    })?;
    Ok(folder.join(NAME))
}

/// The machine's state before measuring.
pub struct Machine {
    date: String,
    cpu: String,
    kernel: String,
    /// Load average over one minute, taken after the builds.
    pub load_before: Option<f64>,
}

impl Machine {
    pub fn look() -> Self {
        let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
        Self {
            date: date::utc(SystemTime::now()),
            cpu: kernel::cpu_name(&kernel::read("/proc/cpuinfo").unwrap_or_default()),
            kernel: format!("Linux {}", kernel.trim()),
            load_before: load(),
        }
    }

    /// Adds what is known at the end.
    pub fn circumstances(self, rustc: &str, bench: &Bench) -> Circumstances {
        Circumstances {
            date: self.date,
            tool: env!("CARGO_PKG_VERSION").to_owned(),
            rustc: rustc.to_owned(),
            cpu: self.cpu,
            kernel: self.kernel,
            core: bench.core(),
            paired_address_space: bench.paired_address_space,
            load_before: self.load_before,
            load_after: load(),
        }
    }
}

/// Returns the number of runnable processes over the last minute, ours included.
pub fn load() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').next().and_then(|first| first.parse().ok())
}

/// Number of operations in base's tests.
pub const BASE: u32 = 300;
/// Numbers of operations in head's tests, one for each effect size.
pub const CHANGED: [u32; 4] = [301, 303, 315, 450];
/// The threshold of the rule as a fraction of the effect: just below it.
const THRESHOLD_OF_EFFECT: f64 = 0.9;

/// Options of a calibration.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// True for a quick result with less time per verdict.
    pub quick: bool,
    /// Time budget of the whole run, builds included. Verdicts in progress may exceed it.
    pub budget: Duration,
    /// Time limit of a verdict's measurement, and again of its confirmation.
    pub verdict_budget: Duration,
    /// True to compare with other decision rules.
    pub compare: bool,
    /// Seed of the random shifts.
    pub seed: u64,
}

/// Returns the threshold of the rule for an effect of this size.
pub fn threshold(operations: u32) -> f64 {
    THRESHOLD_OF_EFFECT * effect(operations)
}

pub fn effect(operations: u32) -> f64 {
    f64::from(operations) / f64::from(BASE) - 1.0
}

/// Returns the error for Ctrl-C before there are results.
pub fn interruption() -> Error {
    Error::new(ExitCode::Interrupted, "interrupted before anything was measured")
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
        check(r#"{"schema_version": 999}"#, "its format is version 999, not");
        check(r#"{"schema_version": null}"#, "its format is version null");
        check("no document", "calibration.json");
        check(&format!(r#"{{"schema_version": {SCHEMA_VERSION}}}"#), "missing field");
    }
}
