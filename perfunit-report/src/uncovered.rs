//! Changed functions that no test executes: what happened to them no verdict can say.

use super::figures::Detail;
use super::growth::place;
use super::screen::{INDENT, Screen};
use super::style::{DIM, STRONG, Text, WARN};
use perfunit_model::format::one_line;
use perfunit_model::{Function, Selection, Uncovered, UncoveredBecause};

/// Functions named unless everything is asked for.
pub const NAMED: usize = 10;

/// `2 changed functions are executed by no test`; nothing if all are executed, as far as that is known.
pub fn headline(selection: &Selection) -> Option<String> {
    let functions = match selection.uncovered.len() {
        0 => return None,
        1 => "1 changed function is".to_owned(),
        functions => format!("{functions} changed functions are"),
    };
    let is_led_to = |uncovered: &Uncovered| {
        matches!(uncovered.because, UncoveredBecause::NotMeasured | UncoveredBecause::NewTestCode)
    };
    let test = if selection.uncovered.iter().any(is_led_to) { "test that can be measured" } else { "test" };
    Some(format!("{functions} executed by no {test}"))
}

/// `the change to 1 function is left out of the build`, and by what; nothing if all are compiled, as far as that is known.
pub fn not_compiled(selection: &Selection) -> Option<String> {
    let changes = match selection.not_compiled.len() {
        0 => return None,
        1 => "the change to 1 function is".to_owned(),
        functions => format!("the changes to {functions} functions are"),
    };
    Some(format!("{changes} left out of the build by the features (--features) or the platform"))
}

/// How it is known that no test executes a function.
pub fn because(uncovered: &Uncovered) -> &'static str {
    match uncovered.because {
        UncoveredBecause::Unreached => "no test can reach it",
        UncoveredBecause::NotExecuted => "tests can reach it, and do not execute it",
        UncoveredBecause::NewTestCode => "only new test code leads to it, and tests are measured with base's",
        UncoveredBecause::NotMeasured => "the tests that may execute it cannot be measured",
    }
}

/// Names the functions.
pub fn write(selection: &Selection, detail: Detail, screen: &mut Screen) {
    if let Some(headline) = headline(selection) {
        let why = |uncovered: &Uncovered| format!("{}, {}", place(&uncovered.function), because(uncovered));
        let functions: Vec<_> = selection.uncovered.iter().map(|it| (&it.function, why(it))).collect();
        functions_with(&headline, "Uncovered", &functions, detail, screen);
    }
    if let Some(headline) = not_compiled(selection) {
        let functions: Vec<_> = selection.not_compiled.iter().map(|function| (function, place(function))).collect();
        functions_with(&headline, "Not compiled", &functions, detail, screen);
    }
}

/// Functions, each with what is said of it in detail.
fn functions_with(
    headline: &str,
    status: &str,
    functions: &[(&Function, String)],
    detail: Detail,
    screen: &mut Screen,
) {
    let text = Text::new(STRONG, headline).and(":");
    if detail == Detail::Full {
        screen.status(status, WARN, &text);
        for (function, said) in functions {
            screen.below(INDENT + 2, &Text::plain(one_line(&function.name)).with(DIM, format!("  {said}")));
        }
        return;
    }
    // The same function for several platforms or features.
    let mut names: Vec<_> = functions.iter().map(|(function, _)| one_line(&function.name)).collect();
    names.dedup();
    let more = names.len().saturating_sub(NAMED);
    let more = if more > 0 { format!(", ... and {more} more (-v)") } else { String::new() };
    let names = names[..names.len().min(NAMED)].join(", ");
    screen.status(status, WARN, &text.and(" ").and(names).with(DIM, more));
}

#[cfg(test)]
mod tests {
    use super::*;
    use perfunit_model::format::{Glyphs, without_escapes};

    #[track_caller]
    fn check(functions: usize, detail: Detail, expected: &str) {
        let uncovered = |number: usize| Uncovered {
            function: Function {
                package: "mycrate".into(),
                file: "src/lib.rs".into(),
                line: number,
                name: format!("f{number}"),
            },
            because: UncoveredBecause::Unreached,
        };
        let selection = Selection { uncovered: (1..=functions).map(uncovered).collect(), ..Selection::default() };
        let mut screen = Screen::new(0, Glyphs::Ascii);
        write(&selection, detail, &mut screen);
        assert_eq!(without_escapes(&screen.finish()), expected);
    }

    #[test]
    fn they_are_named_up_to_a_number() {
        check(0, Detail::Brief, "");
        check(2, Detail::Brief, "   Uncovered  2 changed functions are executed by no test: f1, f2\n");
        let names = "f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, ... and 1 more (-v)";
        check(11, Detail::Brief, &format!("   Uncovered  11 changed functions are executed by no test: {names}\n"));
        let full = "   Uncovered  1 changed function is executed by no test:
                f1  src/lib.rs:1, no test can reach it
";
        check(1, Detail::Full, full);
    }

    #[test]
    fn what_no_build_holds_is_named() {
        let function =
            |name: &str| Function { package: "mycrate".into(), file: "src/udiv.rs".into(), line: 7, name: name.into() };
        let one = Selection { not_compiled: vec![function("udivmod")], ..Selection::default() };
        let twice = Selection { not_compiled: vec![function("open"), function("open")], ..Selection::default() };
        let mut screen = Screen::new(0, Glyphs::Ascii);
        write(&one, Detail::Brief, &mut screen);
        write(&one, Detail::Full, &mut screen);
        write(&twice, Detail::Brief, &mut screen);
        let expected = "\
Not compiled  the change to 1 function is left out of the build by the features (--features) or the platform: udivmod
Not compiled  the change to 1 function is left out of the build by the features (--features) or the platform:
                udivmod  src/udiv.rs:7
Not compiled  the changes to 2 functions are left out of the build by the features (--features) or the platform: open
";
        assert_eq!(without_escapes(&screen.finish()), expected);
    }
}
