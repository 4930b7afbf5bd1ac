//! Tests of a tree that holds several versions in turn.

use super::inject::injected_text;
use super::tree::Stats;
use super::{Injected, Injections, Tree};
use perfunit_project::git::fixture::Fixture;
use perfunit_project::git::{FileSet, Repository};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A tree and its repository.
struct Case {
    fixture: Fixture,
    repository: Repository,
    tree: Tree,
}

impl Case {
    fn new(files: &[(&str, &str)]) -> Case {
        let fixture = Fixture::new(files);
        let tree = Tree::open(&fixture.outside().join("home"), "").unwrap();
        Case { repository: fixture.open(), fixture, tree }
    }

    /// Checks out the working tree's files into the shadow tree.
    fn checkout(&mut self) -> Stats {
        self.inject(&[])
    }

    fn inject(&mut self, paths: &[&str]) -> Stats {
        let injections = paths.iter().map(|path| (path, Injected::Macro)).collect::<Injections>();
        self.tree.checkout(&self.repository, &self.fixture.head_files(), &injections).unwrap()
    }

    fn home(&self, name: &str) -> PathBuf {
        self.fixture.outside().join("home").join(name)
    }

    #[track_caller]
    fn check(&self, expected: &[(&str, &str)]) {
        let expected: BTreeMap<_, _> =
            expected.iter().map(|(path, text)| (PathBuf::from(path), (*text).to_owned())).collect();
        let mut found = BTreeMap::new();
        read_all(&self.tree.root(), Path::new(""), &mut found);
        assert_eq!(found, expected);
    }
}

/// Reads files as text, links as `-> target`, empty folders as `/`.
fn read_all(root: &Path, relative: &Path, found: &mut BTreeMap<PathBuf, String>) {
    let mut is_empty = true;
    for item in fs::read_dir(root.join(relative)).unwrap().map(Result::unwrap) {
        is_empty = false;
        let path = relative.join(item.file_name());
        let kind = item.file_type().unwrap();
        if kind.is_dir() {
            read_all(root, &path, found);
        } else if kind.is_symlink() {
            found.insert(path, format!("-> {}", item.path().read_link().unwrap().display()));
        } else {
            found.insert(path, fs::read_to_string(item.path()).unwrap());
        }
    }
    if is_empty {
        found.insert(relative.to_owned(), "/".to_owned());
    }
}

fn time(path: &Path) -> (i64, i64) {
    let metadata = path.symlink_metadata().unwrap();
    (metadata.mtime(), metadata.mtime_nsec())
}

fn done(written: usize, removed: usize, kept: usize) -> Stats {
    Stats { written, removed, kept, ..Stats::default() }
}

#[test]
fn only_files_that_differ_are_written() {
    let mut case = Case::new(&[("a", "1"), ("dir/b", "1"), ("dir/gone", "1")]);
    assert_eq!(case.checkout(), done(3, 0, 0));
    let before = time(&case.tree.path("a"));
    case.fixture.write("dir/b", "2");
    case.fixture.remove("dir/gone");
    let old = time(&case.tree.path("dir/b"));
    assert_eq!(case.checkout(), done(1, 1, 1));
    case.check(&[("a", "1"), ("dir/b", "2")]);
    assert_eq!(time(&case.tree.path("a")), before);
    assert_ne!(time(&case.tree.path("dir/b")), old);
    assert_eq!(case.checkout(), done(0, 0, 2));
}

#[test]
fn another_process_finds_the_tree_as_it_was_left() {
    let mut case = Case::new(&[("a", "1")]);
    case.checkout();
    case.tree = Tree::open(&case.home(""), "").unwrap();
    assert_eq!(case.checkout(), done(0, 0, 1));
}

#[test]
fn kinds_of_file_are_kept_and_change() {
    let mut case =
        Case::new(&[("run", "#!"), ("target_of_link", "t"), ("becomes_folder", "f"), ("folder/becomes_file", "f")]);
    case.fixture.symlink("link", "target_of_link");
    let run = case.fixture.root.join("run");
    fs::set_permissions(&run, fs::Permissions::from_mode(0o755)).unwrap();
    case.checkout();
    let bits = |case: &Case| case.tree.path("run").metadata().unwrap().mode() & 0o777;
    assert_eq!(bits(&case), 0o755);
    case.check(&[
        ("run", "#!"),
        ("target_of_link", "t"),
        ("becomes_folder", "f"),
        ("folder/becomes_file", "f"),
        ("link", "-> target_of_link"),
    ]);

    fs::set_permissions(&run, fs::Permissions::from_mode(0o644)).unwrap();
    case.fixture.remove("becomes_folder");
    case.fixture.write("becomes_folder/x", "x");
    case.fixture.remove("folder/becomes_file");
    fs::remove_dir(case.fixture.root.join("folder")).unwrap();
    case.fixture.write("folder", "file");
    case.fixture.remove("link");
    case.fixture.write("link", "no link");
    case.checkout();
    assert_eq!(bits(&case), 0o644);
    case.check(&[
        ("run", "#!"),
        ("target_of_link", "t"),
        ("becomes_folder/x", "x"),
        ("folder", "file"),
        ("link", "no link"),
    ]);
}

