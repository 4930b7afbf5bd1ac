//! A run with everything that a report can show, rendered in each format. The expected files predate the shared
//! sections.

use crate::{Format, Rendering, TextOptions, render};
use perfunit_model::format::{Glyphs, without_escapes};
use perfunit_model::samples::{self, measured, outcome, run, unmeasured, whole};
use perfunit_model::{
    AcceptedLoss, CallFailure, ChangeKind, CodeChange, Denied, FailedOn, Failure, Function, GeneratedCalls, Generation,
    GrowthFinding, GrowthUnseen, Metric, MetricVerdict, Mode, NoVerdict, NotCaptured, NotCompared, NotGenerated,
    NotMetered, Note, Outcome, Ratchet, ReachedBy, Reason, Run, SelectedBecause, Sides, SystemCall, TestCodeItem,
    Uncovered, UncoveredBecause, UnseenBecause, Verdict, VersionName, Warning, Why, WithoutWorkload,
};
use serde_json::Value;
use snapbox::{assert_data_eq, file};
use std::collections::BTreeSet;

fn version() -> VersionName {
    VersionName {
        label: "v1.2.0".to_owned(),
        commit: "1f2a91c0d4e5f60718293a4b5c6d7e8f90a1b2c3".to_owned(),
        dirty: false,
    }
}
fn accept(mut outcome: Outcome) -> Outcome {
    let (test, reason, date) = (outcome.test.to_string(), "checks for overflow".into(), "2026-11-23".into());
    outcome.notes.push(Note::AcceptedLoss(AcceptedLoss { test, loss: 0.03, mode: Mode::Steady, reason, date }));
    outcome
}
fn reasons() -> Vec<Reason> {
    let fails = |side, intermittent, t: &str| Reason::Fails { side, how: Failure::Said(t.into()), intermittent };
    let sig = || Failure::Signal { number: 6, name: Some("SIGABRT".into()) };
    vec![
        fails(FailedOn::Head, false, "left\nright"),
        fails(FailedOn::Head, false, "@octocat `x`"),
        fails(FailedOn::Base, false, "b"),
        fails(FailedOn::Both, false, "no network"),
        fails(FailedOn::Head, true, "sometimes"),
        fails(FailedOn::Both, true, "sometimes"),
        Reason::Crashes { side: FailedOn::Head, how: sig(), intermittent: false },
        Reason::Crashes { side: FailedOn::Both, how: sig(), intermittent: false },
        Reason::Crashes { side: FailedOn::Both, how: sig(), intermittent: true },
        Reason::TimedOut { side: FailedOn::Head, seconds: 10.0, confirmed: true },
        Reason::TimedOut { side: FailedOn::Base, seconds: 10.0, confirmed: true },
        Reason::TimedOut { side: FailedOn::Both, seconds: 10.0, confirmed: false },
        Reason::TimedOut { side: FailedOn::Head, seconds: 10.5, confirmed: false },
        Reason::TooLong { seconds: 12.3, needed_seconds: 96.1, ns: None },
        Reason::TooLong { seconds: 0.5, needed_seconds: 96.1, ns: Some(Sides { base: 1e8, head: 5e9 }) },
        Reason::BudgetUsedUp,
        Reason::Interrupted,
        Reason::NotCaptured { why: NotCaptured::OtherMacro },
        Reason::NotCaptured { why: NotCaptured::NeverReached },
        Reason::TestChanged { item: TestCodeItem::Function("f".into()) },
        Reason::TestChanged { item: TestCodeItem::Doctest("g".into()) },
        Reason::New,
        Reason::Removed,
        Reason::FoldedAway { ns: 0.3 },
        Reason::FoldedAway { ns: 0.6 },
        Reason::RunsByClock,
        Reason::LostInStart { ns: 1e6 },
        Reason::LostInStart { ns: 2e6 },
        Reason::NotConfirmed,
        Reason::TooNoisy,
        Reason::MetricUnknown { metric: Metric::Instructions, why: NoVerdict::NotLookedAt },
        Reason::AsPlacesDo { seen: Verdict::Slower, instructions: Ok(MetricVerdict::Same) },
        Reason::AsPlacesDo { seen: Verdict::Faster, instructions: Err(NotMetered::SwitchedOff) },
        Reason::Ignored,
        Reason::Skipped { why: "a\nb".into(), place: "perfunit.toml".into() },
        Reason::Skipped { why: "c".into(), place: "perfunit.toml".into() },
        Reason::Filtered,
        Reason::OtherShard { shard: 2, shards: 3 },
        Reason::OtherShard { shard: 1, shards: 3 },
        Reason::DataChanged { path: "a.txt".into() },
        Reason::DataChanged { path: "b.txt".into() },
        Reason::SameExecutable,
        Reason::SameCode,
        Reason::NotExecuted { functions: 1, programs: Vec::new() },
        Reason::NotExecuted { functions: 2, programs: Vec::new() },
    ]
}
fn with_ratchet(mut run: Run) -> Run {
    let slower = |name| outcome(name, Verdict::Slower, Some(measured(1e3, 0.125)));
    let same = |name, change| outcome(name, Verdict::Same, Some(measured(1e3, change)));
    let mut second = vec![slower("a"), slower("b"), accept(slower("c")), accept(same("d", 0.03)), same("e", 0.0)];
    second.extend((0..12).map(|n| slower(&*format!("l{n}").leak())));
    second.push(unmeasured("z", Some(Reason::BudgetUsedUp)));
    second[1].explanation = whole().outcomes[2].explanation.clone();
    let second = Run { base: version(), outcomes: second, warnings: vec![Warning::WithoutRunner], ..run.clone() };
    run.ratchet = Some(Ratchet { version: version(), comparison: Ok(Box::new(second)) });
    run
}
fn with_generated(run_: Run, comparison: Option<Result<Box<Run>, NotCompared>>) -> Run {
    let how = CallFailure::LeavesCage { system_call: SystemCall::OpenFile };
    let function =
        |name: &str| Function { package: "mycrate".into(), file: "src/lib.rs".into(), line: 7, name: name.into() };
    let without = vec![WithoutWorkload { function: function("load"), because: NotGenerated::Fails { how } }];
    let workloads = ["sum_7_0_n256", "sum_7_1"].map(samples::workload).into();
    Run { generated: Some(GeneratedCalls { generation: Generation { workloads, without }, comparison }), ..run_ }
}
fn calls() -> Run {
    let slower = outcome("sum_7_0_n256", Verdict::Slower, Some(measured(1e3, 0.125)));
    let faster = outcome("sum_7_1", Verdict::Faster, Some(measured(1e3, -0.2)));
    run(vec![
        slower,
        faster,
        outcome("x", Verdict::Inconclusive, Some(measured(1e3, 0.0))),
        unmeasured("y", Some(Reason::RunsByClock)),
    ])
}
fn rich() -> Run {
    let mut run = whole();
    run.outcomes
        .extend(reasons().into_iter().enumerate().map(|(n, reason)| unmeasured(&format!("r::t{n}"), Some(reason))));
    let mut lost = unmeasured("lost", None);
    lost.selected_because = Some(SelectedBecause::Target(ReachedBy::Request));
    run.outcomes.push(lost);
    let mut prob = outcome("prob", Verdict::Inconclusive, Some(measured(1e3, 0.3)));
    prob.reason = Some(Reason::Unconfirmed { seen: Verdict::Slower });
    run.outcomes.push(prob);
    run.outcomes.extend(
        (0..13)
            .map(|n| outcome(&format!("many::s{n}"), Verdict::Slower, Some(measured(1e3, 0.2 + f64::from(n) / 50.0)))),
    );
    run.outcomes
        .extend((0..13).map(|n| {
            outcome(&format!("many::f{n}"), Verdict::Faster, Some(measured(1e3, -0.2 - f64::from(n) / 50.0)))
        }));
    let f = samples::uncovered();
    run.selection.uncovered = (0..13)
        .map(|n| Uncovered {
            function: Function { name: format!("u{n}"), line: n, ..f.function.clone() },
            because: if n == 3 { UncoveredBecause::NotMeasured } else { UncoveredBecause::NotExecuted },
        })
        .collect();
    run.selection.not_compiled =
        (0..12).map(|n| Function { name: format!("n{}", n / 2), line: n, ..f.function.clone() }).collect();
    let growth = run.growth.as_mut().unwrap();
    growth.findings = (0..12)
        .map(|n| GrowthFinding {
            function: Function { name: format!("g{n}"), ..f.function.clone() },
            ..growth.findings[0].clone()
        })
        .collect();
    growth.unseen = (0..7)
        .map(|n| GrowthUnseen {
            function: Function { name: format!("h{n}"), ..f.function.clone() },
            because: if n > 4 { UnseenBecause::Iterator } else { growth.unseen[0].because.clone() },
        })
        .collect();
    run.warnings.push(Warning::WithoutRunner);
    run.warnings.push(Warning::WithoutRunner);
    with_generated(with_ratchet(run), Some(Ok(Box::new(calls()))))
}

