//! The machine's profile: the last complete calibration, in the user's cache folder.

use perfunit_measure::{Bench, kernel};
use perfunit_model::error::{Error, ExitCode, Result};
use perfunit_model::{Calibration, Circumstances};
use perfunit_system::{cache, date, fs};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

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

/// What could be seen before measuring.
pub struct Machine {
    date: String,
    cpu: String,
    kernel: String,
    /// Load average over a minute, once the builds are done.
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

    /// With what is known at the end.
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

/// Processes that wanted to run over the last minute, ours included.
pub fn load() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').next().and_then(|first| first.parse().ok())
}

/// Operations of base's tests.
pub const BASE: u32 = 300;
/// Operations of head's tests that are to be found.
pub const CHANGED: [u32; 4] = [301, 303, 315, 450];
/// The threshold of the rule that is to find an effect, as a part of the effect: just below it.
const THRESHOLD_OF_EFFECT: f64 = 0.9;

/// What the user asked for.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// A rough answer: less time for a verdict.
    pub quick: bool,
    /// How long the whole run may take, builds included; overrun by the verdicts that are under way.
    pub budget: Duration,
    /// Longest measuring for a verdict, and again for its confirmation.
    pub verdict_budget: Duration,
    /// Let other rules decide, too.
    pub compare: bool,
    /// Seed of the random shifts.
    pub seed: u64,
}

/// The threshold that is used to look for an effect of this size.
pub fn threshold(operations: u32) -> f64 {
    THRESHOLD_OF_EFFECT * effect(operations)
}

pub fn effect(operations: u32) -> f64 {
    f64::from(operations) / f64::from(BASE) - 1.0
}

/// Ctrl-C before there was anything to report.
pub fn interrupted() -> Error {
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
        check(r#"{"schema_version": 999}"#, "its form is version 999, not");
        check(r#"{"schema_version": null}"#, "its form is version null");
        check("no document", "calibration.json");
        check(&format!(r#"{{"schema_version": {SCHEMA_VERSION}}}"#), "missing field");
    }
}
