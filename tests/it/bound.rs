//! Versions that are too slow for pairs, and tests that fail only on head: their reports and explanations.

use crate::support::Project;
use serde_json::Value;

/// Returns a library with a function that takes this many milliseconds and returns `answer`.
fn source(milliseconds: u64, answer: u32) -> String {
    format!(
        r"
pub fn work() {{
    rest();
}}

fn rest() {{
    std::thread::sleep(std::time::Duration::from_millis({milliseconds}));
}}

pub fn answer() -> u32 {{
    {answer}
}}

#[cfg(test)]
mod tests {{
    #[test]
    fn works() {{
        super::work();
    }}

    #[test]
    fn knows() {{
        assert_eq!(super::answer(), 42);
    }}
}}
"
    )
}

fn test<'a>(document: &'a Value, name: &str) -> &'a Value {
    document["tests"].as_array().unwrap().iter().find(|test| test["name"] == name).unwrap()
}

#[test]
fn a_call_that_does_not_end_is_slower_and_unexplained_in_every_format() {
    let project = Project::library(&source(1, 42), &source(3_600_000, 42));
    let run = project.perfunit(["diff", "HEAD~1", "--timeout", "2s", "--per-test-budget", "4s"]).expect(100);
    for part in
        ["Slower  sample tests::works", "> 1.00 s", "at least x", "not explained: calls were stopped after 1.0 s"]
    {
        assert!(run.stdout.contains(part), "no `{part}` in\n{}", run.stdout);
    }
    let report = |format: &str| project.perfunit(["report", "--format", format]).expect(0);
    let document = report("json").json();
    let works = test(&document, "tests::works");
    assert_eq!((works["verdict"].as_str(), works["bound"]["kind"].as_str()), (Some("slower"), Some("at-least")));
    assert_eq!((&works["head_ns"], &works["change"]["high"]), (&Value::from(1e9), &Value::Null));
    assert_eq!(
        (works["change"]["low"].as_f64(), &works["explanation"]),
        (works["change"]["estimate"].as_f64(), &Value::Null)
    );
    assert!(works["unexplained_because"].as_str().unwrap().contains("stopped"), "{works}");
    for format in ["text", "markdown", "html", "junit", "github"] {
        let text = report(format).stdout;
        assert!(text.contains("at least x"), "{format}: {text}");
    }
    let figures = report("bmf").json();
    assert_eq!(figures["sample tests::works"]["latency"]["value"], Value::from(1e9));
}

#[test]
fn a_test_that_became_very_long_has_an_explanation_or_a_reason() {
    let project = Project::library(&source(1, 42), &source(600, 42));
    let explained = || {
        let run = project.diff(&["--explain", "always"]);
        test(&run.expect(100).json(), "tests::works").clone()
    };
    let works = explained();
    assert_eq!((works["verdict"].as_str(), works["mode"].as_str()), (Some("slower"), Some("steady")));
    let explanation = &works["explanation"];
    let first =
        explanation["responsible"][0]["function"].as_u64().unwrap_or_else(|| panic!("no function is named: {works}"));
    assert_eq!(explanation["functions"][first as usize]["name"], "rest");
    assert_eq!(works["unexplained_because"], Value::Null);

    project.write("src/lib.rs", source(2_000, 42));
    let works = explained();
    assert_eq!((works["verdict"].as_str(), &works["explanation"]), (Some("slower"), &Value::Null));
    assert!(works["unexplained_because"].as_str().unwrap().contains("a pair of calls takes 2.0 s"), "{works}");
}

#[test]
fn tests_that_fail_only_on_head_come_first_in_every_format() {
    let project = Project::library(&source(1, 42), &source(1, 54));
    let run = project.perfunit(["diff", "HEAD~1"]).expect(104);
    let headline = "1 test passes on base and fails on head";
    let (failing, summary) = (run.stdout.find(headline).unwrap(), run.stdout.find("Summary").unwrap());
    assert!(failing < summary && !run.stdout.contains("Not measured  1 test"), "{}", run.stdout);
    assert!(run.stdout[failing..summary].contains("sample tests::knows"), "{}", run.stdout);
    for format in ["markdown", "html", "github"] {
        let text = project.perfunit(["report", "--format", format]).expect(0).stdout;
        assert!(text.contains(headline) && text.contains("tests::knows"), "{format}: {text}");
    }
    let junit = project.perfunit(["report", "--format", "junit"]).expect(0).stdout;
    assert!(junit.contains("failures=\"1\""), "{junit}");
    let document = project.perfunit(["report", "--format", "json"]).expect(0).json();
    assert_eq!(document["summary"]["failing_on_head"], 1);

    // In the other direction no test is left to measure.
    let repaired = project.perfunit(["diff", "HEAD..HEAD~1"]).expect(103);
    assert!(repaired.stdout.contains("fails on base") && !repaired.stdout.contains(headline), "{}", repaired.stdout);
}

#[test]
fn a_hang_on_head_is_a_failure_if_single_calls_would_take_too_long() {
    // At least five calls of head and nine of base, within 2 s; each call of head takes as long as several of base.
    let project = Project::library(&source(400, 42), &source(3_600_000, 42));
    let diff = ["diff", "HEAD~1", "--timeout", "2s", "--per-test-budget", "1s"];
    let run = project.perfunit(diff).expect(104);
    assert!(run.stdout.contains("1 test passes on base and fails on head"), "{}", run.stdout);
    assert!(run.stdout.contains("sample tests::works  times out after 2 s (--timeout)"), "{}", run.stdout);
    // If a call of base takes almost as long, the outcome is unknown.
    let run = project.perfunit(["diff", "HEAD~1", "--timeout", "600ms", "--per-test-budget", "1s"]).expect(0);
    assert!(run.stdout.contains("timed out after 0.6 s on head"), "{}", run.stdout);
}

#[test]
fn a_hang_on_head_stays_slower_if_only_test_code_changed_too() {
    let changed = |milliseconds, answer: u32| {
        let test = format!("#[test]\n    fn works() {{\n        let answer = {answer};\n        assert!(answer > 0);");
        source(milliseconds, 42).replace("#[test]\n    fn works() {", &test)
    };
    // The new part of the test does not build with base.
    let head = changed(3_600_000, 1).replace("assert!(answer > 0)", "assert!(super::answer_of(answer) > 0)");
    let head = format!("pub fn answer_of(seed: u32) -> u32 {{ seed }}\n{head}");
    let project = Project::library(&changed(1, 1), &head);
    let run = project.perfunit(["diff", "HEAD~1", "--timeout", "2s", "--per-test-budget", "4s"]).expect(100);
    let document = project.perfunit(["report", "--format", "json"]).expect(0).json();
    let works = test(&document, "tests::works");
    assert_eq!((works["verdict"].as_str(), works["bound"]["kind"].as_str()), (Some("slower"), Some("at-least")));
    assert!(run.stdout.contains("Slower"), "{}", run.stdout);
}
