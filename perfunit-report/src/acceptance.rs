//! Words and wire types of slowdowns that are accepted on purpose.

use super::wire::finite;
use perfunit_model as model;
use perfunit_model::{AcceptedIn, Allowance, Coverage, Outcome, ProgramChange, Run, Verdict};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Says what is accepted of a test that got slower, and why that is not enough if it is not.
pub fn said(outcome: &Outcome, run: &Run) -> Option<String> {
    run.acceptance(outcome).filter(|_| outcome.verdict == Verdict::Slower).map(describe)
}

/// Says what is accepted of a program that got slower.
pub fn said_of_program(program: &ProgramChange, run: &Run) -> Option<String> {
    run.acceptance_of_program(program).map(describe)
}

fn describe((allowance, coverage): (Allowance<'_>, Coverage)) -> String {
    match coverage {
        Coverage::Covered => format!("accepted {allowance}"),
        Coverage::Larger => format!("accepted only {allowance}"),
        Coverage::FirstCallLarger => format!("its first call got slower by more than is accepted, {allowance}"),
        Coverage::OtherMetrics => format!("only a slowdown in time is accepted, {allowance}"),
        Coverage::SizeUnknown => format!("not accepted, because its size is not known: {allowance}"),
    }
}

/// The slowdown that is accepted of a test or a program.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Accepted {
    /// The largest accepted slowdown, as a fraction of base.
    pub at_most: Option<f64>,
    /// Whether the slowdown is accepted, or why not: `covered`, `larger`, `first-call-larger`, `other-metrics` or
    /// `size-unknown`.
    pub coverage: Coverage,
    /// What accepts it. The parts of several commits add up.
    pub by: Vec<By>,
}

/// A part of the slowdown that is accepted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct By {
    /// The test, function or program that is named, or `*`.
    pub name: String,
    /// As a fraction of base.
    pub at_most: Option<f64>,
    pub reason: String,
    /// The commit whose trailer it is; null for an entry of the configuration.
    pub commit: Option<String>,
    /// The place of an entry of the configuration.
    pub place: Option<String>,
    /// The last day on which an entry of the configuration counts.
    pub until: Option<String>,
}

impl Accepted {
    /// Returns what is accepted of a test that got slower.
    pub fn of(outcome: &Outcome, run: &Run) -> Option<Self> {
        run.acceptance(outcome).filter(|_| outcome.verdict == Verdict::Slower).map(Self::from)
    }
}

