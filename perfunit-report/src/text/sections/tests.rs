use super::*;
use crate::text::{TextOptions, undecided_lines};
use perfunit_model::format::{Glyphs, without_escapes};
use perfunit_model::samples::{self, run, test, unmeasured};
use perfunit_model::{
    Environment, FailedOn, Failure, Growth, LeftOutBy, NotCounted, PartitionKind, ReachedBy, Reason, SelectedBecause,
    Uncovered, UncoveredBecause, UnmeasuredTarget,
};

const NOT_MEASURED: Kind = Kind::Tests(Verdict::NotMeasured);

#[test]
fn those_that_base_passes_are_named_and_no_others() {
    let fails = |side, intermittent| Reason::Fails { side, how: Failure::Said("left\nright".into()), intermittent };
    let how = Failure::Signal { number: 6, name: Some("SIGABRT".into()) };
    let crash = Reason::Crashes { side: FailedOn::Head, how, intermittent: false };
    let others = [fails(FailedOn::Base, false), fails(FailedOn::Both, false), fails(FailedOn::Head, true)];
    let mut outcomes: Vec<Outcome> = others.map(|reason| unmeasured("other", Some(reason))).to_vec();
    let check = |outcomes: &[Outcome], expected: &str| {
        assert_eq!(plain_text(&run(outcomes.to_vec()), &[Kind::Failing], Detail::Brief), expected);
    };
    check(&outcomes, "");
    outcomes.push(unmeasured("a", Some(fails(FailedOn::Head, false))));
    outcomes.push(unmeasured("b", Some(crash)));
    let expected = "     Failing  2 tests pass on base and fail on head
                mycrate a  left right
                mycrate b  exits or crashes the process: signal 6 (SIGABRT)
";
    check(&outcomes, expected);
}

#[track_caller]
fn check_uncovered(functions: usize, detail: Detail, expected: &str) {
    let uncovered = |number: usize| Uncovered {
        function: Function {
            package: "mycrate".into(),
            file: "src/lib.rs".into(),
            line: number,
            name: format!("f{number}"),
        },
        because: UncoveredBecause::Unreached,
    };
    let selection = Selection { uncovered: (1..=functions).map(uncovered).collect(), ..Selection::default() };
    let mut screen = Screen::new(0, Glyphs::Ascii);
    coverage(&selection, detail, &mut screen);
    assert_eq!(without_escapes(&screen.finish()), expected);
}

#[test]
fn they_are_named_up_to_a_number() {
    check_uncovered(0, Detail::Brief, "");
    check_uncovered(2, Detail::Brief, "   Uncovered  2 changed functions are executed by no test: f1, f2\n");
    let names = "f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, ... and 1 more (-v)";
    check_uncovered(
        11,
        Detail::Brief,
        &format!("   Uncovered  11 changed functions are executed by no test: {names}\n"),
    );
    let full = "   Uncovered  1 changed function is executed by no test:
                f1  src/lib.rs:1, no test can reach it
";
    check_uncovered(1, Detail::Full, full);
}

#[test]
fn what_no_build_holds_is_named() {
    let function =
        |name: &str| Function { package: "mycrate".into(), file: "src/udiv.rs".into(), line: 7, name: name.into() };
    let by = [LeftOutBy::Features].into();
    let one = Selection { not_compiled: vec![function("udivmod")], left_out_by: by, ..Selection::default() };
    let twice = Selection { not_compiled: vec![function("open"), function("open")], ..Selection::default() };
    let mut screen = Screen::new(0, Glyphs::Ascii);
    coverage(&one, Detail::Brief, &mut screen);
    coverage(&one, Detail::Full, &mut screen);
    coverage(&twice, Detail::Brief, &mut screen);
    let expected = "\
Not compiled  1 changed function is excluded from the build by the features (--features): udivmod
Not compiled  1 changed function is excluded from the build by the features (--features):
                udivmod  src/udiv.rs:7
Not compiled  2 changed functions are excluded from the build by the features (--features), the platform or the profile (debug assertions): open
";
    assert_eq!(without_escapes(&screen.finish()), expected);
}

#[test]
fn functions_that_are_only_in_part_compiled_are_told_apart_by_place() {
    let function = |line, name: &str| Function { line, name: name.into(), ..samples::uncovered().function };
    let uncovered = |line, name| Uncovered { function: function(line, name), because: UncoveredBecause::Unreached };
    let selection = Selection {
        uncovered: vec![uncovered(3, "get_current"), uncovered(9, "unused")],
        not_compiled: vec![function(20, "get_current"), function(30, "get_default")],
        left_out_by: [LeftOutBy::Features].into(),
        ..Selection::default()
    };
    let mut screen = Screen::new(0, Glyphs::Ascii);
    coverage(&selection, Detail::Brief, &mut screen);
    let expected = "   Uncovered  2 changed functions are executed by no test: get_current (src/idle.rs:3), unused
Not compiled  2 changed functions are excluded from the build by the features (--features): get_current (src/idle.rs:20), get_default
";
    let text = without_escapes(&screen.finish());
    assert_eq!(text, expected);
    let run = Run { selection, ..run(Vec::new()) };
    assert_eq!(plain_text(&run, &[Kind::Uncovered, Kind::NotCompiled], Detail::Brief), text);
}

#[track_caller]
fn check_reasons(reasons: &[(&str, Option<Reason>)], detail: Detail, expected: &str) {
    let outcomes = reasons.iter().map(|(name, reason)| unmeasured(name, reason.clone())).collect();
    assert_eq!(plain_text(&run(outcomes), &[NOT_MEASURED], detail), expected);
}