/// Denies everything.
const ALL: Denied = Denied {
    inconclusive: true,
    unconfirmed: true,
    uncovered: true,
    growth: true,
    functions: true,
    generated: true,
    nothing_measured: true,
};

fn render_rich(format: Format) -> String {
    let text = TextOptions { glyphs: Glyphs::Unicode, ..TextOptions::default() };
    without_escapes(&render(&rich(), format, &Rendering { text, denied: ALL, ..Rendering::default() }))
}

/// Replaces the texts at the places that a pattern names; numbers of list entries are not part of it.
fn replace(value: &mut Value, place: &str, pattern: &str, text: &str) {
    match value {
        Value::String(old) if place == pattern => text.clone_into(old),
        Value::Array(list) => list.iter_mut().for_each(|each| replace(each, &format!("{place}[]"), pattern, text)),
        Value::Object(map) => {
            map.iter_mut().for_each(|(key, each)| replace(each, &format!("{place}.{key}"), pattern, text));
        }
        _ => {}
    }
}

/// Adds the patterns of all texts.
fn patterns(value: &Value, place: &str, all: &mut BTreeSet<String>) {
    match value {
        Value::String(_) => {
            all.insert(place.to_owned());
        }
        Value::Array(list) => list.iter().for_each(|each| patterns(each, &format!("{place}[]"), all)),
        Value::Object(map) => map.iter().for_each(|(key, each)| patterns(each, &format!("{place}.{key}"), all)),
        _ => {}
    }
}

