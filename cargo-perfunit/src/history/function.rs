//! Finds the changed tests that execute a function.

use super::commit_comparer::CommitComparer;
use super::ends::{self, Ends};
use perfunit_explain::instructions::readable;
use perfunit_model::error::{Error, Result};
use perfunit_model::suggest;
use perfunit_model::{Change, Explain, Outcome, TestId, is_end_of_path};
use perfunit_select::code::with_old_drop;

/// Returns the tests that changed between the ends and that the function affects, the largest change first. Compares
/// the ends again with these tests to explain them.
pub fn tests(
    path: &str,
    ends: &Ends<'_>,
    comparer: &CommitComparer,
    explain: Explain,
) -> Result<Vec<(TestId, Change)>> {
    let moved = ends.changed_tests();
    if moved.is_empty() {
        return Err(none_moved(ends));
    }
    let names: Vec<String> = moved.iter().map(|(test, _)| test.name.clone()).collect();
    let run = comparer.anew(&ends.good.id, &ends.bad.id, &names, explain)?.ok_or_else(ends::not_compared)?;
    let is_concerned =
        |test: &TestId| run.outcomes.iter().any(|outcome| outcome.test == *test && matters(outcome, path));
    let (of_it, others): (Vec<_>, Vec<_>) = moved.into_iter().partition(|(test, _)| is_concerned(test));
    if of_it.is_empty() {
        let explained = run.outcomes.iter().filter_map(|outcome| outcome.explanation.as_ref());
        let functions = explained.flat_map(|found| found.functions.iter().map(|function| function.name.as_str()));
        return Err(no_test(path, others.len(), functions));
    }
    Ok(of_it)
}

fn none_moved(ends: &Ends<'_>) -> Error {
    let (direction, opposite) = (ends.direction, ends.direction.opposite());
    let error = Error::usage(format!("no test got {direction} between the ends"));
    match ends.step.with(opposite.verdict()).count() {
        0 => {
            error.hint("a smaller --threshold detects smaller changes; `cargo perfunit diff GOOD..BAD` shows all tests")
        }
        tests => error.hint(format!("{tests} got {opposite}; {}", ends::other_way(direction))),
    }
}

fn no_test<'a>(path: &str, moved: usize, known: impl Iterator<Item = &'a str>) -> Error {
    let near = suggest::near(path, known, "::");
    Error::usage(format!("no changed test ({moved}) is known to execute a function `{path}`")).hint(
        suggest::hint(&near).unwrap_or_else(|| {
            "give its name or the end of its path, such as `line` or `Parser::line`; functions that are inlined everywhere are not known".to_owned()
        }),
    )
}

/// Returns true if the test executes the function according to its explanation, or if the function is a changed
/// function that the test can reach, or on the path to one. `path` is a function's name or the end of its path.
fn matters(outcome: &Outcome, path: &str) -> bool {
    let is_executed = outcome
        .explanation
        .as_ref()
        .is_some_and(|explanation| explanation.functions.iter().any(|function| function.is_named(path)));
    let reached = outcome.why.iter().flat_map(|why| why.path.iter().chain(why.changed.iter().map(|found| &found.name)));
    is_executed || reached.into_iter().any(|name| is_demangled(name, path))
}

/// Returns true if a path matches a demangled name.
fn is_demangled(name: &str, path: &str) -> bool {
    let (name, of_drop) = (&with_old_drop(name), path.replace("drop_glue", "drop_in_place"));
    let is_end = |full: &str| is_end_of_path(path, full) || is_end_of_path(&of_drop, full);
    let plain = readable(name);
    let method = plain.strip_prefix('<').and_then(|rest| rest.split_once(">::"));
    match method {
        // The method of a type, or of the trait that the type implements.
        Some((holder, method)) => holder.split(" as ").any(|holder| is_end(&format!("{holder}::{method}"))),
        // The crate's name is not part of the readable name.
        None => is_end(&plain) || is_end(name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use perfunit_model::samples::{explanation, outcome};
    use perfunit_model::{ChangedFunction, Verdict, Why};

    #[test]
    fn names_of_the_linker_are_recognized_by_their_ends() {
        for (name, path) in [
            ("sample::parser::line", "line"),
            ("sample::parser::line", "parser::line"),
            ("sample::parser::line", "sample::parser::line"),
            ("sample::parser::line::{closure#0}", "parser::line"),
            ("<sample::Parser<u8> as sample::Parse>::line::<u16>", "Parser::line"),
            ("<sample::Parser<u8> as sample::Parse>::line::<u16>", "Parse::line"),
            ("core::ptr::drop_in_place::<sample::Parser>", "drop_glue"),
            ("core::ptr::drop_glue::<sample::Parser>", "ptr::drop_in_place"),
        ] {
            assert!(is_demangled(name, path), "{name} is not {path}");
        }
        for (name, path) in [("sample::parser::online", "line"), ("sample::line::other", "line")] {
            assert!(!is_demangled(name, path), "{name} is {path}");
        }
    }

    #[test]
    fn a_function_matters_where_it_changed_or_is_executed() {
        let mut test = outcome("a", Verdict::Slower, None);
        assert!(!matters(&test, "word"));
        let changed = vec![ChangedFunction { name: "sample::lexer::word".to_owned(), data: None }];
        test.why = Some(Why { changed, ..Why::default() });
        assert!(matters(&test, "lexer::word") && !matters(&test, "line"));
        test.why = None;
        test.explanation = Some(explanation());
        assert!(matters(&test, "Parser::line") && matters(&test, "word") && !matters(&test, "ord"));
    }
}
