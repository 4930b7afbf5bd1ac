use super::*;
use crate::html::page::tests::assert_well_formed;
use perfunit_decide::effect_size;
use perfunit_model::samples::started_by_many;
use perfunit_model::{
    Change, Commit, Entry, HistorySource, Metric, Mode, Point, Skipped, Step, StepFigures, StepOutcome, StepTest,
    TargetId, TargetKind, TestId,
};
use std::collections::BTreeSet;

fn commit(index: usize, subject: &str, tag: Option<&str>) -> Commit {
    let tags = tag.map(str::to_owned).into_iter().collect();
    Commit { id: format!("{index:040x}"), subject: subject.to_owned(), seconds: 1_700_000_000, tags }
}

fn moved_test(name: &str, verdict: Verdict, estimate: f64) -> StepTest {
    let target = TargetId { package: "p".to_owned(), kind: TargetKind::Lib, name: "p".to_owned() };
    let change = Change { estimate, low: estimate - 0.01, high: estimate + 0.01 };
    let figures = StepFigures {
        change,
        base_ns: 1e3,
        head_ns: 1e3 * (1.0 + estimate),
        mode: Mode::Steady,
        effect: effect_size(0.6),
    };
    let function = Some(format!("{name}::function"));
    let test = TestId { target, name: name.to_owned() };
    StepTest {
        test,
        verdict,
        reason: None,
        figures: Some(figures),
        function,
        test_code: None,
        metrics: vec![Metric::Time],
    }
}

fn compared_outcome(tests: Vec<StepTest>) -> StepOutcome {
    let nothing_because = None;
    StepOutcome::Compared(Step {
        base: "0".to_owned(),
        found: 9,
        selected: tests.len(),
        nothing_because,
        tests,
        programs: vec![started_by_many(0.002)],
        unlisted: BTreeSet::new(),
        alpha: 0.001,
        seconds: 1.0,
        machine: "a processor".to_owned(),
    })
}

/// Builds a history of four commits. The first makes a test slower, and the third cannot be compared.
fn history(name: &str) -> (History, Vec<Course>) {
    let outcomes = [
        compared_outcome(vec![moved_test(name, Verdict::Slower, 0.2)]),
        compared_outcome(Vec::new()),
        StepOutcome::Skipped(Skipped::DoesNotBuild { error: name.to_owned() }),
        compared_outcome(vec![moved_test(name, Verdict::Faster, -0.1)]),
    ];
    let entries = outcomes.into_iter().enumerate().map(|(index, outcome)| {
        let commit = commit(index + 1, name, (index == 1).then_some("v1.1"));
        Entry { commit, outcome }
    });
    let history = History {
        base: commit(0, "First", Some("v1.0")),
        entries: entries.collect(),
        spans: Vec::new(),
        left_out: 0,
        note: None,
        source: HistorySource::Comparisons,
        interrupted: false,
    };
    let at = |ratio: f64, moved, is_known| Point {
        ratio,
        low: ratio - 0.01,
        high: ratio + 0.01,
        moved,
        is_known,
        is_anchored: false,
    };
    let points = vec![
        at(1.2, Some(Verdict::Slower), true),
        at(1.2, None, true),
        at(1.2, None, false),
        at(1.08, Some(Verdict::Faster), true),
    ];
    let courses = vec![Course { test: moved_test(name, Verdict::Slower, 0.2).test, points, anchors: Vec::new() }];
    (history, courses)
}

fn page(name: &str) -> String {
    let (history, courses) = history(name);
    render(&history, &courses, &HtmlOptions::default())
}

#[test]
fn the_page_has_courses_releases_and_every_commit_and_no_script() {
    let page = page("tests::long");
    assert_well_formed(&page);
    assert!(page.contains("<h1 class=\"slower\">1 of 4 commits made tests slower</h1>"), "{page}");
    assert_eq!(page.matches("<circle").count(), 2);
    assert_eq!(page.matches("class=\"release\"").count(), 2);
    assert!(page.contains(">v1.0</text>") && page.contains(">v1.1</text>"), "{page}");
    assert_eq!(page.matches("<tr").count(), 5);
    assert!(page.contains("× Skipped") && page.contains("does not build: tests::long"), "{page}");
    assert!(page.contains("<code>mytool</code> typically unchanged, +0.20 %"), "{page}");
    assert!(page.contains("▼ -10.0 %") && page.contains("tests::long::function"), "{page}");
    for foreign in ["<script", "http:", "https:", "src=", "@import", "url("] {
        assert!(!page.contains(foreign), "{foreign}");
    }
    // Each step links to the row of its commit.
    let anchor = format!("c-{:.12}", commit(4, "", None).id);
    assert!(page.contains(&format!("href=\"#{anchor}\"")) && page.contains(&format!("id=\"{anchor}\"")), "{page}");
}

#[test]
fn names_and_messages_cannot_break_the_page() {
    let page = page("</style><script>alert(1)</script>&\u{0}\u{1b}[2J\u{202e}");
    assert_well_formed(&page);
    assert!(!page.contains("<script") && !page.contains(|c: char| c.is_control() && c != '\n'));
}

#[test]
fn courses_are_drawn_while_there_is_room() {
    let (history, courses) = history("tests::long");
    let courses = vec![courses[0].clone(); 500];
    let most_bytes = 100_000;
    let page = render(&history, &courses, &HtmlOptions { most_bytes, ..HtmlOptions::default() });
    assert!(page.len() < most_bytes + 40_000, "{}", page.len());
    assert!(page.contains("with smaller changes"), "{page}");
    assert_eq!(render(&history, &[], &HtmlOptions::default()).matches("<svg").count(), 0);
}

fn point(ratio: f64) -> Point {
    Point { ratio, low: ratio - 0.01, high: ratio + 0.01, ..Point::START }
}

#[test]
fn a_course_is_drawn_in_steps_with_corners_only_where_it_changes() {
    let axis = Axis::around([0.0, 1.0]).unwrap();
    let (low, high) = (format!("{:.1}", height(&axis, 1.0)), format!("{:.1}", height(&axis, 2.0)));
    let points = [point(1.0), point(2.0), point(2.0), point(2.0)];
    assert_eq!(line(&points, &axis), format!("M0.0 {low}L500.0 {low}L500.0 {high}L1000.0 {high}"));
    assert!(height(&axis, 2.0) < height(&axis, 1.0), "slower is higher");
    assert_eq!(band(&points, &axis).matches('L').count(), 11);
}
