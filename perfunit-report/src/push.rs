//! The result of a pre-push hook: one line if the push passes, otherwise the tests that block it.

use super::counts::{self, Excluded};
use super::figures::{self, Words};
use super::markdown;
use super::ratchet;
use super::sections::{Kind, Sections};
use perfunit_model::error::ExitCode;
use perfunit_model::format::{count, first, one_line};
use perfunit_model::{Conclusion, Denied, Outcome, Reason, Run, Verdict};
use std::fmt::Write as _;

/// Number of tests named; the report above lists all.
const SHOWN: usize = 5;

/// Describes why the push of `branch` passes, compared with `base`.
pub fn describe_pass(branch: &str, base: &str, run: &Run) -> String {
    let sections = Sections::of(run, Denied::default());
    let headlines = |kinds| {
        let all = sections.of_kinds(kinds);
        all.fold(String::new(), |all, section| format!("{all}; {}", section.headline))
    };
    let further = headlines(&[Kind::Ratchet, Kind::Generated]);
    if let Some(because) = &run.selection.nothing_because {
        return format!("{branch}: no test can have changed since {base}, because {because}{further}");
    }
    let mut line = format!("{branch}: ");
    let [slower, faster] = [Verdict::Slower, Verdict::Faster].map(|verdict| word(verdict, run));
    let _ = match counts::count_measured(run) {
        0 => write!(line, "{}", counts::describe_unmeasured(run, base)),
        n => write!(line, "{} measured against {base}, none {slower}", count(n, "test")),
    };
    let left_open: Vec<&Outcome> = run.outcomes.iter().filter(|outcome| counts::is_left_open(outcome)).collect();
    let unmeasured = |wanted: &dyn Fn(&Reason) -> bool| {
        left_open.iter().filter(|outcome| outcome.reason.as_ref().is_some_and(wanted)).count()
    };
    let mut add = |n: usize, what: &str| {
        if n > 0 {
            let _ = write!(line, ", {n} {what}");
        }
    };
    add(run.accepted_tests().count(), &format!("{slower} and accepted"));
    add(run.count(Verdict::Faster), &faster);
    let probably = run.probably_slower().count();
    add(probably, &format!("probably {slower}, not confirmed"));
    add(run.inconclusive().count() - probably, "inconclusive");
    let is_late = |reason: &Reason| matches!(reason, Reason::BudgetUsedUp | Reason::TooLong { .. });
    let is_failure =
        |reason: &Reason| matches!(reason, Reason::Fails { .. } | Reason::Crashes { .. } | Reason::TimedOut { .. });
    let (late, failed) = (unmeasured(&is_late), unmeasured(&is_failure));
    add(late, "beyond the budget");
    add(failed, "failed to run");
    add(left_open.len() - late - failed, "not measured");
    if let Some(excluded) = Excluded::describe_beyond_verdicts(run) {
        let _ = write!(line, "; {excluded}");
    }
    for item in sections.items(Kind::Programs) {
        let _ = write!(line, "; {} {}", item.name, item.text);
    }
    line + &headlines(&[Kind::Uncovered]) + &further
}

fn word(verdict: Verdict, run: &Run) -> String {
    figures::word(verdict, Words::of(&run.all_gates()))
}

/// Describes how many pushes went unchecked, and how to check them.
pub fn describe_unchecked(pushes: usize, base: &str) -> String {
    let said = match pushes {
        1 => "this push was not checked".to_owned(),
        more => format!("{more} pushes were not checked since the last measured one"),
    };
    format!(
        "{said} because the time budget was used up; `cargo perfunit diff {base}` checks without a budget, \
         `cargo perfunit hook install --budget TIME` sets a longer one"
    )
}

