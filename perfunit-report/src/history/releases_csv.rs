//! Releases as a table: a row for each test of each comparison, and one for a comparison without any.

use super::commit::{name_in_full, skipped};
use super::csv::quoted;
use super::releases::test_code;
use perfunit_model::{Release, Releases, StepOutcome, StepTest, variant_name};

const HEADING: &str = "release,against,outcome,package,target,test,test_code,metrics,estimate,low,high,effect,verdict,\
                       reason,function,commits\n";

/// Comma-separated values as RFC 4180 has them, with a heading. Changes are fractions; commits are those that moved the
/// test, as far as they were looked at.
pub fn render(releases: &Releases) -> String {
    let mut text = HEADING.to_owned();
    for release in &releases.releases {
        let mut row = |outcome: &str, cells: [String; 13]| {
            let ends = [&release.head, &release.base].map(|commit| name_in_full(commit).to_owned());
            let fields = ends.into_iter().chain([outcome.to_owned()]).chain(cells);
            text.push_str(&fields.map(|field| quoted(&field)).collect::<Vec<_>>().join(","));
            text.push('\n');
        };
        match &release.outcome {
            StepOutcome::Compared(step) if step.tests.is_empty() => row("unchanged", Default::default()),
            StepOutcome::Compared(step) => {
                step.tests.iter().for_each(|found| row("compared", cells(release, found)));
            }
            StepOutcome::Skipped(why) => row(&format!("skipped: {}", skipped(why)), Default::default()),
            StepOutcome::Open => row("open", Default::default()),
        }
    }
    text
}

fn cells(release: &Release, found: &StepTest) -> [String; 13] {
    let figure = |figure: Option<f64>| figure.map(|figure| figure.to_string()).unwrap_or_default();
    let change = found.figures.map(|figures| figures.change);
    let metrics: Vec<&str> = found.metrics.iter().map(|metric| metric.name()).collect();
    let commits: Vec<&str> = release.moved_by(&found.test).map(|(commit, _)| commit.id.as_str()).collect();
    [
        found.test.target.package.clone(),
        found.test.target.to_string(),
        found.test.name.clone(),
        test_code(found).to_owned(),
        metrics.join(" "),
        figure(change.map(|change| change.estimate)),
        figure(change.map(|change| change.low)),
        figure(change.map(|change| change.high)),
        figure(found.figures.map(|figures| figures.effect.d)),
        variant_name(found.verdict),
        found.reason.map(variant_name).unwrap_or_default(),
        found.function.clone().unwrap_or_default(),
        commits.join(" "),
    ]
}
