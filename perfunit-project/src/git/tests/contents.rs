//! Files of a version; reading them never writes anything.

use super::super::fixture::{Fixture, texts};
use super::super::{FileSet, Mode, Repository, Request};
use super::{check_fails, git};
use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

#[track_caller]
fn check_texts(repository: &Repository, files: &FileSet, expected: &[(&str, &str)]) {
    let expected: BTreeMap<_, _> =
        expected.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect();
    assert_eq!(texts(repository, files), expected);
}

#[test]
fn the_working_tree_is_the_commit_with_edits_additions_and_deletions() {
    let fixture =
        Fixture::new(&[("kept", "k"), ("edited", "1"), ("deleted", "d"), ("dir/renamed", "r"), ("staged", "1")]);
    fixture.commit(&[(".gitignore", "*.log\n"), ("ex", "#!")]);
    fixture.write("staged", "2");
    fixture.stage();
    fixture.write("edited", "2");
    fixture.remove("deleted");
    fs::rename(fixture.root.join("dir/renamed"), fixture.root.join("moved")).unwrap();
    fixture.write("new/deep/file", "n");
    fixture.write("ignored.log", "i");
    fixture.symlink("link", "kept");
    fs::set_permissions(fixture.root.join("ex"), fs::Permissions::from_mode(0o755)).unwrap();
    let files = fixture.head_files();
    let expected = [
        (".gitignore", "*.log\n"),
        ("edited", "2"),
        ("ex", "#!"),
        ("kept", "k"),
        ("link", "kept"),
        ("moved", "r"),
        ("new/deep/file", "n"),
        ("staged", "2"),
    ];
    check_texts(&fixture.open(), &files, &expected);
    let mode = |path: &str| files.entries[Path::new(path)].mode;
    assert_eq!((mode("ex"), mode("link"), mode("kept")), (Mode::Executable, Mode::Symlink, Mode::File));
    assert_eq!(files.warnings, []);
}

#[test]
fn a_version_is_not_affected_by_later_edits() {
    let fixture = Fixture::new(&[("a", "1")]);
    fixture.write("a", "2");
    let files = fixture.head_files();
    fixture.write("a", "3");
    check_texts(&fixture.open(), &files, &[("a", "2")]);
}

#[test]
fn a_folder_that_became_a_link_is_one_file() {
    let fixture = Fixture::new(&[("data/x", "1"), ("other/x", "2")]);
    fs::remove_dir_all(fixture.root.join("data")).unwrap();
    fixture.symlink("data", "other");
    check_texts(&fixture.open(), &fixture.head_files(), &[("data", "other"), ("other/x", "2")]);
}

#[test]
fn a_folder_in_place_of_a_file_and_an_untracked_clone_are_told_apart() {
    let fixture = Fixture::new(&[("a", "1"), ("b", "1")]);
    fixture.remove("a");
    fixture.write("a/below", "2");
    git(&fixture.root, &["init", "--quiet", "nested"]);
    fixture.write("nested/file", "not ours");
    check_texts(&fixture.open(), &fixture.head_files(), &[("a/below", "2"), ("b", "1")]);
}

#[test]
fn the_target_folder_is_left_out_even_if_git_does_not_ignore_it() {
    let fixture = Fixture::new(&[("a", "1"), ("out [x]/tracked", "t")]);
    fixture.write("out [x]/debug/big", "b");
    assert_eq!(fixture.head_files().entries.len(), 3);
    let mut repository = fixture.open();
    repository.exclude(&[fixture.root.join("out [x]"), PathBuf::from("/elsewhere")]).unwrap();
    let versions = repository.resolve(&Request::parse(Some("HEAD"), None).unwrap()).unwrap().versions;
    assert!(!versions.head.name.dirty);
    check_texts(&repository, &repository.files(&versions.head).unwrap(), &[("a", "1")]);
}

#[test]
fn results_in_the_project_are_no_change_of_it_unless_they_are_tracked() {
    let fixture = Fixture::new(&[("a", "1"), ("tracked", "t")]);
    fixture.write("results [1]/run.json", "{}");
    fixture.write("tracked", "other");
    let mut repository = fixture.open();
    let results = ["results [1]", "tracked"].map(|name| fixture.root.join(name));
    repository.ignore(&[&results[..], &[PathBuf::from("/elsewhere")]].concat()).unwrap();
    let versions = repository.resolve(&Request::parse(Some("HEAD"), None).unwrap()).unwrap().versions;
    check_texts(&repository, &repository.files(&versions.head).unwrap(), &[("a", "1"), ("tracked", "other")]);
}

