//! The link-time optimization (LTO) that a version's profile asks for.
//!
//! Measured builds leave it out unless the user keeps it: it compiles a whole program for each test executable, and merges
//! functions of all crates, which hides the function that changed. Only cargo can leave it out, since it decides what
//! dependencies are compiled to. Where the versions ask for different LTO, this difference may be what to measure.

use perfunit_model::LtoKind;
use std::collections::BTreeSet;
use toml::{Table, Value};

/// Returns the LTO of a profile. Of the tables, which are manifest and configuration, a later one has precedence.
pub(super) fn of_profile(profile: &str, tables: &[Table]) -> Option<LtoKind> {
    let setting = |profile: &str, key: &str| {
        let mut all = tables.iter().rev();
        all.find_map(|table| table.get("profile")?.get(profile)?.get(key))
    };
    let mut seen = BTreeSet::new();
    let mut next = Some(profile);
    while let Some(profile) = next.filter(|profile| seen.insert(*profile)) {
        if let Some(lto) = setting(profile, "lto") {
            return kind(lto);
        }
        next = setting(profile, "inherits").and_then(Value::as_str).or(match profile {
            "bench" => Some("release"),
            "test" => Some("dev"),
            _ => None,
        });
    }
    None
}

/// Returns what the environment says of the LTO of profiles, in the form of a configuration file.
pub(super) fn said_by_environment(variables: impl Iterator<Item = (String, String)>) -> Table {
    let profiles = variables.filter_map(|(name, value)| {
        let profile = name.strip_prefix("CARGO_PROFILE_")?.strip_suffix("_LTO")?;
        // Cargo takes `_` for `-` here.
        let profile = profile.to_lowercase();
        let lto = Table::from_iter([("lto".to_owned(), Value::String(value))]);
        Some([(profile.replace('_', "-"), Value::Table(lto.clone())), (profile, Value::Table(lto))])
    });
    let profiles: Table = profiles.flatten().collect();
    Table::from_iter([("profile".to_owned(), Value::Table(profiles))])
}

/// Returns the kind that a value of `lto` means to cargo and rustc; `None` for none across crates.
fn kind(lto: &Value) -> Option<LtoKind> {
    match lto {
        Value::Boolean(true) => Some(LtoKind::Fat),
        Value::String(name) => match name.as_str() {
            "thin" => Some(LtoKind::Thin),
            "false" | "off" | "no" | "n" | "none" => None,
            _ => Some(LtoKind::Fat),
        },
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(profile: &str, tables: &[&str], expected: Option<LtoKind>) {
        let parsed: Vec<Table> = tables.iter().map(|text| text.parse().unwrap()).collect();
        assert_eq!(of_profile(profile, &parsed), expected, "{tables:?}");
    }

    #[test]
    fn the_nearest_profile_and_the_last_table_decide() {
        let (fat, thin) = (Some(LtoKind::Fat), Some(LtoKind::Thin));
        check("bench", &["[profile.release]\nlto = true"], fat);
        check("bench", &["[profile.release]\nlto = 'fat'\n[profile.bench]\nlto = 'thin'"], thin);
        check("bench", &["[profile.release]\nlto = true\n[profile.bench]\nlto = false"], None);
        check("bench", &["[profile.bench]\nlto = true", "[profile.bench]\nlto = 'off'"], None);
        check("bench", &["[profile.bench]\nlto = false", "[profile.release]\nlto = true"], None);
        check("test", &["[profile.release]\nlto = true"], None);
        check("test", &["[profile.dev]\nlto = 'thin'"], thin);
        check("fast", &["[profile.fast]\ninherits = 'bench'", "[profile.release]\nlto = 'y'"], fat);
        check("bench", &[""], None);
        // Cargo refuses a circle.
        check("a", &["[profile.a]\ninherits = 'b'\n[profile.b]\ninherits = 'a'"], None);
    }

    #[test]
    fn variables_are_a_table_of_profiles() {
        let variables = [("CARGO_PROFILE_MY_FAST_LTO", "thin"), ("CARGO_PROFILE_BENCH_LTO", "true"), ("LTO", "true")];
        let said = said_by_environment(variables.map(|(name, value)| (name.to_owned(), value.to_owned())).into_iter());
        for (profile, expected) in [("my-fast", Some(LtoKind::Thin)), ("bench", Some(LtoKind::Fat)), ("release", None)]
        {
            assert_eq!(of_profile(profile, std::slice::from_ref(&said)), expected, "{profile}");
        }
    }
}
