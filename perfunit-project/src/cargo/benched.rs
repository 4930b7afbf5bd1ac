//! Which targets `cargo bench` takes unless they are named: `cargo metadata` does not tell, the manifest does.

use super::patched::manifest;
use perfunit_model::TargetKind;
use std::path::Path;
use toml::{Table, Value};

/// The manifest of a package.
pub(super) struct Benched(Table);

impl Benched {
    /// By the manifest in a folder; one that cannot be read says nothing, and cargo's defaults hold.
    pub fn of(folder: &Path) -> Self {
        Self(manifest(folder).unwrap_or_default())
    }

    /// Whether `cargo bench --benches` takes a target.
    pub fn takes(&self, kind: TargetKind, name: &str) -> bool {
        let named = |key: &str| {
            let mut targets = self.0.get(key).and_then(Value::as_array).into_iter().flatten();
            targets.find(|target| target.get("name").and_then(Value::as_str) == Some(name))
        };
        let target = match kind {
            // There is one, whatever it is called.
            TargetKind::Lib | TargetKind::LibBench => self.0.get("lib"),
            TargetKind::Bin | TargetKind::BinBench => named("bin"),
            TargetKind::Bench => named("bench"),
            // Their benchmarks are not measured, whatever the manifest says.
            TargetKind::Test | TargetKind::Example | TargetKind::Doctest => return false,
        };
        target.and_then(|target| target.get("bench")?.as_bool()).unwrap_or(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(manifest: &str, kind: TargetKind, name: &str, expected: bool) {
        assert_eq!(Benched(manifest.parse().unwrap()).takes(kind, name), expected);
    }

    #[test]
    fn libraries_binaries_and_bench_targets_are_taken_unless_the_manifest_says_no() {
        let text = "[lib]\nname = \"other\"\nbench = false\n[[bin]]\nname = \"a\"\ntest = false\n\
            [[bin]]\nname = \"b\"\nbench = false\n[[bench]]\nname = \"a\"\nbench = false\n\
            [[bench]]\nname = \"b\"\nbench = true\n[[test]]\nname = \"it\"\nbench = true\n";
        check(text, TargetKind::Lib, "demo", false);
        check(text, TargetKind::Bin, "a", true);
        check(text, TargetKind::Bin, "b", false);
        check(text, TargetKind::Bench, "a", false);
        check(text, TargetKind::Bench, "b", true);
        check(text, TargetKind::Bench, "found-by-cargo", true);
        check(text, TargetKind::Test, "it", false);
        for kind in [TargetKind::Lib, TargetKind::Bin, TargetKind::Bench] {
            check("[package]\nname = \"demo\"\n", kind, "demo", true);
        }
    }

    #[test]
    fn without_a_manifest_cargos_defaults_hold() {
        assert!(Benched::of(Path::new("/nowhere")).takes(TargetKind::Lib, "demo"));
    }
}