#[test]
fn an_ignored_lock_file_belongs_to_both_versions() {
    let fixture = Fixture::new(&[(".gitignore", "Cargo.lock\n"), ("x/Cargo.toml", "1")]);
    fixture.commit(&[("x/Cargo.toml", "2")]);
    fixture.write("x/Cargo.lock", "lock");
    fixture.write("y/Cargo.lock", "no manifest here");
    let repository = fixture.open();
    let versions = repository.resolve(&Request::parse(None, None).unwrap()).unwrap().versions;
    assert!(!versions.head.name.dirty);
    let files = versions.map(|version| repository.files(&version).unwrap());
    assert_eq!(texts(&repository, &files.base)["x/Cargo.lock"], "lock");
    assert_eq!(files.head.entries.len(), 3);
    assert_eq!(files.base.changed_paths(&files.head), [PathBuf::from("x/Cargo.toml")]);
}

#[test]
fn paths_need_not_be_utf8() {
    let fixture = Fixture::new(&[("a", "1")]);
    let name = std::ffi::OsStr::from_bytes(b"caf\xe9");
    fs::write(fixture.root.join(name), "latin").unwrap();
    assert!(fixture.head_files().entries.contains_key(Path::new(name)));
    fixture.stage();
    let head = fixture.raw.head().unwrap().peel_to_commit().unwrap();
    fixture.commit_index(&[&head]);
    assert!(fixture.head_files().entries.contains_key(Path::new(name)));
}

#[test]
fn submodules_are_read_at_the_commit_of_each_version() {
    let library = Fixture::new(&[("lib", "1")]);
    let fixture = Fixture::new(&[("a", "1")]);
    let url = library.root.to_str().unwrap();
    git(&fixture.root, &["submodule", "--quiet", "add", url, "deps/library"]);
    git(&fixture.root, &["commit", "--quiet", "-m", "add"]);
    library.commit(&[("lib", "2")]);
    let inside = fixture.root.join("deps/library");
    git(&inside, &["pull", "--quiet"]);
    let resolve = || fixture.resolve(Some("HEAD"), None).unwrap().versions;
    assert!(resolve().head.name.dirty);
    git(&fixture.root, &["commit", "--quiet", "-am", "update"]);
    assert!(!resolve().head.name.dirty);

    let repository = fixture.open();
    let read = |version| texts(&repository, &repository.files(&version).unwrap()).remove("deps/library/lib");
    let versions = fixture.resolve(Some("HEAD~1..HEAD"), None).unwrap().versions;
    assert_eq!(read(versions.base.clone()).unwrap(), "1");
    assert_eq!(read(versions.head).unwrap(), "2");
    fs::write(inside.join("lib"), "3").unwrap();
    assert_eq!(read(resolve().head).unwrap(), "3");
    assert_eq!(Repository::discover(&inside).unwrap().root(), inside);

    // After deinit, git still has the submodule's objects. Without them the submodule is left out.
    git(&fixture.root, &["submodule", "--quiet", "deinit", "--force", "--all"]);
    assert_eq!(read(versions.base.clone()).unwrap(), "1");
    fs::remove_dir_all(fixture.root.join(".git/modules")).unwrap();
    let files = fixture.open().files(&versions.base).unwrap();
    assert!(files.warnings[0].to_string().contains("submodule deps/library is left out"), "{:?}", files.warnings);
}

#[test]
fn what_a_sparse_checkout_leaves_out_is_not_deleted() {
    let fixture = Fixture::new(&[("a", "1"), ("big/b", "2")]);
    git(&fixture.root, &["sparse-checkout", "set", "--cone", "--no-sparse-index", "nothing"]);
    assert!(!fixture.root.join("big").exists());
    let repository = fixture.open();
    check_texts(&repository, &fixture.head_files(), &[("a", "1"), ("big/b", "2")]);
    assert!(!fixture.resolve(Some("HEAD"), None).unwrap().versions.head.name.dirty);
}

