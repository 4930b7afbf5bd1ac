//! Wording of the comparison of generated calls.

use super::figures::{self, Words};
use super::{acceptance, causes, counts};
use perfunit_model::format::{Glyphs, count, one_line};
use perfunit_model::{GeneratedCalls, Outcome, Run, Verdict};

/// Returns the result as a line without a full stop; `None` if no such comparison was requested.
pub fn headline(run: &Run) -> Option<String> {
    let generated = run.generated.as_ref()?;
    let compared = match &generated.comparison {
        Some(Err(why)) => return Some(format!("no generated calls were compared: {why}")),
        Some(Ok(compared)) => compared,
        None if run.selection.uncovered.is_empty() => {
            return Some("nothing to generate: no changed function is known to be without a test".to_owned());
        }
        None => {
            let functions = count(generated.generation.without.len(), "function");
            return Some(format!("no calls found for {functions}"));
        }
    };
    let slower = slower(generated).count();
    let word = figures::word(Verdict::Slower, Words::of(&compared.all_gates()));
    let measured = counts::count_measured(compared);
    Some(match (slower, measured) {
        (0, 0) => "no generated call was measured".to_owned(),
        (0, measured) => match compared.inconclusive().count() {
            0 => format!("no generated call {word} ({measured} measured)"),
            open => format!("no generated call {word} ({measured} measured, {open} inconclusive)"),
        },
        (slower, measured) => format!("{slower} of {} {word}", count(measured, "generated call")),
    })
}

/// Returns the calls that got slower.
fn slower(generated: &GeneratedCalls) -> impl Iterator<Item = &Outcome> {
    generated.run().into_iter().flat_map(Run::slower)
}

/// Returns true if the result fails the run under `--deny generated`.
pub fn is_bad(run: &Run) -> bool {
    run.generated
        .as_ref()
        .is_some_and(|generated| matches!(generated.comparison, Some(Err(_))) || slower(generated).next().is_some())
}

/// Lists the calls that got slower or faster, each with its figures.
pub fn items(run: &Run) -> Vec<(String, String)> {
    let Some(generated) = &run.generated else { return Vec::new() };
    let Some(compared) = generated.run() else { return Vec::new() };
    let changed = compared.outcomes.iter().filter(|outcome| outcome.verdict.is_change());
    let said = |outcome: &Outcome| {
        let word = figures::word(outcome.verdict, Words::of(compared.gates_of(outcome)));
        let responsible = outcome.explanation.iter().flat_map(|found| causes::lines(found, Glyphs::Unicode)).next();
        let responsible = responsible.map(|line| format!("; {line}")).unwrap_or_default();
        let accepted = acceptance::said(outcome, compared).map(|said| format!(", {said}")).unwrap_or_default();
        format!("{word}, {}{accepted}{responsible}", figures::deciding_figures(outcome, compared))
    };
    changed.map(|outcome| (name_call(generated, outcome), said(outcome))).collect()
}

fn name_call(generated: &GeneratedCalls, outcome: &Outcome) -> String {
    match generated.generation.workload(&outcome.test) {
        Some(workload) => format!("{} ({})", one_line(&workload.call.function.name), one_line(&outcome.test.name)),
        None => one_line(&outcome.test.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::Detail;
    use crate::sections::Kind;
    use crate::text::plain_text;
    use perfunit_model::samples::{measured, outcome, run, workload};
    use perfunit_model::{CallFailure, NotCompared, NotGenerated, Selection, SystemCall, Uncovered, UncoveredBecause};
    use perfunit_model::{Function, Generation, WithoutWorkload};

    fn function(name: &str) -> Function {
        Function { package: "mycrate".into(), file: "src/lib.rs".into(), line: 7, name: name.into() }
    }

    fn with(comparison: Option<Result<Box<Run>, NotCompared>>) -> Run {
        let how = CallFailure::LeavesCage { system_call: SystemCall::OpenFile };
        let without = vec![WithoutWorkload { function: function("load"), because: NotGenerated::Fails { how } }];
        let workloads = ["sum_7_0_n256", "sum_7_1"].map(workload).into();
        let generated = GeneratedCalls { generation: Generation { workloads, without }, comparison };
        let uncovered = vec![Uncovered { function: function("sum"), because: UncoveredBecause::Unreached }];
        let selection = Selection { uncovered, ..Selection::default() };
        Run { generated: Some(generated), selection, ..run(Vec::new()) }
    }

    fn compared_run() -> Run {
        let slower = outcome("sum_7_0_n256", Verdict::Slower, Some(measured(1e3, 0.125)));
        let same = outcome("sum_7_1", Verdict::Same, Some(measured(1e3, 0.0)));
        with(Some(Ok(Box::new(run(vec![slower, same])))))
    }

    #[test]
    fn calls_are_apart_and_say_which_function_they_call() {
        let run = compared_run();
        assert_eq!(headline(&run).unwrap(), "1 of 2 generated calls slower");
        let text = plain_text(&run, &[Kind::Generated], Detail::Brief);
        let counts = "1 slower, 1 unchanged (within +-10 %)";
        let made = format!("   Generated  2 calls for 1 function that no test executes: {counts}\n");
        assert!(text.contains(&made), "{text}");
        assert!(text.contains("Slower  mycrate sum_7_0_n256") && text.contains("calls sum\n"), "{text}");
        let why = "     No call  load  src/lib.rs:7, its calls open a file, which is not allowed\n";
        assert!(text.ends_with(why), "{text}");
    }

    #[test]
    fn what_was_not_compared_comes_with_the_reason() {
        let check = |run: &Run, said: &str| assert_eq!(headline(run).unwrap(), said);
        let interrupted = Some(Err(NotCompared::Interrupted));
        check(&with(interrupted), "no generated calls were compared: interrupted");
        check(&with(None), "no calls found for 1 function");
        let covered = Run { selection: Selection::default(), ..with(None) };
        check(&covered, "nothing to generate: no changed function is known to be without a test");
        assert_eq!(headline(&run(Vec::new())), None);
    }

    #[test]
    fn every_format_has_the_slower_call() {
        use crate::{Rendering, html, json, junit, markdown};
        use perfunit_model::Denied;
        let run = compared_run();
        let page = html::render(&run, &html::HtmlOptions::default());
        let denied = Denied { generated: true, ..Denied::default() };
        let texts = [markdown::render(&run, &Rendering::default()), page, junit::render(&run, denied)];
        for text in texts {
            assert!(text.contains("1 of 2 generated calls slower"), "{text}");
        }
        let failures = |denied| junit::render(&run, denied).matches("<failure").count();
        // The function without a call is the second failure.
        assert_eq!((failures(denied), failures(Denied::default())), (2, 0));
        let document: serde_json::Value = serde_json::from_str(&json::render(&run)).unwrap();
        let generated = &document["generated"];
        assert_eq!(generated["comparison"]["tests"].as_array().unwrap().len(), 2);
        assert_eq!(
            (&generated["calls"][0]["n"], &generated["without"][0]["because"]["how"]["kind"]),
            (&256.into(), &"leaves-cage".into())
        );
    }
}
