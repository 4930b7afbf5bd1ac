//! Changed functions that no test executes: what happened to them no verdict can say.

use super::figures::Detail;
use super::format::one_line;
use super::screen::{INDENT, Screen};
use super::style::{DIM, STRONG, Text, WARN};
use crate::model::{Selection, Uncovered, UncoveredBecause};

/// Functions named unless everything is asked for.
pub const NAMED: usize = 10;

/// `2 changed functions are executed by no test`; nothing if all are executed, as far as that is known.
pub fn headline(selection: &Selection) -> Option<String> {
    match selection.uncovered.len() {
        0 => None,
        1 => Some("1 changed function is executed by no test".to_owned()),
        functions => Some(format!("{functions} changed functions are executed by no test")),
    }
}

/// Where a function is.
pub fn place(uncovered: &Uncovered) -> String {
    one_line(&format!("{}:{}", uncovered.function.file, uncovered.function.line))
}

/// How it is known that no test executes a function.
pub fn because(uncovered: &Uncovered) -> &'static str {
    match uncovered.because {
        UncoveredBecause::Unreached => "no test can reach it",
        UncoveredBecause::NotExecuted => "tests can reach it, and do not execute it",
    }
}

/// Names the functions.
pub fn write(selection: &Selection, detail: Detail, screen: &mut Screen) {
    let Some(headline) = headline(selection) else { return };
    let shown = if detail == Detail::Full { selection.uncovered.len() } else { NAMED };
    let text = Text::new(STRONG, headline).and(":");
    if detail == Detail::Full {
        screen.status("Uncovered", WARN, &text);
        for uncovered in &selection.uncovered {
            let where_and_why = format!("  {}, {}", place(uncovered), because(uncovered));
            screen.below(INDENT + 2, &Text::plain(one_line(&uncovered.function.name)).with(DIM, where_and_why));
        }
        return;
    }
    let names = selection.uncovered.iter().take(shown).map(|uncovered| one_line(&uncovered.function.name));
    let more = selection.uncovered.len().saturating_sub(shown);
    let more = if more > 0 { format!(", ... and {more} more (-v)") } else { String::new() };
    let names = names.collect::<Vec<_>>().join(", ");
    screen.status("Uncovered", WARN, &text.and(" ").and(names).with(DIM, more));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Function;
    use crate::report::format::{Glyphs, without_escapes};

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
}
