use super::*;
use perfunit_model::samples::{explanation, measured, outcome, run, test, unmeasured};
use perfunit_model::{Reason, Verdict};

fn run_of(tests: &[(&str, Verdict)]) -> Run {
    let test = |(name, verdict): &(&str, Verdict)| match verdict {
        Verdict::NotMeasured => unmeasured(name, None),
        verdict => outcome(name, *verdict, Some(measured(1.0, 0.1))),
    };
    run(tests.iter().map(test).collect())
}

fn choose_in_sample(tests: &[&str], exact: bool) -> Result<Vec<usize>> {
    let run = run_of(&[
        ("a::sums", Verdict::Slower),
        ("a::sums_up", Verdict::Same),
        ("b::prints", Verdict::Faster),
        ("b::sums", Verdict::NotMeasured),
    ]);
    let tests = tests.iter().map(|name| (*name).to_owned()).collect();
    choose(&run, &ExplainRequest { tests, exact, ..ExplainRequest::default() }, Goal::Responsible)
}

#[test]
fn without_names_those_that_changed_are_meant() {
    assert_eq!(choose_in_sample(&[], false).unwrap(), [0, 2]);
}

#[test]
fn where_none_changed_the_likeliest_slower_test_is_meant() {
    let mut run = run_of(&[("a", Verdict::Inconclusive), ("b", Verdict::Inconclusive), ("c", Verdict::Inconclusive)]);
    let chosen = |run: &Run| choose(run, &ExplainRequest::default(), Goal::Responsible).unwrap();
    assert!(chosen(&run).is_empty());
    for (outcome, change) in run.outcomes.iter_mut().zip([0.2, 0.1, 0.3]) {
        outcome.measured = Some(measured(1.0, change));
        outcome.reason = Some(Reason::Unconfirmed { seen: Verdict::Slower });
    }
    run.outcomes[2].reason = None;
    assert_eq!(chosen(&run), [0]);
}

#[test]
fn a_whole_name_means_one_test_and_a_part_all_that_have_it() {
    assert_eq!(choose_in_sample(&["a::sums"], false).unwrap(), [0]);
    assert_eq!(choose_in_sample(&["mycrate a::sums"], true).unwrap(), [0]);
    assert_eq!(choose_in_sample(&["sums"], false).unwrap(), [0, 1]);
    // The only test with this part in its name.
    assert_eq!(choose_in_sample(&["b::s"], false).unwrap(), [3]);
    assert_eq!(choose_in_sample(&["prints", "b::", "up"], false).unwrap(), [1, 2]);
}

#[test]
fn a_name_that_no_test_has_is_an_error_with_the_nearest() {
    let error = |name, exact| choose_in_sample(&[name], exact).unwrap_err().to_string();
    assert!(error("b::print", true).contains("did you mean b::prints?"), "{}", error("b::print", true));
    assert!(error("sumz", false).contains("did you mean a::sums"), "{}", error("sumz", false));
    assert!(error("xyzzy", false).contains("`explain` uses"), "{}", error("xyzzy", false));
}

#[test]
fn what_is_found_later_goes_to_the_comparison_that_was_asked_about() {
    let run = || run_of(&[("a", Verdict::Slower)]);
    let mut saved = Record::new(Options::default(), Sides::default(), run());
    let version = run().base;
    saved.run.ratchet = Some(Ratchet { version, comparison: Ok(Box::new(run())) });
    saved.of_ratchet = Some(Sides::default());
    let answers = Answers { tests: [(test("a"), Ok(explanation()))].into(), ..Answers::default() };
    remember(&mut saved, Against::Ratchet, Goal::Responsible, &answers);
    let found = |saved: &Record, against| {
        let comparison = Comparison::of(saved, against).unwrap();
        let outcome = &comparison.run.outcomes[0];
        (outcome.explanation.is_some(), comparison.profiles.is_some_and(|profiles| !profiles.is_empty()))
    };
    assert_eq!((found(&saved, Against::Base), found(&saved, Against::Ratchet)), ((false, false), (true, false)));
    remember(&mut saved, Against::Ratchet, Goal::Profile, &answers);
    assert_eq!((found(&saved, Against::Base), found(&saved, Against::Ratchet)), ((false, false), (true, false)));
    remember(&mut saved, Against::Base, Goal::Profile, &answers);
    assert_eq!(found(&saved, Against::Base), (false, true));
    assert!(Comparison::of(&saved, Against::Generated).is_err());
}
