use super::*;
use perfunit_model::samples::{explanation, full, growth, measured, open_within, outcome, run, unmeasured};
use perfunit_model::{
    ChangedPart, Denied, ExplanationNote, Measured, Metric, Note, NothingBecause, Outcome, ReachedBy, SelectedBecause,
    Side, Threshold, Warning,
};

/// Elements of the page that have no end tag.
const VOID: [&str; 2] = ["meta", "input"];

/// Returns the page without styles and scripts.
fn markup_of(page: &str) -> String {
    let mut rest = page.replace("<!DOCTYPE html>", "");
    for tag in ["style", "script"] {
        let (open, close) = (format!("<{tag}>"), format!("</{tag}>"));
        while let Some((before, inside)) = rest.split_once(&open) {
            rest = format!("{before}{}", inside.split_once(&close).unwrap().1);
        }
    }
    rest
}

/// Checks that every element is closed by its own name, attributes are quoted, and no `<` or `&` stands alone.
#[track_caller]
pub fn assert_well_formed(page: &str) {
    let text = markup_of(page);
    let mut open = Vec::new();
    let mut rest = text.as_str();
    while let Some((before, tag)) = rest.split_once('<') {
        assert!(!before.contains('>'), "a stray > in {before}");
        for entity in before.split('&').skip(1) {
            assert!(["amp;", "lt;", "gt;", "quot;", "#39;"].iter().any(|known| entity.starts_with(known)), "&{entity}");
        }
        let (tag, after) = tag.split_once('>').expect("a tag that ends");
        assert_eq!(tag.matches('"').count() % 2, 0, "an open quote in <{tag}>");
        match tag.strip_prefix('/') {
            Some(name) => assert_eq!(open.pop(), Some(name), "closed by </{name}>"),
            None => open.extend(tag.split(' ').next().filter(|name| !VOID.contains(name))),
        }
        rest = after;
    }
    assert!(open.is_empty(), "left open: {open:?}");
}

fn page(run: &Run) -> String {
    render(run, &HtmlOptions::default())
}

#[test]
fn the_page_is_well_formed_and_stands_alone() {
    let mut run = full();
    run.outcomes[0].explanation = Some(explanation());
    let page = page(&run);
    assert_well_formed(&page);
    for foreign in ["http:", "https:", "//", "src=", "@import", "url("] {
        assert!(!markup_of(&page).contains(foreign), "{foreign} leads out of the page");
    }
    assert!(!STYLE.contains("url(") && !STYLE.contains("@import") && !SCRIPT.contains("fetch("));
}

#[test]
fn names_and_messages_cannot_break_the_page() {
    let hostile = "</script><script>alert(1)</script><img src=x onerror='alert(\"2\")'>&lt;\u{0}\u{1b}[2J\u{202e}";
    let mut run = full();
    for outcome in &mut run.outcomes {
        outcome.test.name = hostile.into();
        outcome.test.target.package = hostile.into();
        outcome.selected_because = Some(SelectedBecause::Target(ReachedBy::File { path: hostile.into() }));
        outcome.notes = vec![Note::OwnThreshold { threshold: Threshold::default(), from: hostile.into() }];
    }
    let mut told = explanation();
    told.functions[1].name = hostile.into();
    told.functions[1].file = hostile.into();
    told.notes = vec![ExplanationNote::UnknownInstructions { side: Side::Head, why: hostile.into() }];
    run.outcomes[0].explanation = Some(told);
    run.base.label = hostile.into();
    run.warnings = vec![Warning::NothingMoreExplained { why: hostile.into() }];
    run.environment.cpu = hostile.into();
    run.selection.changes = vec![ChangedPart::File(hostile.into())];
    let page = page(&run);
    assert_well_formed(&page);
    assert_eq!(page.matches("<script>").count(), 2);
    assert_eq!(page.matches("<img").count(), 0);
    assert!(!page.contains(|c: char| c.is_control() && c != '\n'));
}

#[test]
fn the_style_and_the_script_end_where_they_should() {
    assert!(!STYLE.contains("</") && !SCRIPT.contains("</"));
}

#[test]
fn thousands_of_tests_fit() {
    let outcomes = (0..5_000).map(|index| unmeasured(&format!("module::submodule::tests::case_{index}"), None));
    let page = page(&run(outcomes.collect()));
    assert!(page.len() < 2_000_000, "{} bytes", page.len());
    assert_eq!(page.matches("<tbody").count(), 5_000);
}

