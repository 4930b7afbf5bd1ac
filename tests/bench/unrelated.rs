//! Null edits elsewhere: a module at the end of a source file, with functions that only its own test executes.
//!
//! The test is in both versions. If it were new, both versions would be measured without it, and then without the
//! functions.

use super::edits::{Edit, Place};
use super::nulls::{Kind, Null};
use super::sources::Sources;
use fastrand::Rng;
use perfunit_model::Sides;
use std::collections::BTreeSet;
use std::fmt::Write;

/// Part of the modules' names, and thus of their tests' names.
pub const NAME: &str = "perfunit_unrelated";

const KINDS: [Kind; 4] = [Kind::Added, Kind::Removed, Kind::Grown, Kind::Swapped];

/// Steps of a function, each about 20 bytes of code and 8 of data: from less than a cache line to more than a page.
const STEPS: [usize; 6] = [1, 3, 8, 20, 60, 200];

/// Draws this many edits of random files.
pub fn edits(sites: &[Edit], sources: &Sources, count: usize, random: &mut Rng) -> Vec<Null> {
    let in_sources = sites.iter().filter(|edit| edit.place == Place::Source);
    let paths: Vec<&str> = in_sources.map(|edit| edit.path.as_str()).collect::<BTreeSet<_>>().into_iter().collect();
    let edit = |kind: Kind| {
        let path = *random.choice(&paths)?;
        let text = sources.text(path);
        let (line, inserted) = (text.lines().count() + 1, modules(kind, random));
        Some(Null { kind, path: path.to_owned(), line, at: text.len(), inserted })
    };
    KINDS.into_iter().cycle().take(count).filter_map(edit).collect()
}

fn modules(kind: Kind, random: &mut Rng) -> Sides<String> {
    let sizes = random.choose_multiple(STEPS, 2);
    let (one, two) = (sizes[0], sizes[1]);
    let module = |number: usize, functions: &[usize]| module(&format!("{NAME}_{number}"), functions);
    match kind {
        Kind::Added => Sides { base: module(1, &[one]), head: module(1, &[one, two]) },
        Kind::Removed => Sides { base: module(1, &[one, two]), head: module(1, &[one]) },
        Kind::Swapped => {
            let (one, two) = (module(1, &[one]), module(2, &[two]));
            Sides { base: format!("{one}{two}"), head: format!("{two}{one}") }
        }
        _ => Sides { base: module(1, &[one]), head: module(1, &[two]) },
    }
}

/// Returns a module with functions of these numbers of steps, and a test that calls them.
fn module(name: &str, functions: &[usize]) -> String {
    let (mut bodies, mut calls) = (String::new(), String::new());
    for (number, steps) in functions.iter().enumerate() {
        let table: Vec<String> = (0..*steps).map(|step| (step * 977 + 13).to_string()).collect();
        let mut body = String::new();
        for step in 0..*steps {
            let (factor, shift) = (2 * step + 3, step % 11 + 1);
            let _ = writeln!(
                body,
                "        value = value.wrapping_mul({factor}) ^ TABLE[(value >> {shift}) as usize % {steps}];"
            );
        }
        let _ = write!(
            bodies,
            "
    static TABLE_{number}: [u64; {steps}] = [{table}];
    #[inline(never)]
    pub fn function_{number}(mut value: u64) -> u64 {{
{body}        value
    }}
",
            table = table.join(", "),
            body = body.replace("TABLE", &format!("TABLE_{number}"))
        );
        let _ =
            writeln!(calls, "            core::hint::black_box(super::function_{number}(core::hint::black_box(3)));");
    }
    format!(
        "
pub mod {name} {{
{bodies}
    #[cfg(test)]
    mod tests {{
        #[test]
        fn runs() {{
{calls}        }}
    }}
}}
"
    )
}