/// A saved run in which every text that can be another one is this text, and the number of places.
fn with_text_everywhere(text: &str) -> (Run, usize) {
    let mut value = serde_json::to_value(rich()).unwrap();
    let (mut all, mut replaced) = (BTreeSet::new(), 0);
    patterns(&value, "", &mut all);
    for pattern in all {
        let mut next = value.clone();
        replace(&mut next, "", &pattern, text);
        if next != value && serde_json::from_value::<Run>(next.clone()).is_ok() {
            (value, replaced) = (next, replaced + 1);
        }
    }
    (serde_json::from_value(value).unwrap(), replaced)
}

#[test]
fn no_text_of_a_saved_run_escapes_its_place() {
    let long = "x".repeat(10_000);
    for text in [
        "</code></td><script>alert(1)</script><img src=x onerror=alert(1)> @everyone #1 http://x.example www.x.example a@x.example",
        "` | [l](http://x.example) ![i](http://x.example/i.png) <a href=x> **b** </details>",
        "a\n\n# h\n\n| x |\n|---|\n::error::injected\r\n::set-output name=x::y%0A",
        "\u{1b}[31mred\u{1b}[0m \u{202e}reversed \u{7} \u{0}",
        "\\` `` ``` ~~~ &lt; ]]> --> $x$ :tada:",
        long.as_str(),
    ] {
        let (run, places) = with_text_everywhere(text);
        assert!(places > 60, "{places}");
        let rendered = |format| render(&run, format, &Rendering { denied: ALL, ..Rendering::default() });
        let page = rendered(Format::Markdown);
        assert!(page.len() < 65_536 && !page.contains(['\u{1b}', '\u{202e}', '\u{7}']), "{}", page.len());
        let mut options = comrak::Options::default();
        options.extension.table = true;
        options.extension.autolink = true;
        options.render.r#unsafe = true;
        let html = comrak::markdown_to_html(&page, &options);
        for tag in ["<script", "<img", "<a ", "<h1"] {
            assert!(!html.contains(tag), "{tag} from {text}: {html}");
        }
        assert_eq!(html.matches("<details>").count(), html.matches("</details>").count());
        assert_eq!(html.matches("<h3>").count(), 1, "{html}");
        // Mentions and references are inert in code spans and as numbers of characters.
        for line in page.lines().filter(|line| !line.contains("cargo ")) {
            let outside: String = line.split('`').step_by(2).collect();
            assert!(!outside.contains("@everyone") && !outside.contains(" #1"), "{line}");
        }
        // As GitHub shows it, without code.
        let shown: String = html.split("<code").map(|part| part.rsplit("</code>").next().unwrap()).collect();
        let shown = shown.split("<pre").next().unwrap();
        assert!(!shown.contains("@everyone") && !shown.contains(" #1") && !shown.contains("www."), "{shown}");
        for line in rendered(Format::Github).lines() {
            assert!(["::error ", "::warning ", "::notice "].iter().any(|level| line.starts_with(level)), "{line}");
        }
        let page = rendered(Format::Html);
        assert!(!page.contains("<script>alert") && !page.contains("<img src=x") && !page.contains('\u{202e}'));
        let short = rendered(Format::Short);
        assert!(!short.contains('\u{1b}') && short.lines().all(|line| line.len() < 2_000), "{short}");
        let shown = rendered(Format::Text);
        let odd: Vec<&str> = shown.lines().filter(|line| line.contains("\u{1b}[31mred")).collect();
        assert!(odd.is_empty(), "{odd:?}");
    }
}

