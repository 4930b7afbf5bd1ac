//! Finds the keys that differ between two versions of a manifest or configuration file.

use super::inputs::{remove_description, remove_version};
use toml::{Table, Value};

/// Maximum depth of reported keys: `profile.bench.lto`, `dependencies.serde.features`.
const DEEPEST: usize = 3;

/// Returns the keys that differ, sorted, without those that only describe the package. Returns `None` if a version is
/// missing or cannot be parsed.
pub fn changed_keys(base: Option<&[u8]>, head: Option<&[u8]>) -> Option<Vec<String>> {
    let table = |content: Option<&[u8]>| std::str::from_utf8(content?).ok()?.parse::<Table>().ok();
    let (mut base, mut head) = (table(base)?, table(head)?);
    for table in [&mut base, &mut head] {
        remove_description(table);
        remove_version(table);
    }
    let mut keys = Vec::new();
    compare(&base, &head, "", 1, &mut keys);
    keys.sort();
    Some(keys)
}

fn compare(base: &Table, head: &Table, above: &str, level: usize, keys: &mut Vec<String>) {
    let both = base.keys().chain(head.keys().filter(|key| !base.contains_key(*key)));
    for key in both {
        let (before, after) = (base.get(key), head.get(key));
        if before == after {
            continue;
        }
        let path = if above.is_empty() { key.clone() } else { format!("{above}.{key}") };
        match (level < DEEPEST).then(|| (as_table(before), as_table(after))) {
            Some((Some(before), Some(after))) => compare(&before, &after, &path, level + 1, keys),
            _ => keys.push(path),
        }
    }
}

/// Returns the value as a table. A missing table is empty.
fn as_table(value: Option<&Value>) -> Option<Table> {
    match value {
        None => Some(Table::new()),
        Some(Value::Table(table)) => Some(table.clone()),
        Some(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(base: &str, head: &str, expected: &[&str]) {
        assert_eq!(changed_keys(Some(base.as_bytes()), Some(head.as_bytes())).unwrap(), expected);
    }

    #[test]
    fn keys_are_told_by_their_way() {
        check("", "[profile.bench]\nlto = true\nopt-level = 1", &["profile.bench.lto", "profile.bench.opt-level"]);
        check("[features]\nfast = []", "[features]\nfast = [\"a\"]", &["features.fast"]);
        check("[dependencies]\na = \"1\"", "[dependencies]\na = { version = \"2\" }", &["dependencies.a"]);
        check("[build]\nrustflags = [\"-Cx\"]", "[build]", &["build.rustflags"]);
        check("[a.b.c.d]\ne = 1", "[a.b.c.d]\ne = 2", &["a.b.c"]);
    }

    #[test]
    fn what_only_describes_is_left_out() {
        check("[package]\nversion = \"1\"", "[package]\nversion = \"2\"\ndescription = \"new\"", &[]);
    }

    #[test]
    fn a_file_that_is_new_or_broken_has_no_keys() {
        assert_eq!(changed_keys(None, Some(b"")), None);
        assert_eq!(changed_keys(Some(b"["), Some(b"")), None);
    }
}
