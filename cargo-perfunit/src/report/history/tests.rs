use super::*;
use crate::model::{
    Bisection, Change, Course, Culprit, Entry, History, Mode, Point, Skipped, Step, StepFigures, StepOutcome, StepTest,
    TargetId, TargetKind, TestId, Verdict,
};
use crate::report::format::without_escapes;
use crate::report::text::TextOptions;

const OPTIONS: TextOptions = TextOptions { width: 100, verbose: false, unicode: true };

fn commit(id: u32, subject: &str) -> Commit {
    Commit { id: format!("{id:07x}0000"), subject: subject.to_owned(), seconds: 1_700_000_000, tags: Vec::new() }
}

fn id(name: &str) -> TestId {
    TestId {
        target: TargetId { package: "p".to_owned(), kind: TargetKind::Lib, name: "p".to_owned() },
        name: name.to_owned(),
    }
}

fn test(name: &str, verdict: Verdict, estimate: f64) -> StepTest {
    let change = Change { estimate, low: estimate - 0.01, high: estimate + 0.01 };
    StepTest {
        test: id(name),
        verdict,
        reason: None,
        figures: Some(StepFigures { change, base_ns: 1000.0, head_ns: 1000.0 * (1.0 + estimate), mode: Mode::Steady }),
        function: Some("Parser::line".to_owned()),
    }
}

fn step(tests: Vec<StepTest>) -> StepOutcome {
    let nothing_because = tests.is_empty().then(|| "only comments differ".to_owned());
    let selected = tests.len();
    StepOutcome::Compared(Step {
        base: "0".to_owned(),
        found: 7,
        selected,
        nothing_because,
        tests,
        alpha: 0.0025,
        seconds: 3.0,
    })
}

fn history() -> History {
    let outcomes = [
        (
            "Parse lazily",
            step(vec![test("tests::long", Verdict::Slower, 0.12), test("tests::short", Verdict::Same, 0.0)]),
        ),
        ("Words", step(Vec::new())),
        ("Half, \"done\"", StepOutcome::Skipped(Skipped::DoesNotBuild { error: "error[E0425]: no `x`".to_owned() })),
        ("Later", StepOutcome::Open),
    ];
    let entries = outcomes.into_iter().zip(1..);
    let entries = entries.map(|((subject, outcome), id)| Entry { commit: commit(id, subject), outcome }).collect();
    History { base: commit(0, "First"), entries, note: None, interrupted: true }
}

fn course() -> Course {
    let at = |ratio: f64, moved, is_known| Point { ratio, low: ratio - 0.01, high: ratio + 0.01, moved, is_known };
    let points =
        vec![at(1.12, Some(Verdict::Slower), true), at(1.12, None, true), at(1.12, None, false), at(1.12, None, false)];
    Course { test: id("tests::long"), points }
}

