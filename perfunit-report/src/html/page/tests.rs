use super::*;
use perfunit_model::samples::{explanation, full, run, unmeasured};
use perfunit_model::{ChangedPart, ExplanationNote, Note, ReachedBy, SelectedBecause, Side, Threshold, Warning};

/// Elements without an end, of those that the page has.
const VOID: [&str; 2] = ["meta", "input"];

/// The page without what is not markup.
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

/// Every element is closed by its own name, attributes are quoted, and no `<` or `&` stands alone.
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
    assert!(page.contains("No test was measured") && !page.contains("<table"));
}
