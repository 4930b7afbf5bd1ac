//! The answer of `cargo perfunit generate`: calls by function, and why there are none for others.

use super::TextOptions;
use super::screen::{INDENT, Screen};
use super::style::{DIM, GOOD, STRONG, Text};
use super::text::{heading, unreached};
use perfunit_model::format::{count, one_line};
use perfunit_model::{Function, GeneratedWorkload, Generation, Sides, VersionName};
use std::collections::BTreeSet;

/// With ANSI colours, one trailing newline.
pub fn text(versions: &Sides<VersionName>, generation: &Generation, options: &TextOptions) -> String {
    let mut screen = Screen::new(options.width, options.glyphs());
    heading(&versions.base, &versions.head, &mut screen);
    let Generation { workloads, without } = generation;
    let reached: BTreeSet<&Function> = workloads.iter().map(|workload| &workload.call.function).collect();
    for function in &reached {
        let place = format!("  {}:{}", one_line(&function.file), function.line);
        screen.status("Calls", GOOD, &Text::new(STRONG, one_line(&function.name)).with(DIM, place));
        for workload in workloads.iter().filter(|workload| workload.call.function == **function) {
            screen.below(INDENT, &source(workload));
        }
    }
    unreached(without, &mut screen);
    let all = reached.len() + without.len();
    let summary = match all {
        0 => "no changed function that no test executes".to_owned(),
        all => format!("{} for {} of {}", count(workloads.len(), "call"), reached.len(), count(all, "function")),
    };
    screen.status("Summary", GOOD, &Text::plain(summary));
    screen.finish()
}

fn source(GeneratedWorkload { call, n, ns, .. }: &GeneratedWorkload) -> Text {
    let sized = if call.is_sized { format!("n = {n}, ") } else { String::new() };
    Text::plain(one_line(&call.call)).with(DIM, format!("  {sized}about {ns} ns; arguments: {}", one_line(&call.setup)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use perfunit_model::format::without_escapes;
    use perfunit_model::samples;
    use perfunit_model::{NotGenerated, WithoutWorkload};

    #[test]
    fn calls_are_shown_with_their_arguments() {
        let function = |name: &str| Function { name: name.to_owned(), ..samples::uncovered().function };
        let workload = samples::workload("sum_7_0_n256");
        let without = vec![WithoutWorkload { function: function("load"), because: NotGenerated::Unsafe }];
        let (generation, run) = (Generation { workloads: vec![workload], without }, samples::run(Vec::new()));
        let versions = Sides { base: run.base, head: run.head };
        let text = without_escapes(&text(&versions, &generation, &TextOptions::default()));
        assert!(text.contains("Calls  sum  src/lib.rs:7\n"), "{text}");
        assert!(text.contains("sum(&lent.0)  n = 256, about 1000 ns; arguments: { ((), (vec![1; n],)) }\n"), "{text}");
        assert!(text.contains("No call  load  src/idle.rs:7, unsafe: "), "{text}");
        assert!(text.ends_with("Summary  1 call for 1 of 2 functions\n"), "{text}");
    }
}