#[test]
fn an_empty_run_is_a_page_without_a_table() {
    let page = page(&run(Vec::new()));
    assert_well_formed(&page);
    assert!(page.contains("No test could be measured") && !page.contains("<table"));
}

#[track_caller]
fn check(outcomes: Vec<Outcome>, expected: &str) {
    assert_eq!(of(&run(outcomes), Denied::default()), expected);
}

fn of(run: &Run, denied: Denied) -> String {
    headline(run, &Sections::of(run, denied), Conclusion::of(run, denied))
}

#[test]
fn the_headline_is_the_answer() {
    let figures = || Some(measured(1e3, 0.3));
    check(vec![], "No test could be measured");
    check(vec![outcome("a", Verdict::Same, figures())], "No test got slower or faster");
    check(vec![outcome("a", Verdict::Inconclusive, figures())], "No test got slower or faster, 1 inconclusive");
    check(vec![outcome("a", Verdict::Slower, figures())], "1 test got slower");
    let mut gated = run(vec![outcome("a", Verdict::Slower, figures())]);
    gated.gates = vec![Metric::Allocations];
    assert_eq!(of(&gated, Denied::default()), "1 test got worse");
    let mut nothing = run(vec![]);
    nothing.selection.nothing_because = Some(NothingBecause::Comments { files: 3 });
    assert_eq!(of(&nothing, Denied::default()), "No test can have changed");
    let grows = Run { growth: Some(growth()), ..run(vec![outcome("a", Verdict::Same, figures())]) };
    assert_eq!(of(&grows, Denied::default()), "No test got slower or faster");
    let denied = Denied { growth: true, ..Denied::default() };
    let said = "No test got slower or faster; work grows faster with the length of an input in 1 function";
    assert_eq!(of(&grows, denied), said);
    assert!(
        header(&grows, &Sections::of(&grows, denied), Conclusion::of(&grows, denied)).0.contains("h1 class=\"slower\"")
    );
}

#[test]
fn what_could_not_have_shown_the_change_stands_in_front() {
    let cold = Measured { threshold: 0.3, ..measured(1e3, 0.0) };
    let run = run(vec![outcome("a", Verdict::Same, Some(cold))]);
    let page = header(&run, &Sections::of(&run, Denied::default()), Conclusion::Passed);
    assert!(page.0.contains("1 of 1 test could not have detected a change of 10 %"));
}

#[test]
fn circumstances_leave_out_what_is_not_known() {
    let text = about(&full()).0;
    assert!(text.contains("<dd>412 found in 3 of 12 targets, 8 measured</dd>"), "{text}");
    assert!(text.contains("<dt>Stages</dt><dd>prepare 0.4 s, build 12.1 s, measure 8.3 s</dd>"), "{text}");
    assert!(text.contains("mycrate: not controlled (the linker ld refuses: no such option)"), "{text}");
    assert!(!text.contains("Their effects") && !text.contains("Not available"), "{text}");
}

#[test]
fn remarks_are_only_there_where_there_are_some() {
    assert!(remarks(&Sections::of(&run(vec![]), Denied::default())).0.is_empty());
    let text = remarks(&Sections::of(&full(), Denied::default())).0;
    assert!(
        text.contains("<b>Note</b>: code layout not controlled in mycrate: the linker ld refuses: no such option"),
        "{text}"
    );
}

#[test]
fn tests_within_a_bound_have_a_count_a_filter_and_a_part_of_the_headline() {
    let page = |run: &Run| header(run, &Sections::of(run, Denied::default()), Conclusion::Passed).0;
    let full = full();
    let text = page(&full);
    assert!(text.contains("≤ <b>1</b> unchanged (within ±5 %)") && text.contains("? <b>1</b> inconclusive"), "{text}");
    let filter = filter(&full).0;
    assert!(filter.contains("value=\"within\" checked") && filter.contains("≤ Unchanged (wider bound)"), "{filter}");
    let text = page(&run(vec![open_within("a", 1e3, -0.02, 0.04)]));
    assert!(text.contains("<h1>No test got slower or faster</h1><p class=\"excluded\">1 of 1 measured test is not slower by 5 % or more"), "{text}");
    let text = page(&run(vec![open_within("a", 1e3, -0.02, 0.3)]));
    assert!(text.contains("<h1>No test got slower or faster, 1 inconclusive</h1>"), "{text}");
}

#[test]
fn commands_between_backticks_are_code() {
    assert_eq!(with_code("see `a <b>` and `c`").0, "see <code>a &lt;b&gt;</code> and <code>c</code>");
    assert_eq!(with_code("a ` alone").0, "a ` alone");
}
