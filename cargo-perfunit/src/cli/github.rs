//! What a run leaves on GitHub Actions, where we are run there: annotations, the step's summary, output variables, and a
//! file with the report for a comment.

use perfunit_model::error::Result;
use perfunit_model::{Conclusion, Run};
use perfunit_report::{Format, Rendering, WhenFine, github, render};
use perfunit_system::fs;
use perfunit_system::term::{self, Terminal};
use std::path::PathBuf;

/// The report's name in the folder that the runner empties after the job.
const REPORT: &str = "perfunit.md";

/// Publishes a run that was printed in this format, if a runner of GitHub Actions is there. What cannot be written is a warning: the run itself is safe.
pub fn publish(run: &Run, printed: Format, rendering: &Rendering, terminal: Terminal) {
    if std::env::var_os("GITHUB_ACTIONS").is_none_or(|value| value != "true") {
        return;
    }
    if printed != Format::Github {
        term::eprint(&github::annotations(run));
    }
    let page = render(run, Format::Markdown, &Rendering { when_fine: WhenFine::Short, ..*rendering });
    let said = |what: &str, done: Result<()>| {
        done.inspect_err(|error| terminal.warning(&format!("no {what}: {}", error.message()))).is_ok()
    };
    let report = path("RUNNER_TEMP").map(|folder| folder.join(REPORT));
    let report = report.filter(|report| said("file for a comment", fs::write(report, &page)));
    if let Some(summary) = path("GITHUB_STEP_SUMMARY") {
        said("step summary", fs::append(&summary, &page));
    }
    if let Some(file) = path("GITHUB_OUTPUT") {
        said(
            "output variables",
            fs::append(&file, github::outputs(run, Conclusion::of(run, rendering.denied), report.as_deref())),
        );
    }
}

/// The file or folder that a variable names.
fn path(variable: &str) -> Option<PathBuf> {
    std::env::var_os(variable).filter(|value| !value.is_empty()).map(PathBuf::from)
}