#[test]
fn trees_that_lead_out_of_the_repository_are_refused() {
    let fixture = Fixture::new(&[("a", "1")]);
    let blob = fixture.raw.blob(b"x").unwrap();
    let tree = [b"100644 ..\0".as_slice(), blob.as_bytes()].concat();
    let tree = fixture.raw.odb().unwrap().write(git2::ObjectType::Tree, &tree).unwrap();
    let author = git2::Signature::now("a", "a@example.org").unwrap();
    let tree = fixture.raw.find_tree(tree).unwrap();
    fixture.raw.commit(Some("refs/heads/hostile"), &author, &author, "m", &tree, &[]).unwrap();
    let versions = fixture.resolve(Some("main..hostile"), None).unwrap().versions;
    check_fails(&fixture.open().files(&versions.head).unwrap_err(), "a file named `..`", "fsck");
}

#[test]
fn partial_clones_are_read_and_missing_blobs_explained() {
    let fixture = Fixture::new(&[("a", "1")]);
    fixture.commit(&[("a", "2")]);
    git(&fixture.root, &["config", "uploadpack.allowFilter", "true"]);
    let url = format!("file://{}", fixture.root.display());
    git(fixture.outside(), &["clone", "--quiet", "--filter=blob:none", &url, "clone"]);
    let repository = Repository::discover(&fixture.outside().join("clone")).unwrap();
    let versions = repository.resolve(&Request::parse(Some("HEAD~1..HEAD"), None).unwrap()).unwrap().versions;
    let files = versions.map(|version| repository.files(&version).unwrap());
    check_texts(&repository, &files.head, &[("a", "2")]);
    let missing = repository.read(&files.base.entries[Path::new("a")], Path::new("a")).unwrap_err();
    check_fails(&missing, "cannot read a", "partial clone");
}

#[test]
fn lfs_pointers_are_followed_where_the_content_is_here() {
    let pointer = |digit: &str, size| {
        let hash = digit.repeat(64);
        format!("version https://git-lfs.github.com/spec/v1\noid sha256:{hash}\nsize {size}\n")
    };
    let fixture = Fixture::new(&[(".gitattributes", "*.bin filter=lfs\n"), ("lost.bin", &pointer("a", 9))]);
    fixture.commit(&[("kept.bin", &pointer("b", 4)), ("tree.bin", &pointer("c", 4))]);
    fixture.write(&format!(".git/lfs/objects/bb/bb/{}", "b".repeat(64)), "kept");
    // libgit2 takes checked-out files for edits.
    fixture.write("kept.bin", "kept");
    fixture.write("tree.bin", "tree");
    assert!(!fixture.resolve(Some("HEAD"), None).unwrap().versions.head.name.dirty);
    let files = fixture.head_files();
    let read = texts(&fixture.open(), &files);
    assert_eq!((read["kept.bin"].as_str(), read["tree.bin"].as_str()), ("kept", "tree"));
    assert!(read["lost.bin"].starts_with("version"));
    assert!(files.warnings[0].to_string().starts_with("1 LFS files"), "{:?}", files.warnings);
    fixture.write("kept.bin", "edit");
    assert_eq!(texts(&fixture.open(), &fixture.head_files())["kept.bin"], "edit");
}

/// Reads a file in two commits and in the working tree, as the tool does.
#[track_caller]
fn read_all(fixture: &Fixture, path: &str) -> [Vec<u8>; 3] {
    let repository = fixture.open();
    let versions = fixture.resolve(Some("HEAD~1..HEAD"), None).unwrap().versions;
    let read = |files: FileSet| repository.read(&files.entries[Path::new(path)], Path::new(path)).unwrap();
    let [base, head] = [versions.base, versions.head].map(|version| read(repository.files(&version).unwrap()));
    [base, head, read(fixture.head_files())]
}

