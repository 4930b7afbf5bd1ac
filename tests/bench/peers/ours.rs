//! This tool: compares the working tree with the last commit.

use super::Result;
use super::comparison::{self, Answer};
use super::program::{self, Claim, Said};
use super::project::WORKLOADS;
use super::tool::Tool;
use perfunit_model::Verdict;
use perfunit_report::json::{Document, TestResult};
use std::path::Path;

/// Verdicts and the time that they took.
pub struct Measured {
    /// Results by workload.
    pub said: Vec<Said>,
    /// Time of measurement, s.
    pub seconds: f64,
    /// Time before the measurement, s.
    pub before: f64,
}

/// Runs `cargo perfunit diff HEAD --threshold ...` with all tests; otherwise equal code would not be measured.
pub fn measure(tool: &Tool, tree: &Path, threshold: f64) -> Result<Measured> {
    let threshold = threshold.to_string();
    let scope = ["--all-tests", "--package", "workloads", "--lib", "--threshold", &threshold];
    let document: Box<Document> = match comparison::compare(tool, tree, "HEAD", &[&WORKLOADS[..], &scope].concat())? {
        Answer::Compared(document) => document,
        Answer::Refused(why) => return Err(why.into()),
    };
    // The document also contains tests that the filter left out.
    let said = document.tests.iter().map(said).filter(|said| WORKLOADS.contains(&said.workload.as_str()));
    let said = program::complete(said.collect(), "the document")?;
    let seconds = &document.summary.seconds;
    Ok(Measured { said, seconds: seconds.measure, before: seconds.prepare + seconds.build + seconds.select })
}

/// Returns a workload without figures.
pub fn nothing(workload: &str) -> Said {
    Said { workload: workload.to_owned(), change: None, interval: None, is_significant: None, claim: None }
}

fn said(result: &TestResult) -> Said {
    let workload = result.test.name.rsplit("::").next().unwrap_or_default();
    let change = result.change.as_ref();
    Said {
        change: change.and_then(|change| change.estimate),
        interval: change.and_then(|change| Some([change.low?, change.high?])),
        claim: match result.verdict {
            Verdict::Slower => Some(Claim::Slower),
            Verdict::Faster => Some(Claim::Faster),
            _ => None,
        },
        ..nothing(workload)
    }
}