/// Describes why the push of `branch` is blocked after this conclusion, compared with `base`.
pub fn describe_block(branch: &str, base: &str, run: &Run, (conclusion, denied): (Conclusion, Denied)) -> String {
    let sections = Sections::of(run, denied);
    let headline_and_names = |kind| {
        let section = sections.get(kind);
        let headline = section.map(|section| section.headline.as_str()).unwrap_or_default();
        (headline, section.map(|section| some(section.names())).unwrap_or_default())
    };
    let why = match conclusion {
        Conclusion::Uncovered => {
            let (headline, names) = headline_and_names(Kind::Uncovered);
            format!("{headline} (--deny uncovered): {names}")
        }
        Conclusion::Slower => {
            let (tests, names) = headline_and_names(Kind::Tests(Verdict::Slower));
            let lost = ratchet::found(run).map(|found| format!("; {found}")).unwrap_or_default();
            format!("{tests} than at {base}: {names}{lost}")
        }
        Conclusion::Grows
        | Conclusion::FunctionSlower
        | Conclusion::ProgramSlower
        | Conclusion::SlowerThanRatchet
        | Conclusion::GeneratedSlower => other_losses(run, &sections, denied),
        Conclusion::FailsOnHead => {
            let (_, names) = headline_and_names(Kind::Failing);
            let tests = count(sections.items(Kind::Failing).len(), "test");
            format!("{tests} newly failing compared with {base}: {names}")
        }
        _ => open(base, run, denied),
    };
    format!("push of {branch} blocked: {why}")
}

/// Returns the command that explains the result of a push after this conclusion. `explain` explains the last comparison
/// only, so other ones, which `later` comparisons follow, are repeated.
pub fn explaining(run: &Run, conclusion: Conclusion, later: usize) -> String {
    match &run.repeat {
        Some(repeat) if later > 0 => markdown::command(repeat, &["--explain", "always"]),
        _ => {
            let is_alone = conclusion == Conclusion::SlowerThanRatchet
                || conclusion != Conclusion::Slower && !run.cumulative_losses().is_empty();
            format!("cargo perfunit explain{}", if is_alone { " --ratchet" } else { "" })
        }
    }
}

/// Names the tests and generated calls without a verdict, if that is denied.
fn open(base: &str, run: &Run, denied: Denied) -> String {
    let parts = denied.comparisons(run).filter_map(|compared| {
        let mut open: Vec<&Outcome> = denied.open(compared).collect();
        figures::sort_by_possible(&mut open);
        let (tests, names) = (count(open.len(), "test"), some(names(&open)));
        let against = if compared.base == run.base { base.to_owned() } else { one_line(&compared.base.label) };
        (!open.is_empty()).then(|| format!("{tests} inconclusive against {against}, which is denied: {names}"))
    });
    parts.collect::<Vec<_>>().join("; ")
}

/// Describes the denied facts that could not be checked, if they alone decide the conclusion.
pub fn not_looked_at(run: &Run, (conclusion, denied): (Conclusion, Denied)) -> Option<String> {
    let is_open = |compared: &Run| denied.open(compared).next().is_some();
    let is_alone = conclusion == Conclusion::Undecided && !denied.comparisons(run).any(is_open);
    let sections = Sections::of(run, denied);
    let lines = sections.items(Kind::Undecided).iter().map(|item| item.text.clone());
    is_alone.then(|| format!("denied facts could not be checked: {}", some(lines)))
}

/// Describes the reason for blocking a push without a test that is slower than base.
fn other_losses(run: &Run, sections: &Sections<'_>, denied: Denied) -> String {
    let programs = run.cumulative_losses_of_programs().into_iter().map(|program| one_line(&program.name));
    let lost: Vec<String> = names(&run.cumulative_losses()).chain(programs).collect();
    let of_ratchet = sections.get(Kind::Ratchet).filter(|_| !lost.is_empty());
    let of_ratchet = of_ratchet.map(|section| format!("{}: {}", section.headline, some(lost.into_iter())));
    let of_calls = sections.bad(Kind::Generated).filter(|_| denied.generated).map(|section| {
        let calls = section.items.iter().map(|item| format!("{} {}", item.name, item.text));
        format!("{}: {}", section.headline, some(calls))
    });
    let of_growth = sections.get(Kind::Growth).filter(|_| denied.growth);
    let of_means = sections.bad(Kind::Functions).filter(|_| denied.functions);
    let of_functions = sections.bad(Kind::Programs).into_iter().chain(of_means).chain(of_growth);
    let of_functions = of_functions.map(|section| {
        let names: Vec<String> = section.bad_names().collect();
        format!("{}: {}", section.headline, some(names.into_iter()))
    });
    of_ratchet.into_iter().chain(of_calls).chain(of_functions).collect::<Vec<_>>().join("; ")
}

