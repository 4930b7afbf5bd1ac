//! From a test's verdict to its result in the harness. Pure.

use super::tool::Listed;
use serde_json::Value;

/// JSON document of a run.
pub struct Verdicts {
    base: String,
    document: Value,
}

/// Result of a test.
#[derive(Debug, PartialEq, Eq)]
pub enum Answer {
    /// Not slower, as far as the measurement can tell; with an optional remark.
    Passed(Option<String>),
    /// Not measured, with the reason.
    NotMeasured(String),
    /// Slower, with the message to print.
    Slower(String),
}

impl Verdicts {
    /// Wraps the document of a comparison with `base`.
    pub fn new(base: &str, document: Value) -> Self {
        Self { base: base.to_owned(), document }
    }

    /// Returns the result of a test.
    pub fn of(&self, test: &Listed) -> Answer {
        let tests = self.document["tests"].as_array().map_or(&[][..], Vec::as_slice);
        let is_it = |found: &&Value| found["target"] == *test.target && found["name"] == *test.name;
        let Some(found) = tests.iter().find(is_it) else {
            return Answer::NotMeasured("cargo-perfunit no longer lists this test".to_owned());
        };
        let reason = found["reason"]["text"].as_str().unwrap_or("no reason was given").to_owned();
        match found["verdict"].as_str() {
            Some("slower") => {
                let (package, name, base) = (&found["package"], &test.name, &self.base);
                let package = package.as_str().unwrap_or_default();
                let why = format!("cargo perfunit diff {base} -p {package} --exact '{name}'");
                Answer::Slower(format!("{}\nresponsible functions: {why}", figures(found)))
            }
            Some(verdict @ ("faster" | "changed-below-threshold")) => {
                Answer::Passed(Some(format!("{}: {}", verdict.replace('-', " "), figures(found))))
            }
            Some("same") => Answer::Passed(None),
            Some("inconclusive") => Answer::Passed(Some(format!("inconclusive: {reason}; {}", figures(found)))),
            _ => Answer::NotMeasured(reason),
        }
    }
}

/// Formats times and change: `6.37 µs -> 142 µs, +2127.5 % [+2065.4 %, +2191.3 %]`.
fn figures(test: &Value) -> String {
    let percent = |value: &Value| value.as_f64().map_or("?".to_owned(), |part| format!("{:+.1} %", 100.0 * part));
    let [base, head] = [&test["base_ns"], &test["head_ns"]].map(duration);
    if let Some(ratio) = test["bound"]["ratio"].as_f64() {
        return format!("{base} -> {head}, at least x{:.1}", (ratio * 10.0).floor() / 10.0);
    }
    let [estimate, low, high] = ["estimate", "low", "high"].map(|name| percent(&test["change"][name]));
    format!("{base} -> {head}, {estimate} [{low}, {high}]")
}

fn duration(ns: &Value) -> String {
    let Some(ns) = ns.as_f64() else { return "?".to_owned() };
    let (value, unit) = match ns {
        ns if ns < 1e3 => (ns, "ns"),
        ns if ns < 1e6 => (ns / 1e3, "µs"),
        ns if ns < 1e9 => (ns / 1e6, "ms"),
        ns => (ns / 1e9, "s"),
    };
    let digits = if value < 10.0 { 2 } else { usize::from(value < 100.0) };
    format!("{value:.digits$} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[track_caller]
    fn check(verdict: &str, expected: &Answer) {
        let change = json!({"estimate": 0.5, "low": 0.25, "high": 0.75});
        let test = json!({
            "package": "demo", "target": "demo", "name": "a::b", "verdict": verdict, "change": change,
            "base_ns": 1234.5, "head_ns": 1.85e6, "reason": {"kind": "ignored", "text": "the reason"},
        });
        let verdicts = Verdicts::new("main", json!({ "tests": [test] }));
        let listed = |name: &str| Listed { target: "demo".to_owned(), name: name.to_owned() };
        assert_eq!(verdicts.of(&listed("a::b")), *expected);
        assert!(matches!(verdicts.of(&listed("a::c")), Answer::NotMeasured(_)));
    }

    #[test]
    fn only_what_got_slower_fails() {
        let figures = "1.23 µs -> 1.85 ms, +50.0 % [+25.0 %, +75.0 %]";
        let why = "cargo perfunit diff main -p demo --exact 'a::b'";
        check("slower", &Answer::Slower(format!("{figures}\nresponsible functions: {why}")));
        check("faster", &Answer::Passed(Some(format!("faster: {figures}"))));
        check("changed-below-threshold", &Answer::Passed(Some(format!("changed below threshold: {figures}"))));
        check("same", &Answer::Passed(None));
        check("inconclusive", &Answer::Passed(Some(format!("inconclusive: the reason; {figures}"))));
        check("not-measured", &Answer::NotMeasured("the reason".to_owned()));
        check("a word of the future", &Answer::NotMeasured("the reason".to_owned()));
    }

    #[test]
    fn of_single_calls_the_least_ratio_is_known() {
        let test = json!({"base_ns": 3e5, "head_ns": 2.5e9, "change": {"estimate": 8332.3, "low": 8332.3, "high": null},
            "bound": {"kind": "at-least", "ratio": 8333.39}});
        assert_eq!(figures(&test), "300 µs -> 2.50 s, at least x8333.3");
    }

    #[test]
    fn durations_have_three_digits() {
        let shown = [0.5, 12.34, 345.6, 2_000.0, 1e6, 99.94e6, 2.5e9].map(|ns| duration(&json!(ns)));
        assert_eq!(shown, ["0.50 ns", "12.3 ns", "346 ns", "2.00 µs", "1.00 ms", "99.9 ms", "2.50 s"]);
        assert_eq!(duration(&Value::Null), "?");
    }
}
