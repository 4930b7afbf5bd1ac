//! How many tests there are of each kind: the same numbers in all reports.

use super::unmeasured::{is_filtered, is_unaffected};
use perfunit_model::{Run, Verdict};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Tests without a figure, by what that means. They add up to the tests that are `not-measured`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Unmeasured {
    /// Could have changed, and were not measured.
    pub not_measured: usize,
    /// Left out by a filter of the command line or of the configuration.
    pub skipped_by_filter: usize,
    /// Cannot have changed, or do not execute what changed.
    pub unaffected: usize,
    /// For other shards to measure.
    pub other_shards: usize,
}

impl Unmeasured {
    pub fn of(run: &Run) -> Self {
        let mut counts = Self::default();
        for outcome in run.outcomes.iter().filter(|outcome| outcome.verdict == Verdict::NotMeasured) {
            *match outcome {
                outcome if outcome.is_of_other_shard() => &mut counts.other_shards,
                outcome if is_filtered(outcome) => &mut counts.skipped_by_filter,
                outcome if is_unaffected(outcome) => &mut counts.unaffected,
                _ => &mut counts.not_measured,
            } += 1;
        }
        counts
    }

    /// Those that a summary has besides the verdicts, in words.
    pub fn others(self) -> impl Iterator<Item = (usize, &'static str)> {
        let others = [(self.skipped_by_filter, "skipped by filter"), (self.other_shards, "for other shards")];
        others.into_iter().filter(|(tests, _)| *tests > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Format, Rendering, render};
    use perfunit_model::format::without_escapes;
    use perfunit_model::samples::{measured, outcome, run, unmeasured};
    use perfunit_model::{Reason, variant_name};

    /// Tests of each kind, and how many of them.
    fn of_each_kind() -> Run {
        let figures = || Some(measured(1e3, 0.3));
        let mut outcomes = vec![
            outcome("slower", Verdict::Slower, figures()),
            outcome("open", Verdict::Inconclusive, figures()),
            outcome("same", Verdict::Same, Some(measured(1e3, 0.0))),
        ];
        let reasons = [
            (2, Reason::Ignored),
            (3, Reason::Filtered),
            (4, Reason::SameCode),
            (5, Reason::OtherShard { shard: 2, shards: 3 }),
        ];
        for (tests, reason) in reasons {
            outcomes.extend(
                (0..tests).map(|n| unmeasured(&format!("{}{n}", variant_name(reason.kind())), Some(reason.clone()))),
            );
        }
        run(outcomes)
    }

    #[test]
    fn all_formats_have_the_same_numbers() {
        let run = of_each_kind();
        let text = |format| without_escapes(&render(&run, format, &Rendering::default()));
        let summary = text(Format::Text);
        let summary = summary.lines().last().unwrap();
        let words = "1 slower, 0 faster, 0 changed below 10 %, 1 same, 1 inconclusive, 2 not measured, 3 skipped by filter, 5 for other shards";
        assert!(summary.contains(words), "{summary}");
        let page = text(Format::Markdown);
        assert!(
            page.contains("1 same, 1 inconclusive, 2 not measured, 3 skipped by filter, 5 for other shards"),
            "{page}"
        );
        let page = text(Format::Html);
        for (tests, kind) in [(2, "not measured"), (3, "skipped by filter"), (4, "unaffected"), (5, "for other shards")]
        {
            assert!(page.contains(&format!("<b>{tests}</b> {kind}")), "{kind}");
        }
        let document: serde_json::Value = serde_json::from_str(&text(Format::Json)).unwrap();
        let unmeasured = serde_json::json!({
            "not_measured": 2, "skipped_by_filter": 3, "unaffected": 4, "other_shards": 5,
        });
        let summary = &document["summary"];
        assert_eq!(
            (&summary["unmeasured"], &summary["verdicts"]["not-measured"]),
            (&unmeasured, &serde_json::json!(14))
        );
        let junit = text(Format::Junit);
        assert!(junit.contains("skipped=\"14\"") && junit.contains("failures=\"1\""), "{junit}");
    }
}
