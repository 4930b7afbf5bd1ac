use super::*;
use perfunit_model::format::without_escapes;
use perfunit_model::samples::{base, changed_line, doctests, head, selection, test};
use perfunit_model::{
    ChangedFunction, ChangedPart, Effect, Irrelevance, NotCaptured, NothingBecause, SelectedBecause, TargetKind,
};
use serde_json::{Value, json};
use snapbox::{IntoData, assert_data_eq, str};

const WIDE: ListOptions<'static> =
    ListOptions { all: false, why: None, explain_none: false, width: 0, glyphs: Glyphs::Ascii };

fn list_test(name: &str, selected_because: Option<SelectedBecause>, reason: Option<Reason>) -> Listed {
    Listed {
        test: test(name),
        by_name: selected_because.is_some(),
        capture: Some(Capture::Macro),
        selected_because,
        why: None,
        reason,
    }
}

fn listing() -> Listing {
    let target = TargetId { package: "mycrate".into(), kind: TargetKind::Test, name: "api".into() };
    let names = SelectedBecause::Names { item: changed_line(), more: 0 };
    let between = vec!["Parser::parse".to_owned()];
    let calls = SelectedBecause::Through { item: changed_line(), between, is_call: true };
    let mut integration = list_test("roundtrip", Some(calls), None);
    integration.test.target = target;
    integration.capture = Some(Capture::Runner);
    let line = || "<mycrate::Parser>::line".to_owned();
    integration.why = Some(Why {
        path: vec!["api::roundtrip".to_owned(), line()],
        changed: vec![ChangedFunction { name: line(), data: Some("a constant".to_owned()) }],
        others: Vec::new(),
    });
    let mut lost = list_test("lexer::tests::tokio", None, Some(Reason::NotCaptured { why: NotCaptured::OtherMacro }));
    lost.capture = None;
    let mut selection = selection();
    selection.unmeasured_targets.push(doctests());
    let tests = vec![
        list_test("parser::tests::long", Some(names.clone()), None),
        integration,
        list_test("all", Some(names.clone()), Some(Reason::Ignored)),
        list_test("lexer::tests::tiny", None, None),
        lost,
    ];
    let kept = Sides { base: "sides/1".into(), head: "sides/2".into() };
    let seconds = ListSeconds { prepare: 0.5, build: 12.0, select: 0.25 };
    Listing {
        base: base(),
        head: head(),
        tests,
        selection,
        without: Vec::new(),
        kept: Some(kept),
        seeds: None,
        seconds,
    }
}

#[track_caller]
fn check(listing: &Listing, options: ListOptions<'_>, expected: impl IntoData) {
    assert_data_eq!(without_escapes(&text(listing, &options)), expected.raw());
}