#[test]
fn line_endings_and_encodings_are_those_that_git_checks_out() {
    let fixture = Fixture::new(&[("data/a b.txt", "one\ntwo\n"), ("wide.txt", "w\u{e4}"), ("plain.txt", "p\n")]);
    fixture.write(".gitattributes", "data/*.txt eol=crlf\nwide.txt working-tree-encoding=UTF-16LE-BOM\n*.id ident\n");
    fixture.write("v.id", "$Id$");
    fixture.remove("wide.txt");
    git(&fixture.root, &["rm", "--quiet", "--cached", "wide.txt"]);
    fs::write(fixture.root.join("wide.txt"), b"\xff\xfew\0\xe4\0").unwrap();
    git(&fixture.root, &["add", "--all"]);
    git(&fixture.root, &["commit", "--quiet", "-m", "attributes"]);
    // Check the files out as a clone does.
    git(&fixture.root, &["rm", "--quiet", "-r", "--cached", "."]);
    git(&fixture.root, &["reset", "--quiet", "--hard"]);
    assert!(!fixture.resolve(Some("HEAD"), None).unwrap().versions.head.name.dirty);
    let [base, head, tree] = read_all(&fixture, "data/a b.txt");
    assert_eq!(base, b"one\ntwo\n", "converted by the attributes of another commit");
    assert_eq!((head.as_slice(), tree.as_slice()), (&b"one\r\ntwo\r\n"[..], &b"one\r\ntwo\r\n"[..]));
    let [base, head, tree] = read_all(&fixture, "wide.txt");
    assert_eq!(base, "w\u{e4}".as_bytes());
    assert_eq!((head.as_slice(), tree.as_slice()), (&b"\xff\xfew\0\xe4\0"[..], &b"\xff\xfew\0\xe4\0"[..]));
    assert_eq!(read_all(&fixture, "plain.txt"), ["p\n"; 3].map(|text| text.as_bytes().to_vec()));
    let id = texts(&fixture.open(), &fixture.head_files())["v.id"].clone();
    assert!(id.starts_with("$Id: ") && id == fs::read_to_string(fixture.root.join("v.id")).unwrap(), "{id}");
    // Only the edited file differs from the commit.
    fixture.write("plain.txt", "q\n");
    let repository = fixture.open();
    let versions = fixture.resolve(Some("HEAD"), None).unwrap().versions;
    let files = versions.map(|version| repository.files(&version).unwrap());
    assert_eq!(files.base.changed_paths(&files.head), [PathBuf::from("plain.txt")]);
    assert_eq!(files.head.warnings, []);
}

#[test]
fn a_configuration_that_asks_for_crlf_counts_without_attributes() {
    let fixture = Fixture::new(&[("a.txt", "1\n"), ("b.bin", "\0\n")]);
    fixture.commit(&[("a.txt", "2\n")]);
    git(&fixture.root, &["config", "core.autocrlf", "true"]);
    fixture.write("a.txt", "2\r\n");
    assert_eq!(read_all(&fixture, "a.txt"), ["1\r\n", "2\r\n", "2\r\n"].map(|text| text.as_bytes().to_vec()));
    assert_eq!(read_all(&fixture, "b.bin"), [*b"\0\n"; 3].map(Vec::from));
}

#[test]
fn filter_drivers_run_and_those_that_cannot_are_reported() {
    let fixture = Fixture::new(&[(".gitattributes", "*.secret filter=rot\n"), ("a.secret", "nopq")]);
    fixture.commit(&[("b", "1")]);
    let warnings = || fixture.head_files().warnings.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
    let configure = |what: &str, value: &str| git(&fixture.root, &["config", &format!("filter.rot.{what}"), value]);
    assert_eq!(read_all(&fixture, "a.secret"), [*b"nopq"; 3].map(Vec::from));
    assert!(
        warnings().contains("git's filter `rot` is not configured here: 1 file is used as stored"),
        "{}",
        warnings()
    );
    configure("smudge", "tr a-z n-za-m");
    configure("clean", "tr a-z n-za-m");
    fixture.write("a.secret", "abcd");
    assert_eq!(read_all(&fixture, "a.secret"), [*b"abcd"; 3].map(Vec::from));
    assert!(!fixture.resolve(Some("HEAD"), None).unwrap().versions.head.name.dirty);
    assert_eq!(warnings(), "");
    fixture.write("a.secret", "edit");
    assert_eq!(read_all(&fixture, "a.secret")[2], b"edit");
    configure("smudge", "no-such-program-here");
    assert_eq!(read_all(&fixture, "a.secret")[0], b"nopq");
    assert!(warnings().contains("git could not convert some files") && warnings().contains("no-such-program-here"));
    configure("required", "true");
    let error = fixture.resolve(Some("HEAD"), None).unwrap_err();
    check_fails(&error, "a.secret: smudge filter rot failed", "filter.<name>.smudge");
}

