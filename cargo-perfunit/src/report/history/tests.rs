use super::*;
use crate::model::{
    Bisection, Change, Course, Direction, Entry, FoundStep, FoundTest, Further, History, Mode, Point, Skipped,
    SourceChange, Step, StepFigures, StepOutcome, StepTest, TargetId, TargetKind, TestId, Unresolved, Unsearched,
    Verdict,
};
use crate::report::format::without_escapes;
use crate::report::samples::explanation;
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
fn a_history_to_paste() {
    let mut history = history();
    history.base.tags = vec!["v1.0".to_owned()];
    snapbox::assert_data_eq!(markdown(&history, &[course()]), snapbox::str![[r#"
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

By `cargo perfunit log`: the probability that any of these verdicts is false is at most 0.50 %.

"#]]);
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

/// What a commit did to two tests of a function.
fn found(commits: Vec<Commit>, estimate: f64) -> FoundStep {
    let verdict = if estimate > 0.0 { Verdict::Slower } else { Verdict::Faster };
    let plain = |found| FoundTest { found, explanation: None, unexplained: None };
    let equal =
        StepTest { figures: None, reason: Some("same-code".to_owned()), ..test("tests::b", Verdict::NotMeasured, 0.0) };
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
        snapbox::str![[r#"
        Test  p tests::long  +12.0 % [+11.0 %, +13.0 %] from 0000000 to 0000009
              p tests::b  +10.0 % [+9.0 %, +11.0 %]
     Skipped  0000004 2023-11-14 Half  does not build: error: no
────────────
      Commit  0000005 2023-11-14 Parse lazily
              p tests::long  1.00 µs → 1.12 µs  +12.0 % slower  [+11.0 %, +13.0 %]
              p tests::b  unchanged code
              note: no function accounts for a part of the difference for certain
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
              note: no function accounts for a part of the difference for certain
              src/parser.rs:88
              -    once(text)
              +    twice(text) // ```
              ... and 2 more lines
      Commit  0000007 2023-11-14 Undo
              p tests::long  1.00 µs → 950 ns  -5.0 % faster  [-6.0 %, -4.0 %]
              p tests::b  unchanged code
              note: no function accounts for a part of the difference for certain
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

"#]]
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
        snapbox::str![[r#"
### `p tests::long` got slower in `0000005`: +12.0 %

- `0000005` Parse &#60;b&#62;lazily&#60;/b&#62; &#35;1 (2023-11-14)

| test | `0000003` | `0000005` | change | interval |
|---|--:|--:|--:|---|
| `p tests::long` | 1.00 µs | 1.12 µs | **+12.0 %** | +11.0 % to +13.0 % |
| `p tests::b` | | | unchanged code | |

- note&#58; no function accounts for a part of the difference for certain

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

"#]]
    );
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
