use super::*;

/// A workspace of three packages: `app` depends on `parser`, `derive` is a proc macro.
const METADATA: &str = include_str!("metadata.json");

const CALL: &str = "lines::perfunit_generated::long_7_0";

fn universe() -> Universe {
    Universe::new(METADATA).unwrap()
}

fn target(package: &str, kind: TargetKind, name: &str) -> TargetId {
    TargetId { package: package.to_owned(), kind, name: name.to_owned() }
}

fn tests() -> Vec<TestId> {
    [
        (target("parser", TargetKind::Lib, "parser"), "lines::long"),
        (target("parser", TargetKind::Test, "whole"), "files"),
        (target("app", TargetKind::Bin, "app"), "main::starts"),
        (target("derive", TargetKind::Lib, "derive"), "expands"),
        (target("parser", TargetKind::Lib, "parser"), CALL),
    ]
    .map(|(target, name)| TestId { target, name: name.to_owned() })
    .into()
}

#[track_caller]
fn check(text: &str, expected: &[&str]) {
    let universe = universe();
    let expression = universe.parse(text, "-E").unwrap();
    let tests = tests();
    let taken: Vec<&str> =
        tests.iter().filter(|test| universe.takes(&expression, test)).map(|test| test.name.as_str()).collect();
    assert_eq!(taken, expected);
    for test in &tests {
        let of_target = universe.takes_target(&expression, &test.target);
        assert!(of_target.is_none_or(|takes| takes == taken.contains(&test.name.as_str())), "{test}");
    }
}

#[test]
fn predicates_mean_what_they_mean_to_nextest() {
    check("all()", &["lines::long", "files", "main::starts", "expands", CALL]);
    check("none()", &[]);
    check("test(long)", &["lines::long", CALL]);
    check("test(=long)", &[]);
    check("test(/^(lines|main)::/)", &["lines::long", "main::starts", CALL]);
    check("test(#*s)", &["files", "main::starts", "expands"]);
    check("package(parser)", &["lines::long", "files", CALL]);
    check("package(#*r*) - kind(test)", &["lines::long", "expands", CALL]);
    check("binary(whole)", &["files"]);
    check("binary_id(parser)", &["lines::long", CALL]);
    check("binary_id(app::bin/app)", &["main::starts"]);
    check("kind(lib)", &["lines::long"]);
    check("kind(generated)", &[CALL]);
    check("test(long) - kind(generated)", &["lines::long"]);
    check("kind(proc-macro) | kind(bin)", &["main::starts", "expands"]);
    check("platform(host)", &["expands"]);
    check("not package(parser) and test(~s)", &["main::starts", "expands"]);
}

#[test]
fn dependencies_are_followed_in_both_directions() {
    check("deps(app)", &["lines::long", "files", "main::starts", CALL]);
    check("rdeps(parser)", &["lines::long", "files", "main::starts", CALL]);
    check("rdeps(app)", &["main::starts"]);
    assert!(needs_dependencies("all() & rdeps(parser)") && !needs_dependencies("package(parser)"));
}

#[test]
fn the_default_filter_has_a_name() {
    let mut universe = universe();
    universe.parse_default("package(parser)", "default-filter").unwrap();
    let expression = universe.parse("default() & not test(long)", "-E").unwrap();
    let tests = tests();
    let taken: Vec<_> = tests.iter().filter(|test| universe.takes(&expression, test)).collect();
    assert_eq!(taken, [&tests[1]]);
}

#[test]
fn a_target_that_the_graph_does_not_know_still_has_a_name() {
    let universe = universe();
    let test = TestId { target: target("gone", TargetKind::Lib, "gone"), name: "tests::old".to_owned() };
    let takes = |text: &str| universe.takes(&universe.parse(text, "-E").unwrap(), &test);
    assert!(takes("test(old)") && takes("kind(lib)") && !takes("package(parser)"));
}

#[track_caller]
fn check_refusal(text: &str, words: &[&str]) {
    let error = universe().parse(text, "-E").unwrap_err().to_string();
    let missing: Vec<_> =
        ["hint: ", "-E, column "].iter().chain(words).filter(|word| !error.contains(**word)).collect();
    assert!(missing.is_empty(), "without {missing:?}:\n{error}");
}

#[test]
fn errors_show_the_place_and_what_may_be_meant() {
    check_refusal("package(parsr)", &["column 9", "any packages", "^^^^^", "did you mean parser?"]);
    check_refusal("deps(nothing_like_it)", &["the packages are app, derive, parser"]);
    check_refusal("binary(whol)", &["did you mean whole?"]);
    check_refusal("binary_id(parser::whol)", &["did you mean parser::whole?"]);
    check_refusal("test(long) & tset(short)", &["column 14", "did you mean test?"]);
    check_refusal("test(/(/)", &["invalid regex", "unclosed group"]);
    check_refusal("test(a) && test(b)", &["column 9", "write `&` or `and`"]);
    check_refusal("test(a) AND test(b)", &["column 9"]);
    check_refusal("test(long", &["expected close parenthesis"]);
    check_refusal("group(serial)", &["group(..) refers to nextest's configuration"]);
    check_refusal("", &["an expression consists of"]);
    check_refusal("test(ä) & nope(x)", &["column 11"]);
}

#[test]
fn a_default_filter_cannot_mean_itself() {
    let error = universe().parse_default("default() - test(x)", ".config/perfunit.toml:3").unwrap_err().to_string();
    assert!(
        error.starts_with(".config/perfunit.toml:3, column ") && error.contains("cannot refer to itself"),
        "{error}"
    );
}
