//! Errors in filterset expressions: the position, the cause, and a suggestion.

use miette::{Diagnostic, LabeledSpan};
use nextest_filtering::errors::{BannedPredicateReason, FiltersetParseErrors, ParseSingleError};
use perfunit_model::error::Error;
use perfunit_model::suggest;
use std::collections::BTreeSet;

/// Supported predicates, for suggestions.
const PREDICATES: [&str; 11] =
    ["test", "package", "deps", "rdeps", "binary_id", "binary", "kind", "platform", "default", "all", "none"];

/// Names that an expression can refer to.
#[derive(Debug, Default)]
pub struct KnownNames {
    /// Packages of the workspace.
    pub packages: BTreeSet<String>,
    /// Binary IDs of the test binaries, in nextest's format.
    pub binary_ids: BTreeSet<String>,
    /// Target names of the test binaries.
    pub binaries: BTreeSet<String>,
}

/// Builds an error from the first parse error, with a mark below the wrong part. `place` says where the expression is
/// written.
pub fn problem(place: &str, errors: &FiltersetParseErrors, known: &KnownNames) -> Error {
    let Some(first) = errors.errors.first() else {
        return Error::usage(format!("{place}: invalid filterset `{}`", errors.input));
    };
    let label = first.labels().and_then(|mut labels| labels.next());
    let words = label.as_ref().and_then(LabeledSpan::label).unwrap_or_default();
    let (what, words) = match first {
        // Nextest's own wording refers to its configuration.
        ParseSingleError::BannedPredicate { .. } => ("this predicate is not supported here".to_owned(), ""),
        first => (first.to_string(), words),
    };
    let (text, column) = mark_part(&errors.input, label.as_ref(), words);
    let error = Error::usage(format!("{place}, column {column}: {what}\n{text}"));
    error.hint(hint(first, &errors.input, label.as_ref(), known))
}

/// Marks the wrong part of the expression. Returns the marked text and the column, counted from 1.
fn mark_part(input: &str, label: Option<&LabeledSpan>, words: &str) -> (String, usize) {
    let (offset, length) = label.map_or((0, 0), |label| (label.offset(), label.len()));
    // The parser places a missing part directly after the preceding token.
    let space = input.get(offset..offset + length).map_or(0, |part| part.len() - part.trim_start().len());
    let (offset, length) = (offset + space, length - space);
    let before = input.get(..offset).unwrap_or(input).chars().count();
    let length = input.get(offset..offset + length).map_or(1, |part| part.chars().count()).max(1);
    // An expression in the configuration may span several lines. Join them so that the mark fits.
    let line: String = input.chars().map(|c| if c.is_whitespace() { ' ' } else { c }).collect();
    let mark = format!("{}{} {words}", " ".repeat(before), "^".repeat(length));
    (format!("    {line}\n    {}", mark.trim_end()), before + 1)
}

fn hint(error: &ParseSingleError, input: &str, label: Option<&LabeledSpan>, known: &KnownNames) -> String {
    let part = label.and_then(|label| input.get(label.offset()..label.offset() + label.len())).unwrap_or_default();
    let names = match error {
        ParseSingleError::NoPackageMatch(_) => Some(("packages", &known.packages)),
        ParseSingleError::NoBinaryIdMatch(_) => Some(("binary IDs", &known.binary_ids)),
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
            "default() cannot refer to itself".to_owned()
        }
        ParseSingleError::BannedPredicate { .. } => {
            "group(..) refers to nextest's configuration, which is not read here; select tests or packages instead"
                .to_owned()
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
            "text between slashes is a regular expression; to match a part of a name, write test(part)".to_owned()
        }
        error => error.help().map_or_else(predicates, |help| help.to_string()),
    }
}

fn predicates() -> String {
    let list: Vec<String> = PREDICATES.iter().map(|name| format!("{name}()")).collect();
    format!("an expression consists of {}, combined with `not`, `and`, `or`, `-` and parentheses", list.join(", "))
}

/// Extracts the name from `package(=name)` or from the marked part of it.
fn argument(part: &str) -> &str {
    let inside = part.split_once('(').map_or(part, |(_, inside)| inside);
    inside.trim_end_matches(')').trim().trim_start_matches(['=', '~', '#', '/'])
}

fn word(text: &str) -> &str {
    let text = text.trim_start();
    &text[..text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len())]
}
