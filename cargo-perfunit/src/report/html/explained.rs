//! Why a test got slower or faster: who is to blame, what else changed, and the calls that show it.

use super::markup::{Markup, sentence};
use super::{calls, flame};
use crate::model::{Blamed, Engine, Explanation, Strategy};
use crate::report::format::{self, Glyphs, one_line};
use crate::report::{blame, causes};

const NAMED: usize = 12;

/// Writes the whole explanation.
pub fn write(explanation: &Explanation, out: &mut Markup) {
    let faster = explanation.change.estimate < 0.0;
    out.words("h4", "", if faster { "Why it got faster" } else { "Why it got slower" });
    out.words("p", "", &found(explanation));
    let causes = causes::lines(explanation, Glyphs::Unicode);
    if explanation.outer_cause().is_some() {
        paragraphs(&causes, out);
        blamed(explanation, out);
    } else {
        blamed(explanation, out);
        paragraphs(&causes, out);
    }
    for note in &explanation.notes {
        out.words("p", "note", &sentence(&one_line(note)));
    }
    flame::write(explanation, out);
    calls::write(explanation, out);
    out.words("p", "note", &how(explanation));
}

/// The difference that is explained.
fn found(explanation: &Explanation) -> String {
    let signed = |cost| blame::signed(cost, explanation.engine, Glyphs::Unicode);
    let cost = |cost| format::cost(cost, explanation.engine, Glyphs::Unicode);
    let change = explanation.change;
    let what = match explanation.engine {
        Engine::Probes => "A run with probes takes",
        Engine::Callgrind => "A run executes",
    };
    format!(
        "{what} {} instead of {}{}: {} [{}, {}].",
        cost(explanation.ns.head),
        cost(explanation.ns.base),
        blame::unit(explanation.engine),
        signed(change.estimate),
        signed(change.low),
        signed(change.high)
    )
}

fn paragraphs(texts: &[String], out: &mut Markup) {
    for text in texts {
        out.words("p", "", &sentence(text));
    }
}

fn blamed(explanation: &Explanation, out: &mut Markup) {
    if explanation.blamed.is_empty() {
        return;
    }
    out.element("ol", &[("class", "blamed")], |out| {
        for blamed in explanation.blamed.iter().take(NAMED) {
            out.element("li", &[], |out| function(explanation, blamed, out));
        }
    });
    let more = explanation.blamed.len().saturating_sub(NAMED);
    if more > 0 {
        out.words("p", "note", &format!("{} more with smaller parts.", format::count(more, "function")));
    }
}

fn function(explanation: &Explanation, blamed: &Blamed, out: &mut Markup) {
    let function = &explanation.functions[blamed.function];
    let signed = |cost| blame::signed(cost, explanation.engine, Glyphs::Unicode);
    let change = blamed.change;
    let class = if change.estimate < 0.0 { "faster" } else { "slower" };
    out.words("code", "", &one_line(&function.name));
    out.text(" ");
    out.words("span", "place", &one_line(&format!("{}:{}", function.file, function.line)));
    out.text(" ");
    out.words("b", class, &signed(change.estimate));
    let part = format!(
        "{} [{}, {}], {:.0} % of the difference: {}.",
        blame::unit(explanation.engine),
        signed(change.low),
        signed(change.high),
        100.0 * blamed.share,
        blame::how(explanation, blamed)
    );
    out.text(&part);
    out.text(" ");
    match &blamed.changed {
        Some(changed) => out.words("span", "hunk", &sentence(&one_line(changed))),
        None => out.words("span", "note", "Its source is the same."),
    }
}

/// How it was found out.
fn how(explanation: &Explanation) -> String {
    let strategy = match explanation.strategy {
        Strategy::Complete => "all functions at once",
        Strategy::Levelwise => "level by level",
        Strategy::UntilSourceChange => "functions on the way to changed ones",
    };
    let by = match explanation.engine {
        Engine::Probes => format!(
            "Found by probes ({strategy}) in {}; with probes base takes {} times as long, their cost subtracted",
            format::count(explanation.pairs, "pair"),
            format::number(explanation.distortion)
        ),
        Engine::Callgrind => "Counted by callgrind".to_owned(),
    };
    format!("{by}. It took {:.1} s.", explanation.seconds)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Blame, Cause, Changed, Difference, Sides};
    use crate::report::samples::explanation;

    fn written(explanation: &Explanation) -> String {
        let mut out = Markup::default();
        write(explanation, &mut out);
        out.finish()
    }

    fn blamed() -> Explanation {
        let change = Difference { estimate: 400.0, low: 390.0, high: 410.0 };
        let calls = Sides { base: 3.0, head: 3.0 };
        let changed = Some("changed fn word (src/lexer.rs:12)".to_owned());
        let blamed =
            Blamed { function: 1, blame: Blame::ItsOwn, change, share: 0.98, calls, calls_each: None, changed };
        Explanation { blamed: vec![blamed], ..explanation() }
    }

    #[test]
    fn the_culprit_has_a_place_a_part_and_what_changed() {
        let text = written(&blamed());
        assert!(text.contains("<code>lexer::word</code> <span class=\"place\">src/lexer.rs:12</span>"), "{text}");
        assert!(text.contains("<b class=\"slower\">+400 ns</b> [+390 ns, +410 ns], 98 % of the difference: takes longer, 3 calls a run."), "{text}");
        assert!(
            text.contains("Changed fn word (src/lexer.rs:12).") && text.contains("+410 ns [+400 ns, +420 ns]."),
            "{text}"
        );
    }

    #[test]
    fn an_outer_cause_is_told_before_the_functions() {
        let changed = Changed::Configuration { path: "Cargo.toml".into(), keys: vec!["profile.bench.lto".into()] };
        let causes = vec![Cause { changed, share: 0.97 }];
        let text = written(&Explanation { causes, code_changed: Some(false), ..blamed() });
        let cause = text.find("No code of the workspace changed, but this did: Cargo.toml").unwrap();
        assert!(cause < text.find("<ol class=\"blamed\"").unwrap(), "{text}");
    }

    #[test]
    fn callgrind_counts_instructions() {
        let text = written(&Explanation { engine: Engine::Callgrind, ..blamed() });
        assert!(text.contains("A run executes 1410 instead of 1000 instructions: +410 [+400, +420]."), "{text}");
        assert!(!text.contains(" ns"), "{text}");
    }
}