/// Describes why the push of `branch` is blocked under `--strict`, which requires a check, with this exit code.
pub fn not_checked(branch: &str, run: &Run, code: ExitCode) -> String {
    let sections = Sections::of(run, Denied::default());
    let further = sections.bad(Kind::Ratchet).or_else(|| sections.bad(Kind::Generated));
    let why = further.map_or_else(|| code.meaning().to_owned(), |section| section.headline.clone());
    format!("push of {branch} blocked because it was not checked (--strict): {why}")
}

fn names(outcomes: &[&Outcome]) -> impl ExactSizeIterator<Item = String> {
    outcomes.iter().map(|outcome| one_line(&outcome.test.to_string()))
}

/// Joins the first items of a list.
fn some(names: impl ExactSizeIterator<Item = String>) -> String {
    first(names, SHOWN, |more| format!("{more} more"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rendering::is_fine;
    use perfunit_model::samples::{self, measured, outcome, run, unmeasured};
    use perfunit_model::{
        FailedOn, Failure, GeneratedCalls, Generation, Metric, NothingBecause, Ratchet, Repeat, VersionName,
    };
    use std::time::Duration;

    const BASE: &str = "origin/main (1a2b3c4)";

    #[test]
    fn a_push_that_passes_has_one_line() {
        let same = outcome("a::same", Verdict::Same, Some(measured(1e3, 0.0)));
        let faster = outcome("a::faster", Verdict::Faster, Some(measured(1e3, -0.2)));
        let left = |reason| unmeasured("a::left", Some(reason));
        let late = left(Reason::BudgetUsedUp);
        let hangs = left(Reason::timed_out(FailedOn::Both, Duration::from_secs(1)));
        let (start, new) = (left(Reason::LostInStart { ns: 1e6 }), left(Reason::New));
        let line = describe_pass("main", BASE, &run(vec![same, faster, late, hangs, start, new]));
        assert_eq!(
            line,
            "main: 2 tests measured against origin/main (1a2b3c4), none slower, 1 faster, 1 beyond the budget, \
             1 failed to run, 1 not measured"
        );
    }

    #[test]
    fn tests_that_fail_on_head_only_block_the_push() {
        let fails = |side| Some(Reason::Fails { side, how: Failure::Said("no".into()), intermittent: false });
        let run =
            run(vec![unmeasured("a::broken", fails(FailedOn::Head)), unmeasured("a::both", fails(FailedOn::Both))]);
        let line = "push of main blocked: 1 test newly failing compared with origin/main (1a2b3c4): mycrate a::broken";
        assert_eq!(describe_block("main", BASE, &run, (Conclusion::FailsOnHead, Denied::default())), line);
    }

    #[test]
    fn nothing_to_measure_has_its_reason() {
        let mut run = run(Vec::new());
        run.selection.nothing_because = Some(NothingBecause::Comments { files: 3 });
        let expected = "main: no test can have changed since origin/main (1a2b3c4), because only comments, documentation comments and formatting differ (3 files)";
        assert_eq!(describe_pass("main", BASE, &run), expected);
    }

    #[test]
    fn a_comparison_that_is_not_the_last_is_repeated_to_explain_it() {
        let mut run = run(Vec::new());
        let arguments = ["perfunit", "diff", "1a..2b", "--skip", "a b"].map(str::to_owned).to_vec();
        run.repeat = Some(Repeat { folder: String::new(), arguments });
        assert_eq!(explaining(&run, Conclusion::Slower, 0), "cargo perfunit explain");
        assert_eq!(explaining(&run, Conclusion::SlowerThanRatchet, 0), "cargo perfunit explain --ratchet");
        let repeated = "cargo perfunit diff 1a..2b --skip 'a b' --explain always";
        assert_eq!(explaining(&run, Conclusion::Slower, 1), repeated);
    }

    #[test]
    fn the_slower_tests_are_named_up_to_a_limit() {
        let names: Vec<String> = (0..7).map(|i| format!("a::t{i}")).collect();
        let outcomes = names.iter().map(|name| outcome(name, Verdict::Slower, Some(measured(1e3, 0.25)))).collect();
        let mut run = run(outcomes);
        let text = describe_block("topic", BASE, &run, (Conclusion::Slower, Denied::default()));
        assert!(text.starts_with("push of topic blocked: 7 tests slower than at origin/main (1a2b3c4): "), "{text}");
        assert!(text.ends_with("and 2 more"), "{text}");
        run.gates = vec![Metric::Time, Metric::Allocations];
        assert!(
            describe_block("topic", BASE, &run, (Conclusion::Slower, Denied::default())).contains("7 tests worse than"),
            "{text}"
        );
    }

    #[test]
    fn denied_inconclusive_tests_block_as_well() {
        let denied = Denied { inconclusive: true, ..Denied::default() };
        let run = run(vec![outcome("a::noisy", Verdict::Inconclusive, Some(measured(1e3, 0.01)))]);
        let expected = "push of main blocked: 1 test inconclusive against origin/main (1a2b3c4), which is denied: mycrate a::noisy";
        assert_eq!(describe_block("main", BASE, &run, (Conclusion::Undecided, denied)), expected);
    }

    fn with_second(second: Run, is_ratchet: bool) -> Run {
        let (of_ratchet, of_calls) = if is_ratchet { (Some(second), None) } else { (None, Some(second)) };
        let version = |run: &Run| run.base.clone();
        let ratchet = of_ratchet.map(|run| Ratchet { version: version(&run), comparison: Ok(Box::new(run)) });
        let generated = of_calls
            .map(|run| GeneratedCalls { generation: Generation::default(), comparison: Some(Ok(Box::new(run))) });
        Run { ratchet, generated, ..run(vec![outcome("a", Verdict::Same, Some(measured(1e3, 0.0)))]) }
    }

    #[test]
    fn what_is_denied_of_the_ratchet_and_of_generated_calls_blocks_and_has_a_name() {
        let noisy = || run(vec![outcome("a::noisy", Verdict::Inconclusive, Some(measured(1e3, 0.01)))]);
        let denied = Denied { inconclusive: true, generated: true, ..Denied::default() };
        let old = VersionName { label: "v1".into(), commit: "1f".into(), dirty: false };
        for (is_ratchet, version) in [(true, "v1"), (false, BASE)] {
            let second = if is_ratchet { Run { base: old.clone(), ..noisy() } } else { noisy() };
            let run = with_second(second, is_ratchet);
            let code = (Conclusion::Undecided, denied);
            assert_eq!(not_looked_at(&run, code), None);
            let said = format!("1 test inconclusive against {version}, which is denied: mycrate a::noisy");
            assert_eq!(describe_block("main", BASE, &run, code), format!("push of main blocked: {said}"));
            assert!(!is_fine(&run, &Sections::of(&run, denied), denied));
            assert!(is_fine(&run, &Sections::of(&run, denied), Denied::default()));
        }
    }

    #[test]
    fn that_there_was_no_time_for_the_ratchet_is_said_whatever_is_denied() {
        let late = run(vec![unmeasured("a", Some(Reason::BudgetUsedUp))]);
        let run = with_second(Run { base: VersionName { label: "v1".into(), ..late.base.clone() }, ..late }, true);
        let said = not_looked_at(&run, (Conclusion::Undecided, Denied::default())).unwrap();
        assert!(said.contains("not measured against v1: ") && said.ends_with("(1 test)"), "{said}");
        let denied = Denied::default();
        assert!(!is_fine(&run, &Sections::of(&run, denied), denied));
    }

    #[test]
    fn what_blocks_besides_tests_is_named() {
        let run = Run { growth: Some(samples::growth()), ..run(Vec::new()) };
        let denied = Denied { growth: true, ..Denied::default() };
        let text = describe_block("main", BASE, &run, (Conclusion::Grows, denied));
        assert!(text.starts_with("push of main blocked: Work grows faster with the length of an input"), "{text}");
        assert!(text.ends_with("in 1 function: Parser::parse"), "{text}");
        let why = "denied facts could not be checked: growth is unknown: it has its own test harness (1 test)";
        assert_eq!(not_looked_at(&run, (Conclusion::Undecided, denied)).as_deref(), Some(why));
        assert_eq!(not_looked_at(&run, (Conclusion::Grows, denied)), None);
    }

    #[test]
    fn what_is_probably_slower_is_counted_and_denied_by_itself() {
        let mut probably = outcome("a::probably", Verdict::Inconclusive, Some(measured(1e3, 0.3)));
        probably.reason = Some(Reason::Unconfirmed { seen: Verdict::Slower });
        let run = run(vec![outcome("a::noisy", Verdict::Inconclusive, Some(measured(1e3, 0.01))), probably]);
        let line = describe_pass("main", BASE, &run);
        assert!(line.ends_with("none slower, 1 probably slower, not confirmed, 1 inconclusive"), "{line}");
        let denied = Denied { unconfirmed: true, ..Denied::default() };
        let text = describe_block("main", BASE, &run, (Conclusion::Undecided, denied));
        assert!(
            text.ends_with("which is denied: mycrate a::probably") && text.contains("1 test inconclusive"),
            "{text}"
        );
    }

    #[test]
    fn programs_are_told_with_their_changes_over_all_tests() {
        let with = |change| Run { programs: vec![samples::started_by_many(change)], ..run(Vec::new()) };
        let line = describe_pass("main", BASE, &with(0.002));
        assert!(
            line.ends_with(
                "; mytool typically unchanged, +0.20 % [-0.20 %, +0.60 %] over 240 tests that the change can reach"
            ),
            "{line}"
        );
        let text = describe_block("main", BASE, &with(0.06), (Conclusion::ProgramSlower, Denied::default()));
        assert_eq!(text, "push of main blocked: 1 program slower over the tests that the change can reach: mytool");
    }

    #[test]
    fn what_is_excluded_is_said_where_verdicts_do_not() {
        let same = || outcome("a::same", Verdict::Same, Some(measured(1e3, 0.0)));
        let mut run = run(vec![same(), samples::open_within("a::bounded", 1e3, -0.02, 0.04)]);
        let line = describe_pass("main", BASE, &run);
        let expected = "main: 2 tests measured against origin/main (1a2b3c4), none slower; \
                        2 of 2 measured tests are not slower by 5 % or more";
        assert_eq!(line, expected);
        let denied = Denied { inconclusive: true, ..Denied::default() };
        assert!(is_fine(&run, &Sections::of(&run, denied), denied));
        run.outcomes.push(samples::open_within("a::noisy", 1e3, -0.1, 0.2));
        run.outcomes.push(samples::open_within("a::worst", 1e3, -0.1, 0.4));
        let line = describe_pass("main", BASE, &run);
        assert!(
            line.ends_with("none slower, 2 inconclusive; 2 of 4 measured tests are not slower by 10 % or more"),
            "{line}"
        );
        // The largest possible slowdown comes first; bounded tests are not denied.
        let text = describe_block("main", BASE, &run, (Conclusion::Undecided, denied));
        assert!(text.ends_with("which is denied: mycrate a::worst, mycrate a::noisy"), "{text}");
    }

    #[test]
    fn unchecked_pushes_are_counted_with_what_to_do() {
        let said = describe_unchecked(3, "origin/main");
        assert!(said.starts_with("3 pushes were not checked since the last measured one"), "{said}");
        assert!(said.contains("`cargo perfunit diff origin/main`"), "{said}");
    }
}
