//! Choice of the two versions, and errors if there is no choice.

use super::super::fixture::Fixture;
use super::super::{Repository, Request, Walk};
use super::{check_fails, git};
use perfunit_model::error::Error;
use std::fs;

/// Checks `base -> head (note)` for arguments as typed.
#[track_caller]
fn check(fixture: &Fixture, base: Option<&str>, head: Option<&str>, expected: &str) {
    let comparison = fixture.resolve(base, head).unwrap();
    let (base, head) = (comparison.versions.base, comparison.versions.head);
    let dirty = if head.name.dirty { "*" } else { "" };
    assert_eq!(format!("{} -> {}{dirty}", base.name.label, head.name.label), expected, "{:?}", comparison.note);
    assert_eq!(base.name.commit, base.commit.to_string());
}

#[test]
fn on_the_default_branch_the_parent_is_the_base_until_something_changes() {
    let fixture = Fixture::new(&[("a", "1")]);
    fixture.commit(&[("a", "2")]);
    check(&fixture, None, None, "HEAD~1 -> HEAD");
    fixture.write("a", "3");
    check(&fixture, None, None, "HEAD -> working tree*");
    fixture.write("a", "2");
    check(&fixture, None, None, "HEAD~1 -> HEAD");
    fixture.write("untracked", "");
    check(&fixture, None, None, "HEAD -> working tree*");
}

#[test]
fn a_full_commit_id_is_shortened() {
    let fixture = Fixture::new(&[("a", "1")]);
    let first = fixture.commit(&[("a", "2")]).to_string();
    fixture.commit(&[("a", "3")]);
    check(&fixture, Some(&first), Some("HEAD"), &format!("{} -> HEAD", &first[..7]));
}

#[test]
fn a_branch_is_compared_with_what_it_started_from() {
    let fixture = Fixture::new(&[("a", "1")]);
    fixture.branch("topic");
    let first = fixture.commit(&[("a", "2")]);
    check(&fixture, None, None, "main -> HEAD");
    fixture.remote_branch("topic", first);
    fixture.set_upstream("topic", "origin/topic");
    check(&fixture, None, None, "main -> HEAD");
    // Pushed commits count: the branch is not merged yet.
    fixture.commit(&[("a", "3")]);
    check(&fixture, None, None, "main -> HEAD");
    check(&fixture, None, Some("topic"), "main -> topic");
    fixture.remote_branch("develop", first);
    fixture.set_upstream("topic", "origin/develop");
    check(&fixture, None, None, "origin/develop -> HEAD");
    fixture.switch("main");
    fixture.commit(&[("b", "1")]);
    fixture.switch("topic");
    check(&fixture, Some("main"), None, "merge base of main -> HEAD");
    check(&fixture, Some("main...topic"), None, "merge base of main -> topic");
    check(&fixture, Some("main..topic"), None, "main -> topic");
    check(&fixture, Some("main"), Some("topic~1"), "merge base of main -> topic~1");
    check(&fixture, None, Some("topic"), "origin/develop -> topic");
    check(&fixture, None, Some("topic~1"), "topic~1~1 -> topic~1");
}

#[test]
fn without_a_default_branch_the_pushed_state_is_the_base() {
    let fixture = Fixture::new(&[("a", "1")]);
    fixture.branch("topic");
    fixture.raw.find_branch("main", git2::BranchType::Local).unwrap().delete().unwrap();
    fixture.remote_branch("topic", fixture.raw.head().unwrap().target().unwrap());
    fixture.set_upstream("topic", "origin/topic");
    fixture.commit(&[("a", "2")]);
    check(&fixture, None, None, "origin/topic -> HEAD");
}

#[test]
fn a_merged_branch_is_compared_with_its_parent() {
    let fixture = Fixture::new(&[("a", "1")]);
    let tip = fixture.commit(&[("a", "2")]);
    fixture.branch("topic");
    check(&fixture, None, None, "HEAD~1 -> HEAD");
    let note = || fixture.resolve(None, None).unwrap().note.unwrap();
    assert!(note().ends_with("`topic` has no commits that `main` does not have"), "{}", note());
    fixture.remote_branch("main", tip);
    fixture.switch("main");
    check(&fixture, None, None, "HEAD~1 -> HEAD");
    assert!(note().ends_with("`main` has no other branch to compare with"), "{}", note());
    fixture.raw.set_head_detached(tip).unwrap();
    check(&fixture, None, None, "HEAD~1 -> HEAD");
}

#[test]
fn the_remote_says_which_branch_is_the_default() {
    let fixture = Fixture::new(&[("a", "1")]);
    let first = fixture.raw.head().unwrap().target().unwrap();
    fixture.remote_branch("trunk", first);
    fixture.raw.reference_symbolic("refs/remotes/origin/HEAD", "refs/remotes/origin/trunk", true, "test").unwrap();
    fixture.commit(&[("a", "2")]);
    check(&fixture, None, None, "origin/trunk -> HEAD");
}