#[test]
fn commits_and_summary_in_words() {
    let history = history();
    let mut text: String = history.entries.iter().map(|one| entry(one, &OPTIONS)).collect();
    text.push_str(&summary(&history, &[course()], &OPTIONS));
    snapbox::assert_data_eq!(
        without_escapes(&text),
        snapbox::str![[r#"
      Slower  0000001 2023-11-14 Parse lazily
              2 tests of 7: 1 slower, 1 same
              p tests::long  1.00 µs → 1.12 µs  +12.0 % slower  [+11.0 %, +13.0 %]  Parser::line
   Unchanged  0000002 2023-11-14 Words
              no test can have changed: only comments differ
     Skipped  0000003 2023-11-14 Half, "done"
              does not build: error[E0425]: no `x`
        Open  0000004 2023-11-14 Later  not compared yet
────────────
      Course  p tests::long  +12.0 %  [+11.0 %, +13.0 %]
              ██??  0000001 +12.0 %
────────────
        Open  1 commit not compared yet; the same command goes on
     Summary  4 commits: 1 with slower tests, 0 with faster ones, 1 in which no test can have
              changed, 1 skipped; the probability that any of these verdicts is false is at most
              0.50 %

"#]]
    );
}

#[test]
fn a_table_has_a_row_for_each_test_and_commit() {
    snapbox::assert_data_eq!(
        csv(&history()),
        snapbox::str![[r"
commit,committed,base,outcome,package,target,test,verdict,reason,estimate,low,high,base_ns,head_ns,function
00000010000,2023-11-14,0,compared,p,p,tests::long,slower,,0.12,0.11,0.13,1000,1120,Parser::line
00000010000,2023-11-14,0,compared,p,p,tests::short,same,,0,-0.01,0.01,1000,1000,Parser::line
00000020000,2023-11-14,0,unchanged,,,,,,,,,,,
00000030000,2023-11-14,,skipped: does not build: error[E0425]: no `x`,,,,,,,,,,,
00000040000,2023-11-14,,open,,,,,,,,,,,

"]]
    );
}

#[test]
fn searches_in_words() {
    let one = |culprit| Bisection {
        test: id("tests::long"),
        good: commit(0, "First"),
        bad: commit(9, "Last"),
        change: Change { estimate: 0.12, low: 0.11, high: 0.13 },
        commits: 9,
        culprit,
        skipped: vec![(commit(4, "Half"), Skipped::DoesNotBuild { error: "error: no".to_owned() })],
    };
    let found =
        |commits, several| Culprit::Commits { commits, test: test("tests::long", Verdict::Slower, 0.12), several };
    let searches = [
        one(found(vec![commit(5, "Parse lazily")], true)),
        one(found(vec![commit(4, "Half"), commit(5, "Parse lazily")], false)),
        one(Culprit::Open(vec![commit(4, "Half"), commit(5, "Parse lazily")])),
        one(Culprit::Lost(vec![commit(5, "Parse lazily")])),
    ];
    let text: String = searches.iter().map(|search| bisection(search, &OPTIONS)).collect();
    snapbox::assert_data_eq!(
        without_escapes(&text),
        snapbox::str![[r"
        Test  p tests::long  +12.0 % [+11.0 %, +13.0 %] from 0000000 to 0000009
     Skipped  0000004 2023-11-14 Half  does not build: error: no
────────────
      Commit  0000005 2023-11-14 Parse lazily
              p tests::long  1.00 µs → 1.12 µs  +12.0 % slower  [+11.0 %, +13.0 %]  Parser::line
        Note  other commits of the range made it slower, too: search on both sides of this one
        Test  p tests::long  +12.0 % [+11.0 %, +13.0 %] from 0000000 to 0000009
     Skipped  0000004 2023-11-14 Half  does not build: error: no
────────────
      One of  these; those before the last cannot be compared
              0000004 2023-11-14 Half
              0000005 2023-11-14 Parse lazily
              p tests::long  1.00 µs → 1.12 µs  +12.0 % slower  [+11.0 %, +13.0 %]  Parser::line
        Test  p tests::long  +12.0 % [+11.0 %, +13.0 %] from 0000000 to 0000009
     Skipped  0000004 2023-11-14 Half  does not build: error: no
────────────
        Open  2 commits of 9 left; the same command goes on
              0000004 2023-11-14 Half
              0000005 2023-11-14 Parse lazily
        Test  p tests::long  +12.0 % [+11.0 %, +13.0 %] from 0000000 to 0000009
     Skipped  0000004 2023-11-14 Half  does not build: error: no
────────────
   Not found  no single commit: the change shows over all of these and not in one of them
              0000005 2023-11-14 Parse lazily

"]]
    );
    let document: serde_json::Value = serde_json::from_str(&bisect_json(&searches[0])).unwrap();
    assert_eq!((&document["end"], &document["candidates"][0]["subject"]), (&"found".into(), &"Parse lazily".into()));
}

#[test]
fn the_document_tells_each_commit() {
    let document: serde_json::Value = serde_json::from_str(&log_json(&history(), &[course()])).unwrap();
    let outcomes: Vec<&str> =
        document["commits"].as_array().unwrap().iter().map(|one| one["outcome"].as_str().unwrap()).collect();
    assert_eq!(outcomes, ["compared", "compared", "does-not-build", "open"]);
    assert_eq!(document["commits"][0]["tests"][0]["verdict"], "slower");
    assert_eq!(document["courses"][0]["points"][3]["known"], false);
}
