//! Differential flamegraph of an explanation (Gregg). Widths are head's times; red functions take longer on head than
//! on base, blue ones less. Calls that only base makes have no width.

use perfunit_model::error::{Error, Result};
use perfunit_model::{Engine, Explanation, Sides};
use std::fmt::Write;

/// Figures of folded stacks are whole numbers; in ps they resolve functions of a few ns.
const PS_PER_NS: f64 = 1e3;
/// Above this time, whole ns are precise enough.
#[cfg(feature = "flamegraph")]
const LONG_NS: f64 = 1e5;

/// Returns a self-contained SVG with a script for zooming and searching.
#[cfg(feature = "flamegraph")]
pub fn svg(explanation: &Explanation) -> Result<String> {
    use inferno::flamegraph::{self, Options};
    use perfunit_model::error::ExitCode;

    let failed = |error: String| Error::new(ExitCode::Internal, format!("cannot draw a flamegraph: {error}"));
    // inferno's own factor would make the percentages of differences wrong.
    let (unit, factor, what) = match explanation.engine {
        Engine::Callgrind => ("instructions", 1.0, "instructions"),
        Engine::SystemCalls => ("system calls", 1.0, "system calls"),
        Engine::SystemTime => ("ns", 1.0, "time in system calls"),
        Engine::Probes if explanation.cost.head >= LONG_NS => ("ns", 1.0, "time"),
        Engine::Probes => ("ps", PS_PER_NS, "time"),
    };
    let stacks = stacks(explanation, factor);
    if stacks.is_empty() {
        return Err(Error::setup(format!("nothing to draw for {}", explanation.test)));
    }
    let mut options = Options::default();
    options.title = explanation.test.to_string();
    options.subtitle = Some(format!("width: {what} on head; red: more self {what} than on base; blue: less"));
    unit.clone_into(&mut options.count_name);
    let mut image = Vec::new();
    flamegraph::from_lines(&mut options, stacks.lines(), &mut image).map_err(|error| failed(error.to_string()))?;
    String::from_utf8(image).map_err(|error| failed(error.to_string()))
}

/// Returns an error, because this build has no flamegraph support.
#[cfg(not(feature = "flamegraph"))]
pub fn svg(_: &Explanation) -> Result<String> {
    can_draw().map(|()| String::new())
}

/// Returns an error with installation instructions if this build cannot draw flamegraphs.
pub fn can_draw() -> Result<()> {
    if cfg!(feature = "flamegraph") {
        return Ok(());
    }
    Err(Error::usage("this cargo-perfunit was built without flamegraphs").hint(concat!(
        "`cargo install --locked --git ",
        env!("CARGO_PKG_REPOSITORY"),
        " cargo-perfunit --features flamegraph` builds it with inferno, which is under the CDDL"
    )))
}

/// Returns folded stacks: a line for each node of the call tree with the path to it, its own time on base and on head
/// in ps, or its instructions. Tools for differential flamegraphs read this format.
pub fn fold_stacks(explanation: &Explanation) -> String {
    let factor = match explanation.engine {
        Engine::Probes => PS_PER_NS,
        Engine::Callgrind | Engine::SystemCalls | Engine::SystemTime => 1.0,
    };
    stacks(explanation, factor)
}

fn stacks(explanation: &Explanation, factor: f64) -> String {
    let mut text = String::new();
    let mut open = vec![(0, frame(&explanation.test.name))];
    while let Some((index, way)) = open.pop() {
        let Some(node) = explanation.nodes.get(index) else { break };
        let Sides { base, head } = node.self_cost.map(|cost| (cost.max(0.0) * factor).round() as u64);
        if base > 0 || head > 0 {
            // Writing into a string cannot fail.
            let _ = writeln!(text, "{way} {base} {head}");
        }
        for child in &node.children {
            let function = explanation.nodes[*child].function;
            let name = function.map_or("threads", |function| &explanation.functions[function].name);
            open.push((*child, format!("{way};{}", frame(name))));
        }
    }
    text
}

/// Returns a name without the characters that separate frames and figures.
fn frame(name: &str) -> String {
    name.replace(|c: char| c == ';' || c.is_whitespace() || c.is_control(), "_")
}

#[cfg(test)]
mod tests {
    use super::*;
    use perfunit_model::samples::explanation;

    #[test]
    fn stacks_have_the_time_of_both_versions() {
        let folded = fold_stacks(&explanation());
        let lines: Vec<&str> = folded.lines().collect();
        assert_eq!(
            lines,
            [
                "parser::tests::long 100000 110000",
                "parser::tests::long;parser::Parser::line 400000 400000",
                "parser::tests::long;parser::Parser::line;lexer::word 500000 900000"
            ]
        );
    }

    #[test]
    fn instructions_are_counted_whole() {
        let folded = fold_stacks(&Explanation { engine: Engine::Callgrind, ..explanation() });
        assert_eq!(folded.lines().next(), Some("parser::tests::long 100 110"));
    }

    #[cfg(feature = "flamegraph")]
    #[test]
    fn the_picture_stands_alone_and_names_the_functions() {
        let svg = svg(&explanation()).unwrap();
        assert!(svg.starts_with("<?xml") && svg.trim_end().ends_with("</svg>"), "{svg}");
        assert!(svg.contains("<script") && !svg.contains("href=\"http"), "{svg}");
        // Head takes 400 ns more of 1,410 ns, all in the function itself.
        assert!(svg.contains("lexer::word (900,000 ps, 63.83%; +28.37%)"), "{svg}");
        assert!(svg.contains("parser::Parser::line (1,300,000 ps, 92.20%; 0.00%)"), "{svg}");
        assert!(svg.contains("parser::tests::long"));
    }

    #[cfg(not(feature = "flamegraph"))]
    #[test]
    fn without_the_feature_the_way_to_it_is_told() {
        let error = svg(&explanation()).unwrap_err().to_string();
        assert!(error.contains("without flamegraphs") && error.contains("--features flamegraph"), "{error}");
    }
}
