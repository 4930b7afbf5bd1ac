//! Growth of functions' work with the length of their input: JSON form and wording.

use super::wire::{Interval, Test, finite};
use perfunit_model as model;
use perfunit_model::format::{count, one_line};
use perfunit_model::{Function, GrowthFinding, Sides};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Exponents that differ by less than this do not describe the change.
const APART: f64 = 0.25;
/// Functions named per reason.
const NAMED: usize = 5;

/// Growth of functions' work.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Growth {
    /// Functions with work that grows with a larger power of a length than on base, the largest ratio first.
    pub findings: Vec<Finding>,
    /// Functions that were compared at lengths over four octaves.
    pub compared: usize,
    /// Changed functions without a result.
    pub unseen: Vec<Unseen>,
    /// Tests without counters for their functions.
    pub not_counted: Vec<TestNotCounted>,
}

/// A function with work that grows with a larger power of a length than on base.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// The function.
    #[serde(flatten)]
    pub function: Function,
    /// The argument with this length.
    pub argument: String,
    /// Exponent of the work as a function of the length, for each version.
    pub exponent: Sides<Interval>,
    /// Exponent of the term that head's work has and base's does not.
    pub added: Interval,
    /// The largest length that was seen in both versions.
    pub length: u64,
    /// Head's work at this length, as a multiple of base's.
    pub ratio: Option<f64>,
    /// Work of a call at this length, in basic blocks.
    pub work: Sides<Option<f64>>,
    /// The finding in words.
    pub text: String,
}

/// A changed function without a result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Unseen {
    /// The function and the reason.
    #[serde(flatten)]
    pub unseen: model::GrowthUnseen,
    /// The reason in words.
    pub text: String,
}

/// A test without counters for its functions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TestNotCounted {
    /// The test.
    #[serde(flatten)]
    pub test: Test,
    /// The reason in words.
    pub text: String,
}

/// Workloads that differ by a number in their names and take time that grows with a larger power of it than on base.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Scaling {
    /// Package name.
    pub package: String,
    /// The target, as in `tests`.
    pub target: String,
    /// Their common name, with `*` in place of the number.
    pub name: String,
    /// Exponent of the time as a function of the number, for each version.
    pub exponent: Sides<Interval>,
    /// The largest number.
    pub largest: u64,
    /// Head's time at the largest number, as a multiple of base's.
    pub ratio: Option<f64>,
    /// Time at the largest number, in nanoseconds.
    pub ns: Sides<Option<f64>>,
    /// The finding in words.
    pub text: String,
}

impl From<&model::Scaling> for Scaling {
    fn from(scaling: &model::Scaling) -> Self {
        Self {
            package: scaling.target.package.clone(),
            target: scaling.target.to_string(),
            name: scaling.name.clone(),
            exponent: scaling.exponent.map(Interval::from),
            largest: scaling.largest,
            ratio: finite(scaling.ratio),
            ns: scaling.ns.map(finite),
            text: describe_scaling(scaling),
        }
    }
}

impl From<&model::Growth> for Growth {
    fn from(growth: &model::Growth) -> Self {
        let unseen = |unseen: &model::GrowthUnseen| Unseen { unseen: unseen.clone(), text: unseen.because.to_string() };
        Self {
            findings: growth.findings.iter().map(Finding::from).collect(),
            compared: growth.compared.len(),
            unseen: growth.unseen.iter().map(unseen).collect(),
            not_counted: growth
                .not_counted
                .iter()
                .map(|(test, why)| TestNotCounted { test: Test::from(test), text: why.to_string() })
                .collect(),
        }
    }
}

impl From<&GrowthFinding> for Finding {
    fn from(finding: &GrowthFinding) -> Self {
        Self {
            function: finding.function.clone(),
            argument: finding.argument.clone(),
            exponent: finding.exponent.map(Interval::from),
            added: Interval::from(finding.added),
            length: finding.length,
            ratio: finite(finding.ratio),
            work: finding.work.map(finite),
            text: said(finding),
        }
    }
}

/// Describes how the work of a function grows.
pub fn said(finding: &GrowthFinding) -> String {
    let Sides { base, head } = finding.exponent.map(|exponent| exponent.estimate);
    let how = if head >= base + APART {
        format!("work grows as {}, was {}", power(head), power(base))
    } else {
        format!("a term that grows as {} was added to {}", power(finding.added.estimate), power(base))
    };
    let argument = one_line(&finding.argument);
    format!("{how}: {} times as much at n = {} (length of `{argument}`)", times(finding.ratio), finding.length)
}

/// Describes how the time of a workload with a parameter grows.
pub fn describe_scaling(scaling: &model::Scaling) -> String {
    let Sides { base, head } = scaling.exponent.map(|exponent| power(exponent.estimate));
    format!("time grows as {head} instead of {base}: {} times as long at {}", times(scaling.ratio), scaling.largest)
}

fn power(exponent: f64) -> String {
    if exponent < 0.05 { "constant".to_owned() } else { format!("n^{exponent:.1}") }
}

fn times(ratio: f64) -> String {
    if ratio < 10.0 { format!("{ratio:.1}") } else { format!("{ratio:.0}") }
}