#[test]
fn what_tests_write_into_the_tree_is_undone_and_named() {
    let mut case = Case::new(&[("edited", "1"), ("removed", "1"), ("kept", "1"), ("same_size", "1")]);
    case.checkout();
    let tree = case.tree.root();
    fs::write(tree.join("edited"), "snapshot").unwrap();
    fs::write(tree.join("same_size"), "2").unwrap();
    fs::remove_file(tree.join("removed")).unwrap();
    fs::create_dir_all(tree.join("left/over")).unwrap();
    fs::write(tree.join("left/over/file"), "x").unwrap();
    fs::create_dir_all(tree.join("empty/folders")).unwrap();
    fs::set_permissions(tree.join("empty"), fs::Permissions::from_mode(0o500)).unwrap();
    Command::new("mkfifo").arg(tree.join("pipe")).status().unwrap();
    let files = case.fixture.head_files();
    let named = case.tree.restore(&case.repository, &files, &Injections::none()).unwrap();
    assert_eq!(named, ["edited", "left/over/file", "pipe", "removed", "same_size"].map(PathBuf::from));
    case.check(&[("edited", "1"), ("removed", "1"), ("kept", "1"), ("same_size", "1")]);
    assert!(case.tree.restore(&case.repository, &files, &Injections::none()).unwrap().is_empty());
}

#[test]
fn a_file_that_a_test_removed_and_the_next_version_lacks_is_named_once() {
    let mut case = Case::new(&[("a", "1"), ("b", "1")]);
    case.checkout();
    fs::remove_file(case.tree.path("b")).unwrap();
    case.fixture.remove("b");
    assert_eq!(case.checkout().disturbed, [PathBuf::from("b")]);
    assert_eq!(case.checkout(), done(0, 0, 1));
}

#[test]
fn a_removed_tree_is_not_the_doing_of_tests() {
    let mut case = Case::new(&[("a", "1")]);
    case.checkout();
    fs::remove_dir_all(case.home("target")).unwrap();
    case.tree = Tree::open(&case.home(""), "").unwrap();
    assert_eq!(case.checkout(), done(1, 0, 0));
}

#[test]
fn links_are_never_written_through() {
    let mut case = Case::new(&[("dir/a", "1"), ("file", "1")]);
    case.checkout();
    let outside = case.fixture.outside().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("a"), "precious").unwrap();
    // A test replaced a folder and a file of the tree by links to the outside.
    fs::remove_dir_all(case.tree.path("dir")).unwrap();
    symlink(&outside, case.tree.path("dir")).unwrap();
    fs::remove_file(case.tree.path("file")).unwrap();
    symlink(outside.join("a"), case.tree.path("file")).unwrap();
    case.fixture.write("dir/a", "2");
    case.checkout();
    case.check(&[("dir/a", "2"), ("file", "1")]);
    // The version has a link to the outside, then a folder in its place.
    fs::remove_dir_all(case.fixture.root.join("dir")).unwrap();
    case.fixture.symlink("dir", outside.to_str().unwrap());
    case.checkout();
    case.fixture.remove("dir");
    case.fixture.write("dir/a", "3");
    case.checkout();
    case.check(&[("dir/a", "3"), ("file", "1")]);
    assert_eq!(fs::read_to_string(outside.join("a")).unwrap(), "precious");
}

#[test]
fn a_lost_or_damaged_state_means_writing_everything() {
    let mut case = Case::new(&[("a", "1"), ("b", "1")]);
    case.checkout();
    fs::write(case.tree.path("leftover"), "").unwrap();
    fs::write(case.home("tree.json"), "{\"version\":1,").unwrap();
    assert_eq!(case.checkout(), done(2, 1, 0));
    fs::remove_file(case.home("tree.json")).unwrap();
    assert_eq!(case.checkout(), done(2, 0, 0));
    case.check(&[("a", "1"), ("b", "1")]);
}

#[test]
fn an_interrupted_checkout_is_repaired() {
    let mut case = Case::new(&[("a", "1"), ("b", "1"), ("c", "1")]);
    case.checkout();
    // The checkout fails at `b`, whose blob does not exist.
    let mut files = case.fixture.head_files();
    for path in ["a", "b", "c"] {
        files.entries.insert(path.into(), perfunit_project::git::Entry::snapshot(*b"22"));
    }
    let entry = files.entries.get_mut(Path::new("b")).unwrap();
    entry.source = perfunit_project::git::Source::ObjectDatabase;
    case.tree.checkout(&case.repository, &files, &Injections::none()).unwrap_err();
    fs::write(case.home("tree.part"), "half").unwrap();
    case.check(&[("a", "22"), ("b", "1"), ("c", "1")]);
    let stats = case.checkout();
    assert_eq!((stats.written, stats.disturbed.len()), (3, 0));
    case.check(&[("a", "1"), ("b", "1"), ("c", "1")]);
}

