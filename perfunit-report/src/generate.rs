//! Output of `cargo perfunit generate`: generated calls by function and the reasons for functions without one, in the
//! terminal and as JSON.

use super::TextOptions;
use super::terminal::{DIM, GOOD, INDENT, STRONG, Screen, Text};
use super::text::{heading, write_unreached};
use super::wire::{SCHEMA_VERSION, pretty};
use perfunit_model as model;
use perfunit_model::format::{count, one_line};
use perfunit_model::{Function, GeneratedWorkload, Generation, Sides, VersionName, WithoutWorkload};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Returns the calls with ANSI colors and one trailing newline.
pub fn text(versions: &Sides<VersionName>, generation: &Generation, options: &TextOptions) -> String {
    let mut screen = Screen::new(options.width, options.glyphs);
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
    write_unreached(without, &mut screen);
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

/// The JSON document of `generate`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GenerateDocument {
    pub schema_version: u32,
    pub base: VersionName,
    pub head: VersionName,
    #[serde(flatten)]
    pub generation: Calls,
}

/// Generated calls, and functions without one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Calls {
    pub calls: Vec<Call>,
    pub without: Vec<Without>,
}

/// A generated call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Call {
    pub function: Function,
    /// The target that has this call among its unit tests.
    pub target: String,
    /// Path of the call inside the crate, as a test.
    pub name: String,
    /// Rust source that builds `(input, lent)` from `n`: the arguments that the call takes by value, and those that it
    /// borrows.
    pub setup: String,
    /// Rust source of the measured call.
    pub call: String,
    /// The size of the arguments; null if they have none.
    pub n: Option<usize>,
    /// Approximate time of a call on base, measured during the trial.
    pub about_ns: u64,
    /// The returned value on base, if it can be printed.
    pub value: Option<String>,
}

/// A function without a call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Without {
    pub function: Function,
    pub because: model::NotGenerated,
    /// The reason in words.
    pub text: String,
}

/// Returns the JSON document with a trailing newline.
pub fn render(versions: &Sides<VersionName>, generation: &Generation) -> String {
    let Sides { base, head } = versions.clone();
    pretty(&GenerateDocument { schema_version: SCHEMA_VERSION, base, head, generation: Calls::from(generation) })
}

impl From<&Generation> for Calls {
    fn from(Generation { workloads, without }: &Generation) -> Self {
        Self { calls: workloads.iter().map(Call::from).collect(), without: without.iter().map(Without::from).collect() }
    }
}

impl From<&WithoutWorkload> for Without {
    fn from(WithoutWorkload { function, because }: &WithoutWorkload) -> Self {
        Self { function: function.clone(), because: because.clone(), text: because.to_string() }
    }
}

impl From<&GeneratedWorkload> for Call {
    fn from(workload: &GeneratedWorkload) -> Self {
        let GeneratedWorkload { call, target, test, n, ns, value, .. } = workload;
        Self {
            function: call.function.clone(),
            target: target.to_string(),
            name: test.clone(),
            setup: call.setup.clone(),
            call: call.call.clone(),
            n: call.is_sized.then_some(*n),
            about_ns: *ns,
            value: value.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use perfunit_model::format::without_escapes;
    use perfunit_model::{NotGenerated, WithoutWorkload, samples};

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