#[test]
fn files_of_a_submodule_are_converted_by_its_own_attributes() {
    let library = Fixture::new(&[(".gitattributes", "*.txt eol=crlf\n"), ("lib.txt", "l\n")]);
    let fixture = Fixture::new(&[("a.txt", "a\n")]);
    git(&fixture.root, &["submodule", "--quiet", "add", library.root.to_str().unwrap(), "library"]);
    git(&fixture.root, &["commit", "--quiet", "-m", "add"]);
    assert!(!fixture.resolve(Some("HEAD"), None).unwrap().versions.head.name.dirty);
    let repository = fixture.open();
    let versions = repository.resolve(&Request::parse(Some("HEAD"), None).unwrap()).unwrap().versions;
    let read = texts(&repository, &repository.files(&versions.head).unwrap());
    assert_eq!((read["library/lib.txt"].as_str(), read["a.txt"].as_str()), ("l\r\n", "a\n"));
}

#[test]
fn formats_that_cannot_be_read_are_named_with_a_way_out() {
    let folder = tempfile::tempdir().unwrap();
    let open = |option: &str, hint: &str, message: &str| {
        let made =
            std::process::Command::new("git").args(["init", "--quiet", option, "made"]).current_dir(&folder).output();
        if !made.unwrap().status.success() {
            // Bypass the test harness, which drops the output of passing tests.
            let _ = writeln!(std::io::stderr(), "skipped: {}: this git does not support {option}", module_path!());
            return;
        }
        let error = Repository::discover(&folder.path().join("made")).err().unwrap();
        check_fails(&error, message, hint);
        fs::remove_dir_all(folder.path().join("made")).unwrap();
    };
    open("--ref-format=reftable", "git refs migrate --ref-format=files", "reftable format");
    open("--object-format=sha256", "git fast-export", "SHA-256");
}

#[test]
fn linked_worktrees_and_subfolders_are_found() {
    let fixture = Fixture::new(&[("dir/a", "1")]);
    assert_eq!(Repository::discover(&fixture.root.join("dir")).unwrap().root(), fixture.root);
    git(&fixture.root, &["worktree", "add", "--quiet", "-b", "topic", "../linked"]);
    let linked = fixture.outside().join("linked");
    fs::write(linked.join("dir/a"), "2").unwrap();
    let repository = Repository::discover(&linked.join("dir")).unwrap();
    assert_eq!(repository.root(), linked);
    let versions = repository.resolve(&Request::parse(None, None).unwrap()).unwrap().versions;
    assert_eq!((versions.base.name.label.as_str(), versions.head.name.dirty), ("main", true));
    check_texts(&repository, &repository.files(&versions.head).unwrap(), &[("dir/a", "2")]);
    assert!(!fixture.resolve(Some("HEAD"), None).unwrap().versions.head.name.dirty);
}

/// Records kind, change time and content of everything below a folder.
fn photograph(folder: &Path, into: &mut BTreeMap<PathBuf, (u32, i64, i64, Vec<u8>)>) {
    for item in fs::read_dir(folder).unwrap() {
        let path = item.unwrap().path();
        let metadata = path.symlink_metadata().unwrap();
        let contents = if metadata.is_file() { fs::read(&path).unwrap() } else { Vec::new() };
        into.insert(path.clone(), (metadata.mode(), metadata.mtime(), metadata.mtime_nsec(), contents));
        if metadata.is_dir() {
            photograph(&path, into);
        }
    }
}

#[test]
fn the_repository_is_not_touched() {
    let library = Fixture::new(&[("lib", "1")]);
    let fixture = Fixture::new(&[("a", "1"), ("b", "1"), ("c", "1")]);
    git(&fixture.root, &["submodule", "--quiet", "add", library.root.to_str().unwrap(), "library"]);
    fixture.branch("topic");
    fixture.commit(&[("a", "2")]);
    fixture.write("b", "2");
    fixture.write("c", "1");
    fixture.write("new", "n");
    fixture.remove("a");
    let photograph = || {
        let mut photo = BTreeMap::new();
        photograph(fixture.outside(), &mut photo);
        photo
    };
    let before = photograph();
    let mut repository = fixture.open();
    repository.exclude(&[fixture.root.join("target")]).unwrap();
    for base in [None, Some("main"), Some("main..topic"), Some("nonsense")] {
        let Ok(comparison) = repository.resolve(&Request::parse(base, None).unwrap()) else { continue };
        for files in
            [comparison.versions.base, comparison.versions.head].map(|version| repository.files(&version).unwrap())
        {
            texts(&repository, &files);
        }
    }
    assert!(before == photograph(), "something was written into the repository");
}