#[test]
fn crate_roots_get_our_line_at_their_end() {
    let mut case = Case::new(&[("src/lib.rs", "fn a() {} // no line break"), ("src/main.rs", "fn main() {}\n")]);
    case.checkout();
    let stats = case.inject(&["src/lib.rs", "src/absent.rs"]);
    assert_eq!(stats.not_injected, [PathBuf::from("src/absent.rs")]);
    assert_eq!((stats.written, stats.kept), (1, 1));
    let lib = format!("fn a() {{}} // no line break{}", injected_text(Path::new("src/lib.rs")));
    case.check(&[("src/lib.rs", &lib), ("src/main.rs", "fn main() {}\n")]);
    assert_eq!(case.inject(&["src/lib.rs"]), done(0, 0, 2));
    assert_eq!(case.checkout(), done(1, 0, 1));
}

#[test]
fn a_crate_root_that_is_a_link_becomes_a_file_of_its_own() {
    let mut case = Case::new(&[("common/root.rs", "mod x;\n"), ("a/x.rs", "")]);
    case.fixture.symlink("a/lib.rs", "../common/root.rs");
    case.inject(&["a/lib.rs"]);
    case.check(&[
        ("common/root.rs", "mod x;\n"),
        ("a/x.rs", ""),
        ("a/lib.rs", &format!("mod x;\n{}", injected_text(Path::new("a/lib.rs")))),
    ]);
}

#[test]
fn what_lies_outside_the_repository_is_linked_at_its_place() {
    let fixture = Fixture::new(&[("Cargo.toml", "1")]);
    let other = fixture.outside().join("libs/other");
    fs::create_dir_all(&other).unwrap();
    fs::write(other.join("Cargo.toml"), "2").unwrap();
    let home = fixture.outside().join("home");
    let mut tree = Tree::open(&home, "work/proj").unwrap();
    tree.link_outside("libs/other", &other);
    let (repository, files) = (fixture.open(), fixture.head_files());
    let checkout = |tree: &mut Tree| tree.checkout(&repository, &files, &Injections::none()).unwrap();
    assert_eq!(checkout(&mut tree), done(2, 0, 0));
    assert_eq!(fs::read_to_string(tree.path("../../libs/other/Cargo.toml")).unwrap(), "2");
    fs::write(tree.path("../leftover"), "").unwrap();
    let mut tree = Tree::open(&home, "work/proj").unwrap();
    let stats = checkout(&mut tree);
    assert_eq!((stats.removed, stats.disturbed), (2, vec![PathBuf::from("../../work/leftover")]));
    assert!(other.join("Cargo.toml").exists());
}

#[test]
fn paths_that_are_not_utf8_are_checked_out() {
    use std::os::unix::ffi::OsStrExt as _;
    let mut case = Case::new(&[("a", "1")]);
    let name = std::ffi::OsStr::from_bytes(b"caf\xe9");
    fs::write(case.fixture.root.join(name), "latin").unwrap();
    case.checkout();
    assert_eq!(case.checkout(), done(1, 0, 1));
    assert_eq!(fs::read_to_string(case.tree.path(name)).unwrap(), "latin");
}

/// Returns the workspace root that cargo finds for a package in the tree.
fn workspace_root(package: &Path) -> PathBuf {
    let arguments = ["metadata", "--offline", "--no-deps", "--format-version", "1"];
    let output = Command::new("cargo").args(arguments).current_dir(package).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    PathBuf::from(metadata["workspace_root"].as_str().unwrap())
}

#[test]
fn cargo_takes_no_workspace_above_the_tree_and_the_right_one_inside() {
    let package = |name: &str| format!("[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2021\"\n");
    let live = "[workspace]\nmembers = [\"member\"]\nresolver = \"2\"\n";
    let fixture =
        Fixture::new(&[("Cargo.toml", live), ("member/Cargo.toml", &package("member")), ("member/src/lib.rs", "")]);
    let mut tree = Tree::open(&fixture.root.join("target/perfunit/shadow"), "proj").unwrap();
    let mut checkout = |entries: &[(&str, &str)]| {
        let entry = |(path, text): &(&str, &str)| {
            (PathBuf::from(path), perfunit_project::git::Entry::snapshot(text.as_bytes()))
        };
        let mut files = FileSet::default();
        files.entries = entries.iter().map(entry).collect();
        tree.checkout(&fixture.open(), &files, &Injections::none()).unwrap();
        tree.root()
    };
    let root = checkout(&[("Cargo.toml", &package("single")), ("src/lib.rs", "")]);
    assert_eq!(workspace_root(&root), root);
    let workspace = "[workspace]\nmembers = [\"a\"]\nexclude = [\"fuzz\"]\nresolver = \"2\"\n";
    let root = checkout(&[
        ("Cargo.toml", workspace),
        ("a/Cargo.toml", &package("a")),
        ("a/src/lib.rs", ""),
        ("fuzz/Cargo.toml", &package("fuzz")),
        ("fuzz/src/lib.rs", ""),
    ]);
    assert_eq!(workspace_root(&root.join("a")), root);
    assert_eq!(workspace_root(&root.join("fuzz")), root.join("fuzz"));
    assert_eq!(workspace_root(&fixture.root.join("member")), fixture.root);
}