impl From<(Allowance<'_>, Coverage)> for Accepted {
    fn from((allowance, coverage): (Allowance<'_>, Coverage)) -> Self {
        let by = allowance.by.into_iter().map(By::from).collect();
        Self { at_most: finite(allowance.at_most), coverage, by }
    }
}

impl From<&model::Acceptance> for By {
    fn from(acceptance: &model::Acceptance) -> Self {
        let (commit, place, until) = match &acceptance.from {
            AcceptedIn::Commit { id, .. } => (Some(id.clone()), None, None),
            AcceptedIn::Configuration { place, until } => (None, Some(place.clone()), Some(until.clone())),
        };
        let (name, reason) = (acceptance.name.clone(), acceptance.reason.clone());
        Self { name, at_most: finite(acceptance.at_most), reason, commit, place, until }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sections::{Kind, Sections};
    use crate::{Format, Rendering, TextOptions, WhenFine, html, json, junit, markdown, push, render, text};
    use perfunit_model::format::without_escapes;
    use perfunit_model::samples::{measured, outcome, run};
    use perfunit_model::{Acceptance, Conclusion, Denied, Metric, MetricVerdict, samples};

    fn slower(name: &str, change: f64) -> Outcome {
        outcome(name, Verdict::Slower, Some(measured(1e3, change)))
    }

    fn accept(text: &str) -> Acceptance {
        let id = "3f2a91c0d4e5f60718293a4b5c6d7e8f90a1b2c3".to_owned();
        Acceptance::parse(text, AcceptedIn::Commit { id, step: 0 }).unwrap()
    }

    /// One slowdown is accepted; the second one is larger than what is accepted, unless it is left out.
    fn accepting(with_larger: bool) -> Run {
        let mut outcomes =
            vec![slower("a", 0.125), slower("b", 0.25), outcome("c", Verdict::Same, Some(measured(1e3, 0.0)))];
        if !with_larger {
            outcomes.remove(1);
        }
        let acceptances = ["a <= 15% because it checks for overflow", "b <= 15% because of that, too"].map(accept);
        Run { acceptances: acceptances.to_vec(), ..run(outcomes) }
    }

    #[test]
    fn a_slowdown_says_what_is_accepted_of_it() {
        let mut run = accepting(true);
        let said_of = |run: &Run, index: usize| said(&run.outcomes[index], run);
        assert_eq!(said_of(&run, 0).unwrap(), "accepted up to 15 %: it checks for overflow (3f2a91c)");
        assert_eq!(said_of(&run, 1).unwrap(), "accepted only up to 15 %: of that, too (3f2a91c)");
        assert_eq!(said_of(&run, 2), None);
        run.gates = vec![Metric::Time, Metric::Allocations];
        run.outcomes[0].metrics.insert(Metric::Allocations, Ok(samples::metered(MetricVerdict::More, 10.0, 12.0)));
        let time = "only a slowdown in time is accepted, up to 15 %: it checks for overflow (3f2a91c)";
        assert_eq!(said_of(&run, 0).unwrap(), time);
    }

    #[test]
    fn all_formats_show_an_accepted_slowdown_with_its_reason_and_no_failure() {
        let (run, rendering) = (accepting(false), Rendering::default());
        assert_eq!(Conclusion::of(&run, rendering.denied), Conclusion::Passed);
        let shown = without_escapes(&text::render(&run, &TextOptions::default(), rendering.denied));
        let row = "Accepted  mycrate a  1.00 us -> 1.12 us   +12.5 %  [+11.5 %, +13.5 %]  accepted up to 15 %: it checks for overflow (3f2a91c)";
        assert!(shown.contains(row) && !shown.contains("Slower"), "{shown}");
        assert!(shown.contains("Summary  1 accepted, "), "{shown}");
        let page = markdown::render(&run, &Rendering { when_fine: WhenFine::Silent, ..rendering });
        assert!(page.contains("### 1 test slower, accepted\n"), "{page}");
        assert!(page.contains("| accepted | change |") && page.contains("it checks for overflow (3f2a91c)"), "{page}");
        let github = render(&run, Format::Github, &rendering);
        assert!(github.starts_with("::notice title=1 test slower%2C accepted::mycrate a: +12.5 %25"), "{github}");
        let outputs = crate::github::outputs(&run, Conclusion::Passed, None);
        assert!(outputs.starts_with("verdict=accepted\nslower=0\naccepted=1\n"), "{outputs}");
        assert!(junit::render(&run, rendering.denied).contains("failures=\"0\""));
        let page = html::render(&run, &html::HtmlOptions::default());
        assert!(page.contains("<tbody class=\"accepted\"") && page.contains("it checks for overflow"), "{page}");
        let passed = push::describe_pass("main", "v1", &run);
        assert!(passed.contains("none slower, 1 slower and accepted"), "{passed}");
        let document: serde_json::Value = serde_json::from_str(&json::render(&run)).unwrap();
        assert_eq!(
            (&document["summary"]["accepted"], &document["summary"]["verdicts"]["slower"]),
            (&1.into(), &1.into())
        );
        let accepted = &document["tests"][0]["accepted"];
        assert_eq!((&accepted["coverage"], &accepted["at_most"]), (&"covered".into(), &0.15.into()));
        assert_eq!(accepted["by"][0]["reason"], "it checks for overflow");
        assert_eq!(document["tests"][1]["accepted"], serde_json::Value::Null);
    }

    #[test]
    fn a_larger_slowdown_stays_one_in_all_formats() {
        let (run, rendering) = (accepting(true), Rendering::default());
        assert_eq!(Conclusion::of(&run, rendering.denied), Conclusion::Slower);
        let shown = without_escapes(&text::render(&run, &TextOptions::default(), rendering.denied));
        assert!(shown.contains("Slower  mycrate b ") && shown.contains("1 slower, 1 accepted"), "{shown}");
        assert!(shown.contains("accepted only up to 15 %"), "{shown}");
        let page = markdown::render(&run, &rendering);
        assert!(page.contains("### 1 test got slower, 1 test slower, accepted\n"), "{page}");
        let outputs = crate::github::outputs(&run, Conclusion::Slower, None);
        assert!(outputs.starts_with("verdict=slower\nslower=1\naccepted=1\n"), "{outputs}");
        assert!(junit::render(&run, rendering.denied).contains("failures=\"1\""));
        let blocked = push::describe_block("main", "v1", &run, (Conclusion::Slower, Denied::default()));
        assert_eq!(blocked, "push of main blocked: 1 test slower than at v1: mycrate b");
        let sections = Sections::of(&run, rendering.denied);
        assert_eq!((sections.items(Kind::Accepted).len(), sections.items(Kind::Tests(Verdict::Slower)).len()), (1, 1));
    }

    #[test]
    fn hostile_reasons_stay_in_their_place() {
        let reason =
            "\u{1b}[31mred\u{1b}[0m <script>alert(1)</script> | `code` @everyone #1 [x](http://a) ::error::x%0A & ";
        let text = format!("a <= 15% because {reason}{}", "long ".repeat(2_000));
        let run = Run { acceptances: vec![accept(&text)], ..run(vec![slower("a", 0.125)]) };
        let page = markdown::render(&run, &Rendering::default());
        let table: Vec<&str> = page.lines().filter(|line| line.starts_with("| `mycrate a`")).collect();
        assert_eq!(table.len(), 1, "{page}");
        assert_eq!(table[0].matches('|').count(), 7, "{page}");
        for odd in ["<script", "](http", "@everyone", "\u{1b}"] {
            assert!(!page.contains(odd), "{odd}: {page}");
        }
        assert!(page.len() < 4_000, "{}", page.len());
        let notice = render(&run, Format::Github, &Rendering::default());
        assert_eq!(notice.lines().count(), 1, "{notice}");
        assert!(!notice.contains('\u{1b}') && notice.contains("%250A"), "{notice}");
        let shown = text::render(&run, &TextOptions::default(), Denied::default());
        assert!(!shown.contains("\u{1b}[31mred") && shown.contains("red <script>"), "{shown}");
        let html = html::render(&run, &html::HtmlOptions::default());
        assert!(!html.contains("<script>alert(1)") && html.contains("&lt;script&gt;alert(1)"), "{html}");
    }
}
