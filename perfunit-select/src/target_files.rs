//! The files of each target in both versions.

use super::reach::Files;
use super::source::{self, FileInTarget};
use perfunit_model::{Sides, TargetId};
use perfunit_project::git::{FileSet, Versions};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// Files of each target, on each side.
pub type TargetFiles = BTreeMap<TargetId, Sides<Files>>;

/// Returns the files of the target with this root. A file behind a link is also listed under its real path, where its
/// content is.
pub fn modules(versions: &Versions, files: &FileSet, root: &str) -> Files {
    let place = files.place(root);
    let placed = files.place_all();
    let (Cow::Owned(placed), Some(place)) = (&placed, place.to_str()) else {
        return modules_at(versions, files, root);
    };
    // Modules are found at the paths of the version itself.
    let found = modules_at(versions, placed, place).into_iter();
    found.map(|(path, file)| (files.name(path).to_string_lossy().into_owned(), file)).collect()
}

fn modules_at(versions: &Versions, files: &FileSet, root: &str) -> Files {
    let read = |path: &str| versions.read_file(files, &versions.resolve(files, path)?);
    let mut found = source::modules(root, &read).files;
    let linked = found.iter().filter_map(|(path, file)| {
        let target = versions.resolve(files, path).filter(|target| target != path)?;
        Some((target, FileInTarget { is_behind_link: true, ..file.clone() }))
    });
    for (path, file) in linked.collect::<Vec<_>>() {
        let known = found.entry(path).or_insert_with(|| file.clone());
        known.test_only &= file.test_only;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use perfunit_project::git::fixture::Fixture;

    #[test]
    fn files_behind_links_belong_to_the_target() {
        let fixture = Fixture::unborn();
        fixture.write("b/src/lib.rs", "mod common; mod one; mod round;");
        fixture.write("common/mod.rs", "mod deep;");
        fixture.write("common/deep.rs", "");
        fixture.write("shared/one.rs", "");
        for (link, target) in [
            ("b/src/common", "../../all/common"),
            ("all", "."),
            ("b/src/one.rs", "../../all/shared/one.rs"),
            ("b/src/round.rs", "round.rs"),
        ] {
            fixture.symlink(link, target);
        }
        fixture.commit(&[]);
        let versions = fixture.resolve(Some("HEAD"), None).unwrap().versions;
        let versions = Versions::read(fixture.open(), versions).unwrap();
        let found = modules(&versions, &versions.files.head, "b/src/lib.rs");
        let found: Vec<String> = found.into_iter().map(|(path, file)| format!("{path}={}", file.module)).collect();
        assert_eq!(
            found,
            [
                "b/src/common/deep.rs=common::deep",
                "b/src/common/mod.rs=common",
                "b/src/lib.rs=",
                "b/src/one.rs=one",
                "common/deep.rs=common::deep",
                "common/mod.rs=common",
                "shared/one.rs=one",
            ]
        );
    }
}
