//! Histories and releases as comma-separated tables.

use super::log::{name_in_full, skip_reason};
use super::releases::test_code;
use perfunit_model::{History, Release, Releases, StepOutcome, StepTest, variant_name};

const HEADING: &str =
    "commit,committed,base,outcome,package,target,test,verdict,reason,estimate,low,high,base_ns,head_ns,function\n";

/// Returns comma-separated values (RFC 4180) with a heading. Changes are fractions.
pub fn render(history: &History) -> String {
    let mut text = HEADING.to_owned();
    for entry in &history.entries {
        let commit = [entry.commit.id.clone(), perfunit_system::date::day(entry.commit.seconds)];
        let mut row = |base: &str, outcome: &str, test: Option<&StepTest>| {
            let fields = commit.iter().cloned().chain([base.to_owned(), outcome.to_owned()]).chain(cells(test));
            text.push_str(&fields.map(|field| quote(&field)).collect::<Vec<_>>().join(","));
            text.push('\n');
        };
        match &entry.outcome {
            StepOutcome::Compared(step) if step.tests.is_empty() => row(&step.base, "unchanged", None),
            StepOutcome::Compared(step) => {
                step.tests.iter().for_each(|test| row(&step.base, "compared", Some(test)));
            }
            StepOutcome::Skipped(why) => row("", &format!("skipped: {}", skip_reason(why)), None),
            StepOutcome::Open => row("", "open", None),
        }
        for span in history.spans.iter().filter(|span| span.head == entry.commit) {
            span.step.tests.iter().for_each(|test| row(&span.base.id, "direct", Some(test)));
        }
    }
    text
}

fn cells(test: Option<&StepTest>) -> [String; 11] {
    let Some(test) = test else { return Default::default() };
    let figure = |figure: Option<f64>| figure.map(|figure| figure.to_string()).unwrap_or_default();
    let change = test.figures.map(|figures| figures.change);
    [
        test.test.target.package.clone(),
        test.test.target.to_string(),
        test.test.name.clone(),
        variant_name(test.verdict),
        test.reason.map(variant_name).unwrap_or_default(),
        figure(change.map(|change| change.estimate)),
        figure(change.map(|change| change.low)),
        figure(change.map(|change| change.high)),
        figure(test.figures.map(|figures| figures.base_ns)),
        figure(test.figures.map(|figures| figures.head_ns)),
        test.function.clone().unwrap_or_default(),
    ]
}

pub(super) fn quote(field: &str) -> String {
    if field.contains(['"', ',', '\n', '\r']) {
        format!("\"{}\"", field.replace('"', "\"\""))
    } else {
        field.to_owned()
    }
}

const RELEASES_HEADING: &str = "release,against,outcome,package,target,test,test_code,metrics,estimate,low,high,effect,verdict,\
                       reason,function,commits\n";

/// Returns comma-separated values (RFC 4180) with a heading. Changes are fractions; commits are those that moved the
/// test, as far as `log` compared them.
pub fn releases(releases: &Releases) -> String {
    let mut text = RELEASES_HEADING.to_owned();
    for release in &releases.releases {
        let mut row = |outcome: &str, cells: [String; 13]| {
            let ends = [&release.head, &release.base].map(|commit| name_in_full(commit).to_owned());
            let fields = ends.into_iter().chain([outcome.to_owned()]).chain(cells);
            text.push_str(&fields.map(|field| quote(&field)).collect::<Vec<_>>().join(","));
            text.push('\n');
        };
        match &release.outcome {
            StepOutcome::Compared(step) if step.tests.is_empty() => row("unchanged", Default::default()),
            StepOutcome::Compared(step) => {
                step.tests.iter().for_each(|found| row("compared", release_cells(release, found)));
            }
            StepOutcome::Skipped(why) => row(&format!("skipped: {}", skip_reason(why)), Default::default()),
            StepOutcome::Open => row("open", Default::default()),
        }
    }
    text
}

fn release_cells(release: &Release, found: &StepTest) -> [String; 13] {
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
