//! What is wrong with an expression: where, in words, with what the user may have meant.

use miette::{Diagnostic, LabeledSpan};
use nextest_filtering::errors::{BannedPredicateReason, FiltersetParseErrors, ParseSingleError};
use perfunit_model::error::Error;
use perfunit_model::suggest;
use std::collections::BTreeSet;

/// All predicates that we take, for those who look for one.
const PREDICATES: [&str; 11] =
    ["test", "package", "deps", "rdeps", "binary_id", "binary", "kind", "platform", "default", "all", "none"];

/// The names that an expression may mean.
#[derive(Debug, Default)]
pub struct Known {
    /// Packages of the workspace.
    pub packages: BTreeSet<String>,
    /// Test binaries by nextest's ids.
    pub binary_ids: BTreeSet<String>,
    /// Test binaries by the names of their targets.
    pub binaries: BTreeSet<String>,
}

/// The first error with the expression and a mark below it; `place` says where the expression stands.
pub fn problem(place: &str, errors: &FiltersetParseErrors, known: &Known) -> Error {
    let Some(first) = errors.errors.first() else {
        return Error::usage(format!("{place}: cannot understand the filterset `{}`", errors.input));
    };
    let label = first.labels().and_then(|mut labels| labels.next());
    let words = label.as_ref().and_then(LabeledSpan::label).unwrap_or_default();
    let (what, words) = match first {
        // Said in nextest's words, which are about its own configuration.
        ParseSingleError::BannedPredicate { .. } => ("this predicate is not supported here".to_owned(), ""),
        first => (first.to_string(), words),
    };
    let (text, column) = marked(&errors.input, label.as_ref(), words);
    let error = Error::usage(format!("{place}, column {column}: {what}\n{text}"));
    error.hint(hint(first, &errors.input, label.as_ref(), known))
}

/// The expression with a mark below the place of the error, and the column of that place from 1.
fn marked(input: &str, label: Option<&LabeledSpan>, words: &str) -> (String, usize) {
    let (offset, length) = label.map_or((0, 0), |label| (label.offset(), label.len()));
    // What is missing begins, to the parser, where the last thing ended.
    let space = input.get(offset..offset + length).map_or(0, |part| part.len() - part.trim_start().len());
    let (offset, length) = (offset + space, length - space);
    let before = input.get(..offset).unwrap_or(input).chars().count();
    let length = input.get(offset..offset + length).map_or(1, |part| part.chars().count()).max(1);
    // An expression may span lines in the configuration: one line is enough to point into.
    let line: String = input.chars().map(|c| if c.is_whitespace() { ' ' } else { c }).collect();
    let mark = format!("{}{} {words}", " ".repeat(before), "^".repeat(length));
    (format!("    {line}\n    {}", mark.trim_end()), before + 1)
}

fn hint(error: &ParseSingleError, input: &str, label: Option<&LabeledSpan>, known: &Known) -> String {
    let part = label.and_then(|label| input.get(label.offset()..label.offset() + label.len())).unwrap_or_default();
    let names = match error {
        ParseSingleError::NoPackageMatch(_) => Some(("packages", &known.packages)),
        ParseSingleError::NoBinaryIdMatch(_) => Some(("binary ids", &known.binary_ids)),
        ParseSingleError::NoBinaryNameMatch(_) => Some(("binaries", &known.binaries)),
        _ => None,
    };
    if let Some((what, names)) = names {
        let typed = argument(part);
        let near = suggest::near(typed, names.iter().map(String::as_str), "::");
        let all = || format!("the {what} are {}", names.iter().map(String::as_str).collect::<Vec<_>>().join(", "));
        return suggest::hint(&near).unwrap_or_else(all);
    }
    match error {
        ParseSingleError::BannedPredicate { reason: BannedPredicateReason::DefaultInfiniteRecursion, .. } => {
            "default() cannot be a part of what it means".to_owned()
        }
        ParseSingleError::BannedPredicate { .. } => {
            "group(..) asks for nextest's configuration, which has no part in this: name tests or packages".to_owned()
        }
        ParseSingleError::ExpectedExpr(_) | ParseSingleError::ExpectedEndOfExpression(_) => {
            let offset = label.map_or(0, LabeledSpan::offset);
            let word = word(input.get(offset..).unwrap_or_default());
            let near = suggest::near(word, PREDICATES, "::");
            suggest::hint(&near).unwrap_or_else(predicates)
        }
        ParseSingleError::InvalidAndOperator(_) => "write `&` or `and`".to_owned(),
        ParseSingleError::InvalidOrOperator(_) => "write `|` or `or`".to_owned(),
        ParseSingleError::InvalidRegex { .. } | ParseSingleError::InvalidRegexWithoutMessage(_) => {
            "what stands between slashes is a regular expression; a part of a name needs none: test(part)".to_owned()
        }
        error => error.help().map_or_else(predicates, |help| help.to_string()),
    }
}

fn predicates() -> String {
    let list: Vec<String> = PREDICATES.iter().map(|name| format!("{name}()")).collect();
    format!("an expression is made of {} with `not`, `and`, `or`, `-` and parentheses", list.join(", "))
}

/// The name in `package(=name)`, or in what of it is marked.
fn argument(part: &str) -> &str {
    let inside = part.split_once('(').map_or(part, |(_, inside)| inside);
    inside.trim_end_matches(')').trim().trim_start_matches(['=', '~', '#', '/'])
}

fn word(text: &str) -> &str {
    let text = text.trim_start();
    &text[..text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len())]
}