#[test]
fn the_terminal_shows_all_sections() {
    assert_data_eq!(render_rich(Format::Text), file!["rich.txt"].raw());
}

#[test]
fn a_comment_shows_all_sections() {
    assert_data_eq!(render_rich(Format::Markdown), file!["rich.md"].raw());
}

#[test]
fn annotations_show_what_fails_and_what_has_no_test() {
    assert_data_eq!(render_rich(Format::Github), file!["rich.github.txt"].raw());
}

#[test]
fn test_results_have_a_suite_for_each_further_section() {
    let document = render_rich(Format::Junit);
    let (_, further) = document.split_once("<testsuite name=\"uncovered\"").unwrap();
    assert_data_eq!(further, file!["rich.junit.txt"].raw());
}

#[test]
fn a_page_shows_all_sections() {
    let page = render_rich(Format::Html);
    let (_, remarks) = page.split_once("<main>").unwrap();
    let (remarks, _) = remarks.split_once("<section aria-labelledby=\"tests-title\">").unwrap();
    let (_, below) = page.split_once("<h2 id=\"unmeasured-title\">").unwrap();
    let (below, _) = below.split_once("<section aria-labelledby=\"about-title\">").unwrap();
    assert_data_eq!(format!("{remarks}\n{below}"), file!["rich.html"].raw());
}

#[test]
fn the_only_change_is_named_for_a_single_test_too() {
    let change = CodeChange { change: ChangeKind::Changed, item: "busy".into(), path: "src/main.rs".into(), line: 1 };
    let why = Some(Why { path: Vec::new(), changed: Vec::new(), others: Vec::new() });
    let mut slower = run(vec![Outcome { why, ..outcome("a", Verdict::Slower, Some(measured(1e3, 0.5))) }]);
    let text = |run: &Run| without_escapes(&crate::text::render(run, &TextOptions::default(), Denied::default()));
    assert!(!text(&slower).contains("Responsible"));
    slower.selection.only_change = Some(change);
    let named = "Responsible  busy (src/main.rs:1), changed: 1 test slower, +50.0 %";
    assert!(text(&slower).contains(named), "{}", text(&slower));
    // The explanation of the only test says more.
    slower.outcomes[0].explanation = Some(samples::explanation());
    assert!(!text(&slower).contains("Responsible"));
}
