//! Link-time optimization (LTO) in a version's profile.
//!
//! Measured builds disable LTO unless the user keeps it: it compiles the whole program for each test executable, and it
//! merges functions of all crates, which hides the changed function. Only cargo can disable it, because cargo decides
//! how dependencies are compiled. If the versions configure different LTO, the difference may be what the user wants to
//! measure.

use perfunit_model::LtoKind;
use std::collections::BTreeSet;
use toml::{Table, Value};

/// Returns the LTO of a profile. `tables` are manifest and configuration files, in order of increasing precedence.
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

/// Returns the LTO settings in the environment, in the form of a configuration file.
pub(super) fn environment_overrides(variables: impl Iterator<Item = (String, String)>) -> Table {
    let profiles = variables.filter_map(|(name, value)| {
        let profile = name.strip_prefix("CARGO_PROFILE_")?.strip_suffix("_LTO")?;
        // Cargo treats `_` like `-` here.
        let profile = profile.to_lowercase();
        let lto = Table::from_iter([("lto".to_owned(), Value::String(value))]);
        Some([(profile.replace('_', "-"), Value::Table(lto.clone())), (profile, Value::Table(lto))])
    });
    let profiles: Table = profiles.flatten().collect();
    Table::from_iter([("profile".to_owned(), Value::Table(profiles))])
}

/// Returns the kind of LTO that a value means to cargo and rustc; `None` for no LTO across crates.
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
        // Cargo rejects a cycle.
        check("a", &["[profile.a]\ninherits = 'b'\n[profile.b]\ninherits = 'a'"], None);
    }

    #[test]
    fn variables_are_a_table_of_profiles() {
        let variables = [("CARGO_PROFILE_MY_FAST_LTO", "thin"), ("CARGO_PROFILE_BENCH_LTO", "true"), ("LTO", "true")];
        let said =
            environment_overrides(variables.map(|(name, value)| (name.to_owned(), value.to_owned())).into_iter());
        for (profile, expected) in [("my-fast", Some(LtoKind::Thin)), ("bench", Some(LtoKind::Fat)), ("release", None)]
        {
            assert_eq!(of_profile(profile, std::slice::from_ref(&said)), expected, "{profile}");
        }
    }
}
