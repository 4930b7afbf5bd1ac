use super::*;
use perfunit_model::samples::{self, full, measured, outcome, run};
use perfunit_model::{ChangedPart, Denied, FailedOn, Failure, NothingBecause, Reason, Warning};
use snapbox::{IntoData, assert_data_eq, str};

fn told(run: &Run) -> String {
    render(run, &Rendering::default())
}

#[test]
fn a_comment_reads_like_this() {
    assert_data_eq!(told(&full()), str![[r"
<!-- cargo-perfunit -->
### 2 tests got slower, 1 test got faster

`main` (`3f2a91c`) → `working tree` (`8d01e7b` + changes): 8 measured of 412 tests.

**5 of 9 tests are not slower by 10 % or more.**

**Programs over the tests that the change can reach**:

- `mytool`: typically unchanged, +0.20 % &#91;-0.20 %, +0.60 %&#93; over 240 tests that the change can reach

**1 changed function slower in the mean of several tests**:

- `Parser::skip` (`src/idle.rs:7`): slower +1.9 % &#91;+1.4 %, +2.4 %&#93; in the mean of 2 of 31 tests

**1 changed function is executed by no test**: `idle::Pool::drain` (`src/idle.rs:7`).

| slower | change | base | head | interval | remarks |
|---|--:|--:|--:|---|---|
| `mycrate parser::tests::long` | **+30.6&nbsp;%** | 1.21&nbsp;µs | 1.58&nbsp;µs | +29.6&nbsp;% to +31.6&nbsp;% |  |
| `mycrate lexer::tests::tiny` | **+14.6&nbsp;%** | 8.20&nbsp;ns | 9.40&nbsp;ns | +13.6&nbsp;% to +15.6&nbsp;% |  |

| faster | change | base | head | interval | remarks |
|---|--:|--:|--:|---|---|
| `mycrate cache::tests::first` | **-24.0&nbsp;%** | 2.05&nbsp;ms | 1.56&nbsp;ms | -25.0&nbsp;% to -23.0&nbsp;% (first call) |  |

<details><summary>1 inconclusive</summary>

| inconclusive | change | base | head | interval | remarks |
|---|--:|--:|--:|---|---|
| `mycrate net::tests::roundtrip` | **+3.1&nbsp;%** | 48.3&nbsp;µs | 49.8&nbsp;µs | -14.2&nbsp;% to +20.4&nbsp;% | `too noisy for its budget (--per-test-budget)`<br>about 7 times as many pairs would settle it |

</details>

<details><summary>1 unchanged (within ±10 %)</summary>

| unchanged (within ±10 %) | change | base | head | interval | remarks |
|---|--:|--:|--:|---|---|
| `mycrate net::tests::handshake` | **+0.90&nbsp;%** | 51.2&nbsp;µs | 51.7&nbsp;µs | -1.8&nbsp;% to +3.6&nbsp;% | within ±5 %<br>`too noisy for its budget (--per-test-budget)` |

</details>

<details><summary>Details and how to reproduce</summary>

- Decided by time, threshold 10 %: 2 changed by less than 10 %, 2 unchanged (within ±5 % to ±10 %), 1 inconclusive, 2 not measured.
- Not measured: 1 fails, 1 ignored
- Both on one machine: `rustc 1.95.0, bench profile, Xeon`
- Changed: `changed Parser::line (src/parser.rs:88)`
- Changed: `changed Cargo.lock`
- Note: `code layout not controlled in mycrate: the linker ld refuses: no such option`
- Note: `3 verdicts below 40 % rest on one layout: code placement alone can cause such a change`

```sh
cd 'crates/my crate' && cargo perfunit diff 3f2a91c0d4e5f60718293a4b5c6d7e8f90a1b2c3 parser:: --threshold 0.1
```

</details>

"]].raw());
    assert_data_eq!(told(&samples::whole()), str![[r"
<!-- cargo-perfunit -->
### 2 tests got slower, 1 test got faster

`main` (`3f2a91c`) → `working tree` (`8d01e7b` + changes): 8 measured of 412 tests.

**5 of 10 tests are not slower by 10 % or more.**

**Programs over the tests that the change can reach**:

- `mytool`: typically unchanged, +0.20 % &#91;-0.20 %, +0.60 %&#93; over 240 tests that the change can reach

**1 changed function slower in the mean of several tests**:

- `Parser::skip` (`src/idle.rs:7`): slower +1.9 % &#91;+1.4 %, +2.4 %&#93; in the mean of 2 of 31 tests

**1 changed function is executed by no test**: `idle::Pool::drain` (`src/idle.rs:7`).

**Growth**: `mycrate sort/*`: time grows as n^2.0 instead of n^1.1: 310 times as long at 4096.

**Work grows faster with the length of an input in 1 function**:

- `Parser::parse` (`src/idle.rs:7`): work grows as n&#94;2.1, was n&#94;1.0&#58; 31 times as much at n &#61; 300 (length of &#96;input&#96;)

- `lexer::word (src/lexer.rs:12), source unchanged`: 1 test slower, +30.6 %
- `not explained`: 1 test slower, +14.6 %

| slower | change | base | head | interval | remarks |
|---|--:|--:|--:|---|---|
| `mycrate parser::tests::long` | **+30.6&nbsp;%** | 1.21&nbsp;µs | 1.58&nbsp;µs | +29.6&nbsp;% to +31.6&nbsp;% | `lexer::word` (`src/lexer.rs:12`), 98 % of the change, source unchanged<br>allocations 12 → 18 (+50.8 %)<br>suspect&#58; allocations and instructions are unchanged; possible causes are caches, branches, waiting, and code placement |
| `mycrate lexer::tests::tiny` | **+14.6&nbsp;%** | 8.20&nbsp;ns | 9.40&nbsp;ns | +13.6&nbsp;% to +15.6&nbsp;% |  |

| faster | change | base | head | interval | remarks |
|---|--:|--:|--:|---|---|
| `mycrate cache::tests::first` | **-24.0&nbsp;%** | 2.05&nbsp;ms | 1.56&nbsp;ms | -25.0&nbsp;% to -23.0&nbsp;% (first call) |  |

<details><summary>1 inconclusive</summary>

| inconclusive | change | base | head | interval | remarks |
|---|--:|--:|--:|---|---|
| `mycrate net::tests::roundtrip` | **+3.1&nbsp;%** | 48.3&nbsp;µs | 49.8&nbsp;µs | -14.2&nbsp;% to +20.4&nbsp;% | `too noisy for its budget (--per-test-budget)`<br>about 7 times as many pairs would settle it |

</details>

<details><summary>1 unchanged (within ±10 %)</summary>

| unchanged (within ±10 %) | change | base | head | interval | remarks |
|---|--:|--:|--:|---|---|
| `mycrate net::tests::handshake` | **+0.90&nbsp;%** | 51.2&nbsp;µs | 51.7&nbsp;µs | -1.8&nbsp;% to +3.6&nbsp;% | within ±5 %<br>`too noisy for its budget (--per-test-budget)` |

</details>

<details><summary>Details and how to reproduce</summary>

- Decided by time, threshold 10 %: 2 changed by less than 10 %, 2 unchanged (within ±5 % to ±10 %), 1 inconclusive, 2 not measured.
- Not measured: 1 fails, 1 too-long
- Both on one machine: `rustc 1.95.0, bench profile, Xeon`
- Changed: `changed Parser::line (src/parser.rs:88)`
- Changed: `changed Cargo.lock`
- Unknown growth: <code>idle&#58;&#58;Pool&#58;&#58;drain&#58; lengths of &#96;text&#96; from 3 to 40 are too few or too close&#58; six from 4 on are needed, the largest 16 times the smallest</code>
- Unknown growth: `1 test: it has its own test harness`
- Note: `code layout not controlled in mycrate: the linker ld refuses: no such option`
- Note: `3 verdicts below 40 % rest on one layout: code placement alone can cause such a change`
- Warning: `only one core is available; measuring takes longer for the same precision`

```sh
cd 'crates/my crate' && cargo perfunit diff 3f2a91c0d4e5f60718293a4b5c6d7e8f90a1b2c3 parser:: --threshold 0.1
```

</details>

"]].raw());
}

/// Renders HTML like GitHub, without its sanitizing.
fn html(markdown: &str) -> String {
    let mut options = comrak::Options::default();
    options.extension.table = true;
    options.extension.strikethrough = true;
    options.extension.autolink = true;
    options.extension.tasklist = true;
    options.render.r#unsafe = true;
    comrak::markdown_to_html(markdown, &options)
}

/// Returns the cells of all rows including headings, without our own tags.
fn cells(markdown: &str) -> Vec<Vec<String>> {
    let html = html(markdown);
    let rows = html.split("<tr>").skip(1).map(|row| row.split("</tr>").next().unwrap());
    let cell = |cell: &str| {
        let inside = cell.split_once('>').unwrap().1.split("</t").next().unwrap();
        inside.replace("<code>", "").replace("</code>", "").replace("<strong>", "").replace("</strong>", "")
    };
    rows.map(|row| row.split("<t").skip(1).map(cell).collect()).collect()
}

/// Returns the text of a page as a reader sees it.
fn shown(html: &str) -> String {
    [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&amp;", "&")]
        .iter()
        .fold(html.to_owned(), |text, (from, to)| text.replace(from, to))
}

#[test]
fn tables_have_the_rows_and_cells_that_they_should() {
    let run = samples::whole();
    let rows = cells(&told(&run));
    assert!(rows.iter().all(|row| row.len() == 6), "{rows:?}");
    assert_eq!(rows.len(), 3 + 2 + 2 + 1 + 1);
    let responsible =
        "lexer::word (src/lexer.rs:12), 98 % of the change, source unchanged<br>allocations 12 → 18 (+50.8 %)";
    assert!(rows[1][5].starts_with(responsible), "{}", rows[1][5]);
    let html = html(&told(&run));
    assert_eq!(html.matches("<details>").count(), html.matches("</details>").count());
    assert_eq!((html.matches("<table>").count(), html.matches("<h3>").count()), (4, 1));
    assert!(html.contains("<pre lang=\"sh\"><code>cargo perfunit diff") || html.contains("language-sh"), "{html}");
}

#[test]
fn foreign_text_is_shown_as_it_is_and_is_no_markup() {
    let names = [
        "a|b",
        "a\\|b",
        "`tick`",
        "``",
        "<script>alert(1)</script>",
        "<T as Into<&str>>::x",
        "@octocat",
        "#123",
        "*b* _i_ ~~s~~",
        "[l](http://x.example)",
        "http://x.example",
        "</details>",
        "&lt;",
        "<!-- c -->",
        "$x$",
        ":tada:",
        "a\\",
        "- [ ] x",
    ];
    for name in names {
        let rows = cells(&told(&run(vec![outcome(name, Verdict::Slower, Some(measured(1e3, 0.5)))])));
        assert_eq!(rows.len(), 2, "{name}: {rows:?}");
        assert_eq!((rows[1].len(), shown(&rows[1][0])), (6, format!("mycrate {name}")));
    }
    let mut run = run(vec![outcome("a", Verdict::Slower, Some(measured(1e3, 0.5)))]);
    let page = |run: &Run| html(&told(run)).matches('<').count();
    let expected = page(&run);
    run.base.label = "`main` <b>@you</b> | http://x.example".to_owned();
    run.warnings = vec![Warning::NothingMoreExplained { why: "</details> # *x*\n\n# y `".to_owned() }];
    run.selection.changes = ["<h1>", "~~~"].map(|path| ChangedPart::File(path.into())).to_vec();
    // The warning adds a line and a code span; the rest uses the other form of a code span.
    assert_eq!(page(&run), expected + 4);
    assert!(!html(&told(&run)).contains("<a "));
}

#[test]
fn many_tests_fit_into_a_comment() {
    let name = "module::".repeat(20);
    let slower = |index| outcome(&format!("{name}{index}"), Verdict::Slower, Some(measured(1e3, 0.5)));
    let mut run = run((0..5_000).map(slower).collect());
    let warning = |n| Warning::NothingMoreExplained { why: format!("{n}{}", "w".repeat(10_000)) };
    run.warnings = (0..50).map(warning).collect();
    run.selection.changes = vec![ChangedPart::File("c".repeat(10_000)); 50];
    let text = told(&run);
    assert!(text.chars().count() < 65_536, "{}", text.chars().count());
    assert!(text.lines().position(|line| line.starts_with("<details>")).unwrap() < 40);
    assert!(text.contains("<summary>4990 more slower</summary>") && text.contains("\n... and 4"), "{text}");
    let rows = cells(&text);
    assert!(rows.len() > 150 && rows.iter().all(|row| row.len() == 6));
    assert!(html(&text).trim_end().ends_with("</details>"));
}

#[test]
fn a_repeated_warning_is_written_once() {
    let mut run = run(vec![outcome("a", Verdict::Slower, Some(measured(1e3, 0.5)))]);
    run.warnings = vec![Warning::WithoutRunner, Warning::NoTargetLeft, Warning::WithoutRunner];
    let text = told(&run);
    let lines: Vec<&str> = text.lines().filter(|line| line.starts_with("- Warning")).collect();
    assert_eq!(lines.len(), 2, "{text}");
    assert!(lines[0].ends_with("(2 times)`"), "{text}");
}

/// Returns the page without the details.
fn top(run: &Run, rendering: &Rendering) -> String {
    render(run, rendering).split("\n<details>").next().unwrap_or_default().to_owned()
}

#[test]
fn without_news_there_is_little_or_nothing_to_read() {
    let silent = Rendering { when_fine: WhenFine::Silent, ..Rendering::default() };
    let fine = run(vec![outcome("a", Verdict::Same, Some(measured(1e3, 0.0)))]);
    assert_eq!(render(&fine, &silent), "");
    assert_data_eq!(
        top(&fine, &Rendering::default()),
        str![[r"
<!-- cargo-perfunit -->
### No test got slower or faster

`main` (`3f2a91c`) → `working tree` (`8d01e7b` + changes): 1 measured of 412 tests.

"]]
        .raw()
    );
    let growing = Run { growth: Some(samples::growth()), ..fine.clone() };
    assert!(render(&growing, &silent).contains("`Parser::parse`"));
    let denied = Rendering { denied: Denied { growth: true, ..Denied::default() }, ..silent };
    let heading = "### No test got slower or faster; work grows faster with the length of an input in 1 function\n";
    assert!(render(&growing, &denied).contains(heading), "{}", render(&growing, &denied));
    let noisy = run(vec![outcome("a", Verdict::Inconclusive, Some(measured(1e3, 0.0)))]);
    assert_eq!(render(&noisy, &silent), "");
    let denied = Rendering { denied: Denied { inconclusive: true, ..Denied::default() }, ..silent };
    assert!(render(&noisy, &denied).contains("<summary>1 inconclusive</summary>"));
    assert_data_eq!(
        top(&noisy, &denied),
        str![[r"
<!-- cargo-perfunit -->
### No test got slower or faster, 1 inconclusive; the run is undecided

`main` (`3f2a91c`) → `working tree` (`8d01e7b` + changes): 1 measured of 412 tests.

"]]
        .raw()
    );
    let fails = Reason::Fails { side: FailedOn::Base, how: Failure::Said("no".to_owned()), intermittent: false };
    let broken = run(vec![samples::unmeasured("a", Some(fails))]);
    assert_data_eq!(
        top(&broken, &silent),
        str![[r"
<!-- cargo-perfunit -->
### No test could be measured; the selected tests fail on base

`main` (`3f2a91c`) → `working tree` (`8d01e7b` + changes): 0 measured of 412 tests.

"]]
        .raw()
    );
    let stopped = Run { interrupted: true, ..fine };
    assert_data_eq!(
        top(&stopped, &silent),
        str![[r"
<!-- cargo-perfunit -->
### The comparison was interrupted

`main` (`3f2a91c`) → `working tree` (`8d01e7b` + changes): 1 measured of 412 tests, then interrupted.

"]]
        .raw()
    );
    let mut nothing = run(Vec::new());
    nothing.selection.nothing_because = Some(NothingBecause::Comments { files: 3 });
    assert_data_eq!(
        top(&nothing, &Rendering::default()),
        str![[r"
<!-- cargo-perfunit -->
### No test can have changed

`main` (`3f2a91c`) → `working tree` (`8d01e7b` + changes): `only comments, documentation comments and formatting differ (3 files)`.

"]]
        .raw()
    );
}

#[test]
fn tests_that_could_not_have_detected_the_change_are_counted_on_top() {
    let cold = Measured { threshold: 0.3, ..measured(1e3, 0.0) };
    let run = run(vec![outcome("a", Verdict::Same, Some(cold))]);
    assert_data_eq!(
        top(&run, &Rendering::default()),
        str![[r"
<!-- cargo-perfunit -->
### No test got slower or faster

`main` (`3f2a91c`) → `working tree` (`8d01e7b` + changes): 1 measured of 412 tests.

**1 of 1 test could not have detected a change of 10 %.**

"]]
        .raw()
    );
}

#[test]
fn with_other_metrics_tests_are_worse_and_the_command_says_by_which() {
    let mut run = run(vec![outcome("a", Verdict::Slower, Some(measured(1e3, 0.0)))]);
    run.gates = vec![perfunit_model::Metric::Time, perfunit_model::Metric::Allocations];
    run.head.dirty = false;
    assert_data_eq!(
        told(&run),
        str![[r"
<!-- cargo-perfunit -->
### 1 test got worse

`main` (`3f2a91c`) → `working tree` (`8d01e7b`): 1 measured of 412 tests.

| worse | change | base | head | interval | remarks |
|---|--:|--:|--:|---|---|
| `mycrate a` | **+0.00&nbsp;%** | 1.00&nbsp;µs | 1.00&nbsp;µs | -1.0&nbsp;% to +1.0&nbsp;% |  |

<details><summary>Details and how to reproduce</summary>

- Decided by time, allocations, threshold 10 %.
- Both on one machine: `rustc 1.95.0, bench profile, Xeon`
- Changed: `changed Parser::line (src/parser.rs:88)`
- Changed: `changed Cargo.lock`

```sh
cd 'crates/my crate' && cargo perfunit diff 3f2a91c0d4e5f60718293a4b5c6d7e8f90a1b2c3 parser:: --threshold 0.1
```

</details>

"]]
        .raw()
    );
}

#[test]
fn names_are_code() {
    assert_eq!(code("<T as Into<U>>::into"), "`<T as Into<U>>::into`");
    assert_eq!(code("a | b"), "<code>a &#124; b</code>");
    assert_eq!(code("`*\\"), "<code>&#96;&#42;&#92;</code>");
    assert_eq!(code("two\nlines"), "`two lines`");
    assert_eq!(code(" "), "");
}

#[test]
fn what_is_too_long_loses_its_middle() {
    let long = code(&format!("a{}z", "é".repeat(500)));
    assert_eq!(long.chars().count(), LONGEST + 2);
    assert!(long.starts_with("`aé") && long.ends_with("éz`") && long.contains('…'));
}

#[test]
fn words_are_no_markup() {
    assert_eq!(plain("@me <b> #1 +2.0 %"), "&#64;&#8203;me &#60;b&#62; &#35;&#8203;1 +2.0 %");
}
