//! Choice of the base for a pushed ref.

use crate::git::fixture::Fixture;
use crate::git::{PushedRef, PushedVersions};
use git2::Oid;

const NONE: Oid = Oid::ZERO_SHA1;

fn pushed_ref(local: Oid, name: &str, remote: Oid) -> PushedRef {
    PushedRef { local_ref: "HEAD".to_owned(), local, remote_ref: name.to_owned(), remote }
}

/// Describes the comparison: the base and `same files`, or the reason why there is none.
fn describe_choice(fixture: &Fixture, pushed: &PushedRef, base: Option<&str>) -> String {
    match fixture.open().select_pushed(pushed, "origin", base).unwrap() {
        PushedVersions::Two(pair) => format!("{}{}", pair.base_name, if pair.same_files { ", same files" } else { "" }),
        PushedVersions::Nothing(why) => why,
    }
}

fn short(id: Oid) -> String {
    id.to_string()[..7].to_owned()
}

#[track_caller]
fn check(fixture: &Fixture, pushed: &PushedRef, expected: &str) {
    assert_eq!(describe_choice(fixture, pushed, None), expected);
}

#[test]
fn lines_of_git_are_read_from_the_right() {
    let id = "1".repeat(40);
    let line = format!(":/fix the parser {id} refs/heads/main {}", "0".repeat(40));
    let read = PushedRef::parse(&line).unwrap();
    assert_eq!((read.local_ref.as_str(), read.name(), read.remote), (":/fix the parser", "main", NONE));
    for wrong in ["", "refs/heads/main", &format!("a {id} refs/heads/main"), &format!("a x refs/heads/main {id}")] {
        assert!(PushedRef::parse(wrong).unwrap_err().to_string().contains("standard input"), "{wrong}");
    }
}

#[test]
fn a_branch_that_is_there_is_compared_with_what_is_there() {
    let fixture = Fixture::new(&[("a", "1")]);
    let there = fixture.commit(&[("a", "2")]);
    fixture.remote_branch("main", there);
    let head = fixture.commit(&[("a", "3")]);
    check(&fixture, &pushed_ref(head, "refs/heads/main", there), &format!("origin/main ({})", short(there)));
    check(&fixture, &pushed_ref(there, "refs/heads/main", there), "is already on the remote");
}

#[test]
fn what_has_no_commits_to_compare_is_said() {
    let fixture = Fixture::new(&[("a", "1")]);
    let head = fixture.commit(&[("a", "2")]);
    check(&fixture, &pushed_ref(NONE, "refs/heads/main", head), "is deleted");
    check(&fixture, &pushed_ref(head, "refs/tags/v1", NONE), "is a tag");
    check(&fixture, &pushed_ref(head, "refs/notes/commits", NONE), "is not a branch");
    check(&fixture, &pushed_ref(head, "refs/heads/main", NONE), "is the first branch on the remote");
}

#[test]
fn a_new_branch_is_compared_with_the_nearest_commit_that_the_remote_has() {
    let fixture = Fixture::new(&[("a", "1")]);
    let main = fixture.commit(&[("a", "2")]);
    fixture.remote_branch("main", main);
    fixture.branch("below");
    let below = fixture.commit(&[("a", "3")]);
    fixture.branch("above");
    let above = fixture.commit(&[("a", "4")]);
    let new = pushed_ref(above, "refs/heads/above", NONE);
    check(&fixture, &new, &format!("origin/main ({})", short(main)));
    fixture.remote_branch("below", below);
    check(&fixture, &new, &format!("origin/below ({})", short(below)));
    check(&fixture, &pushed_ref(above, "refs/for/main", NONE), &format!("origin/below ({})", short(below)));
    fixture.remote_branch("moved-on", fixture.commit(&[("a", "5")]));
    check(&fixture, &new, "has no new commits");
}

#[test]
fn what_was_merged_from_the_remote_is_not_compared_again() {
    let fixture = Fixture::new(&[("a", "1")]);
    fixture.branch("topic");
    let topic = fixture.commit(&[("b", "1")]);
    fixture.switch("main");
    let main = fixture.commit(&[("a", "2")]);
    fixture.remote_branch("main", main);
    let parents = [topic, main].map(|id| fixture.raw.find_commit(id).unwrap());
    fixture.switch("topic");
    fixture.write("a", "2");
    fixture.stage();
    let merge = fixture.commit_index(&parents.iter().collect::<Vec<_>>());
    check(&fixture, &pushed_ref(merge, "refs/heads/topic", NONE), &format!("origin/main ({})", short(main)));
}

#[test]
fn a_forced_push_is_compared_with_where_it_left_what_the_remote_has() {
    let fixture = Fixture::new(&[("a", "1")]);
    let main = fixture.commit(&[("a", "2")]);
    fixture.remote_branch("main", main);
    fixture.branch("topic");
    let old = fixture.commit(&[("a", "3")]);
    fixture.remote_branch("topic", old);
    fixture.raw.reset(fixture.raw.find_commit(main).unwrap().as_object(), git2::ResetType::Hard, None).unwrap();
    let amended = fixture.commit(&[("a", "4")]);
    let force = pushed_ref(amended, "refs/heads/topic", old);
    check(&fixture, &force, &format!("origin/main ({})", short(main)));
    // The remote has an object that was never fetched.
    let unknown = Oid::from_str(&"5".repeat(40)).unwrap();
    check(&fixture, &pushed_ref(amended, "refs/heads/topic", unknown), &format!("origin/main ({})", short(main)));
    check(&fixture, &pushed_ref(main, "refs/heads/topic", old), "has no new commits");
}

#[test]
fn a_base_that_is_named_takes_precedence() {
    let fixture = Fixture::new(&[("a", "1")]);
    let first = fixture.commit(&[("a", "2")]);
    let there = fixture.commit(&[("a", "3")]);
    let head = fixture.commit(&[("a", "2")]);
    let push = pushed_ref(head, "refs/heads/main", there);
    assert_eq!(describe_choice(&fixture, &push, Some("HEAD~2")), format!("HEAD~2 ({}), same files", short(first)));
    assert!(fixture.open().select_pushed(&push, "origin", Some("nowhere")).is_err());
}

#[test]
fn the_next_push_is_that_of_the_branch_checked_out() {
    let fixture = Fixture::new(&[("a", "1")]);
    let there = fixture.commit(&[("a", "2")]);
    fixture.remote_branch("main", there);
    let head = fixture.commit(&[("a", "3")]);
    let (remote, push) = fixture.open().next_push().unwrap().unwrap();
    assert_eq!((remote.as_str(), push.name(), push.local, push.remote), ("origin", "main", head, there));
    fixture.raw.config().unwrap().set_str("branch.main.pushRemote", "fork").unwrap();
    let (remote, push) = fixture.open().next_push().unwrap().unwrap();
    assert_eq!((remote.as_str(), push.remote), ("fork", NONE));
    fixture.raw.set_head_detached(head).unwrap();
    assert_eq!(fixture.open().next_push().unwrap(), None);
}