#[test]
fn selected_tests_are_grouped_by_target_with_their_reason() {
    check(
        &listing(),
        WIDE,
        str![[r"
   Comparing  main (3f2a91c) -> working tree (8d01e7b + changes)

mycrate:
    parser::tests::long  names changed Parser::line (src/parser.rs:88)
    all                  names changed Parser::line (src/parser.rs:88)  [ignored (measured with --run-ignored all)]

mycrate::api:
    roundtrip            calls changed Parser::line (src/parser.rs:88) through Parser::parse

Not measured  doc tests of mycrate: measured on request (--doc)
     Summary  3 of 412 tests can have changed, in 3 of 12 targets

"]],
    );
}

#[test]
fn all_shows_every_test_and_how_it_was_captured() {
    check(
        &listing(),
        ListOptions { all: true, glyphs: Glyphs::Unicode, ..WIDE },
        str![[r"
   Comparing  main (3f2a91c) → working tree (8d01e7b + changes)

mycrate:
    macro    parser::tests::long  names changed Parser::line (src/parser.rs:88)
    macro    all                  names changed Parser::line (src/parser.rs:88)  [ignored (measured with --run-ignored all)]
    macro    lexer::tests::tiny   cannot have changed
    -        lexer::tests::tokio  [not captured: defined by another macro, and this toolchain or crate does not support our test runner]

mycrate::api:
    runner   roundtrip            calls changed Parser::line (src/parser.rs:88) through Parser::parse

Not measured  doc tests of mycrate: measured on request (--doc)
     Summary  3 of 412 tests can have changed, in 3 of 12 targets

"]],
    );
}

#[test]
fn reasons_wrap_in_their_column_or_go_below_the_name() {
    let mut listing = listing();
    listing.tests.truncate(2);
    listing.selection.unmeasured_targets.clear();
    check(
        &listing,
        ListOptions { width: 60, ..WIDE },
        str![[r"
   Comparing  main (3f2a91c) -> working tree (8d01e7b +
              changes)

mycrate:
    parser::tests::long  names changed Parser::line
                         (src/parser.rs:88)

mycrate::api:
    roundtrip            calls changed Parser::line
                         (src/parser.rs:88) through
                         Parser::parse

     Summary  2 of 412 tests can have changed, in 3 of 12
              targets

"]],
    );
    listing.tests.truncate(1);
    check(
        &listing,
        ListOptions { width: 56, ..WIDE },
        str![[r"
   Comparing  main (3f2a91c) -> working tree (8d01e7b +
              changes)

mycrate:
    parser::tests::long
        names changed Parser::line (src/parser.rs:88)

     Summary  1 of 412 tests can have changed, in 3 of
              12 targets

"]],
    );
}

#[test]
fn an_empty_list_says_why() {
    let mut listing = listing();
    listing.tests.clear();
    listing.selection.unmeasured_targets.clear();
    listing.selection.nothing_because = Some(NothingBecause::Comments { files: 3 });
    check(
        &listing,
        WIDE,
        str![[r"
   Comparing  main (3f2a91c) -> working tree (8d01e7b + changes)

     Summary  0 of 412 tests can have changed: only comments, documentation comments and formatting differ (3 files)

"]],
    );
    listing.selection.found = 0;
    check(
        &listing,
        WIDE,
        str![[r"
   Comparing  main (3f2a91c) -> working tree (8d01e7b + changes)

     Summary  no test can have changed: only comments, documentation comments and formatting differ (3 files)

"]],
    );
}

#[test]
fn tests_that_differ_only_in_data_files_are_counted_like_in_the_report() {
    let mut listing = listing();
    let data = || Some(Reason::DataChanged { path: "tests/ui/a.stderr".into() });
    listing.tests = vec![list_test("a", None, data()), list_test("b", None, data()), list_test("c", None, None)];
    listing.selection.unmeasured_targets.clear();
    check(
        &listing,
        WIDE,
        str![[r"
   Comparing  main (3f2a91c) -> working tree (8d01e7b + changes)

     Summary  0 of 412 tests can have changed, in 3 of 12 targets; 2 differ only in data files

"]],
    );
}

#[test]
fn the_json_form_has_every_test() {
    let listing = listing();
    let text = json(&listing);
    assert!(text.ends_with("\n}\n"));
    assert_eq!(serde_json::from_str::<ListDocument>(&text).unwrap(), ListDocument::from(&listing));
    let document: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((&document["schema_version"], document["tests"].as_array().unwrap().len()), (&json!(4), 5));
    assert_eq!(document["base"]["label"], "main");
    assert_eq!(document["selection"]["found"], 412);
    let integration = json!({
        "package": "mycrate", "target": "mycrate::api", "target_kind": "test", "name": "roundtrip", "selected": true,
        "selected_because": "calls changed Parser::line (src/parser.rs:88) through Parser::parse", "by_name": true, "capture": "runner",
        "reason": null, "why": {
            "path": ["api::roundtrip", "<mycrate::Parser>::line"],
            "changed": [{"name": "<mycrate::Parser>::line", "data": "a constant"}],
            "others": [],
        },
    });
    assert_eq!(document["tests"][1], integration);
    assert_eq!(document["kept"], json!({"base": "sides/1", "head": "sides/2"}));
    assert_eq!(document["seconds"], json!({"prepare": 0.5, "build": 12.0, "select": 0.25}));
    assert_eq!(document["tests"][4]["selected"], false);
    assert_eq!(document["tests"][4]["reason"]["kind"], "not-captured");
}

#[test]
fn why_shows_the_path_and_what_changed_and_the_stage_that_left_a_test_out() {
    let mut listing = listing();
    listing.tests[3].reason = Some(Reason::SameCode);
    check(
        &listing,
        ListOptions { why: Some("t"), ..WIDE },
        str![[r"
   Comparing  main (3f2a91c) -> working tree (8d01e7b + changes)

mycrate:
    parser::tests::long  names changed Parser::line (src/parser.rs:88)
    lexer::tests::tiny   [cannot have changed: all reachable machine code is identical]
    lexer::tests::tokio  [not captured: defined by another macro, and this toolchain or crate does not support our test runner]

mycrate::api:
    roundtrip            calls changed Parser::line (src/parser.rs:88) through Parser::parse
        path     api::roundtrip > <mycrate::Parser>::line
        changed  <mycrate::Parser>::line (through data that it uses: a constant)

Not measured  doc tests of mycrate: measured on request (--doc)
     Summary  3 of 412 tests can have changed, in 3 of 12 targets

"]],
    );
}

#[test]
fn when_nothing_is_selected_each_change_can_be_explained() {
    let mut listing = listing();
    listing.tests.clear();
    listing.selection.unmeasured_targets.clear();
    listing.selection.nothing_because = Some(NothingBecause::SameCode);
    let why = Irrelevance::OnlyCommentsOrFormatting;
    listing.selection.effects =
        vec![Effect::Irrelevant { path: "src/a.rs".into(), why }, Effect::NoTarget(ChangedPart::Item(changed_line()))];
    check(
        &listing,
        ListOptions { explain_none: true, ..WIDE },
        str![[r"
   Comparing  main (3f2a91c) -> working tree (8d01e7b + changes)

     Changes  src/a.rs: only comments, documentation or formatting differ
              changed Parser::line (src/parser.rs:88): no selected test target depends on it
     Summary  0 of 412 tests can have changed: no test can reach changed machine code

"]],
    );
}