/// Lists the changed functions and tests without a known growth, by reason.
pub fn unknown(growth: &model::Growth) -> Vec<String> {
    let mut functions: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for unseen in &growth.unseen {
        functions.entry(unseen.because.to_string()).or_default().push(&unseen.function.name);
    }
    let mut tests: BTreeMap<String, usize> = BTreeMap::new();
    for (_, why) in &growth.not_counted {
        *tests.entry(why.to_string()).or_default() += 1;
    }
    let named = functions.into_iter().map(|(why, names)| {
        let more = names.len().saturating_sub(NAMED);
        let more = if more > 0 { format!(", ... and {more} more") } else { String::new() };
        format!("{}{more}: {why}", names[..names.len().min(NAMED)].join(", "))
    });
    named.chain(tests.into_iter().map(|(why, tests)| format!("{}: {why}", count(tests, "test")))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::Detail;
    use crate::sections::{Kind, place};
    use crate::text::plain_text;
    use perfunit_model::{GrowthUnseen, NotCounted, Run, UnseenBecause, samples};

    fn finding() -> GrowthFinding {
        samples::growth().findings.remove(0)
    }

    #[track_caller]
    fn check(growth: model::Growth, expected: &str) {
        let run = Run { growth: Some(growth), ..samples::run(Vec::new()) };
        assert_eq!(plain_text(&run, &[Kind::Scaling, Kind::Growth], Detail::Brief), expected);
    }

    #[test]
    fn findings_say_what_grew_and_where() {
        let place = place(&finding().function);
        let growth =
            model::Growth { findings: vec![finding()], compared: samples::functions(12), ..model::Growth::default() };
        let expected = "      Growth  Work grows faster with the length of an input in 1 function:
                Parser::parse: work grows as n^2.1, was n^1.0: 31 times as much at n = 300 (length of `input`)  PLACE
";
        check(growth, &expected.replace("PLACE", &place));
    }

    #[test]
    fn without_findings_it_is_said_how_much_was_compared() {
        check(
            model::Growth { compared: samples::functions(12), ..model::Growth::default() },
            "      Growth  work grows as before in 12 functions\n",
        );
        check(model::Growth::default(), "      Growth  no function was called with lengths over four octaves\n");
        let late = vec![(samples::test("t"), NotCounted::OwnHarness)];
        check(
            model::Growth { not_counted: late, ..model::Growth::default() },
            "      Growth  whether work grows as before is known of no function
                not known: 1 test: it has its own test harness
",
        );
        let because = UnseenBecause::Unclear { argument: "text".into(), length: 300, base: 900, head: 9000 };
        let unseen = vec![GrowthUnseen { function: finding().function, because }];
        check(
            model::Growth { unseen, ..model::Growth::default() },
            "      Growth  whether work grows as before is known of no function
                not known: Parser::parse: 9000 basic blocks instead of 900 where the length of `text` is 300, and a larger part at larger lengths, but by no clear law
",
        );
    }

    #[test]
    fn what_is_not_known_is_grouped_by_its_reason() {
        let function = finding().function;
        let unseen = |name: &str, because| GrowthUnseen {
            function: Function { name: name.into(), ..function.clone() },
            because,
        };
        let narrow = UnseenBecause::NarrowLengths { argument: "text".into(), from: 3, to: 40 };
        let growth = model::Growth {
            unseen: vec![
                unseen("a", UnseenBecause::Iterator),
                unseen("b", narrow),
                unseen("c", UnseenBecause::Iterator),
            ],
            not_counted: vec![(samples::test("t"), NotCounted::OwnHarness)],
            compared: samples::functions(1),
            ..model::Growth::default()
        };
        check(
            growth,
            "      Growth  work grows as before in 1 function
                not known: b: lengths of `text` from 3 to 40 are too few or too close: six from 4 on are needed, the largest 16 times the smallest
                not known: a, c: returns an iterator, which does the work later
                not known: 1 test: it has its own test harness
",
        );
    }

    #[test]
    fn a_term_that_is_light_yet_is_said_to_be_added() {
        let exponent = Sides { head: model::Exponent { estimate: 1.2, low: 1.1, high: 1.3 }, ..finding().exponent };
        let said = said(&GrowthFinding { exponent, ratio: 1.26, ..finding() });
        assert!(
            said.starts_with("a term that grows as n^2.2 was added to n^1.0: 1.3 times as much at n = 300"),
            "{said}"
        );
    }

    #[test]
    fn what_did_not_grow_at_all_has_no_exponent() {
        let finding = GrowthFinding {
            exponent: Sides { base: model::Exponent { estimate: 0.0, low: 0.0, high: 0.0 }, ..finding().exponent },
            ratio: 4.26,
            ..finding()
        };
        assert!(
            said(&finding).starts_with("work grows as n^2.1, was constant: 4.3 times as much at n = 300"),
            "{}",
            said(&finding)
        );
    }

    #[test]
    fn a_series_of_workloads_says_how_its_time_grows() {
        let said = describe_scaling(&samples::scaling());
        assert_eq!(said, "time grows as n^2.0 instead of n^1.1: 310 times as long at 4096");
    }
}
