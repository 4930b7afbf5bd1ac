use super::document::log_json;
use super::*;
use crate::figures::Detail;
use crate::text::TextOptions;
use perfunit_decide as decide;
use perfunit_model::format::{Glyphs, without_escapes};
use perfunit_model::samples::{explanation, started_by_many};
use perfunit_model::{
    Anchor, Bisection, Change, Commit, Course, Direction, Entry, FoundStep, FoundTest, Further, History, HistorySource,
    Metric, Mode, NothingBecause, Point, ReasonKind, Release, Releases, Side, Skipped, SourceChange, Span, Step,
    StepFigures, StepOutcome, StepTest, TargetId, TargetKind, TestId, Unresolved, Unsearched, Verdict,
};
use std::collections::BTreeSet;

const OPTIONS: TextOptions = TextOptions { width: 100, detail: Detail::Brief, glyphs: Glyphs::Unicode };

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
        figures: Some(StepFigures {
            change,
            base_ns: 1000.0,
            head_ns: 1000.0 * (1.0 + estimate),
            mode: Mode::Steady,
            effect: decide::effect_size(0.6),
        }),
        function: Some("Parser::line".to_owned()),
        test_code: None,
        metrics: vec![Metric::Time],
    }
}

fn step(tests: Vec<StepTest>) -> StepOutcome {
    let nothing_because = tests.is_empty().then_some(NothingBecause::Comments { files: 1 });
    let selected = tests.len();
    StepOutcome::Compared(Step {
        base: "0".to_owned(),
        found: 7,
        selected,
        nothing_because,
        tests,
        programs: Vec::new(),
        unlisted: BTreeSet::new(),
        alpha: 0.0025,
        seconds: 3.0,
        machine: "a processor".to_owned(),
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
    History {
        base: commit(0, "First"),
        entries,
        spans: Vec::new(),
        left_out: 0,
        note: None,
        source: HistorySource::Comparisons,
        interrupted: true,
    }
}

fn course() -> Course {
    let at = |ratio: f64, moved, is_known| Point {
        ratio,
        low: ratio - 0.01,
        high: ratio + 0.01,
        moved,
        is_known,
        is_anchored: false,
    };
    let points =
        vec![at(1.12, Some(Verdict::Slower), true), at(1.12, None, true), at(1.12, None, false), at(1.12, None, false)];
    Course { test: id("tests::long"), points, anchors: Vec::new() }
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
              2 tests of 7: 1 slower, 1 unchanged
              p tests::long  1.00 µs → 1.12 µs  +12.0 % slower  [+11.0 %, +13.0 %]  Parser::line
   Unchanged  0000002 2023-11-14 Words
              no test can have changed: only comments, documentation comments and formatting differ
              (1 file)
     Skipped  0000003 2023-11-14 Half, "done"
              does not build: error[E0425]: no `x`
        Open  0000004 2023-11-14 Later  not compared yet
────────────
      Course  p tests::long  +12.0 %  [+11.0 %, +13.0 %]
              ██??  0000001 +12.0 %
────────────
        Open  1 commit not compared yet; the same command goes on
     Summary  4 commits: 1 with slower tests, 0 with faster ones, 1 in which no test can have
              changed, 1 skipped; the probability that any test is falsely called slower or faster
              is at most 0.50 %

"#]]
    );
}

#[test]
fn stored_results_are_completed_without_their_option() {
    let stored = History { source: HistorySource::Stored, ..history() };
    let text = without_escapes(&summary(&stored, &[], &OPTIONS));
    assert!(text.contains("1 commit not compared yet; the same command without --stored goes on"), "{text}");
}

#[test]
fn a_program_can_be_slower_where_no_test_is() {
    let StepOutcome::Compared(open) = step(vec![test("tests::long", Verdict::Inconclusive, 0.06)]) else { panic!() };
    let outcome = StepOutcome::Compared(Step { programs: vec![started_by_many(0.06)], ..open });
    let slower = Entry { commit: commit(1, "Start later"), outcome };
    snapbox::assert_data_eq!(
        without_escapes(&entry(&slower, &OPTIONS)),
        snapbox::str![[r"
      Slower  0000001 2023-11-14 Start later
              1 test of 7: 1 inconclusive
              mytool typically slower, +6.0 % [+5.6 %, +6.4 %] over 240 tests that the change can
              reach

"]]
    );
    let history = History { entries: vec![slower], ..history() };
    let page = markdown(&history, &[]);
    assert!(
        page.contains("1 commit: 1 with slower tests") && page.contains("`mytool` typically slower, +6.0 %"),
        "{page}"
    );
}

#[test]
fn a_history_to_paste() {
    let mut history = history();
    history.base.tags = vec!["v1.0".to_owned()];
    snapbox::assert_data_eq!(
        markdown(&history, &[course()]),
        snapbox::str![[r"
### `v1.0` to `0000004`

4 commits: 1 with slower tests, 0 with faster ones, 1 in which no test can have changed, 1 skipped, 1 not compared yet.

| test | course | change | interval | largest steps |
|---|---|--:|---|---|
| `p tests::long` | `██??` | **+12.0 %** | +11.0 % to +13.0 % | `0000001` +12.0 % |

| commit | subject | result | tests |
|---|---|---|---|
| `0000001` 2023-11-14 | Parse lazily | slower | `p tests::long` +12.0 %: `Parser::line` |

<details><summary>1 commit skipped</summary>

- `0000003` Half, &#34;done&#34;: does not build&#58; error&#91;E0425&#93;&#58; no &#96;x&#96;

</details>

By `cargo perfunit log`: the probability that any test is falsely called slower or faster is at most 0.50 %.

"]]
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

/// Builds a step in which two tests of a function changed.
fn found(commits: Vec<Commit>, estimate: f64) -> FoundStep {
    let verdict = if estimate > 0.0 { Verdict::Slower } else { Verdict::Faster };
    let plain = |found| FoundTest { found, explanation: None, unexplained: None };
    let equal =
        StepTest { figures: None, reason: Some(ReasonKind::SameCode), ..test("tests::b", Verdict::NotMeasured, 0.0) };
    let explained = FoundTest { explanation: Some(explanation()), ..plain(test("tests::long", verdict, estimate)) };
    let diff = ["-    once(text)", "+    twice(text) // ```"].map(str::to_owned).to_vec();
    let source = Some(SourceChange { file: "src/parser.rs".to_owned(), line: 88, diff, left_out: 2 });
    FoundStep { commits, base: commit(3, "Before"), tests: vec![explained, plain(equal)], source }
}

fn search(steps: Vec<FoundStep>) -> Bisection {
    Bisection {
        test: id("tests::long"),
        function: None,
        others: Vec::new(),
        direction: Direction::Slower,
        good: commit(0, "First"),
        bad: commit(9, "Last"),
        change: Change { estimate: 0.12, low: 0.11, high: 0.13 },
        commits: 9,
        steps,
        unresolved: Vec::new(),
        further: Further::default(),
        rest: None,
        skipped: vec![(commit(4, "Half"), Skipped::DoesNotBuild { error: "error: no".to_owned() })],
    }
}

fn lost(because: Unsearched) -> Unresolved {
    Unresolved { commits: vec![commit(4, "Half"), commit(5, "Parse lazily")], because }
}

#[test]
fn searches_in_words() {
    let one = Bisection {
        function: Some("line".to_owned()),
        others: vec![(id("tests::b"), Change { estimate: 0.1, low: 0.09, high: 0.11 })],
        further: Further { slower: true, faster: true },
        ..search(vec![found(vec![commit(5, "Parse lazily")], 0.12)])
    };
    let all = Bisection {
        rest: Some(Change { estimate: 0.003, low: -0.01, high: 0.015 }),
        unresolved: vec![lost(Unsearched::Lost)],
        ..search(vec![
            found(vec![commit(4, "Half"), commit(5, "Parse lazily")], 0.12),
            found(vec![commit(7, "Undo")], -0.05),
        ])
    };
    let open = Bisection { unresolved: vec![lost(Unsearched::Open)], ..search(Vec::new()) };
    let text: String = [&one, &all, &open].map(|search| bisection(search, &OPTIONS)).concat();
    snapbox::assert_data_eq!(
        without_escapes(&text),
        snapbox::str![[r"
        Test  p tests::long  +12.0 % [+11.0 %, +13.0 %] from 0000000 to 0000009
              p tests::b  +10.0 % [+9.0 %, +11.0 %]
     Skipped  0000004 2023-11-14 Half  does not build: error: no
────────────
      Commit  0000005 2023-11-14 Parse lazily
              p tests::long  1.00 µs → 1.12 µs  +12.0 % slower  [+11.0 %, +13.0 %]
              p tests::b  unchanged code
              note: no function certainly accounts for part of the difference
              src/parser.rs:88
              -    once(text)
              +    twice(text) // ```
              ... and 2 more lines
        Note  other commits of the range made it slower, too; --all searches each
        Note  other commits of the range made it faster; --all searches each
        Test  p tests::long  +12.0 % [+11.0 %, +13.0 %] from 0000000 to 0000009
     Skipped  0000004 2023-11-14 Half  does not build: error: no
────────────
      One of  these; those before the last cannot be compared
              0000004 2023-11-14 Half
              0000005 2023-11-14 Parse lazily
              p tests::long  1.00 µs → 1.12 µs  +12.0 % slower  [+11.0 %, +13.0 %]
              p tests::b  unchanged code
              note: no function certainly accounts for part of the difference
              src/parser.rs:88
              -    once(text)
              +    twice(text) // ```
              ... and 2 more lines
      Commit  0000007 2023-11-14 Undo
              p tests::long  1.00 µs → 950 ns  -5.0 % faster  [-6.0 %, -4.0 %]
              p tests::b  unchanged code
              note: no function certainly accounts for part of the difference
              src/parser.rs:88
              -    once(text)
              +    twice(text) // ```
              ... and 2 more lines
   Not found  no single commit: the change shows over all of these and not in one of them
              0000004 2023-11-14 Half
              0000005 2023-11-14 Parse lazily
        Note  the test got slower and faster within the range
        Note  all other commits together: +0.30 % [-1.0 %, +1.5 %]
        Test  p tests::long  +12.0 % [+11.0 %, +13.0 %] from 0000000 to 0000009
     Skipped  0000004 2023-11-14 Half  does not build: error: no
────────────
        Open  2 commits of 9 left; the same command goes on
              0000004 2023-11-14 Half
              0000005 2023-11-14 Parse lazily

"]]
    );
    let document: serde_json::Value = serde_json::from_str(&bisect_json(&one)).unwrap();
    let step = &document["steps"][0];
    assert_eq!(step["candidates"][0]["subject"], "Parse lazily");
    assert_eq!((&step["tests"][1]["reason"], &step["source"]["line"]), (&"same-code".into(), &88.into()));
    assert_eq!((&document["direction"], &document["further"]["faster"]), (&"slower".into(), &true.into()));
}

#[test]
fn searches_to_paste_into_an_issue() {
    let one = Bisection {
        function: Some("line".to_owned()),
        ..search(vec![found(vec![commit(5, "Parse <b>lazily</b> #1")], 0.12)])
    };
    let open = Bisection { unresolved: vec![lost(Unsearched::Open)], ..search(Vec::new()) };
    let text: String = [&one, &open].map(bisect_markdown).concat();
    snapbox::assert_data_eq!(
        text,
        snapbox::str![[r"
### `p tests::long` got slower in `0000005`: +12.0 %

- `0000005` Parse &#60;b&#62;lazily&#60;/b&#62; &#35;&#8203;1 (2023-11-14)

| test | `0000003` | `0000005` | change | interval |
|---|--:|--:|--:|---|
| `p tests::long` | 1.00 µs | 1.12 µs | **+12.0 %** | +11.0 % to +13.0 % |
| `p tests::b` | | | unchanged code | |

- note&#58; no function certainly accounts for part of the difference

`src/parser.rs:88`:

````diff
-    once(text)
+    twice(text) // ```
````

... and 2 more lines.

<details><summary>How it was found</summary>

- 9 commits from `0000000` First (2023-11-14) to `0000009` Last (2023-11-14): +12.0 % [+11.0 % to +13.0 %]
- tests that execute `line`, by the one that changed most
- skipped: `0000004` Half (2023-11-14): does not build&#58; error&#58; no
- times are of one machine, both versions in turns; `cargo perfunit` made this

```sh
cargo perfunit diff 0000003..0000005 tests::long
```

</details>
### `p tests::long` changed (+12.0 %), and no single commit was found

Not searched yet:

- `0000004` Half (2023-11-14)
- `0000005` Parse lazily (2023-11-14)

<details><summary>How it was found</summary>

- 9 commits from `0000000` First (2023-11-14) to `0000009` Last (2023-11-14): +12.0 % [+11.0 % to +13.0 %]
- skipped: `0000004` Half (2023-11-14): does not build&#58; error&#58; no
- times are of one machine, both versions in turns; `cargo perfunit` made this

</details>

"]]
    );
}

#[test]
fn the_document_tells_each_commit() {
    let document: serde_json::Value = serde_json::from_str(&log_json(&history(), &[course()])).unwrap();
    let outcomes: Vec<&str> =
        document["commits"].as_array().unwrap().iter().map(|one| one["outcome"].as_str().unwrap()).collect();
    assert_eq!(outcomes, ["compared", "compared", "does-not-build", "open"]);
    assert_eq!(document["commits"][0]["tests"][0]["verdict"], "slower");
    let first = &document["commits"][0];
    assert_eq!((&first["seconds"], &first["wall_seconds"]), (&1_700_000_000.into(), &3.0.into()));
    // The second commit changes nothing, so the previous point holds.
    let points = document["courses"][0]["points"].as_array().unwrap();
    let points: Vec<_> = points.iter().map(|point| (point["commit"].as_str().unwrap(), &point["known"])).collect();
    let (known, unknown) = (true.into(), false.into());
    assert_eq!(points, [("00000010000", &known), ("00000030000", &unknown), ("00000040000", &unknown)]);
}

fn change(estimate: f64) -> Change {
    Change { estimate, low: estimate - 0.01, high: estimate + 0.01 }
}

#[test]
fn direct_comparisons_say_what_the_steps_do_not() {
    let anchor = |verdict, direct, product, has_moved| Anchor {
        since: Commit { tags: vec!["v1.2.0".to_owned()], ..commit(0, "First") },
        entry: 1,
        verdict,
        direct: change(direct),
        product: change(product),
        is_complete: true,
        has_other_test_code: false,
        has_moved,
    };
    let anchors = vec![
        anchor(Verdict::Slower, 0.04, 0.03, false),
        anchor(Verdict::Same, 0.0, 0.08, true),
        anchor(Verdict::Slower, 0.1, 0.1, true),
        Anchor { is_complete: false, ..anchor(Verdict::Faster, -0.1, 0.1, false) },
        Anchor { is_complete: false, ..anchor(Verdict::Slower, 0.3, 0.1, true) },
        Anchor { has_other_test_code: true, ..anchor(Verdict::Faster, -0.1, -0.2, true) },
        Anchor { since: commit(7, "Later"), ..anchor(Verdict::Inconclusive, 0.02, 0.02, true) },
    ];
    let shown = Course { anchors: anchors.clone(), ..course() };
    assert_eq!(super::log::shown_anchors(&shown).count(), 4);
    let lines: Vec<String> = anchors.iter().map(|anchor| super::log::anchor_text(anchor).to_string()).collect();
    let text = lines.join("\n");
    snapbox::assert_data_eq!(
        without_escapes(&text),
        snapbox::str![[r"
+4.0 % slower [+3.0 %, +5.0 %] since v1.2.0, compared directly; no single commit made it slower
+0.00 % [-1.0 %, +1.0 %] since v1.2.0, compared directly; the steps give +8.0 % [+7.0 %, +9.0 %] and contradict it
+10.0 % slower [+9.0 %, +11.0 %] since v1.2.0, compared directly
-10.0 % faster [-11.0 %, -9.0 %] since v1.2.0, compared directly; none of the commits that were measured made it faster
+30.0 % slower [+29.0 %, +31.0 %] since v1.2.0, compared directly; the steps that were measured give +10.0 % [+9.0 %, +11.0 %], and others lie between
-10.0 % faster [-11.0 %, -9.0 %] since v1.2.0, compared directly; the steps give -20.0 % [-21.0 %, -19.0 %], with other code of the test
+2.0 % inconclusive [+1.0 %, +3.0 %] since 0000007, compared directly
"]]
    );
}

#[test]
fn a_direct_comparison_is_a_row_and_a_fact_of_the_document() {
    let mut history = history();
    let StepOutcome::Compared(step) = step(vec![test("tests::long", Verdict::Slower, 0.25)]) else { unreachable!() };
    let tests = [id("tests::long")].into();
    history.spans = vec![Span { base: commit(0, "First"), head: commit(2, "Words"), tests, step }];
    let table = csv(&history);
    let direct: Vec<&str> = table.lines().filter(|line| line.contains(",direct,")).collect();
    assert_eq!(
        direct,
        ["00000020000,2023-11-14,00000000000,direct,p,p,tests::long,slower,,0.25,0.24,0.26,1000,1250,Parser::line"]
    );
    let course = Course {
        anchors: vec![Anchor {
            since: commit(0, "First"),
            entry: 1,
            verdict: Verdict::Slower,
            direct: change(0.2),
            product: change(0.12),
            is_complete: true,
            has_other_test_code: false,
            has_moved: true,
        }],
        ..course()
    };
    let document: serde_json::Value = serde_json::from_str(&log_json(&history, &[course])).unwrap();
    let anchor = &document["courses"][0]["anchors"][0];
    assert_eq!((&anchor["since"], &anchor["commit"]), (&"00000000000".into(), &"00000020000".into()));
    assert_eq!((&anchor["contradiction"], &anchor["gradual"]), (&true.into(), &false.into()));
    assert_eq!(document["commits"][0]["tests"][0]["effect"]["class"], "medium");
}

fn releases() -> Releases {
    let tagged = |id: u32, tag: &str| Commit { tags: vec![tag.to_owned()], ..commit(id, tag) };
    let slower = StepTest { test_code: Some(Side::Base), ..test("tests::long", Verdict::Slower, 0.12) };
    let gone = StepTest {
        reason: Some(ReasonKind::TestChanged),
        figures: None,
        function: None,
        ..test("tests::other", Verdict::NotMeasured, 0.0)
    };
    let faster = StepTest { function: Some("Words::next".to_owned()), ..test("tests::short", Verdict::Faster, -0.3) };
    let entries = vec![
        Entry { commit: commit(1, "Parse lazily"), outcome: step(vec![test("tests::long", Verdict::Slower, 0.11)]) },
        Entry { commit: commit(2, "Words"), outcome: StepOutcome::Open },
        Entry { commit: tagged(3, "v2"), outcome: step(Vec::new()) },
    ];
    let (one, two) = (tagged(0, "v1"), tagged(3, "v2"));
    let first = Release { base: one, head: two.clone(), outcome: step(vec![slower, faster, gone]), commits: entries };
    let second = Release { base: two, head: commit(4, "Later"), outcome: StepOutcome::Open, commits: Vec::new() };
    Releases { releases: vec![first, second], note: None, interrupted: true }
}

#[test]
fn releases_in_words_and_tables() {
    let releases = releases();
    let options = TextOptions { detail: Detail::Full, ..OPTIONS };
    let mut text: String = releases.releases.iter().map(|one| release(one, &options)).collect();
    text.push_str(&releases_summary(&releases, &options));
    snapbox::assert_data_eq!(
        without_escapes(&text),
        snapbox::str![[r"
      Slower  0000003 2023-11-14 (v2) v2
              against v1, 3 commits: 3 tests of 7: 1 slower, 1 faster, 1 not measured
              p tests::short  1.00 µs → 700 ns  -30.0 % faster  [-31.0 %, -29.0 %]  Words::next
              p tests::long  1.00 µs → 1.12 µs  +12.0 % slower  [+11.0 %, +13.0 %]  Parser::line
                +11.0 % by 0000001 2023-11-14 Parse lazily
              Parser::line: 1 test slower
              Words::next: 1 test faster
              1 commit of 3 not looked at (0000002): `cargo perfunit log v1..v2` does
              test                                test code  metric  effect (d)   verdict
              tests::long   old        time    0.60 medium  slower
              tests::short  unchanged  time    0.60 medium  faster
              tests::other  unchanged  time                 not measured: test-changed
        Open  0000004 2023-11-14 Later  not compared yet
────────────
     Summary  2 comparisons: 1 with slower tests, 1 with faster ones; the probability that any test
              is falsely called slower or faster from release to release is at most 0.25 %

"]]
    );
    snapbox::assert_data_eq!(
        releases_csv(&releases),
        snapbox::str![[r"
release,against,outcome,package,target,test,test_code,metrics,estimate,low,high,effect,verdict,reason,function,commits
v2,v1,compared,p,p,tests::long,old,time,0.12,0.11,0.13,0.6,slower,,Parser::line,00000010000
v2,v1,compared,p,p,tests::short,unchanged,time,-0.3,-0.31,-0.29,0.6,faster,,Words::next,
v2,v1,compared,p,p,tests::other,unchanged,time,,,,,not-measured,test-changed,,
00000040000,v2,open,,,,,,,,,,,,,

"]]
    );
    let document: serde_json::Value = serde_json::from_str(&releases_json(&releases)).unwrap();
    let first = &document["releases"][0];
    assert_eq!(first["moved_by"][0]["commits"], serde_json::json!(["00000010000"]));
    assert_eq!(first["comparison"]["tests"][0]["test_code"], "base");
    assert_eq!(document["releases"][1]["comparison"]["outcome"], "open");
}

#[test]
fn what_is_left_and_what_was_joined() {
    assert_eq!(left(17, 20, None), "17 commits of 20");
    assert_eq!(left(1, 20, Some(Duration::from_secs(90))), "1 commit of 20, about 1 min 30 s");
    assert_eq!(
        describe_import(Joined { new: 3, same: 1, contradictions: 0, usable: 4 }),
        "3 new results, 1 known before"
    );
    assert_eq!(
        describe_import(Joined { new: 1, same: 0, contradictions: 2, usable: 1 }),
        "1 new result, 0 known before, 2 with other figures than those that are here, which stay; 2 were made with \
             other options or another toolchain, and are not used now"
    );
}