fn fails(detail: &str) -> Reason {
    Reason::Fails { side: FailedOn::Base, how: Failure::Said(detail.into()), intermittent: false }
}

#[test]
fn packages_of_which_a_kind_is_on_request_share_a_line() {
    let doctests = |package: &str| UnmeasuredTarget::Doctests { package: package.into() };
    let benches = UnmeasuredTarget::Benches { package: "a".into() };
    let all = [doctests("a"), benches, doctests("b"), doctests("c"), doctests("d")];
    let of_benches = "benchmarks of a: measured on request (--benches)";
    let brief = ["doc tests of a, b, c and 1 more package: measured on request (--doc)", of_benches];
    assert_eq!(unmeasured_targets(&all, false), brief);
    let full = ["doc tests of a, b, c, d: measured on request (--doc)", of_benches];
    assert_eq!(unmeasured_targets(&all, true), full);
    assert!(unmeasured_targets(&[], true).is_empty());
}

#[test]
fn equal_reasons_are_said_once_and_names_are_capped() {
    let reasons = ["a", "b", "c", "d", "e"].map(|name| (name, Some(Reason::Ignored)));
    let brief = "\
Not measured  5 tests: ignored (measured with --run-ignored all)
                mycrate a, mycrate b, mycrate c, ... and 2 more (-v)
";
    check_reasons(&reasons, Detail::Brief, brief);
    let full = "\
Not measured  5 tests: ignored (measured with --run-ignored all)
                mycrate a, mycrate b, mycrate c, mycrate d, mycrate e
";
    check_reasons(&reasons, Detail::Full, full);
}

#[test]
fn failures_come_first_each_with_its_message() {
    let reasons = [("n", Some(Reason::New)), ("a", Some(fails("no\nnetwork"))), ("b", Some(fails("exit 3")))];
    let expected = "\
Not measured  2 tests: fail on base and pass on head
                mycrate a  on base: no network
                mycrate b  on base: exit 3
              1 test: new, does not build or pass on base
                mycrate n
";
    check_reasons(&reasons, Detail::Brief, expected);
}

#[test]
fn folded_tests_are_a_list_until_everything_is_asked_for() {
    let reasons = [("a", Some(Reason::FoldedAway { ns: 0.3 })), ("b", Some(Reason::FoldedAway { ns: 0.6 }))];
    let heading =
        "Not measured  2 tests: too short to measure: the optimizer removed the work, or there is almost none\n";
    check_reasons(&reasons, Detail::Brief, &format!("{heading}                mycrate a, mycrate b\n"));
    let each = "                mycrate a  0.3 ns per run\n                mycrate b  0.6 ns per run\n";
    check_reasons(&reasons, Detail::Full, &format!("{heading}{each}"));
}

#[test]
fn unaffected_tests_are_not_explained_but_a_lost_reason_is() {
    let mut lost = unmeasured("lost", None);
    lost.selected_because = Some(SelectedBecause::Target(ReachedBy::Request));
    let same = unmeasured("same", Some(Reason::SameExecutable));
    let run = run(vec![unmeasured("calm", None), same, lost]);
    let expected = "\
Not measured  1 test: no reason was recorded; please report this
                mycrate lost
";
    assert_eq!(plain_text(&run, &[NOT_MEASURED], Detail::Brief), expected);
}

#[track_caller]
fn check_shards(shards: usize, cpus: &[&str], expected: &str) {
    let mut run = run(Vec::new());
    let part = |(index, cpu): (usize, &&str)| Part {
        shard: index + 1,
        tests: 2,
        environment: Environment { cpu: (*cpu).to_owned(), ..run.environment.clone() },
        stages: run.stages,
        interrupted: false,
    };
    let parts = cpus.iter().enumerate().map(part).collect();
    let candidates = ["a", "b", "c", "d", "e", "f"].map(test).to_vec();
    run.sharding = Some(Sharding { kind: PartitionKind::Slice, shards, candidates, parts, led_to: BTreeSet::new() });
    let mut screen = Screen::new(0, Glyphs::Ascii);
    super::shards(&run, &mut screen);
    assert_eq!(without_escapes(&screen.finish()), expected);
}

#[test]
fn a_shard_says_how_much_of_the_whole_it_is() {
    check_shards(3, &["Xeon"], "       Shard  slice:1/3: 2 of 6 tests; `cargo perfunit merge` joins the shards\n");
}

#[test]
fn machines_are_told_where_they_differ() {
    check_shards(3, &["Xeon", "Xeon", "Xeon"], "      Merged  3 shards by slice, 6 tests\n");
    let expected = [
        "      Merged  3 shards by slice, 6 tests",
        "              shard 2: EPYC (x86_64-unknown-linux-gnu), 2 tests",
        "              shards 1, 3: Xeon (x86_64-unknown-linux-gnu), 4 tests",
        "",
    ];
    check_shards(3, &["Xeon", "EPYC", "Xeon"], &expected.join("\n"));
}

#[test]
fn what_was_denied_and_not_looked_at_is_said_below_the_summary() {
    let not_counted = ["a", "b"].map(|name| (samples::test(name), NotCounted::OwnHarness)).to_vec();
    let growth = Some(Growth { not_counted, ..Growth::default() });
    let run = Run { growth, ..samples::run(Vec::new()) };
    let text = |denied| without_escapes(&undecided_lines(&run, &TextOptions::default(), denied));
    assert_eq!(text(Denied::default()), "");
    assert_eq!(
        text(Denied { growth: true, ..Denied::default() }),
        "   Undecided  growth is unknown: it has its own test harness (2 tests)\n"
    );
}
