use super::*;
use crate::terminal::BAD;
use crate::{Format, Rendering};
use perfunit_model::format::without_escapes;
use perfunit_model::samples::{full, measured, metered, outcome, run, unmeasured};
use perfunit_model::{
    Capture, Machine, Measured, Metric, MetricVerdict, NotMetered, PossibleChange, Reason, Spent, Stages, Warning,
};
use snapbox::{IntoData, assert_data_eq, str};

const WIDE: TextOptions = TextOptions { width: 0, detail: Detail::Brief, glyphs: Glyphs::Unicode };

#[track_caller]
fn check(run: &Run, options: TextOptions, expected: impl IntoData) {
    assert_data_eq!(without_escapes(&render(run, &options, Denied::default())), expected.raw());
}

fn same(name: &str, detectable: f64) -> Outcome {
    outcome(name, Verdict::Same, Some(Measured { detectable, ..measured(310.0, 0.001) }))
}

#[test]
fn every_verdict_has_its_place() {
    check(
        &full(),
        WIDE,
        str![[r"
   Comparing  main (3f2a91c) → working tree (8d01e7b + changes)
       Tests  412 found in 3 of 12 targets, 1 cannot have changed, 8 measured
────────────
      Slower  mycrate parser::tests::long    1.21 µs → 1.58 µs   +30.6 %           [+29.6 %, +31.6 %]
      Slower  mycrate lexer::tests::tiny     8.20 ns → 9.40 ns   +14.6 %  +1.2 ns  [+13.6 %, +15.6 %]
      Faster  mycrate cache::tests::first    2.05 ms → 1.56 ms   -24.0 %           [-25.0 %, -23.0 %]  (cold)
     Changed  2 tests by less than 10 %, the largest is mycrate parser::tests::short +4.1 % [+3.1 %, +5.1 %]  ... and 1 more (-v)
Inconclusive  mycrate net::tests::roundtrip  48.3 µs → 49.8 µs    +3.1 %           [-14.2 %, +20.4 %]  too noisy for its budget (--per-test-budget)
              about 7 times as many pairs would settle it
   Unchanged  1 test (within ±5 %)
   Unchanged  1 test (within ±10 %)
     Program  mytool: typically unchanged, +0.20 % [-0.20 %, +0.60 %] over 240 tests that the change can reach
   Functions  1 changed function slower in the mean of several tests:
                Parser::skip: slower +1.9 % [+1.4 %, +2.4 %] in the mean of 2 of 31 tests  src/idle.rs:7
   Uncovered  1 changed function is executed by no test: idle::Pool::drain
Not measured  1 test: fails on both: no network
                mycrate net::tests::dns
              1 test: ignored (measured with --run-ignored all)
                mycrate slow::tests::all
              doc tests of mycrate: measured on request (--doc)
        Note  code layout not controlled in mycrate: the linker ld refuses: no such option
        Note  3 verdicts below 40 % rest on one layout: code placement alone can cause such a change
────────────
       Bound  5 of 9 tests are not slower by 10 % or more
     Summary  2 slower, 1 faster, 2 changed by less than 10 %, 2 unchanged (within ±5 % to ±10 %), 1 inconclusive, 2 not measured  [prepare 0.4 s, build 12.1 s, measure 8.3 s]

"]],
    );
}

#[test]
fn names_that_do_not_fit_keep_a_line_of_their_own() {
    let mut run = full();
    run.outcomes[2].test.name = "parser::tests::a_rather_long_name_for_a_long_test".into();
    check(
        &run,
        TextOptions { width: 116, glyphs: Glyphs::Ascii, ..WIDE },
        str![[r"
   Comparing  main (3f2a91c) -> working tree (8d01e7b + changes)
       Tests  412 found in 3 of 12 targets, 1 cannot have changed, 8 measured
------------
      Slower  mycrate parser::tests::a_rather_long_name_for_a_long_test
                                             1.21 us -> 1.58 us   +30.6 %           [+29.6 %, +31.6 %]
      Slower  mycrate lexer::tests::tiny     8.20 ns -> 9.40 ns   +14.6 %  +1.2 ns  [+13.6 %, +15.6 %]
      Faster  mycrate cache::tests::first    2.05 ms -> 1.56 ms   -24.0 %           [-25.0 %, -23.0 %]  (cold)
     Changed  2 tests by less than 10 %, the largest is mycrate parser::tests::short +4.1 % [+3.1 %, +5.1 %]  ...
              and 1 more (-v)
Inconclusive  mycrate net::tests::roundtrip  48.3 us -> 49.8 us    +3.1 %           [-14.2 %, +20.4 %]
              too noisy for its budget (--per-test-budget)
              about 7 times as many pairs would settle it
   Unchanged  1 test (within +-5 %)
   Unchanged  1 test (within +-10 %)
     Program  mytool: typically unchanged, +0.20 % [-0.20 %, +0.60 %] over 240 tests that the change can reach
   Functions  1 changed function slower in the mean of several tests:
                Parser::skip: slower +1.9 % [+1.4 %, +2.4 %] in the mean of 2 of 31 tests  src/idle.rs:7
   Uncovered  1 changed function is executed by no test: idle::Pool::drain
Not measured  1 test: fails on both: no network
                mycrate net::tests::dns
              1 test: ignored (measured with --run-ignored all)
                mycrate slow::tests::all
              doc tests of mycrate: measured on request (--doc)
        Note  code layout not controlled in mycrate: the linker ld refuses: no such option
        Note  3 verdicts below 40 % rest on one layout: code placement alone can cause such a change
------------
       Bound  5 of 9 tests are not slower by 10 % or more
     Summary  2 slower, 1 faster, 2 changed by less than 10 %, 2 unchanged (within +-5 % to +-10 %), 1 inconclusive,
              2 not measured  [prepare 0.4 s, build 12.1 s, measure 8.3 s]

"]],
    );
}

#[test]
fn eighty_columns_put_figures_below_names() {
    let mut run = full();
    run.outcomes.truncate(4);
    check(
        &run,
        TextOptions { width: 80, ..WIDE },
        str![[r"
   Comparing  main (3f2a91c) → working tree (8d01e7b + changes)
       Tests  412 found in 3 of 12 targets, 4 measured
────────────
      Slower  mycrate parser::tests::long
              1.21 µs → 1.58 µs   +30.6 %           [+29.6 %, +31.6 %]
      Slower  mycrate lexer::tests::tiny
              8.20 ns → 9.40 ns   +14.6 %  +1.2 ns  [+13.6 %, +15.6 %]
      Faster  mycrate cache::tests::first
              2.05 ms → 1.56 ms   -24.0 %           [-25.0 %, -23.0 %]  (cold)
   Unchanged  1 test (within ±10 %)
     Program  mytool: typically unchanged, +0.20 % [-0.20 %, +0.60 %] over 240
              tests that the change can reach
   Functions  1 changed function slower in the mean of several tests:
                Parser::skip: slower +1.9 % [+1.4 %, +2.4 %] in the mean of 2 of
                31 tests  src/idle.rs:7
   Uncovered  1 changed function is executed by no test: idle::Pool::drain
Not measured  doc tests of mycrate: measured on request (--doc)
        Note  code layout not controlled in mycrate: the linker ld refuses: no
              such option
        Note  3 verdicts below 40 % rest on one layout: code placement alone can
              cause such a change
────────────
     Summary  2 slower, 1 faster, 1 unchanged (within ±10 %)  [prepare 0.4 s,
              build 12.1 s, measure 8.3 s]

"]],
    );
}

#[test]
fn verbose_lists_the_ten_tests_that_took_most_time() {
    let test = |n: usize| {
        let spent = Some(Spent { seconds: (n * 7 % 13) as f64, pairs: n });
        Outcome { spent, ..outcome(&format!("t{n}"), Verdict::Same, Some(measured(1e3, 0.0))) }
    };
    let mut all = run((0..13).map(test).collect());
    let lines = |run: &Run| -> Vec<String> {
        let report = without_escapes(&render(run, &TextOptions { detail: Detail::Full, ..WIDE }, Denied::default()));
        let lines = report.lines().skip_while(|line| !line.contains("Most time"));
        lines.take_while(|line| !line.contains('─')).map(|line| line.trim().to_owned()).collect()
    };
    let shown = lines(&all);
    assert_eq!((shown.len(), shown[0].as_str()), (10, "Most time  mycrate t11  12.0 s, 11 pairs"));
    assert_eq!((shown[1].as_str(), shown[9].as_str()), ("mycrate t9  11.0 s, 9 pairs", "mycrate t6  3.0 s, 6 pairs"));
    all.outcomes.iter_mut().for_each(|outcome| outcome.spent = None);
    assert!(lines(&all).is_empty());
}

#[test]
fn verbose_tells_everything_about_every_test() {
    let mut run = full();
    // One of each verdict is enough.
    run.outcomes.remove(5);
    run.outcomes.remove(1);
    check(
        &run,
        TextOptions { detail: Detail::Full, ..WIDE },
        str![[r"
   Comparing  main (3f2a91c) → working tree (8d01e7b + changes)
       Tests  412 found in 3 of 12 targets, 1 cannot have changed, 6 measured
        With  rustc 1.95.0, bench profile, x86_64-unknown-linux-gnu, core 1 of Xeon
      Layout  mycrate: not controlled
     Changes  changed Parser::line (src/parser.rs:88)
              changed Cargo.lock
────────────
      Slower  mycrate parser::tests::long    1.21 µs → 1.58 µs   +30.6 %  [+29.6 %, +31.6 %]
              p < 0.0001, Cohen's d 4.20 (large), 64 pairs, detectable 0.41 % (power 99 %), steady state
              selected: names changed Parser::line (src/parser.rs:88)
              note: its work differs from call to call
      Faster  mycrate cache::tests::first    2.05 ms → 1.56 ms   -24.0 %  [-25.0 %, -23.0 %]  (cold)
              p < 0.0001, Cohen's d 4.20 (large), 64 pairs, detectable 0.41 % (power 99 %), first call in a process
              selected: names changed Parser::line (src/parser.rs:88)
     Changed  mycrate parser::tests::short   95.0 ns → 98.9 ns    +4.1 %  [ +3.1 %,  +5.1 %]
              p < 0.0001, Cohen's d 4.20 (large), 64 pairs, detectable 0.41 % (power 99 %), steady state
              selected: names changed Parser::line (src/parser.rs:88)
Inconclusive  mycrate net::tests::roundtrip  48.3 µs → 49.8 µs    +3.1 %  [-14.2 %, +20.4 %]  too noisy for its budget (--per-test-budget)
              about 7 times as many pairs would settle it
              p < 0.0001, Cohen's d 4.20 (large), 64 pairs, detectable 0.41 % (power 99 %), steady state
              selected: names changed Parser::line (src/parser.rs:88)
   Unchanged  mycrate net::tests::handshake  51.2 µs → 51.7 µs   +0.90 %  [ -1.8 %,  +3.6 %]  within ±5 %: too noisy for its budget (--per-test-budget)
              p < 0.0001, Cohen's d 4.20 (large), 64 pairs, detectable 0.41 % (power 99 %), steady state
              selected: names changed Parser::line (src/parser.rs:88)
   Unchanged  mycrate parser::tests::empty    310 ns →  310 ns   +0.10 %  [-0.90 %,  +1.1 %]
              p < 0.0001, Cohen's d 4.20 (large), 64 pairs, detectable 0.41 % (power 99 %), steady state
              selected: names changed Parser::line (src/parser.rs:88)
   Unchanged  1 test (within ±5 %)
   Unchanged  1 test (within ±10 %)
     Program  mytool: typically unchanged, +0.20 % [-0.20 %, +0.60 %] over 240 tests that the change can reach
   Functions  1 changed function slower in the mean of several tests:
                Parser::skip: slower +1.9 % [+1.4 %, +2.4 %] in the mean of 2 of 31 tests  src/idle.rs:7
   Uncovered  1 changed function is executed by no test:
                idle::Pool::drain  src/idle.rs:7, no test can reach it
Not measured  1 test: fails on both: no network
                mycrate net::tests::dns
              1 test: ignored (measured with --run-ignored all)
                mycrate slow::tests::all
              doc tests of mycrate: measured on request (--doc)
        Note  code layout not controlled in mycrate: the linker ld refuses: no such option
        Note  2 verdicts below 40 % rest on one layout: code placement alone can cause such a change
   Most time  mycrate parser::tests::empty  1.5 s, 80 pairs
              mycrate parser::tests::long  1.5 s, 80 pairs
              mycrate cache::tests::first  1.5 s, 80 pairs
              mycrate parser::tests::short  1.5 s, 80 pairs
              mycrate net::tests::roundtrip  1.5 s, 80 pairs
              mycrate net::tests::handshake  1.5 s, 80 pairs
────────────
       Bound  4 of 7 tests are not slower by 10 % or more
     Summary  1 slower, 1 faster, 1 changed by less than 10 %, 2 unchanged (within ±5 % to ±10 %), 1 inconclusive, 2 not measured  [prepare 0.4 s, build 12.1 s, measure 8.3 s]

"]],
    );
}

#[test]
fn nothing_to_measure_is_a_calm_answer() {
    let mut nothing = run(Vec::new());
    nothing.selection.nothing_because = Some(NothingBecause::CommentsAndNotRead { files: 3 });
    nothing.selection.targets_reached = 0;
    nothing.stages.measure = std::time::Duration::ZERO;
    check(
        &nothing,
        WIDE,
        str![[r"
   Comparing  main (3f2a91c) → working tree (8d01e7b + changes)
       Tests  412 found in 0 of 12 targets, 0 measured
────────────
   Unchanged  0 of 412 tests can have changed: only comments, formatting and files that no build reads differ (3 files)
────────────
     Summary  nothing to measure  [prepare 0.4 s, build 12.1 s]

"]],
    );
    nothing.selection.found = 0;
    nothing.stages = Stages::default();
    check(
        &nothing,
        WIDE,
        str![[r"
   Comparing  main (3f2a91c) → working tree (8d01e7b + changes)
────────────
   Unchanged  no test in 12 targets can have changed: only comments, formatting and files that no build reads differ (3 files)
────────────
     Summary  nothing to measure

"]],
    );
}

#[test]
fn unaffected_tests_are_the_answer_if_the_others_are_not_measured() {
    let same = |name: &str| unmeasured(name, Some(Reason::SameExecutable));
    let ignored = |name: &str| unmeasured(name, Some(Reason::Ignored));
    let data = unmeasured("d", Some(Reason::DataChanged { path: "a.stderr".into() }));
    let mut run = run(vec![same("a"), same("b"), data, ignored("x"), ignored("y")]);
    run.selection.found = 5;
    check(
        &run,
        WIDE,
        str![[r"
   Comparing  main (3f2a91c) → working tree (8d01e7b + changes)
       Tests  5 found in 3 of 12 targets, 2 cannot have changed, 1 differs only in data files, 0 measured
────────────
   Unchanged  2 of 5 tests cannot have changed and 1 differs only in data files
Not measured  2 tests: ignored (measured with --run-ignored all)
                mycrate x, mycrate y
────────────
     Summary  2 cannot have changed, 1 differs only in data files, 2 not measured  [prepare 0.4 s, build 12.1 s, measure 8.3 s]

"]],
    );
    let headline = "2 of 5 tests cannot have changed and 1 differs only in data files; no other test was measured";
    for format in [Format::Markdown, Format::Html] {
        let page = crate::render(&run, format, &Rendering::default());
        assert!(page.contains(headline), "{page}");
    }
    let hook = crate::push::describe_pass("main", "origin/main", &run);
    let expected = "main: 2 of 5 tests cannot have changed and 1 differs only in data files; no other test was measured against origin/main";
    assert_eq!(hook, expected);
}

#[test]
fn an_interrupted_run_shows_what_it_has() {
    let mut run = run(vec![
        same("a", 0.0021),
        same("b", 0.031),
        same("c", 0.006),
        same("d", f64::NAN),
        unmeasured("e", Some(Reason::Interrupted)),
        unmeasured("f", Some(Reason::Interrupted)),
    ]);
    run.interrupted = true;
    run.warnings.push(Warning::Machine(Machine::OnlyOneCore));
    check(
        &run,
        WIDE,
        str![[r"
   Comparing  main (3f2a91c) → working tree (8d01e7b + changes)
       Tests  412 found in 3 of 12 targets, 4 measured
────────────
   Unchanged  4 tests (within ±10 %)
Not measured  2 tests: interrupted
                mycrate e, mycrate f
 Interrupted  stopped after 4 of 6 tests
     Warning  only one core is available; measuring takes longer for the same precision
────────────
     Summary  4 unchanged (within ±10 %), 2 not measured  [prepare 0.4 s, build 12.1 s, measure 8.3 s]

"]],
    );
}

#[test]
fn a_long_list_of_inconclusive_tests_is_cut_unless_verbose() {
    let noisy = |n: u32| {
        let figures = measured(1e3, 0.2 - f64::from(n) / 100.0);
        Outcome {
            reason: Some(Reason::NotConfirmed),
            ..outcome(&format!("t{n:02}"), Verdict::Inconclusive, Some(figures))
        }
    };
    let run = run((0..12).map(noisy).collect());
    check(
        &run,
        WIDE,
        str![[r"
   Comparing  main (3f2a91c) → working tree (8d01e7b + changes)
       Tests  412 found in 3 of 12 targets, 12 measured
────────────
Inconclusive  mycrate t00  1.00 µs → 1.20 µs   +20.0 %  [+19.0 %, +21.0 %]  a change was seen but not confirmed by fresh pairs
Inconclusive  mycrate t01  1.00 µs → 1.19 µs   +19.0 %  [+18.0 %, +20.0 %]  a change was seen but not confirmed by fresh pairs
Inconclusive  mycrate t02  1.00 µs → 1.18 µs   +18.0 %  [+17.0 %, +19.0 %]  a change was seen but not confirmed by fresh pairs
Inconclusive  mycrate t03  1.00 µs → 1.17 µs   +17.0 %  [+16.0 %, +18.0 %]  a change was seen but not confirmed by fresh pairs
Inconclusive  mycrate t04  1.00 µs → 1.16 µs   +16.0 %  [+15.0 %, +17.0 %]  a change was seen but not confirmed by fresh pairs
Inconclusive  mycrate t05  1.00 µs → 1.15 µs   +15.0 %  [+14.0 %, +16.0 %]  a change was seen but not confirmed by fresh pairs
Inconclusive  mycrate t06  1.00 µs → 1.14 µs   +14.0 %  [+13.0 %, +15.0 %]  a change was seen but not confirmed by fresh pairs
Inconclusive  mycrate t07  1.00 µs → 1.13 µs   +13.0 %  [+12.0 %, +14.0 %]  a change was seen but not confirmed by fresh pairs
Inconclusive  mycrate t08  1.00 µs → 1.12 µs   +12.0 %  [+11.0 %, +13.0 %]  a change was seen but not confirmed by fresh pairs
Inconclusive  mycrate t09  1.00 µs → 1.11 µs   +11.0 %  [+10.0 %, +12.0 %]  a change was seen but not confirmed by fresh pairs
              ... and 2 more (-v)
────────────
     Summary  12 inconclusive  [prepare 0.4 s, build 12.1 s, measure 8.3 s]

"]],
    );
    let text = without_escapes(&render(&run, &TextOptions { detail: Detail::Full, ..WIDE }, Denied::default()));
    assert_eq!(text.matches("Inconclusive  mycrate t").count(), 12);
    assert!(!text.contains("more (-v)"), "{text}");
}

#[test]
fn unchanged_tests_are_counted_by_the_bound_that_they_exclude() {
    let unchanged = |name: &str, threshold, slower| {
        let measured = Measured { threshold, detectable: 0.3, ..measured(310.0, 0.001) };
        let possible = Some(PossibleChange { slower, faster: 0.0 });
        Outcome { possible, ..outcome(name, Verdict::Same, Some(measured)) }
    };
    let tests = [("a", 0.01, 0.011), ("b", 0.034, 0.03), ("c", 0.05, 0.03), ("ns", 0.1605, 0.011)];
    let tests = tests.map(|(name, threshold, slower)| unchanged(name, threshold, slower));
    let mut run = run(tests.to_vec());
    run.threshold = "1%".parse().unwrap();
    run.stages = Stages { build: Duration::from_millis(1200), select: Duration::from_millis(20), ..Stages::default() };
    run.selection.targets_reached = run.selection.targets;
    let lines = |run: &Run| {
        let text = without_escapes(&render(run, &WIDE, Denied::default()));
        let lines = text.lines().filter(|line| !line.contains("Limits"));
        lines.skip(1).map(|line| line.trim().to_owned()).filter(|line| !line.contains('─')).collect::<Vec<_>>()
    };
    let expected = [
        "Tests  412 found in 12 targets, 4 measured",
        "Unchanged  2 tests (within ±2 %)",
        "Unchanged  2 tests (within ±5 %)",
        "Summary  4 unchanged (within ±2 % to ±5 %)  [build 1.2 s]",
    ];
    assert_eq!(lines(&run), expected);
    run.outcomes.extend([unchanged("d", 0.12, 0.11), unchanged("e", 0.154, 0.11)]);
    assert_eq!(lines(&run)[3], "Unchanged  2 tests (within ±12 % to ±16 %)");
}

#[test]
fn figures_that_are_no_numbers_do_not_break_the_page() {
    let broken = Measured { base_ns: f64::NAN, detectable: f64::NAN, ..measured(1e3, f64::NAN) };
    let mut run = run(vec![outcome("a", Verdict::Slower, Some(broken)), outcome("b", Verdict::Slower, None)]);
    run.outcomes[1].capture = Some(Capture::Runner);
    check(
        &run,
        WIDE,
        str![[r"
   Comparing  main (3f2a91c) → working tree (8d01e7b + changes)
       Tests  412 found in 3 of 12 targets, 2 measured
────────────
      Slower  mycrate a  ? → ?   ?  [?, ?]
      Slower  mycrate b
────────────
     Summary  2 slower  [prepare 0.4 s, build 12.1 s, measure 8.3 s]

"]],
    );
}

#[test]
fn a_typed_commit_is_not_repeated() {
    let mut run = run(Vec::new());
    run.base.label = run.base.commit[..9].to_owned();
    run.head.label = "HEAD".into();
    run.head.dirty = false;
    let text = without_escapes(&render(&run, &WIDE, Denied::default()));
    assert_eq!(text.lines().next(), Some("   Comparing  3f2a91c0d → HEAD (8d01e7b)"));
}

#[test]
fn the_summary_is_red_yellow_or_green() {
    let color = |run: &Run| {
        let text = render(run, &WIDE, Denied::default());
        let last = text.lines().last().unwrap_or_default();
        [("red", BAD), ("yellow", WARN), ("green", GOOD)]
            .into_iter()
            .find(|(_, style)| last.contains(&format!("{style}Summary{style:#}")))
            .map(|(name, _)| name)
    };
    let mut calm = run(vec![same("a", 0.01)]);
    assert_eq!(color(&full()), Some("red"));
    assert_eq!(color(&calm), Some("green"));
    calm.interrupted = true;
    assert_eq!(color(&calm), Some("yellow"));
}

/// A test that allocates more in as much time.
fn more_work(name: &str) -> Outcome {
    let mut outcome = same(name, 0.01);
    outcome.metrics.insert(Metric::Allocations, Ok(metered(MetricVerdict::More, 12.0, 18.0)));
    outcome.metrics.insert(Metric::PeakHeap, Ok(metered(MetricVerdict::Same, 80.0, 80.0)));
    outcome.metrics.insert(Metric::Instructions, Err(NotMetered::SwitchedOff));
    outcome.cross_check = Some(CrossCheck::WorkAlone(vec![Metric::Allocations]));
    outcome
}

#[test]
fn work_that_time_does_not_show_has_a_line_of_its_own() {
    let mut slower = outcome("a", Verdict::Slower, Some(measured(1e3, 0.5)));
    slower.metrics.insert(Metric::AllocatedBytes, Ok(metered(MetricVerdict::More, 640.0, 1280.0)));
    slower.cross_check = Some(CrossCheck::Suspect);
    let others = (0..7).map(|n| more_work(&format!("t{n}")));
    let mut run = run([slower].into_iter().chain(others).collect());
    check(
        &run,
        WIDE,
        str![[r"
   Comparing  main (3f2a91c) → working tree (8d01e7b + changes)
       Tests  412 found in 3 of 12 targets, 8 measured
────────────
      Slower  mycrate a  1.00 µs → 1.50 µs   +50.0 %  [+49.0 %, +51.0 %]
              bytes allocated 640 B → 1.25 KiB (+100.0 %)
              suspect: allocations and instructions are unchanged; possible causes are caches, branches, waiting, and code placement
   Unchanged  7 tests (within ±10 %)
   More work  mycrate t0: allocations 12 → 18 (+50.0 %), although its time changed by less than its threshold
   More work  mycrate t1: allocations 12 → 18 (+50.0 %), although its time changed by less than its threshold
   More work  mycrate t2: allocations 12 → 18 (+50.0 %), although its time changed by less than its threshold
   More work  mycrate t3: allocations 12 → 18 (+50.0 %), although its time changed by less than its threshold
   More work  mycrate t4: allocations 12 → 18 (+50.0 %), although its time changed by less than its threshold
              ... and 2 more (-v)
────────────
     Summary  1 slower, 7 unchanged (within ±10 %)  [prepare 0.4 s, build 12.1 s, measure 8.3 s]

"]],
    );
    run.outcomes.truncate(2);
    check(
        &run,
        TextOptions { detail: Detail::Full, ..WIDE },
        str![[r"
   Comparing  main (3f2a91c) → working tree (8d01e7b + changes)
       Tests  412 found in 3 of 12 targets, 2 measured
        With  rustc 1.95.0, bench profile, x86_64-unknown-linux-gnu, core 1 of Xeon
      Layout  mycrate: matched, 899 of 900 common functions at equal addresses, 2099 of 2100 constants and variables, 2 of 3 changed functions anchored; 14 of 15 loops of changed functions in place; 2.4 MB of code linked in 0.30 s
     Without  instructions: not requested
     Changes  changed Parser::line (src/parser.rs:88)
              changed Cargo.lock
────────────
      Slower  mycrate a   1.00 µs → 1.50 µs   +50.0 %  [+49.0 %, +51.0 %]
              p < 0.0001, Cohen's d 4.20 (large), 64 pairs, detectable 0.41 % (power 99 %), steady state
              metrics: bytes allocated 640 B → 1.25 KiB (+100.0 %)
              suspect: allocations and instructions are unchanged; possible causes are caches, branches, waiting, and code placement
              selected: names changed Parser::line (src/parser.rs:88)
   Unchanged  mycrate t0   310 ns →  310 ns   +0.10 %  [-0.90 %,  +1.1 %]
              p < 0.0001, Cohen's d 4.20 (large), 64 pairs, detectable 1.0 % (power 99 %), steady state
              metrics: allocations 12 → 18 (+50.0 %), peak heap 80 B
              warning: more allocations, although its time is about the same
              selected: names changed Parser::line (src/parser.rs:88)
   Unchanged  1 test (within ±10 %)
   Most time  mycrate a  1.5 s, 80 pairs
              mycrate t0  1.5 s, 80 pairs
────────────
     Summary  1 slower, 1 unchanged (within ±10 %)  [prepare 0.4 s, build 12.1 s, measure 8.3 s]

"]],
    );
}

#[test]
fn verdicts_by_other_metrics_than_time_are_not_called_slower() {
    let mut run = run(vec![
        Outcome { verdict: Verdict::Slower, ..more_work("a") },
        outcome("b", Verdict::ChangedBelowThreshold, Some(measured(1e3, 0.001))),
        same("c", 0.01),
    ]);
    run.gates = vec![Metric::Allocations, Metric::PeakHeap];
    check(
        &run,
        WIDE,
        str![[r"
   Comparing  main (3f2a91c) → working tree (8d01e7b + changes)
       Tests  412 found in 3 of 12 targets, 3 measured
────────────
       Worse  mycrate a  310 ns → 310 ns   +0.10 %  [-0.90 %, +1.1 %]
              allocations 12 → 18 (+50.0 %)
              warning: more allocations, although its time is about the same
     Changed  1 test by less than the threshold (-v)
   Unchanged  1 test (allocations, peak heap)
────────────
     Summary  1 worse, 1 changed by less than the threshold, 1 unchanged  [prepare 0.4 s, build 12.1 s, measure 8.3 s]

"]],
    );
}
