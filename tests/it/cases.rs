//! How the cases in `tests/fixtures` are judged.

use crate::support::{Problem, unsettled};

fn wrong() -> Problem {
    Problem::Wrong("wrong".to_owned())
}

fn open() -> Problem {
    Problem::Inconclusive("open".to_owned())
}

#[track_caller]
fn check<const N: usize>(tries: [&[Problem]; N], expected: &[&str]) {
    let mut left = tries.into_iter();
    assert_eq!(unsettled(|| left.next().expect("no other try is made").to_vec()), expected);
    assert_eq!(left.next(), None, "another try is made");
}

#[test]
fn a_wrong_answer_is_wrong_in_whichever_try_it_came() {
    check([&[wrong(), open()], &[]], &["wrong"]);
    check([&[open()], &[wrong()]], &["wrong"]);
    check([&[wrong(), open()], &[open()], &[open()]], &["wrong", "open"]);
}

#[test]
fn an_inconclusive_test_has_two_more_tries_and_a_wrong_one_none() {
    check([&[]], &[]);
    check([&[open()], &[open()], &[]], &[]);
    check([&[open()], &[open()], &[open()]], &["open"]);
    check([&[wrong()]], &["wrong"]);
}