#[test]
fn a_merge_commit_is_compared_with_its_first_parent_and_merge_bases_see_both() {
    let fixture = Fixture::new(&[("a", "1")]);
    fixture.branch("side");
    let side = fixture.commit(&[("b", "1")]);
    fixture.switch("main");
    let main = fixture.commit(&[("a", "2")]);
    fixture.write("b", "1");
    fixture.stage();
    let parents = [main, side].map(|id| fixture.raw.find_commit(id).unwrap());
    fixture.commit_index(&[&parents[0], &parents[1]]);
    check(&fixture, None, None, "HEAD~1 -> HEAD");
    assert_eq!(fixture.resolve(None, None).unwrap().versions.base.commit, main);
    check(&fixture, Some("side"), None, "side -> HEAD");
}

#[test]
fn what_cannot_be_compared_is_explained() {
    let fixture = Fixture::unborn();
    check_fails(&fixture.resolve(None, None).unwrap_err(), "no commits yet", "commit once");
    check_fails(&fixture.open().describe("HEAD").unwrap_err(), "no commits yet", "commit once");
    fixture.commit(&[("a", "1")]);
    check_fails(&fixture.resolve(None, None).unwrap_err(), "first commit", "pass the revision");
    fixture.remote_branch("release", fixture.raw.head().unwrap().target().unwrap());
    check_fails(&fixture.resolve(Some("release"), None).unwrap_err(), "unknown revision `release`", "`origin/release`");
    check_fails(&fixture.resolve(Some("mian"), None).unwrap_err(), "unknown revision `mian`", "`main`");
    check_fails(&fixture.resolve(Some("v1.0-rc"), None).unwrap_err(), "unknown revision `v1.0-rc`", "git fetch");
    check_fails(&fixture.resolve(Some("HEAD:a"), None).unwrap_err(), "not a commit", "branch");
}

#[test]
fn only_a_positional_argument_may_name_tests() {
    let fixture = Fixture::new(&[("a", "1")]);
    let names_tests = |error: Error| error.to_string().contains("`-E 'test(parser)'`");
    let resolve = |base, head| names_tests(fixture.resolve(base, head).unwrap_err());
    assert!(resolve(Some("parser"), None));
    assert!(!resolve(None, Some("parser")));
    assert!(!resolve(Some("parser..HEAD"), None) && !resolve(Some("parser...HEAD"), None));
    let repository = fixture.open();
    let walk = |range: &str| Walk { range: Some(range.to_owned()), ..Walk::default() };
    assert!(names_tests(repository.walk(&walk("parser")).unwrap_err()));
    assert!(!names_tests(repository.walk(&walk("parser..HEAD")).unwrap_err()));
    assert!(!names_tests(repository.describe("parser").unwrap_err()));
    assert!(!names_tests(repository.require_commit("parser").unwrap_err()));
}

#[test]
fn unrelated_histories_need_an_exact_range() {
    let fixture = Fixture::new(&[("a", "1")]);
    fixture.raw.set_head("refs/heads/orphan").unwrap();
    fixture.write("a", "2");
    fixture.stage();
    fixture.commit_index(&[]);
    check_fails(&fixture.resolve(Some("main"), None).unwrap_err(), "no common ancestor", "main..HEAD");
    check(&fixture, Some("main..HEAD"), None, "main -> HEAD");
}

#[test]
fn places_that_are_no_working_tree_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    check_fails(&Repository::discover(folder.path()).err().unwrap(), "is not in a git repository", "git init");
    git(folder.path(), &["init", "--quiet", "--bare", "."]);
    check_fails(&Repository::discover(folder.path()).err().unwrap(), "bare repository", "worktree");
}

#[test]
fn another_users_repository_is_refused_with_gits_remedy() {
    let fixture = Fixture::new(&[("a", "1")]);
    let given_away =
        [".git", "."].iter().all(|path| std::os::unix::fs::chown(fixture.root.join(path), Some(12_345), None).is_ok());
    if given_away {
        check_fails(&Repository::discover(&fixture.root).err().unwrap(), "belongs to another user", "safe.directory");
    }
}

#[test]
fn shallow_clones_say_how_to_fetch_more() {
    let fixture = Fixture::new(&[("a", "1")]);
    fixture.commit(&[("a", "2")]);
    fixture.branch("topic");
    fixture.commit(&[("a", "3")]);
    let url = format!("file://{}", fixture.root.display());
    git(fixture.outside(), &["clone", "--quiet", "--depth", "1", "--no-single-branch", &url, "clone"]);
    let repository = Repository::discover(&fixture.outside().join("clone")).unwrap();
    let resolve = |base| repository.resolve(&Request::parse(base, None).unwrap());
    check_fails(&resolve(Some("origin/main")).unwrap_err(), "no common ancestor", "--unshallow");
    check_fails(&resolve(Some("v7-rc")).unwrap_err(), "unknown revision", "fetch-depth: 0");
    git(repository.root(), &["checkout", "--quiet", "--detach"]);
    check_fails(&resolve(None).unwrap_err(), "parent of `HEAD` is missing", "--unshallow");
    fs::write(repository.root().join("a"), "4").unwrap();
    assert_eq!(resolve(None).unwrap().versions.base.name.label, "HEAD");
}

#[test]
fn an_index_that_libgit2_cannot_read_comes_with_a_remedy() {
    let fixture = Fixture::new(&[("a", "1"), ("big/b", "2")]);
    git(&fixture.root, &["sparse-checkout", "set", "--cone", "--sparse-index", "nothing"]);
    check_fails(&fixture.resolve(Some("HEAD"), None).unwrap_err(), "state of the working tree", "--no-sparse-index");
}
