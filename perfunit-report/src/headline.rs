//! The answer of a run in one line, for Markdown and HTML.

use super::figures::{self, Words};
use super::sections::{Kind, Sections, accepted_headline};
use super::{counts, ratchet};
use perfunit_model::format::count;
use perfunit_model::{Conclusion, Run, Verdict};

/// Returns the number of tests that fail or changed and what else the exit code rests on: `2 tests got slower, 1 test got
/// faster`.
pub fn headline(run: &Run, sections: &Sections<'_>, conclusion: Conclusion) -> String {
    let tests = of_tests(run, sections);
    match beyond_counts(sections, conclusion) {
        Some(said) => format!("{tests}; {}{}", said[..1].to_lowercase(), &said[1..]),
        None => tests,
    }
}

fn of_tests(run: &Run, sections: &Sections<'_>) -> String {
    let words = Words::of(&run.all_gates());
    let [worse, better] = [Verdict::Slower, Verdict::Faster].map(|verdict| figures::word(verdict, words));
    let got = |tests: usize, word: &str| (tests > 0).then(|| format!("{} got {word}", count(tests, "test")));
    let failing = match sections.items(Kind::Failing).len() {
        0 => None,
        1 => Some("1 test fails".to_owned()),
        tests => Some(format!("{} fail", count(tests, "test"))),
    };
    let changed = [
        failing,
        got(run.slower().count(), &worse),
        ratchet::found(run),
        accepted_headline(run),
        got(run.count(Verdict::Faster), &better),
    ];
    let changed: Vec<String> = changed.into_iter().flatten().collect();
    match () {
        () if !changed.is_empty() => changed.join(", "),
        () if run.interrupted => "The comparison was interrupted".to_owned(),
        () if counts::count_measured(run) > 0 => match run.inconclusive().count() {
            0 => format!("No test got {worse} or {better}"),
            open => format!("No test got {worse} or {better}, {open} inconclusive"),
        },
        () if run.selection.nothing_because.is_some() => "No test can have changed".to_owned(),
        () => counts::no_other_measured(run).unwrap_or_else(|| "No test could be measured".to_owned()),
    }
}

/// Returns the part of the conclusion that the counts of tests in a headline do not state.
fn beyond_counts<'a>(sections: &'a Sections<'_>, conclusion: Conclusion) -> Option<&'a str> {
    let said = match conclusion {
        Conclusion::Grows => sections.headline(Kind::Growth)?,
        Conclusion::FunctionSlower => sections.headline(Kind::Functions)?,
        Conclusion::ProgramSlower => sections.headline(Kind::Programs)?,
        Conclusion::GeneratedSlower => sections.headline(Kind::Generated)?,
        Conclusion::Uncovered => sections.headline(Kind::Uncovered)?,
        Conclusion::NotBuilt | Conclusion::NotCompared => {
            let ratchet = sections.bad(Kind::Ratchet).map(|section| section.headline.as_str());
            ratchet.or_else(|| sections.headline(Kind::Generated))?
        }
        Conclusion::FailsOnBase => "the selected tests fail on base",
        Conclusion::Undecided => "the run is undecided",
        Conclusion::Passed
        | Conclusion::Slower
        | Conclusion::SlowerThanRatchet
        | Conclusion::Interrupted
        | Conclusion::FailsOnHead
        | Conclusion::NothingMeasured => return None,
    };
    Some(said)
}
